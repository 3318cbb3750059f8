#include "model.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <stdexcept>

#include "model_code.h"
#include "onnx_file.h"
#include "real.h"

namespace infoatlas {

namespace {

constexpr int LAYERS = 8;  // of refinement.py
constexpr int HEADS = 4, UNITS = 128, COUNTED = 5, LAGS = 6;  // of bias_correction.py
constexpr int MULTIPLE = 16;  // of floats: the widest vector

// The values of a JSON object without nested objects, as text; strings without quotes.
std::map<std::string, std::string> flat_json(const std::string& text) {
  std::map<std::string, std::string> found;
  size_t at = 0;
  const auto skip = [&] {
    while (at < text.size() && (std::isspace((unsigned char)text[at]) || text[at] == ',' ||
                                text[at] == ':' || text[at] == '{' || text[at] == '}'))
      ++at;
  };
  const auto word = [&] {
    skip();
    std::string out;
    if (at < text.size() && text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) out += text[at];
      ++at;
    } else {
      while (at < text.size() && text[at] != ',' && text[at] != '}') out += text[at++];
    }
    return out;
  };
  while (skip(), at < text.size()) {
    const std::string key = word();
    found[key] = word();
  }
  return found;
}

class Loader {
 public:
  Loader(std::string_view content, const std::string& name, Model& model)
      : name_(name), file_(read_onnx(content, name)), model_(model) {}

  void load() {
    read_config();
    const Config& c = model_.config;
    const int d = c.inputs(), w = c.width;
    const std::string h = "hypernetwork.";
    model_.condition_first = gemm(h + "condition.0", 4 * c.dim + 1 + d * d, w);
    model_.condition_second = gemm(h + "condition.2", w, w);
    model_.pair_embedding = linear(h + "pair_embedding.0", 2 * d + c.dim + 1, w);
    model_.q_joint = tokens(h + "q_joint", c.joint_latents);
    model_.q_x_to_y = tokens(h + "q_x_to_y", c.units);
    model_.q_y_to_x = tokens(h + "q_y_to_x", c.units);
    model_.joint_reading = layer(h + "joint_reading", false);
    model_.f_x = linear(h + "f_x.0", d, w);
    model_.f_y = linear(h + "f_y.0", d, w);
    model_.attend_x = attention(h + "attend_x");
    model_.attend_y = attention(h + "attend_y");
    model_.fusion_norm = norm(h + "fusion_norm");
    model_.fusion = layer(h + "fusion", false);
    const auto several = [&](const char* name, int count, bool normed) {
      std::vector<LayerWeights> out;
      for (int i = 0; i < count; ++i)
        out.push_back(layer(h + name + "." + std::to_string(i), normed));
      return out;
    };
    model_.joint_layers = several("joint_layers", c.joint_layers, true);
    model_.marginal_layers = several("marginal_layers", c.marginal_layers, true);
    model_.readings = several("readings", c.rounds, false);
    model_.layers = several("layers", c.rounds, true);
    model_.shrinkage = gemm(h + "shrinkage", w, c.dim);
    if (c.metrics) model_.kernels = gemm(h + "kernels", w, c.metrics * (2 * c.dim + c.widths));
    read_generation();
    slots();
    if (c.gap) {
      const int second = c.gap_share > 0 ? 1 : 0;
      model_.diagnostics = 11 + 9 + 2 * LAGS + 1 + 2 + 3 * COUNTED * c.gap + 3 * second;
      model_.mean = values("gap.mean", {model_.diagnostics});
      model_.scale = values("gap.scale", {model_.diagnostics});
      model_.missing = heads("gap.missing", model_.diagnostics);
      model_.doubt = heads("gap.doubt", model_.diagnostics + 2 * second);
    }
    check_code(file_.metadata, name_);
    model_.metadata = std::move(file_.metadata);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(name_ + what); }

