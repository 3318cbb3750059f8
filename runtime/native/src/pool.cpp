#include "pool.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace infoatlas {

struct Pool::Workers {
  // Makes as many threads as possible, up to `count`. `missing` is the reason if there are fewer.
  // After the first thread nothing else may throw, because only the destructor ends threads.
  Workers(int count, std::error_code& missing) {
    try {
      threads.reserve(size_t(count));
      for (int i = 0; i < count; ++i) threads.emplace_back([this] { loop(); });
    } catch (const std::system_error& error) {  // a limit of processes, or of memory for stacks
      missing = error.code();
    } catch (const std::bad_alloc&) {
      missing = std::make_error_code(std::errc::not_enough_memory);
    }
  }

  ~Workers() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  // Runs tasks until none is left. The first exception is kept.
  void work(const std::function<void(int64_t)>& task, int64_t count) {
    for (int64_t i; (i = next.fetch_add(1)) < count;) {
      try {
        task(i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        if (!error) error = std::current_exception();
        next.store(count);
      }
    }
  }

  void loop() {
    std::unique_lock<std::mutex> lock(mutex);
    for (int64_t seen = 0;;) {
      wake.wait(lock, [&] { return stop || round != seen; });
      if (stop) return;
      seen = round;
      if (!task) continue;  // the call was over before this thread woke
      const std::function<void(int64_t)>* now = task;
      const int64_t count = tasks;
      ++active;
      lock.unlock();
      work(*now, count);
      lock.lock();
      if (--active == 0) done.notify_one();
    }
  }

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable wake, done;
  const std::function<void(int64_t)>* task = nullptr;  // while a call runs
  std::atomic<int64_t> next{0};
  int64_t tasks = 0, round = 0;
  int active = 0;  // threads within the call
  bool stop = false;
  std::exception_ptr error;
};

Pool::Pool(int threads)
    : workers_(std::make_unique<Workers>(threads < 1 ? 0 : threads - 1, missing_)),
      threads_(1 + int(workers_->threads.size())) {}

Pool::~Pool() = default;

void Pool::run(int64_t tasks, const std::function<void(int64_t)>& task) {
  std::unique_lock<std::mutex> mine(busy_, std::defer_lock);
  if (tasks <= 1 || threads_ == 1 || !mine.try_lock()) {
    for (int64_t i = 0; i < tasks; ++i) task(i);
    return;
  }
  Workers& team = *workers_;
  {
    std::lock_guard<std::mutex> lock(team.mutex);
    team.task = &task;
    team.tasks = tasks;
    team.next.store(0);
    team.error = nullptr;
    ++team.round;
  }
  team.wake.notify_all();
  team.work(task, tasks);
  std::unique_lock<std::mutex> lock(team.mutex);
  team.task = nullptr;
  team.done.wait(lock, [&] { return team.active == 0; });
  if (team.error) std::rethrow_exception(std::exchange(team.error, nullptr));
}

}  // namespace infoatlas
