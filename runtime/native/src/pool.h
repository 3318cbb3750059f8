// Threads that sleep between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>

namespace infoatlas {

// Runs tasks on `threads` threads, of which the caller's is one. Where the machine gives fewer, it
// runs with those that it got.
//
// A child of fork() has none of the parent's threads: it makes a pool of its own. Where the pool is
// busy with the call of another thread, the caller runs its tasks by itself.
class Pool {
 public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls task(0) .. task(tasks - 1), in any order. Returns when all are done; the first exception
  // of a task reaches the caller, and tasks not yet begun are left out.
  void run(int64_t tasks, const std::function<void(int64_t)>& task);

  int threads() const { return threads_; }  // that there are, the caller's included
  std::error_code missing() const { return missing_; }  // why there are no more; 0: there are

 private:
  struct Workers;

  std::mutex busy_;
  std::error_code missing_;  // before the workers, which write it
  std::unique_ptr<Workers> workers_;
  int threads_;
};

}  // namespace infoatlas
