// Householder reflections to tridiagonal and bidiagonal form, then implicitly shifted QR steps
// (Golub and Van Loan, Matrix Computations, sections 8.3 and 8.6).
#include "small_matrices.h"

#include <algorithm>
#include <cmath>

#include "simd.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr double EPSILON = 0x1p-53;
constexpr double NOTHING = 1e-140;  // its square is a normal number; smaller values count as zero
constexpr int64_t MOST_STEPS = 60;  // per value; two or three are usual, and NaN never converges

void identity(int64_t d, double* a) {
  for (int64_t i = 0; i < d * d; ++i) a[i] = i % (d + 1) == 0;
}

// tau and v [n], v[0] = 1, so that (1 - tau v v') x = (beta, 0, ..., 0); x has a stride.
double reflector(int64_t n, const double* x, int64_t stride, double* v) {
  double rest = 0;
  for (int64_t i = 1; i < n; ++i) rest += x[i * stride] * x[i * stride];
  v[0] = 1;
  if (rest < NOTHING * NOTHING) return 0;
  const double first = x[0], norm = std::sqrt(first * first + rest);
  const double beta = first < 0 ? norm : -norm;
  for (int64_t i = 1; i < n; ++i) v[i] = x[i * stride] / (first - beta);
  return (beta - first) / beta;
}

// Rows 0 .. n - 1 of a [n, columns] become (1 - tau v v') a.
void reflect_rows(int64_t n, int64_t columns, const double* v, double tau, double* a, int64_t ld,
                  double* work) {
  if (tau == 0) return;
  std::fill(work, work + columns, 0.0);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < columns; ++j) work[j] += v[i] * a[i * ld + j];
  for (int64_t i = 0; i < n; ++i) {
    const double share = tau * v[i];
    for (int64_t j = 0; j < columns; ++j) a[i * ld + j] -= share * work[j];
  }
}

// Columns 0 .. n - 1 of a [rows, n] become a (1 - tau v v').
void reflect_columns(int64_t n, int64_t rows, const double* v, double tau, double* a, int64_t ld) {
  if (tau == 0) return;
  for (int64_t i = 0; i < rows; ++i) {
    double* row = a + i * ld;
    double along = 0;
    for (int64_t j = 0; j < n; ++j) along += row[j] * v[j];
    along *= tau;
    for (int64_t j = 0; j < n; ++j) row[j] -= along * v[j];
  }
}

struct Rotation {
  double c, s, length;
};

// (c, s; -s, c) (x, z) = (length, 0).
Rotation rotation(double x, double z) {
  const double length = std::sqrt(x * x + z * z);
  if (length < NOTHING) return {1, 0, x};
  const double scale = 1 / length;
  return {x * scale, z * scale, length};
}

void rotate_rows(const Rotation& r, int64_t d, double* __restrict a, double* __restrict b) {
  for (int64_t i = 0; i < d; ++i) {
    const double x = a[i], y = b[i];
    a[i] = r.c * x + r.s * y;
    b[i] = r.c * y - r.s * x;
  }
}

double largest(int64_t n, const double* a) {
  double found = 0;
  for (int64_t i = 0; i < n; ++i) found = std::max(found, std::abs(a[i]));
  return found;
}

// Sorts values in descending order, with the rows of `a` [n, da] and, unless it is null, b [n, db].
void sort_descending(int64_t n, double* values, double* a, int64_t da, double* b, int64_t db) {
  for (int64_t i = 0; i + 1 < n; ++i) {
    const int64_t top = std::max_element(values + i, values + n) - values;
    if (top == i) continue;
    std::swap(values[i], values[top]);
    std::swap_ranges(a + i * da, a + (i + 1) * da, a + top * da);
    if (b) std::swap_ranges(b + i * db, b + (i + 1) * db, b + top * db);
  }
}

// A bidiagonal matrix within A = U B V': its diagonal d [n], and e [n - 1] above it.
struct Bidiagonal {
  double *d, *e;
  double *ut, *vt;  // vectors so far, rows of lengths m and n
  int64_t m, n;
};

