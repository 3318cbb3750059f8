// Kernel log-ratios: what the neighbours of a pair say (neighbour_features.py).
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

// How many of n samples are context.
int64_t context_size(int64_t n);

// The features of the pairs (i, i + shift), [metrics * widths, m + 1, ld]; and, where counts is
// not null, the neighbours of the samples in the first metric.
void kernel_features(const Model& model, const Theta& theta, const Sample& sample,
                     const Crew& crew, float* features, Counts* counts, Arena& arena);

// Neighbours in a metric that falls by exp(-fall) a direction; 0: it is even. Where `local` is not
// null, [ld], the local information of each sample from the distance of its third neighbour.
Counts own_counts(const Sample& sample, float fall, float* local, const Crew& crew, Arena& arena);

// Neighbours in both sides over those that independent sides would have, as a logarithm.
INFOATLAS_INLINE Vec log_ratio(Vec both, Vec near_x, Vec near_y, int64_t context) {
  constexpr float PSEUDO_COUNT = 0.3f;
  const Vec expected = near_x * near_y * (1 / float(context));
  return log((both + PSEUDO_COUNT) / (expected + PSEUDO_COUNT));
}

}  // namespace infoatlas::INFOATLAS_TARGET
