#include "bias_correction.h"

#include <cmath>
#include <utility>

#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr float FALL = 0.7f;  // decrease of log-scales from one direction to the next
constexpr int LAGS[] = {1, 3, 9, 27, 81, 243};
constexpr int LAG_COUNT = 6, LOCAL = 2, HEADS = 4, UNITS = 128;
constexpr float BOUND = 4;  // standard deviations of the features in the fit, at most
constexpr float TRUSTED = 0.3f;  // nats of a prediction that are used without support
constexpr float FEW = 200;  // n at which the share is halfway between 1 and that of large samples
constexpr int LOG_N = 3;    // index among the diagnostics
constexpr int CELLS = 8;    // of a coordinate; also used with half as many
// Quantiles of the normal distribution, shifted slightly at zero.
constexpr float EDGES[CELLS - 1] = {-1.1493494f, -0.6734898f, -0.3176394f, 0.001f,
                                    0.3196394f,  0.6754898f,  1.1513494f};

float mean_of(const float* v, int64_t n) { return total(v, n) / float(n); }

// Standard deviation.
float deviation(const float* v, int64_t n) {
  const float mean = mean_of(v, n);
  const float variance = sum_over(n, [&](int64_t i) INFOATLAS_LAMBDA {
    const Vec d = load(v + i) - mean;
    return d * d;
  }) / float(n);
  return std::sqrt(std::fmax(variance, 1e-12f));
}

// The estimate of the anchor, the sizes of the sample, and the spread of the ratios: 10 values.
float* ratios(const Sample& s, const Values& t, const Values& anchor, float log_z, float* to) {
  float anchor_log_z;
  *to++ = donsker_varadhan(s, anchor, &anchor_log_z);
  *to++ = anchor_log_z;
  *to++ = std::log(float(s.n));
  *to++ = std::log(float(s.m));
  for (int side = 0; side < 2; ++side) {
    int there = 0;
    for (int k = 0; k < s.dim; ++k) there += s.used[side * s.dim + k] > 0.5f;
    *to++ = float(there);
  }
  *to++ = deviation(t.joint, s.n);
  *to++ = deviation(anchor.joint, s.n);
  for (const float width : {1.0f, 3.0f}) {
    double sums = 0;
    for (int64_t j = 0; j < s.m; ++j)
      sums += double(sum_over(s.n, [&](int64_t i) INFOATLAS_LAMBDA {
        return tanh((load(t.product + j * s.ld + i) - log_z) * (1 / width));
      }));
    *to++ = float(sums / double(s.m * s.n));
  }
  return to;
}

// Columns of mean 0 and variance 1 (0 if constant): inputs of a side and the squares, [3 dim + 1,
// ld]. The weight of the tails is returned.
float unit_columns(const Sample& s, const float* side, float* out) {
  const int64_t columns = 3 * s.dim + 1;
  float fourth = 0, second = 0;
  for (int64_t k = 0; k < columns; ++k) {
    const float* from = side + (k < s.inputs ? k : k - s.inputs) * s.ld;
    float* to = out + k * s.ld;
    for (int64_t i = 0; i < s.n; i += LANES) {
      const Vec v = load(from + i);
      store(to + i, k < s.inputs ? v : v * v);
    }
    if (k >= s.inputs) {
      second += total(to, s.n);
      fourth += dot(to, to, s.n);
    }
    const float mean = mean_of(to, s.n);
    const float variance = sum_over(s.n, [&](int64_t i) INFOATLAS_LAMBDA {
      const Vec d = load(to + i) - mean;
      return d * d;
    }) / float(s.n);
    const float scale = 1 / std::sqrt(variance + 1e-3f);
    for (int64_t i = 0; i < s.n; i += LANES)
      store(to + i, first((load(to + i) - mean) * scale, s.n - i));
  }
  return std::log(std::fmax(fourth, 1.0f) / std::fmax(second, 1.0f));
}

