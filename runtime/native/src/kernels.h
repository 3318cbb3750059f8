// Products of small matrices, sums over samples, and loops over tasks.
#pragma once

#include <cstdint>
#include <cstring>

#include "arena.h"
#include "simd.h"

namespace infoatlas::INFOATLAS_TARGET {

#if defined(__AVX512F__)
constexpr int TILE_ROWS = 12;
#else
constexpr int TILE_ROWS = 6;
#endif

// Runs f(i, scratch) for each i on the crew.
template <class F>
void for_each(const Crew& crew, int64_t tasks, F f) {
  each(crew, tasks, [](void* c, int64_t i, Arena& a) { (*static_cast<F*>(c))(i, a); }, &f);
}

// What a product is added to: zero, a bias of each column or of each row, or the present values.
enum class Start { ZERO, BIAS, ROW_BIAS, ADD };

// A tile of ROWS x COLUMNS vectors of c = a b. Of a, the element (i, k) is at i * row + k * inner.
template <int ROWS, int COLUMNS>
INFOATLAS_INLINE void tile(int64_t inner_size, const float* a, int64_t row, int64_t inner,
                           const float* b, int64_t ldb, const float* bias, float* c, int64_t ldc,
                           Start start) {
  Vec sums[ROWS][COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) {
    const Vec initial = start == Start::BIAS ? load(bias + j * LANES) : Vec{};
    for (int i = 0; i < ROWS; ++i)
      sums[i][j] = start == Start::ADD        ? load(c + i * ldc + j * LANES)
                   : start == Start::ROW_BIAS ? all(bias[i])
                                              : initial;
  }
  for (int64_t k = 0; k < inner_size; ++k) {
    Vec v[COLUMNS];
    for (int j = 0; j < COLUMNS; ++j) v[j] = load(b + k * ldb + j * LANES);
    for (int i = 0; i < ROWS; ++i) {
      const Vec s = all(a[i * row + k * inner]);
      for (int j = 0; j < COLUMNS; ++j) sums[i][j] += s * v[j];
    }
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) store(c + i * ldc + j * LANES, sums[i][j]);
}

template <int ROWS, int COLUMNS>
INFOATLAS_INLINE void tiles(int64_t rows, int64_t inner_size, const float* a, int64_t row,
                            int64_t inner, const float* b, int64_t ldb, const float* bias, float* c,
                            int64_t ldc, Start start) {
  if constexpr (ROWS > 0) {
    if (rows == ROWS) {
      tile<ROWS, COLUMNS>(inner_size, a, row, inner, b, ldb, bias, c, ldc, start);
    } else {
      tiles<ROWS - 1, COLUMNS>(rows, inner_size, a, row, inner, b, ldb, bias, c, ldc, start);
    }
  }
}

// c [m, n] = a [m, k] b [k, n], plus a bias [n] or [m], or the values of c. n is a multiple of
// LANES, so that columns are complete vectors. With `upper`, tiles below the diagonal are left out.
template <bool UNIT_ROW>
inline void product_of(int64_t m, int64_t n, int64_t k, const float* a, int64_t row, int64_t inner,
                       const float* b, int64_t ldb, float* c, int64_t ldc, Start start,
                       const float* bias, bool upper) {
  if (UNIT_ROW) row = 1;
  else inner = 1;
  constexpr int WIDE = 2 * LANES;
  // Columns are the outer loop, so that a panel of b, [k, WIDE], stays in the nearest cache.
  for (int64_t j = 0; j < n; j += WIDE) {
    const int64_t end = upper && j + WIDE < m ? j + WIDE : m;
    for (int64_t i = 0; i < end; i += TILE_ROWS) {
      const int64_t rows = m - i < TILE_ROWS ? m - i : TILE_ROWS;
      const float* offset = start == Start::ROW_BIAS ? bias + i : bias ? bias + j : nullptr;
      const float* from = a + i * row;
      float* to = c + i * ldc + j;
      if (upper && i >= j + LANES && j + WIDE <= n) {  // the first of both vectors is below it
        tiles<TILE_ROWS, 1>(rows, k, from, row, inner, b + j + LANES, ldb, offset, to + LANES, ldc,
                            start);
      } else if (j + WIDE > n) {
        tiles<TILE_ROWS, 1>(rows, k, from, row, inner, b + j, ldb, offset, to, ldc, start);
      } else if (rows == TILE_ROWS) {
        tile<TILE_ROWS, 2>(k, from, row, inner, b + j, ldb, offset, to, ldc, start);
      } else {
        tiles<TILE_ROWS - 1, 2>(rows, k, from, row, inner, b + j, ldb, offset, to, ldc, start);
      }
    }
  }
}

// Rows of a are contiguous: a [m, k] with a stride between rows.
void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t row, const float* b,
             int64_t ldb, float* c, int64_t ldc, Start start = Start::ZERO,
             const float* bias = nullptr);

// Columns of a are contiguous: c = a' b for a [k, m] with a stride between its rows.
void product_transposed(int64_t m, int64_t n, int64_t k, const float* a, int64_t inner,
                        const float* b, int64_t ldb, float* c, int64_t ldc,
                        Start start = Start::ZERO, const float* bias = nullptr,
                        bool upper = false);

// One row: c [n] = bias + a [k] b [k, n]; a null bias is zero.
void row_product(int64_t n, int64_t k, const float* a, const float* b, int64_t ldb, float* c,
                 const float* bias);

void transpose(int64_t rows, int64_t columns, const float* from, int64_t ld, float* to,
               int64_t to_ld);

// Runs f<COUNT>(at) for COUNT vectors of columns from `at` on. Sums over rows need several vectors
// at a time, because each addition waits for the one before.
template <class F>
INFOATLAS_INLINE void over_columns(int64_t columns, F f) {
  constexpr int MANY = 4;
  int64_t at = 0;
  for (; at + MANY * LANES <= columns; at += MANY * LANES) f.template operator()<MANY>(at);
  for (; at < columns; at += LANES) f.template operator()<1>(at);
}

// Sums over the first n values of an array.
template <class F>
INFOATLAS_INLINE float sum_over(int64_t n, F value) {
  Vec total{};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) total += value(i);
  if (i < n) total += first(value(i), n - i);
  return sum(total);
}

INFOATLAS_INLINE float total(const float* a, int64_t n) {
  return sum_over(n, [&](int64_t i) INFOATLAS_LAMBDA { return load(a + i); });
}

INFOATLAS_INLINE float dot(const float* a, const float* b, int64_t n) {
  return sum_over(n, [&](int64_t i) INFOATLAS_LAMBDA { return load(a + i) * load(b + i); });
}

}  // namespace infoatlas::INFOATLAS_TARGET
