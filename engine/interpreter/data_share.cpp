// DS: indexed loads and stores of the LDS (guide 12.5), and the lane permutes that pass through it (12.5.2).
// Alignment mode UNALIGNED, as the ROCm driver sets it: no address bits are dropped (guide 12.7).
#include <algorithm>
#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/memory_access.h"
#include "engine/interpreter/registration.h"
#include "engine/interpreter/regular_addresses.h"
#include "semantics/cross_lane.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

constexpr std::byte kZeros[16] = {};

// How the addresses of sixteen lanes lie: side by side, all at one, or anyhow. Two lanes tell which of the
// first two to look for.
enum class Layout { consecutive, same, any };

template <class Element>
LOCKSTEP_INLINE Layout layout_of(U32 addresses, uint16_t lanes) {
  if constexpr (Element::dwords != 0) {
    if (lanes != 0xffff) return Layout::any;
    const uint32_t first = addresses[0], step = addresses[1] - first;
    if (step == Element::bytes && all_lanes(addresses == first + lane_numbers() * Element::bytes))
      return Layout::consecutive;
    if (step == 0 && all_lanes(addresses == first)) return Layout::same;
  }
  return Layout::any;
}

// One element for each of the lanes of a chunk. A load that touches anything out of range returns zero, such
// a store is dropped (guide 3.3.4.1).
template <class Element, bool is_load>
LOCKSTEP_INLINE void access_chunk(Wave* wave, unsigned chunk, uint16_t lanes, Layout layout, U32 addresses,
                                  uint32_t data) {
  if constexpr (Element::dwords != 0) {
    const uint32_t first = addresses[0];
    if (layout == Layout::consecutive && in_lds(wave, first, 16 * Element::bytes)) {
      if constexpr (is_load)
        load_consecutive<Element>(wave, data, chunk, wave->lds + first);
      else
        store_consecutive<Element::dwords>(wave, data, chunk, wave->lds + first);
      return;
    }
    if constexpr (is_load) {
      if (layout == Layout::same && in_lds(wave, first, Element::bytes)) {
        uint32_t words[Element::dwords];
        __builtin_memcpy(words, wave->lds + first, sizeof words);
        for (unsigned i = 0; i < Element::dwords; ++i)
          *vgpr_chunk(wave, data + i * wave->register_bytes, chunk) = U32(words[i]);
        return;
      }
    }
  }
  if (lanes == 0xffff && wave->lds_bytes >= Element::bytes &&
      all_lanes(addresses <= wave->lds_bytes - Element::bytes)) {
    const Distances distances(addresses);
    if constexpr (is_load)
      load_all_lanes<Element>(wave, data, chunk, distances, wave->lds);
    else
      store_all_lanes<Element>(wave, data, chunk, distances, wave->lds);
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1) {
    const unsigned in_chunk = static_cast<unsigned>(std::countr_zero(lanes)), lane = chunk * 16 + in_chunk;
    const uint32_t at = addresses[in_chunk];
    const bool inside = in_lds(wave, at, Element::bytes);
    if constexpr (is_load)
      load_lane<Element>(wave, data, lane, inside ? wave->lds + at : kZeros);
    else if (inside)
      store_lane<Element>(wave, data, lane, wave->lds + at);
  }
}

template <class Element, bool is_load>
LOCKSTEP_INLINE void access_each(const Operation* op, Wave* wave, uint32_t offset, uint32_t data) {
  const uint64_t exec = wave->exec();
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    const uint16_t lanes = static_cast<uint16_t>(exec >> (16 * chunk));
    if (lanes == 0) continue;
    const U32 addresses = *vgpr_chunk(wave, op->source[0], chunk) + offset;
    access_chunk<Element, is_load>(wave, chunk, lanes, layout_of<Element>(addresses, lanes), addresses, data);
  }
}

