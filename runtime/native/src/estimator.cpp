#include "estimator.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "errors.h"
#include "numpy_random.h"
#include "standard_error.h"

namespace infoatlas {

namespace {

constexpr double FLOOR = -0.1;            // nats, of bounds.py
constexpr double AUTOCORRELATED = 0.25;   // of prepare.py
constexpr int64_t CHUNK_PAIRS = 1'000'000;  // samples x shifts x slices that are evaluated at once
constexpr int64_t MOST_COUNT = 1'000'000;

// With a reserve, because fewer samples may need slightly more memory.
void fit(std::vector<float>& values, int64_t size) {
  if (values.capacity() < size_t(size)) values.reserve(size_t(size + size / 4));
  values.resize(size_t(size));
}

class Clock {
 public:
  // Seconds since the last call, or since the beginning.
  double lap() {
    const auto now = std::chrono::steady_clock::now(), before = std::exchange(start_, now);
    return std::chrono::duration<double>(now - before).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void check_count(int64_t value, int64_t least, int64_t most, const char* name) {
  if (value && (value < least || value > most))
    throw InputError(std::string(name) + " is " + std::to_string(value) + ": use " +
                     std::to_string(least) + " to " + std::to_string(most) +
                     ", or 0 for the default");
}

}  // namespace

Estimator::Estimator(Engine& engine, const Description& description,
                     const infoatlas_settings& settings)
    : engine_(engine), description_(description), settings_(settings) {
  check_count(settings.k, 1, engine.dim(), "k");
  check_count(settings.slices, 1, MOST_COUNT, "slices");
  check_count(settings.shifts, LEAST_SHIFTS, MOST_COUNT, "shifts");
  check_count(settings.sides, INFOATLAS_SIDES_AUTO, INFOATLAS_SIDES_Y, "sides");
}

infoatlas_status Estimator::run(const Samples& samples, infoatlas_estimate& found) {
  seconds_ = {};
  Clock clock;
  Slicing plan;
  if (const auto bad = check(samples)) return bad;
  if (const auto bad = plan_slices(samples.d, engine_.dim(), settings_, plan)) return bad;
  const int64_t n = samples.n;
  draw_order(n, plan.slices);
  for (int i = 0; i < 2; ++i)
    if (!sides_[i].take(samples, i, order_.data()))
      return refuse(INFOATLAS_INPUT_ERROR,
                    "a resolution of %c is too small for its values: give it in their units",
                    i ? 'y' : 'x');
  PreparedSide &x = sides_[0], &y = sides_[1];
  found = {};
  found.degenerate = x.degenerate || y.degenerate;
  const double most = ceiling(x, y, space_);
  for (int i = 0; i < 2; ++i)
    if (plan.projected[i]) {
      sides_[i].scale();
      sides_[i].reduce(samples.redundant[i]);
    }
  found.samples = n;
  found.slices = plan.slices;
  found.k = plan.k;
  found.constant_x = int64_t(x.constant.size());
  found.constant_y = int64_t(y.constant.size());
  found.redundant_x = int64_t(x.redundant.size());
  found.redundant_y = int64_t(y.redundant.size());
  found.autocorrelated =
      !samples.time_series && !found.degenerate &&
      x.autocorrelation(place_.data()) * y.autocorrelation(place_.data()) > AUTOCORRELATED;
  seconds_.slicing = clock.lap();
  if (const auto bad = evaluate(samples, plan, most, found)) return bad;
  if (!plan.k && !found.degenerate) {
    const double least = unresolved_.least_information(x, y, order_.data(), place_.data(),
                                                       table_.data());
    found.predicted_error = std::max(found.predicted_error, least - found.mi);
  }
  const SamplingNoise noise = sampling_noise(found.influence, n, found.per_slice, plan.slices,
                                             samples.time_series);
  found.noise = noise.noise;
  found.effective_samples = noise.effective_samples;
  if (found.degenerate) return INFOATLAS_OK;
  found.beyond_gaussian = beyond_gaussian(found.per_slice, gaussian_.data(), plan.slices);
  found.standard_error =
      description_.calibrated
          ? standard_error(plan.k ? description_.sliced : description_.unsliced, found.noise,
                           found.predicted_error, found.rank_noise, found.effective_samples,
                           found.beyond_gaussian)
          : found.noise;
  return INFOATLAS_OK;
}

infoatlas_status Estimator::check(const Samples& samples) const {
  const int64_t n = samples.n;
  if (n < description_.n_min || n > description_.n_max)
    return refuse(INFOATLAS_INPUT_ERROR,
                  "%" PRId64 " samples are not in %" PRId64 "..%" PRId64
                  ", for which model %s was trained: pass as many", n, description_.n_min,
                  description_.n_max, description_.name.c_str());
  for (int i = 0; i < 2; ++i) {
    const char name = i ? 'y' : 'x';
    const double* resolution = samples.resolution[i];
    if (samples.d[i] < 1) return refuse(INFOATLAS_INPUT_ERROR, "%c has no coordinates", name);
    for (int64_t j = 0; j < n * samples.d[i]; ++j)
      if (!std::isfinite(samples.side[i][j]))
        return refuse(INFOATLAS_INPUT_ERROR,
                      "%c is not finite at sample %" PRId64 ", coordinate %" PRId64
                      ": remove those pairs from x and y; in a time series, fill them in, as lags "
                      "count rows", name, j / samples.d[i], j % samples.d[i]);
    for (int64_t j = 0; resolution && j < samples.d[i]; ++j)
      if (!(resolution[j] >= 0 && std::isfinite(resolution[j])))
        return refuse(INFOATLAS_INPUT_ERROR,
                      "the resolution of %c is %f for coordinate %" PRId64
                      ": use a finite number, 0 for none", name, resolution[j], j);
  }
  return INFOATLAS_OK;
}

// `shuffle` of shuffling.py.
void Estimator::draw_order(int64_t n, int64_t slices) {
  const int64_t wanted =
      settings_.shifts ? settings_.shifts : description_.shift_count(n, slices);
  const int64_t shifts = std::min({wanted, n - 1, std::max(LEAST_SHIFTS, CHUNK_PAIRS / n)});
  if (n == n_ && shifts == drawn_) return;
  n_ = 0;  // until all is drawn
  for (auto* values : {&order_, &place_, &in_order_}) values->resize(size_t(n));
  shifts_.resize(size_t(shifts));
  Random random(settings_.seed, 2);
  random.permutation(n, order_.data());
  random.choice(n - 1, shifts, shifts_.data(), space_);
  for (int64_t& shift : shifts_) ++shift;
  for (int64_t i = 0; i < n; ++i) place_[size_t(order_[size_t(i)])] = i;
  std::iota(in_order_.begin(), in_order_.end(), 0);
  table_.resize(size_t(2 * n - 1));
  score_table(n, table_.data());
  n_ = n;
  drawn_ = shifts;
}

// Side i for the slices from `first` on. Projections are of the coordinates that are used
// (`without_constants` of slicing.py).
Side Estimator::side(int i, const Slicing& plan, int64_t first) {
  const int64_t d = sides_[i].d;
  if (!plan.projected[i]) return {sides_[i].rows(), d, nullptr, d};
  const bool fewer = !sides_[i].constant.empty() || !sides_[i].redundant.empty();
  Projections& own = projections_[i][fewer];
  if (own.d != d) {
    own.d = 0;  // (until they are drawn)
    own.k = std::min(plan.k, d);
    draw_projections(d, own.k, plan.slices, settings_.seed, i, own.values);
    own.d = d;
  }
  return {sides_[i].rows(), d, own.values.data() + first * own.k * d, own.k};
}

infoatlas_status Estimator::evaluate(const Samples& samples, const Slicing& plan, double most,
                                     infoatlas_estimate& found) {
  const int64_t n = samples.n, dim = engine_.dim(), slices = plan.slices;
  const auto shifts = int64_t(shifts_.size());
  const int64_t size = std::min(slices, std::max<int64_t>(1, CHUNK_PAIRS / (n * shifts)));
  for (auto* values : {&x_, &y_}) fit(*values, size * n * dim);
  for (auto* values : {&mi_, &spread_}) fit(*values, size);
  for (auto* values : {&pointwise_, &influence_}) fit(*values, size * n);
  correlations_.resize(size_t(size * dim));
  for (auto& rank : rank_) rank.resize(size_t(size));
  saturated_.resize(size_t(size));
  for (auto* values : {&per_slice_, &gaussian_}) values->assign(size_t(slices), 0);
  for (int i = 0; i < 2; ++i) {
    sums_[i].assign(size_t(n), 0);
    means_[i].resize(size_t(n));
  }
  Clock clock;
  const int64_t* sequence = samples.time_series ? place_.data() : in_order_.data();
  for (int64_t first = 0; first < slices; first += size) {
    const int64_t count = std::min(size, slices - first);
    auto* saturated = reinterpret_cast<bool*>(saturated_.data());
    engine_.canonicalise({n, count, side(0, plan, first), side(1, plan, first), table_.data()},
                         {x_.data(), y_.data(), correlations_.data(), rank_[0].data(),
                          rank_[1].data(), saturated});
    seconds_.preprocessing += clock.lap();
    if (!found.degenerate)
      engine_.run(x_.data(), y_.data(), count, n, shifts_.data(), shifts, sequence,
                  {mi_.data(), pointwise_.data(), influence_.data(), spread_.data()});
    for (int64_t s = 0; s < count; ++s) {
      const double* correlations = correlations_.data() + s * dim;
      const int64_t rank_x = rank_[0][size_t(s)], rank_y = rank_[1][size_t(s)];
      found.rank_x += double(rank_x) / double(slices);
      found.rank_y += double(rank_y) / double(slices);
      gaussian_[size_t(first + s)] = gaussian_part(correlations, dim, rank_x, rank_y, n);
      found.gaussian += gaussian_[size_t(first + s)] / double(slices);
      found.rank_noise += rank_noise(correlations, dim, n) / double(slices);
      found.saturated |= saturated[s];
      if (found.degenerate) continue;
      const double value = mi_[size_t(s)];
      const double bounded = std::min(std::max(value, FLOOR), most), change = bounded - value;
      per_slice_[size_t(first + s)] = bounded;
      found.mi += bounded / double(slices);
      found.clipped |= change != 0;
      found.predicted_error += double(spread_[size_t(s)]) / double(slices);
      for (int64_t i = 0; i < n; ++i) {
        sums_[0][size_t(i)] += double(pointwise_[size_t(s * n + i)]) + change;
        sums_[1][size_t(i)] += influence_[size_t(s * n + i)];
      }
    }
    seconds_.inference += clock.lap();
  }
  double all = found.mi + found.predicted_error;
  for (int i = 0; i < 2; ++i)
    for (int64_t t = 0; t < n; ++t) {
      const double mean = sums_[i][size_t(t)] / double(slices);
      means_[i][size_t(order_[size_t(t)])] = mean;
      all += mean;
    }
  if (!std::isfinite(all))
    return refuse(INFOATLAS_FILE_ERROR,
                  "model %s gave values that are not finite: use another model, and please report",
                  description_.name.c_str());
  found.per_slice = per_slice_.data();
  found.pointwise = means_[0].data();
  found.influence = means_[1].data();
  return INFOATLAS_OK;
}

}  // namespace infoatlas
