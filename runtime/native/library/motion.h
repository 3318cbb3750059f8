// Coordinates of states, and features of their motion: coordinates.py, quaternions.py,
// motion_features.py. The operations have the order of Python's, so that most bits are equal.
#pragma once

#include <array>

#include "ring.h"
#include "task.h"

namespace infoatlas::follow {

using Triple = std::array<double, 3>;
using Quaternion = std::array<double, 4>;  // w first

// Continuous coordinates of the states of an episode.
class Path {
 public:
  explicit Path(const Coordinates& coordinates)
      : own_(coordinates), groups_(coordinates.groups.size()) {}

  void reset() { groups_.assign(groups_.size(), {}); }
  void push(const double* state, double* made);  // [d] -> [p]
  size_t bytes() const { return sizeof(State) * groups_.size(); }

 private:
  struct State {
    bool begun = false;
    double turns = 0;
    Quaternion last{};  // or an angle
    Triple path{};
  };
  static void turn(const Group& group, const double* state, State& own);

  const Coordinates& own_;
  std::vector<State> groups_;
};

// Features of the step `widest.after` before the newest working step.
class StepFeatures {
 public:
  explicit StepFeatures(const Features& features);

  // Features [f] from the newest `length` steps of a ring, up to step `newest`.
  const double* compute(Ring<double>& recent, int64_t newest, int64_t length);
  size_t bytes() const { return 8 * (energy_.size() + made_.size()); }

 private:
  const Features& own_;
  Reals energy_, made_;  // [steps, q], [f]
};

// sign(v) log(1 + |v|)
double compressed(double v);

// As NumPy's: a NaN in `values` is the result.
inline double least(double a, double b) { return a < b || a != a ? a : b; }
inline double most(double a, double b) { return a > b || a != a ? a : b; }
inline double clipped(double v, double limit) { return least(most(v, -limit), limit); }

}  // namespace infoatlas::follow
