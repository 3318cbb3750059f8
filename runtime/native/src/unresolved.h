// Information that a critic does not resolve (unresolved.py of the runtime).
#pragma once

#include <cstdint>
#include <vector>

#include "samples.h"

namespace infoatlas {

// Keeps its memory for the next call.
class Unresolved {
 public:
  // Nats that both sides have at least; may be negative. The sides are in the order [n]; position
  // place[t] has sample t of the input. `table` [2 n - 1] has normal scores.
  double least_information(const PreparedSide& x, const PreparedSide& y, const int64_t* order,
                           const int64_t* place, const double* table);

 private:
  struct Value {
    double value;
    int64_t place;
  };

  void sort(const PreparedSide& side, const int64_t* order, std::vector<int64_t>& found);
  double entropy();
  double entropy_along(const int64_t* path);
  const int64_t* most_informative(const std::vector<int64_t>& paths) const;

  std::vector<Value> ranked_;            // [n]
  std::vector<int64_t> x_, y_;           // [d, n] the places of ascending values
  std::vector<double> scores_, values_;  // [n] of a coordinate; whose entropy is computed
};

}  // namespace infoatlas
