// The engine: what the graph of an .onnx model file computes, on a CPU, without ONNX Runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "preprocess.h"

namespace infoatlas {

// Where results go. Shapes as those of the graph's outputs; every array is the caller's.
struct Outputs {
  float* mi;         // [B] nats
  float* pointwise;  // [B, n] nats
  float* influence;  // [B, n] nats
  float* spread;     // [B] nats
  float* diagnostics = nullptr;  // [B, diagnostics()] what the correction is computed from
};

class Engine {
 public:
  // Reads weights and configuration from a model file, or from the content of one. `threads`
  // includes the caller's; where the machine gives fewer, the engine runs with those.
  // Throws std::runtime_error with one sentence: what is wrong with the file.
  Engine(const std::string& path, int threads);
  Engine(const void* content, std::size_t size, int threads);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // x, y [batch, n, dim] canonical, contiguous; shifts [m], each with 0 < |shift| < n; sequence [n]
  // positions of the samples in order of time. May be called by several threads at once.
  // Throws std::runtime_error for sizes that cannot be.
  void run(const float* x, const float* y, int64_t batch, int64_t n, const int64_t* shifts,
           int64_t m, const int64_t* sequence, const Outputs& out);

  // Slices of paired samples in canonical form, as `run` takes them: the sides are at most dim wide
  // where they are not projected, else k is. May be called by several threads at once.
  void canonicalise(const Pairs& pairs, const Canonical& out);

  int64_t dim() const;
  int64_t diagnostics() const;   // diagnostic features of a dataset; 0: no correction
  int64_t least_shifts() const;  // fewer cannot be solved
  const char* target() const;    // instructions in use: "avx512", "avx2", "neon", "baseline"

  int threads();                  // that this process runs with, the caller's included
  std::string missing_threads();  // why they are fewer than asked for; empty: they are not

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace infoatlas
