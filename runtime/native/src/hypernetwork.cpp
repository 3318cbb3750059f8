#include "hypernetwork.h"

#include <cmath>

#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr float EPSILON = 1e-5f;  // of layer norms
constexpr float LEAST = -1e30f;   // below every score
constexpr int LAYERS = 8;         // of refinement.py

void normalised(const Norm& norm, const float* from, int64_t rows, float* to) {
  const int64_t w = norm.size;
  for (int64_t i = 0; i < rows; ++i) {
    const float* v = from + i * w;
    const float mean = total(v, w) / float(w);
    const float variance = sum_over(w, [&](int64_t k) INFOATLAS_LAMBDA {
      const Vec d = load(v + k) - mean;
      return d * d;
    }) / float(w);
    const float scale = 1 / std::sqrt(variance + EPSILON);
    for (int64_t k = 0; k < w; k += LANES)
      store(to + i * w + k, (load(v + k) - mean) * scale * load(norm.weight + k) +
                                load(norm.bias + k));
  }
}

// One row through a linear layer of any size.
void linear_row(const Linear& layer, const float* from, float* to) {
  for (int o = 0; o < layer.outputs; ++o) to[o] = layer.bias[o];
  for (int i = 0; i < layer.inputs; ++i) {
    const float v = from[i];
    const float* row = layer.weight + int64_t(i) * layer.outputs;
    for (int o = 0; o < layer.outputs; ++o) to[o] += v * row[o];
  }
}

void add_mlp(const MlpWeights& mlp, int64_t rows, float* tokens, Arena& arena) {
  const int64_t mark = arena.mark(), w = mlp.norm.size, wide = mlp.first.outputs;
  float *v = arena.take(rows * w), *h = arena.take(rows * wide);
  normalised(mlp.norm, tokens, rows, v);
  product(rows, wide, w, v, w, mlp.first.weight, wide, h, wide, Start::BIAS, mlp.first.bias);
  for (int64_t i = 0; i < rows * wide; i += LANES) store(h + i, gelu(load(h + i)));
  product(rows, w, wide, h, wide, mlp.second.weight, w, v, w, Start::BIAS, mlp.second.bias);
  for (int64_t i = 0; i < rows * w; i += LANES)
    store(tokens + i, load(tokens + i) + load(v + i));
  arena.back_to(mark);
}

// Columns of an attention: a column for each head and token, the tokens of a head together.
struct Columns {
  int64_t heads, tokens, all;  // tokens rounded up to a multiple of 16
};

Columns columns_of(const AttentionWeights& a, int64_t rows) {
  const int64_t heads = a.query.outputs / a.norm.size, tokens = round_up(rows, 16);
  return {heads, tokens, heads * tokens};
}

// Queries of tokens in terms of samples, transposed: [sets, W, columns].
const float* queries(const AttentionWeights& a, const float* tokens, int64_t sets, int64_t rows,
                     const Columns& columns, Arena& arena) {
  const int64_t w = a.norm.size, size = w * columns.tokens;
  float* q = arena.take(sets * w * columns.all);
  const int64_t mark = arena.mark();
  float *v = arena.take(sets * rows * w), *flipped = arena.take(sets * size);
  normalised(a.norm, tokens, sets * rows, v);
  if (columns.tokens > rows) std::memset(flipped, 0, size_t(sets * size) * sizeof(float));
  for (int64_t set = 0; set < sets; ++set)
    transpose(rows, w, v + set * rows * w, w, flipped + set * size, columns.tokens);
  for (int64_t head = 0; head < columns.heads; ++head)
    for (int64_t set = 0; set < sets; ++set) {
      float* to = q + set * w * columns.all + head * columns.tokens;
      for (int64_t k = 0; k < w; ++k)
        for (int64_t u = 0; u < columns.tokens; u += LANES)
          store(to + k * columns.all + u, all(a.query.bias[head * w + k]));
      product_transposed(w, columns.tokens, w, a.query.weight + head * w, a.query.outputs,
                         flipped + set * size, columns.tokens, to, columns.all, Start::ADD);
    }
  arena.back_to(mark);
  return q;
}

