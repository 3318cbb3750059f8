// Prepares samples for slicing (prepare.py and bounds.py of the runtime).
#pragma once

#include <cstdint>
#include <vector>

#include "redundancy.h"

namespace infoatlas {

// Arrays of the caller: x [n, d[0]] and y [n, d[1]], finite.
struct Samples {
  int64_t n;
  const double* side[2];
  int64_t d[2];
  const double* resolution[2];  // [d] rounding steps in the units of the data, 0 for none; or null
  bool time_series;             // in order of time
  const char* redundant[2];     // [d] coordinates that slices leave out; null: they are found
};

// One side in the order of the graph. Its memory is kept for the next call.
class PreparedSide {
 public:
  int64_t n = 0;
  int64_t d = 0;                   // coordinates that are used; all if all are constant
  std::vector<int64_t> constant;   // constant coordinates of the input
  std::vector<int64_t> redundant;  // coordinates of the input that others determine
  bool degenerate = false;         // all coordinates are constant

  // Rounds side i of the samples, leaves constant coordinates out, and brings the samples to the
  // order [n]; false if a resolution is too small for the values.
  bool take(const Samples& samples, int i, const int64_t* order);

  void scale();  // clips outliers, and standardises

  // Leaves redundant coordinates out: given ones of the input [width], or those that are found.
  void reduce(const char* given);

  const double* rows();  // [n, d]
  const double* column(int64_t j) const { return columns_.data() + j * n; }

  // Mean over coordinates of the lag-1 autocorrelation; position place[t] has sample t of the input.
  double autocorrelation(const int64_t* place);

  // Whether a coordinate has no ties. In most data the first one has none.
  bool distinct();

  // Labels rows: equal ones have the same number, 0 .. counts.size() - 1.
  void label(bool distinct);

  std::vector<int64_t> labels;  // [n]
  std::vector<int64_t> counts;  // of each label

 private:
  double* column(int64_t j) { return columns_.data() + j * n; }

  Redundancy redundancy_;
  std::vector<double> columns_, rows_, space_;
  std::vector<int64_t> by_value_;
};

// Upper bound of an estimate of these sides, nats; infinite if no row repeats (`Repeats.ceiling`).
// `space` is kept for reuse.
double ceiling(PreparedSide& x, PreparedSide& y, std::vector<int64_t>& space);

// Normal scores of the average ranks 1, 1.5, ..., n: found [2 n - 1].
void score_table(int64_t n, double* found);

}  // namespace infoatlas
