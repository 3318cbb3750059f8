// The estimate of one set of samples: forward.py of the runtime, without Python.
#pragma once

#include <infoatlas/infoatlas.h>

#include <cstdint>
#include <vector>

#include "description.h"
#include "engine.h"
#include "samples.h"
#include "slicing.h"
#include "unresolved.h"

namespace infoatlas {

// Keeps projections and memory from one call to the next. One thread at a time may use it.
class Estimator {
 public:
  // The engine has to live as long as the estimator. Throws InputError for settings out of range.
  Estimator(Engine& engine, const Description& description, const infoatlas_settings& settings);

  // Wall-clock seconds of the last call: slicing (with all preparation), canonical form, inference.
  struct Seconds {
    double slicing, preprocessing, inference;
  };
  const Seconds& seconds() const { return seconds_; }

  // Side 0 or 1 in the last call: its constant and redundant coordinates.
  const PreparedSide& prepared(int side) const { return sides_[side]; }

  // The arrays of the result are valid until the next call. Refuses samples that cannot be used
  // (INFOATLAS_INPUT_ERROR), and a model with values that are not finite (INFOATLAS_FILE_ERROR).
  infoatlas_status run(const Samples& samples, infoatlas_estimate& found);

 private:
  struct Projections {
    int64_t d = 0, k = 0;  // 0: none drawn
    std::vector<double> values;
  };

  infoatlas_status check(const Samples& samples) const;
  void draw_order(int64_t n, int64_t slices);
  Side side(int i, const Slicing& plan, int64_t first);
  infoatlas_status evaluate(const Samples& samples, const Slicing& plan, double most,
                            infoatlas_estimate& found);

  Engine& engine_;
  const Description description_;
  infoatlas_settings settings_;
  Seconds seconds_{};
  PreparedSide sides_[2];
  Unresolved unresolved_;
  Projections projections_[2][2];  // of each side: of all coordinates, and of fewer
  int64_t n_ = 0, drawn_ = 0;      // samples and shifts for which an order was drawn
  std::vector<int64_t> order_, place_, shifts_, in_order_, space_;
  std::vector<double> table_;
  std::vector<float> x_, y_, mi_, pointwise_, influence_, spread_;  // of slices
  std::vector<double> correlations_, per_slice_, gaussian_, means_[2], sums_[2];
  std::vector<int64_t> rank_[2];
  std::vector<char> saturated_;
};

}  // namespace infoatlas
