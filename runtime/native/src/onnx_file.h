// A reader of .onnx files: constants by name, and metadata. Nothing of the graph is read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace infoatlas {

struct Constant {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

struct OnnxFile {
  std::map<std::string, Constant> constants;  // those of type float
  std::map<std::string, std::string> metadata;
};

// Throws std::runtime_error if the file cannot be read, is truncated or not an ONNX file.
OnnxFile read_onnx(const std::string& path);

}  // namespace infoatlas
