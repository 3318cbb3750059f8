// What a task file contains. Python's infoatlas_rt.live has the meanings of the names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace infoatlas::follow {

using Reals = std::vector<double>;  // matrices are in C order
using Indices = std::vector<int64_t>;

enum class Kind { ANGLE, QUATERNION, VECTOR, EULER, MATRIX, SIX };

struct Group {
  Kind kind;
  Indices columns;
  double turn;
};

// Source of a coordinate: (-1, column), or (group, axis).
struct Source {
  int64_t group, axis;
};

struct Coordinates {
  int64_t width;  // d
  std::vector<Group> groups;
  std::vector<Source> parts;  // p
};

struct Timing {
  int64_t stride;
  double rate;       // NaN if it is not known
  double frequency;  // working steps a second
};

struct Range {
  double least, most;
};

struct StreamRate {
  int64_t stamps_kept, stamps_for_rate;
  Range usual, same;
  double averaged;
};

struct Window {
  int64_t before, after;
};

struct Features {
  Indices columns;  // q
  std::vector<Window> windows;
  Reals scale, rest, centre, gain, weight;  // [q]
  double clip;
  int64_t fewest;
  Window widest;  // steps before and after on which features depend
  int64_t count() const { return static_cast<int64_t>(columns.size() * (3 * windows.size() + 1)); }
};

struct Detectors {
  Coordinates coordinates;
  Timing timing;
  StreamRate stream;
  Features features;
  Reals coefficients;       // [K, f]
  Reals offset, threshold;  // [K]; infinite for a key state that is not common
  std::vector<bool> once, followed;
  Indices earliest;  // [K, tools], parts from which a key state is reported
  int64_t gap;
  double rise;
};

struct ProgressModel {
  Indices parts, bins, pairs;  // [P], [P], [m, 6]
  int64_t back;
  Reals centre, scale, rms, centre_between, scale_between;  // [p] and [5 m]
  Reals projection, offset, means, end;                     // [f, q], [q], [K, q], [q]
  Reals before, start;                                      // [P + 1], [K]
  Indices moves;                                            // [n, 2]
  Reals probabilities;                                      // [n]
  double anywhere, temper, certain, near, cap, clip, resolution;
};

struct Tool {
  ProgressModel model;
  Reals usual;  // [P]
  double limit;
  std::vector<bool> followed;  // [P]
};

struct Part {
  std::string name, tool, reference, held;
};

struct Gripper {
  std::string name;
  Indices columns;
  Reals weights;
  double zero, change, jitter;
  int64_t settle;
  std::vector<std::string> usual;  // [n] grasps, as all that follow
  Reals least, early, slip;
  Indices pair, part;
};

struct OutcomeModel {
  double near;
  int64_t wait;
  std::string reason;
  double false_done, found;
  std::vector<Gripper> grippers;
};

struct Task {
  std::vector<std::string> keystates, columns;
  Detectors detectors;
  std::vector<Part> parts;
  std::vector<Tool> tools;
  double stalled;
  OutcomeModel outcome;
};

// The task of a file's text; `json::Malformed` with the reason if there is none.
Task read_task(std::string_view text);

}  // namespace infoatlas::follow
