// Slices of paired samples, and their canonical form (slicing.py and canonical.py of the runtime).
#pragma once

#include <cstdint>

#include "arena.h"

namespace infoatlas {

// One side: samples [n, width], and the projections of its slices [slices, k, width]. If the
// projections are null, the side is the same in every slice, and k is its width.
struct Side {
  const double* samples;
  int64_t width;
  const double* projections;
  int64_t k;
};

struct Pairs {
  int64_t n, slices;
  Side x, y;
  const double* score_table;  // [2 n - 1] normal scores of the average ranks 1, 1.5, ..., n
};

// `Canonical` of canonical.py; every array is the caller's.
struct Canonical {
  float *x, *y;              // [slices, n, dim]
  double* correlations;      // [slices, dim] descending
  int64_t *rank_x, *rank_y;  // [slices]
  bool* saturated;           // [slices]
};

}  // namespace infoatlas
