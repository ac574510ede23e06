// Fields of packets.
#pragma once

#include <cstdint>

namespace lockstep::command {

// `count` bits of a dword, from `low` upwards.
inline uint32_t bits(uint32_t value, unsigned low, unsigned count) {
  return value >> low & ((1u << count) - 1);
}

}  // namespace lockstep::command
