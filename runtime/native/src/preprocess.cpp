// Projection, normal scores, whitening, canonical rotation and padding, a slice at a time
// (slicing.py and canonical.py of the runtime, which are the reference).
#include "preprocess.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "doubles.h"
#include "small_matrices.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr double GRID = 0x1p-30;
constexpr double RANK_TOLERANCE = 1e-6;
constexpr double CORRELATION_FLOOR = 1e-12;
constexpr int64_t COUNTED = 256;  // up to so many samples, counting ranks is faster than sorting

// One side of a slice: `Side` of canonical.py.
struct Whitened {
  int64_t d;
  double* scores;    // [d, ld]
  double* whitener;  // [d, d]
  bool* kept;        // [d]
};

constexpr int64_t SHARED = 4;  // vectors that are compared with a value at a time

// For each of v [n], the number of smaller values, or of those at most as large: found [n]. Returns
// the sum. Values beyond n, up to a multiple of SHARED vectors, have no effect.
template <bool OR_EQUAL, class Value>
int64_t count_smaller(const Value* v, int64_t n, int64_t* found) {
  using Values = decltype(all(Value{}));
  using Counts = decltype(all(Value{}) < all(Value{}));
  constexpr int64_t lanes = sizeof(Values) / sizeof(Value);
  int64_t total = 0;
  for (int64_t i = 0; i < n; i += SHARED * lanes) {
    Values own[SHARED];
    Counts counts[SHARED] = {};
    for (int k = 0; k < SHARED; ++k) own[k] = load(v + i + k * lanes);
    for (int64_t j = 0; j < n; ++j) {
      const Values other = all(v[j]);
      for (int k = 0; k < SHARED; ++k) counts[k] -= OR_EQUAL ? other <= own[k] : other < own[k];
    }
    for (int k = 0; k < SHARED; ++k)
      for (int64_t t = 0; t < lanes && i + k * lanes + t < n; ++t)
        total += found[i + k * lanes + t] = counts[k][t];
  }
  return total;
}

// Twice the average ranks of v [n], counted from 0, by comparing all with all.
void count_ranks(const double* v, int64_t n, int64_t* twice, Arena& arena) {
  const int64_t mark = arena.mark(), without_ties = n * (n - 1) / 2;
  const int64_t padded = round_up(n, SHARED * LANES);
  // Rounding preserves the order of values that remain different, and comparing floats is faster.
  float* rounded = arena.take(padded);
  for (int64_t i = 0; i < n; ++i) rounded[i] = float(v[i]);
  std::fill(rounded + n, rounded + padded, 0.0f);
  if (count_smaller<false>(rounded, n, twice) != without_ties) {
    double* values = arena.take_doubles(padded);
    std::copy(v, v + n, values);
    std::fill(values + n, values + padded, 0.0);
    auto* as_small = reinterpret_cast<int64_t*>(arena.take_doubles(n));
    count_smaller<false>(values, n, twice);
    count_smaller<true>(values, n, as_small);
    for (int64_t i = 0; i < n; ++i) twice[i] += as_small[i] - 1;
  } else {
    for (int64_t i = 0; i < n; ++i) twice[i] *= 2;
  }
  arena.back_to(mark);
}

struct Keyed {
  uint64_t key;  // in the order of the values
  int64_t sample;
};

// The same, by a radix sort.
void sort_ranks(const double* v, int64_t n, int64_t* twice, Arena& arena) {
  constexpr int DIGITS = 8, VALUES = 256;
  const int64_t mark = arena.mark();
  auto* from = reinterpret_cast<Keyed*>(arena.take_doubles(2 * n));
  auto* to = reinterpret_cast<Keyed*>(arena.take_doubles(2 * n));
  int64_t counts[DIGITS][VALUES] = {};
  for (int64_t i = 0; i < n; ++i) {
    const double value = v[i] + 0.0;  // -0.0 becomes 0.0
    uint64_t key;
    std::memcpy(&key, &value, sizeof key);
    key ^= key >> 63 ? ~uint64_t{0} : uint64_t{1} << 63;
    from[i] = {key, i};
    for (int digit = 0; digit < DIGITS; ++digit) ++counts[digit][key >> (8 * digit) & 255];
  }
  for (int digit = 0; digit < DIGITS; ++digit) {
    int64_t* count = counts[digit];
    if (count[from[0].key >> (8 * digit) & 255] == n) continue;  // all values have the same digit
    for (int64_t value = 0, place = 0; value < VALUES; ++value) {
      const int64_t own = count[value];
      count[value] = place;
      place += own;
    }
    for (int64_t i = 0; i < n; ++i) to[count[from[i].key >> (8 * digit) & 255]++] = from[i];
    std::swap(from, to);
  }
  for (int64_t left = 0, end; left < n; left = end) {
    for (end = left + 1; end < n && from[end].key == from[left].key;) ++end;
    for (int64_t i = left; i < end; ++i) twice[from[i].sample] = left + end - 1;
  }
  arena.back_to(mark);
}

