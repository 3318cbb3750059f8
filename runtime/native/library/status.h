// Exceptions at the boundary of the C functions.
#pragma once

#include <infoatlas/infoatlas.h>

#include <new>
#include <stdexcept>
#include <string>

#include "errors.h"

namespace infoatlas {

// Keeps a message, shortened if necessary, for infoatlas_last_error; returns the status.
infoatlas_status failed(infoatlas_status status, const char* message) noexcept;

// The status of f(), which returns one, or of the exception that it throws.
template <class F>
infoatlas_status guarded(F f) noexcept {
  try {
    return f();
  } catch (const InputError& error) {
    return failed(INFOATLAS_INPUT_ERROR, error.what());
  } catch (const FileError& error) {
    return failed(INFOATLAS_FILE_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return failed(INFOATLAS_MEMORY_ERROR, "memory is short: free some, or use smaller sizes");
  } catch (const std::exception& error) {
    return failed(INFOATLAS_FAULT, error.what());
  } catch (...) {
    return failed(INFOATLAS_FAULT, "an unknown exception");
  }
}

// InputError unless a pointer of the caller is there; `name` is that of the argument.
inline void require(const void* pointer, const char* name) {
  if (!pointer) throw InputError(std::string(name) + " is a null pointer: pass a valid one");
}

}  // namespace infoatlas