// Correlations of norms and squares of the sides, and the weight of the tails: 9 values.
float* moments(const Sample& s, float* to, Arena& arena) {
  const int64_t mark = arena.mark(), d = s.dim, columns = 3 * d + 1;
  float *x = arena.take(columns * s.ld), *y = arena.take(columns * s.ld);
  const float tail_x = unit_columns(s, s.x, x), tail_y = unit_columns(s, s.y, y);
  const auto is_used = [&](int side, int64_t k) {  // other columns are zero for all samples
    return k == d || s.used[side * d + (k < d ? k : (k - d - 1) % d)] > 0;
  };
  enum { OWN, NORM, PRODUCT, SQUARE };
  const auto block_of = [&](int64_t k) {
    return k < d ? OWN : k == d ? NORM : k < s.inputs ? PRODUCT : SQUARE;
  };
  constexpr bool WANTED[4][4] = {
      {false, true, true, false}, {true, true, false, false}, {true, false, true, false},
      {false, false, false, true}};
  float blocks[4][4] = {};
  for (int64_t i = 0; i < columns; ++i) {
    if (!is_used(0, i)) continue;
    for (int64_t j = 0; j < columns; ++j) {
      if (!WANTED[block_of(i)][block_of(j)] || !is_used(1, j)) continue;
      const float together = dot(x + i * s.ld, y + j * s.ld, s.n) / float(s.n);
      blocks[block_of(i)][block_of(j)] += together * together;
    }
  }
  for (const auto& [a, b] : {std::pair{NORM, NORM}, {OWN, NORM}, {NORM, OWN}, {PRODUCT, PRODUCT},
                            {OWN, PRODUCT}, {PRODUCT, OWN}, {SQUARE, SQUARE}})
    *to++ = blocks[a][b];
  *to++ = tail_x;
  *to++ = tail_y;
  arena.back_to(mark);
  return to;
}

// Autocorrelations of a side at each lag, in order of time.
void autocorrelations(const Sample& s, const float* side, const int64_t* sequence, float* to,
                      Arena& arena) {
  const int64_t mark = arena.mark(), n = s.n;
  float* v = arena.take(n + 16);
  float products[LAG_COUNT] = {}, all = 0;
  for (int k = 0; k < s.dim; ++k) {
    const float* from = side + k * s.ld;
    for (int64_t i = 0; i < n; ++i) v[i] = from[sequence[i]];
    const float mean = mean_of(v, n);
    for (int64_t i = 0; i < n; i += LANES) store(v + i, load(v + i) - mean);
    all += dot(v, v, n);
    for (int lag = 0; lag < LAG_COUNT; ++lag)
      if (LAGS[lag] < n) products[lag] += dot(v, v + LAGS[lag], n - LAGS[lag]);
  }
  for (int lag = 0; lag < LAG_COUNT; ++lag) to[lag] = products[lag] / std::fmax(all, 1e-6f);
  arena.back_to(mark);
}

float* persistence(const Sample& s, const int64_t* sequence, float* to, Arena& arena) {
  autocorrelations(s, s.x, sequence, to, arena);
  autocorrelations(s, s.y, sequence, to + LAG_COUNT, arena);
  float worth = 0;  // sum over lags; each represents those nearest to it
  for (int lag = 0; lag < LAG_COUNT; ++lag)
    worth += 4.0f / 3 * float(LAGS[lag]) * std::fmax(to[lag] * to[LAG_COUNT + lag], 0.0f);
  to[2 * LAG_COUNT] = -std::log(1 + 2 * worth);
  return to + 2 * LAG_COUNT + 1;
}

// For each sample and width: log-ratio, number of neighbours, and missing information.
void neighbours(const Sample& s, const Counts& near, const float* local, float* terms) {
  for (int width = 0; width < COUNTED; ++width) {
    const int64_t at = width * s.ld;
    float* to = terms + 3 * at;
    for (int64_t i = 0; i < s.n; i += LANES) {
      const Vec both = load(near.both + at + i);
      const Vec ratio =
          log_ratio(both, load(near.x + at + i), load(near.y + at + i), near.context);
      store(to + i, ratio);
      store(to + s.ld + i, log(both + 1.0f));
      store(to + 2 * s.ld + i, both / (both + 1.0f) * (ratio - load(local + i)));
    }
  }
}

// Mutual information of two discrete variables from counts [cells, cells], corrected for bias.
double table_information(const double* table, int cells, double n) {
  double of_x[CELLS] = {}, of_y[CELLS] = {}, mi = 0;
  for (int a = 0; a < cells; ++a)
    for (int b = 0; b < cells; ++b) {
      of_x[a] += table[a * cells + b];
      of_y[b] += table[a * cells + b];
    }
  int used_x = -1, used_y = -1;
  for (int a = 0; a < cells; ++a) {
    used_x += of_x[a] > 0;
    used_y += of_y[a] > 0;
    for (int b = 0; b < cells; ++b) {
      const double both = table[a * cells + b];
      if (both > 0) mi += both / n * std::log(both * n / (of_x[a] * of_y[b]));
    }
  }
  return mi - used_x * used_y / (2 * n);
}

