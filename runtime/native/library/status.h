// Exceptions at the boundary of the C functions.
#pragma once

#include <infoatlas/infoatlas.h>

#include <new>
#include <stdexcept>
#include <utility>

namespace infoatlas {

// An argument of the caller cannot be used; the message names the value and the way out.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file cannot be used, or a model has values that are not finite.
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

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

}  // namespace infoatlas
