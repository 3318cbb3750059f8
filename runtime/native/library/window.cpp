// The window of a stream (sliding_window.py and lagged_pairs.py of the runtime).
#include <infoatlas/infoatlas.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

#include "estimator_api.h"
#include "redundancy.h"
#include "ring.h"

namespace infoatlas {

namespace {

constexpr double LARGEST_STATE = 1e100;  // the variance of larger values overflows
constexpr int64_t MOST_STEPS = 1'000'000;

void check(int64_t value, int64_t least, int64_t most, const char* name) {
  if (value < least || value > most)
    throw InputError(std::string(name) + " is " + std::to_string(value) + ": use " +
                     std::to_string(least) + " to " + std::to_string(most));
}

const infoatlas_window_settings& checked(const infoatlas_window_settings& given) {
  check(given.lag, given.other ? 0 : 1, MOST_STEPS, "lag");
  check(given.history, 0, MOST_STEPS, "history");
  check(given.steps, 1, MOST_STEPS, "steps");
  const int64_t most = MOST_NUMBERS / (given.steps + given.lag + given.history);
  check(given.d, 1, most, "d");
  check(given.other, 0, most, "other");
  return given;
}

}  // namespace

class Window {
 public:
  Window(const infoatlas_model& model, const infoatlas_window_settings& given,
         const infoatlas_settings& settings)
      : steps_(checked(given).steps),
        lag_(given.lag),
        history_(std::max<int64_t>(given.history, 1)),
        d_(given.d),
        past_(given.other ? given.other : given.d),
        two_streams_(given.other > 0),
        increments_(given.increments != 0),
        least_(model.description->n_min),
        estimator_(model, steps_, d_, history_ * past_, settings),
        states_(reach(), size_t(past_)),
        known_(reach(), 1),
        x_(steps_, size_t(d_)),
        y_(steps_, size_t(history_ * past_)),
        paired_(steps_, 1),
        newest_(size_t(d_)),
        newest_other_(size_t(past_)),
        all_x_(size_t(steps_ * d_)),
        all_y_(size_t(steps_ * history_ * past_)),
        redundant_x_(steps_, d_),
        redundant_y_(steps_, history_ * past_) {
    const double* of_past = two_streams_ ? given.resolution_other : given.resolution;
    if (given.resolution) resolution_x_.assign(given.resolution, given.resolution + d_);
    for (int64_t h = 0; of_past && h < history_; ++h)
      resolution_y_.insert(resolution_y_.end(), of_past, of_past + past_);
    forget();
  }

  void forget() {
    for (int64_t slot = 0; slot < steps_; ++slot) *paired_[slot] = false;
    step_ = since_ = 0;
    first_ = before_ = -1;
    pending_ = started_ = false;
    redundant_x_.forget();
    redundant_y_.forget();
    say("filling: no states yet");
  }

  infoatlas_status push(const double* state, const double* other) {
    if (two_streams_ != (other != nullptr))
      return refuse(INFOATLAS_INPUT_ERROR,
                    "pass `other` with every state of a window of two streams, else null");
    const double* then = other ? other : state;
    const int64_t bad = unusable(state, d_), bad_other = other ? unusable(other, past_) : -1;
    if (bad >= 0 || bad_other >= 0) {
      hole();
      say("refused: coordinate %lld of %s is NaN, infinite or beyond 1e100",
          (long long)(bad >= 0 ? bad : bad_other), bad >= 0 ? "the state" : "the other state");
      return INFOATLAS_NONE;
    }
    started_ = true;
    bool known = true;
    if (increments_) {
      known = before_ >= 0 && before_ == step_ - 1 && before_ >= since_;
      before_ = step_;
    }
    double *x = x_[step_], *past = states_[step_];
    const auto store = [&](const double* from, int64_t size, std::vector<double>& newest,
                           double* to) {
      for (int64_t j = 0; j < size; ++j) {
        to[j] = increments_ ? from[j] - newest[size_t(j)] : from[j];
        newest[size_t(j)] = from[j];
      }
    };
    if (two_streams_) store(then, past_, newest_other_, past);
    store(state, d_, newest_, x);
    if (!two_streams_) std::copy_n(x, d_, past);
    *known_[step_] = known;
    *paired_[step_] = known && pair();
    if (*paired_[step_]) {
      if (first_ < 0) first_ = step_;
      pending_ = true;
    }
    ++step_;
    say("waiting: not estimated yet");
    return INFOATLAS_OK;
  }

  void hole() {
    if (!started_) return;  // before the first state there are no steps
    *known_[step_] = *paired_[step_] = false;
    ++step_;
    say("hole: the newest state is missing");
  }

  void lost() { since_ = step_; }

  infoatlas_status run(infoatlas_estimate& found) {
    int64_t count = 0;
    for (int64_t slot = 0; slot < steps_; ++slot) count += *paired_[slot];
    const bool full = first_ >= 0 && step_ - first_ >= steps_;
    const auto as = [](int64_t value) { return (long long)value; };
    if (!started_) {
      say("filling: no states yet");
    } else if (!full) {
      say("filling: %lld of %lld pairs", as(count), as(steps_));
    } else if (count < least_) {
      say("hole: %lld pairs in the window, and %lld are needed: too many states are missing",
          as(count), as(least_));
    } else if (!*paired_[step_ - 1]) {
      say("hole: no past state to pair with");
    } else if (!pending_) {
      say("waiting: no state since the last estimate");
    } else {
      if (const auto bad = estimate(count, found)) return bad;
      pending_ = false;
      say(found.degenerate ? "degenerate" : "ok");
      return INFOATLAS_OK;
    }
    return INFOATLAS_NONE;
  }

