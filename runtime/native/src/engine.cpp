#include "engine.h"

#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <thread>

#include "denormals.h"
#include "model.h"
#include "onnx_file.h"
#include "pool.h"
#include "sample.h"

namespace infoatlas {

// The stages, compiled for each set of instructions.
#define INFOATLAS_DECLARE(target) \
  namespace target {              \
  void run(const Model& model, const Task* tasks, int64_t count, const Crew& crew, Arena& arena); \
  void canonicalise(const Pairs& pairs, int dim, const Crew& crew, const Canonical& out,          \
                    Arena& arena);                                                                 \
  }
INFOATLAS_DECLARE(baseline)
#if defined(__x86_64__)
INFOATLAS_DECLARE(avx2)
#if defined(INFOATLAS_AVX512)
INFOATLAS_DECLARE(avx512)
#endif
#endif
#undef INFOATLAS_DECLARE

namespace {

constexpr int64_t SMALL = 1024;  // samples of datasets that are evaluated together, at most

struct Target {
  void (*run)(const Model&, const Task*, int64_t, const Crew&, Arena&);
  void (*canonicalise)(const Pairs&, int, const Crew&, const Canonical&, Arena&);
  const char* name;
};

#if defined(__x86_64__)
// Whether the processor has instructions and the system saves their registers. The compilers'
// __builtin_cpu_supports is not used, because zig's is always false.
bool has_avx(bool wide) {
  unsigned a = 0, b = 0, c = 0, d = 0, saved = 0;
  constexpr unsigned FMA = 1u << 12, OSXSAVE = 1u << 27, AVX2 = 1u << 5;
  constexpr unsigned AVX512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F, DQ, BW, VL
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (FMA | OSXSAVE)) != (FMA | OSXSAVE)) return false;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const unsigned needed = wide ? AVX2 | AVX512 : AVX2, registers = wide ? 0xe6 : 0x06;
  __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
  return (b & needed) == needed && (saved & registers) == registers;
}
#endif

// The widest instructions of the processor, or narrower ones that INFOATLAS_INSTRUCTIONS names: so
// the variants for other processors are tested.
Target best_target() {
#if defined(__x86_64__)
  const char* const set = std::getenv("INFOATLAS_INSTRUCTIONS");
  const std::string widest = set && *set ? set : "avx512";
  if (widest != "avx512" && widest != "avx2" && widest != "baseline")
    throw std::runtime_error("INFOATLAS_INSTRUCTIONS is '" + widest +
                             "': set it to avx512, avx2 or baseline, or unset it");
#if defined(INFOATLAS_AVX512)
  if (widest == "avx512" && has_avx(true)) return {avx512::run, avx512::canonicalise, "avx512"};
#endif
  if (widest != "baseline" && has_avx(false)) return {avx2::run, avx2::canonicalise, "avx2"};
  return {baseline::run, baseline::canonicalise, "baseline"};
#elif defined(__aarch64__)
  return {baseline::run, baseline::canonicalise, "neon"};
#else
  return {baseline::run, baseline::canonicalise, "baseline"};
#endif
}

}  // namespace

// Threads and memory of one process. A child of fork() makes its own, because a thread of the
// parent may have held a lock.
struct Team {
  explicit Team(int threads) : pool(threads) {}

  Pool pool;
  Arenas datasets, scratch;
};

struct Engine::Parts {
  std::shared_ptr<const Model> model;
  Target target;
  int threads;
  std::unique_ptr<Team> team;
  std::atomic<int64_t> process{0};  // process of the team; negative while it is made

  Parts(std::shared_ptr<const Model> model_, int threads_)
      : model(std::move(model_)), target(best_target()), threads(threads_) {}

  ~Parts() {
    if (process.load() != getpid()) (void)team.release();
  }

  Team& own_team() {
    const int64_t here = getpid();
    for (int64_t found = process.load(); found != here; found = process.load()) {
      if (found == -here || !process.compare_exchange_strong(found, -here)) {
        std::this_thread::yield();
        continue;
      }
      try {
        auto made = std::make_unique<Team>(threads);
        (void)team.release();  // null, or the parent's
        team = std::move(made);
      } catch (...) {  // out of memory: the next call tries again, and waiting calls go on
        process.store(found);
        throw;
      }
      process.store(here);
    }
    return *team;
  }
};

Engine::Engine(const std::string& path, int threads)
    : Engine(load_model(read_file(path), path), threads) {}

