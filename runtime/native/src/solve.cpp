#include "solve.h"

#include <cmath>

#include "doubles.h"
#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr int64_t ROWS = 1024;  // of one task
constexpr int64_t BATCH = 64;   // rows whose weights are applied at a time
constexpr float LOWEST = -60;   // no weight is below exp(-60) of the largest

// Divides rows begin .. end into tasks; each has `size` partial sums, which are added to `out`.
template <class F>
void summed(const Crew& crew, int64_t begin, int64_t end, int64_t size, float* out, Arena& arena,
            F f) {
  const int64_t mark = arena.mark(), tasks = (end - begin + ROWS - 1) / ROWS;
  float* parts = tasks == 1 ? out : arena.take(tasks * size);
  for_each(crew, tasks, [&](int64_t task, Arena& scratch) {
    float* own = parts + task * size;
    std::memset(own, 0, size_t(size) * sizeof(float));
    const int64_t from = begin + task * ROWS, to = from + ROWS < end ? from + ROWS : end;
    f(from, to, own, scratch);
  });
  if (tasks > 1) std::memcpy(out, parts, size_t(size) * sizeof(float));
  for (int64_t t = 1; t < tasks; ++t)
    for (int64_t i = 0; i < size; i += LANES)
      store(out + i, load(out + i) + load(parts + t * size + i));
  arena.back_to(mark);
}

// Sums of the rows. Unless `mean` is null, rows are first centred by it, and their squares summed
// too.
void row_sums(const Problem& p, int64_t begin, int64_t end, const float* mean, float* sums,
              float* squares, const Crew& crew, Arena& arena) {
  const int64_t mark = arena.mark(), stride = p.stride;
  float* both = arena.take(2 * stride);
  summed(crew, begin, end, 2 * stride, both, arena,
         [&](int64_t from, int64_t to, float* own, Arena&) {
           over_columns(stride, [&]<int COUNT>(int64_t f) INFOATLAS_LAMBDA {
             Vec centre[COUNT] = {}, total[COUNT] = {}, square[COUNT] = {};
             for (int j = 0; mean && j < COUNT; ++j) centre[j] = load(mean + f + j * LANES);
             for (int64_t r = from; r < to; ++r)
               for (int j = 0; j < COUNT; ++j) {
                 float* at = p.psi + r * stride + f + j * LANES;
                 const Vec v = load(at) - centre[j];
                 if (mean) store(at, v);
                 total[j] += v;
                 square[j] += v * v;
               }
             for (int j = 0; j < COUNT; ++j) {
               store(own + f + j * LANES, total[j]);
               store(own + stride + f + j * LANES, square[j]);
             }
           });
         });
  std::memcpy(sums, both, size_t(stride) * sizeof(float));
  if (squares) std::memcpy(squares, both + stride, size_t(stride) * sizeof(float));
  arena.back_to(mark);
}

// Sums of weight psi' psi, and of weight psi: out [stride + 1, stride], the latter in the last row.
// Without weights, each row has weight 1. For the first `head` features, a multiple of the vector
// length, the upper triangle is computed, and for the few others, complete rows: `symmetric` reads
// both.
void moments(const Problem& p, int64_t begin, int64_t end, const float* weight, int64_t used,
             float* out, const Crew& crew, Arena& arena) {
  const int64_t stride = p.stride, head = used / LANES * LANES;
  summed(crew, begin, end, (stride + 1) * stride, out, arena,
         [&](int64_t from, int64_t to, float* own, Arena& scratch) {
           float *weighted = scratch.take(BATCH * stride), *sums = own + stride * stride;
           for (int64_t r = from; r < to; r += BATCH) {
             const int64_t count = to - r < BATCH ? to - r : BATCH;
             const float* rows = p.psi + r * stride;
             over_columns(stride, [&]<int COUNT>(int64_t f) INFOATLAS_LAMBDA {
               Vec total[COUNT] = {};
               for (int64_t i = 0; i < count; ++i)
                 for (int j = 0; j < COUNT; ++j) {
                   const int64_t at = i * stride + f + j * LANES;
                   const Vec v = load(rows + at) * (weight ? weight[r + i - begin] : 1.0f);
                   store(weighted + at, v);
                   total[j] += v;
                 }
               for (int j = 0; j < COUNT; ++j)
                 store(sums + f + j * LANES, load(sums + f + j * LANES) + total[j]);
             });
             product_transposed(head, head, count, rows, stride, weighted, stride, own, stride,
                                Start::ADD, nullptr, true);
             product_transposed(used - head, stride, count, rows + head, stride, weighted, stride,
                                own + head * stride, stride, Start::ADD);
           }
         });
}

// Element (i, j) with i <= j of the products in `moments`.
float symmetric(const float* out, int64_t stride, int64_t used, int64_t i, int64_t j) {
  return j < used / LANES * LANES ? out[i * stride + j] : out[j * stride + i];
}

