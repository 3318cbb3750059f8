// Vectors of floats, as wide as those of the processor, and functions of them.
//
// With the vector extensions of GCC and Clang, arithmetic compiles to SSE2, AVX2, AVX-512 or NEON
// by the options of the compiler alone. Every file of a stage is compiled once for each set of
// instructions, in a namespace of its own (INFOATLAS_TARGET), so these functions must not be
// shared.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#ifndef INFOATLAS_TARGET
#define INFOATLAS_TARGET baseline
#endif

#define INFOATLAS_INLINE inline __attribute__((always_inline))
#define INFOATLAS_LAMBDA __attribute__((always_inline))

namespace infoatlas::INFOATLAS_TARGET {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX2__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * LANES), may_alias));
typedef float Loose __attribute__((vector_size(4 * LANES), may_alias, aligned(4)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES), may_alias));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES), may_alias));  // may wrap around

INFOATLAS_INLINE Vec load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
INFOATLAS_INLINE void store(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
INFOATLAS_INLINE Vec all(float s) { return s - Vec{}; }

INFOATLAS_INLINE Vec larger(Vec a, Vec b) {
#if defined(__AVX512F__)
  return (Vec)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (Vec)_mm256_max_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (Vec)_mm_max_ps((__m128)a, (__m128)b);
#else
  return a > b ? a : b;
#endif
}

INFOATLAS_INLINE Vec smaller(Vec a, Vec b) {
#if defined(__AVX512F__)
  return (Vec)_mm512_min_ps((__m512)a, (__m512)b);
#elif defined(__AVX2__)
  return (Vec)_mm256_min_ps((__m256)a, (__m256)b);
#elif defined(__SSE2__)
  return (Vec)_mm_min_ps((__m128)a, (__m128)b);
#else
  return a < b ? a : b;
#endif
}

INFOATLAS_INLINE Vec root(Vec v) {
#if defined(__AVX512F__)
  return (Vec)_mm512_sqrt_ps((__m512)v);
#elif defined(__AVX2__)
  return (Vec)_mm256_sqrt_ps((__m256)v);
#elif defined(__SSE2__)
  return (Vec)_mm_sqrt_ps((__m128)v);
#else
  for (int i = 0; i < LANES; ++i) v[i] = std::sqrt(v[i]);
  return v;
#endif
}

INFOATLAS_INLINE float sum(Vec v) {
#if defined(__AVX512F__)
  const __m512 all_of = (__m512)v;
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all_of),
                                    _mm512_extractf32x8_ps(all_of, 1));
#elif defined(__AVX2__)
  const __m256 half = (__m256)v;
#endif
#if defined(__AVX2__)
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
#else
  return (v[0] + v[2]) + (v[1] + v[3]);
#endif
}

INFOATLAS_INLINE float largest(Vec v) {
  float top = v[0];
  for (int i = 1; i < LANES; ++i) top = v[i] > top ? v[i] : top;
  return top;
}

// Lanes 0, 1, 2, ...
INFOATLAS_INLINE Vec lanes() {
  Vec v;
  for (int i = 0; i < LANES; ++i) v[i] = float(i);
  return v;
}

// v in lanes below `count`, 0 in the others; for the last vector of an array.
INFOATLAS_INLINE Vec first(Vec v, int64_t count) {
  return count >= LANES ? v : (lanes() < all(float(count)) ? v : Vec{});
}

// exp(x) for x at most 88, exact to 2 units in the last place; 1.2e-38 below x = -87.
INFOATLAS_INLINE Vec exp(Vec x) {
  x = larger(smaller(x, all(88.0f)), all(-87.3f));
  Vec shifted = x * 1.44269504f + 12582912.0f;  // the nearest integer, in the low bits
  Vec k = shifted - 12582912.0f;
  Vec r = x - k * 0.693145752f;
  r = r - k * 1.42860677e-6f;
  Vec p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  Bits power = (Bits)shifted << 23;  // moves the integer's bits into the exponent
  return (Vec)((Bits)p + power);
}

// log(x) for normal positive x, exact to 2 units in the last place.
INFOATLAS_INLINE Vec log(Vec x) {
  Bits bits = (Bits)x - 0x3f3504f3;  // sqrt(1/2)
  Ints e = (Ints)bits >> 23;
  Vec m = (Vec)((bits & 0x007fffff) + 0x3f3504f3);  // sqrt(1/2) .. sqrt(2)
  Vec k = __builtin_convertvector(e, Vec);
  Vec f = m - 1.0f;
  Vec s = f / (f + 2.0f), z = s * s;  // log(1 + f) = 2 atanh(s)
  Vec p = all(0.24279078841f);
  p = p * z + 0.28498786688f;
  p = p * z + 0.40000972152f;
  p = p * z + 0.66666662693f;
  Vec half = 0.5f * f * f;
  return k * 0.693359375f + (k * -2.12194440e-4f + (s * (half + z * p) + (f - half)));
}

INFOATLAS_INLINE Vec tanh(Vec x) {
  Vec e = exp(2.0f * larger(smaller(x, all(15.0f)), all(-15.0f)));
  return (e - 1.0f) / (e + 1.0f);
}

// erf(x) with an error of 4e-7: a rational function fitted on |x| <= 3.92, and 1 beyond.
INFOATLAS_INLINE Vec erf(Vec x) {
  x = larger(smaller(x, all(3.92f)), all(-3.92f));
  Vec s = x * x;
  Vec p = all(1.9921792e-08f);
  p = p * s + -1.95775144e-06f;
  p = p * s + 0.000141859562f;
  p = p * s + 0.00370220051f;
  p = p * s + 0.0505753311f;
  p = p * s + 0.199939835f;
  p = p * s + 1.12837911f;
  Vec q = all(0.000956165395f);
  q = q * s + 0.014354468f;
  q = q * s + 0.115004711f;
  q = q * s + 0.510523721f;
  q = q * s + 1.0f;
  return x * p / q;
}

// x times the normal distribution function of x.
INFOATLAS_INLINE Vec gelu(Vec x) {
  Vec half = 0.5f * x;
  return half * erf(x * 0.70710678f) + half;
}

INFOATLAS_INLINE Vec gelu_slope(Vec x) {
  return 0.5f * erf(x * 0.70710678f) + 0.5f + x * 0.39894228f * exp(-0.5f * x * x);
}

INFOATLAS_INLINE int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

}  // namespace infoatlas::INFOATLAS_TARGET
