// The functions of infoatlas.h.
#include <infoatlas/infoatlas.h>

#include <cstdio>

#include "status.h"

namespace infoatlas {

namespace {

thread_local char last_error[1024];  // of fixed size, so that a failure needs no memory

}  // namespace

infoatlas_status failed(infoatlas_status status, const char* message) noexcept {
  std::snprintf(last_error, sizeof last_error, "%s", message);
  return status;
}

}  // namespace infoatlas

const char* infoatlas_version(void) { return INFOATLAS_VERSION; }

const char* infoatlas_last_error(void) { return infoatlas::last_error; }