// `normal_scores` of one row [ld]; values beyond n become 0.
void normal_scores(int64_t n, int64_t ld, const double* table, double* row, Arena& arena) {
  const int64_t mark = arena.mark();
  auto* twice = reinterpret_cast<int64_t*>(arena.take_doubles(n));
  if (n <= COUNTED) {
    count_ranks(row, n, twice, arena);
  } else {
    sort_ranks(row, n, twice, arena);
  }
  const int64_t most = 2 * n - 2;  // NaN has no rank
  for (int64_t i = 0; i < n; ++i) row[i] = table[std::clamp<int64_t>(twice[i], 0, most)];
  std::fill(row + n, row + ld, 0.0);
  const double mean = sum_of_row(ld, [&](int64_t t) { return load(row + t); }) / double(n);
  for (int64_t i = 0; i < n; ++i) row[i] -= mean;
  arena.back_to(mark);
}

// `_whitener` of the scores.
void whiten(int64_t n, int64_t ld, const Whitened& side, Arena& arena) {
  const int64_t d = side.d, mark = arena.mark();
  double *c = arena.take_doubles(d * d), *w = arena.take_doubles(d);
  covariance(d, d, side.scores, side.scores, ld, n, c);
  symmetric_eigen(d, c, w, side.whitener, arena);
  const double least = RANK_TOLERANCE * std::max(w[0], RANK_TOLERANCE);
  for (int64_t i = 0; i < d; ++i) {
    side.kept[i] = w[i] > least;
    const double scale = side.kept[i] ? 1 / std::sqrt(w[i]) : 0;
    for (int64_t j = 0; j < d; ++j) side.whitener[i * d + j] *= scale;
  }
  arena.back_to(mark);
}

// `_sort_kept_first`: sorts the rows of ut [d, d] without a correlation, kept directions first.
void keep_first(const Whitened& side, const double* s, int64_t r, double* ut, Arena& arena) {
  const int64_t d = side.d, mark = arena.mark();
  if (std::all_of(side.kept, side.kept + d, [](bool kept) { return kept; })) return;
  double *h = arena.take_doubles(d * d), *values = arena.take_doubles(d);
  double *turn = arena.take_doubles(d * d), *before = arena.take_doubles(d * d);
  for (int64_t i = 0; i < d; ++i)
    for (int64_t j = 0; j < d; ++j) {
      double total = i == j && i < r && s[i] > CORRELATION_FLOOR ? double(d - i) : 0;
      for (int64_t k = 0; k < d; ++k)
        if (side.kept[k]) total += ut[i * d + k] * ut[j * d + k];
      h[i * d + j] = total;
    }
  symmetric_eigen(d, h, values, turn, arena);
  std::copy(ut, ut + d * d, before);
  square_product(d, turn, before, ut);
  arena.back_to(mark);
}

// Scores in canonical directions, before their signs: [d, ld] = (ut whitener) scores.
double* canonical_rows(const Whitened& side, const double* ut, int64_t ld, Arena& arena) {
  const int64_t d = side.d;
  double *transform = arena.take_doubles(d * d), *rows = arena.take_doubles(d * ld);
  square_product(d, ut, side.whitener, transform);
  combine_rows(d, d, transform, side.scores, ld, rows);
  return rows;
}

double cubes(const double* row, int64_t ld) {
  return sum_of_row(ld, [&](int64_t t) {
    const Doubles v = load(row + t);
    return v * v * v;
  });
}

// One side in the form of the model: [n, dim], with signs, and zeros beyond its directions.
void write(const double* rows, const double* signs, int64_t d, int64_t n, int64_t ld, int64_t dim,
           float* out) {
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < d; ++j) out[i * dim + j] = float(signs[j] * rows[j * ld + i]);
    for (int64_t j = d; j < dim; ++j) out[i * dim + j] = 0;
  }
}