// Sum of weight psi alone.
void weighted_sum(const Problem& p, int64_t begin, int64_t end, const float* weight, float* out,
                  const Crew& crew, Arena& arena) {
  const int64_t stride = p.stride;
  summed(crew, begin, end, stride, out, arena,
         [&](int64_t from, int64_t to, float* own, Arena&) {
           row_product(stride, to - from, weight + from - begin, p.psi + from * stride, stride, own,
                       nullptr);
         });
}

// Pivots that are eliminated together, so that a row is read and written once for all of them.
constexpr int64_t PIVOTS = 4;

// The upper Cholesky factor of a [size, ld], in place of its upper triangle, and the inverse of its
// diagonal; ld is a multiple of a vector, and values below the diagonal are overwritten. Double
// precision is needed because rounds of refinement make features similar: the condition number can
// be 1e6.
void factorise(double* a, int64_t size, int64_t ld, double* inverse) {
  const auto aligned = [](int64_t k) { return k / WIDTH * WIDTH; };
  const auto eliminate = [&]<int COUNT>(int64_t k, int64_t i) INFOATLAS_LAMBDA {
    double* to = a + i * ld;
    for (int64_t j = aligned(i); j < ld; j += WIDTH) {
      Doubles v = load(to + j);
      for (int p = 0; p < COUNT; ++p) v -= load(a + (k + p) * ld + j) * a[(k + p) * ld + i];
      store(to + j, v);
    }
  };
  for (int64_t k = 0; k < size; k += PIVOTS) {
    const int64_t end = k + PIVOTS < size ? k + PIVOTS : size;
    for (int64_t i = k; i < end; ++i) {
      for (int64_t p = k; p < i; ++p) eliminate.template operator()<1>(p, i);
      const double pivot = a[i * ld + i];
      inverse[i] = 1 / std::sqrt(pivot > 1e-30 ? pivot : 1e-30);
      for (int64_t j = aligned(i); j < ld; j += WIDTH)
        store(a + i * ld + j, load(a + i * ld + j) * inverse[i]);
    }
    for (int64_t i = end; i < size; ++i) eliminate.template operator()<PIVOTS>(k, i);
  }
}

// x [ld] with r' r x = b for the upper factor r; b [ld] is overwritten.
void substitute(const double* r, int64_t size, int64_t ld, const double* inverse, double* b,
                double* x) {
  for (int64_t k = 0; k < size; ++k) {
    const double v = b[k] *= inverse[k];
    for (int64_t j = k + 1; j < size; ++j) b[j] -= r[k * ld + j] * v;
  }
  std::memset(x, 0, size_t(ld) * sizeof(double));
  for (int64_t k = size - 1; k >= 0; --k) {
    Doubles sums{};  // (x is zero up to k)
    for (int64_t j = k / WIDTH * WIDTH; j < ld; j += WIDTH)
      sums += load(r + k * ld + j) * load(x + j);
    x[k] = (b[k] - sum(sums)) * inverse[k];
  }
}

// Weights of the values t, and the logarithm of the sum of their exponentials.
float softmax(const float* t, int64_t count, float* weight) {
  const float top = largest_of(t, count);
  Vec sums{};
  for (int64_t i = 0; i < count; i += LANES) {
    const Vec e = exp(larger(load(t + i) - top, all(LOWEST)));
    store(weight + i, e);
    sums += first(e, count - i);
  }
  const float total = sum(sums);
  for (int64_t i = 0; i < count; i += LANES) store(weight + i, load(weight + i) * (1 / total));
  return top + std::log(total);
}

}  // namespace

float largest_of(const float* t, int64_t count) {
  float top = t[0];
  int64_t i = 0;
  if (count >= LANES) {
    Vec most = load(t);
    for (; i + LANES <= count; i += LANES) most = larger(most, load(t + i));
    top = largest(most);
  }
  for (; i < count; ++i) top = t[i] > top ? t[i] : top;
  return top;
}

float log_sum_exp(const float* t, int64_t count) {
  const float top = largest_of(t, count);
  return top + std::log(sum_over(count, [&](int64_t i) INFOATLAS_LAMBDA {
           return exp(larger(load(t + i) - top, all(LOWEST)));
         }));
}

void combine(const float* psi, int64_t rows, int64_t stride, const float* a, float constant,
             float* out) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    Vec sums[4] = {};
    for (int64_t f = 0; f < stride; f += LANES) {
      const Vec v = load(a + f);
      for (int k = 0; k < 4; ++k) sums[k] += load(psi + (r + k) * stride + f) * v;
    }
    for (int k = 0; k < 4; ++k) out[r + k] = constant + sum(sums[k]);
  }
  for (; r < rows; ++r) {
    Vec total{};
    for (int64_t f = 0; f < stride; f += LANES) total += load(psi + r * stride + f) * load(a + f);
    out[r] = constant + sum(total);
  }
}