// Softmax over the samples seen so far, of each column; the mean of the samples under it.
struct Attended {
  float *top, *sum;  // [columns] largest score, sum of exponentials
  float* mean;       // [columns, W], not divided by the sum
};

Attended none_attended(int64_t columns, int64_t w, Arena& arena) {
  const Attended out{arena.take(columns), arena.take(columns), arena.take(columns * w)};
  for (int64_t c = 0; c < columns; ++c) out.top[c] = LEAST;
  std::memset(out.sum, 0, size_t(columns) * sizeof(float));
  std::memset(out.mean, 0, size_t(columns * w) * sizeof(float));
  return out;
}

// Takes in samples [count, W]; scores [count, columns] is scratch.
void attend(const float* q, int64_t columns, const float* samples, int64_t count, int64_t w,
            const Attended& a, float* scores) {
  product(count, columns, w, samples, w, q, columns, scores, columns);
  for (int64_t c = 0; c < columns; c += LANES) {
    const Vec before = load(a.top + c);
    Vec top = before;
    for (int64_t i = 0; i < count; ++i) top = larger(top, load(scores + i * columns + c));
    Vec sums{};
    for (int64_t i = 0; i < count; ++i) {
      const Vec e = exp(load(scores + i * columns + c) - top);
      store(scores + i * columns + c, e);
      sums += e;
    }
    const Vec shrink = exp(before - top);
    store(a.top + c, top);
    store(a.sum + c, load(a.sum + c) * shrink + sums);
    for (int lane = 0; lane < LANES; ++lane) {
      if (shrink[lane] == 1.0f) continue;
      float* mean = a.mean + (c + lane) * w;
      for (int64_t k = 0; k < w; k += LANES) store(mean + k, load(mean + k) * shrink[lane]);
    }
  }
  product_transposed(columns, w, count, scores, columns, samples, w, a.mean, w, Start::ADD);
}

// Takes in what another task has attended to.
void merge(const Attended& a, const Attended& b, int64_t columns, int64_t w) {
  for (int64_t c = 0; c < columns; ++c) {
    const float top = std::fmax(a.top[c], b.top[c]);
    const float of_a = std::exp(a.top[c] - top), of_b = std::exp(b.top[c] - top);
    a.top[c] = top;
    a.sum[c] = a.sum[c] * of_a + b.sum[c] * of_b;
    float *to = a.mean + c * w, *from = b.mean + c * w;
    for (int64_t k = 0; k < w; k += LANES)
      store(to + k, load(to + k) * of_a + load(from + k) * of_b);
  }
}

// The same of another set of columns.
Attended shifted(const Attended& a, int64_t columns, int64_t w) {
  return {a.top + columns, a.sum + columns, a.mean + columns * w};
}

// Adds what tokens [sets, rows, W] have attended to.
void add_attended(const AttentionWeights& weights, const Attended& a, int64_t sets, int64_t rows,
                  const Columns& columns, float* tokens, Arena& arena) {
  const int64_t mark = arena.mark(), w = weights.norm.size;
  float* v = arena.take(sets * rows * w);
  for (int64_t head = 0; head < columns.heads; ++head)
    for (int64_t set = 0; set < sets; ++set) {
      const int64_t begin = set * columns.all + head * columns.tokens;
      for (int64_t c = begin; c < begin + rows; ++c) {
        const float share = 1 / a.sum[c];
        for (int64_t k = 0; k < w; k += LANES)
          store(a.mean + c * w + k, load(a.mean + c * w + k) * share);
      }
      product(rows, w, w, a.mean + begin * w, w, weights.out.weight + head * w * w, w,
              v + set * rows * w, w, head ? Start::ADD : Start::BIAS, weights.out.bias);
    }
  for (int64_t i = 0; i < sets * rows * w; i += LANES)
    store(tokens + i, load(tokens + i) + load(v + i));
  arena.back_to(mark);
}

