// The critic: Gaussian anchor, networks of the two sides, features of pairs (critic.py).
#pragma once

#include "sample.h"

namespace infoatlas::INFOATLAS_TARGET {

// The complete generated parameters of a critic. Layers are [inputs + 1, slots]; the last row is
// the bias. Slots without a unit are zeros.
struct Theta {
  const float* z;  // [dim] Fisher z, shrunk and capped
  float *x1, *y1, *x2, *y2, *x3, *y3, *bias, *mix;
  const float* ridge;   // by slot
  const float* metric;  // [metrics, 2, dim] log-scales
  const float* rate;    // [refinements, LAYERS, slots]
};

// Fisher z of canonical correlations: [dim]. 1 - rho = mean((x - y)^2) / 2 has no cancellation.
void fisher_z(const Sample& sample, float* z);

// Shrinks z so that the anchor's information hardly exceeds what n samples can resolve.
void cap(float* z, int dim, int64_t n);

// T0 of the pairs (i, i + shift): [m + 1, ld]; joint pairs alone with count = 1.
void anchor(const Sample& sample, const float* z, int64_t count, float* t0, Arena& arena);

// The network of a side, for samples from .. from + count: [count, slots]. Inner values are kept if
// requested: before, u and between [count, unit_slots], and hidden.
struct SideValues {
  float *before, *u, *between, *hidden;
};
void side(const Model& model, const float* first, const float* second, const float* last,
          const float* inputs, int64_t ld, int64_t from, int64_t count, const SideValues& values,
          float* out);

// Both sides of all samples: sx (with the bias) and sy [n, slots].
void sides(const Model& model, const Theta& theta, const Sample& sample, const Crew& crew,
           float* sx, float* sy);

// Features of the pairs of samples from .. from + count with those `shift` later: psi [count,
// stride]. h and p [count, slots] are inputs and outputs of the layer of the pairs; s, the sum of
// the sides, is kept unless it is null.
void features(const Model& model, const Theta& theta, const Sample& sample, const float* sx,
              const float* sy, int64_t shift, int64_t from, int64_t count, float* s, float* h,
              float* p, float* psi, int64_t stride);

}  // namespace infoatlas::INFOATLAS_TARGET
