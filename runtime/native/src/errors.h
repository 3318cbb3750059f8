// What can be wrong with what a caller passes.
#pragma once

#include <stdexcept>

namespace infoatlas {

// An argument cannot be used; the message names the value and the way out.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file cannot be used, or a model has values that are not finite.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace infoatlas