// Attention of tokens [sets, rows, W], queried by others like them, to n samples a set. Samples are
// made where they are wanted: fill(set, from, count, to [count, W]).
template <class Fill>
void read_samples(const AttentionWeights& weights, const float* queried, int64_t sets,
                  int64_t rows, int64_t n, float* tokens, const Crew& crew, Arena& arena,
                  Fill fill) {
  const int64_t mark = arena.mark(), w = weights.norm.size;
  const Columns layout = columns_of(weights, rows);
  const int64_t columns = layout.all;
  const float* q = queries(weights, queried, sets, rows, layout, arena);
  const int64_t groups = (n + GROUP - 1) / GROUP;
  const Attended all = none_attended(sets * columns, w, arena);
  const Attended others = none_attended(sets * (groups - 1) * columns, w, arena);
  const auto part = [&](int64_t set, int64_t group) {
    return group ? shifted(others, (set * (groups - 1) + group - 1) * columns, w)
                 : shifted(all, set * columns, w);
  };
  for_each(crew, sets * groups, [&](int64_t task, Arena& scratch) {
    const int64_t set = task / groups, group = task % groups;
    float *samples = scratch.take(CHUNK * w), *scores = scratch.take(CHUNK * columns);
    const int64_t begin = group * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      attend(q + set * w * columns, columns, fill(set, from, count, samples), count, w,
             part(set, group), scores);
    }
  });
  for (int64_t set = 0; set < sets; ++set)
    for (int64_t group = 1; group < groups; ++group)
      merge(part(set, 0), part(set, group), columns, w);
  add_attended(weights, all, sets, rows, layout, tokens, arena);
  arena.back_to(mark);
}

// `Reading` of samples [sets, n, W] that are there.
void read(const LayerWeights& layer, int64_t sets, int64_t rows, float* tokens,
          const float* samples, int64_t n, const Crew& crew, Arena& arena) {
  const int64_t w = layer.attention.norm.size;
  read_samples(layer.attention, tokens, sets, rows, n, tokens, crew, arena,
               [&](int64_t set, int64_t from, int64_t, float*) {
                 return samples + (set * n + from) * w;
               });
  add_mlp(layer.mlp, sets * rows, tokens, arena);
}

void self_attention(const LayerWeights& layer, int64_t sets, int64_t rows, float* tokens,
                    const Crew& crew, Arena& arena) {
  const int64_t mark = arena.mark();
  float* samples = arena.take(sets * rows * layer.norm.size);
  normalised(layer.norm, tokens, sets * rows, samples);
  read(layer, sets, rows, tokens, samples, rows, crew, arena);
  arena.back_to(mark);
}

// The facts that condition the tokens: [W].
void condition(const Model& model, const Sample& s, const float* z, float* out, Arena& arena) {
  const int64_t mark = arena.mark(), d = s.inputs, dim = s.dim;
  const float n = float(s.n);
  float* fact = arena.take(4 * dim + 1 + d * d);
  float* at = fact;
  *at++ = std::log(n) / 4 - 1.5f;
  for (int k = 0; k < dim; ++k) *at++ = std::tanh(z[k]);
  for (int k = 0; k < dim; ++k) *at++ = z[k] / 3;
  for (int k = 0; k < 2 * dim; ++k) *at++ = s.used[k];
  // How the sides move together, their norms included.
  float *mean_x = arena.take(d), *mean_y = arena.take(d);
  const auto is_used = [&](int side, int64_t k) {  // a row that is not is zero throughout
    return k == dim || s.used[side * dim + (k < dim ? k : k - dim - 1)] > 0;
  };
  for (int64_t k = 0; k < d; ++k) {
    mean_x[k] = total(s.x + k * s.ld, s.n) / n;
    mean_y[k] = total(s.y + k * s.ld, s.n) / n;
  }
  for (int64_t i = 0; i < d; ++i)
    for (int64_t j = 0; j < d; ++j) {
      if (!is_used(0, i) || !is_used(1, j)) {
        *at++ = 0;
        continue;
      }
      const float v = dot(s.x + i * s.ld, s.y + j * s.ld, s.n) / n - mean_x[i] * mean_y[j];
      *at++ = std::fmin(std::fmax(v, -3.0f), 3.0f);
    }
  const int64_t w = model.config.width;
  float* hidden = arena.take(w);
  linear_row(model.condition_first, fact, hidden);
  for (int64_t k = 0; k < w; k += LANES) store(hidden + k, gelu(load(hidden + k)));
  linear_row(model.condition_second, hidden, out);
  arena.back_to(mark);
}

