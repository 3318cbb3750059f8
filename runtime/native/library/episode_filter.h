// One episode: working steps, detectors of key states, progress of sub-tasks (episode_filter.py).
#pragma once

#include <infoatlas/follower.h>

#include "motion.h"
#include "outcome.h"
#include "progress_filter.h"
#include "task.h"

namespace infoatlas::follow {

// States of a working step, and working steps of a state; one of them is 1.
struct Pace {
  int64_t stride, parts;
};

constexpr int64_t MOST_PARTS = 100;  // bounds the time of a push, and the number of its events

// The pace of a stream of `rate` states a second, for demonstrations of known rate.
Pace pace(const Detectors& detectors, double rate);

class Filter {
 public:
  // `most` bounds the working steps between two calls of `clear`.
  Filter(const Task& task, bool follow_all, int64_t most);

  void reset(Pace pace);
  void reset() { reset(pace_); }
  void push(const double* state);  // [d], finite; adds to `found`
  size_t bytes() const;

  std::vector<infoatlas_event> found;  // without stamps and sub-tasks
  std::vector<ProgressFilter> tools;
  OutcomeFilter outcome;
  bool begun() const { return working_ >= 0; }
  std::vector<uint8_t> followed;  // whether each key state is reported
  int64_t step = -1;           // of the newest state

 private:
  void advance(const double* path);
  void score();
  void detect();

  const Task& task_;
  Pace pace_;
  Path path_;
  StepFeatures features_;
  size_t width_;          // p; values of a working step are [p + 3 pairs of all tools]
  Ring<double> recent_;
  Reals now_, kept_, between_;          // newest values; their sum, or the ones before; a mean
  Reals earlier_, middle_, score_;      // [K], of the last two steps and of the present one
  Indices free_;                        // [K]: working step from which it may be reported
  Indices parts_;                       // [K, tools]: parts at its report
  int64_t working_ = -1;
};

}  // namespace infoatlas::follow
