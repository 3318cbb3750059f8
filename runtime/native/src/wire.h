// Reads the wire format of protocol buffers, which .onnx files have.
#pragma once

#include <cstdint>
#include <string>

namespace infoatlas {

// A part of a file in memory.
struct Bytes {
  const unsigned char* at;
  const unsigned char* end;
  std::string text() const { return std::string(at, end); }
};

// The message is truncated, or no message.
struct Broken {};

// A message is a sequence of numbered fields.
struct Reader {
  explicit Reader(Bytes message) : rest(message) {}

  bool next() {
    if (rest.at == rest.end) return false;
    const uint64_t key = integer();
    number = int(key >> 3);
    switch (key & 7) {
      case 0: value = integer(); content = {nullptr, nullptr}; break;
      case 1: content = take(8); break;
      case 2: content = take(integer()); break;
      case 5: content = take(4); break;
      default: throw Broken();
    }
    return true;
  }

  uint64_t integer() {
    uint64_t found = 0;
    for (int shift = 0; shift < 64 && rest.at != rest.end; shift += 7) {
      const uint64_t byte = *rest.at++;
      found |= (byte & 0x7f) << shift;
      if (byte < 0x80) return found;
    }
    throw Broken();
  }

  Bytes take(uint64_t size) {
    if (size > uint64_t(rest.end - rest.at)) throw Broken();
    const Bytes found{rest.at, rest.at + size};
    rest.at += size;
    return found;
  }

  Bytes rest;
  int number = 0;
  uint64_t value = 0;          // of an integer
  Bytes content{nullptr, nullptr};  // of anything else
};

}  // namespace infoatlas
