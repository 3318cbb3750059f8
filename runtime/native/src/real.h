// Reals of a file.
#pragma once

#include <locale.h>
#include <stdlib.h>

namespace infoatlas {

// strtod with a decimal point. That of the standard library expects a comma after
// setlocale(LC_ALL, "") in many countries, which graphical programs call.
inline double read_real(const char* text, char** end) {
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return strtod_l(text, end, plain);
}

}  // namespace infoatlas
