// The random numbers of NumPy: default_rng(SeedSequence(seed).spawn(...)[child]), so that C++ and
// Python draw the same projections, orders and shifts.
#pragma once

#include <cstdint>
#include <vector>

namespace infoatlas {

class Random {
 public:
  Random(uint64_t seed, uint32_t child);

  double normal();                 // standard_normal, within 2e-14 of its value
  uint64_t up_to(uint64_t most);   // uniform in 0 .. most, below 2^32
  void permutation(int64_t n, int64_t* found);  // [n]

  // choice(n, count, replace=False): found [count]. `space` is kept for reuse.
  void choice(int64_t n, int64_t count, int64_t* found, std::vector<int64_t>& space);

 private:
  uint64_t next();
  uint32_t next_half();
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  void shuffle(int64_t n, int64_t first, int64_t* values);

  unsigned __int128 state_ = 0, increment_ = 0;
  uint32_t half_ = 0;
  bool has_half_ = false;
};

}  // namespace infoatlas
