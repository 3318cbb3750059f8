#include "refinement.h"

#include <cmath>

#include "kernels.h"
#include "solve.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr int LAYERS = 8;  // three of each side, the bias, the layer of the pairs
constexpr float MOMENTUM = 0.5f;

// A layer: its weights, their gradient (a sum over tasks), and the place of that in one array.
struct Layer {
  float* weight;
  int64_t rows, columns;  // including empty slots
  int64_t count;          // of weights without empty slots
  int64_t at;             // index of the gradient
};

// All layers in the order of the rates.
struct Layers {
  Layer layer[LAYERS];
  int64_t size;  // of the gradient of all layers
};

Layers layers_of(const Model& model, const Theta& t) {
  const Generation& g = model.generation;
  const int64_t d = model.config.inputs(), h = g.units, hs = g.unit_slots, fs = g.slots;
  const int64_t f = model.config.features;
  Layers out{{{t.x1, d + 1, hs, (d + 1) * h, 0},
              {t.x2, h + 1, hs, (h + 1) * h, 0},
              {t.x3, h + d, fs, (h + d) * f, 0},
              {t.y1, d + 1, hs, (d + 1) * h, 0},
              {t.y2, h + 1, hs, (h + 1) * h, 0},
              {t.y3, h + d, fs, (h + d) * f, 0},
              {t.bias, 1, fs, f, 0},
              {t.mix, g.mix_inputs + 1, fs, (f + 1) * f, 0}},
             0};
  for (Layer& layer : out.layer) {
    layer.at = out.size;
    out.size += layer.rows * layer.columns;
  }
  return out;
}

// Inner values of both sides on all samples, and of the pairs.
struct Inner {
  SideValues x, y;
  float *sx, *sy;          // [n, slots]
  float *s, *h, *p, *psi;  // [pairs, slots], psi [pairs, stride]
};

SideValues from_row(const SideValues& v, int64_t row, int64_t hs) {
  return {v.before + row * hs, v.u + row * hs, v.between + row * hs, v.hidden + row * hs};
}

// `sample` has the shifts of this round; `chosen` are their indices among all shifts.
void forward(const Model& model, const Theta& theta, const Sample& sample, const float* near,
             const int64_t* chosen, int64_t kinds, int64_t stride, const Inner& v,
             const Crew& crew) {
  const int64_t n = sample.n, hs = model.generation.unit_slots, fs = model.generation.slots;
  const int64_t groups = (n + GROUP - 1) / GROUP;
  for_each(crew, 2 * groups, [&](int64_t task, Arena&) {
    const int64_t begin = task % groups * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      if (task >= groups) {
        side(model, theta.y1, theta.y2, theta.y3, sample.y, sample.ld, from, count,
             from_row(v.y, from, hs), v.sy + from * fs);
        continue;
      }
      float* out = v.sx + from * fs;
      side(model, theta.x1, theta.x2, theta.x3, sample.x, sample.ld, from, count,
           from_row(v.x, from, hs), out);
      for (int64_t i = 0; i < count; ++i)
        for (int64_t f = 0; f < fs; f += LANES)
          store(out + i * fs + f, load(out + i * fs + f) + load(theta.bias + f));
    }
  });
  for_each(crew, kinds * groups, [&](int64_t task, Arena&) {
    const int64_t j = task / groups;
    const int64_t begin = task % groups * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK, row = j * n + from;
      features(model, theta, sample, v.sx, v.sy, sample.shifts[j], from, count, v.s + row * fs,
               v.h + row * fs, v.p + row * fs, v.psi + row * stride, stride);
      place_kernels(model, sample, near, chosen[j], from, count, v.psi + row * stride, stride);
    }
  });
}

void add_columns(const float* from, int64_t rows, int64_t columns, float* sums) {
  over_columns(columns, [&]<int COUNT>(int64_t f) INFOATLAS_LAMBDA {
    Vec total[COUNT];
    for (int j = 0; j < COUNT; ++j) total[j] = load(sums + f + j * LANES);
    for (int64_t i = 0; i < rows; ++i)
      for (int j = 0; j < COUNT; ++j) total[j] += load(from + i * columns + f + j * LANES);
    for (int j = 0; j < COUNT; ++j) store(sums + f + j * LANES, total[j]);
  });
}

