// Threads that sleep between calls.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace infoatlas {

// Runs tasks on `threads` threads, of which the caller's is one.
//
// A child of fork() has none of the parent's threads; it makes its own at its first call. Where the
// pool is busy with the call of another thread, the caller runs its tasks by itself.
class Pool {
 public:
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Calls task(0) .. task(tasks - 1), in any order. Returns when all are done; the first exception
  // of a task reaches the caller, and tasks not yet begun are left out.
  void run(int64_t tasks, const std::function<void(int64_t)>& task);

  int threads() const { return threads_; }

 private:
  struct Workers;
  Workers& workers();  // of this process

  int threads_;
  std::mutex busy_;
  std::unique_ptr<Workers> workers_;
  int64_t process_ = 0;
};

}  // namespace infoatlas
