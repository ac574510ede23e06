// Instructions whose lanes read other lanes (guide 7.7, 7.2.8, 12.5.2). They are whole-wave bodies: plain
// functions over arrays of chunks, `wave.chunks` long (wave32: 2, wave64: 4), source and result arrays being
// different ones.
//   v_readlane_b32, v_readfirstlane_b32    eval(wave, source, ...) -> the scalar
//   v_writelane_b32                        eval(wave, value, lane, destination): in place, EXEC does not
//   count v_permlane*, ds_*permute, ds_swizzle   eval(wave, ..., source, result) -> the lanes to write, a
//   subset of EXEC dpp_select                             as those; it feeds the first source of any
//   instruction that has DPP
// Lanes of `result` outside the returned mask are unspecified.
//
// A 16-lane row is one chunk, so DPP and v_permlane16 are one shuffle a chunk. A DppSelection is made once,
// when the instruction is decoded. The translator reads its `source` and `in_row`, constants to it, and emits
// constant shuffles.
#pragma once

#include "semantics/body.h"

namespace lockstep::semantics {

struct WaveView {
  unsigned chunks;
  uint64_t exec;

  constexpr unsigned lanes() const { return chunks * kLanesPerChunk; }
  constexpr uint64_t lane_mask() const { return chunks == 4 ? ~uint64_t{0} : (uint64_t{1} << lanes()) - 1; }
  constexpr uint64_t active() const { return exec & lane_mask(); }
  constexpr uint16_t active_in(unsigned chunk) const { return static_cast<uint16_t>(exec >> chunk * 16); }
};

// result[i] = source[index[i] & 15].
LOCKSTEP_BODY U32 shuffle(U32 source, U32 index) {
#if defined(__AVX512F__)
  using Native = int __attribute__((vector_size(64)));
  return bits_as<U32>(__builtin_ia32_permvarsi512(bits_as<Native>(source), bits_as<Native>(index)));
#elif defined(__AVX2__)
  using Native = int __attribute__((vector_size(32)));
  using Half = uint32_t __attribute__((ext_vector_type(8)));
  const auto pick = [](Half half, Half from) __attribute__((always_inline)) {
    return bits_as<Half>(__builtin_ia32_permvarsi256(bits_as<Native>(half), bits_as<Native>(from)));
  };
  const Half low_index = index.lo, high_index = index.hi;
  const Half low = (low_index & 8) != 0 ? pick(source.hi, low_index) : pick(source.lo, low_index);
  const Half high = (high_index & 8) != 0 ? pick(source.hi, high_index) : pick(source.lo, high_index);
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  U32 result;
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) result[lane] = source[index[lane] & 15];
  return result;
#endif
}

// The bits of a lane mask moved as shuffle() moves lanes.
LOCKSTEP_BODY uint16_t shuffle_bits(uint16_t mask, U32 index) {
  return bits_from_mask(mask_of(bits_as<I32>((uint32_t{mask} >> (index & 15) & 1) != 0)));
}

LOCKSTEP_BODY uint32_t lane_of(const U32* source, unsigned lane) {
  return source[lane / 16][lane % 16];
}

// The lane number wraps at the wave size.
struct v_readlane_b32 {
  LOCKSTEP_BODY uint32_t eval(WaveView wave, const U32* source, uint32_t lane) {
    return lane_of(source, lane & (wave.lanes() - 1));
  }
};

// The lowest active lane, lane 0 if none is.
struct v_readfirstlane_b32 {
  LOCKSTEP_BODY uint32_t eval(WaveView wave, const U32* source) {
    const uint64_t active = wave.active();
    return lane_of(source, active == 0 ? 0 : __builtin_ctzll(active));
  }
};

struct v_writelane_b32 {
  LOCKSTEP_BODY void eval(WaveView wave, uint32_t value, uint32_t lane, U32* destination) {
    lane &= wave.lanes() - 1;
    destination[lane / 16][lane % 16] = value;
  }
};

