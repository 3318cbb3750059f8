// Rounds of gradient steps that refine the generated critic on its objective (refinement.py).
#pragma once

#include "critic.h"

namespace infoatlas::INFOATLAS_TARGET {

// Moves the layers of theta in place. `near` [K, m + 1, ld] are features of neighbours, or null.
// Returns the last coefficients [stride], or null if the model has no rounds.
const float* refined(const Model& model, Theta& theta, const Sample& sample, const float* near,
                     int64_t stride, const Crew& crew, Arena& arena);

// Writes the features of neighbours of pairs (i, i + shift j) into psi [count, stride].
void place_kernels(const Model& model, const Sample& sample, const float* near, int64_t j,
                   int64_t from, int64_t count, float* psi, int64_t stride);

}  // namespace infoatlas::INFOATLAS_TARGET
