// Evaluation of a solved critic: shares, the Donsker-Varadhan formula, influence (critic.py).
#pragma once

#include "sample.h"

namespace infoatlas::INFOATLAS_TARGET {

// Values on joint pairs [n] and on product pairs [m, ld], n of each row in use.
struct Values {
  float* joint;
  float* product;
};

// The share of the solved features that maximises the objective over all product pairs.
float best_share(const Sample& sample, const Values& anchor, const Values& step, Arena& arena);

// The share of the complete critic that maximises it. 0 is among the shares, so that no bound is
// negative.
float critic_share(const Sample& sample, const Values& t);

// The value of the formula, nats; and the logarithm of the mean exponential over product pairs.
float donsker_varadhan(const Sample& sample, const Values& t, float* log_z);

// Influence of each sample on that value: [n], zero mean.
void influence(const Sample& sample, const Values& t, float log_z, float* out, Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
