// Outcome of an episode: outcome.py.
#pragma once

#include <array>

#include "progress_filter.h"

namespace infoatlas::follow {

using Sentence = std::array<char, 320>;

class GripperFilter {
 public:
  enum Verdict { NEITHER, HOLDS, FAILS };

  explicit GripperFilter(const Gripper& gripper) : own(gripper) { reset(); }

  void reset();
  // Takes a working step. What is known of the grasp `made`, and why it fails.
  Verdict push(const double* path, const double* between, int64_t now, const ProgressFilter* tool,
               Sentence& why);
  bool complete() const { return made + (state_ == HOLDING) >= own.early.size(); }

  const Gripper& own;
  size_t made = 0;      // grasps before the present one
  bool failed = false;  // the last grasp that was judged

 private:
  enum State { OPEN, CLOSING, HOLDING, PASSED };

  void write(Sentence& why, const char* format, double value, const char* usual) const;

  State state_ = OPEN;
  int64_t due_ = 0;
  double low_ = 0, high_ = 0, apart_ = 0;
};

class OutcomeFilter {
 public:
  explicit OutcomeFilter(const OutcomeModel& own)
      : model(own), grippers_(own.grippers.begin(), own.grippers.end()) {
    reset();
  }

  void reset();
  // Takes a working step of the state `step`, after the tools.
  void push(const double* path, const double* between, int64_t now, int64_t step,
            std::vector<ProgressFilter>& tools);
  size_t bytes() const { return sizeof(GripperFilter) * grippers_.size(); }

  const OutcomeModel& model;
  int64_t state = 0, since = 0;  // as in infoatlas_outcome
  Sentence why{};

 private:
  std::vector<GripperFilter> grippers_;
  int64_t inside_ = 0;
};

}  // namespace infoatlas::follow
