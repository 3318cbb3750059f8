// The standard error of an estimate (standard_error.py of the runtime).
#pragma once

#include <cstdint>

#include "description.h"

namespace infoatlas {

struct SamplingNoise {
  double noise, effective_samples;
};

// From the influences [n] in the order of the input, and the estimates of slices.
SamplingNoise sampling_noise(const double* influence, int64_t n, const double* per_slice,
                             int64_t slices, bool time_series);

// Of canonical correlations [dim], for one slice.
double gaussian_part(const double* correlations, int64_t dim, int64_t rank_x, int64_t rank_y,
                     int64_t n);
double rank_noise(const double* correlations, int64_t dim, int64_t n);

double beyond_gaussian(const double* per_slice, const double* gaussian, int64_t slices);

double standard_error(const Constants& constants, double noise, double predicted_error,
                      double rank_noise, double samples, double beyond);

}  // namespace infoatlas
