#include "arena.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <optional>

#include "denormals.h"
#include "pool.h"

namespace infoatlas {

namespace {

constexpr int64_t ALIGNMENT = 64;

char* allocate(int64_t size) {
  void* block = std::aligned_alloc(ALIGNMENT, size_t(size));
  if (!block) throw std::bad_alloc();
  std::memset(block, 0, size_t(size));
  return static_cast<char*>(block);
}

}  // namespace

Arena::~Arena() {
  back_to(0);
  std::free(block_);
}

char* Arena::bytes(int64_t count) {
  count = (std::max<int64_t>(count, 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;  // never null
  const int64_t at = used_;
  char* found = nullptr;
  if (at + count <= size_) {
    found = block_ + at;
  } else {
    extra_.push_back({at, nullptr});
    found = extra_.back().block = allocate(count);
  }
  used_ = at + count;
  most_ = used_ > most_ ? used_ : most_;
  return found;
}

float* Arena::take(int64_t count) { return reinterpret_cast<float*>(bytes(count * 4)); }

double* Arena::take_doubles(int64_t count) { return reinterpret_cast<double*>(bytes(count * 8)); }

void Arena::back_to(int64_t mark) {
  for (; !extra_.empty() && extra_.back().at >= mark; extra_.pop_back())
    std::free(extra_.back().block);
  used_ = mark;
}

void Arena::reset() {
  back_to(0);
  reserve(most_);
}

void Arena::reserve(int64_t size) {
  if (size <= size_) return;
  std::free(block_);
  block_ = nullptr;
  size_ = 0;
  block_ = allocate(size);
  size_ = size;
}

std::unique_ptr<Arena> Arenas::take() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (free_.empty()) return std::make_unique<Arena>();
  std::unique_ptr<Arena> arena = std::move(free_.back());
  free_.pop_back();
  return arena;
}

void Arenas::give(std::unique_ptr<Arena> arena) {
  arena->reset();
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(arena));
}

void Arenas::settle(int threads) {
  constexpr int NESTED = 2;  // arenas that a thread uses at once, at most
  std::lock_guard<std::mutex> lock(mutex_);
  int64_t largest = 0;
  for (const auto& arena : free_) largest = std::max(largest, arena->size());
  const int64_t size = (largest + largest / 4 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  while (free_.size() < size_t(NESTED * threads)) free_.push_back(std::make_unique<Arena>());
  for (const auto& arena : free_) arena->reserve(size);
}

void each(const Crew& crew, int64_t tasks, void (*task)(void*, int64_t, Arena&), void* context,
          bool denormals) {
  if (!crew.pool || tasks <= 1) {
    std::unique_ptr<Arena> arena = crew.scratch->take();
    for (int64_t i = 0; i < tasks; ++i) {
      task(context, i, *arena);
      arena->reset();
    }
    crew.scratch->give(std::move(arena));
    return;
  }
  const auto one = [&](int64_t i) {
    std::optional<NoDenormals> guard;
    if (!denormals) guard.emplace();
    std::unique_ptr<Arena> arena = crew.scratch->take();
    task(context, i, *arena);
    crew.scratch->give(std::move(arena));
  };
  crew.pool->run(tasks, std::cref(one));  // (a copy of the function would be allocated)
}

}  // namespace infoatlas
