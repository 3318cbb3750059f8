#include "readout.h"

#include <cmath>

#include "kernels.h"
#include "solve.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr float SHARES[] = {1.0f, 0.9f, 0.8f, 0.65f, 0.5f, 0.3f, 0.0f};
constexpr float CRITIC_SHARES[] = {1.0f, 0.8f, 0.6f, 0.4f, 0.25f, 0.15f, 0.08f, 0.0f};

float top_of(const Sample& s, const float* product) {
  float top = largest_of(product, s.n);
  for (int64_t j = 1; j < s.m; ++j) {
    const float next = largest_of(product + j * s.ld, s.n);
    top = next > top ? next : top;
  }
  return top;
}

// Sum of exp(value(j, i)) over all product pairs.
template <class F>
float exponentials(const Sample& s, F value) {
  double total = 0;
  for (int64_t j = 0; j < s.m; ++j)
    total += double(sum_over(s.n, [&](int64_t i) INFOATLAS_LAMBDA {
      return exp(value(j * s.ld + i));
    }));
  return float(total);
}

}  // namespace

float best_share(const Sample& s, const Values& anchor, const Values& step, Arena& arena) {
  const int64_t mark = arena.mark();
  const float mean_t0 = total(anchor.joint, s.n) / float(s.n);
  const float mean_step = total(step.joint, s.n) / float(s.n);
  float* t = arena.take(s.m * s.ld);
  float highest = 0, best = 0;
  for (const float share : SHARES) {
    for (int64_t i = 0; i < s.m * s.ld; i += LANES)
      store(t + i, load(anchor.product + i) + load(step.product + i) * share);
    const float top = top_of(s, t);
    const float log_sum =
        top + std::log(exponentials(s, [&](int64_t i) INFOATLAS_LAMBDA { return load(t + i) - top; }));
    const float value = mean_t0 + share * mean_step - log_sum;
    if (share == SHARES[0] || value > highest) {  // the largest of equal ones
      highest = value;
      best = share;
    }
  }
  arena.back_to(mark);
  return best;
}

float critic_share(const Sample& s, const Values& t) {
  const float mean = total(t.joint, s.n) / float(s.n), top = top_of(s, t.product);
  float highest = 0, best = 0;
  for (const float share : CRITIC_SHARES) {
    const float sums = exponentials(
        s, [&](int64_t i) INFOATLAS_LAMBDA { return (load(t.product + i) - top) * share; });
    const float value = share * (mean - top) - std::log(sums);
    if (share == CRITIC_SHARES[0] || value > highest) {
      highest = value;
      best = share;
    }
  }
  return best;
}

float donsker_varadhan(const Sample& s, const Values& t, float* log_z) {
  const float top = top_of(s, t.product);
  const float sums = exponentials(
      s, [&](int64_t i) INFOATLAS_LAMBDA { return load(t.product + i) - top; });
  *log_z = top + std::log(sums) - std::log(float(s.m) * float(s.n));
  return total(t.joint, s.n) / float(s.n) - *log_z;
}

void influence(const Sample& s, const Values& t, float log_z, float* out, Arena& arena) {
  const int64_t mark = arena.mark(), n = s.n;
  const float mean = total(t.joint, n) / float(n), share = 1 / float(s.m);
  float *as_x = arena.take(s.ld), *as_y = arena.take(s.ld), *ratio = arena.take(s.ld);
  std::memset(as_x, 0, size_t(s.ld) * sizeof(float));
  std::memset(as_y, 0, size_t(s.ld) * sizeof(float));
  for (int64_t j = 0; j < s.m; ++j) {
    const int64_t shift = s.shifts[j + 1];
    for (int64_t i = 0; i < n; i += LANES) {
      const Vec r = exp(load(t.product + j * s.ld + i) - log_z);
      store(ratio + i, r);
      store(as_x + i, load(as_x + i) + r);
    }
    // Sample i + shift was the partner of i.
    for (int64_t i = 0; i < n - shift; ++i) as_y[i + shift] += ratio[i];
    for (int64_t i = n - shift; i < n; ++i) as_y[i + shift - n] += ratio[i];
  }
  for (int64_t i = 0; i < n; ++i)
    out[i] = t.joint[i] - mean + 2 - (as_x[i] + as_y[i]) * share;
  arena.back_to(mark);
}

}  // namespace infoatlas::INFOATLAS_TARGET