template <class Element, bool is_load>
[[gnu::noinline]] void access_one(const Operation* op, Wave* wave, int64_t budget) {
  access_each<Element, is_load>(op, wave, static_cast<uint32_t>(op->offset),
                                is_load ? op->dst : op->source[1]);
  LOCKSTEP_NEXT();
}

// Those of two addresses, counted in elements or in 64 of them.
template <class Element, unsigned stride>
struct TwoOffsets {
  static constexpr uint32_t kUnit = Element::bytes * stride;
  uint32_t first, second;

  explicit LOCKSTEP_INLINE TwoOffsets(const Operation* op)
      : first((op->offset & 0xff) * kUnit), second((op->offset >> 8) * kUnit) {}
};

// Two elements at two offsets, each out of range by itself: the guide (3.3.4.1) says that a read of several
// dwords returns zero if any part of its address is, which is about one address, as programs show that merge
// the last element's load with one behind it.
template <class Element, unsigned stride>
[[gnu::noinline]] void load_two(const Operation* op, Wave* wave, int64_t budget) {
  const TwoOffsets<Element, stride> offsets(op);
  const uint32_t second = op->dst + Element::dwords * wave->register_bytes;
  const uint64_t exec = wave->exec();
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    const uint16_t lanes = static_cast<uint16_t>(exec >> (16 * chunk));
    if (lanes == 0) continue;
    // Read once: the first element may be loaded over it.
    const U32 base = *vgpr_chunk(wave, op->source[0], chunk);
    const Layout layout = layout_of<Element>(base, lanes);
    access_chunk<Element, true>(wave, chunk, lanes, layout, base + offsets.first, op->dst);
    access_chunk<Element, true>(wave, chunk, lanes, layout, base + offsets.second, second);
  }
  LOCKSTEP_NEXT();
}

// Leaves out what is out of range. Where lanes overlap, the second element of all is stored over the first.
template <class Element, unsigned stride>
[[gnu::noinline]] void store_two(const Operation* op, Wave* wave, int64_t budget) {
  const TwoOffsets<Element, stride> offsets(op);
  access_each<Element, false>(op, wave, offsets.first, op->source[1]);
  access_each<Element, false>(op, wave, offsets.second, op->source[2]);
  LOCKSTEP_NEXT();
}

// The same for what compilers' code does most; whatever else it is, is left to those above, which are not
// inlined, so that these need no stack frame.

// Calls `load` for the way in which both halves of the wave lie, where all of it is in LDS. `last`: the
// offset that reaches furthest.
template <uint32_t bytes, class Load>
LOCKSTEP_INLINE bool load_by_layout(const Wave* wave, const AddressesOfHalves<bytes>& addresses,
                                    uint32_t last, Load load) {
  if (addresses.are_consecutive()) {
    if (!addresses.reach_into_lds(wave, last, 16 * bytes)) return false;
    load.template operator()<true>();
    return true;
  }
  if (!addresses.are_same() || !addresses.reach_into_lds(wave, last, bytes)) return false;
  load.template operator()<false>();
  return true;
}

// Of a wave32 whose lanes are all on, anywhere in LDS.
template <class Element>
[[gnu::noinline]] void load_one_scattered(const Operation* op, Wave* wave, int64_t budget) {
  const auto offset = static_cast<uint32_t>(op->offset);
  const U32 low = *vgpr_chunk(wave, op->source[0], 0) + offset,
            high = *vgpr_chunk(wave, op->source[0], 1) + offset;
  const uint32_t last = wave->lds_bytes - Element::bytes;
  if (wave->lds_bytes < Element::bytes || any(mask_of((low > last) | (high > last)))) [[clang::musttail]]
    return access_one<Element, true>(op, wave, budget);
  const Distances of_low(low), of_high(high);
  load_all_lanes<Element>(wave, op->dst, 0, of_low, wave->lds);
  load_all_lanes<Element>(wave, op->dst, 1, of_high, wave->lds);
  LOCKSTEP_NEXT();
}

