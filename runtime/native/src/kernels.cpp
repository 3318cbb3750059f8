#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

void product(int64_t m, int64_t n, int64_t k, const float* a, int64_t row, const float* b,
             int64_t ldb, float* c, int64_t ldc, Start start, const float* bias) {
  product_of<false>(m, n, k, a, row, 1, b, ldb, c, ldc, start, bias, false);
}

void product_transposed(int64_t m, int64_t n, int64_t k, const float* a, int64_t inner,
                        const float* b, int64_t ldb, float* c, int64_t ldc, Start start,
                        const float* bias, bool upper) {
  product_of<true>(m, n, k, a, 1, inner, b, ldb, c, ldc, start, bias, upper);
}

void row_product(int64_t n, int64_t k, const float* a, const float* b, int64_t ldb, float* c,
                 const float* bias) {
  over_columns(n, [&]<int COUNT>(int64_t j) INFOATLAS_LAMBDA {
    tile<1, COUNT>(k, a, 0, 1, b + j, ldb, bias ? bias + j : nullptr, c + j, 0,
                   bias ? Start::BIAS : Start::ZERO);
  });
}

void transpose(int64_t rows, int64_t columns, const float* from, int64_t ld, float* to,
               int64_t to_ld) {
  constexpr int64_t BLOCK = 8;
  for (int64_t i0 = 0; i0 < rows; i0 += BLOCK)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = i0; i < rows && i < i0 + BLOCK; ++i) to[j * to_ld + i] = from[i * ld + j];
}

}  // namespace infoatlas::INFOATLAS_TARGET