// Adds the gradient of the three layers of a side, from that of its output, d_out [count, slots].
void side_slopes(const Model& model, const float* inputs, int64_t ld, int64_t from, int64_t count,
                 const SideValues& v, const float* d_out, const float* second_back,
                 const float* last_back, float* first, float* second, float* last, Arena& arena) {
  const Generation& g = model.generation;
  const int64_t mark = arena.mark(), d = model.config.inputs(), h = g.units;
  const int64_t hs = g.unit_slots, fs = g.slots;
  float *d_hidden = arena.take(count * hs), *d_between = arena.take(count * hs);
  product_transposed(h, fs, count, v.hidden, hs, d_out, fs, last, fs, Start::ADD);
  product(d, fs, count, inputs + from, ld, d_out, fs, last + h * fs, fs, Start::ADD);
  product(count, hs, fs, d_out, fs, last_back, hs, d_hidden, hs);
  for (int64_t i = 0; i < count * hs; i += LANES)
    store(d_between + i, load(d_hidden + i) * gelu_slope(load(v.between + i)));
  product(count, hs, h, d_between, hs, second_back, hs, d_hidden, hs, Start::ADD);
  for (int64_t i = 0; i < count * hs; i += LANES)
    store(d_hidden + i, load(d_hidden + i) * gelu_slope(load(v.before + i)));
  product(d, hs, count, inputs + from, ld, d_hidden, hs, first, hs, Start::ADD);
  add_columns(d_hidden, count, hs, first + d * hs);
  product_transposed(h, hs, count, v.u, hs, d_between, hs, second, hs, Start::ADD);
  add_columns(d_between, count, hs, second + h * hs);
  arena.back_to(mark);
}