// One QR step on rows first .. last, none of whose e is negligible.
void step(const Bidiagonal& b, int64_t first, int64_t last) {
  double *d = b.d, *e = b.e;
  // The shift: the eigenvalue of the last two rows of B'B that is nearer to its last element.
  const double above = last - 1 > first ? e[last - 2] : 0;
  const double p = d[last - 1] * d[last - 1] + above * above;
  const double q = d[last] * d[last] + e[last - 1] * e[last - 1], r = d[last - 1] * e[last - 1];
  const double half = (p - q) / 2, root = std::sqrt(half * half + r * r);
  const double sum = half < 0 ? half - root : half + root;
  const double shift = sum == 0 ? q : q - r * r / sum;
  double x = d[first] * d[first] - shift, z = d[first] * e[first];
  for (int64_t k = first; k < last; ++k) {
    const Rotation right = rotation(x, z);
    if (k > first) e[k - 1] = right.length;
    const double diagonal = right.c * d[k] + right.s * e[k];
    const double beside = right.c * e[k] - right.s * d[k];
    const double below = right.s * d[k + 1], next = right.c * d[k + 1];
    rotate_rows(right, b.n, b.vt + k * b.n, b.vt + (k + 1) * b.n);
    const Rotation left = rotation(diagonal, below);
    d[k] = left.length;
    e[k] = left.c * beside + left.s * next;
    d[k + 1] = left.c * next - left.s * beside;
    rotate_rows(left, b.m, b.ut + k * b.m, b.ut + (k + 1) * b.m);
    if (k + 1 < last) {
      x = e[k];
      z = left.s * e[k + 1];
      e[k + 1] *= left.c;
    }
  }
}

// d[k] is zero: rotations remove e[k] or, in the last row, the e above it from the matrix.
void clear(const Bidiagonal& b, int64_t k, int64_t first, int64_t last) {
  b.d[k] = 0;
  if (k < last) {
    double out = b.e[k];
    b.e[k] = 0;
    for (int64_t j = k + 1; j <= last && out != 0; ++j) {
      const Rotation left = rotation(b.d[j], out);
      b.d[j] = left.length;
      rotate_rows(left, b.m, b.ut + j * b.m, b.ut + k * b.m);
      if (j == last) break;
      out = -left.s * b.e[j];
      b.e[j] *= left.c;
    }
    return;
  }
  double out = b.e[last - 1];
  b.e[last - 1] = 0;
  for (int64_t j = last - 1; j >= first && out != 0; --j) {
    const Rotation right = rotation(b.d[j], out);
    b.d[j] = right.length;
    rotate_rows(right, b.n, b.vt + j * b.n, b.vt + last * b.n);
    if (j == first) break;
    out = -right.s * b.e[j - 1];
    b.e[j - 1] *= right.c;
  }
}

void diagonalise(const Bidiagonal& b) {
  const double negligible = EPSILON * (largest(b.n, b.d) + largest(b.n - 1, b.e));
  int64_t last = b.n - 1;
  for (int64_t steps = MOST_STEPS * b.n; last > 0 && steps > 0;) {
    if (std::abs(b.e[last - 1]) <= negligible) {
      b.e[--last] = 0;
      continue;
    }
    int64_t first = last - 1;
    while (first > 0 && !(std::abs(b.e[first - 1]) <= negligible)) --first;
    --steps;
    int64_t zero = last;
    while (zero >= first && !(std::abs(b.d[zero]) <= negligible)) --zero;
    if (zero >= first) {
      clear(b, zero, first, last);
    } else {
      step(b, first, last);
    }
  }
}

// `singular_values` for m >= n; from 11 n / 6 rows on, LAPACK begins with a QR decomposition.
void tall(int64_t m, int64_t n, double* a, double* s, double* ut, double* vt, Arena& arena) {
  const int64_t mark = arena.mark();
  double *v = arena.take_doubles(m), *work = arena.take_doubles(m), *e = arena.take_doubles(n);
  identity(m, ut);
  identity(n, vt);
  int64_t rows = m;
  const auto from_left = [&](int64_t k) {
    const double tau = reflector(rows - k, a + k * n + k, n, v);
    reflect_rows(rows - k, n - k, v, tau, a + k * n + k, n, work);
    reflect_rows(rows - k, m, v, tau, ut + k * m, m, work);
  };
  if (m > n && m >= 11 * n / 6) {
    for (int64_t k = 0; k < n; ++k) {
      from_left(k);
      for (int64_t i = k + 1; i < m; ++i) a[i * n + k] = 0;
    }
    rows = n;
  }
  for (int64_t k = 0; k < n; ++k) {
    from_left(k);
    s[k] = a[k * n + k];
    if (k + 1 == n) break;
    double* row = a + k * n + k + 1;
    const int64_t rest = n - k - 1;
    const double tau = reflector(rest, row, 1, v);
    reflect_columns(rest, rows - k, v, tau, row, n);
    reflect_rows(rest, n, v, tau, vt + (k + 1) * n, n, work);
    e[k] = row[0];
  }
  diagonalise({s, e, ut, vt, m, n});
  for (int64_t k = 0; k < n; ++k) {
    if (s[k] >= 0) continue;
    s[k] = -s[k];
    for (int64_t i = 0; i < n; ++i) vt[k * n + i] = -vt[k * n + i];
  }
  sort_descending(n, s, ut, m, vt, n);
  arena.back_to(mark);
}

}  // namespace

