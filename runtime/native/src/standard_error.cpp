#include "standard_error.h"

#include <algorithm>
#include <cmath>

namespace infoatlas {

namespace {

constexpr double LEAST_FACTOR = 0.5, LEAST_BEYOND = 0.02, MOST_RANK_NOISE = 1;

double mean(const double* v, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += v[i];
  return total / double(n);
}

// Sum of products of deviations `lag` apart.
double products(const double* v, int64_t n, double mean, int64_t lag) {
  double total = 0;
  for (int64_t i = lag; i < n; ++i) total += (v[i] - mean) * (v[i - lag] - mean);
  return total;
}

double variance(const double* v, int64_t n) {
  return products(v, n, mean(v, n), 0) / double(n - 1);
}

double long_run_variance(const double* v, int64_t n) {
  const double centre = mean(v, n), plain = products(v, n, centre, 0) / double(n - 1);
  if (plain == 0) return 0;
  const double rho =
      std::min(std::abs(products(v, n, centre, 1) / (plain * double(n - 1))), 0.97);
  const double alpha = 4 * rho * rho / ((1 - rho * rho) * (1 - rho * rho));
  const double bandwidth = std::max(4 * std::pow(double(n) / 100, 2.0 / 9),
                                    1.1447 * std::pow(alpha * double(n), 1.0 / 3));
  const int64_t lags = std::min(int64_t(bandwidth), n - 1);
  double total = plain;
  for (int64_t lag = 1; lag <= lags; ++lag) {
    const double weight = 1 - double(lag) / double(lags + 1);
    total += 2 * weight * products(v, n, centre, lag) / double(n - 1);
  }
  return std::max(total, 0.0);
}

double unexplained(double correlation, int64_t n) {
  return std::max(1 - correlation * correlation, 1 / (double(n) * double(n)));
}

}  // namespace

SamplingNoise sampling_noise(const double* influence, int64_t n, const double* per_slice,
                             int64_t slices, bool time_series) {
  const double plain = variance(influence, n);
  const double used = time_series ? std::max(plain, long_run_variance(influence, n)) : plain;
  const double between = slices > 1 ? variance(per_slice, slices) / double(slices) : 0;
  return {std::sqrt(used / double(n) + between), used > 0 ? double(n) * (plain / used) : double(n)};
}

double gaussian_part(const double* correlations, int64_t dim, int64_t rank_x, int64_t rank_y,
                     int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < dim; ++i) total -= std::log(unexplained(correlations[i], n)) / 2;
  return std::max(total - double(rank_x * rank_y) / double(2 * n), 0.0);
}

double rank_noise(const double* correlations, int64_t dim, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < dim; ++i)
    total += correlations[i] * correlations[i] / unexplained(correlations[i], n);
  return std::min(total / double(n), MOST_RANK_NOISE);
}

double beyond_gaussian(const double* per_slice, const double* gaussian, int64_t slices) {
  if (slices == 1) return std::abs(per_slice[0] - gaussian[0]);
  double mean = 0, square = 0;
  for (int64_t i = 0; i < slices; ++i) mean += (per_slice[i] - gaussian[i]) / double(slices);
  for (int64_t i = 0; i < slices; ++i) {
    const double deviation = per_slice[i] - gaussian[i] - mean;
    square += deviation * deviation;
  }
  return std::sqrt(square / double(slices));
}

double standard_error(const Constants& c, double noise, double predicted_error, double rank_noise,
                      double samples, double beyond) {
  const double model_error =
      std::pow(predicted_error, c.predicted) * std::pow(beyond + LEAST_BEYOND, c.beyond);
  const double parts[] = {c.noise * noise, c.spread * model_error, c.ceiling * rank_noise};
  double square = 0;
  for (const double part : parts) square += part * part;
  return std::max(1 + c.few / std::sqrt(samples), LEAST_FACTOR) * std::sqrt(square);
}

}  // namespace infoatlas
