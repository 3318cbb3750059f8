#include "critic.h"

#include <cmath>

#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr float LOG_2 = 0.6931471805599453f;

// The rows of a side after those of the sample itself, and its mean squares.
void side_inputs(float* x, int dim, int64_t n, int64_t ld, float* used) {
  float* r = x + dim * ld;
  for (int64_t i = 0; i < ld; i += LANES) store(r + i, Vec{});
  for (int k = 0; k < dim; ++k) {
    const float* row = x + k * ld;
    for (int64_t i = 0; i < n; i += LANES) {
      const Vec v = load(row + i);
      store(r + i, load(r + i) + v * v);
    }
    used[k] = dot(row, row, n) / float(n);
  }
  const float mean = total(r, n) / float(n);
  const float base = std::log1p(mean);
  for (int64_t i = 0; i < ld; i += LANES) store(r + i, log(load(r + i) + 1.0f) - base);
  for (int k = 0; k < dim; ++k)
    for (int64_t i = 0; i < ld; i += LANES)
      store(r + (k + 1) * ld + i, load(r + i) * load(x + k * ld + i));
}

}  // namespace

Sample take_sample(const Task& task, int dim, Arena& arena) {
  Sample s;
  s.n = task.n;
  s.ld = round_up(s.n, 16) + 16;  // (rows of a power of two conflict in the cache)
  s.dim = dim;
  s.inputs = 2 * dim + 1;
  s.x = arena.take(s.inputs * s.ld);
  s.y = arena.take(s.inputs * s.ld);
  float* used = arena.take(2 * dim);
  for (int side = 0; side < 2; ++side) {
    float* to = side ? s.y : s.x;
    const float* from = side ? task.y : task.x;
    for (int k = 0; k < dim; ++k)
      std::memset(to + k * s.ld + s.n, 0, size_t(s.ld - s.n) * sizeof(float));
    for (int64_t i = 0; i < s.n; ++i)
      for (int k = 0; k < dim; ++k) to[k * s.ld + i] = from[i * dim + k];
    side_inputs(to, dim, s.n, s.ld, used + side * dim);
  }
  s.used = used;
  int there = 0;
  for (int k = 0; k < 2 * dim; ++k) there += used[k] > 0.5f;
  s.default_width = std::exp(-std::log(float(s.n)) / float(there + 4));
  s.m = task.m;
  int64_t* shifts = reinterpret_cast<int64_t*>(arena.take_doubles(s.m + 1));
  shifts[0] = 0;
  for (int64_t j = 0; j < s.m; ++j)
    shifts[j + 1] = task.shifts[j] < 0 ? task.shifts[j] + s.n : task.shifts[j];
  s.shifts = shifts;
  return s;
}

void fisher_z(const Sample& s, float* z) {
  const float n = float(s.n);
  const float least = std::fmax(1.0f / (n * n), 2e-5f) / 2;
  for (int k = 0; k < s.dim; ++k) {
    const float *x = s.x + k * s.ld, *y = s.y + k * s.ld;
    float gap = sum_over(s.n, [&](int64_t i) INFOATLAS_LAMBDA {
      const Vec apart = load(x + i) - load(y + i);
      return apart * apart;
    }) / n / 2;  // 1 - rho
    gap = std::fmin(std::fmax(gap, least), 2 - least);
    const bool there = s.used[k] > 0.5f && s.used[s.dim + k] > 0.5f;
    z[k] = there ? 0.5f * std::log((2 - gap) / gap) : 0.0f;
  }
}

void cap(float* z, int dim, int64_t n) {
  float information = 0;
  for (int k = 0; k < dim; ++k) {
    const float v = -2 * z[k];  // softplus
    information += z[k] + (v > 20 ? v : std::log1p(std::exp(v))) - LOG_2;
  }
  const float share = information / (std::log(float(n)) + 1.5f);
  const float factor = std::pow(1 + share * share * share * share, -0.25f);
  for (int k = 0; k < dim; ++k) z[k] *= factor;
}

