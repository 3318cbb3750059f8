// Factors of a matrix whose rank is known.
#pragma once

#include <cstdint>
#include <vector>

namespace infoatlas {

// a = left basis; the rows of the basis are orthonormal, or zero where the rank is lower.
struct Factors {
  std::vector<double> left;   // [rows, rank]
  std::vector<double> basis;  // [rank, columns]
  bool exact;                 // but for rounding: the rank is no larger
};

// a [rows, columns], by Gram-Schmidt with pivots.
Factors factors(const std::vector<double>& a, int rows, int columns, int rank);

}  // namespace infoatlas
