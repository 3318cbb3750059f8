#include "outcome.h"

#include <infoatlas/follower.h>

#include <cmath>
#include <cstdio>
#include <limits>

namespace infoatlas::follow {
namespace {

constexpr int64_t NEVER = int64_t{1} << 62;
constexpr double NO_LIMIT = std::numeric_limits<double>::infinity();

double length(const double* v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

}  // namespace

void GripperFilter::reset() {
  state_ = OPEN;
  made = 0;
  failed = false;
  due_ = NEVER;
  low_ = high_ = -NO_LIMIT;  // the first opening is above
}

void GripperFilter::write(Sentence& why, const char* format, double value,
                          const char* usual) const {
  std::snprintf(why.data(), why.size(), format, own.name.c_str(), 100 * value, usual);
}

GripperFilter::Verdict GripperFilter::push(const double* path, const double* between, int64_t now,
                                           const ProgressFilter* tool, Sentence& why) {
  double opening = 0;
  for (size_t i = 0; i < own.columns.size(); ++i) opening += path[own.columns[i]] * own.weights[i];
  opening -= own.zero;
  if (opening > high_) {
    const bool held = state_ == HOLDING, ends = held || state_ == CLOSING;
    state_ = OPEN;
    due_ = NEVER;
    low_ = opening - own.change;
    high_ = opening + own.jitter;
    const double place = tool ? tool->task_progress() : 1.0;
    if (ends && place < own.early[made]) {
      write(why, "attempt failed: %s opened at %.0f%% of the task", place, "");
      return FAILS;
    }
    made += held;  // another closing has not settled
    return NEITHER;
  }
  if ((state_ == OPEN || state_ == CLOSING) && opening < low_) {
    const bool more = made < own.early.size();
    state_ = more ? CLOSING : PASSED;
    due_ = more ? now + own.settle : NEVER;
    low_ = more ? opening - own.jitter : -NO_LIMIT;
    high_ = opening + own.change;
    return NEITHER;
  }
  const bool begins = state_ == CLOSING;
  if (begins ? now < due_ : state_ != HOLDING) return NEITHER;
  const double apart = own.pair[made] < 0 ? 0 : length(between + 3 * own.pair[made]);
  if (begins) {
    due_ = NEVER;
    apart_ = apart;
    state_ = HOLDING;
  }
  if (opening < own.least[made])
    write(why, "attempt failed: %s closed to %.0f%%, usually %s", opening,
          own.usual[made].c_str());
  else if (std::fabs(apart - apart_) > own.slip[made])
    std::snprintf(why.data(), why.size(), "attempt failed: the object does not move with the %s",
                  own.name.c_str());
  else
    return begins ? HOLDS : NEITHER;
  state_ = PASSED;
  low_ = -NO_LIMIT;
  return FAILS;
}

void OutcomeFilter::reset() {
  for (GripperFilter& gripper : grippers_) gripper.reset();
  state = INFOATLAS_RUNNING;
  since = inside_ = 0;
}

void OutcomeFilter::push(const double* path, const double* between, int64_t now, int64_t step,
                         std::vector<ProgressFilter>& tools) {
  ProgressFilter* only = tools.size() == 1 ? tools.data() : nullptr;
  for (GripperFilter& gripper : grippers_) {
    Sentence reason{};
    const auto found = gripper.push(path, between, now, only, reason);
    if (found == GripperFilter::NEITHER || state == INFOATLAS_DONE) continue;
    bool failed = gripper.failed = found == GripperFilter::FAILS;
    if (only && failed) only->keep_back(gripper.own.part[gripper.made]);
    for (const GripperFilter& own : grippers_) failed |= own.failed;
    if (only && !failed) only->let_go();
    if (!gripper.failed && failed == (state == INFOATLAS_FAILED)) continue;
    state = failed ? INFOATLAS_FAILED : INFOATLAS_RUNNING;
    since = step;
    why = reason;
  }
  if (!model.wait) return;
  bool there = state == INFOATLAS_RUNNING;
  for (const ProgressFilter& tool : tools)
    there = there && tool.part == tool.last && tool.apart <= model.near;
  for (const GripperFilter& gripper : grippers_) there = there && gripper.complete();
  inside_ = there ? inside_ + 1 : 0;
  if (inside_ < model.wait) return;
  state = INFOATLAS_DONE;
  since = step;
}

}  // namespace infoatlas::follow