template <class Element>
void load_one_regular(const Operation* op, Wave* wave, int64_t budget) {
  if (is_whole_wave32(wave)) {
    std::byte* const vgprs = wave->vgprs;
    const AddressesOfHalves<Element::bytes> addresses(vgprs + op->source[0]);
    const auto offset = static_cast<uint32_t>(op->offset);
    const auto load = [&]<bool consecutive>() __attribute__((always_inline)) {
      const std::byte* const lds = wave->lds + offset;
      std::byte* const destination = vgprs + op->dst;
      for (unsigned chunk = 0; chunk < 2; ++chunk)
        load_regular<Element::dwords>(destination + chunk * sizeof(U32), lds + addresses.first[chunk],
                                      consecutive);
    };
    if (load_by_layout(wave, addresses, offset, load)) LOCKSTEP_NEXT();
    [[clang::musttail]] return load_one_scattered<Element>(op, wave, budget);
  }
  [[clang::musttail]] return access_one<Element, true>(op, wave, budget);
}

template <class Element>
void store_one_regular(const Operation* op, Wave* wave, int64_t budget) {
  if (is_whole_wave32(wave)) {
    const std::byte* const vgprs = wave->vgprs;
    const AddressesOfHalves<Element::bytes> addresses(vgprs + op->source[0]);
    const auto offset = static_cast<uint32_t>(op->offset);
    if (addresses.are_consecutive() && addresses.reach_into_lds(wave, offset, 16 * Element::bytes)) {
      std::byte* const lds = wave->lds + offset;
      const std::byte* const source = vgprs + op->source[1];
      for (unsigned chunk = 0; chunk < 2; ++chunk)
        store_regular<Element::dwords>(source + chunk * sizeof(U32), lds + addresses.first[chunk]);
      LOCKSTEP_NEXT();
    }
  }
  [[clang::musttail]] return access_one<Element, false>(op, wave, budget);
}

template <class Element, unsigned stride>
void load_two_regular(const Operation* op, Wave* wave, int64_t budget) {
  if (is_whole_wave32(wave)) {
    std::byte* const vgprs = wave->vgprs;
    const AddressesOfHalves<Element::bytes> addresses(vgprs + op->source[0]);
    const TwoOffsets<Element, stride> offsets(op);
    const auto load = [&]<bool consecutive>() __attribute__((always_inline)) {
      const std::byte* const lds = wave->lds;
      std::byte* const destination = vgprs + op->dst;
      for (unsigned i = 0; i < 2; ++i) {
        const std::byte* const from = lds + (i == 0 ? offsets.first : offsets.second);
        for (unsigned chunk = 0; chunk < 2; ++chunk)
          load_regular<Element::dwords>(
              destination + i * Element::dwords * kRegisterBytesOfWave32 + chunk * sizeof(U32),
              from + addresses.first[chunk], consecutive);
      }
    };
    if (load_by_layout(wave, addresses, std::max(offsets.first, offsets.second), load)) LOCKSTEP_NEXT();
  }
  [[clang::musttail]] return load_two<Element, stride>(op, wave, budget);
}

template <class Element, unsigned stride>
void store_two_regular(const Operation* op, Wave* wave, int64_t budget) {
  if (is_whole_wave32(wave)) {
    const std::byte* const vgprs = wave->vgprs;
    const AddressesOfHalves<Element::bytes> addresses(vgprs + op->source[0]);
    const TwoOffsets<Element, stride> offsets(op);
    if (addresses.are_consecutive() &&
        addresses.reach_into_lds(wave, std::max(offsets.first, offsets.second), 16 * Element::bytes)) {
      std::byte* const lds = wave->lds;
      for (unsigned i = 0; i < 2; ++i)
        for (unsigned chunk = 0; chunk < 2; ++chunk)
          store_regular<Element::dwords>(
              vgprs + op->source[1 + i] + chunk * sizeof(U32),
              lds + (i == 0 ? offsets.first : offsets.second) + addresses.first[chunk]);
      LOCKSTEP_NEXT();
    }
  }
  [[clang::musttail]] return store_two<Element, stride>(op, wave, budget);
}

