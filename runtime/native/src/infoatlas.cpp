// The complete model on a few datasets: a critic is generated, refined, solved, evaluated and
// corrected (infoatlas.py).
#include <cstring>

#include "bias_correction.h"
#include "critic.h"
#include "hypernetwork.h"
#include "kernels.h"
#include "neighbour_features.h"
#include "readout.h"
#include "refinement.h"
#include "solve.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

// psi a of all pairs: step [m + 1, ld]. `solved` kinds of pairs are used in the solve for a.
void solved_step(const Model& model, const Theta& theta, const Sample& s, const float* near,
                 const float* t0, const float* start, int64_t stride, const Crew& crew,
                 float* step, Arena& arena) {
  const Config& c = model.config;
  const int64_t mark = arena.mark(), n = s.n, fs = model.generation.slots;
  const int64_t kinds = s.m + 1;
  const int64_t solved = c.solve_shifts && c.solve_shifts < s.m ? c.solve_shifts + 1 : kinds;
  float *sx = arena.take(n * fs), *sy = arena.take(n * fs);
  sides(model, theta, s, crew, sx, sy);
  float *psi = arena.take(solved * n * stride), *joined = arena.take(solved * n + 16);
  const int64_t groups = (n + GROUP - 1) / GROUP;
  const auto chunks = [&](int64_t group, auto f) {
    const int64_t begin = group * GROUP, end = begin + GROUP < n ? begin + GROUP : n;
    for (int64_t from = begin; from < end; from += CHUNK)
      f(from, end - from < CHUNK ? end - from : CHUNK);
  };
  for_each(crew, solved * groups, [&](int64_t task, Arena& scratch) {
    const int64_t j = task / groups;
    float *h = scratch.take(CHUNK * fs), *p = scratch.take(CHUNK * fs);
    chunks(task % groups, [&](int64_t from, int64_t count) {
      const int64_t row = j * n + from;
      features(model, theta, s, sx, sy, s.shifts[j], from, count, nullptr, h, p,
               psi + row * stride, stride);
      place_kernels(model, s, near, j, from, count, psi + row * stride, stride);
      std::memcpy(joined + row, t0 + j * s.ld + from, size_t(count) * sizeof(float));
    });
  });
  float *mean = arena.take(stride), *a = arena.take(stride);
  const Problem problem{psi, joined, theta.ridge, solved * n, n, stride, c.newton_steps};
  solve_readout(model, problem, start, crew, mean, a, arena);
  const float constant = dot(mean, a, stride);
  for_each(crew, kinds * groups, [&](int64_t task, Arena& scratch) {
    const int64_t j = task / groups;
    float *h = scratch.take(CHUNK * fs), *p = scratch.take(CHUNK * fs);
    float* own = scratch.take(CHUNK * stride);
    chunks(task % groups, [&](int64_t from, int64_t count) {
      float* to = step + j * s.ld + from;
      if (j < solved) return combine(psi + (j * n + from) * stride, count, stride, a, constant, to);
      features(model, theta, s, sx, sy, s.shifts[j], from, count, nullptr, h, p, own, stride);
      place_kernels(model, s, near, j, from, count, own, stride);
      combine(own, count, stride, a, 0, to);
    });
  });
  arena.back_to(mark);
}

// Results of a dataset that are kept until the corrections are known.
struct Read {
  float mi, log_z;
  const float *joint, *influence;  // [ld] critic on the joint pairs, and influence on the bound
  Diagnosed diagnosed;
};

// Solves and evaluates the critic that was generated from a sample.
Read read(const Model& model, const Sample& s, Theta& theta, const int64_t* sequence,
          const Crew& crew, Arena& arena) {
  const Config& c = model.config;
  const int64_t ld = s.ld, kinds = s.m + 1;
  float* near = nullptr;
  Counts counts;
  const bool counted = c.metrics && c.shared;
  if (c.metrics) {
    near = arena.take(c.kernels() * kinds * ld);
    kernel_features(model, theta, s, crew, near, counted ? &counts : nullptr, arena);
  }
  const int64_t most = model.used_slots > model.generation.slots ? model.used_slots
                                                                  : model.generation.slots;
  const int64_t stride = round_up(most, LANES);
  const float* start = refined(model, theta, s, near, stride, crew, arena);
  float *t0 = arena.take(kinds * ld), *step = arena.take(kinds * ld), *t = arena.take(kinds * ld);
  anchor(s, theta.z, kinds, t0, arena);
  solved_step(model, theta, s, near, t0, start, stride, crew, step, arena);
  const Values anchors{t0, t0 + ld}, steps{step, step + ld}, whole{t, t + ld};
  const float share = c.solve_shifts ? best_share(s, anchors, steps, arena) : 1;
  for (int64_t i = 0; i < kinds * ld; i += LANES)
    store(t + i, load(t0 + i) + load(step + i) * share);
  const float of_critic = critic_share(s, whole);
  for (int64_t i = 0; i < kinds * ld; i += LANES) store(t + i, load(t + i) * of_critic);

  Read out{0, 0, t, nullptr, {nullptr, nullptr}};
  out.mi = donsker_varadhan(s, whole, &out.log_z);
  float* each_sample = arena.take(ld);
  influence(s, whole, out.log_z, each_sample, arena);
  out.influence = each_sample;
  if (c.gap)
    out.diagnosed = diagnosed(model, s, whole, anchors, counted ? &counts : nullptr, sequence,
                              crew, arena);
  return out;
}

}  // namespace

void run(const Model& model, const Task* tasks, int64_t count, const Crew& crew, Arena& arena) {
  Sample samples[MOST_TOGETHER] = {};
  Theta thetas[MOST_TOGETHER];
  Read reads[MOST_TOGETHER];
  Correction corrections[MOST_TOGETHER] = {};
  Diagnosed all[MOST_TOGETHER];
  for (int64_t k = 0; k < count; ++k) samples[k] = take_sample(tasks[k], model.config.dim, arena);
  hypernetwork(model, samples, count, crew, thetas, arena);
  for (int64_t k = 0; k < count; ++k) {
    reads[k] = read(model, samples[k], thetas[k], tasks[k].sequence, crew, arena);
    all[k] = reads[k].diagnosed;
  }
  if (model.config.gap) bias_corrections(model, samples[0], all, count, corrections, arena);
  for (int64_t k = 0; k < count; ++k) {
    const Task& task = tasks[k];
    const Read& read = reads[k];
    const Correction& found = corrections[k];
    *task.mi = read.mi + found.correction;
    *task.spread = found.spread;
    if (task.diagnostics && model.config.gap)
      std::memcpy(task.diagnostics, read.diagnosed.diagnostics,
                  size_t(model.diagnostics) * sizeof(float));
    for (int64_t i = 0; i < task.n; ++i) {
      task.pointwise[i] = read.joint[i] - read.log_z + found.correction;
      task.influence[i] =
          (1 + found.slope) * read.influence[i] + (found.effect ? found.effect[i] : 0);
    }
  }
}

}  // namespace infoatlas::INFOATLAS_TARGET
