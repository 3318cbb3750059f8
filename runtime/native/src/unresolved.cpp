#include "unresolved.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace infoatlas {

namespace {

constexpr double MARGIN = 3;
constexpr int64_t PAIRS = 256;

}  // namespace

double Unresolved::least_information(const PreparedSide& x, const PreparedSide& y,
                                     const int64_t* order, const int64_t* place,
                                     const double* table) {
  const int64_t n = x.n;
  sort(x, nullptr, x_);
  sort(y, order, y_);
  scores_.resize(size_t(n));
  values_.resize(size_t(n));
  for (int64_t i = 0; i < n; ++i) values_[size_t(i)] = table[2 * i];
  const double at_most = entropy() + std::numbers::ln2 / 2;
  double bound = -std::numeric_limits<double>::infinity();
  for (const bool forth : {true, false}) {
    const std::vector<int64_t>&given = forth ? x_ : y_, &target = forth ? y_ : x_;
    for (const int64_t *own = target.data(); own < target.data() + target.size(); own += n) {
      for (int64_t i = 0; i < n; ++i) scores_[size_t(own[i])] = table[2 * i];
      const double nearest = entropy_along(most_informative(given));
      if (at_most - nearest > bound)  // or it cannot be the largest
        bound = std::max(bound, std::min(entropy_along(place), at_most) - nearest);
    }
  }
  return bound - MARGIN / std::sqrt(double(n));
}

// Equal values are sorted by place, or by place in the order (null: none).
void Unresolved::sort(const PreparedSide& side, const int64_t* order,
                      std::vector<int64_t>& found) {
  const int64_t n = side.n;
  ranked_.resize(size_t(n));
  found.resize(size_t(side.d * n));
  for (int64_t j = 0; j < side.d; ++j) {
    const double* v = side.column(j);
    for (int64_t t = 0; t < n; ++t) ranked_[size_t(t)] = {v[order ? order[t] : t], t};
    std::ranges::sort(ranked_, [](const Value& a, const Value& b) {
      return a.value != b.value ? a.value < b.value : a.place < b.place;
    });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t t = ranked_[size_t(i)].place;
      found[size_t(j * n + i)] = order ? order[t] : t;
    }
  }
}

// Of `values_`, which are sorted.
double Unresolved::entropy() {
  std::ranges::sort(values_);
  const auto n = int64_t(values_.size());
  const auto m = std::max<int64_t>(1, std::llrint(std::sqrt(double(n)) / 2));
  double total = 0, digamma = -std::numbers::egamma;
  for (int64_t i = m; i < n; ++i)
    total += std::log(std::max(values_[size_t(i)] - values_[size_t(i - m)], 1e-12) * double(n + 1));
  for (int64_t k = 1; k < m; ++k) digamma += 1 / double(k);
  return total / double(n - m) - digamma;
}

// Of the differences of the scores of neighbours on a path [n].
double Unresolved::entropy_along(const int64_t* path) {
  values_.resize(scores_.size() - 1);
  for (size_t i = 0; i < values_.size(); ++i)
    values_[i] = scores_[size_t(path[i + 1])] - scores_[size_t(path[i])];
  return entropy();
}

// The one of some paths [d, n] whose neighbours differ least in their scores.
const int64_t* Unresolved::most_informative(const std::vector<int64_t>& paths) const {
  const auto n = int64_t(scores_.size()), step = std::max<int64_t>(1, n / PAIRS);
  const int64_t* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const int64_t* path = paths.data(); path < paths.data() + paths.size(); path += n) {
    double total = 0;
    for (int64_t i = 0; i < n - 1; i += step)
      total += std::abs(scores_[size_t(path[i + 1])] - scores_[size_t(path[i])]);
    if (total < least) {
      least = total;
      best = path;
    }
  }
  return best;
}

}  // namespace infoatlas
