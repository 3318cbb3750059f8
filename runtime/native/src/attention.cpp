#include "attention.h"

#include <cmath>

#include "sample.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr float EPSILON = 1e-5f;  // of layer norms
constexpr float LEAST = -1e30f;   // less than any score
constexpr int64_t PANEL = 32;     // columns of a perceptron that are computed at a time
constexpr int64_t READ = 128;     // samples of an attention that are processed at a time

// Running softmax over samples, for each head and token, and the weighted sum of the values.
struct Attended {
  float *top, *sum;  // [heads, slots] largest score, sum of exponentials
  float* mean;       // [heads width, slots] weighted sum of the samples
};

Attended attended(float* at, int64_t heads, int64_t slots) {
  return {at, at + heads * slots, at + 2 * heads * slots};
}

// Adds `count` samples [width, samples_ld]; the other arrays are those of one head. q [width, ld]
// are the queries; scores [count, slots] is scratch.
void take_in(const float* q, int64_t ld, const float* samples, int64_t samples_ld, int64_t count,
             int64_t width, int64_t slots, const Attended& a, float* scores) {
  product_transposed(count, slots, width, samples, samples_ld, q, ld, scores, slots);
  for (int64_t u = 0; u < slots; u += LANES) {
    const Vec before = load(a.top + u);
    Vec top = before;
    for (int64_t i = 0; i < count; ++i) top = larger(top, load(scores + i * slots + u));
    Vec sums{};
    for (int64_t i = 0; i < count; ++i) {
      const Vec e = exp(load(scores + i * slots + u) - top);
      store(scores + i * slots + u, e);
      sums += e;
    }
    const Vec shrink = exp(before - top);
    store(a.top + u, top);
    store(a.sum + u, load(a.sum + u) * shrink + sums);
    for (int64_t k = 0; k < width; ++k)
      store(a.mean + k * slots + u, load(a.mean + k * slots + u) * shrink);
  }
  product(width, slots, count, samples, samples_ld, scores, slots, a.mean, slots, Start::ADD);
}

// Adds the result of another task.
void merge(const Attended& a, const Attended& b, int64_t heads, int64_t width, int64_t slots) {
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t u = 0; u < slots; u += LANES) {
      const int64_t at = head * slots + u;
      const Vec top = larger(load(a.top + at), load(b.top + at));
      const Vec of_a = exp(load(a.top + at) - top), of_b = exp(load(b.top + at) - top);
      store(a.top + at, top);
      store(a.sum + at, load(a.sum + at) * of_a + load(b.sum + at) * of_b);
      for (int64_t k = head * width; k < (head + 1) * width; ++k)
        store(a.mean + k * slots + u,
              load(a.mean + k * slots + u) * of_a + load(b.mean + k * slots + u) * of_b);
    }
}

void add_mlp(const MlpWeights& mlp, const Tokens& tokens, Arena& arena) {
  const int64_t mark = arena.mark(), w = mlp.norm.size, wide = mlp.first.outputs;
  const int64_t columns = tokens.columns();
  float *v = arena.take(w * columns), *h = arena.take(wide * PANEL);
  normalised(mlp.norm, tokens.at, columns, v);
  for (int64_t from = 0; from < columns; from += PANEL) {
    const int64_t count = columns - from < PANEL ? columns - from : PANEL;
    product_transposed(wide, count, w, mlp.first.weight, wide, v + from, columns, h, PANEL,
                       Start::ROW_BIAS, mlp.first.bias);
    for (int64_t i = 0; i < wide * PANEL; i += LANES) store(h + i, gelu(load(h + i)));
    product_transposed(w, count, wide, mlp.second.weight, w, h, PANEL, v + from, columns,
                       Start::ROW_BIAS, mlp.second.bias);
  }
  for (int64_t i = 0; i < w * columns; i += LANES)
    store(tokens.at + i, load(tokens.at + i) + load(v + i));
  arena.back_to(mark);
}

}  // namespace

Tokens take_tokens(int64_t sets, int64_t count, int64_t width, Arena& arena) {
  const int64_t slots = round_up(count, 16);
  return {arena.take(width * sets * slots), sets, count, slots};
}