// How a DPP control moves lanes inside a row of 16.
struct RowShuffle {
  bool known = false;   // false: the control is reserved, the instruction illegal
  uint16_t in_row = 0;  // lanes whose source lane exists
  uint8_t source[kLanesPerChunk] = {};
};

// DPP_CTRL of DPP16 (guide table 93).
constexpr RowShuffle dpp16_row_shuffle(unsigned control) {
  RowShuffle shuffle;
  const unsigned amount = control & 15;
  for (int lane = 0; lane < 16; ++lane) {
    int source = -1;
    bool known = true;
    if (control <= 0xff) {
      source = (lane & ~3) | (control >> (lane & 3) * 2 & 3);  // quad_perm
    } else if (control >= 0x101 && control <= 0x10f) {
      source = lane + static_cast<int>(amount);  // row_shl: data moves towards lane 0
    } else if (control >= 0x111 && control <= 0x11f) {
      source = lane - static_cast<int>(amount);  // row_shr
    } else if (control >= 0x121 && control <= 0x12f) {
      source = (lane - static_cast<int>(amount)) & 15;  // row_ror
    } else if (control == 0x140) {
      source = 15 - lane;  // row_mirror
    } else if (control == 0x141) {
      source = lane ^ 7;  // row_half_mirror
    } else if (control >= 0x150 && control <= 0x15f) {
      source = static_cast<int>(amount);  // row_share
    } else if (control >= 0x160 && control <= 0x16f) {
      source = lane ^ static_cast<int>(amount);  // row_xmask
    } else {
      known = false;
    }
    shuffle.known = known;
    if (source < 0 || source > 15) continue;
    shuffle.source[lane] = static_cast<uint8_t>(source);
    shuffle.in_row |= static_cast<uint16_t>(1u << lane);
  }
  return shuffle;
}

// The eight 3-bit selectors of DPP8, lane 0 lowest.
constexpr RowShuffle dpp8_row_shuffle(uint32_t selectors) {
  RowShuffle shuffle{.known = true, .in_row = 0xffff};
  for (unsigned lane = 0; lane < 16; ++lane)
    shuffle.source[lane] = static_cast<uint8_t>((lane & 8) | (selectors >> (lane & 7) * 3 & 7));
  return shuffle;
}

// A DPP control as the instruction has it, ready to apply.
struct DppSelection {
  U32 index;
  U32 in_row_bits;  // in_row as all ones or all zeros a lane
  uint16_t in_row;
  uint16_t bank_lanes;  // BANK_MASK, each bit spread to its four lanes
  uint8_t row_mask;     // bit n: row n may be written
  bool bound_control;
  bool fetch_inactive;
};

constexpr uint16_t bank_lanes(unsigned bank_mask) {
  unsigned lanes = 0;
  for (unsigned bank = 0; bank < 4; ++bank)
    if (bank_mask >> bank & 1) lanes |= 0xfu << bank * 4;
  return static_cast<uint16_t>(lanes);
}

LOCKSTEP_BODY U32 index_of(const RowShuffle& shuffle) {
  U32 index;
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) index[lane] = shuffle.source[lane];
  return index;
}

LOCKSTEP_BODY U32 lane_bits(uint16_t lanes) {
  return select(mask_from_bits(lanes), U32(~0u), U32{});
}

LOCKSTEP_BODY DppSelection make_dpp16(unsigned control, unsigned row_mask, unsigned bank_mask,
                                      bool bound_control, bool fetch_inactive) {
  const RowShuffle shuffle = dpp16_row_shuffle(control);
  return {index_of(shuffle),     lane_bits(shuffle.in_row),      shuffle.in_row,
          bank_lanes(bank_mask), static_cast<uint8_t>(row_mask), bound_control,
          fetch_inactive};
}

