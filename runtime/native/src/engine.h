// The engine: evaluates the graph of an .onnx model file on a CPU, without ONNX Runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "preprocess.h"

namespace infoatlas {

struct Model;

// Arrays of the caller for the results, with the shapes of the graph's outputs.
struct Outputs {
  float* mi;         // [B] nats
  float* pointwise;  // [B, n] nats
  float* influence;  // [B, n] nats
  float* spread;     // [B] nats
  float* diagnostics = nullptr;  // [B, diagnostics()] diagnostic features
};

class Engine {
 public:
  // Reads weights and configuration from a model file, or from the content of one. `threads`
  // includes the caller's; if the system allows fewer, the engine runs with those. Throws
  // std::runtime_error with a sentence about the fault of the file.
  Engine(const std::string& path, int threads);
  Engine(const void* content, std::size_t size, int threads);
  Engine(std::shared_ptr<const Model> model, int threads);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // x, y [batch, n, dim] canonical, contiguous; shifts [m], each with 0 < |shift| < n; sequence [n]
  // positions of the samples in order of time. May be called by several threads at once. Throws
  // std::runtime_error for sizes that are not possible.
  void run(const float* x, const float* y, int64_t batch, int64_t n, const int64_t* shifts,
           int64_t m, const int64_t* sequence, const Outputs& out);

  // Slices of paired samples in canonical form, for `run`. Sides that are not projected have at
  // most dim coordinates; for others, k is at most dim. May be called by several threads at once.
  void canonicalise(const Pairs& pairs, const Canonical& out);

  // After calls of the largest sizes: no later call of such sizes allocates memory, on whichever
  // threads its parts run.
  void settle();

  const std::map<std::string, std::string>& metadata() const;  // of the model file
  int64_t dim() const;
  int64_t diagnostics() const;   // diagnostic features of a dataset; 0 without a correction
  int64_t least_shifts() const;  // smallest number of shifts for the solve
  const char* target() const;    // instructions in use: "avx512", "avx2", "neon", "baseline"

  int threads();                  // of this process, including the caller's
  std::string missing_threads();  // why there are fewer than requested, or empty

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace infoatlas
