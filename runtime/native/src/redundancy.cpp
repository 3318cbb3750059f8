#include "redundancy.h"

#include <algorithm>
#include <cmath>

namespace infoatlas {

namespace {

constexpr double UNEXPLAINED = 1e-8;
constexpr double RIDGE = 1e-10;
constexpr int64_t CHECKED = 10;  // of so many windows, one is compared with the decisions

}  // namespace

const char* Redundancy::find(const double* samples, int64_t n, int64_t d) {
  found_.assign(size_t(d), false);
  if (d < 2 || n < d + 2) return found_.data();
  mean_.assign(size_t(d), 0);
  centred_.resize(size_t(d));
  covariance_.assign(size_t(d * d), 0);
  const auto row = [&](int64_t i) { return covariance_.data() + i * d; };  // from column i on
  for (int64_t t = 0; t < n; ++t)
    for (int64_t j = 0; j < d; ++j) mean_[size_t(j)] += samples[t * d + j];
  for (double& mean : mean_) mean /= double(n);
  double* v = centred_.data();
  for (int64_t t = 0; t < n; ++t) {
    for (int64_t j = 0; j < d; ++j) v[j] = samples[t * d + j] - mean_[size_t(j)];
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = i; j < d; ++j) row(i)[j] += v[i] * v[j];
  }
  for (int64_t j = 0; j < d; ++j) {
    const double square = row(j)[j];
    v[j] = square > 0 ? std::sqrt(square) : 1;  // a constant coordinate
  }
  for (int64_t i = 0; i < d; ++i) {
    for (int64_t j = i; j < d; ++j) row(i)[j] = row(i)[j] / v[i] / v[j];
    row(i)[i] = 1 + RIDGE;
  }
  // What each coordinate leaves unexplained of the later ones (Cholesky's factorisation).
  for (int64_t k = 0; k < d; ++k) {
    const double* own = row(k);
    found_[size_t(k)] = own[k] < UNEXPLAINED;
    for (int64_t i = k + 1; i < d; ++i) {
      const double share = own[i] / own[k];
      for (int64_t j = i; j < d; ++j) row(i)[j] -= share * own[j];
    }
  }
  return found_.data();
}

StreamRedundancy::StreamRedundancy(int64_t n, int64_t d)
    : varies_(size_t(d)), undecided_(size_t(d)), out_(size_t(d)) {
  redundancy_.find(std::vector<double>(size_t(n * d)).data(), n, d);
  forget();
}

void StreamRedundancy::forget() {
  std::ranges::fill(undecided_, true);
  std::ranges::fill(out_, false);
  updates_ = 0;
}

const char* StreamRedundancy::update(const double* samples, int64_t n) {
  const auto d = int64_t(out_.size());
  bool decide = false, check = false;
  for (int64_t j = 0; j < d; ++j) {
    bool varies = false;
    for (int64_t t = 1; t < n && !varies; ++t) varies = samples[t * d + j] != samples[j];
    varies_[size_t(j)] = varies;
    decide |= varies && undecided_[size_t(j)];
    check |= varies && out_[size_t(j)];
  }
  ++updates_;
  if (decide || (check && updates_ % CHECKED == 0)) {
    const char* found = redundancy_.find(samples, n, d);
    for (size_t j = 0; j < size_t(d); ++j) {
      if (!varies_[j]) continue;
      out_[j] = found[j] && (undecided_[j] || out_[j]);
      undecided_[j] = false;
    }
  }
  return out_.data();
}

}  // namespace infoatlas
