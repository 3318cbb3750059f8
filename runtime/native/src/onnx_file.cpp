#include "onnx_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "wire.h"

namespace infoatlas {

namespace {

// Numbers of fields, from onnx.proto.
enum { GRAPH = 7, METADATA = 14 };                                     // of a model
enum { INITIALIZER = 5 };                                              // of a graph
enum { DIMS = 1, DATA_TYPE = 2, FLOAT_DATA = 4, NAME = 8, RAW_DATA = 9 };  // of a tensor
enum { KEY = 1, VALUE = 2 };                                           // of an entry
constexpr uint64_t FLOAT = 1;

void append(std::vector<float>& values, Bytes raw) {
  const size_t size = size_t(raw.end - raw.at), before = values.size();
  if (size % 4) throw Broken();
  if (!size) return;
  values.resize(before + size / 4);
  std::memcpy(values.data() + before, raw.at, size);  // little-endian, as on this machine
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
  try {
    return {std::istreambuf_iterator<char>(stream), {}};
  } catch (const std::ios_base::failure&) {
    throw std::runtime_error("cannot read " + path + ": check that it is a file");
  }
}

OnnxFile read_onnx(std::string_view content, const std::string& name) {
  const auto* at = reinterpret_cast<const unsigned char*>(content.data());
  OnnxFile file;
  int graphs = 0;
  try {
    for (Reader field(Bytes{at, at + content.size()}); field.next();) {
      if (field.number == GRAPH && field.content.at) {
        read_graph(field.content, file);
        ++graphs;
      }
      if (field.number == METADATA && field.content.at) read_entry(field.content, file);
    }
  } catch (const Broken&) {
    throw std::runtime_error(name + " is truncated or not an ONNX file: copy it again");
  }
  if (graphs > 1)  // other readers merge them
    throw std::runtime_error(name + " has " + std::to_string(graphs) + " graphs: copy it again");
  if (file.constants.empty())
    throw std::runtime_error(name + " holds no weights: it is not a model of infoatlas-rt");
  return file;
}

}  // namespace infoatlas
