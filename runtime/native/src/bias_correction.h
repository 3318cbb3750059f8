// The learned bias correction: an estimate of the bias of the bound (bias_correction.py).
#pragma once

#include "neighbour_features.h"
#include "readout.h"

namespace infoatlas::INFOATLAS_TARGET {

// Diagnostic features of one dataset, from which its correction is computed.
struct Diagnosed {
  const float* diagnostics;  // [diagnostics]; the last are the means of the terms
  const float* terms;        // [terms, ld], by sample
};

struct Correction {
  float correction;     // nats, added to the bound
  float spread;         // nats, predicted error of the sum
  float slope;          // derivative of the correction with respect to the bound
  const float* effect;  // [ld] effect of each sample on the correction, zero mean
};

// `counts` are the neighbours in the critic's first metric, or null. t and anchor are values of the
// critic and of its anchor. sequence [n] are positions of the samples in order of time.
Diagnosed diagnosed(const Model& model, const Sample& sample, const Values& t,
                    const Values& anchor, const Counts* counts, const int64_t* sequence,
                    const Crew& crew, Arena& arena);

// Corrections of several datasets at once, so that weights are read from memory once: out [count].
void bias_corrections(const Model& model, const Sample& sample, const Diagnosed* from,
                      int64_t count, Correction* out, Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
