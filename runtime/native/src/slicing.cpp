#include "slicing.h"

#include <cinttypes>
#include <cmath>

#include "errors.h"
#include "numpy_random.h"

namespace infoatlas {

namespace {

constexpr int64_t SLICES = 40;
constexpr int64_t MOST_NUMBERS = 100'000'000;  // in the projections of one side

}  // namespace

infoatlas_status plan_slices(const int64_t d[2], int64_t dim, const infoatlas_settings& settings,
                             Slicing& plan) {
  plan = {1, 0, {false, false}};
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
    const char side = i ? 'y' : 'x';
    if (!plan.projected[i] && d[i] > dim)
      return refuse(INFOATLAS_INPUT_ERROR,
                    "%c has %" PRId64 " coordinates, and the model accepts %" PRId64
                    ": slice it too (both sides)", side, d[i], dim);
    if (plan.projected[i] && plan.k > d[i])
      return refuse(INFOATLAS_INPUT_ERROR,
                    "slices of %" PRId64 " dimensions cannot be taken, as %c has %" PRId64
                    " coordinates: set k to at most that, or slice the other side alone",
                    plan.k, side, d[i]);
    if (plan.projected[i] && d[i] > MOST_NUMBERS / plan.k / plan.slices)
      return refuse(INFOATLAS_INPUT_ERROR,
                    "%" PRId64 " slices to %" PRId64 " dimensions need too much memory, as %c has %"
                    PRId64 " coordinates: use fewer slices or coordinates, or a smaller k",
                    plan.slices, plan.k, side, d[i]);
  }
  return INFOATLAS_OK;
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
