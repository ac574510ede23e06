#include "text/hex.h"

#include <cinttypes>
#include <cstdio>

namespace lockstep {

std::string hex(uint64_t value) {
  char digits[19];
  std::snprintf(digits, sizeof digits, "0x%" PRIx64, value);
  return digits;
}

}  // namespace lockstep