// Gradient of the objective for all layers: [size]. t [pairs] is the critic, a its coefficients.
void slopes(const Model& model, const Theta& theta, const Sample& sample, const Layers& all,
            int64_t kinds, const Inner& v, const float* a, const float* t, float* out,
            const Crew& crew, Arena& arena) {
  const Generation& g = model.generation;
  const int64_t mark = arena.mark(), n = sample.n, hs = g.unit_slots, fs = g.slots;
  const int64_t inputs = g.mix_inputs, others = (kinds - 1) * n;
  float* weight = arena.take(kinds * n + 16);
  for (int64_t i = 0; i < n; ++i) weight[i] = 1 / float(n);
  const float log_sum = log_sum_exp(t + n, others);
  for (int64_t i = n; i < kinds * n; i += LANES) store(weight + i, -exp(load(t + i) - log_sum));
  float* written = arena.take(fs);  // coefficients of the generated features alone
  std::memset(written, 0, size_t(fs) * sizeof(float));
  for (const int slot : model.feature_slots) written[slot] = a[slot];
  // Transposed layers.
  float *mix_back = arena.take(fs * fs), *d_x = arena.take(n * fs), *d_y = arena.take(n * fs);
  std::memset(mix_back, 0, size_t(fs * fs) * sizeof(float));
  transpose(inputs, fs, theta.mix, fs, mix_back, fs);
  float* back[4];
  const float* layers[4] = {theta.x2, theta.x3, theta.y2, theta.y3};
  for (int k = 0; k < 4; ++k) {
    const int64_t outputs = k % 2 ? fs : hs;
    back[k] = arena.take(outputs * hs);
    std::memset(back[k], 0, size_t(outputs * hs) * sizeof(float));
    transpose(g.units, outputs, layers[k], outputs, back[k], hs);
  }
  // The pairs; v.s becomes its own gradient.
  const int64_t groups = (n + GROUP - 1) / GROUP, tasks = kinds * groups;
  const int64_t mix_size = (inputs + 1) * fs;
  float* mix_parts = arena.take(tasks * mix_size);
  for_each(crew, tasks, [&](int64_t task, Arena& scratch) {
    float *d_p = scratch.take(CHUNK * fs), *d_h = scratch.take(CHUNK * fs);
    float* own = mix_parts + task * mix_size;
    std::memset(own, 0, size_t(mix_size) * sizeof(float));
    const int64_t begin = task % groups * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      const int64_t row = task / groups * n + from;
      float *s = v.s + row * fs, *h = v.h + row * fs, *p = v.p + row * fs;
      for (int64_t i = 0; i < count; ++i)
        for (int64_t f = 0; f < fs; f += LANES) {
          const Vec d_psi = load(written + f) * weight[row + i];
          store(d_h + i * fs + f, d_psi);
          store(d_p + i * fs + f, d_psi * gelu_slope(load(p + i * fs + f)));
        }
      product_transposed(inputs, fs, count, h, fs, d_p, fs, own, fs, Start::ADD);
      add_columns(d_p, count, fs, own + inputs * fs);
      product(count, fs, fs, d_p, fs, mix_back, fs, d_h, fs, Start::ADD);
      for (int64_t i = 0; i < count * fs; i += LANES)
        store(s + i, load(d_h + i) * gelu_slope(load(s + i)));
    }
  });
  // The samples: each is x in one pair of a kind, and y in another.
  float* parts = arena.take(groups * all.size);
  for_each(crew, groups, [&](int64_t group, Arena& scratch) {
    float* own = parts + group * all.size;
    std::memset(own, 0, size_t(all.size) * sizeof(float));
    const auto at = [&](int k) { return own + all.layer[k].at; };
    const int64_t begin = group * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t i = begin; i < end; ++i)
      for (int64_t f = 0; f < fs; f += LANES) {
        Vec of_x{}, of_y{};
        for (int64_t j = 0; j < kinds; ++j) {
          const int64_t shift = sample.shifts[j], before = i >= shift ? i - shift : i - shift + n;
          of_x += load(v.s + (j * n + i) * fs + f);
          of_y += load(v.s + (j * n + before) * fs + f);
        }
        store(d_x + i * fs + f, of_x);
        store(d_y + i * fs + f, of_y);
      }
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      side_slopes(model, sample.x, sample.ld, from, count, from_row(v.x, from, hs), d_x + from * fs,
                  back[0], back[1], at(0), at(1), at(2), scratch);
      side_slopes(model, sample.y, sample.ld, from, count, from_row(v.y, from, hs), d_y + from * fs,
                  back[2], back[3], at(3), at(4), at(5), scratch);
      add_columns(d_x + from * fs, count, fs, at(6));
    }
  });
  std::memcpy(out, parts, size_t(all.size) * sizeof(float));
  for (int64_t k = 1; k < groups; ++k)
    for (int64_t i = 0; i < all.size; i += LANES)
      store(out + i, load(out + i) + load(parts + k * all.size + i));
  for (int64_t k = 0; k < tasks; ++k)
    for (int64_t i = 0; i < mix_size; i += LANES) {
      float* to = out + all.layer[7].at + i;
      store(to, load(to) + load(mix_parts + k * mix_size + i));
    }
  arena.back_to(mark);
}

// Moves the rows along the gradient, with momentum. Steps are relative to the size of a layer, and
// large slopes are compressed.
void move(const Layers& all, const float* slope, const float* rate, int64_t slots, bool first,
          float* velocity) {
  for (int k = 0; k < LAYERS; ++k) {
    const Layer& layer = all.layer[k];
    const int64_t size = layer.rows * layer.columns;
    const float* g = slope + layer.at;
    float* speed = velocity + layer.at;
    const float of_w = std::sqrt(dot(layer.weight, layer.weight, size) / float(layer.count));
    const float of_g = std::sqrt(dot(g, g, size) / float(layer.count));
    const float unit = 1 / std::fmax(of_g, 1e-12f);
    for (int64_t i = 0; i < layer.rows; ++i)
      for (int64_t f = 0; f < layer.columns; f += LANES) {
        const int64_t at = i * layer.columns + f;
        Vec now = load(g + at) * unit;
        if (!first) now += load(speed + at) * MOMENTUM;
        store(speed + at, now);
        const Vec step = now / (1.0f + larger(now, -now));
        store(layer.weight + at,
              load(layer.weight + at) + load(rate + k * slots + f) * of_w * step);
      }
  }
}

}  // namespace

