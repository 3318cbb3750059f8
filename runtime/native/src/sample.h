// A dataset in the form that the stages use.
#pragma once

#include <cstdint>

#include "arena.h"
#include "model.h"

namespace infoatlas {

// Inputs and outputs of the graph for one dataset.
struct Task {
  const float *x, *y;  // [n, dim]
  int64_t n;
  const int64_t* shifts;
  int64_t m;
  const int64_t* sequence;
  float *mi, *pointwise, *influence, *spread;
  float* diagnostics;  // or null
};

constexpr int64_t MOST_TOGETHER = 5;  // datasets that are evaluated together, at most

namespace INFOATLAS_TARGET {

// Sides are stored by coordinate: [rows, ld], samples contiguous. The first `dim` rows are the
// sample itself; then come its log-norm r, and r times the sample (`side_inputs` of critic.py).
struct Sample {
  int64_t n, ld;
  int dim, inputs;
  float *x, *y;          // [inputs, ld]
  const float* used;     // [2 dim] mean squares, of x and then of y
  float default_width;   // of kernels (neighbour_features.py)
  const int64_t* shifts;  // [m + 1] in 0 .. n-1; the first is 0
  int64_t m;
};

Sample take_sample(const Task& task, int dim, Arena& arena);

constexpr int64_t CHUNK = 48;  // samples or pairs that are processed at a time
constexpr int64_t GROUP = 512;  // samples of one task

// Sample i + shift, cyclic.
inline int64_t partner(int64_t i, int64_t shift, int64_t n) {
  return i + shift >= n ? i + shift - n : i + shift;
}

}  // namespace INFOATLAS_TARGET
}  // namespace infoatlas
