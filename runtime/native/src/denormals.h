// While a guard exists, denormal numbers count as zero on its thread.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace infoatlas {

// Arithmetic with denormal numbers is many times slower, and no result depends on them.
class NoDenormals {
 public:
#if defined(__SSE2__)
  NoDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~NoDenormals() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#elif defined(__aarch64__)
  NoDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | (uint64_t(1) << 24)));
  }
  ~NoDenormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }

 private:
  uint64_t before_;
#endif
};

}  // namespace infoatlas