// Sums of the information of pairs of coordinates, in 4 and in 8 cells: 2 values.
float* pair_information(const Sample& s, float* to, Arena& arena) {
  const int64_t mark = arena.mark();
  float* cell = arena.take(2 * s.ld);
  double half = 0, full = 0;
  for (int k = 0; k < s.dim; ++k) {
    if (!(s.used[k] > 0) || !(s.used[s.dim + k] > 0)) continue;
    for (int side = 0; side < 2; ++side) {
      const float* from = (side ? s.y : s.x) + k * s.ld;
      for (int64_t i = 0; i < s.n; i += LANES) {
        const Vec v = load(from + i);
        Vec above{};
        for (const float edge : EDGES) above += v > all(edge) ? all(1) : Vec{};
        store(cell + side * s.ld + i, above);
      }
    }
    double table[CELLS * CELLS] = {}, halved[CELLS * CELLS / 4] = {};
    for (int64_t i = 0; i < s.n; ++i) {
      const int a = int(cell[i]), b = int(cell[s.ld + i]);
      table[a * CELLS + b] += 1;
      halved[a / 2 * (CELLS / 2) + b / 2] += 1;
    }
    half += table_information(halved, CELLS / 2, double(s.n));
    full += table_information(table, CELLS, double(s.n));
  }
  *to++ = float(half);
  *to++ = float(full);
  arena.back_to(mark);
  return to;
}

// First layer of all heads, before and after its activation, and second layer before its activation
// (`between`): each [count, HEADS UNITS].
void hidden(const HeadsWeights& h, int64_t count, const float* z, int64_t z_ld, float* before,
            float* after, float* between) {
  const int64_t all = HEADS * UNITS;
  if (count == 1) {
    row_product(all, h.first.inputs, z, h.first.weight, all, before, h.first.bias);
  } else {
    product(count, all, h.first.inputs, z, z_ld, h.first.weight, all, before, all, Start::BIAS,
            h.first.bias);
  }
  for (int64_t i = 0; i < count * all; i += LANES) store(after + i, gelu(load(before + i)));
  for (int64_t k = 0; k < HEADS; ++k) {
    const float *from = after + k * UNITS, *weight = h.second + k * UNITS * UNITS;
    float* to = between + k * UNITS;
    if (count == 1) {
      row_product(UNITS, UNITS, from, weight, UNITS, to, h.bias + k * UNITS);
    } else {
      product(count, UNITS, UNITS, from, all, weight, UNITS, to, all, Start::BIAS,
              h.bias + k * UNITS);
    }
  }
}

// The mean of the heads.
float mean_output(const HeadsWeights& h, const float* between) {
  float out = 0;
  for (int64_t k = 0; k < HEADS; ++k)
    out += h.constant[k] + sum_over(UNITS, [&](int64_t i) INFOATLAS_LAMBDA {
             return gelu(load(between + k * UNITS + i)) * load(h.last + k * UNITS + i);
           });
  return out / HEADS;
}

// a' b for a size that is a multiple of 64.
INFOATLAS_INLINE float long_dot(const float* a, const float* b, int64_t size) {
  Vec sums[4] = {};
  for (int64_t i = 0; i < size; i += 4 * LANES)
    for (int k = 0; k < 4; ++k) sums[k] += load(a + i + k * LANES) * load(b + i + k * LANES);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// Derivatives of the mean of the heads with respect to the inputs: [count, ld], from before and
// between. Products are sums along rows of the weights, a row at a time for all datasets.
void slopes_of_mean(const HeadsWeights& h, int64_t count, const float* before,
                    const float* between, float* out, int64_t ld, Arena& arena) {
  const int64_t mark = arena.mark(), all = HEADS * UNITS;
  float *d = arena.take(count * all), *back = arena.take(count * all);
  for (int64_t b = 0; b < count; ++b)
    for (int64_t i = 0; i < all; i += LANES)
      store(d + b * all + i, gelu_slope(load(between + b * all + i)) * load(h.last + i));
  for (int64_t k = 0; k < HEADS; ++k)
    for (int64_t i = 0; i < UNITS; ++i)
      for (int64_t b = 0; b < count; ++b)
        back[b * all + k * UNITS + i] =
            long_dot(h.second + (k * UNITS + i) * UNITS, d + b * all + k * UNITS, UNITS);
  for (int64_t b = 0; b < count; ++b)
    for (int64_t i = 0; i < all; i += LANES)
      store(back + b * all + i,
            load(back + b * all + i) * gelu_slope(load(before + b * all + i)) * (1.0f / HEADS));
  for (int64_t k = 0; k < h.first.inputs; ++k)
    for (int64_t b = 0; b < count; ++b)
      out[b * ld + k] = long_dot(h.first.weight + k * all, back + b * all, all);
  arena.back_to(mark);
}

}  // namespace

int terms_of(const Model& model) {
  return LOCAL + 3 * COUNTED * model.config.gap + (model.config.gap_share > 0);
}