// Samples embedded by one layer, from rows [inputs, ld] that hold samples as columns: [count, W].
void embed(const Linear& layer, const float* rows, int64_t ld, int64_t from, int64_t count,
           float* to) {
  const int64_t w = layer.outputs;
  product_transposed(count, w, layer.inputs, rows + from, ld, layer.weight, w, to, w, Start::BIAS,
                     layer.bias);
  for (int64_t i = 0; i < count * w; i += LANES) store(to + i, gelu(load(to + i)));
}

// Paired samples, embedded: out [n, W].
void pairs_embedded(const Model& model, const Sample& s, const float* z, const Crew& crew,
                    float* out, Arena& arena) {
  const int64_t w = model.config.width, d = s.inputs, ld = s.ld, mark = arena.mark();
  float* t0 = arena.take(ld);
  anchor(s, z, 1, t0, arena);
  for (int64_t i = 0; i < s.n; i += LANES) store(t0 + i, tanh(load(t0 + i) * 0.125f));
  const Linear& layer = model.pair_embedding;
  for_each(crew, (s.n + GROUP - 1) / GROUP, [&](int64_t group, Arena& scratch) {
    float* own = scratch.take((s.dim + 1) * CHUNK);
    const int64_t begin = group * GROUP, end = begin + GROUP < s.n ? begin + GROUP : s.n;
    for (int64_t from = begin; from < end; from += CHUNK) {
      const int64_t count = end - from < CHUNK ? end - from : CHUNK;
      for (int k = 0; k < s.dim; ++k)
        for (int64_t i = 0; i < count; i += LANES)
          store(own + k * CHUNK + i,
                load(s.x + k * ld + from + i) * load(s.y + k * ld + from + i));
      for (int64_t i = 0; i < count; i += LANES)
        store(own + s.dim * CHUNK + i, load(t0 + from + i));
      float* to = out + from * w;
      product_transposed(count, w, d, s.x + from, ld, layer.weight, w, to, w, Start::BIAS,
                         layer.bias);
      product_transposed(count, w, d, s.y + from, ld, layer.weight + d * w, w, to, w, Start::ADD);
      product_transposed(count, w, s.dim + 1, own, CHUNK, layer.weight + 2 * d * w, w, to, w,
                         Start::ADD);
      for (int64_t i = 0; i < count * w; i += LANES) store(to + i, gelu(load(to + i)));
    }
  });
  arena.back_to(mark);
}

void add_row(const float* tokens, const float* row, int64_t rows, int64_t w, float* to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = 0; k < w; k += LANES)
      store(to + i * w + k, load(tokens + i * w + k) + load(row + k));
}