  void read_config() {
    const auto& metadata = file_.metadata;
    const auto there = metadata.find("infoatlas.config");
    if (there == metadata.end())
      fail(" has no configuration in its metadata (infoatlas.config): export the checkpoint again");
    const std::map<std::string, std::string> all = flat_json(there->second);
    const auto text = [&](const char* key) -> const std::string& {
      const auto found = all.find(key);
      if (found == all.end())
        fail(std::string(" lacks ") + key + " in its configuration: export the checkpoint again");
      return found->second;
    };
    const auto number = [&](const char* key, int least, int most) {
      char* end = nullptr;
      const long value = std::strtol(text(key).c_str(), &end, 10);
      if (text(key).empty() || *end || value < least || value > most)
        fail(std::string(" has ") + key + " = " + text(key) + " in its configuration, and has to be " +
             std::to_string(least) + " to " + std::to_string(most) + "");
      return int(value);
    };
    if (text("readout") != "solved")
      fail(" has a readout that is " + text("readout") +
           ", and this engine computes solved ones");
    if (text("generator_layers") != "0")
      fail(" has a generator of " + text("generator_layers") +
           " layers, and this engine computes none");
    Config& c = model_.config;
    c.dim = number("dim", 1, 200);
    c.width = number("width", MULTIPLE, 4096);
    c.heads = number("heads", 1, 64);
    c.joint_latents = number("joint_latents", 1, 4096);
    c.joint_layers = number("joint_layers", 0, 64);
    c.units = number("units", 1, 512);
    c.marginal_layers = number("marginal_layers", 0, 64);
    c.rounds = number("rounds", 0, 64);
    c.features = number("features", 1, 1024);
    c.metrics = number("metrics", 0, 16);
    c.widths = number("widths", 1, 5);
    c.newton_steps = number("newton_steps", 1, 64);
    c.solve_shifts = number("solve_shifts", 0, 1 << 20);
    c.refinements = number("refinements", 0, 64);
    c.refine_shifts = number("refine_shifts", 1, MOST_REFINE_SHIFTS);
    // Older files have none.
    c.refine_turns = all.count("refine_turns") ? number("refine_turns", 0, 1 << 20) : 0;
    c.gap = number("gap", 0, 16);
    c.gap_share = 0;
    if (all.count("gap_share")) {
      char* end = nullptr;
      c.gap_share = static_cast<float>(read_real(text("gap_share").c_str(), &end));
      if (*end || !(c.gap_share >= 0 && c.gap_share < 1) || (c.gap_share > 0 && c.gap < 2))
        fail(" has gap_share = " + text("gap_share") + " in its configuration, and has to be 0, or "
             "with two metrics below 1");
    }
    c.shared = text("shared") == "true";
    c.ridge_floor = read_real(text("ridge_floor").c_str(), nullptr);
    if (c.width % MULTIPLE || c.width % c.heads || c.features % c.units || !(c.ridge_floor > 0))
      fail(" has a width that is no multiple of 16 or of the heads, features that are no multiple of "
           "the units, or no ridge_floor");
    if (c.shared && !c.metrics) fail(" shares a metric and has none");
  }

  const std::vector<float>& constant(const std::string& name,
                                     const std::vector<int64_t>& shape) const {
    const auto found = file_.constants.find(name);
    if (found == file_.constants.end())
      fail(" has no weight " + name + ": export the checkpoint again");
    if (found->second.shape != shape)
      fail(" has a weight " + name + " of another shape than its configuration has: export the "
           "checkpoint again");
    return found->second.values;
  }

  float* keep(std::vector<float> values) {
    values.resize(values.size() + MULTIPLE);  // vectors may extend beyond the end
    model_.owned.push_back(std::make_unique<std::vector<float>>(std::move(values)));
    return model_.owned.back()->data();
  }

  const float* values(const std::string& name, const std::vector<int64_t>& shape) {
    return keep(constant(name, shape));
  }

  static std::vector<float> transposed(const std::vector<float>& v, int rows, int columns) {
    std::vector<float> out(v.size());
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) out[size_t(j) * rows + i] = v[size_t(i) * columns + j];
    return out;
  }

  // As [inputs, outputs]: the form in the file of layers of tokens and samples.
  Linear linear(const std::string& name, int inputs, int outputs) {
    return {values(name + ".weight.T", {inputs, outputs}), values(name + ".bias", {outputs}),
            inputs, outputs};
  }

  // As [outputs, inputs]: the form in the file of layers with one row for each dataset.
  Linear gemm(const std::string& name, int inputs, int outputs) {
    return {keep(transposed(constant(name + ".weight", {outputs, inputs}), outputs, inputs)),
            values(name + ".bias", {outputs}), inputs, outputs};
  }

  Norm norm(const std::string& name) {
    const int w = model_.config.width;
    return {values(name + ".weight", {w}), values(name + ".bias", {w}), w};
  }

  AttentionWeights attention(const std::string& name) {
    const int w = model_.config.width, heads = model_.config.heads, all = heads * w;
    return {norm(name + ".norm"),
            {values(name + ".merged_query.T", {w, all}),
             values(name + ".merged_query_bias", {all}), w, all},
            {values(name + ".merged_out.T", {all, w}), values(name + ".merged_out_bias", {w}), all,
             w},
            heads};
  }

