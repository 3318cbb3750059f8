// Identifies the code of the model that a file was exported from (infoatlas_export/model_code.py).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace infoatlas {

// Digests of the code of the models that the stages support, the newest first.
std::span<const std::string_view> implemented();

// Throws std::runtime_error unless the metadata of a file state code that is implemented. `name` is
// the name of the file in the message.
void check_code(const std::map<std::string, std::string>& metadata, const std::string& name);

}  // namespace infoatlas
