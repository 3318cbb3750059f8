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

  infoatlas_task_info describe() const {
    infoatlas_task_info info;
    check(infoatlas_task_describe(get(), &info));
    return info;
  }
};

class Follower : public Owner<infoatlas_follower, infoatlas_follower_free> {
 public:
  // Key states, until the next push.
  struct Events {
    const infoatlas_event* first;
    std::int64_t count;
    const infoatlas_event* begin() const noexcept { return first; }
    const infoatlas_event* end() const noexcept { return first + count; }
  };

  explicit Follower(const Task& task, double rate = 0, bool follow_all = false)
      : Owner(made<infoatlas_follower>([&](auto** to) {
          return infoatlas_follower_new(task.get(), rate, follow_all, to);
        })) {}

  Events push(const double* state, std::int64_t columns, double stamp = NAN) {
    Events found;
    check(infoatlas_follower_push(get(), state, columns, stamp, &found.first, &found.count));
    return found;
  }
  Events push(const std::vector<double>& state, double stamp = NAN) {
    return push(state.data(), static_cast<std::int64_t>(state.size()), stamp);
  }

  // Whether the sub-task of a tool is known.
  bool subtask(infoatlas_subtask& found, std::int64_t tool = 0) const {
    return check(infoatlas_follower_subtask(get(), tool, &found));
  }

  void reset() { check(infoatlas_follower_reset(get())); }

  infoatlas_follower_info describe() const {
    infoatlas_follower_info info;
    check(infoatlas_follower_describe(get(), &info));
    return info;
  }
};

}  // namespace infoatlas
