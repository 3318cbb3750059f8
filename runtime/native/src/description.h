// What the metadata of a model file say about its estimates (model_file.py of the runtime).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace infoatlas {

constexpr int64_t LEAST_SHIFTS = 4;

// Constants of the standard error of one kind of estimate.
struct Constants {
  double noise, spread, ceiling, few, predicted, beyond;
};

struct Description {
  std::string name, version;
  int64_t n_min, n_max, shifts, pairs;
  bool calibrated = false;
  Constants unsliced{}, sliced{};

  // Default number of cyclic shifts.
  int64_t shift_count(int64_t n, int64_t slices) const {
    return std::min(n - 1, std::max(shifts, pairs / (n * slices)));
  }
};

// Throws std::runtime_error if an entry is missing or cannot be used; `name` is that of the file.
Description describe(const std::map<std::string, std::string>& metadata, const std::string& name);

}  // namespace infoatlas
