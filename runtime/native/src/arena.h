// Scratch memory that is allocated once and reused, and loops over tasks that use it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace infoatlas {

class Pool;

// Scratch memory. All of it is given back at once; after the first call of a size there are no
// allocations.
class Arena {
 public:
  ~Arena();
  float* take(int64_t count);  // aligned to 64 bytes, not initialised
  double* take_doubles(int64_t count);
  int64_t mark() const { return used_; }
  void back_to(int64_t mark);  // gives back all memory taken since
  void reset();
  void reserve(int64_t size);  // when all memory is given back
  int64_t size() const { return size_; }

 private:
  char* bytes(int64_t count);
  char* block_ = nullptr;
  int64_t size_ = 0, used_ = 0, most_ = 0;
  struct Extra {
    int64_t at;
    char* block;
  };
  std::vector<Extra> extra_;  // memory of a call that is larger than those before
};

// Arenas that no thread uses at the moment.
class Arenas {
 public:
  std::unique_ptr<Arena> take();
  void give(std::unique_ptr<Arena> arena);

  // Makes all arenas as large as the largest, with a reserve, and as many as `threads` threads use.
  void settle(int threads);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> free_;
};

// The threads for one dataset: a pool, or (null) the caller alone; and scratch memory of the tasks.
struct Crew {
  Pool* pool;
  Arenas* scratch;
};

// Calls task(context, i, scratch) for each i, on all threads of the crew. Unless `denormals` is
// set, denormal numbers count as zero on the threads of a pool.
void each(const Crew& crew, int64_t tasks, void (*task)(void*, int64_t, Arena&), void* context,
          bool denormals = false);

}  // namespace infoatlas
