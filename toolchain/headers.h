// The header files that this folder gives to device code, embedded so that the library needs no data files.
#pragma once

#include <span>
#include <string_view>

namespace lockstep::toolchain {

struct Header {
  std::string_view path;  // relative to the include directory
  std::string_view text;
};

std::span<const Header> embedded_headers();

}  // namespace lockstep::toolchain
