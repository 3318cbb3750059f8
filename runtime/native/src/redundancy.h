// Coordinates of a side that others determine (redundancy.py of the runtime).
#pragma once

#include <cstdint>
#include <vector>

namespace infoatlas {

// Keeps its memory for the next call.
class Redundancy {
 public:
  // Whether each coordinate of samples [n, d] is determined linearly by those before: [d], valid
  // until the next call.
  const char* find(const double* samples, int64_t n, int64_t d);

 private:
  std::vector<double> mean_, centred_, covariance_;  // [d], [d], [d, d]
  std::vector<char> found_;
};

// Of one side of a stream, whose coordinates are decided once.
class StreamRedundancy {
 public:
  // Allocates all memory for windows of at most n samples of d coordinates.
  StreamRedundancy(int64_t n, int64_t d);

  void forget();

  // Whether each coordinate is redundant, given the samples [n, d] of the newest window: [d].
  const char* update(const double* samples, int64_t n);

 private:
  Redundancy redundancy_;
  std::vector<char> varies_, undecided_, out_;
  int64_t updates_;
};

}  // namespace infoatlas
