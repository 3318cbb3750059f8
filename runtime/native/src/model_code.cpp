#include "model_code.h"

#include <algorithm>
#include <stdexcept>

namespace infoatlas {

namespace {

// After a change of the model's code (train/infoatlas_train/model), change the stages and insert
// its digest at the first place; tests/native/test_model_code.py reports it. Keep earlier digests
// as long as the results are the same.
constexpr std::string_view IMPLEMENTED[] = {
    "b835d9270c05204f12c5832a5e0b2dd953c455a1f964a71ba95b99ce352c0141",
    "0bb425b8dec41c47a9d903aa175f8cd05b4706b115d3043b8dc6467f10d09dd4",
    "abef5b1b6b27892626b0966e7507bb2e0564e7bf5ae499d3bd877bda4dc88d1f",
};

}  // namespace

std::span<const std::string_view> implemented() { return IMPLEMENTED; }

void check_code(const std::map<std::string, std::string>& metadata, const std::string& name) {
  const auto code = metadata.find("infoatlas.code");
  if (code == metadata.end())
    throw std::runtime_error(name + " does not state which graph it has (infoatlas.code in its "
                             "metadata): export the checkpoint again");
  const auto brief = [](std::string_view digest) { return std::string(digest.substr(0, 12)); };
  if (std::ranges::find(IMPLEMENTED, code->second) == std::end(IMPLEMENTED))
    throw std::runtime_error(name + " has the graph of other code of the model (infoatlas.code is " +
                             brief(code->second) + ") than this engine computes (" +
                             brief(IMPLEMENTED[0]) + "): install the engine of the checkout that "
                             "exported it, or export the checkpoint again");
}

}  // namespace infoatlas
