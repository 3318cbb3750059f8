#include "neighbour_features.h"

#include <cmath>

#include "kernels.h"

namespace infoatlas::INFOATLAS_TARGET {

namespace {

constexpr int64_t BUDGET = 5120000, CONTEXT = 1024;
constexpr float FARTHEST = 43, LEAST = 2.1e-5f;  // so that no sum of kernel values is denormal
constexpr int64_t SHARE = 128;                   // context samples of one task
constexpr float EQUAL = 2e-6f;                   // difference of kernel values of equal distances

// A side in units of its widest kernel; coordinates that are zero for all samples are left out.
struct Scaled {
  const float* rows;     // [dims, ld]
  const float* centres;  // [context, dims] the context samples
  int dims;
};

Scaled scaled(const Sample& s, const float* from, const float* used, const float* scale,
              int64_t context, Arena& arena) {
  float* rows = arena.take(s.dim * s.ld);
  int dims = 0;
  for (int k = 0; k < s.dim; ++k) {
    if (used[k] == 0) continue;
    for (int64_t i = 0; i < s.ld; i += LANES)
      store(rows + dims * s.ld + i, load(from + k * s.ld + i) * scale[k]);
    ++dims;
  }
  float* centres = arena.take(context * dims);
  for (int64_t c = 0; c < context; ++c)
    for (int k = 0; k < dims; ++k) centres[c * dims + k] = rows[k * s.ld + c];
  return {rows, centres, dims};
}

// Kernel values of samples i .. i + LANES and COUNT context samples from c on.
template <int COUNT>
INFOATLAS_INLINE void gaussian(const Scaled& side, int64_t ld, int64_t i, int64_t c, Vec* out) {
  Vec far[COUNT] = {};
  const float* centre = side.centres + c * side.dims;
  for (int k = 0; k < side.dims; ++k) {
    const Vec v = load(side.rows + k * ld + i);
    for (int g = 0; g < COUNT; ++g) {
      const Vec apart = v - centre[g * side.dims + k];
      far[g] += apart * apart;
    }
  }
  for (int g = 0; g < COUNT; ++g) out[g] = exp(larger(far[g] * -0.5f, all(-FARTHEST)));
}

// Kernel values of half the width.
INFOATLAS_INLINE Vec fourth_power(Vec k) {
  k = larger(k, all(LEAST));
  k = k * k;
  return k * k;
}

// Sums over context samples. `pairs` [levels with pairs, m + 1, ld]; the others [levels, ld].
struct Sums {
  float *x, *y, *joint, *pairs;
};

// Pairs are counted at levels first .. last of all levels, each half as wide as the one before.
struct Levels {
  int count, first, last;
};

Sums no_sums(const Levels& levels, const Sample& s, Arena& arena) {
  const int64_t size = levels.count * s.ld, pairs = (levels.last - levels.first) * (s.m + 1) * s.ld;
  float* all_of = arena.take(3 * size + pairs);
  std::memset(all_of, 0, size_t(3 * size + pairs) * sizeof(float));
  return {all_of, all_of + size, all_of + 2 * size, all_of + 3 * size};
}

// Adds the neighbours among COUNT context samples from c on. kx [COUNT, ld] and ky [COUNT, 2 ld +
// n] are scratch; ky has its values twice, so that partners of a shift are contiguous.
template <int COUNT>
void add(const Scaled& x, const Scaled& y, const Levels& levels, const Sample& s, int64_t c,
         float* kx, float* ky, const Sums& sums) {
  const int64_t n = s.n, ld = s.ld, twice = 2 * ld + n;
  for (int64_t i = 0; i < n; i += LANES) {
    Vec v[COUNT];
    gaussian<COUNT>(x, ld, i, c, v);
    for (int g = 0; g < COUNT; ++g) store(kx + g * ld + i, v[g]);
    gaussian<COUNT>(y, ld, i, c, v);
    for (int g = 0; g < COUNT; ++g) store(ky + g * twice + i, v[g]);
  }
  for (int g = 0; g < COUNT; ++g) kx[g * ld + c + g] = ky[g * twice + c + g] = 0;  // itself
  for (int level = 0; level < levels.count; ++level) {
    if (level >= levels.first && level < levels.last) {
      for (int g = 0; g < COUNT; ++g)
        std::memcpy(ky + g * twice + n, ky + g * twice, size_t(n) * sizeof(float));
      float* pairs = sums.pairs + (level - levels.first) * (s.m + 1) * ld;
      for (int64_t i = 0; i < n; i += LANES) {
        Vec own[COUNT];
        for (int g = 0; g < COUNT; ++g) own[g] = load(kx + g * ld + i);
        for (int64_t j = 1; j <= s.m; ++j) {
          const float* theirs = ky + i + s.shifts[j];
          Vec both = load(pairs + j * ld + i);
          for (int g = 0; g < COUNT; ++g) both += own[g] * load(theirs + g * twice);
          store(pairs + j * ld + i, both);
        }
      }
    }
    float *sum_x = sums.x + level * ld, *sum_y = sums.y + level * ld;
    float* joint = sums.joint + level * ld;
    for (int64_t i = 0; i < n; i += LANES) {
      Vec of_x = load(sum_x + i), of_y = load(sum_y + i), both = load(joint + i);
      for (int g = 0; g < COUNT; ++g) {
        const Vec a = load(kx + g * ld + i), b = load(ky + g * twice + i);
        of_x += a;
        of_y += b;
        both += a * b;
        store(kx + g * ld + i, fourth_power(a));
        store(ky + g * twice + i, fourth_power(b));
      }
      store(sum_x + i, of_x);
      store(sum_y + i, of_y);
      store(joint + i, both);
    }
  }
}

Sums neighbours(const Scaled& x, const Scaled& y, const Levels& levels, const Sample& s,
                int64_t context, const Crew& crew, Arena& arena) {
  const int64_t tasks = (context + SHARE - 1) / SHARE;
  Sums* parts = reinterpret_cast<Sums*>(arena.take_doubles(tasks * 4));
  for (int64_t t = 0; t < tasks; ++t) parts[t] = no_sums(levels, s, arena);
  for_each(crew, tasks, [&](int64_t task, Arena& scratch) {
    constexpr int MANY = 8;
    float *kx = scratch.take(MANY * s.ld), *ky = scratch.take(MANY * (2 * s.ld + s.n));
    const int64_t end = task * SHARE + SHARE < context ? task * SHARE + SHARE : context;
    int64_t c = task * SHARE;
    if (s.n <= 2500)
      for (; c + MANY <= end; c += MANY) add<MANY>(x, y, levels, s, c, kx, ky, parts[task]);
    for (; c + 4 <= end; c += 4) add<4>(x, y, levels, s, c, kx, ky, parts[task]);
    for (; c < end; ++c) add<1>(x, y, levels, s, c, kx, ky, parts[task]);
  });
  const int64_t size =
      (3 * levels.count + (levels.last - levels.first) * (s.m + 1)) * s.ld;
  for (int64_t t = 1; t < tasks; ++t)
    for (int64_t i = 0; i < size; i += LANES)
      store(parts[0].x + i, load(parts[0].x + i) + load(parts[t].x + i));
  return parts[0];
}

// Local information of LANES samples from their kernel values kx and ky [context, LANES], which are
// zero for a sample itself. It follows from the third largest of the smaller values, and the number
// of values that are as large.
Vec from_distances(const float* kx, const float* ky, int64_t context) {
  Vec first{}, second{}, third{};
  for (int64_t c = 0; c < context; ++c) {
    const Vec both = smaller(load(kx + c * LANES), load(ky + c * LANES));
    third = larger(third, smaller(second, both));
    second = larger(second, smaller(first, both));
    first = larger(first, both);
  }
  const Vec least = third - EQUAL, one = all(1);
  Vec near{}, near_x{}, near_y{};
  for (int64_t c = 0; c < context; ++c) {
    const Vec x = load(kx + c * LANES) >= least ? one : Vec{};
    const Vec y = load(ky + c * LANES) >= least ? one : Vec{};
    near_x += x;
    near_y += y;
    near += x * y;
  }
  return log((near - 0.5f) / near_x / near_y * float(context));
}

}  // namespace

int64_t context_size(int64_t n) {
  const int64_t most = 1 + BUDGET / n < CONTEXT ? 1 + BUDGET / n : CONTEXT;
  return n < most ? n : most;
}

void kernel_features(const Model& model, const Theta& theta, const Sample& s, const Crew& crew,
                     float* features, Counts* counts, Arena& arena) {
  const Config& c = model.config;
  const int64_t context = context_size(s.n), ld = s.ld, n = s.n;
  for (int metric = 0; metric < c.metrics; ++metric) {
    const bool counted = counts && metric == 0;
    // The first width at which neighbours are counted is twice the widest of the features.
    const Levels levels = counted ? Levels{COUNTED, 1, 1 + c.widths} : Levels{c.widths, 0, c.widths};
    float *of_x = arena.take(c.dim), *of_y = arena.take(c.dim);
    for (int k = 0; k < c.dim; ++k) {
      const float* scale = theta.metric + metric * 2 * c.dim;
      const float unit = (counted ? 0.5f : 1.0f) / s.default_width;
      of_x[k] = std::exp(scale[k]) * unit;
      of_y[k] = std::exp(scale[c.dim + k]) * unit;
    }
    const Scaled x = scaled(s, s.x, s.used, of_x, context, arena);
    const Scaled y = scaled(s, s.y, s.used + c.dim, of_y, context, arena);
    const Sums sums = neighbours(x, y, levels, s, context, crew, arena);
    float* theirs = arena.take(2 * ld + n);
    for (int width = 0; width < c.widths; ++width) {
      const int level = levels.first + width;
      const float* near_x = sums.x + level * ld;
      std::memcpy(theirs, sums.y + level * ld, size_t(n) * sizeof(float));
      std::memcpy(theirs + n, theirs, size_t(n) * sizeof(float));
      float* out = features + (metric * c.widths + width) * (s.m + 1) * ld;
      for (int64_t j = 0; j <= s.m; ++j) {
        const float* both = j ? sums.pairs + (width * (s.m + 1) + j) * ld : sums.joint + level * ld;
        for (int64_t i = 0; i < n; i += LANES)
          store(out + j * ld + i, log_ratio(load(both + i), load(near_x + i),
                                            load(theirs + i + s.shifts[j]), context));
      }
    }
    if (counted) *counts = {sums.joint, sums.x, sums.y, context};
  }
}

Counts own_counts(const Sample& s, float fall, float* local, const Crew& crew, Arena& arena) {
  const int64_t context = context_size(s.n), ld = s.ld;
  float* scale = arena.take(s.dim);
  for (int k = 0; k < s.dim; ++k)
    scale[k] = std::exp(std::fmax(-fall * float(k), -3.0f)) / (2 * s.default_width);
  const Scaled x = scaled(s, s.x, s.used, scale, context, arena);
  const Scaled y = scaled(s, s.y, s.used + s.dim, scale, context, arena);
  float *both = arena.take(COUNTED * ld), *of_x = arena.take(COUNTED * ld);
  float* of_y = arena.take(COUNTED * ld);
  for_each(crew, (s.n + GROUP - 1) / GROUP, [&](int64_t group, Arena& scratch) {
    constexpr int MANY = 4;
    const int64_t end = (group + 1) * GROUP < s.n ? (group + 1) * GROUP : s.n;
    float* widest = local ? scratch.take(2 * context * LANES) : nullptr;  // kernel values
    for (int64_t i = group * GROUP; i < end; i += LANES) {
      Vec sums[COUNTED][3] = {};
      const auto take = [&]<int COUNT>(int64_t c) INFOATLAS_LAMBDA {
        Vec kx[COUNT], ky[COUNT];
        gaussian<COUNT>(x, ld, i, c, kx);
        gaussian<COUNT>(y, ld, i, c, ky);
        if (c < i + LANES && c + COUNT > i)  // no sample is its own neighbour
          for (int g = 0; g < COUNT; ++g)
            if (c + g >= i && c + g < i + LANES) kx[g][c + g - i] = ky[g][c + g - i] = 0;
        if (local)
          for (int g = 0; g < COUNT; ++g) {
            store(widest + (c + g) * LANES, kx[g]);
            store(widest + (context + c + g) * LANES, ky[g]);
          }
        for (int level = 0; level < COUNTED; ++level)
          for (int g = 0; g < COUNT; ++g) {
            sums[level][0] += kx[g] * ky[g];
            sums[level][1] += kx[g];
            sums[level][2] += ky[g];
            if (level + 1 == COUNTED) continue;
            kx[g] = fourth_power(kx[g]);
            ky[g] = fourth_power(ky[g]);
          }
      };
      int64_t c = 0;
      for (; c + MANY <= context; c += MANY) take.template operator()<MANY>(c);
      for (; c < context; ++c) take.template operator()<1>(c);
      for (int level = 0; level < COUNTED; ++level) {
        store(both + level * ld + i, sums[level][0]);
        store(of_x + level * ld + i, sums[level][1]);
        store(of_y + level * ld + i, sums[level][2]);
      }
      if (local) store(local + i, from_distances(widest, widest + context * LANES, context));
    }
  });
  return {both, of_x, of_y, context};
}

}  // namespace infoatlas::INFOATLAS_TARGET
