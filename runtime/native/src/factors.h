// Factors of a matrix whose rank is known.
#pragma once

#include <cstdint>
#include <vector>

namespace infoatlas {

// a = left basis; the rows of the basis are orthonormal, or zero if the rank is lower.
struct Factors {
  std::vector<double> left;   // [rows, rank]
  std::vector<double> basis;  // [rank, columns]
  bool exact;                 // the rank is no larger, up to rounding
};

// a [rows, columns], by Gram-Schmidt with pivots.
Factors factors(const std::vector<double>& a, int rows, int columns, int rank);

}  // namespace infoatlas
