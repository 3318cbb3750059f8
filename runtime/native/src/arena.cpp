#include "arena.h"

#include <cstdlib>
#include <cstring>
#include <new>

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
  std::free(block_);
  for (char* block : extra_) std::free(block);
}

char* Arena::bytes(int64_t count) {
  count = (count + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (used_ + count <= size_) {
    char* at = block_ + used_;
    used_ += count;
    return at;
  }
  wanted_ += count;
  extra_.push_back(allocate(count));
  return extra_.back();
}

float* Arena::take(int64_t count) { return reinterpret_cast<float*>(bytes(count * 4)); }

double* Arena::take_doubles(int64_t count) { return reinterpret_cast<double*>(bytes(count * 8)); }

void Arena::reset() {
  used_ = 0;
  if (extra_.empty()) return;
  for (char* block : extra_) std::free(block);
  extra_.clear();
  std::free(block_);
  block_ = nullptr;
  const int64_t size = size_ + wanted_;
  size_ = wanted_ = 0;
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

void each(const Crew& crew, int64_t tasks, void (*task)(void*, int64_t, Arena&), void* context) {
  if (!crew.pool || tasks == 1) {
    std::unique_ptr<Arena> arena = crew.arenas->take();
    for (int64_t i = 0; i < tasks; ++i) {
      task(context, i, *arena);
      arena->reset();
    }
    crew.arenas->give(std::move(arena));
    return;
  }
  crew.pool->run(tasks, [&](int64_t i) {
    const NoDenormals guard;
    std::unique_ptr<Arena> arena = crew.arenas->take();
    task(context, i, *arena);
    crew.arenas->give(std::move(arena));
  });
}

}  // namespace infoatlas
