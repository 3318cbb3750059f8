// Damaged task files: refused with a reason, or followed without a fault and without memory.
//
//     fuzz_task SECONDS SEED TASK.json...    (tests/native/random_tasks.py writes some)
//
// Without main (-DLIBFUZZER -fsanitize=fuzzer) it is a target of libFuzzer.
#include <infoatlas/follower.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <string>
#include <vector>

static long allocations = 0;

void* operator new(std::size_t size) {
  ++allocations;
  if (void* made = std::malloc(size ? size : 1)) return made;
  throw std::bad_alloc();
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }

namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s; last error: %s\n", what, infoatlas_last_error());
  std::abort();
}

// Pushes ordinary states, extreme ones, and one that is refused.
void follow(infoatlas_follower* follower, const infoatlas_task* task, bool stamped) {
  infoatlas_task_info info;
  require(infoatlas_task_describe(task, &info) == INFOATLAS_OK, "no sizes");
  std::vector<double> state(static_cast<size_t>(info.columns));
  infoatlas_event event;
  int64_t count = 0;
  const long before = allocations;
  for (int step = 0; step < 60; ++step) {
    for (size_t i = 0; i < state.size(); ++i)
      state[i] = step == 50 ? 1e308 : std::sin(0.3 * step * static_cast<double>(i + 1));
    if (step == 40) state.back() = NAN;
    const double stamp = stamped ? 0.02 * step : NAN;
    const auto status =
        infoatlas_follower_push(follower, state.data(), info.columns, stamp, &count);
    require(step != 40 || status == INFOATLAS_INPUT_ERROR, "NaN was accepted");
    if (status != INFOATLAS_OK) continue;
    for (int64_t i = 0; i < count; ++i)
      require(infoatlas_follower_event(follower, i, &event) == INFOATLAS_OK && event.score >= 0 &&
                  event.step <= event.detected_step,
              "a wrong event");
    infoatlas_subtask subtask;
    for (int64_t tool = 0; tool < info.tools; ++tool)
      require(infoatlas_follower_subtask(follower, tool, &subtask) < 2, "no sub-task");
  }
  require(infoatlas_follower_reset(follower) == INFOATLAS_OK, "no reset");
  require(allocations == before, "a push allocated memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  infoatlas_task* task = nullptr;
  const auto status = infoatlas_task_read(data, size, &task);
  if (status != INFOATLAS_OK) {
    require(status == INFOATLAS_FILE_ERROR && *infoatlas_last_error(), "no reason");
    return 0;
  }
  for (const double rate : {0.0, 1000.0, 2.0}) {
    infoatlas_follower* follower = nullptr;
    if (infoatlas_follower_new(task, rate, rate < 5, &follower) != INFOATLAS_OK) continue;
    follow(follower, task, rate == 0);
    infoatlas_follower_free(follower);
  }
  infoatlas_task_free(task);
  return 1;
}

#ifndef LIBFUZZER
namespace {

using Random = std::mt19937_64;

size_t draw(Random& random, size_t below) {
  return std::uniform_int_distribution<size_t>(0, below - 1)(random);
}

// Replaces a byte, a number, or a part of the text.
void damage(std::string& text, Random& random) {
  static const char* WORDS[] = {"0",    "-1",    "2",   "1e308", "1e-300", "1e999",
                                "null", "true",  "[]",  "{}",    "\"\"",   "\"\\ud800\"",
                                "1.5",  "65536", "[[",  "\xff",  "",       "256"};
  const size_t at = draw(random, text.size() + 1);
  const size_t end = std::min(text.find_first_of(",]}", at), text.size());
  switch (draw(random, 5)) {
    case 0: text.insert(at, 1, static_cast<char>(draw(random, 256))); break;
    case 1: text.erase(at, draw(random, 20)); break;
    case 2: text.insert(at, text.substr(draw(random, text.size() + 1), draw(random, 200))); break;
    default: {
      const size_t begin = text.find_last_of(",[:", at) + 1;
      text.replace(begin, end > begin ? end - begin : 0, WORDS[draw(random, std::size(WORDS))]);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> seeds;
  for (int i = 3; i < count; ++i) {
    std::ifstream file(arguments[i], std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  require(!seeds.empty(), "fuzz_task SECONDS SEED TASK.json...");
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto end = now() + std::chrono::seconds(std::atoi(arguments[1]));
  Random random(std::strtoull(arguments[2], nullptr, 10));
  long tried = 0, followed = 0;
  for (size_t i = 0; i < seeds.size() || now() < end; ++i, ++tried) {
    std::string text = seeds[i % seeds.size()];
    if (i >= seeds.size())
      for (size_t damages = 1 + draw(random, 3); damages > 0; --damages) damage(text, random);
    const auto bytes = reinterpret_cast<const unsigned char*>(text.data());
    followed += LLVMFuzzerTestOneInput(bytes, text.size());
    require(i >= seeds.size() || followed == tried + 1, "a seed was refused");
  }
  std::printf("%ld texts, %ld of them followed: nothing found\n", tried, followed);
}
#endif
