// The solve of the readout: damped Newton steps of the DV objective (`solve_readout` of critic.py).
#pragma once

#include "critic.h"

namespace infoatlas::INFOATLAS_TARGET {

// The problem to solve. Rows are pairs: the first n are the joint ones.
struct Problem {
  float* psi;          // [rows, stride] features, which are centred in place
  const float* t0;     // [rows] anchor
  const float* ridge;  // [stride]
  int64_t rows, n, stride;
  int steps;  // Newton steps
};

// Coefficients that maximise the objective: a [stride]. `start` is an initial guess, or null. Also
// returns the mean [stride] that was subtracted from psi.
void solve_readout(const Model& model, const Problem& problem, const float* start,
                   const Crew& crew, float* mean, float* a, Arena& arena);

// psi a of each row, plus a constant: [rows].
void combine(const float* psi, int64_t rows, int64_t stride, const float* a, float constant,
             float* out);

float largest_of(const float* t, int64_t count);

// The logarithm of the sum of exponentials.
float log_sum_exp(const float* t, int64_t count);

}  // namespace infoatlas::INFOATLAS_TARGET
