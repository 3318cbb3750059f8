// Rows of doubles over samples, for the preparation of samples: sums, and products with small
// matrices. Rows are padded to a multiple of BLOCK, so that the operations are the same for every
// sample and equal samples have equal results.
#pragma once

#include <cmath>
#include <cstdint>

#include "simd.h"

namespace infoatlas::INFOATLAS_TARGET {

constexpr int WIDTH = LANES / 2;
constexpr int64_t BLOCK = 2 * WIDTH;

typedef double Doubles __attribute__((vector_size(8 * WIDTH), may_alias));
typedef double LooseDoubles __attribute__((vector_size(8 * WIDTH), may_alias, aligned(8)));

INFOATLAS_INLINE Doubles load(const double* p) {
  return *reinterpret_cast<const LooseDoubles*>(p);
}
INFOATLAS_INLINE void store(double* p, Doubles v) { *reinterpret_cast<LooseDoubles*>(p) = v; }
INFOATLAS_INLINE Doubles all(double s) { return s - Doubles{}; }

INFOATLAS_INLINE double sum(Doubles v) {
  double total = 0;
  for (int i = 0; i < WIDTH; ++i) total += v[i];
  return total;
}

// Sum of f over the vectors of a row [ld].
template <class F>
INFOATLAS_INLINE double sum_of_row(int64_t ld, F f) {
  Doubles even{}, odd{};
  for (int64_t t = 0; t < ld; t += BLOCK) {
    even += f(t);
    odd += f(t + WIDTH);
  }
  return sum(even + odd);
}

// ROWS rows of `out` [rows, ld] = m [rows, inner] z [inner, ld].
template <int ROWS>
INFOATLAS_INLINE void combine_rows(const double* m, int64_t inner, const double* z, int64_t ld,
                                   double* out) {
  for (int64_t t = 0; t < ld; t += BLOCK) {
    Doubles sums[ROWS][2] = {};
    for (int64_t j = 0; j < inner; ++j) {
      const Doubles a = load(z + j * ld + t), b = load(z + j * ld + t + WIDTH);
      for (int i = 0; i < ROWS; ++i) {
        sums[i][0] += m[i * inner + j] * a;
        sums[i][1] += m[i * inner + j] * b;
      }
    }
    for (int i = 0; i < ROWS; ++i) {
      store(out + i * ld + t, sums[i][0]);
      store(out + i * ld + t + WIDTH, sums[i][1]);
    }
  }
}

// out [rows, ld] = m [rows, inner] z [inner, ld].
inline void combine_rows(int64_t rows, int64_t inner, const double* m, const double* z, int64_t ld,
                         double* out) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) combine_rows<4>(m + i * inner, inner, z, ld, out + i * ld);
  for (; i < rows; ++i) combine_rows<1>(m + i * inner, inner, z, ld, out + i * ld);
}

// out [rows, columns] = a b' / n, for rows over n samples: a [rows, ld], b [columns, ld].
inline void covariance(int64_t rows, int64_t columns, const double* a, const double* b, int64_t ld,
                       int64_t n, double* out) {
  for (int64_t i = 0; i < rows; i += 2) {
    const int64_t i1 = i + 1 < rows ? i + 1 : i;
    const double *a0 = a + i * ld, *a1 = a + i1 * ld;
    for (int64_t j = 0; j < columns; j += 2) {
      const int64_t j1 = j + 1 < columns ? j + 1 : j;
      const double *b0 = b + j * ld, *b1 = b + j1 * ld;
      Doubles s00{}, s01{}, s10{}, s11{};
      for (int64_t t = 0; t < ld; t += WIDTH) {
        const Doubles u0 = load(a0 + t), u1 = load(a1 + t), v0 = load(b0 + t), v1 = load(b1 + t);
        s00 += u0 * v0;
        s01 += u0 * v1;
        s10 += u1 * v0;
        s11 += u1 * v1;
      }
      const auto size = static_cast<double>(n);
      out[i * columns + j] = sum(s00) / size;
      out[i * columns + j1] = sum(s01) / size;
      out[i1 * columns + j] = sum(s10) / size;
      out[i1 * columns + j1] = sum(s11) / size;
    }
  }
}

}  // namespace infoatlas::INFOATLAS_TARGET
