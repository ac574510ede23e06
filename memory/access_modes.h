// How a device treats addresses that are not aligned, and LDS addresses that are out of range.
#pragma once

#include <cstdint>

namespace lockstep::memory {

// SH_MEM_CONFIG.ALIGNMENT_MODE, by its numbers (guide 9.5).
enum class AlignmentMode : uint8_t {
  dword,         // the address is aligned, to a dword at most
  dword_strict,  // it must be, or it is a memory violation
  strict,        // to the size of the data
  unaligned,     // any address will do
};

struct AccessModes {
  // The guide does not say what a device starts with; the ROCm driver sets this (Linux,
  // DEFAULT_SH_MEM_CONFIG).
  AlignmentMode alignment = AlignmentMode::unaligned;
  // LDS_CONFIG.ADDR_OUT_OF_RANGE_REPORTING: an LDS address out of range is a memory violation (guide 12.7).
  bool reports_lds_out_of_range = false;

  bool operator==(const AccessModes&) const = default;
};

constexpr bool is_strict(AlignmentMode mode) {
  return mode == AlignmentMode::dword_strict || mode == AlignmentMode::strict;
}

constexpr const char* name_of(AlignmentMode mode) {
  constexpr const char* kNames[] = {"DWORD", "DWORD_STRICT", "STRICT", "UNALIGNED"};
  return kNames[static_cast<unsigned>(mode)];
}

// The data of LDS and GDS: three dwords are aligned as four (guide 3.3.4.1). The guide has nothing for three
// dwords of memory in mode STRICT (open): the same.
constexpr uint32_t natural_alignment(uint32_t bytes) {
  return bytes == 12 ? 16 : bytes;
}

// What the address of an access to memory is, or must be, a multiple of (guide 9.5).
constexpr uint32_t memory_alignment(AlignmentMode mode, uint32_t bytes) {
  switch (mode) {
    case AlignmentMode::unaligned:
      return 1;
    case AlignmentMode::strict:
      return natural_alignment(bytes);
    default:
      return bytes < 4 ? bytes : 4;
  }
}

// Likewise of an access to LDS or GDS: there the other modes do not differ (guide 3.3.4.1).
constexpr uint32_t lds_alignment(AlignmentMode mode, uint32_t bytes) {
  return mode == AlignmentMode::unaligned ? 1 : natural_alignment(bytes);
}

// Likewise of an access that converts formats, whatever its components are (guide 9.5). Mode UNALIGNED takes
// any address there, too (open: the guide lets the mode govern the others only).
constexpr uint32_t format_alignment(AlignmentMode mode, uint32_t bytes) {
  return mode == AlignmentMode::unaligned ? 1 : bytes < 4 ? bytes : 4;
}

}  // namespace lockstep::memory