// The fused unit tokens: [sets, units, W], from conditions [sets, W] and pairs [sets, n, W].
const float* fused_tokens(const Model& model, const Sample* samples, int64_t sets,
                          const float* conditions, const float* pairs, const Crew& crew,
                          Arena& arena) {
  const Config& c = model.config;
  const int64_t w = c.width, n = samples[0].n, units = c.units, latents = c.joint_latents;
  const auto conditioned = [&](const float* tokens, int64_t rows) {
    float* out = arena.take(sets * rows * w);
    for (int64_t set = 0; set < sets; ++set)
      add_row(tokens, conditions + set * w, rows, w, out + set * rows * w);
    return out;
  };
  // joint path
  float* joint = conditioned(model.q_joint, latents);
  read(model.joint_reading, sets, latents, joint, pairs, n, crew, arena);
  for (const LayerWeights& layer : model.joint_layers)
    self_attention(layer, sets, latents, joint, crew, arena);
  // marginal path: queries that speak of x attend to y, and the other way round
  const float *q_x = conditioned(model.q_x_to_y, units), *q_y = conditioned(model.q_y_to_x, units);
  float* tokens = arena.take(sets * units * w);
  std::memcpy(tokens, q_x, size_t(sets * units * w) * sizeof(float));
  read_samples(model.attend_y, q_x, sets, units, n, tokens, crew, arena,
               [&](int64_t set, int64_t from, int64_t count, float* to) {
                 embed(model.f_y, samples[set].y, samples[set].ld, from, count, to);
                 return static_cast<const float*>(to);
               });
  read_samples(model.attend_x, q_y, sets, units, n, tokens, crew, arena,
               [&](int64_t set, int64_t from, int64_t count, float* to) {
                 embed(model.f_x, samples[set].x, samples[set].ld, from, count, to);
                 return static_cast<const float*>(to);
               });
  for (const LayerWeights& layer : model.marginal_layers)
    self_attention(layer, sets, units, tokens, crew, arena);
  // fusion, and the pairs once more
  normalised(model.fusion_norm, joint, sets * latents, joint);
  read(model.fusion, sets, units, tokens, joint, latents, crew, arena);
  for (size_t i = 0; i < model.readings.size(); ++i) {
    read(model.readings[i], sets, units, tokens, pairs, n, crew, arena);
    self_attention(model.layers[i], sets, units, tokens, crew, arena);
  }
  return tokens;
}

// Rows of all layers, [rows, unit slots], in the order of `Generated`.
float* generated(const Model& model, const float* tokens, Arena& arena) {
  const Generation& g = model.generation;
  const int64_t w = g.norm.size, us = g.unit_slots;
  float* out = arena.take(int64_t(g.at.rows) * us + 16);
  const int64_t mark = arena.mark();
  float *v = arena.take(g.units * w), *flipped = arena.take(w * us);
  normalised(g.norm, tokens, g.units, v);
  std::memset(flipped, 0, size_t(w * us) * sizeof(float));
  transpose(g.units, w, v, w, flipped, us);
  std::memcpy(out, g.base, size_t(g.at.rows) * size_t(us) * sizeof(float));
  product_transposed(g.at.rows, us, w, g.write, g.at.rows, flipped, us, out, us, Start::ADD);
  arena.back_to(mark);
  return out;
}

