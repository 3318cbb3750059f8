// C++ classes for infoatlas.h: they release what they hold, and throw infoatlas::Error. What is said
// there on real time is true of a method that does not throw; an exception allocates memory.
#pragma once

#include <infoatlas/infoatlas.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace infoatlas {

class Error : public std::runtime_error {
 public:
  explicit Error(infoatlas_status status)
      : std::runtime_error(infoatlas_last_error()), status_(status) {}
  infoatlas_status status() const noexcept { return status_; }

 private:
  infoatlas_status status_;
};

// Whether a call gave a result (INFOATLAS_OK) or none yet (INFOATLAS_NONE); throws Error otherwise.
inline bool check(infoatlas_status status) {
  if (status != INFOATLAS_OK && status != INFOATLAS_NONE) throw Error(status);
  return status == INFOATLAS_OK;
}

// A handle that is freed at its end.
template <class Handle, void (*Free)(Handle*)>
class Owner {
 public:
  explicit Owner(Handle* handle) : handle_(handle) {}
  Handle* get() const noexcept { return handle_.get(); }

 private:
  struct Release {
    void operator()(Handle* handle) const noexcept { Free(handle); }
  };
  std::unique_ptr<Handle, Release> handle_;
};

// The handle that make(&handle) makes.
template <class Handle, class Make>
Handle* made(Make make) {
  Handle* handle = nullptr;
  check(make(&handle));
  return handle;
}

class Model : public Owner<infoatlas_model, infoatlas_model_free> {
 public:
  explicit Model(const std::string& path)
      : Owner(made<infoatlas_model>(
            [&](auto** to) { return infoatlas_model_load(path.c_str(), to); })) {}
  Model(const void* content, std::size_t size)
      : Owner(made<infoatlas_model>(
            [&](auto** to) { return infoatlas_model_read(content, size, to); })) {}

  INFOATLAS_NODISCARD infoatlas_model_info describe() const {
    infoatlas_model_info info;
    check(infoatlas_model_describe(get(), &info));
    return info;
  }
};

class Estimator : public Owner<infoatlas_estimator, infoatlas_estimator_free> {
 public:
  // For at most n samples of dx and dy coordinates.
  Estimator(const Model& model, std::int64_t n, std::int64_t dx, std::int64_t dy,
            const infoatlas_settings& settings = {})
      : Owner(made<infoatlas_estimator>([&](auto** to) {
          return infoatlas_estimator_new(model.get(), n, dx, dy, &settings, to);
        })) {}

  INFOATLAS_NODISCARD infoatlas_estimate run(const infoatlas_samples& samples) {
    infoatlas_estimate found;
    check(infoatlas_estimator_run(get(), &samples, &found));
    return found;
  }
};

class Window : public Owner<infoatlas_window, infoatlas_window_free> {
 public:
  Window(const Model& model, const infoatlas_window_settings& window,
         const infoatlas_settings& settings = {})
      : Owner(made<infoatlas_window>([&](auto** to) {
          return infoatlas_window_new(model.get(), &window, &settings, to);
        })) {}

  // Whether the state was accepted; else its step is a hole.
  INFOATLAS_NODISCARD bool push(const double* state, const double* other = nullptr) {
    return check(infoatlas_window_push(get(), state, other));
  }
  void hole() { check(infoatlas_window_hole(get())); }
  void lost() { check(infoatlas_window_lost(get())); }
  void reset() { check(infoatlas_window_reset(get())); }

  // Whether there is an estimate; else `reason` has the cause.
  INFOATLAS_NODISCARD bool run(infoatlas_estimate& found) {
    return check(infoatlas_window_run(get(), &found));
  }

  INFOATLAS_NODISCARD const char* reason() const {
    const char* text = nullptr;
    check(infoatlas_window_reason(get(), &text));
    return text;
  }
};

}  // namespace infoatlas
