// Reads constants by name and metadata of .onnx files. The nodes of the graph are not read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace infoatlas {

struct Constant {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

struct OnnxFile {
  std::map<std::string, Constant> constants;  // of type float only
  std::map<std::string, std::string> metadata;
};

// The content of a file. Throws std::runtime_error if it cannot be read.
std::string read_file(const std::string& path);

// Throws std::runtime_error if the content is truncated or not that of an ONNX file; `name` is its
// name in the message.
OnnxFile read_onnx(std::string_view content, const std::string& name);

}  // namespace infoatlas