Engine::Engine(const void* content, std::size_t size, int threads)
    : Engine(load_model(std::string_view(static_cast<const char*>(content), size), "the file"),
             threads) {}

Engine::Engine(std::shared_ptr<const Model> model, int threads)
    : parts_(std::make_unique<Parts>(std::move(model), threads)) {}

Engine::~Engine() = default;

void Engine::settle() {
  Team& team = parts_->own_team();
  for (Arenas* arenas : {&team.datasets, &team.scratch}) arenas->settle(team.pool.threads());
}

const std::map<std::string, std::string>& Engine::metadata() const {
  return parts_->model->metadata;
}

int64_t Engine::dim() const { return parts_->model->config.dim; }

int64_t Engine::diagnostics() const {
  return parts_->model->config.gap ? parts_->model->diagnostics : 0;
}

int64_t Engine::least_shifts() const { return 1; }

const char* Engine::target() const { return parts_->target.name; }

int Engine::threads() { return parts_->own_team().pool.threads(); }

std::string Engine::missing_threads() {
  const std::error_code missing = parts_->own_team().pool.missing();
  return missing ? missing.message() : "";
}

void Engine::run(const float* x, const float* y, int64_t batch, int64_t n, const int64_t* shifts,
                 int64_t m, const int64_t* sequence, const Outputs& out) {
  const auto refuse = [](const std::string& what) { throw std::runtime_error(what); };
  if (batch < 0 || n < 2 || m < 1)
    refuse("a batch of " + std::to_string(batch) + ", " + std::to_string(n) + " samples and " +
           std::to_string(m) + " shifts cannot be: at least 0, 2 and 1 are needed");
  for (int64_t j = 0; j < m; ++j)
    if (shifts[j] <= -n || shifts[j] >= n || shifts[j] == 0)
      refuse("a shift is " + std::to_string(shifts[j]) + ", and has to be between 0 and n = " +
             std::to_string(n) + ", both excluded, or the negative of such a number");
  for (int64_t i = 0; i < n; ++i)
    if (sequence[i] < 0 || sequence[i] >= n)
      refuse("a position in the sequence is " + std::to_string(sequence[i]) +
             ", and has to be at least 0 and below n = " + std::to_string(n));
  Parts& parts = *parts_;
  Team& team = parts.own_team();
  const NoDenormals guard;
  const int64_t dim = this->dim();
  const auto together = [&](int64_t begin, int64_t count, Pool* pool) {
    const Crew crew{pool, &team.scratch};
    Task tasks[MOST_TOGETHER];
    for (int64_t k = 0; k < count; ++k) {
      const int64_t b = begin + k;
      tasks[k] = {x + b * n * dim, y + b * n * dim, n,          shifts,
                  m,               sequence,        out.mi + b, out.pointwise + b * n,
                  out.influence + b * n, out.spread + b,
                  out.diagnostics ? out.diagnostics + b * diagnostics() : nullptr};
    }
    std::unique_ptr<Arena> arena = team.datasets.take();
    parts.target.run(*parts.model, tasks, count, crew, *arena);
    team.datasets.give(std::move(arena));
  };
  const int64_t threads = team.pool.threads();
  if (batch < threads) {  // all threads work on each dataset
    for (int64_t b = 0; b < batch; ++b) together(b, 1, threads > 1 ? &team.pool : nullptr);
    return;
  }
  // A few small datasets are evaluated together, so that weights are read from memory once; large
  // ones do not need that. All threads except one have equally many.
  const int64_t most = std::min(MOST_TOGETHER, std::max<int64_t>(1, SMALL / n));
  const int64_t rounds = (batch + threads * most - 1) / (threads * most);
  const int64_t tasks = std::min(batch, threads * rounds);
  const auto some = [&](int64_t task) {
    const NoDenormals own;
    const int64_t begin = batch * task / tasks;
    together(begin, batch * (task + 1) / tasks - begin, nullptr);
  };
  team.pool.run(tasks, std::cref(some));
}

void Engine::canonicalise(const Pairs& pairs, const Canonical& out) {
  Parts& parts = *parts_;
  Team& team = parts.own_team();
  const Crew crew{team.pool.threads() > 1 ? &team.pool : nullptr, &team.scratch};
  std::unique_ptr<Arena> arena = team.datasets.take();
  // Without NoDenormals: samples may be denormal, and their ranks differ.
  parts.target.canonicalise(pairs, parts.model->config.dim, crew, out, *arena);
  team.datasets.give(std::move(arena));
}

}  // namespace infoatlas