void symmetric_eigen(int64_t d, double* a, double* values, double* vectors, Arena& arena) {
  const int64_t mark = arena.mark();
  double *v = arena.take_doubles(d), *work = arena.take_doubles(d), *e = arena.take_doubles(d);
  identity(d, vectors);
  for (int64_t k = 0; k + 2 < d; ++k) {
    const int64_t rest = d - k - 1;
    const double tau = reflector(rest, a + (k + 1) * d + k, d, v);
    reflect_rows(rest, d - k, v, tau, a + (k + 1) * d + k, d, work);
    reflect_columns(rest, d - k, v, tau, a + k * d + k + 1, d);
    reflect_rows(rest, d, v, tau, vectors + (k + 1) * d, d, work);
  }
  for (int64_t k = 0; k < d; ++k) {
    values[k] = a[k * d + k];
    if (k + 1 < d) e[k] = a[(k + 1) * d + k];
  }
  const double negligible = EPSILON * (largest(d, values) + largest(d - 1, e));
  int64_t last = d - 1;
  for (int64_t steps = MOST_STEPS * d; last > 0 && steps > 0;) {
    if (std::abs(e[last - 1]) <= negligible) {
      --last;
      continue;
    }
    int64_t first = last - 1;
    while (first > 0 && !(std::abs(e[first - 1]) <= negligible)) --first;
    --steps;
    // Wilkinson's shift: the eigenvalue of the last two rows that is nearer to the last element.
    const double half = (values[last - 1] - values[last]) / 2, r = e[last - 1];
    const double root = std::sqrt(half * half + r * r);
    double x = values[first] - (values[last] - r * r / (half < 0 ? half - root : half + root));
    double z = e[first];
    for (int64_t k = first; k < last; ++k) {
      const Rotation turn = rotation(x, z);
      const double c = turn.c, s = turn.s, p = values[k], q = values[k + 1], beside = e[k];
      if (k > first) e[k - 1] = turn.length;
      values[k] = c * c * p + 2 * c * s * beside + s * s * q;
      values[k + 1] = s * s * p - 2 * c * s * beside + c * c * q;
      e[k] = c * s * (q - p) + (c * c - s * s) * beside;
      if (k + 1 < last) {
        x = e[k];
        z = s * e[k + 1];
        e[k + 1] *= c;
      }
      rotate_rows(turn, d, vectors + k * d, vectors + (k + 1) * d);
    }
  }
  sort_descending(d, values, vectors, d, nullptr, 0);
  arena.back_to(mark);
}

void singular_values(int64_t m, int64_t n, double* a, double* s, double* ut, double* vt,
                     Arena& arena) {
  if (m >= n) return tall(m, n, a, s, ut, vt, arena);
  const int64_t mark = arena.mark();
  double* turned = arena.take_doubles(m * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) turned[j * m + i] = a[i * n + j];
  tall(n, m, turned, s, vt, ut, arena);
  arena.back_to(mark);
}

void square_product(int64_t d, const double* a, const double* b, double* __restrict out) {
  std::fill(out, out + d * d, 0.0);
  for (int64_t i = 0; i < d; ++i)
    for (int64_t k = 0; k < d; ++k)
      for (int64_t j = 0; j < d; ++j) out[i * d + j] += a[i * d + k] * b[k * d + j];
}

}  // namespace infoatlas::INFOATLAS_TARGET
