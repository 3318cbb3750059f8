// real_time MODEL.onnx TASK.json: calls every function that follower.h and infoatlas.h allow in real
// time, and everything that they refuse. They may not allocate memory, take a lock or (on Linux,
// where the kernel supervises it) make a system call.
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <infoatlas/follower.hpp>
#include <limits>
#include <string>
#include <vector>

#include "counted.h"

static std::atomic<long> locks{0};  // of the process, as allocations

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return ++locks, real(mutex);
}

static const double NONE = std::numeric_limits<double>::quiet_NaN();

// What is wrong with the calls; empty if nothing.
struct Calls {
  char wrong[300] = "";
  int count = 0;

  void expect(infoatlas_status found, infoatlas_status wanted, const char* reason, int line) {
    ++count;
    if (found == wanted && (found < 2 || std::strstr(infoatlas_last_error(), reason))) return;
    if (!*wrong)
      std::snprintf(wrong, sizeof wrong, "line %d: %d, %s", line, found, infoatlas_last_error());
  }
};

#define GOOD(call) calls.expect(call, INFOATLAS_OK, "", __LINE__)
#define NOT_YET(call) calls.expect(call, INFOATLAS_NONE, "", __LINE__)
#define REFUSED(call, reason) calls.expect(call, INFOATLAS_INPUT_ERROR, reason, __LINE__)

static void follow(infoatlas::Task& task, infoatlas_follower* own, const double* state,
                   std::int64_t columns, Calls& calls) {
  infoatlas_task_info sizes;
  infoatlas_follower_info info;
  infoatlas_event event;
  infoatlas_subtask subtask;
  std::int64_t count = -1;
  GOOD(infoatlas_task_describe(task.get(), &sizes));
  NOT_YET(infoatlas_follower_subtask(own, 0, &subtask));
  for (int step = 0; step < 9; ++step)
    GOOD(infoatlas_follower_push(own, state, columns, 10.0 * step, &count));
  REFUSED(infoatlas_follower_push(own, state, columns, 90, &count), "push more often");
  REFUSED(infoatlas_follower_push(own, state, columns, HUGE_VAL, &count), "stamp is infinite");
  REFUSED(infoatlas_follower_push(own, state, columns - 1, NONE, &count), "coordinates, and");
  REFUSED(infoatlas_follower_push(own, state + 1, columns, NONE, &count), "state is nan");
  REFUSED(infoatlas_follower_push(own, nullptr, columns, NONE, &count), "state is a null");
  REFUSED(infoatlas_follower_push(own, state, columns, NONE, nullptr), "count is a null");
  for (int step = 0; step < 100; ++step)
    GOOD(infoatlas_follower_push(own, state, columns, NONE, &count));
  REFUSED(infoatlas_follower_event(own, count, &event), "index is");
  REFUSED(infoatlas_follower_subtask(own, -1, &subtask), "tool is -1");
  subtask.struct_size = 1;
  REFUSED(infoatlas_follower_subtask(own, 0, &subtask), "has the struct_size 1");
  GOOD(infoatlas_follower_reset(own));
  REFUSED(infoatlas_follower_reset(nullptr), "follower is a null");
  GOOD(infoatlas_follower_describe(own, &info));
  REFUSED(infoatlas_follower_describe(own, nullptr), "info is a null");
}

static void watch(infoatlas::Model& model, infoatlas_window* own, const double* state,
                  Calls& calls) {
  infoatlas_model_info info;
  const char* reason = nullptr;
  GOOD(infoatlas_model_describe(model.get(), &info));
  REFUSED(infoatlas_model_describe(nullptr, &info), "model is a null");
  for (int step = 0; step < 50; ++step) GOOD(infoatlas_window_push(own, state, nullptr));
  NOT_YET(infoatlas_window_push(own, state + 1, nullptr));
  REFUSED(infoatlas_window_push(own, nullptr, nullptr), "state is a null");
  REFUSED(infoatlas_window_push(own, state, state), "pass `other`");
  GOOD(infoatlas_window_hole(own));
  GOOD(infoatlas_window_lost(own));
  GOOD(infoatlas_window_reason(own, &reason));
  REFUSED(infoatlas_window_reason(own, nullptr), "reason is a null");
  GOOD(infoatlas_window_reset(own));
}

// Calls that may lock and wait, but allocate nothing; two of them are good.
static void estimate(infoatlas_estimator* own, infoatlas_window* window, const double* values,
                     double* changed, Calls& calls) {
  infoatlas_estimate found;
  infoatlas_samples samples{};
  const double less[] = {-1, 0}, tiny[] = {5e-324, 5e-324};
  samples.x = values;
  samples.y = changed;
  samples.n = 40;
  GOOD(infoatlas_estimator_run(own, &samples, &found));
  REFUSED(infoatlas_estimator_run(own, nullptr, &found), "samples is a null");
  samples.n = 41;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "more than the 40");
  samples.n = 2;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "not in 32..");
  samples.n = 40;
  samples.resolution_x = less;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "resolution of x is -1");
  samples.resolution_x = tiny;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "too small");
  changed[7] = NONE;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "y is not finite at sample 3");
  samples.y = nullptr;
  REFUSED(infoatlas_estimator_run(own, &samples, &found), "y is a null");
  for (int step = 0; step < 41; ++step) {
    NOT_YET(infoatlas_window_run(window, &found));
    GOOD(infoatlas_window_push(window, values + 2 * (step % 40), nullptr));
  }
  GOOD(infoatlas_window_run(window, &found));
  found.struct_size = sizeof found + 1;
  REFUSED(infoatlas_window_run(window, &found), "begin with INFOATLAS_INIT");
}

int main(int count, char** arguments) try {
  if (count != 3) return 2;
  infoatlas::Model model{std::string(arguments[1])};
  infoatlas::Task task{std::string(arguments[2])};
  infoatlas::Follower follower(task);
  infoatlas_window_settings settings{};
  settings.d = 2;
  settings.steps = 40;
  settings.lag = 1;
  infoatlas::Window window(model, settings);
  infoatlas::Estimator estimator(model, 40, 2, 2);
  const std::int64_t columns = task.describe().columns;
  std::vector<double> state(static_cast<std::size_t>(columns) + 1, 0.25), values(80), changed(80);
  state.back() = NONE;  // of a state from the second value on
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = std::sin(1.7 * static_cast<double>(i * i)), changed[i] = std::cos(values[i]);

  Calls calls;
  const long before = allocations;
  estimate(estimator.get(), window.get(), values.data(), changed.data(), calls);
  const long allocated = allocations - before;
  std::printf("%d calls, %ld allocations: %s\n", calls.count, allocated, calls.wrong);

  const double two[] = {0.25, 0.5, NONE};
  std::fflush(stdout);
  if (const pid_t child = fork()) return waitpid(child, nullptr, 0) == child ? 0 : 5;
  if (!before || !locks) return 6;  // they are counted
  const bool watched = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0;  // a system call kills
  Calls real_time;
  const long began = allocations, locked = locks;
  follow(task, follower.get(), state.data(), columns, real_time);
  watch(model, window.get(), two, real_time);
  char line[400];
  const int size = std::snprintf(line, sizeof line, "%d calls, %ld allocations, %ld locks, %s: %s\n",
                                 real_time.count, allocations.load() - began, locks.load() - locked,
                                 watched ? "watched" : "not watched", real_time.wrong);
  return static_cast<int>(syscall(SYS_exit, write(1, line, static_cast<std::size_t>(size)) != size));
} catch (const infoatlas::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
