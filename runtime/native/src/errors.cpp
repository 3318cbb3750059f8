#include "errors.h"

#include <cstdarg>
#include <cstdio>

namespace infoatlas {

namespace {

thread_local char message[1024];  // longer messages are shortened

}  // namespace

infoatlas_status refuse(infoatlas_status status, const char* format, ...) noexcept {
  va_list values;
  va_start(values, format);
  std::vsnprintf(message, sizeof message, format, values);
  va_end(values);
  return status;
}

const char* last_error() noexcept { return message; }

}  // namespace infoatlas
