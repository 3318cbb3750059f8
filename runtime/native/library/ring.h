// Values of the newest steps of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace infoatlas {

// `width` values of each of the newest `length` steps; step t is in slot t % length.
template <class T>
class Ring {
 public:
  Ring(int64_t length, size_t width)
      : length_(length), width_(width), values_(size_t(length) * width) {}

  T* operator[](int64_t step) { return values_.data() + size_t(step % length_) * width_; }
  const T* operator[](int64_t step) const {
    return values_.data() + size_t(step % length_) * width_;
  }
  size_t bytes() const { return sizeof(T) * values_.size(); }

 private:
  int64_t length_;
  size_t width_;
  std::vector<T> values_;
};

}  // namespace infoatlas
