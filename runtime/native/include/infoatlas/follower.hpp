// C++ classes for follower.h, which has the meaning of each function.
#pragma once

#include <infoatlas/follower.h>
#include <infoatlas/infoatlas.hpp>

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace infoatlas {

using Event = infoatlas_event;
using Subtask = infoatlas_subtask;

// What a task file contains. Copies share it.
class Task {
 public:
  explicit Task(const std::string& path) {
    infoatlas_task* made = nullptr;
    check(infoatlas_task_load(path.c_str(), &made));
    own_.reset(made, infoatlas_task_free);
  }
  static Task parse(std::string_view text) {
    infoatlas_task* made = nullptr;
    check(infoatlas_task_parse(text.data(), text.size(), &made));
    return Task(made);
  }

  std::size_t columns() const { return infoatlas_task_columns(get()); }
  std::size_t keystates() const { return infoatlas_task_keystates(get()); }
  std::size_t tools() const { return infoatlas_task_tools(get()); }
  const char* column(std::size_t i) const { return infoatlas_task_column(get(), i); }
  const infoatlas_task* get() const { return own_.get(); }

 private:
  explicit Task(infoatlas_task* made) : own_(made, infoatlas_task_free) {}
  std::shared_ptr<infoatlas_task> own_;
};

// Key states that a state completes: a range, valid until the next call of the follower.
struct Events {
  const Event* first;
  std::size_t count;
  const Event* begin() const { return first; }
  const Event* end() const { return first + count; }
};

class Follower {
 public:
  static constexpr double NO_STAMP = std::numeric_limits<double>::quiet_NaN();

  explicit Follower(const Task& task, double rate = 0, bool follow_all = false)
      : own_(nullptr, infoatlas_follower_free) {
    infoatlas_follower* made = nullptr;
    check(infoatlas_follower_create(task.get(), rate, follow_all, &made));
    own_.reset(made);
  }

  // Throws Error, as every function here, if the state cannot be used.
  Events push(const double* state, std::size_t columns, double stamp = NO_STAMP) {
    Events found{nullptr, 0};
    check(infoatlas_follower_push(get(), state, columns, stamp, &found.first, &found.count));
    return found;
  }
  Events push(const std::vector<double>& state, double stamp = NO_STAMP) {
    return push(state.data(), state.size(), stamp);
  }
  // Its index is -1 if the sub-task is not known.
  Subtask subtask(std::size_t tool = 0) const {
    Subtask found;
    check(infoatlas_follower_subtask(get(), tool, &found));
    return found;
  }

  void reset() { infoatlas_follower_reset(get()); }
  std::int64_t step() const { return infoatlas_follower_step(get()); }
  bool follows(std::size_t keystate) const { return infoatlas_follower_follows(get(), keystate); }
  std::size_t memory() const { return infoatlas_follower_memory(get()); }

 private:
  infoatlas_follower* get() const { return own_.get(); }
  std::unique_ptr<infoatlas_follower, void (*)(infoatlas_follower*)> own_;
};

}  // namespace infoatlas
