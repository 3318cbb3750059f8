// The boundary of the C functions: arguments, structures of older programs, exceptions.
#pragma once

#include <infoatlas/infoatlas.h>

#include <cstring>
#include <initializer_list>
#include <new>

#include "errors.h"

namespace infoatlas {

struct Argument {
  const void* at;
  const char* name;
};

// Whether an argument is a null pointer, which is refused.
inline bool missing(std::initializer_list<Argument> arguments) noexcept {
  for (const auto& [at, name] : arguments)
    if (!at)
      return refuse(INFOATLAS_INPUT_ERROR, "%s is a null pointer: pass a valid one", name);
  return false;
}

// Whether the size of a caller's structure is one that no version of this library had, which is
// refused.
template <class T>
bool unknown_size(const T& own, const char* name) noexcept {
  if (own.struct_size >= sizeof own.struct_size && own.struct_size <= sizeof(T)) return false;
  return refuse(INFOATLAS_INPUT_ERROR,
                "%s has the struct_size %zu, and %zu is the largest that this library ("
                INFOATLAS_VERSION ") knows: begin with INFOATLAS_INIT, or install the library that "
                "belongs to the headers", name, own.struct_size, sizeof(T));
}

// A caller's structure of this or an older version, with zeros in the fields that it lacks.
template <class T>
T whole(const T& given) noexcept {
  T own{};
  std::memcpy(&own, &given, given.struct_size);
  own.struct_size = sizeof(T);
  return own;
}

// Writes the fields that the caller's structure has.
template <class T>
void give(T own, T& to) noexcept {
  own.struct_size = to.struct_size;
  std::memcpy(&to, &own, own.struct_size);
}

// The status of f(), which returns one, or of the exception that it throws.
template <class F>
infoatlas_status guarded(F f) noexcept {
  try {
    return f();
  } catch (const InputError& error) {
    return refuse(INFOATLAS_INPUT_ERROR, "%s", error.what());
  } catch (const FileError& error) {
    return refuse(INFOATLAS_FILE_ERROR, "%s", error.what());
  } catch (const std::bad_alloc&) {
    return refuse(INFOATLAS_MEMORY_ERROR, "out of memory: free some, or use smaller sizes");
  } catch (const std::exception& error) {
    return refuse(INFOATLAS_FAULT, "%s", error.what());
  } catch (...) {
    return refuse(INFOATLAS_FAULT, "an unknown exception");
  }
}

}  // namespace infoatlas