  // Tokens as columns: [width, count rounded up].
  const float* tokens(const std::string& name, int count) {
    const int w = model_.config.width, slots = (count + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    const std::vector<float>& rows = constant(name, {count, w});
    std::vector<float> out(size_t(w) * slots);
    for (int u = 0; u < count; ++u)
      for (int k = 0; k < w; ++k) out[size_t(k) * slots + u] = rows[size_t(u) * w + k];
    return keep(out);
  }

  LayerWeights layer(const std::string& name, bool normed) {
    const int w = model_.config.width;
    const Norm first = normed ? norm(name + ".norm") : Norm{nullptr, nullptr, 0};
    return {first, attention(name + ".attention"),
            {norm(name + ".mlp.0"), linear(name + ".mlp.1", w, 2 * w),
             linear(name + ".mlp.3", 2 * w, w)}};
  }

  HeadsWeights heads(const std::string& name, int e) {
    const int all = HEADS * UNITS;
    const std::vector<float>& first = constant(name + ".first.weight", {all, e});
    return {{keep(transposed(first, all, e)), values(name + ".first.bias", {all}), e, all},
            values(name + ".second", {HEADS, UNITS, UNITS}),
            values(name + ".bias", {HEADS, 1, UNITS}),
            values(name + ".last", {HEADS, UNITS, 1}),
            values(name + ".constant", {HEADS, 1, 1})};
  }

  void read_generation() {
    const Config& c = model_.config;
    Generation& g = model_.generation;
    const int d = c.inputs(), w = c.width, h = c.units, f = c.features, r = f / h;
    g.units = h;
    g.unit_slots = (h + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    g.rows_a_unit = r;
    g.slots = r * g.unit_slots;
    g.mix_inputs = (r - 1) * g.unit_slots + h;
    // The parts in the checkpoint: rows of a token, and length of a row.
    struct Part {
      int* at;
      int rows, length;
      bool of_features;  // the inputs are features, which have slots
    };
    Generated& at = g.at;
    const std::vector<Part> parts = {
        {&at.x1, 1, d + 1, false}, {&at.y1, 1, d + 1, false}, {&at.x2, 1, h + 1, false},
        {&at.y2, 1, h + 1, false}, {&at.x3, r, h + d, false}, {&at.y3, r, h + d, false},
        {&at.bias, r, 1, false},   {&at.mix, r, f + 1, true}, {&at.ridge, r, 1, false},
        {&at.rate, r, c.refinements * LAYERS, false}};
    int size = 0;
    for (const Part& part : parts) size += part.rows * part.length;
    const std::vector<float>& base = constant("hypernetwork.generation.base", {h, size});
    const std::vector<float>& scale = constant("hypernetwork.generation.scale", {size});
    const std::vector<float>& write = constant("hypernetwork.generation.write.weight.T", {w, size});
    const std::vector<float>& bias = constant("hypernetwork.generation.write.bias", {size});
    std::vector<int> source;  // output of a token for each row here; -1 for none
    int before = 0;
    for (const Part& part : parts) {
      *part.at = int(source.size());
      const int inputs = part.of_features ? g.mix_inputs + 1 : part.length;
      for (int i = 0; i < inputs; ++i) {
        int from = i;
        if (part.of_features) {
          const int k = i / g.unit_slots, unit = i % g.unit_slots;
          from = i == g.mix_inputs ? f : unit < h ? unit * r + k : -1;
        }
        for (int row = 0; row < part.rows; ++row)
          source.push_back(from < 0 ? -1 : before + row * part.length + from);
      }
      before += part.rows * part.length;
    }
    at.rows = int(source.size());
    std::vector<float> our_write(size_t(w) * at.rows), our_base(size_t(at.rows) * g.unit_slots);
    for (int row = 0; row < at.rows; ++row) {
      const int from = source[row];
      if (from < 0) continue;
      for (int k = 0; k < w; ++k)
        our_write[size_t(k) * at.rows + row] = write[size_t(k) * size + from] * scale[from];
      for (int u = 0; u < h; ++u)
        our_base[size_t(row) * g.unit_slots + u] =
            (base[size_t(u) * size + from] + bias[from]) * scale[from];
    }
    g.norm = norm("hypernetwork.generation.norm");
    g.write = keep(our_write);
    g.base = keep(our_base);
  }

  void slots() {
    const Generation& g = model_.generation;
    for (int f = 0; f < model_.config.features; ++f)
      model_.feature_slots.push_back(f % g.rows_a_unit * g.unit_slots + f / g.rows_a_unit);
    // Features of neighbours use slots without a unit, then further slots.
    model_.used_slots = g.mix_inputs;
    int slot = 0;
    for (int k = 0; k < model_.config.kernels(); ++k, ++slot) {
      while (slot < g.slots && slot % g.unit_slots < g.units) ++slot;
      model_.kernel_slots.push_back(slot);
      model_.used_slots = std::max(model_.used_slots, slot + 1);
    }
  }

  std::string name_;
  OnnxFile file_;
  Model& model_;
};

}  // namespace

std::unique_ptr<Model> load_model(std::string_view content, const std::string& name) {
  auto model = std::make_unique<Model>();
  Loader(content, name, *model).load();
  return model;
}

}  // namespace infoatlas