// `rotate` and `pair`, for slice `slice`.
void pair(const Whitened& x, const Whitened& y, int64_t n, int64_t ld, int64_t dim, int64_t slice,
          const Canonical& out, Arena& arena) {
  const int64_t dx = x.d, dy = y.d, r = std::min(dx, dy);
  double *xw = arena.take_doubles(dx * ld), *yw = arena.take_doubles(dy * ld);
  combine_rows(dx, dx, x.whitener, x.scores, ld, xw);
  combine_rows(dy, dy, y.whitener, y.scores, ld, yw);
  double *cross = arena.take_doubles(dx * dy), *s = arena.take_doubles(r);
  double *ut = arena.take_doubles(dx * dx), *vt = arena.take_doubles(dy * dy);
  covariance(dx, dy, xw, yw, ld, n, cross);
  singular_values(dx, dy, cross, s, ut, vt, arena);
  keep_first(x, s, r, ut, arena);
  keep_first(y, s, r, vt, arena);

  const double* cx = canonical_rows(x, ut, ld, arena);
  const double* cy = canonical_rows(y, vt, ld, arena);
  double *signs_x = arena.take_doubles(dx), *signs_y = arena.take_doubles(dy);
  for (int64_t i = 0; i < dx; ++i) signs_x[i] = cubes(cx + i * ld, ld) < 0 ? -1 : 1;
  for (int64_t i = 0; i < dy; ++i) signs_y[i] = cubes(cy + i * ld, ld) < 0 ? -1 : 1;
  for (int64_t i = 0; i < r; ++i) {
    const double *a = cx + i * ld, *b = cy + i * ld;
    const double agree =
        sum_of_row(ld, [&](int64_t t) { return load(a + t) * load(b + t); }) < 0 ? -1 : 1;
    double both = cubes(a, ld) + agree * cubes(b, ld);
    if (std::abs(both) < 1e-9 * double(n))
      both = sum_of_row(ld, [&](int64_t t) {
        const Doubles u = load(a + t), v = load(b + t) * agree;
        return u * v * (u + v);
      });
    signs_x[i] = both < 0 ? -1 : 1;
    signs_y[i] = agree * signs_x[i];
  }
  write(cx, signs_x, dx, n, ld, dim, out.x + slice * n * dim);
  write(cy, signs_y, dy, n, ld, dim, out.y + slice * n * dim);

  double* correlations = out.correlations + slice * dim;
  bool saturated = false;
  for (int64_t i = 0; i < dim; ++i) {
    correlations[i] = i < r ? std::min(s[i], 1.0) : 0;
    saturated |= 1 - correlations[i] * correlations[i] < 1 / (double(n) * double(n));
  }
  out.saturated[slice] = saturated;
  out.rank_x[slice] = std::count(x.kept, x.kept + dx, true);
  out.rank_y[slice] = std::count(y.kept, y.kept + dy, true);
}

Whitened empty_side(int64_t d, int64_t ld, Arena& arena) {
  return {d, arena.take_doubles(d * ld), arena.take_doubles(d * d),
          reinterpret_cast<bool*>(arena.take_doubles(d))};
}

// Samples [n, d] by coordinate: [d, ld], zeros beyond n.
void by_coordinate(const Side& side, int64_t n, int64_t ld, double* to) {
  const int64_t d = side.width;
  for (int64_t j = 0; j < d; ++j) std::fill(to + j * ld + n, to + (j + 1) * ld, 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < d; ++j) to[j * ld + i] = side.samples[i * d + j];
}

// `project`: slices in steps of the grid.
void project(const Side& side, const double* samples, int64_t slice, int64_t ld, double* to) {
  const double* projection = side.projections + slice * side.k * side.width;
  combine_rows(side.k, side.width, projection, samples, ld, to);
  for (int64_t i = 0; i < side.k * ld; ++i) to[i] = std::nearbyint(to[i] / GRID);
}

}  // namespace

void canonicalise(const Pairs& pairs, int dim, const Crew& crew, const Canonical& out,
                  Arena& arena) {
  const int64_t n = pairs.n, ld = (n + BLOCK - 1) / BLOCK * BLOCK;
  const Side* sides[] = {&pairs.x, &pairs.y};
  const double* samples[2] = {};  // by coordinate, of sides that are projected
  Whitened same[2] = {};          // sides that are the same in every slice
  const auto task = [&](int64_t count, auto f) {
    each(crew, count, [](void* c, int64_t i, Arena& a) { (*static_cast<decltype(f)*>(c))(i, a); },
         &f, true);
  };
  for (int i = 0; i < 2; ++i) {
    const Side& side = *sides[i];
    double* by = nullptr;
    if (side.projections) {
      samples[i] = by = arena.take_doubles(side.width * ld);
    } else {
      same[i] = empty_side(side.width, ld, arena);
      by = same[i].scores;
    }
    by_coordinate(side, n, ld, by);
  }
  const int64_t rows_x = same[0].d, rows = rows_x + same[1].d;
  task(rows, [&](int64_t i, Arena& scratch) {
    double* row = i < rows_x ? same[0].scores + i * ld : same[1].scores + (i - rows_x) * ld;
    normal_scores(n, ld, pairs.score_table, row, scratch);
  });
  for (const Whitened& side : same)
    if (side.d) whiten(n, ld, side, arena);
  task(pairs.slices, [&](int64_t slice, Arena& scratch) {
    Whitened both[2];
    for (int i = 0; i < 2; ++i) {
      both[i] = same[i];
      if (!samples[i]) continue;
      both[i] = empty_side(sides[i]->k, ld, scratch);
      project(*sides[i], samples[i], slice, ld, both[i].scores);
      for (int64_t j = 0; j < both[i].d; ++j)
        normal_scores(n, ld, pairs.score_table, both[i].scores + j * ld, scratch);
      whiten(n, ld, both[i], scratch);
    }
    pair(both[0], both[1], n, ld, dim, slice, out, scratch);
  });
}

}  // namespace infoatlas::INFOATLAS_TARGET
