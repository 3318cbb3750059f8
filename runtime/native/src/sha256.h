// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace infoatlas {

std::array<unsigned char, 32> sha256(std::string_view message);

}  // namespace infoatlas