// DPP8 writes every active lane and reads 0 from inactive ones unless it fetches them (guide 7.7.2).
LOCKSTEP_BODY DppSelection make_dpp8(uint32_t selectors, bool fetch_inactive) {
  return {index_of(dpp8_row_shuffle(selectors)), U32(~0u), 0xffff, 0xffff, 0xf, true, fetch_inactive};
}

// The lanes of one row that have a valid source: it exists, and it is active or may be fetched inactive.
LOCKSTEP_BODY uint16_t valid_sources(uint16_t active, U32 index, uint16_t in_row, bool fetch_inactive) {
  if (fetch_inactive || active == 0xffff) return in_row;
  return in_row & shuffle_bits(active, index);
}

// Applies DPP to a source register and returns the lanes whose destination may be written; v_cmp and v_cmpx
// write 0 for the others (guide 7.7). A lane without valid source reads 0 if bound_control is set, else it is
// not written. For a source outside the row with FETCH_INACTIVE, guide table 31 contradicts its own field
// description; the description, which is that of RDNA 1 and 2 too, holds here: BOUND_CTRL alone decides.
// (open)
LOCKSTEP_BODY uint64_t dpp_select(const DppSelection& dpp, WaveView wave, const U32* source, U32* result) {
  uint64_t written = 0;
  for (unsigned chunk = 0; chunk < wave.chunks; ++chunk) {
    const uint16_t active = wave.active_in(chunk);
    const uint16_t valid = valid_sources(active, dpp.index, dpp.in_row, dpp.fetch_inactive);
    const U32 kept = valid == dpp.in_row ? dpp.in_row_bits : lane_bits(valid);
    result[chunk] = shuffle(source[chunk], dpp.index) & kept;
    if (!(dpp.row_mask >> chunk & 1)) continue;
    const uint16_t lanes = active & dpp.bank_lanes & (dpp.bound_control ? 0xffff : valid);
    written |= uint64_t{lanes} << chunk * 16;
  }
  return written;
}

// The 16 selectors of v_permlane16 and v_permlanex16: 4 bits a lane, in two scalars.
LOCKSTEP_BODY U32 permlane_index(uint32_t select_low, uint32_t select_high) {
  const U32 shift = (lane_numbers() & 7) * 4;
  const U32 low = (select_low >> shift) & 15;
  const U32 high = (select_high >> shift) & 15;
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31);
}

// Inactive source lanes are treated as with DPP8 and DPP16; OPSEL[0] is fetch_inactive, OPSEL[1]
// bound_control.
LOCKSTEP_BODY uint64_t permute_rows(WaveView wave, bool fetch_inactive, bool bound_control, unsigned row_flip,
                                    const U32* source, uint32_t select_low, uint32_t select_high,
                                    U32* result) {
  const U32 index = permlane_index(select_low, select_high);
  uint64_t written = 0;
  for (unsigned chunk = 0; chunk < wave.chunks; ++chunk) {
    const unsigned from = chunk ^ row_flip;
    const uint16_t valid = valid_sources(wave.active_in(from), index, 0xffff, fetch_inactive);
    result[chunk] = select(mask_from_bits(valid), shuffle(source[from], index), U32{});
    written |= uint64_t{static_cast<uint16_t>(bound_control ? 0xffff : valid)} << chunk * 16;
  }
  return written & wave.active();
}

struct v_permlane16_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, bool fetch_inactive, bool bound_control, const U32* source,
                              uint32_t select_low, uint32_t select_high, U32* result) {
    return permute_rows(wave, fetch_inactive, bound_control, 0, source, select_low, select_high, result);
  }
};

// As v_permlane16_b32, from the other row of the pair.
struct v_permlanex16_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, bool fetch_inactive, bool bound_control, const U32* source,
                              uint32_t select_low, uint32_t select_high, U32* result) {
    return permute_rows(wave, fetch_inactive, bound_control, 1, source, select_low, select_high, result);
  }
};

