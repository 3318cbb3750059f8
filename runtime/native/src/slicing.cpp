#include "slicing.h"

#include <cmath>
#include <string>

#include "errors.h"
#include "numpy_random.h"

namespace infoatlas {

namespace {

constexpr int64_t SLICES = 40;
constexpr int64_t MOST_NUMBERS = 100'000'000;  // in the projections of one side

}  // namespace

Slicing plan_slices(const int64_t d[2], int64_t dim, const infoatlas_settings& settings) {
  Slicing plan{1, 0, {false, false}};
  for (int i = 0; i < 2; ++i)
    plan.projected[i] = settings.sides == INFOATLAS_SIDES_AUTO ? settings.k || d[i] > dim
                        : settings.sides == INFOATLAS_SIDES_BOTH
                            ? true
                            : settings.sides == (i ? INFOATLAS_SIDES_Y : INFOATLAS_SIDES_X);
  if (plan.projected[0] || plan.projected[1]) {
    plan.k = settings.k ? settings.k : dim;
    plan.slices = settings.slices ? settings.slices : SLICES;
  }
  for (int i = 0; i < 2; ++i) {
    const auto width = [&] {  // only made if it is needed, because a call allocates no memory
      return (i ? "y has " : "x has ") + std::to_string(d[i]) + " coordinates";
    };
    if (!plan.projected[i] && d[i] > dim)
      throw InputError(width() + ", and the model accepts " + std::to_string(dim) +
                       ": slice it too (both sides)");
    if (plan.projected[i] && plan.k > d[i])
      throw InputError("slices of " + std::to_string(plan.k) + " dimensions cannot be taken, as " +
                       width() + ": set k to at most that, or slice the other side alone");
    if (plan.projected[i] && d[i] > MOST_NUMBERS / plan.k / plan.slices)
      throw InputError(std::to_string(plan.slices) + " slices to " + std::to_string(plan.k) +
                       " dimensions need too much memory, as " + width() +
                       ": use fewer slices or coordinates, or a smaller k");
  }
  return plan;
}

void draw_projections(int64_t d, int64_t k, int64_t slices, uint64_t seed, int side,
                      std::vector<double>& found) {
  found.resize(size_t(slices * k * d));
  Random random(seed, uint32_t(side));
  for (double* rows = found.data(); slices > 0; --slices, rows += k * d) {
    for (int64_t i = 0; i < d; ++i)
      for (int64_t j = 0; j < k; ++j) rows[j * d + i] = random.normal();
    for (int64_t j = 0; j < k; ++j) {  // Gram and Schmidt; the second round removes rounding errors
      double* row = rows + j * d;
      for (int round = 0; round < 2; ++round) {
        for (const double* other = rows; other < row; other += d) {
          double product = 0;
          for (int64_t i = 0; i < d; ++i) product += other[i] * row[i];
          for (int64_t i = 0; i < d; ++i) row[i] -= product * other[i];
        }
        double square = 0;
        for (int64_t i = 0; i < d; ++i) square += row[i] * row[i];
        for (int64_t i = 0; i < d; ++i) row[i] /= std::sqrt(square);
      }
    }
  }
}

}  // namespace infoatlas
