// Sizes and weights of a model for the stages. Plain data that all targets share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace infoatlas {

constexpr int MOST_REFINE_SHIFTS = 16;  // product pairs of a round of refinement

// The fields are described in train/infoatlas_train/config.py.
struct Config {
  int dim, width, heads, joint_latents, joint_layers, units, marginal_layers, rounds, features;
  int metrics, widths, newton_steps, solve_shifts, refinements, refine_shifts;
  int refine_turns, gap;
  float gap_share;
  bool shared;
  double ridge_floor;

  int inputs() const { return 2 * dim + 1; }  // of a side of the critic
  int kernels() const { return metrics * widths; }
};

// y = x weight + bias. Rows of `weight` are inputs.
struct Linear {
  const float* weight;  // [inputs, outputs]
  const float* bias;    // [outputs]
  int inputs, outputs;
};

struct Norm {
  const float* weight;
  const float* bias;
  int size;
};

// In each head, the product of query and key is one matrix, and so is that of value and output:
// samples are compared, and averaged, as they are.
struct AttentionWeights {
  Norm norm;
  Linear query;  // to heads x width
  Linear out;    // from heads x width
  int heads;
};

struct MlpWeights {
  Norm norm;
  Linear first, second;
};

struct LayerWeights {
  Norm norm;  // of the tokens as samples; unused for attention to samples
  AttentionWeights attention;
  MlpWeights mlp;
};

// First row of each part of the generated parameters. A row is one input (or one rate, ...) of all
// feature slots.
struct Generated {
  int x1, y1, x2, y2, x3, y3, bias, mix, ridge, rate, rows;
};

// Weights that generate the critic from unit tokens. They are reordered at load so that the product
// of weights and tokens is the critic's layers as [inputs, outputs]. Feature `unit * r + k` of the
// checkpoint is slot `k * unit_slots + unit` here; slots without a unit are zeros.
struct Generation {
  Norm norm;
  const float* write;  // [width, rows]: outputs of a token
  const float* base;   // [rows, unit_slots]
  Generated at;
  int units, unit_slots;  // units, rounded up to a multiple of 16
  int rows_a_unit;        // r: features of a unit
  int slots;              // r * unit_slots
  int mix_inputs;         // slots up to the last unit
};

// Four networks that differ in their weights (bias_correction.py).
struct HeadsWeights {
  Linear first;           // to HEADS * UNITS
  const float* second;    // [HEADS, UNITS, UNITS]
  const float* bias;      // [HEADS, UNITS]
  const float* last;      // [HEADS, UNITS]
  const float* constant;  // [HEADS]
};

struct Model {
  Config config;
  Linear condition_first, condition_second, pair_embedding, f_x, f_y, shrinkage, kernels;
  const float *q_joint, *q_x_to_y, *q_y_to_x;  // [width, tokens rounded up to a multiple of 16]
  LayerWeights joint_reading, fusion;
  Norm fusion_norm;
  AttentionWeights attend_x, attend_y;
  std::vector<LayerWeights> joint_layers, marginal_layers, readings, layers;
  Generation generation;
  std::vector<int> feature_slots;  // slot of each of the features, in the checkpoint's order
  std::vector<int> kernel_slots;   // slots of the features of neighbours
  int used_slots;                  // one more than the largest slot in use
  HeadsWeights missing, doubt;
  const float *mean, *scale;  // of diagnostic features
  int diagnostics;            // their number

  std::map<std::string, std::string> metadata;  // of the file

  std::vector<std::unique_ptr<std::vector<float>>> owned;  // memory of the pointers
};

// Throws std::runtime_error if the file is not of this project, a weight is missing or has another
// shape, or the engine does not support its configuration or graph. `name` is the name of the file
// in the message.
std::unique_ptr<Model> load_model(std::string_view content, const std::string& name);

}  // namespace infoatlas
