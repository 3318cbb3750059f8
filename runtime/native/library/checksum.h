// The checksum of a model file (onnx_content.py of the runtime).
#pragma once

#include <string>
#include <string_view>

namespace infoatlas {

// SHA-256 of all fields of an .onnx file except the checksum in its metadata, in hexadecimal; empty
// if the framing is broken.
std::string checksum(std::string_view content);

}  // namespace infoatlas
