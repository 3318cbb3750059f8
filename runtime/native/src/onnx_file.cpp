#include "onnx_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace infoatlas {

namespace {

// Numbers of fields, from onnx.proto.
enum { GRAPH = 7, METADATA = 14 };                                     // of a model
enum { INITIALIZER = 5 };                                              // of a graph
enum { DIMS = 1, DATA_TYPE = 2, FLOAT_DATA = 4, NAME = 8, RAW_DATA = 9 };  // of a tensor
enum { KEY = 1, VALUE = 2 };                                           // of an entry
constexpr uint64_t FLOAT = 1;

struct Bytes {
  const unsigned char* at;
  const unsigned char* end;
  std::string text() const { return std::string(at, end); }
};

struct Broken {};

// The wire format of protocol buffers: a message is a sequence of numbered fields.
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

void append(std::vector<float>& values, Bytes raw) {
  const size_t size = size_t(raw.end - raw.at), before = values.size();
  if (size % 4) throw Broken();
  if (!size) return;
  values.resize(before + size / 4);
  std::memcpy(values.data() + before, raw.at, size);  // little-endian, as the machine
}

void read_tensor(Bytes message, OnnxFile& file) {
  Constant found;
  std::string name;
  uint64_t type = 0;
  for (Reader field(message); field.next();) {
    switch (field.number) {
      case DIMS:
        if (!field.content.at) {
          found.shape.push_back(int64_t(field.value));
        } else {
          for (Reader packed(field.content); packed.rest.at != packed.rest.end;)
            found.shape.push_back(int64_t(packed.integer()));
        }
        break;
      case DATA_TYPE: type = field.value; break;
      case NAME: name = field.content.text(); break;
      case FLOAT_DATA: append(found.values, field.content); break;
      case RAW_DATA: append(found.values, field.content); break;
    }
    if (type && type != FLOAT) return;
  }
  uint64_t size = 1;
  for (const int64_t extent : found.shape) {
    if (extent < 0 || extent > (int64_t(1) << 31)) throw Broken();
    size *= uint64_t(extent);
    if (size > (uint64_t(1) << 31)) throw Broken();
  }
  if (size != found.values.size()) throw Broken();
  file.constants[name] = std::move(found);
}

void read_graph(Bytes message, OnnxFile& file) {
  for (Reader field(message); field.next();)
    if (field.number == INITIALIZER && field.content.at) {
      // A tensor of integers has its data in a field of another type: only floats are read.
      uint64_t type = 0;
      for (Reader part(field.content); part.next();)
        if (part.number == DATA_TYPE) type = part.value;
      if (type == FLOAT) read_tensor(field.content, file);
    }
}

void read_entry(Bytes message, OnnxFile& file) {
  std::string key, value;
  for (Reader field(message); field.next();) {
    if (field.number == KEY) key = field.content.text();
    if (field.number == VALUE) value = field.content.text();
  }
  file.metadata[key] = value;
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot open " + path + ": check the path");
  return {std::istreambuf_iterator<char>(stream), {}};
}

OnnxFile read_onnx(std::string_view content, const std::string& name) {
  const auto* at = reinterpret_cast<const unsigned char*>(content.data());
  OnnxFile file;
  try {
    for (Reader field(Bytes{at, at + content.size()}); field.next();) {
      if (field.number == GRAPH && field.content.at) read_graph(field.content, file);
      if (field.number == METADATA && field.content.at) read_entry(field.content, file);
    }
  } catch (const Broken&) {
    throw std::runtime_error(name + " is truncated or not an ONNX file: copy it again");
  }
  if (file.constants.empty())
    throw std::runtime_error(name + " holds no weights: it is not a model of infoatlas-rt");
  return file;
}

}  // namespace infoatlas
