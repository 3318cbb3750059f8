// What can be wrong with what a caller passes.
#pragma once

#include <infoatlas/infoatlas.h>

#include <stdexcept>

namespace infoatlas {

// Keeps a message, as printf makes it, as the last error of this thread; returns the status. It
// allocates nothing, so calls after creation refuse in this way. What makes something throws.
__attribute__((format(printf, 2, 3))) infoatlas_status refuse(infoatlas_status status,
                                                              const char* format, ...) noexcept;

// The message of this thread's last refusal; empty if there was none.
const char* last_error() noexcept;

// An argument cannot be used; the message names the value and the way out.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file cannot be used, or a model has values that are not finite.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace infoatlas
