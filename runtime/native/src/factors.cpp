#include "factors.h"

#include <cmath>

namespace infoatlas {

namespace {

constexpr double ROUNDING = 1e-5;  // of products in single precision, relative to the largest row

double dot(const double* a, const double* b, int size) {
  double sum = 0;
  for (int j = 0; j < size; ++j) sum += a[j] * b[j];
  return sum;
}

}  // namespace

Factors factors(const std::vector<double>& a, int rows, int columns, int rank) {
  const size_t width = size_t(columns);
  Factors out{std::vector<double>(size_t(rows) * size_t(rank)),
              std::vector<double>(size_t(rank) * width), true};
  std::vector<double> rest(a.begin(), a.begin() + int64_t(rows) * columns);
  const auto row = [&](int i) { return rest.data() + size_t(i) * width; };
  const auto basis = [&](int c) { return out.basis.data() + size_t(c) * width; };
  double first = 0, largest = 0;
  for (int c = 0; c <= rank; ++c) {
    int pivot = 0;
    largest = -1;
    for (int i = 0; i < rows; ++i) {
      const double size = std::sqrt(dot(row(i), row(i), columns));
      if (size > largest) {
        largest = size;
        pivot = i;
      }
    }
    if (c == 0) first = largest;
    if (c == rank || largest == 0) break;
    double* to = basis(c);
    for (int j = 0; j < columns; ++j) to[j] = row(pivot)[j];
    for (int before = 0; before < c; ++before) {  // removes what rounding has left
      const double share = dot(to, basis(before), columns);
      for (int j = 0; j < columns; ++j) to[j] -= share * basis(before)[j];
    }
    const double size = std::sqrt(dot(to, to, columns));
    for (int j = 0; j < columns; ++j) to[j] /= size;
    for (int i = 0; i < rows; ++i) {
      const double share = dot(row(i), to, columns);
      for (int j = 0; j < columns; ++j) row(i)[j] -= share * to[j];
    }
  }
  out.exact = largest <= ROUNDING * first;
  for (int i = 0; i < rows; ++i)
    for (int c = 0; c < rank; ++c)
      out.left[size_t(i) * size_t(rank) + size_t(c)] =
          dot(a.data() + size_t(i) * width, basis(c), columns);
  return out;
}

}  // namespace infoatlas
