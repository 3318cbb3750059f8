// Which sides are projected, and their projections (slicing.py of the runtime).
#pragma once

#include <infoatlas/infoatlas.h>

#include <cstdint>
#include <vector>

namespace infoatlas {

// k is 0 if neither side is projected.
struct Slicing {
  int64_t slices, k;
  bool projected[2];  // x and y
};

// For sides of widths d, constant coordinates included; refuses widths that cannot be sliced so.
infoatlas_status plan_slices(const int64_t d[2], int64_t dim, const infoatlas_settings& settings,
                             Slicing& plan);

// Projections of side 0 or 1 from d dimensions to k, [slices, k, d] with orthonormal rows.
void draw_projections(int64_t d, int64_t k, int64_t slices, uint64_t seed, int side,
                      std::vector<double>& found);

}  // namespace infoatlas
