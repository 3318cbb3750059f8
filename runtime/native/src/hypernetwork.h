// The hypernetwork: generates a critic from a sample (hypernetwork.py; paper, section 3.1).
#pragma once

#include "critic.h"

namespace infoatlas::INFOATLAS_TARGET {

// Several samples of one size go through the layers of the tokens together, so that weights are
// read from memory once: out [count].
void hypernetwork(const Model& model, const Sample* samples, int64_t count, const Crew& crew,
                  Theta* out, Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
