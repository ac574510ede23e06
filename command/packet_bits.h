// Fields of packets.
#pragma once

#include <cstdint>

namespace lockstep::command {

// `count` bits of a dword, from `low` upwards.
inline uint32_t bits(uint32_t value, unsigned low, unsigned count) {
  return value >> low & ((1u << count) - 1);
}

inline uint64_t pair(uint32_t low, uint32_t high) {
  return low | uint64_t{high} << 32;
}

// How packets that wait or choose compare.
inline constexpr uint32_t kLastFunction = 6;
inline constexpr const char* kNoSuchFunction = "7 (0 always, then <, <=, ==, !=, >=, 6 is >)";
inline bool compare(uint32_t function, uint64_t value, uint64_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    default:
      return value > reference;
  }
}

}  // namespace lockstep::command