void normalised(const Norm& norm, const float* from, int64_t columns, float* to) {
  const int64_t w = norm.size;
  over_columns(columns, [&]<int COUNT>(int64_t u) INFOATLAS_LAMBDA {
    Vec mean[COUNT] = {}, scale[COUNT] = {};
    for (int64_t k = 0; k < w; ++k)
      for (int j = 0; j < COUNT; ++j) mean[j] += load(from + k * columns + u + j * LANES);
    for (int j = 0; j < COUNT; ++j) mean[j] *= 1 / float(w);
    for (int64_t k = 0; k < w; ++k)
      for (int j = 0; j < COUNT; ++j) {
        const Vec d = load(from + k * columns + u + j * LANES) - mean[j];
        scale[j] += d * d;
      }
    for (int j = 0; j < COUNT; ++j) scale[j] = 1.0f / root(scale[j] * (1 / float(w)) + EPSILON);
    for (int64_t k = 0; k < w; ++k)
      for (int j = 0; j < COUNT; ++j) {
        const int64_t at = k * columns + u + j * LANES;
        store(to + at, (load(from + at) - mean[j]) * scale[j] * norm.weight[k] + norm.bias[k]);
      }
  });
}

void attend(const AttentionWeights& weights, const float* queries, const Samples& samples,
            const Tokens& tokens, const Crew& crew, Arena& arena) {
  const int64_t mark = arena.mark(), w = weights.norm.size, heads = weights.heads;
  const int64_t all = heads * w, columns = tokens.columns(), slots = tokens.slots;
  float *v = arena.take(w * columns), *q = arena.take(all * columns);
  normalised(weights.norm, queries, columns, v);
  product_transposed(all, columns, w, weights.query.weight, all, v, columns, q, columns,
                     Start::ROW_BIAS, weights.query.bias);
  const int64_t groups = (samples.count + GROUP - 1) / GROUP, size = (2 * heads + all) * slots;
  float *parts = arena.take(groups * size), *mean = arena.take(all * columns);
  for (int64_t set = 0; set < tokens.sets; ++set) {
    const float *own_q = q + set * slots, *at = samples.at + set * samples.next;
    for_each(crew, groups, [&](int64_t group, Arena& scratch) {
      const int64_t begin = group * GROUP;
      const int64_t end = begin + GROUP < samples.count ? begin + GROUP : samples.count;
      const Attended own = attended(parts + group * size, heads, slots);
      for (int64_t i = 0; i < heads * slots; ++i) own.top[i] = LEAST;
      std::memset(own.sum, 0, size_t(size - heads * slots) * sizeof(float));
      float* scores = scratch.take(READ * slots);
      for (int64_t from = begin; from < end; from += READ)
        for (int64_t head = 0; head < heads; ++head)
          take_in(own_q + head * w * columns, columns, at + from, samples.ld,
                  end - from < READ ? end - from : READ, w, slots,
                  {own.top + head * slots, own.sum + head * slots, own.mean + head * w * slots},
                  scores);
    });
    const Attended a = attended(parts, heads, slots);
    for (int64_t group = 1; group < groups; ++group)
      merge(a, attended(parts + group * size, heads, slots), heads, w, slots);
    for (int64_t u = 0; u < slots; u += LANES)
      for (int64_t head = 0; head < heads; ++head) {
        const Vec share = 1.0f / load(a.sum + head * slots + u);
        for (int64_t k = head * w; k < (head + 1) * w; ++k)
          store(mean + k * columns + set * slots + u, load(a.mean + k * slots + u) * share);
      }
  }
  product_transposed(w, columns, all, weights.out.weight, w, mean, columns, v, columns,
                     Start::ROW_BIAS, weights.out.bias);
  for (int64_t i = 0; i < w * columns; i += LANES)
    store(tokens.at + i, load(tokens.at + i) + load(v + i));
  arena.back_to(mark);
}

void read(const LayerWeights& layer, const Samples& samples, const Tokens& tokens, const Crew& crew,
          Arena& arena) {
  attend(layer.attention, tokens.at, samples, tokens, crew, arena);
  add_mlp(layer.mlp, tokens, arena);
}

void self_attention(const LayerWeights& layer, const Tokens& tokens, const Crew& crew,
                    Arena& arena) {
  const int64_t mark = arena.mark(), columns = tokens.columns();
  float* samples = arena.take(layer.norm.size * columns);
  normalised(layer.norm, tokens.at, columns, samples);
  read(layer, {samples, columns, tokens.slots, tokens.count}, tokens, crew, arena);
  arena.back_to(mark);
}

}  // namespace infoatlas::INFOATLAS_TARGET
