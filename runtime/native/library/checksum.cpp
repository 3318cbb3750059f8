#include "checksum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "wire.h"

namespace infoatlas {

namespace {

constexpr int METADATA = 14, KEY = 1;  // numbers of fields, from onnx.proto
constexpr int ROUNDS = 64, WORDS = 8;
constexpr size_t BLOCK = 64;

// SHA-256 (FIPS 180-4). Its constants are the first 32 bits of the fractional parts of the cube
// and square roots of primes.
class Sha256 {
 public:
  Sha256() {
    int count = 0;
    for (int number = 2; count < ROUNDS; ++number) {
      bool prime = true;
      for (int other = 2; other * other <= number; ++other) prime = prime && number % other;
      if (!prime) continue;
      const auto fraction = [](long double root) {
        return uint32_t((root - std::floor(root)) * 0x1p32L);
      };
      if (count < WORDS) state_[count] = fraction(std::sqrt((long double)number));
      constants_[count++] = fraction(std::cbrt((long double)number));
    }
  }

  void add(const void* bytes, size_t size) {
    const auto* at = static_cast<const unsigned char*>(bytes);
    while (size) {
      const size_t filled = total_ % BLOCK, some = std::min(size, BLOCK - filled);
      std::memcpy(block_ + filled, at, some);
      at += some;
      size -= some;
      total_ += some;
      if (filled + some == BLOCK) mix();
    }
  }

  std::string finish() {
    const uint64_t bits = total_ * 8;
    const unsigned char one = 0x80, zero = 0;
    add(&one, 1);
    while (total_ % BLOCK != BLOCK - 8) add(&zero, 1);
    for (int shift = 56; shift >= 0; shift -= 8) {
      const auto byte = (unsigned char)(bits >> shift);
      add(&byte, 1);
    }
    char text[WORDS * 8 + 1];
    for (int i = 0; i < WORDS; ++i) std::snprintf(text + 8 * i, 9, "%08x", state_[i]);
    return text;
  }

 private:
  void mix() {
    uint32_t w[ROUNDS], s[WORDS];
    for (int i = 0; i < 16; ++i)
      w[i] = uint32_t(block_[4 * i]) << 24 | uint32_t(block_[4 * i + 1]) << 16 |
             uint32_t(block_[4 * i + 2]) << 8 | block_[4 * i + 3];
    for (int i = 16; i < ROUNDS; ++i) {
      const uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    std::memcpy(s, state_, sizeof s);
    for (int i = 0; i < ROUNDS; ++i) {
      const uint32_t a = s[0], e = s[4];
      const uint32_t first = s[7] + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & s[5]) ^ (~e & s[6])) + constants_[i] + w[i];
      const uint32_t second = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) +
                              ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
      std::memmove(s + 1, s, sizeof s - sizeof s[0]);
      s[4] += first;
      s[0] = first + second;
    }
    for (int i = 0; i < WORDS; ++i) state_[i] += s[i];
  }

  uint32_t state_[WORDS], constants_[ROUNDS];
  unsigned char block_[BLOCK];
  uint64_t total_ = 0;
};

bool is_checksum(Bytes entry) {
  for (Reader field(entry); field.next();)
    if (field.number == KEY && field.content.text() == "infoatlas.checksum") return true;
  return false;
}

}  // namespace

std::string checksum(std::string_view content) {
  const auto* at = reinterpret_cast<const unsigned char*>(content.data());
  Sha256 found;
  try {
    for (Reader field(Bytes{at, at + content.size()}); field.next();) {
      const bool number = !field.content.at;
      if (field.number == METADATA && !number && is_checksum(field.content)) continue;
      const auto size = number ? field.value : uint64_t(field.content.end - field.content.at);
      const std::string head = std::to_string(field.number) + ':' + std::to_string(size) + ':';
      found.add(head.data(), head.size());
      if (!number) found.add(field.content.at, size);
    }
  } catch (const Broken&) {
    return "";
  }
  return found.finish();
}

}  // namespace infoatlas