float clamped(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

// Log-scales of the metrics from what the tokens write: [metrics, 2, dim].
const float* metrics(const Model& model, const Sample& s, const float* written, Arena& arena) {
  const Config& c = model.config;
  const int each = 2 * c.dim;
  float* metric = arena.take(c.metrics * each);
  for (int m = 0; m < c.metrics; ++m) {
    float sharpest = -4;
    float* own = metric + m * each;
    for (int k = 0; k < each; ++k) {
      own[k] = clamped(written[m * (each + c.widths) + k], -4, 3);
      if (s.used[k] > 0.5f) sharpest = std::fmax(sharpest, own[k]);
    }
    if (c.shared)  // in units of the sharpest direction in use
      for (int k = 0; k < each; ++k) own[k] = std::fmax(own[k] - sharpest, -3.0f);
  }
  return metric;
}

// The critic that tokens [units, W] write; z [dim] is the sample's own, and becomes the critic's.
Theta written(const Model& model, const Sample& s, const float* tokens, float* z, Arena& arena) {
  const Config& c = model.config;
  const Generation& g = model.generation;
  const int64_t w = c.width;
  const float n = float(s.n);
  Theta theta;
  float* rows = generated(model, tokens, arena);
  const auto part = [&](int row) { return rows + int64_t(row) * g.unit_slots; };
  theta.x1 = part(g.at.x1);
  theta.y1 = part(g.at.y1);
  theta.x2 = part(g.at.x2);
  theta.y2 = part(g.at.y2);
  theta.x3 = part(g.at.x3);
  theta.y3 = part(g.at.y3);
  theta.bias = part(g.at.bias);
  theta.mix = part(g.at.mix);

  float *mean = arena.take(w), *shrinkage = arena.take(c.dim);
  for (int64_t k = 0; k < w; ++k) {
    float sum = 0;
    for (int64_t u = 0; u < c.units; ++u) sum += tokens[u * w + k];
    mean[k] = sum / float(c.units);
  }
  linear_row(model.shrinkage, mean, shrinkage);
  for (int k = 0; k < c.dim; ++k) z[k] *= 1.05f / (1 + std::exp(-shrinkage[k]));
  cap(z, c.dim, s.n);
  theta.z = z;

  // Gaussian priors on the coefficients of standardised features.
  const int64_t stride = round_up(std::max(model.used_slots, g.slots), 16);
  float* ridge = arena.take(stride);
  for (int64_t f = 0; f < stride; ++f) ridge[f] = 1;  // of slots without a feature
  const float floor = float(c.ridge_floor);
  for (const int slot : model.feature_slots)
    ridge[slot] = floor + float(c.features) / n * std::exp(clamped(part(g.at.ridge)[slot], -8, 8));
  theta.metric = nullptr;
  if (c.metrics) {
    float* written = arena.take(model.kernels.outputs);
    linear_row(model.kernels, mean, written);
    theta.metric = metrics(model, s, written, arena);
    for (int k = 0; k < c.kernels(); ++k) {
      const int m = k / c.widths;
      const float own = written[m * (2 * c.dim + c.widths) + 2 * c.dim + k % c.widths];
      ridge[model.kernel_slots[size_t(k)]] =
          floor + std::exp(clamped(own, -8, 8)) / std::sqrt(n);
    }
  }
  theta.ridge = ridge;
  float* rate = part(g.at.rate);
  for (int64_t i = 0; i < int64_t(c.refinements) * LAYERS * g.slots; ++i)
    rate[i] = 0.03f * std::exp(clamped(rate[i], -8, 3));
  theta.rate = rate;
  return theta;
}

}  // namespace

void hypernetwork(const Model& model, const Sample* samples, int64_t count, const Crew& crew,
                  Theta* out, Arena& arena) {
  const int64_t w = model.config.width, dim = model.config.dim, n = samples[0].n;
  float *z = arena.take(count * dim), *capped = arena.take(dim);
  float *conditions = arena.take(count * w), *pairs = arena.take(count * n * w);
  for (int64_t k = 0; k < count; ++k) {
    fisher_z(samples[k], z + k * dim);
    condition(model, samples[k], z + k * dim, conditions + k * w, arena);
    std::memcpy(capped, z + k * dim, size_t(dim) * sizeof(float));
    cap(capped, int(dim), n);
    pairs_embedded(model, samples[k], capped, crew, pairs + k * n * w, arena);
  }
  const float* tokens = fused_tokens(model, samples, count, conditions, pairs, crew, arena);
  for (int64_t k = 0; k < count; ++k)
    out[k] = written(model, samples[k], tokens + k * model.config.units * w, z + k * dim, arena);
}

}  // namespace infoatlas::INFOATLAS_TARGET