// ADDTID: without a VGPR for the address (guide 12.5).
template <bool is_load>
void access_addtid(const Operation* op, Wave* wave, int64_t budget) {
  const DataShareAddress address(op, wave, isa::access_shape(op->instruction->row->opcode));
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint32_t at = address.of_lane(lane, 0);
    const bool inside = in_lds(wave, at, 4);
    if constexpr (is_load)
      load_lane<Dwords<1>>(wave, op->dst, lane, inside ? wave->lds + at : kZeros);
    else if (inside)
      store_lane<Dwords<1>>(wave, op->source[1], lane, wave->lds + at);
  }
  LOCKSTEP_NEXT();
}

void ds_nop(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(data_share)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  constexpr auto low = Placement::low_half, high = Placement::high_half;
  set(Opcode::ds_nop, &ds_nop);
  set(Opcode::ds_load_b32, &load_one_regular<Dwords<1>>);
  set(Opcode::ds_load_b64, &load_one_regular<Dwords<2>>);
  set(Opcode::ds_load_b96, &load_one_regular<Dwords<3>>);
  set(Opcode::ds_load_b128, &load_one_regular<Dwords<4>>);
  set(Opcode::ds_load_u8, &access_one<Small<uint8_t>, true>);
  set(Opcode::ds_load_i8, &access_one<Small<int8_t>, true>);
  set(Opcode::ds_load_u16, &access_one<Small<uint16_t>, true>);
  set(Opcode::ds_load_i16, &access_one<Small<int16_t>, true>);
  set(Opcode::ds_load_u8_d16, &access_one<Small<uint8_t, low>, true>);
  set(Opcode::ds_load_i8_d16, &access_one<Small<int8_t, low>, true>);
  set(Opcode::ds_load_u16_d16, &access_one<Small<uint16_t, low>, true>);
  set(Opcode::ds_load_u8_d16_hi, &access_one<Small<uint8_t, high>, true>);
  set(Opcode::ds_load_i8_d16_hi, &access_one<Small<int8_t, high>, true>);
  set(Opcode::ds_load_u16_d16_hi, &access_one<Small<uint16_t, high>, true>);
  set(Opcode::ds_load_2addr_b32, &load_two_regular<Dwords<1>, 1>);
  set(Opcode::ds_load_2addr_b64, &load_two_regular<Dwords<2>, 1>);
  set(Opcode::ds_load_2addr_stride64_b32, &load_two_regular<Dwords<1>, 64>);
  set(Opcode::ds_load_2addr_stride64_b64, &load_two_regular<Dwords<2>, 64>);
  set(Opcode::ds_load_addtid_b32, &access_addtid<true>);
  set(Opcode::ds_store_b8, &access_one<Small<uint8_t>, false>);
  set(Opcode::ds_store_b16, &access_one<Small<uint16_t>, false>);
  set(Opcode::ds_store_b8_d16_hi, &access_one<Small<uint8_t, high>, false>);
  set(Opcode::ds_store_b16_d16_hi, &access_one<Small<uint16_t, high>, false>);
  set(Opcode::ds_store_b32, &store_one_regular<Dwords<1>>);
  set(Opcode::ds_store_b64, &store_one_regular<Dwords<2>>);
  set(Opcode::ds_store_b96, &store_one_regular<Dwords<3>>);
  set(Opcode::ds_store_b128, &store_one_regular<Dwords<4>>);
  set(Opcode::ds_store_2addr_b32, &store_two_regular<Dwords<1>, 1>);
  set(Opcode::ds_store_2addr_b64, &store_two_regular<Dwords<2>, 1>);
  set(Opcode::ds_store_2addr_stride64_b32, &store_two_regular<Dwords<1>, 64>);
  set(Opcode::ds_store_2addr_stride64_b64, &store_two_regular<Dwords<2>, 64>);
  set(Opcode::ds_store_addtid_b32, &access_addtid<false>);
}

}  // namespace lockstep::interpreter
