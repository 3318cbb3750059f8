// Which graph a file has. export/infoatlas_export/graph_digest.py has the definitions.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace infoatlas {

// Digests of the model's code that the stages compute, the newest first.
std::span<const std::string_view> implemented();

// Throws std::runtime_error unless the content of an .onnx file has the graph that its metadata
// states, traced from code that is implemented. `name` is what the message calls the file.
void check_graph(std::string_view content, const std::map<std::string, std::string>& metadata,
                 const std::string& name);

}  // namespace infoatlas