Diagnosed diagnosed(const Model& model, const Sample& s, const Values& t, const Values& anchor,
                    const Counts* counts, const int64_t* sequence, const Crew& crew,
                    Arena& arena) {
  const int metrics = model.config.gap, term_count = terms_of(model);
  const int64_t n = s.n, ld = s.ld;
  const bool second = model.config.gap_share > 0;
  float *diagnostics = arena.take(model.diagnostics), *terms = arena.take(term_count * ld);
  const int64_t mark = arena.mark();
  float *local = arena.take(ld), log_z;
  const float mi = donsker_varadhan(s, t, &log_z);
  for (int64_t i = 0; i < n; i += LANES) {
    const Vec v = load(t.joint + i) - log_z;
    store(local + i, v);
    store(terms + i, tanh(v));
    store(terms + ld + i, tanh(v * (1 / 3.0f)));
  }
  for (int metric = 0; metric < metrics; ++metric) {
    const bool shared = metric == 0 && counts;
    float* distances = second && metric == metrics - 1 ? terms + (term_count - 1) * ld : nullptr;
    const Counts near =
        shared ? *counts : own_counts(s, FALL * float(metric), distances, crew, arena);
    neighbours(s, near, local, terms + (LOCAL + 3 * COUNTED * metric) * ld);
  }
  float* at = diagnostics;
  *at++ = mi;
  at = ratios(s, t, anchor, log_z, at);
  at = moments(s, at, arena);
  at = persistence(s, sequence, at, arena);
  if (second) at = pair_information(s, at, arena);
  for (int k = 0; k < term_count; ++k) *at++ = mean_of(terms + k * ld, n);
  arena.back_to(mark);
  return {diagnostics, terms};
}

void bias_corrections(const Model& model, const Sample& s, const Diagnosed* from, int64_t count,
                      Correction* out, Arena& arena) {
  const int e = model.diagnostics, term_count = terms_of(model);
  const int64_t n = s.n, ld = s.ld, all = HEADS * UNITS, width = round_up(e + 2, 16);
  const float share = model.config.gap_share;
  float* effects = arena.take(count * ld);
  const int64_t mark = arena.mark();
  float *z = arena.take(count * width), *bounded = arena.take(count * width);
  float* slope = arena.take(count * width);
  for (int64_t b = 0; b < count; ++b)
    for (int k = 0; k < e; ++k) {
      const float v = (std::asinh(from[b].diagnostics[k]) - model.mean[k]) * model.scale[k];
      z[b * width + k] = v;
      bounded[b * width + k] = v < -BOUND ? -BOUND : v > BOUND ? BOUND : v;
    }
  float *before = arena.take(count * all), *after = arena.take(count * all);
  float* between = arena.take(count * all);
  hidden(model.missing, count, bounded, width, before, after, between);
  slopes_of_mean(model.missing, count, before, between, slope, width, arena);
  for (int64_t b = 0; b < count; ++b) {
    const float* d = from[b].diagnostics;
    const float predicted = mean_output(model.missing, between + b * all);
    float lost = 0, support = 0;  // shares of the derivatives of the prediction and of its support
    out[b].correction = predicted;
    if (share > 0) {
      const float above = d[e - 1] - d[0];
      const float beyond = predicted - std::fmax(above, 0.0f) - TRUSTED;
      const float kept = share + (1 - share) * FEW / (FEW + std::exp(d[LOG_N]));
      lost = beyond > 0 ? 1 - kept : 0;
      support = above > 0 ? lost : 0;
      out[b].correction = predicted - lost * beyond;
      bounded[b * width + e] = std::asinh(predicted);
      bounded[b * width + e + 1] = std::asinh(predicted - above);
    }
    float* own = slope + b * width;
    for (int k = 0; k < e; ++k) {
      const bool inside = std::fabs(z[b * width + k]) < BOUND;
      own[k] = inside ? (1 - lost) * own[k] * model.scale[k] / std::sqrt(1 + d[k] * d[k]) : 0;
    }
    own[0] -= support;
    own[e - 1] += support;
    out[b].slope = own[0];
    float* effect = effects + b * ld;
    std::memset(effect, 0, size_t(ld) * sizeof(float));
    for (int k = 0; k < term_count; ++k) {
      const float *term = from[b].terms + k * ld, mean = d[e - term_count + k];
      const float share_of_term = own[e - term_count + k];
      for (int64_t i = 0; i < n; i += LANES)
        store(effect + i, load(effect + i) + (load(term + i) - mean) * share_of_term);
    }
    out[b].effect = effect;
  }
  hidden(model.doubt, count, bounded, width, before, after, between);
  for (int64_t b = 0; b < count; ++b)
    out[b].spread = std::exp(mean_output(model.doubt, between + b * all));
  arena.back_to(mark);
}

}  // namespace infoatlas::INFOATLAS_TARGET