void solve_readout(const Model& model, const Problem& p, const float* start, const Crew& crew,
                   float* mean, float* best, Arena& arena) {
  const int64_t mark = arena.mark(), stride = p.stride, n = p.n, others = p.rows - n;
  const int64_t used = model.used_slots;
  float *joint = arena.take(stride), *scale = arena.take(stride), *squares = arena.take(stride);
  // Centred by the mean over product pairs, in units of the standard deviation there.
  row_sums(p, n, p.rows, nullptr, mean, nullptr, crew, arena);
  for (int64_t f = 0; f < stride; ++f) mean[f] /= float(others);
  float* residue = arena.take(stride);
  row_sums(p, n, p.rows, mean, residue, squares, crew, arena);
  row_sums(p, 0, n, mean, joint, nullptr, crew, arena);
  for (int64_t f = 0; f < stride; ++f) {
    joint[f] /= float(n);
    scale[f] = 1 / std::sqrt(squares[f] / float(others) + 1e-6f);
  }
  for (const int slot : model.kernel_slots) scale[slot] = 1;  // they have their own scale

  float *of_joint = arena.take((stride + 1) * stride), *of_others = arena.take((stride + 1) * stride);
  moments(p, 0, n, nullptr, used, of_joint, crew, arena);
  const float* t0 = p.t0 + n;
  float *t = arena.take(others + 16), *best_t = arena.take(others + 16);
  float *weight = arena.take(others + 16), *a = arena.take(stride), *scaled = arena.take(stride);
  const int64_t ld = round_up(used, WIDTH);
  double *curvature = arena.take_doubles(used * ld), *inverse = arena.take_doubles(used);
  double *b = arena.take_doubles(ld), *change = arena.take_doubles(ld);
  std::memcpy(best_t, t0, size_t(others) * sizeof(float));
  std::memset(best, 0, size_t(stride) * sizeof(float));
  std::memset(a, 0, size_t(stride) * sizeof(float));
  float highest = -softmax(t0, others, weight);
  if (start)
    for (int64_t f = 0; f < used; ++f) a[f] = start[f] / scale[f];
  const int steps = 2 * p.steps - 1;
  for (int step = 0; step <= steps; ++step) {
    if (step > 0 || start) {
      for (int64_t f = 0; f < stride; ++f) scaled[f] = a[f] * scale[f];
      for_each(crew, (others + ROWS - 1) / ROWS, [&](int64_t task, Arena&) {
        const int64_t from = task * ROWS, count = others - from < ROWS ? others - from : ROWS;
        combine(p.psi + (n + from) * stride, count, stride, scaled, 0, t + from);
        for (int64_t i = from; i < from + count; ++i) t[i] += t0[i];
      });
      const float log_sum = softmax(t, others, weight);
      double value = -log_sum;
      for (int64_t f = 0; f < used; ++f)
        value += joint[f] * scale[f] * a[f] - 0.5f * p.ridge[f] * a[f] * a[f];
      const bool higher = float(value) >= highest;
      if (higher) {
        highest = float(value);
        std::memcpy(best, a, size_t(stride) * sizeof(float));
        std::memcpy(best_t, t, size_t(others) * sizeof(float));
      }
      if (step == steps) break;
      if (!higher) {  // halve a step that is too large
        for (int64_t f = 0; f < stride; ++f) a[f] = (a[f] + best[f]) / 2;
        for (int64_t i = 0; i < others; ++i) t[i] = (t[i] + best_t[i]) / 2;
        softmax(t, others, weight);
      }
    }
    const float* mean_product = of_others + stride * stride;
    if (step % 2 == 0) {  // use the mean of both covariances
      moments(p, n, p.rows, weight, used, of_others, crew, arena);
      std::memset(curvature, 0, size_t(used * ld) * sizeof(double));
      for (int64_t i = 0; i < used; ++i)
        for (int64_t j = i; j < used; ++j) {
          const float covariance = symmetric(of_joint, stride, used, i, j) / float(n) +
                                   symmetric(of_others, stride, used, i, j) -
                                   joint[i] * joint[j] - mean_product[i] * mean_product[j];
          curvature[i * ld + j] = 0.5f * covariance * scale[i] * scale[j];
        }
      for (int64_t i = 0; i < used; ++i) curvature[i * ld + i] += double(p.ridge[i]);
      factorise(curvature, used, ld, inverse);
    } else {
      weighted_sum(p, n, p.rows, weight, of_others + stride * stride, crew, arena);
    }
    for (int64_t f = 0; f < used; ++f)
      b[f] = double((joint[f] - mean_product[f]) * scale[f] - p.ridge[f] * a[f]);
    substitute(curvature, used, ld, inverse, b, change);
    for (int64_t f = 0; f < used; ++f) a[f] += float(change[f]);
  }
  for (int64_t f = 0; f < stride; ++f) best[f] *= scale[f];
  arena.back_to(mark);
}

}  // namespace infoatlas::INFOATLAS_TARGET
