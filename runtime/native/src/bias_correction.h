// The learned bias correction: an estimate of what the bound misses (bias_correction.py).
#pragma once

#include "neighbour_features.h"
#include "readout.h"

namespace infoatlas::INFOATLAS_TARGET {

struct Correction {
  float correction;     // nats, added to the bound
  float spread;         // nats, predicted error of the sum
  float slope;          // of the correction on the bound
  const float* effect;  // [ld] of each sample on it, zero mean
};

// `counts` are the neighbours in the critic's first metric, or null; t and anchor the critic and
// its anchor; sequence [n] positions of the samples in order of time.
Correction bias_correction(const Model& model, const Sample& sample, const Values& t,
                           const Values& anchor, const Counts* counts, const int64_t* sequence,
                           const Crew& crew, Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
