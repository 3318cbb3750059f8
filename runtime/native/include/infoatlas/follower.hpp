// C++ classes for follower.h, which has the meaning of each function.
#pragma once

#include <infoatlas/follower.h>
#include <infoatlas/infoatlas.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace infoatlas {

class Task : public Owner<infoatlas_task, infoatlas_task_free> {
 public:
  explicit Task(const std::string& path)
      : Owner(made<infoatlas_task>(
            [&](auto** to) { return infoatlas_task_load(path.c_str(), to); })) {}
  Task(const void* content, std::size_t size)
      : Owner(made<infoatlas_task>(
            [&](auto** to) { return infoatlas_task_read(content, size, to); })) {}

  INFOATLAS_NODISCARD infoatlas_task_info describe() const {
    infoatlas_task_info info;
    check(infoatlas_task_describe(get(), &info));
    return info;
  }
};

class Follower : public Owner<infoatlas_follower, infoatlas_follower_free> {
 public:
  // Key states that a push completed, until the next push.
  class Events {
   public:
    struct Iterator {
      const infoatlas_follower* follower;
      std::int64_t index;
      infoatlas_event operator*() const {
        infoatlas_event event;
        check(infoatlas_follower_event(follower, index, &event));
        return event;
      }
      Iterator& operator++() noexcept { return ++index, *this; }
      bool operator!=(const Iterator& other) const noexcept { return index != other.index; }
    };

    Events(const infoatlas_follower* follower, std::int64_t count)
        : follower_(follower), count_(count) {}
    INFOATLAS_NODISCARD std::int64_t size() const noexcept { return count_; }
    Iterator begin() const noexcept { return {follower_, 0}; }
    Iterator end() const noexcept { return {follower_, count_}; }

   private:
    const infoatlas_follower* follower_;
    std::int64_t count_;
  };

  explicit Follower(const Task& task, double rate = 0, bool follow_all = false)
      : Owner(made<infoatlas_follower>([&](auto** to) {
          return infoatlas_follower_new(task.get(), rate, follow_all, to);
        })) {}

  INFOATLAS_NODISCARD Events push(const double* state, std::int64_t columns, double stamp = NAN) {
    std::int64_t count = 0;
    check(infoatlas_follower_push(get(), state, columns, stamp, &count));
    return {get(), count};
  }
  INFOATLAS_NODISCARD Events push(const std::vector<double>& state, double stamp = NAN) {
    return push(state.data(), static_cast<std::int64_t>(state.size()), stamp);
  }

  // Whether the sub-task of a tool is known.
  INFOATLAS_NODISCARD bool subtask(infoatlas_subtask& found, std::int64_t tool = 0) const {
    return check(infoatlas_follower_subtask(get(), tool, &found));
  }

  INFOATLAS_NODISCARD infoatlas_outcome outcome() const {
    infoatlas_outcome found;
    check(infoatlas_follower_outcome(get(), &found));
    return found;
  }

  void reset() { check(infoatlas_follower_reset(get())); }

  INFOATLAS_NODISCARD infoatlas_follower_info describe() const {
    infoatlas_follower_info info;
    check(infoatlas_follower_describe(get(), &info));
    return info;
  }
};

}  // namespace infoatlas
