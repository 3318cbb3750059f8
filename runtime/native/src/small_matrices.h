// Eigenvectors and singular vectors of matrices as small as the sides of a slice, row by row.
#pragma once

#include <cstdint>

#include "arena.h"

namespace infoatlas::INFOATLAS_TARGET {

// A symmetric matrix a [d, d]: eigenvalues [d], descending, and eigenvectors, the rows of
// `vectors` [d, d]. Overwrites a.
void symmetric_eigen(int64_t d, double* a, double* values, double* vectors, Arena& arena);

// a [m, n] = U diag(s) V': the rows of `ut` [m, m] and `vt` [n, n] are singular vectors, and
// s [min(m, n)] descends. Overwrites a.
//
// If m and n differ, no singular value determines the last vectors of the longer side. They are
// those of LAPACK's dgesdd, because the reflections are the same.
void singular_values(int64_t m, int64_t n, double* a, double* s, double* ut, double* vt,
                     Arena& arena);

// out [d, d] = a [d, d] b [d, d].
void square_product(int64_t d, const double* a, const double* b, double* out);

}  // namespace infoatlas::INFOATLAS_TARGET