void place_kernels(const Model& model, const Sample& sample, const float* near, int64_t j,
                   int64_t from, int64_t count, float* psi, int64_t stride) {
  for (size_t k = 0; k < model.kernel_slots.size(); ++k) {
    const float* values = near + (int64_t(k) * (sample.m + 1) + j) * sample.ld + from;
    float* to = psi + model.kernel_slots[k];
    for (int64_t i = 0; i < count; ++i) to[i * stride] = values[i];
  }
}

const float* refined(const Model& model, Theta& theta, const Sample& s, const float* near,
                     int64_t stride, const Crew& crew, Arena& arena) {
  const Config& c = model.config;
  if (!c.refinements) return nullptr;
  const int64_t n = s.n, hs = model.generation.unit_slots, fs = model.generation.slots;
  const auto at_most = [&](int64_t count) { return count < s.m ? count : s.m; };
  const int64_t each = at_most(c.refine_shifts), kinds = 1 + each, pairs = kinds * n;
  const int64_t turns = at_most(c.refine_turns ? c.refine_turns : each);
  float* a = arena.take(stride);
  const int64_t mark = arena.mark();
  float *t0 = arena.take((1 + turns) * s.ld), *joined = arena.take(pairs + 16);
  float* t = arena.take(pairs + 16);
  anchor(s, theta.z, 1 + turns, t0, arena);
  const auto side_values = [&] {
    return SideValues{arena.take(n * hs), arena.take(n * hs), arena.take(n * hs),
                      arena.take(n * hs)};
  };
  Inner v;
  v.x = side_values();
  v.y = side_values();
  v.sx = arena.take(n * fs);
  v.sy = arena.take(n * fs);
  v.s = arena.take(pairs * fs);
  v.h = arena.take(pairs * fs);
  v.p = arena.take(pairs * fs);
  v.psi = arena.take(pairs * stride);
  const Layers all = layers_of(model, theta);
  float *slope = arena.take(all.size), *velocity = arena.take(all.size);
  float *mean = arena.take(stride), *found = arena.take(stride);
  for (int round = 0; round < c.refinements; ++round) {
    int64_t chosen[1 + MOST_REFINE_SHIFTS] = {0}, shifts[1 + MOST_REFINE_SHIFTS] = {s.shifts[0]};
    for (int64_t j = 1; j < kinds; ++j) {
      chosen[j] = 1 + (round * each + j - 1) % turns;
      shifts[j] = s.shifts[chosen[j]];
    }
    Sample here = s;
    here.shifts = shifts;
    for (int64_t j = 0; j < kinds; ++j)
      std::memcpy(joined + j * n, t0 + chosen[j] * s.ld, size_t(n) * sizeof(float));
    forward(model, theta, here, near, chosen, kinds, stride, v, crew);
    const Problem problem{v.psi, joined, theta.ridge, pairs, n, stride, 1};
    solve_readout(model, problem, round ? a : nullptr, crew, mean, found, arena);
    std::memcpy(a, found, size_t(stride) * sizeof(float));
    combine(v.psi, pairs, stride, a, dot(mean, a, stride), t);
    for (int64_t i = 0; i < pairs; i += LANES) store(t + i, load(t + i) + load(joined + i));
    slopes(model, theta, here, all, kinds, v, a, t, slope, crew, arena);
    move(all, slope, theta.rate + int64_t(round) * LAYERS * fs, fs, round == 0, velocity);
  }
  arena.back_to(mark);
  return a;
}

}  // namespace infoatlas::INFOATLAS_TARGET
