// Layers of tokens: attention to samples, and perceptrons (hypernetwork.py; paper, section 3.1).
//
// A token or a sample is a column, so that sums over its coordinates, and over the samples for all
// tokens, are sums of vectors.
#pragma once

#include "kernels.h"
#include "model.h"

namespace infoatlas::INFOATLAS_TARGET {

// Sets of tokens side by side: [width, sets slots]. Columns of a set beyond `count` are undefined.
struct Tokens {
  float* at;
  int64_t sets, count, slots;  // slots: count, rounded up to a multiple of 16

  int64_t columns() const { return sets * slots; }
};

// Samples of each set: those of set k are [width, ld], from at + k next on. Vectors of columns are
// read completely, also beyond `count`.
struct Samples {
  const float* at;
  int64_t ld, next, count;
};

Tokens take_tokens(int64_t sets, int64_t count, int64_t width, Arena& arena);

// Layer norm of columns [width, columns]; `to` may be `from`.
void normalised(const Norm& norm, const float* from, int64_t columns, float* to);

// Adds the result of attention to the tokens; `queries` have their shape.
void attend(const AttentionWeights& weights, const float* queries, const Samples& samples,
            const Tokens& tokens, const Crew& crew, Arena& arena);

// Attention to samples, then a perceptron (`Reading` of hypernetwork.py).
void read(const LayerWeights& layer, const Samples& samples, const Tokens& tokens, const Crew& crew,
          Arena& arena);

void self_attention(const LayerWeights& layer, const Tokens& tokens, const Crew& crew,
                    Arena& arena);

}  // namespace infoatlas::INFOATLAS_TARGET
