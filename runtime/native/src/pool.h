// Threads that sleep between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>

namespace infoatlas {

// Runs tasks on `threads` threads, including the caller's. If the system allows fewer, it runs with
// those.
//
// A child of fork() has none of the parent's threads, so it makes its own pool. If the pool is busy
// with the call of another thread, the caller runs its tasks alone.
class Pool {
 public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls task(0) .. task(tasks - 1), in any order. Returns when all are done; the first exception
  // of a task is thrown again in the caller, and tasks that have not begun are skipped.
  void run(int64_t tasks, const std::function<void(int64_t)>& task);

  int threads() const { return threads_; }  // including the caller's
  std::error_code missing() const { return missing_; }  // why there are no more, or 0

 private:
  struct Workers;

  std::mutex busy_;
  std::error_code missing_;  // declared before the workers, which write it
  std::unique_ptr<Workers> workers_;
  int threads_;
};

}  // namespace infoatlas
