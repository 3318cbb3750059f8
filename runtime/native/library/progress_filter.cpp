#include "progress_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace infoatlas::follow {
namespace {

// Probabilities of the next bin [K, K].
void make_chain(const ProgressModel& model, const Indices& part_of, Reals& chain) {
  const size_t count = part_of.size();
  for (size_t n = 0; n < model.probabilities.size(); ++n) {
    const auto from = static_cast<size_t>(model.moves[2 * n]);
    chain[from * count + static_cast<size_t>(model.moves[2 * n + 1])] = model.probabilities[n];
  }
  for (size_t i = 0; i < count; ++i) {
    double* row = chain.data() + i * count;
    size_t back = i + 1;  // bins of this part and the earlier ones
    while (back < count && part_of[back] == part_of[i]) ++back;
    for (size_t j = 0; j < count; ++j) row[j] *= 1 - model.anywhere;
    for (size_t j = 0; j < back; ++j) row[j] += model.anywhere / static_cast<double>(back);
  }
}

double log_length(const double* v, double resolution) {
  return std::log(std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + resolution);
}

double dot(const Reals& a, const Reals& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The first largest value, or the first NaN.
size_t largest(const Reals& values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i)
    if (!(values[i] <= values[best]) && values[best] == values[best]) best = i;
  return best;
}

}  // namespace

ProgressFilter::ProgressFilter(const Tool& tool)
    : last(static_cast<int64_t>(tool.model.bins.size()) - 1), model_(tool.model), limit_(tool.limit), count_(model_.start.size()),
      directions_(model_.offset.size()), pairs_(model_.pairs.size() / 6),
      chain_(count_ * count_), half_(count_), belief_(count_), prior_(count_),
      square_(count_), features_(2 * model_.centre.size() + 5 * pairs_), z_(directions_),
      share_(model_.bins.size()), before_(share_), left_(model_.centre.size()), first_(3 * pairs_),
      recent_(model_.back + 1, model_.centre.size()) {
  for (size_t p = 0; p < model_.bins.size(); ++p) {
    const int64_t bins = model_.bins[p];
    for (int64_t i = 0; i < bins; ++i) {
      part_of_.push_back(static_cast<int64_t>(p));
      place_.push_back(bins > 1 ? static_cast<double>(i) / static_cast<double>(bins - 1) : 0.5);
    }
  }
  make_chain(model_, part_of_, chain_);
  for (size_t i = 0; i < count_; ++i) {
    const double* mean = model_.means.data() + i * directions_;
    half_[i] = 0.5 * std::inner_product(mean, mean + directions_, mean, 0.0);
  }
  half_end_ = 0.5 * dot(model_.end, model_.end);
  reset();
}

double ProgressFilter::task_progress() const {
  const auto now = static_cast<size_t>(std::max<int64_t>(part, 0));
  return model_.before[now] + progress * (model_.before[now + 1] - model_.before[now]);
}

void ProgressFilter::keep_back(int64_t to) {
  most_ = std::min(to, last);
  if (part <= to) return;
  double total = 0, first = -1;
  for (size_t i = 0; i < count_; ++i) {
    belief_[i] = part_of_[i] == to;
    total += belief_[i];
    if (belief_[i] > 0 && first < 0) first = static_cast<double>(i);
  }
  for (double& belief : belief_) belief /= total;
  part = to;
  inside = 0;
  progress = 1;  // it was at the end of the part
  reached_ = first;
}

void ProgressFilter::reset() {
  steps_ = part = -1;
  inside = waiting = rests_ = 0;
  progress = reached_ = 0;
  apart = std::numeric_limits<double>::infinity();
  most_ = last;
}

size_t ProgressFilter::bytes() const {
  size_t values = part_of_.size();
  for (const Reals* own : {&chain_, &half_, &place_, &belief_, &prior_, &square_,
                           &features_, &z_, &share_, &before_, &left_, &first_})
    values += own->size();
  return 8 * values + recent_.bytes();
}

void ProgressFilter::push(const double* x, const double* between) {
  if (++steps_ == 0) std::copy_n(between, first_.size(), first_.begin());
  std::copy_n(x, model_.centre.size(), recent_[steps_]);
  project(x, recent_[std::max<int64_t>(steps_ - model_.back, 0)], between);
  believe();
  choose();
  advance();
}

