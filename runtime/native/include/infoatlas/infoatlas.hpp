// C++ classes for infoatlas.h: they release what they hold, and throw infoatlas::Error.
#pragma once

#include <infoatlas/infoatlas.h>

#include <stdexcept>

namespace infoatlas {

class Error : public std::runtime_error {
 public:
  explicit Error(infoatlas_status status)
      : std::runtime_error(infoatlas_last_error()), status_(status) {}
  infoatlas_status status() const noexcept { return status_; }

 private:
  infoatlas_status status_;
};

// Whether a call gave a result (INFOATLAS_OK) or none yet (INFOATLAS_NONE); throws Error otherwise.
inline bool check(infoatlas_status status) {
  if (status != INFOATLAS_OK && status != INFOATLAS_NONE) throw Error(status);
  return status == INFOATLAS_OK;
}

}  // namespace infoatlas