  const char* reason() const { return reason_; }

 private:
  int64_t reach() const { return steps_ + lag_ + history_; }

  static int64_t unusable(const double* values, int64_t size) {
    for (int64_t j = 0; j < size; ++j)
      if (!(std::abs(values[j]) <= LARGEST_STATE)) return j;
    return -1;
  }

  // Writes the past of the newest step, the newest past state first; false if a state is missing.
  bool pair() {
    const int64_t last = step_ - lag_ - (history_ - 1);
    if (last < since_) return false;
    for (int64_t t = last; t <= step_ - lag_; ++t)
      if (!*known_[t]) return false;
    double* to = y_[step_];
    for (int64_t h = 0; h < history_; ++h, to += past_)
      std::copy_n(states_[step_ - lag_ - h], past_, to);
    return true;
  }

  infoatlas_status estimate(int64_t count, infoatlas_estimate& found) {
    const int64_t width = history_ * past_;
    double *x = all_x_.data(), *y = all_y_.data();
    for (int64_t t = step_ - steps_; t < step_; ++t) {
      if (!*paired_[t]) continue;
      x = std::copy_n(x_[t], d_, x);
      y = std::copy_n(y_[t], width, y);
    }
    const auto given = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
    x = all_x_.data();
    y = all_y_.data();
    return estimator_.run({count,
                           {x, y},
                           {d_, width},
                           {given(resolution_x_), given(resolution_y_)},
                           true,
                           {redundant_x_.update(x, count), redundant_y_.update(y, count)}},
                          found);
  }

  __attribute__((format(printf, 2, 3))) void say(const char* format, ...) {
    va_list values;
    va_start(values, format);
    std::vsnprintf(reason_, sizeof reason_, format, values);
    va_end(values);
  }

  const int64_t steps_, lag_, history_, d_, past_;
  const bool two_streams_, increments_;
  const int64_t least_;
  EstimatorWithEngine estimator_;
  Ring<double> states_;  // whose past counts
  Ring<char> known_;
  Ring<double> x_, y_;
  Ring<char> paired_;
  std::vector<double> newest_, newest_other_, all_x_, all_y_, resolution_x_, resolution_y_;
  StreamRedundancy redundant_x_, redundant_y_;
  int64_t step_, since_;    // number of the next step; no pair reaches back beyond `since_`
  int64_t first_, before_;  // step of the first pair, and of the newest state; -1 for none
  bool pending_, started_;
  char reason_[160];
};

}  // namespace infoatlas

struct infoatlas_window : infoatlas::Window {
  using Window::Window;
};

using infoatlas::missing;
using infoatlas::unknown_size;

infoatlas_status infoatlas_window_new(const infoatlas_model* model,
                                      const infoatlas_window_settings* window,
                                      const infoatlas_settings* settings,
                                      infoatlas_window** made) {
  if (missing({{model, "model"}, {window, "window"}, {made, "made"}}) ||
      unknown_size(*window, "window") || (settings && unknown_size(*settings, "settings")))
    return INFOATLAS_INPUT_ERROR;
  return infoatlas::guarded([&] {
    *made = new infoatlas_window(*model, infoatlas::whole(*window),
                                 settings ? infoatlas::whole(*settings) : infoatlas_settings{});
    return INFOATLAS_OK;
  });
}

void infoatlas_window_free(infoatlas_window* window) { delete window; }

infoatlas_status infoatlas_window_push(infoatlas_window* window, const double* state,
                                       const double* other) {
  if (missing({{window, "window"}, {state, "state"}})) return INFOATLAS_INPUT_ERROR;
  return window->push(state, other);
}

infoatlas_status infoatlas_window_hole(infoatlas_window* window) {
  if (missing({{window, "window"}})) return INFOATLAS_INPUT_ERROR;
  window->hole();
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_window_lost(infoatlas_window* window) {
  if (missing({{window, "window"}})) return INFOATLAS_INPUT_ERROR;
  window->lost();
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_window_reset(infoatlas_window* window) {
  if (missing({{window, "window"}})) return INFOATLAS_INPUT_ERROR;
  window->forget();
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_window_run(infoatlas_window* window, infoatlas_estimate* estimate) {
  if (missing({{window, "window"}, {estimate, "estimate"}}) || unknown_size(*estimate, "estimate"))
    return INFOATLAS_INPUT_ERROR;
  return infoatlas::guarded([&] {
    infoatlas_estimate found;
    const infoatlas_status status = window->run(found);
    if (status == INFOATLAS_OK) infoatlas::give(found, *estimate);
    return status;
  });
}

infoatlas_status infoatlas_window_reason(const infoatlas_window* window, const char** reason) {
  if (missing({{window, "window"}, {reason, "reason"}})) return INFOATLAS_INPUT_ERROR;
  *reason = window->reason();
  return INFOATLAS_OK;
}
