// Part and progress of an episode for one tool: progress_model.py and progress_filter.py.
#pragma once

#include "motion.h"
#include "task.h"

namespace infoatlas::follow {

class ProgressFilter {
 public:
  explicit ProgressFilter(const Tool& tool);

  void reset();
  // Takes a working step: coordinates [p], relative positions [3 m].
  void push(const double* x, const double* between);
  size_t bytes() const;
  // Goes on beyond a part only after `let_go`.
  void keep_back(int64_t part);
  void let_go() { most_ = last; }
  double task_progress() const;

  const int64_t last;                // part
  double apart = 0;                  // distance from the ends
  int64_t part = -1;                 // within the tool's parts; -1 before the first working step
  int64_t inside = 0, waiting = 0;   // working steps since the part was entered, without progress
  double progress = 0;               // within the part

 private:
  void project(const double* x, const double* past, const double* between);
  void believe();
  void share_of(const Reals& belief, Reals& share) const;
  void choose();
  void advance();

  const ProgressModel& model_;
  double limit_;
  size_t count_, directions_, pairs_;   // K, q, m
  Indices part_of_;                     // [K]
  Reals chain_, half_, place_;          // [K, K], [K], [K]
  Reals belief_, prior_, square_;       // [K]
  Reals features_, z_;                  // [f], [q]
  Reals share_, before_;                // [P]: of the parts, after the step and before it
  Reals left_;                          // [p]: state from which no step has moved away
  Reals first_;                         // [3 m]: relative positions at the first step
  Ring<double> recent_;
  int64_t steps_ = -1, rests_ = 0;  // rests_: steps near left_
  double reached_ = 0;
  double half_end_ = 0;  // of the squared mean of the ends
  int64_t most_ = 0;     // part up to which the episode may go
};

}  // namespace infoatlas::follow
