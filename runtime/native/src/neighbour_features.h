// Kernel log-ratios of the neighbours of pairs (neighbour_features.py).
#pragma once

#include "critic.h"
#include "simd.h"

namespace infoatlas::INFOATLAS_TARGET {

constexpr int COUNTED = 5;  // widths at which the bias correction counts neighbours

// Neighbours of the samples themselves, as sums of kernel values at each width: [COUNTED, ld].
struct Counts {
  const float *both, *x, *y;
  int64_t context;
};

// Number of context samples among n samples.
int64_t context_size(int64_t n);

// The features of the pairs (i, i + shift), [metrics * widths, m + 1, ld]. Unless counts is null,
// also the neighbours of the samples in the first metric.
void kernel_features(const Model& model, const Theta& theta, const Sample& sample,
                     const Crew& crew, float* features, Counts* counts, Arena& arena);

// Neighbours in a metric whose scales fall by exp(-fall) from one direction to the next; they are
// equal if fall is 0. Unless `local` [ld] is null, it is set to the local information of each
// sample, from the distance of its third neighbour.
Counts own_counts(const Sample& sample, float fall, float* local, const Crew& crew, Arena& arena);

// Log-ratio of the neighbours in both sides to those of independent sides.
INFOATLAS_INLINE Vec log_ratio(Vec both, Vec near_x, Vec near_y, int64_t context) {
  constexpr float PSEUDO_COUNT = 0.3f;
  const Vec expected = near_x * near_y * (1 / float(context));
  return log((both + PSEUDO_COUNT) / (expected + PSEUDO_COUNT));
}

}  // namespace infoatlas::INFOATLAS_TARGET
