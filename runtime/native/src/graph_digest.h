// Identifies the graph of a file, by the digests of export/infoatlas_export/graph_digest.py.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace infoatlas {

// Digests of the code of the models that the stages support, the newest first.
std::span<const std::string_view> implemented();

// Throws std::runtime_error unless the content of an .onnx file has the graph that its metadata
// states, traced from code that is implemented. `name` is the name of the file in the message.
void check_graph(std::string_view content, const std::map<std::string, std::string>& metadata,
                 const std::string& name);

}  // namespace infoatlas
