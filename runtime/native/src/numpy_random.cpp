#include "numpy_random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace infoatlas {

namespace {

constexpr int POOL = 4;

// Words for the state of a generator: SeedSequence of NumPy.
struct Seeds {
  Seeds(uint64_t seed, uint32_t child) {
    const uint32_t entropy[] = {uint32_t(seed), uint32_t(seed >> 32), 0, 0, child};
    uint32_t multiplier = 0x43b0d7e5;
    const auto hash = [&multiplier](uint32_t value) {
      value ^= multiplier;
      multiplier *= 0x931e8875;
      value *= multiplier;
      return value ^ value >> 16;
    };
    const auto mix = [](uint32_t x, uint32_t y) {
      const uint32_t found = 0xca01f9ddu * x - 0x4973f715u * y;
      return found ^ found >> 16;
    };
    for (int i = 0; i < POOL; ++i) pool[i] = hash(entropy[i]);
    for (int from = 0; from < POOL; ++from)
      for (int to = 0; to < POOL; ++to)
        if (from != to) pool[to] = mix(pool[to], hash(pool[from]));
    for (uint32_t& word : pool) word = mix(word, hash(entropy[POOL]));
  }

  uint64_t next() {
    const uint64_t low = half();
    return low | uint64_t(half()) << 32;
  }

  uint32_t half() {
    uint32_t value = pool[at++ % POOL] ^ multiplier;
    multiplier *= 0x58f38ded;
    value *= multiplier;
    return value ^ value >> 16;
  }

  uint32_t pool[POOL], multiplier = 0x8b51f9dd;
  int at = 0;
};

// The ziggurat of Marsaglia and Tsang (2000) with 256 layers of equal area.
struct Ziggurat {
  static constexpr long double LAST = 3.6541528853610087963519472518L;
  static constexpr int LAYERS = 256;
  uint64_t inside[LAYERS];
  double width[LAYERS], height[LAYERS];

  Ziggurat() {
    const long double scale = 0x1p52L;
    const auto density = [](long double x) { return std::exp(-x * x / 2); };
    long double x = LAST;
    const long double tail = std::sqrt(std::acos(-1.0L) / 2) * std::erfc(x / std::sqrt(2.0L));
    const long double area = x * density(x) + tail, bottom = area / density(x);
    inside[0] = uint64_t(x / bottom * scale);
    inside[1] = 0;
    width[0] = double(bottom / scale);
    width[LAYERS - 1] = double(x / scale);
    height[0] = 1;
    height[LAYERS - 1] = double(density(x));
    for (int i = LAYERS - 2; i > 0; --i) {
      const long double above = std::sqrt(-2 * std::log(area / x + density(x)));
      inside[i + 1] = uint64_t(above / x * scale);
      width[i] = double(above / scale);
      height[i] = double(density(above));
      x = above;
    }
  }
};

}  // namespace

Random::Random(uint64_t seed, uint32_t child) {
  Seeds seeds(seed, child);
  const auto wide = [&seeds] {
    const unsigned __int128 high = seeds.next();
    return high << 64 | seeds.next();
  };
  const unsigned __int128 start = wide();
  increment_ = wide() << 1 | 1;
  next();
  state_ += start;
  next();
}

// PCG64 (XSL-RR).
uint64_t Random::next() {
  constexpr unsigned __int128 FACTOR =
      (unsigned __int128)0x2360ED051FC65DA4 << 64 | 0x4385DF649FCCF645;
  state_ = state_ * FACTOR + increment_;
  const auto value = uint64_t(state_ >> 64) ^ uint64_t(state_);
  const auto turn = int(state_ >> 122);
  return value >> turn | value << (-turn & 63);
}

uint32_t Random::next_half() {
  has_half_ = !has_half_;
  if (!has_half_) return half_;
  const uint64_t both = next();
  half_ = uint32_t(both >> 32);
  return uint32_t(both);
}

// Lemire (2019).
uint64_t Random::up_to(uint64_t most) {
  if (!most) return 0;
  const uint64_t count = most + 1;
  uint64_t product = next_half() * count;
  if (uint32_t(product) < count) {
    const uint64_t least = (0xffffffff - most) % count;
    while (uint32_t(product) < least) product = next_half() * count;
  }
  return product >> 32;
}

double Random::normal() {
  static const Ziggurat ziggurat;
  constexpr auto last = double(Ziggurat::LAST);
  for (;;) {
    uint64_t bits = next();
    const int layer = int(bits & 255);
    bits >>= 8;
    const uint64_t place = bits >> 1 & 0xfffffffffffff;
    const double size = double(place) * ziggurat.width[layer], x = bits & 1 ? -size : size;
    if (place < ziggurat.inside[layer]) return x;
    if (layer == 0) {
      for (;;) {
        const double beyond = -std::log1p(-uniform()) / last;
        const double y = -std::log1p(-uniform());
        if (y + y > beyond * beyond)
          return place >> 8 & 1 ? -(last + beyond) : last + beyond;
      }
    }
    const double low = ziggurat.height[layer], high = ziggurat.height[layer - 1];
    if ((high - low) * uniform() + low < std::exp(-x * x / 2)) return x;
  }
}

void Random::shuffle(int64_t n, int64_t first, int64_t* values) {
  for (int64_t i = n - 1; i >= first; --i) std::swap(values[i], values[up_to(uint64_t(i))]);
}

void Random::permutation(int64_t n, int64_t* found) {
  std::iota(found, found + n, 0);
  for (int64_t i = n - 1; i > 0; --i) {  // NumPy draws these numbers by rejection
    const uint32_t mask = std::bit_ceil(uint32_t(i) + 1) - 1;
    uint32_t other;
    while ((other = next_half() & mask) > i) continue;
    std::swap(found[i], found[other]);
  }
}

void Random::choice(int64_t n, int64_t count, int64_t* found, std::vector<int64_t>& space) {
  if (n > 10000 && count > n / 50) {
    space.resize(size_t(n));
    std::iota(space.begin(), space.end(), 0);
    shuffle(n, std::max<int64_t>(n - count, 1), space.data());
    std::copy_n(space.end() - count, count, found);
    return;
  }
  // Floyd's method, with a set of the numbers that have been drawn.
  const uint64_t size = std::bit_ceil(uint64_t(1.2 * double(count)) + 1), mask = size - 1;
  space.assign(size, -1);
  const auto place = [&](int64_t value) {
    uint64_t at = uint64_t(value) & mask;
    while (space[at] != -1 && space[at] != value) at = (at + 1) & mask;
    return at;
  };
  for (int64_t i = n - count; i < n; ++i) {
    auto value = int64_t(up_to(uint64_t(i)));
    uint64_t at = place(value);
    if (space[at] == value) at = place(value = i);
    space[at] = *found++ = value;
  }
  shuffle(count, 1, found - count);
}

}  // namespace infoatlas