void anchor(const Sample& s, const float* z, int64_t count, float* t0, Arena& arena) {
  const int64_t mark = arena.mark(), n = s.n, ld = s.ld, twice = 2 * ld + n;
  // All terms except one squared difference are per sample. Rows of y contain the sample twice, so
  // that partners of a shift are contiguous.
  float *u = arena.take(s.dim * ld), *v = arena.take(s.dim * twice);
  float *qx = arena.take(ld), *qy = arena.take(twice);
  std::memset(qx, 0, size_t(ld) * sizeof(float));
  std::memset(qy, 0, size_t(twice) * sizeof(float));
  float constant = 0;
  int used = 0;
  for (int k = 0; k < s.dim; ++k) {
    const float gap = 2 / (std::exp(2 * z[k]) + 1);  // 1 - rho
    const float rho = std::fmax(1 - gap, 0.0f), variance = gap * (2 - gap);
    constant -= 0.5f * std::log(variance);
    const float weight = std::sqrt(std::fmax(rho / (2 * variance), 1e-12f));
    const float own = rho / (2 * (1 + rho));
    const float *x = s.x + k * ld, *y = s.y + k * ld;
    if (s.used[k] == 0 && s.used[s.dim + k] == 0) continue;
    float *uk = u + used * ld, *vk = v + used * twice;
    ++used;
    for (int64_t i = 0; i < n; i += LANES) {
      const Vec a = load(x + i), b = load(y + i);
      store(uk + i, a * weight);
      store(vk + i, b * weight);
      store(qx + i, load(qx + i) + a * a * own);
      store(qy + i, load(qy + i) + b * b * own);
    }
    std::memcpy(vk + n, vk, size_t(n) * sizeof(float));
    std::memset(vk + 2 * n, 0, size_t(twice - 2 * n) * sizeof(float));
  }
  std::memcpy(qy + n, qy, size_t(n) * sizeof(float));
  for (int64_t j = 0; j < count; ++j) {
    const int64_t shift = s.shifts[j];
    for (int64_t i = 0; i < n; i += LANES) {
      Vec t = load(qx + i) + load(qy + i + shift) + constant;
      Vec apart{};
      for (int k = 0; k < used; ++k) {
        const Vec d = load(u + k * ld + i) - load(v + k * twice + i + shift);
        apart += d * d;
      }
      store(t0 + j * ld + i, t - apart);
    }
  }
  arena.back_to(mark);
}

void side(const Model& model, const float* first, const float* second, const float* last,
          const float* inputs, int64_t ld, int64_t from, int64_t count, const SideValues& v,
          float* out) {
  const Generation& g = model.generation;
  const int64_t d = model.config.inputs(), h = g.units, hs = g.unit_slots, fs = g.slots;
  product_transposed(count, hs, d, inputs + from, ld, first, hs, v.before, hs, Start::BIAS,
                     first + d * hs);
  for (int64_t i = 0; i < count * hs; i += LANES) store(v.u + i, gelu(load(v.before + i)));
  product(count, hs, h, v.u, hs, second, hs, v.between, hs, Start::BIAS, second + h * hs);
  for (int64_t i = 0; i < count * hs; i += LANES)
    store(v.hidden + i, load(v.u + i) + gelu(load(v.between + i)));
  product(count, fs, h, v.hidden, hs, last, fs, out, fs);
  product_transposed(count, fs, d, inputs + from, ld, last + h * fs, fs, out, fs, Start::ADD);
}

void sides(const Model& model, const Theta& theta, const Sample& s, const Crew& crew, float* sx,
           float* sy) {
  const int64_t hs = model.generation.unit_slots, fs = model.generation.slots;
  const int64_t groups = (s.n + GROUP - 1) / GROUP;
  for_each(crew, 2 * groups, [&](int64_t task, Arena& arena) {
    const bool is_y = task >= groups;
    float* const between = arena.take(CHUNK * hs);
    float* const u = arena.take(CHUNK * hs);
    const SideValues values{between, u, between, u};  // each value overwrites the one before
    const int64_t begin = task % groups * GROUP, end = begin + GROUP < s.n ? begin + GROUP : s.n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      float* out = (is_y ? sy : sx) + from * fs;
      if (is_y) {
        side(model, theta.y1, theta.y2, theta.y3, s.y, s.ld, from, count, values, out);
        continue;
      }
      side(model, theta.x1, theta.x2, theta.x3, s.x, s.ld, from, count, values, out);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t f = 0; f < fs; f += LANES)
          store(out + i * fs + f, load(out + i * fs + f) + load(theta.bias + f));
    }
  });
}

void features(const Model& model, const Theta& theta, const Sample& sample, const float* sx,
              const float* sy, int64_t shift, int64_t from, int64_t count, float* s, float* h,
              float* p, float* psi, int64_t stride) {
  const Generation& g = model.generation;
  const int64_t fs = g.slots, inputs = g.mix_inputs;
  for (int64_t i = 0; i < count; ++i) {
    const float* of_x = sx + (from + i) * fs;
    const float* of_y = sy + partner(from + i, shift, sample.n) * fs;
    for (int64_t f = 0; f < fs; f += LANES) {
      const Vec both = load(of_x + f) + load(of_y + f);
      if (s) store(s + i * fs + f, both);
      store(h + i * fs + f, gelu(both));
    }
  }
  product(count, fs, inputs, h, fs, theta.mix, fs, p, fs, Start::BIAS, theta.mix + inputs * fs);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t f = 0; f < fs; f += LANES)
      store(psi + i * stride + f, load(h + i * fs + f) + gelu(load(p + i * fs + f)));
    for (int64_t f = fs; f < stride; ++f) psi[i * stride + f] = 0;
  }
}

}  // namespace infoatlas::INFOATLAS_TARGET
