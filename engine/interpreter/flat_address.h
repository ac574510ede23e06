// Addresses of FLAT, GLOBAL and SCRATCH instructions (guide 11.2).
#pragma once

#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/memory_access.h"

namespace lockstep::interpreter {

enum class Space { flat, global, scratch };

// SGPR base + 32-bit VGPR offset + immediate, or 64-bit VGPR address + immediate.
struct GlobalAddress {
  uint64_t base;
  uint32_t low, high;  // VGPRs; `high` only without scalar base
  bool wide;

  GlobalAddress(const Operation* op, Wave* wave)
      : base(static_cast<uint64_t>(op->offset)),
        low(op->source[0]),
        high(op->source[0] + wave->register_bytes),
        wide(!(op->source_flags & kHasScalarBase)) {
    if (!wide) base += scalar_at(wave, op->source[2]) | uint64_t{scalar_at(wave, op->source[2] + 4)} << 32;
  }

  uint64_t of_lane(Wave* wave, unsigned lane) const {
    uint64_t offset = vgpr_lanes(wave, low)[lane];
    if (wide) offset |= uint64_t{vgpr_lanes(wave, high)[lane]} << 32;
    return base + offset;
  }

  // Whether 16 lanes address elements that lie one behind the other; if so, the address of the first.
  LOCKSTEP_INLINE bool consecutive(Wave* wave, unsigned chunk, uint32_t bytes, uint64_t* first) const {
    const U32 offsets = *vgpr_chunk(wave, low, chunk);
    const uint32_t start = offsets[0];
    // No carry out of the low half within the chunk.
    if (start > ~0u - 16 * bytes || !all_lanes(offsets == start + lane_numbers() * bytes)) return false;
    uint64_t address = base + start;
    if (wide) {
      const U32 upper = *vgpr_chunk(wave, high, chunk);
      if (!all_lanes(upper == upper[0])) return false;
      address += uint64_t{upper[0]} << 32;
    }
    *first = address;
    return true;
  }

  // Whether the elements of all these lanes are in the range, and the upper halves of their addresses are the
  // same; if so, what their lower halves are to be added to.
  LOCKSTEP_INLINE bool within(const CachedRange& range, Wave* wave, unsigned chunk, uint16_t lanes,
                              uint32_t bytes, uint64_t* from) const {
    uint64_t start = base;
    if (wide) {
      const U32 upper = *vgpr_chunk(wave, high, chunk);
      const uint32_t one = vgpr_lanes(
          wave, high)[chunk * kLanesPerChunk + static_cast<unsigned>(std::countr_zero(uint32_t{lanes}))];
      if ((bits_from_mask(mask_of(upper != one)) & lanes) != 0) return false;
      start += uint64_t{one} << 32;
    }
    if (range.end <= range.begin || range.end - range.begin < bytes) return false;
    // The lower halves of the first and the last address that may be: what lies outside of 32 bits is cut
    // off.
    const uint64_t last_begin = range.end - bytes;
    if (start > last_begin || (start < range.begin && range.begin - start > ~0u)) return false;
    const auto lowest = static_cast<uint32_t>(start < range.begin ? range.begin - start : 0);
    const auto highest = static_cast<uint32_t>(last_begin - start > ~0u ? ~0u : last_begin - start);
    const U32 offsets = *vgpr_chunk(wave, low, chunk);
    if ((bits_from_mask(mask_of((offsets < lowest) | (offsets > highest))) & lanes) != 0) return false;
    *from = start;
    return true;
  }
};

inline bool in_shared_aperture(uint64_t address) {
  return address >> 32 == kSharedApertureBase >> 32;
}
inline bool in_private_aperture(uint64_t address) {
  return address >> 32 == kPrivateApertureBase >> 32;
}
inline bool in_aperture(uint64_t address) {
  return in_shared_aperture(address) || in_private_aperture(address);
}

// Scratch memory holds dword n of all lanes of a wave side by side.
inline uint64_t scratch_address(const Wave* wave, uint32_t offset, unsigned lane) {
  return wave->scratch_base + uint64_t{offset / 4} * wave->register_bytes + lane * 4 + offset % 4;
}

inline bool in_given_scratch(const Wave* wave, uint32_t offset, uint32_t bytes) {
  return offset <= wave->scratch_bytes && wave->scratch_bytes - offset >= bytes;
}

// Of the offset of a SCRATCH instruction, what all lanes have in common.
inline uint32_t scratch_offset(const Operation* op, Wave* wave) {
  return static_cast<uint32_t>(op->offset) +
         (op->source_flags & kHasScalarBase ? scalar_at(wave, op->source[2]) : 0);
}

// A lane's scratch, byte by byte, because an unaligned element is not contiguous there. Where the trap
// handler has set FLAT_SCRATCH it is guest memory like any other. False if some of it is out of range; then
// nothing was stored.
bool load_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset, uint32_t bytes,
                  std::byte* to);
bool store_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset, uint32_t bytes,
                   const std::byte* from);
// Where an atomic finds an aligned dword of a lane's scratch; null if out of range.
std::byte* modifiable_scratch(const Operation* op, Wave* wave, unsigned lane, uint32_t offset);

// False if out of range.
template <class Element, bool is_load>
static bool access_scratch_lane(const Operation* op, Wave* wave, unsigned lane, uint32_t offset) {
  std::byte bytes[Element::bytes];
  if constexpr (is_load) {
    if (!load_scratch(op, wave, lane, offset, Element::bytes, bytes)) return false;
    load_lane<Element>(wave, op->dst, lane, bytes);
    return true;
  } else {
    store_lane<Element>(wave, op->source[1], lane, bytes);
    return store_scratch(op, wave, lane, offset, Element::bytes, bytes);
  }
}

// A FLAT access that an aperture sends to LDS or scratch. False if out of range.
template <class Element, bool is_load>
static bool access_aperture(const Operation* op, Wave* wave, unsigned lane, uint64_t address) {
  const uint32_t offset = static_cast<uint32_t>(address);
  if (in_private_aperture(address)) return access_scratch_lane<Element, is_load>(op, wave, lane, offset);
  if (!in_lds(wave, offset, Element::bytes)) return false;
  if constexpr (is_load)
    load_lane<Element>(wave, op->dst, lane, wave->lds + offset);
  else
    store_lane<Element>(wave, op->source[1], lane, wave->lds + offset);
  return true;
}

void raise_scratch_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint32_t offset,
                             uint32_t bytes, Access access);

}  // namespace lockstep::interpreter