// Projected features z [q].
void ProgressFilter::project(const double* x, const double* past, const double* between) {
  const ProgressModel& own = model_;
  const size_t p = own.centre.size();
  double *made = features_.data(), *apart = made + 2 * p;
  bool leaves = steps_ == 0;
  for (size_t i = 0; i < p; ++i) {
    const double ratio = (x[i] - past[i]) / own.rms[i];
    made[i] = clipped((x[i] - own.centre[i]) / own.scale[i], own.clip);
    made[p + i] = compressed(ratio);
    leaves = leaves || std::fabs(x[i] - left_[i]) > own.near * own.rms[i];
  }
  if (leaves) std::copy_n(x, p, left_.begin());
  rests_ = leaves ? 0 : rests_ + 1;
  std::copy_n(between, 3 * pairs_, apart);
  for (size_t i = 0; i < pairs_; ++i) {
    const double length = log_length(between + 3 * i, own.resolution);
    apart[3 * pairs_ + i] = length;
    apart[4 * pairs_ + i] = length - log_length(first_.data() + 3 * i, own.resolution);
  }
  for (size_t i = 0; i < 5 * pairs_; ++i)
    apart[i] = clipped((apart[i] - own.centre_between[i]) / own.scale_between[i], own.clip);
  std::fill(z_.begin(), z_.end(), 0.0);
  const double* row = own.projection.data();
  for (const double feature : features_)
    for (double& z : z_) z += feature * *row++;
  for (size_t i = 0; i < directions_; ++i) z_[i] -= own.offset[i];
}

// Half squared distances from the bins, and the probabilities of the bins.
void ProgressFilter::believe() {
  const double cap = 0.5 * model_.cap * model_.cap * static_cast<double>(directions_);
  const double own = 0.5 * dot(z_, z_);
  for (size_t i = 0; i < count_; ++i) {
    const double* mean = model_.means.data() + i * directions_;
    const double shared = std::inner_product(z_.begin(), z_.end(), mean, 0.0);
    square_[i] = least(own + half_[i] - shared, cap);
  }
  apart = std::sqrt(2 * most(own + half_end_ - dot(z_, model_.end), 0) /
                    static_cast<double>(directions_));
  if (steps_ == 0) belief_ = model_.start;
  share_of(belief_, before_);
  prior_ = model_.start;
  if (steps_ > 0) std::fill(prior_.begin(), prior_.end(), 0.0);
  for (size_t i = 0; steps_ > 0 && i < count_; ++i)
    for (size_t j = 0; j < count_; ++j) prior_[j] += belief_[i] * chain_[i * count_ + j];
  for (size_t j = 0; j < count_; ++j)
    if (part_of_[j] > most_) prior_[j] = 0;
  double nearest = std::numeric_limits<double>::infinity(), total = 0;
  for (size_t i = 0; i < count_; ++i)
    if (prior_[i] > 0) nearest = least(nearest, square_[i]);
  for (size_t i = 0; i < count_; ++i) {
    belief_[i] = prior_[i] > 0 ? prior_[i] * std::exp(-model_.temper * (square_[i] - nearest)) : 0;
    total += belief_[i];
  }
  for (double& belief : belief_) belief /= total;
  share_of(belief_, share_);
  // States that are nearly equal are one observation, so a rest does not change the part.
  if (rests_ > model_.back) {
    total = 0;
    for (size_t i = 0; i < count_; ++i) {
      const auto p = static_cast<size_t>(part_of_[i]);
      if (share_[p] > 0) belief_[i] *= before_[p] / share_[p];
      total += belief_[i];
    }
    for (double& belief : belief_) belief /= total;
    share_of(belief_, share_);
  }
}

// Probability of each part.
void ProgressFilter::share_of(const Reals& belief, Reals& share) const {
  std::fill(share.begin(), share.end(), 0.0);
  for (size_t i = 0; i < count_; ++i) share[static_cast<size_t>(part_of_[i])] += belief[i];
}

// Part and progress.
void ProgressFilter::choose() {
  const size_t best = largest(share_);
  const auto likely = static_cast<int64_t>(best);
  const int64_t now = likely < part && share_[best] < model_.certain ? part : likely;
  double total = 0, place = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (part_of_[i] != now) continue;
    total += belief_[i];
    place += belief_[i] * place_[i];
  }
  const double found = place / most(total, 1e-9);
  progress = now == part ? most(progress, found) : found;
  inside = now == part ? inside + 1 : 0;
  part = now;
}

// Time without progress.
void ProgressFilter::advance() {
  double place = 0;
  for (size_t i = 0; i < count_; ++i) place += belief_[i] * (static_cast<double>(i) + 0.5);
  const double misfit =
      std::sqrt(2 * most(dot(belief_, square_), 0) / static_cast<double>(directions_));
  if (!(misfit <= limit_)) place = 0;
  const bool further = place >= reached_ + 1, last = place > static_cast<double>(count_) - 1;
  if (further) reached_ = place;
  waiting = further || last ? 0 : waiting + 1;
}

}  // namespace infoatlas::follow
