#include "samples.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace infoatlas {

namespace {

constexpr double OUTLIER = 10;       // of canonical.py
constexpr double MOST_BEYOND = 3.5;  // of bounds.py
constexpr double INFINITE = std::numeric_limits<double>::infinity();

double rounded(double value, double step) {
  return step > 0 ? std::nearbyint(value / step) * step : value;
}

double plain_entropy(const std::vector<int64_t>& counts, int64_t n) {
  double total = 0;
  for (const int64_t count : counts) {
    const double share = double(count) / double(n);
    total -= share * std::log(share);
  }
  return total;
}

// Normal quantile of p in 1e-11 .. 0.5: AS241 of Wichura (1988), which Python uses, to the last bit.
double quantile(double p) {
  constexpr double CENTRE[] = {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                               45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                               133.14166789178437745, 3.3871328727963666080};
  constexpr double CENTRE_BELOW[] = {5226.4952788528545610, 28729.085735721942674,
                                     39307.895800092710610, 21213.794301586595867,
                                     5394.1960214247511077, 687.18700749205790830,
                                     42.313330701600911252, 1};
  constexpr double TAIL[] = {7.7454501427834140764e-4, 0.0227238449892691845833,
                             0.241780725177450611770,  1.27045825245236838258,
                             3.64784832476320460504,   5.76949722146069140550,
                             4.63033784615654529590,   1.42343711074968357734};
  constexpr double TAIL_BELOW[] = {1.05075007164441684324e-9, 5.4759380849953449460e-4,
                                   0.0151986665636164571966,  0.148103976427480074590,
                                   0.689767334985100004550,   1.67638483018380384940,
                                   2.05319162663775882187,    1};
  const auto polynomial = [](const double (&coefficients)[8], double r) {
    double found = coefficients[0];
    for (int i = 1; i < 8; ++i) found = found * r + coefficients[i];
    return found;
  };
  const double q = p - 0.5;
  if (q >= -0.425) {
    const double r = 0.180625 - q * q;
    return polynomial(CENTRE, r) * q / polynomial(CENTRE_BELOW, r);
  }
  const double r = std::sqrt(-std::log(p)) - 1.6;
  return -(polynomial(TAIL, r) / polynomial(TAIL_BELOW, r));
}

// Chao and Shen (2003).
double entropy(const std::vector<int64_t>& counts, int64_t n) {
  const auto size = double(n);
  const double coverage = 1 - double(std::ranges::count(counts, 1)) / size;
  if (coverage == 0) return INFINITE;
  if (counts.size() == 1) return 0;
  double total = 0;
  for (const int64_t count : counts) {
    const double share = coverage * double(count) / size;
    total += share * std::log(share) / std::expm1(size * std::log1p(-share));
  }
  return total;
}

}  // namespace

bool PreparedSide::take(const Samples& samples, int i, const int64_t* order) {
  const int64_t width = samples.d[i];
  const double *from = samples.side[i], *resolution = samples.resolution[i];
  const auto step = [&](int64_t j) { return resolution ? resolution[j] : 0.0; };
  n = samples.n;
  columns_.resize(size_t(n * width));
  for (auto* left_out : {&constant, &redundant}) {
    left_out->clear();
    left_out->reserve(size_t(width));
  }
  d = 0;
  bool finite = true;
  for (int64_t j = 0; j < width; ++j) {
    const double first = rounded(from[j], step(j));
    double* to = column(d);
    bool same = true;
    for (int64_t t = 0; t < n; ++t) {
      to[t] = rounded(from[order[t] * width + j], step(j));
      same = same && to[t] == first;
      finite = finite && std::isfinite(to[t]);
    }
    if (same) constant.push_back(j);
    else ++d;
  }
  if (!finite) return false;
  degenerate = d == 0;
  if (!degenerate) return true;
  d = width;
  for (int64_t j = 0; j < width; ++j) std::fill_n(column(j), n, rounded(from[j], step(j)));
  return true;
}

void PreparedSide::scale() {
  space_.resize(size_t(n));
  const auto rank = [this](int64_t at) {
    std::nth_element(space_.begin(), space_.begin() + at, space_.end());
    return space_[size_t(at)];
  };
  for (int64_t j = 0; j < d; ++j) {
    double* v = column(j);
    std::copy_n(v, n, space_.begin());
    const double centre = rank(n / 2);
    for (int64_t t = 0; t < n; ++t) space_[size_t(t)] = std::abs(v[t] - centre);
    double limit = OUTLIER * rank(std::max<int64_t>(n - 2 - n / 100, 0));
    if (!(limit > 0)) limit = INFINITE;
    for (int64_t t = 0; t < n; ++t) v[t] = std::clamp(v[t], centre - limit, centre + limit);

    const auto [low, high] = std::minmax_element(v, v + n);
    // Scaling by the range first keeps the squares finite.
    const double middle = *low / 4 + *high / 4, half_range = *high / 2 - *low / 2;
    if (half_range == 0) {
      std::fill_n(v, n, 0.0);
      continue;
    }
    double mean = 0, square = 0;
    for (int64_t t = 0; t < n; ++t) mean += v[t] = (v[t] / 2 - middle) / half_range;
    mean /= double(n);
    for (int64_t t = 0; t < n; ++t) {
      v[t] -= mean;
      square += v[t] * v[t];
    }
    const double deviation = std::sqrt(square / double(n));
    for (int64_t t = 0; t < n; ++t) v[t] /= deviation;
  }
}

