#include "hypernetwork.h"

#include <cmath>

#include "attention.h"
#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr int LAYERS = 8;  // of refinement.py

// One row through a linear layer of any size.
void linear_row(const Linear& layer, const float* from, float* to) {
  for (int o = 0; o < layer.outputs; ++o) to[o] = layer.bias[o];
  for (int i = 0; i < layer.inputs; ++i) {
    const float v = from[i];
    const float* row = layer.weight + int64_t(i) * layer.outputs;
    for (int o = 0; o < layer.outputs; ++o) to[o] += v * row[o];
  }
}

// Statistics of the sample that condition the tokens: [W].
void condition(const Model& model, const Sample& s, const float* z, float* out, Arena& arena) {
  const int64_t mark = arena.mark(), d = s.inputs, dim = s.dim;
  const float n = float(s.n);
  float* fact = arena.take(4 * dim + 1 + d * d);
  float* at = fact;
  *at++ = std::log(n) / 4 - 1.5f;
  for (int k = 0; k < dim; ++k) *at++ = std::tanh(z[k]);
  for (int k = 0; k < dim; ++k) *at++ = z[k] / 3;
  for (int k = 0; k < 2 * dim; ++k) *at++ = s.used[k];
  // Covariances between the sides, including their norms.
  float *mean_x = arena.take(d), *mean_y = arena.take(d);
  const auto is_used = [&](int side, int64_t k) {  // other rows are zero for all samples
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

// A layer on the samples of a side, columns to columns: [W, ld] from [inputs, ld].
void embed(const Linear& layer, const float* rows, int64_t n, int64_t ld, const Crew& crew,
           float* out) {
  const int64_t w = layer.outputs;
  for_each(crew, (n + GROUP - 1) / GROUP, [&](int64_t group, Arena&) {
    const int64_t begin = group * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    const int64_t count = round_up(end - begin, LANES);
    product_transposed(w, count, layer.inputs, layer.weight, w, rows + begin, ld, out + begin, ld,
                       Start::ROW_BIAS, layer.bias);
    for (int64_t k = 0; k < w; ++k)
      for (int64_t i = begin; i < begin + count; i += LANES)
        store(out + k * ld + i, gelu(load(out + k * ld + i)));
  });
}

// Paired samples, embedded: out [W, ld].
void embed_pairs(const Model& model, const Sample& s, const float* z, const Crew& crew, float* out,
                 Arena& arena) {
  const int64_t mark = arena.mark(), d = s.inputs, ld = s.ld;
  const Linear& layer = model.pair_embedding;
  float* both = arena.take(layer.inputs * ld);  // x, y, products, anchor
  std::memcpy(both, s.x, size_t(d * ld) * sizeof(float));
  std::memcpy(both + d * ld, s.y, size_t(d * ld) * sizeof(float));
  float* products = both + 2 * d * ld;
  for (int64_t i = 0; i < s.dim * ld; i += LANES)
    store(products + i, load(s.x + i) * load(s.y + i));
  float* t0 = products + s.dim * ld;
  anchor(s, z, 1, t0, arena);
  for (int64_t i = 0; i < s.n; i += LANES) store(t0 + i, tanh(load(t0 + i) * 0.125f));
  embed(layer, both, s.n, ld, crew, out);
  arena.back_to(mark);
}

// Samples of all sets, each embedded by one(set, where): [sets, W, ld].
template <class One>
Samples embedded(const Model& model, const Sample* samples, int64_t sets, Arena& arena, One one) {
  const int64_t size = model.config.width * samples[0].ld;
  float* out = arena.take(sets * size);
  for (int64_t set = 0; set < sets; ++set) one(set, out + set * size);
  return {out, samples[0].ld, size, samples[0].n};
}

// Tokens [W, slots] plus the condition [W] of each set.
Tokens conditioned(const float* tokens, int64_t count, const float* conditions, int64_t sets,
                   int64_t w, Arena& arena) {
  const Tokens out = take_tokens(sets, count, w, arena);
  for (int64_t k = 0; k < w; ++k)
    for (int64_t set = 0; set < sets; ++set)
      for (int64_t u = 0; u < out.slots; u += LANES)
        store(out.at + (k * sets + set) * out.slots + u,
              load(tokens + k * out.slots + u) + conditions[set * w + k]);
  return out;
}

// The fused unit tokens, from conditions [sets, W] and paired samples.
Tokens fused_tokens(const Model& model, const Sample* samples, int64_t sets,
                    const float* conditions, const Samples& pairs, const Crew& crew,
                    Arena& arena) {
  const Config& c = model.config;
  const int64_t w = c.width;
  // joint path
  const Tokens joint = conditioned(model.q_joint, c.joint_latents, conditions, sets, w, arena);
  read(model.joint_reading, pairs, joint, crew, arena);
  for (const LayerWeights& layer : model.joint_layers) self_attention(layer, joint, crew, arena);
  // marginal path: queries about x attend to y, and vice versa
  const Tokens q_x = conditioned(model.q_x_to_y, c.units, conditions, sets, w, arena);
  const Tokens q_y = conditioned(model.q_y_to_x, c.units, conditions, sets, w, arena);
  const Tokens tokens = take_tokens(sets, c.units, w, arena);
  std::memcpy(tokens.at, q_x.at, size_t(w * tokens.columns()) * sizeof(float));
  const int64_t mark = arena.mark();
  const Samples y = embedded(model, samples, sets, arena, [&](int64_t set, float* to) {
    embed(model.f_y, samples[set].y, samples[set].n, samples[set].ld, crew, to);
  });
  attend(model.attend_y, q_x.at, y, tokens, crew, arena);
  const Samples x = embedded(model, samples, sets, arena, [&](int64_t set, float* to) {
    embed(model.f_x, samples[set].x, samples[set].n, samples[set].ld, crew, to);
  });
  attend(model.attend_x, q_y.at, x, tokens, crew, arena);
  arena.back_to(mark);
  for (const LayerWeights& layer : model.marginal_layers)
    self_attention(layer, tokens, crew, arena);
  // fusion, and attention to the pairs again
  normalised(model.fusion_norm, joint.at, joint.columns(), joint.at);
  read(model.fusion, {joint.at, joint.columns(), joint.slots, joint.count}, tokens, crew, arena);
  for (size_t i = 0; i < model.readings.size(); ++i) {
    read(model.readings[i], pairs, tokens, crew, arena);
    self_attention(model.layers[i], tokens, crew, arena);
  }
  return tokens;
}

// Rows of all layers, [rows, unit slots], in the order of `Generated`, from normalised tokens [W,
// ld] of one set.
float* generated(const Generation& g, float* tokens, int64_t ld, Arena& arena) {
  const int64_t us = g.unit_slots;
  float* out = arena.take(int64_t(g.at.rows) * us + 16);
  for (int64_t k = 0; k < g.norm.size; ++k)
    for (int64_t u = g.units; u < us; ++u) tokens[k * ld + u] = 0;
  std::memcpy(out, g.base, size_t(g.at.rows) * size_t(us) * sizeof(float));
  product_transposed(g.at.rows, us, g.norm.size, g.write, g.at.rows, tokens, ld, out, us,
                     Start::ADD);
  return out;
}

float clamped(float v, float low, float high) { return v < low ? low : v > high ? high : v; }

// Log-scales of the metrics from the outputs of the tokens: [metrics, 2, dim].
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

// The critic generated from tokens [W, ld] of one set, which are given plain and normalised; z
// [dim] is that of the sample, and becomes that of the critic.
Theta written(const Model& model, const Sample& s, const float* tokens, float* normal, int64_t ld,
              float* z, Arena& arena) {
  const Config& c = model.config;
  const Generation& g = model.generation;
  const int64_t w = c.width;
  const float n = float(s.n);
  Theta theta;
  float* rows = generated(g, normal, ld, arena);
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
    for (int64_t u = 0; u < c.units; ++u) sum += tokens[k * ld + u];
    mean[k] = sum / float(c.units);
  }
  linear_row(model.shrinkage, mean, shrinkage);
  for (int k = 0; k < c.dim; ++k) z[k] *= 1.05f / (1 + std::exp(-shrinkage[k]));
  cap(z, c.dim, s.n);
  theta.z = z;

  // Gaussian priors on the coefficients of standardised features.
  const int64_t stride = round_up(std::max(model.used_slots, g.slots), 16);
  float* ridge = arena.take(stride);
  for (int64_t f = 0; f < stride; ++f) ridge[f] = 1;  // for slots without a feature
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
  const int64_t w = model.config.width, dim = model.config.dim;
  float *z = arena.take(count * dim), *capped = arena.take(dim);
  float* conditions = arena.take(count * w);
  for (int64_t k = 0; k < count; ++k) {
    fisher_z(samples[k], z + k * dim);
    condition(model, samples[k], z + k * dim, conditions + k * w, arena);
  }
  const Samples pairs = embedded(model, samples, count, arena, [&](int64_t k, float* to) {
    std::memcpy(capped, z + k * dim, size_t(dim) * sizeof(float));
    cap(capped, int(dim), samples[k].n);
    embed_pairs(model, samples[k], capped, crew, to, arena);
  });
  const Tokens tokens = fused_tokens(model, samples, count, conditions, pairs, crew, arena);
  float* normal = arena.take(w * tokens.columns());
  normalised(model.generation.norm, tokens.at, tokens.columns(), normal);
  for (int64_t k = 0; k < count; ++k)
    out[k] = written(model, samples[k], tokens.at + k * tokens.slots, normal + k * tokens.slots,
                     tokens.columns(), z + k * dim, arena);
}

}  // namespace infoatlas::INFOATLAS_TARGET