// Swaps the halves of a wave64, reading inactive lanes too; does nothing in wave32.
struct v_permlane64_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, const U32* source, U32* result) {
    if (wave.chunks != 4) return 0;
    for (unsigned chunk = 0; chunk < 4; ++chunk) result[chunk] = source[chunk ^ 2];
    return wave.active();
  }
};

// Lanes of one half-wave of 32 by index; an inactive source lane gives 0.
LOCKSTEP_BODY U32 gather_half_wave(WaveView wave, const U32* source, unsigned first_chunk, U32 index) {
  const U32 low = shuffle(source[first_chunk], index), high = shuffle(source[first_chunk + 1], index);
  const uint32_t active = static_cast<uint32_t>(wave.exec >> first_chunk * 16);
  const U32 picked = (index & 16) != 0 ? high : low;
  return (active >> (index & 31) & 1) != 0 ? picked : U32{};
}

// Lane i reads the lane that its address, a byte offset, names within its own half-wave.
struct ds_bpermute_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, const U32* address, const U32* data, uint32_t offset,
                              U32* result) {
    for (unsigned chunk = 0; chunk < wave.chunks; ++chunk)
      result[chunk] = gather_half_wave(wave, data, chunk & 2, (address[chunk] + offset) >> 2 & 31);
    return wave.active();
  }
};

// Lane i sends to the lane that its address names within its own half-wave; the highest sender wins, who gets
// nothing reads 0.
struct ds_permute_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, const U32* address, const U32* data, uint32_t offset,
                              U32* result) {
    for (unsigned chunk = 0; chunk < wave.chunks; ++chunk) result[chunk] = U32{};
    for (unsigned lane = 0; lane < wave.lanes(); ++lane) {
      if (!(wave.exec >> lane & 1)) continue;
      const unsigned target = (lane & 32) | ((lane_of(address, lane) + offset) >> 2 & 31);
      result[target / 16][target % 16] = lane_of(data, lane);
    }
    return wave.active();
  }
};

// The lane that ds_swizzle_b32 reads for `lane` (0 to 31), from its 16-bit offset: FFT, rotate, quad
// permutation or bit masks (guide 16.15). The guide's two rotate examples with a mask contradict its formula;
// the formula holds. (open)
// Lane is an unsigned number or a vector of them.
template <class Lane>
constexpr Lane swizzle_source(unsigned offset, Lane lane) {
  const unsigned mask = offset & 0x1f;
  if (offset >= 0xe000) {
    Lane reversed = lane >> 4 & 1;
    for (unsigned bit = 1; bit < 5; ++bit) reversed |= (lane >> (4 - bit) & 1) << bit;
    return reversed >> static_cast<unsigned>(__builtin_popcount(mask)) | (lane & mask);
  }
  if (offset >= 0xc000) {
    const unsigned rotate = offset >> 5 & 0x1f;
    const Lane moved = offset >> 10 & 1 ? lane - rotate : lane + rotate;
    return (lane & mask) | (moved & ~mask & 0x1f);
  }
  if (offset & 0x8000) return (lane & ~3u) | (Lane(offset) >> (lane & 3) * 2 & 3);
  return ((lane & mask) | (offset >> 5 & 0x1f)) ^ (offset >> 10 & 0x1f);
}

struct ds_swizzle_b32 {
  LOCKSTEP_BODY uint64_t eval(WaveView wave, const U32* data, uint32_t offset, U32* result) {
    for (unsigned chunk = 0; chunk < wave.chunks; ++chunk)
      result[chunk] = gather_half_wave(wave, data, chunk & 2,
                                       swizzle_source(offset & 0xffff, lane_numbers() + (chunk & 1) * 16));
    return wave.active();
  }
};

// Both registers change; the engine writes them under EXEC.
struct v_swap_b32 {
  LOCKSTEP_BODY Swapped<U32> eval(U32 destination, U32 source) { return {source, destination}; }
};
struct v_swap_b16 {
  LOCKSTEP_BODY Swapped<U16> eval(U16 destination, U16 source) { return {source, destination}; }
};

}  // namespace lockstep::semantics