void PreparedSide::reduce(const char* given) {
  if (degenerate) return;
  const char* found = given ? given : redundancy_.find(rows(), n, d);
  int64_t input = 0, kept = 0;
  auto next_constant = constant.begin();
  for (int64_t j = 0; j < d; ++j, ++input) {
    for (; next_constant != constant.end() && *next_constant == input; ++next_constant) ++input;
    if (found[given ? input : j]) {
      redundant.push_back(input);
    } else {
      if (kept < j) std::copy_n(column(j), n, column(kept));
      ++kept;
    }
  }
  if (kept) d = kept;
  else redundant.clear();  // what determines them is constant in these samples
}

const double* PreparedSide::rows() {
  rows_.resize(size_t(n * d));
  for (int64_t j = 0; j < d; ++j)
    for (int64_t t = 0; t < n; ++t) rows_[size_t(t * d + j)] = column(j)[t];
  return rows_.data();
}

double PreparedSide::autocorrelation(const int64_t* place) {
  double total = 0;
  for (int64_t j = 0; j < d; ++j) {
    const double* v = column(j);
    double mean = 0, square = 0, product = 0;
    for (int64_t t = 0; t < n; ++t) mean += v[t];
    mean /= double(n);
    for (int64_t t = 0; t < n; ++t) square += (v[t] - mean) * (v[t] - mean);
    const double deviation = std::sqrt(square / double(n));
    for (int64_t t = 1; t < n; ++t)
      product += (v[place[t]] - mean) / deviation * ((v[place[t - 1]] - mean) / deviation);
    product /= double(n - 1);
    total += std::isfinite(product) ? product : 0;
  }
  return total / double(d);
}

bool PreparedSide::distinct() {
  space_.resize(size_t(n));
  for (int64_t j = 0; j < d; ++j) {
    std::copy_n(column(j), n, space_.begin());
    std::ranges::sort(space_);
    if (std::ranges::adjacent_find(space_) == space_.end()) return true;
  }
  return false;
}

void PreparedSide::label(bool distinct) {
  labels.resize(size_t(n));
  if (distinct) {
    std::iota(labels.begin(), labels.end(), 0);
    counts.assign(size_t(n), 1);
    return;
  }
  const auto order = [this](int64_t a, int64_t b) {
    for (int64_t j = 0; j < d; ++j)
      if (column(j)[a] != column(j)[b]) return column(j)[a] < column(j)[b];
    return false;
  };
  by_value_.resize(size_t(n));
  std::iota(by_value_.begin(), by_value_.end(), 0);
  std::ranges::sort(by_value_, order);
  counts.clear();
  counts.reserve(size_t(n));  // so that later rows need no more memory
  for (int64_t t = 0; t < n; ++t) {
    if (!t || order(by_value_[size_t(t) - 1], by_value_[size_t(t)])) counts.push_back(0);
    ++counts.back();
    labels[size_t(by_value_[size_t(t)])] = int64_t(counts.size()) - 1;
  }
}

double ceiling(PreparedSide& x, PreparedSide& y, std::vector<int64_t>& space) {
  const bool distinct_x = x.distinct(), distinct_y = y.distinct();
  if (distinct_x && distinct_y) return INFINITE;
  const int64_t n = x.n;
  x.label(distinct_x);
  y.label(distinct_y);
  if (x.counts.size() == size_t(n) && y.counts.size() == size_t(n)) return INFINITE;
  int64_t alone = 0;
  space.resize(size_t(n));
  for (size_t t = 0; t < size_t(n); ++t) {
    space[t] = x.labels[t] * n + y.labels[t];
    alone += x.counts[size_t(x.labels[t])] == 1 && y.counts[size_t(y.labels[t])] == 1;
  }
  std::ranges::sort(space);
  size_t cells = 0;  // the counts of pairs of labels replace the pairs
  for (size_t t = 0, end; t < size_t(n); t = end) {
    for (end = t + 1; end < size_t(n) && space[end] == space[t];) ++end;
    space[cells++] = int64_t(end - t);
  }
  space.resize(cells);
  const double missing =
      (double(x.counts.size()) + double(y.counts.size()) - double(cells) - 1) / double(2 * n);
  const double table = plain_entropy(x.counts, n) + plain_entropy(y.counts, n) -
                       plain_entropy(space, n) + std::max(missing, 0.0) +
                       MOST_BEYOND * double(alone) / double(n);
  return std::max(std::min({entropy(x.counts, n), entropy(y.counts, n), table}), 0.0);
}

void score_table(int64_t n, double* found) {
  found[n - 1] = 0;
  for (int64_t i = 0; i < n - 1; ++i) {
    found[i] = quantile(double(i + 1) / double(2 * n));
    found[2 * n - 2 - i] = -found[i];
  }
}

}  // namespace infoatlas
