// FLAT, GLOBAL and SCRATCH loads and stores (guide chapter 11).
#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/flat_address.h"
#include "engine/interpreter/registration.h"
#include "engine/interpreter/regular_addresses.h"
#include "engine/interpreter/valu_lanes.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

// ---- GLOBAL and FLAT
// ---------------------------------------------------------------------------------------------

template <bool is_load>
LOCKSTEP_INLINE auto* memory_for(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes) {
  if constexpr (is_load)
    return readable(op, wave, address, bytes);
  else
    return writable(op, wave, address, bytes);
}

template <Space space, class Element, bool is_load>
[[gnu::noinline]] void access_memory(const Operation* op, Wave* wave, int64_t budget) {
  constexpr Access access = is_load ? kRead : kWrite;
  const uint64_t exec = wave->exec();
  const GlobalAddress address(op, wave);
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    uint16_t lanes = static_cast<uint16_t>(exec >> (16 * chunk));
    if (lanes == 0) continue;
    if constexpr (Element::dwords != 0 || is_load) {
      uint64_t first;
      if (lanes == 0xffff && address.consecutive(wave, chunk, Element::bytes, &first) &&
          (space == Space::global || !in_aperture(first))) {
        if (auto* memory = memory_for<is_load>(op, wave, first, 16 * Element::bytes)) {
          if constexpr (is_load)
            load_consecutive<Element>(wave, op->dst, chunk, memory);
          else
            store_consecutive<Element::dwords>(wave, op->source[1], chunk, memory);
          continue;
        }
      }
    }
    // Ranges have no aperture in them.
    uint64_t from;
    if (address.within((is_load ? wave->read_ranges : wave->write_ranges)[range_slot(op)], wave, chunk, lanes,
                       Element::bytes, &from)) {
      const Distances distances(*vgpr_chunk(wave, address.low, chunk));
      if constexpr (is_load) {
        const auto* const memory = reinterpret_cast<const std::byte*>(from);
        if (lanes == 0xffff)
          load_all_lanes<Element>(wave, op->dst, chunk, distances, memory);
        else
          load_lanes<Element>(wave, op->dst, chunk, lanes, distances, memory);
      } else {
        auto* const memory = reinterpret_cast<std::byte*>(from);
        if (lanes == 0xffff)
          store_all_lanes<Element>(wave, op->source[1], chunk, distances, memory);
        else
          store_lanes<Element>(wave, op->source[1], chunk, lanes, distances, memory);
      }
      continue;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
      const unsigned lane = chunk * 16 + static_cast<unsigned>(std::countr_zero(lanes));
      const uint64_t at = address.of_lane(wave, lane);
      if (space == Space::flat && in_aperture(at)) {
        if (!access_aperture<Element, is_load>(op, wave, lane, at))
          return raise_memory_violation(op, wave, budget, static_cast<int>(lane), at, Element::bytes, access);
        continue;
      }
      auto* memory = memory_for<is_load>(op, wave, at, Element::bytes);
      if (!memory)
        return raise_memory_violation(op, wave, budget, static_cast<int>(lane), at, Element::bytes, access);
      if constexpr (is_load)
        load_lane<Element>(wave, op->dst, lane, memory);
      else
        store_lane<Element>(wave, op->source[1], lane, memory);
    }
  }
  LOCKSTEP_NEXT();
}

// What the wave will load when it comes here the next time, if that is as far away as this time from the
// last: the host's caches fetch ahead by the address of the instruction that loads, which is one for all.
template <class Element>
LOCKSTEP_INLINE void fetch_ahead(uint64_t& last, const uint64_t (&first)[2], const bool (&consecutive)[2]) {
  constexpr uint64_t kLine = 64;
  const uint64_t step = first[0] - last;
  last = first[0];
  for (unsigned chunk = 0; chunk < 2; ++chunk) {
    const auto* const next = reinterpret_cast<const std::byte*>(first[chunk] + step);
    __builtin_prefetch(next);
    if (consecutive[chunk])
      for (uint64_t line = kLine; line < 16 * Element::bytes; line += kLine) __builtin_prefetch(next + line);
  }
}

// The same for what compilers' code does most; whatever else it is, is left to the one above, which is not
// inlined, so that this one needs no stack frame.
template <Space space, class Element, bool is_load>
void access_regular_memory(const Operation* op, Wave* wave, int64_t budget) {
  if (is_whole_wave32(wave)) {
    std::byte* const vgprs = wave->vgprs;
    const RegularAddresses<Element::bytes> addresses(vgprs + op->source[0]);
    const GlobalAddress address(op, wave);
    const unsigned slot = range_slot(op);
    const CachedRange& range = (is_load ? wave->read_ranges : wave->write_ranges)[slot];
    uint64_t first[2];
    bool is_known = addresses.are_regular && (is_load || addresses.are_consecutive());
    I32 others(0);
    for (unsigned chunk = 0; chunk < 2; ++chunk) {
      const uint32_t span = addresses.span(chunk);
      first[chunk] = address.base + addresses.first[chunk];
      // No carry out of the low half within the chunk.
      is_known &= addresses.first[chunk] <= ~0u - span;
      if (address.wide) {
        const auto* const upper = reinterpret_cast<const U32*>(vgprs + address.high) + chunk;
        const uint32_t one = *reinterpret_cast<const uint32_t*>(upper);
        others |= *upper != one;
        first[chunk] += uint64_t{one} << 32;
      }
      is_known &= holds(range, first[chunk], span);
    }
    if (is_known && !any(mask_of(others)) &&
        (space == Space::global || (!in_aperture(first[0]) && !in_aperture(first[1])))) {
      std::byte* const registers = vgprs + (is_load ? op->dst : op->source[1]);
      if constexpr (is_load) fetch_ahead<Element>(wave->last_reads[slot], first, addresses.consecutive);
      for (unsigned chunk = 0; chunk < 2; ++chunk) {
        if constexpr (is_load)
          load_regular<Element::dwords>(registers + chunk * sizeof(U32),
                                        reinterpret_cast<const std::byte*>(first[chunk]),
                                        addresses.consecutive[chunk]);
        else
          store_regular<Element::dwords>(registers + chunk * sizeof(U32),
                                         reinterpret_cast<std::byte*>(first[chunk]));
      }
      LOCKSTEP_NEXT();
    }
  }
  [[clang::musttail]] return access_memory<space, Element, is_load>(op, wave, budget);
}

// ---- SCRATCH
// -----------------------------------------------------------------------------------------------------

template <class Element, bool is_load>
[[gnu::noinline]] void access_scratch(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t exec = wave->exec();
  const uint32_t uniform = scratch_offset(op, wave);
  const bool has_address = op->source_flags & kHasAddress;
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    uint16_t lanes = static_cast<uint16_t>(exec >> (16 * chunk));
    if (lanes == 0) continue;
    U32 offsets = uniform;
    if (has_address) offsets += *vgpr_chunk(wave, op->source[0], chunk);
    if constexpr (Element::dwords != 0) {
      // Usual case: every lane at the same offset, so each dword is one row of the interleaved memory.
      const auto first_lane = chunk * kLanesPerChunk + static_cast<unsigned>(std::countr_zero(lanes));
      const uint32_t first = has_address ? vgpr_lanes(wave, op->source[0])[first_lane] + uniform : uniform;
      const bool same = !has_address || (bits_from_mask(mask_of(offsets != first)) & lanes) == 0;
      if (same && first % 4 == 0 && in_given_scratch(wave, first, Element::bytes)) {
        auto* row = reinterpret_cast<std::byte*>(scratch_address(wave, first, chunk * kLanesPerChunk));
        const uint32_t register_bytes = wave->register_bytes;
        std::byte* registers = wave->vgprs + (is_load ? op->dst : op->source[1]) + chunk * sizeof(U32);
        const Mask written = mask_from_bits(lanes);
        for (unsigned i = 0; i < Element::dwords; ++i) {
          std::byte* const to = is_load ? registers : row;
          U32 value = load_unaligned(is_load ? row : registers);
          if (lanes != 0xffff) value = select(written, value, load_unaligned(to));
          __builtin_memcpy(to, &value, sizeof value);
          row += register_bytes;
          registers += register_bytes;
        }
        continue;
      }
    }
    for (; lanes != 0; lanes &= lanes - 1) {
      const unsigned in_chunk = static_cast<unsigned>(std::countr_zero(lanes));
      if (!access_scratch_lane<Element, is_load>(op, wave, chunk * 16 + in_chunk, offsets[in_chunk]))
        return raise_scratch_violation(op, wave, budget, static_cast<int>(chunk * 16 + in_chunk),
                                       offsets[in_chunk], Element::bytes, is_load ? kRead : kWrite);
    }
  }
  LOCKSTEP_NEXT();
}

// The same for a wave32 whose lanes all have one offset, which needs no VGPR: spilled registers, arrays whose
// index is the wave's. Both chunks' dwords are one row.
template <class Element, bool is_load>
void access_scratch_rows(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t offset = scratch_offset(op, wave);
  if (wave->chunks == 2 && !(op->source_flags & kHasAddress) && offset % 4 == 0 &&
      in_given_scratch(wave, offset, Element::bytes)) {
    auto* const rows = reinterpret_cast<std::byte*>(scratch_address(wave, offset, 0));
    std::byte* const registers = wave->vgprs + (is_load ? op->dst : op->source[1]);
    std::byte* const to = is_load ? registers : rows;
    const std::byte* const from = is_load ? rows : registers;
    const uint32_t exec = wave->scalar[kScalarExec];
    if (exec == ~0u) {
      for (unsigned i = 0; i < 2 * Element::dwords; ++i) {
        const U32 value = load_unaligned(from + i * sizeof(U32));
        __builtin_memcpy(to + i * sizeof(U32), &value, sizeof value);
      }
    } else {
      const SomeLanes<kHasMaskRegisters> written[2] = {{exec, 0}, {exec, 1}};
      for (unsigned i = 0; i < 2 * Element::dwords; ++i) {
        const U32 value = written[i % 2].choose(load_unaligned(from + i * sizeof(U32)),
                                                load_unaligned(to + i * sizeof(U32)));
        __builtin_memcpy(to + i * sizeof(U32), &value, sizeof value);
      }
    }
    LOCKSTEP_NEXT();
  }
  [[clang::musttail]] return access_scratch<Element, is_load>(op, wave, budget);
}

template <Space space>
constexpr void add(HandlerTable& table, const Opcode (&loads)[16], const Opcode (&stores)[8]) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  auto load = [&]<class Element>(Element) -> Handler {
    if constexpr (space == Space::scratch && Element::dwords != 0)
      return &access_scratch_rows<Element, true>;
    else if constexpr (space == Space::scratch)
      return &access_scratch<Element, true>;
    else if constexpr (Element::dwords != 0)
      return &access_regular_memory<space, Element, true>;
    else
      return &access_memory<space, Element, true>;
  };
  auto store = [&]<class Element>(Element) -> Handler {
    if constexpr (space == Space::scratch && Element::dwords != 0)
      return &access_scratch_rows<Element, false>;
    else if constexpr (space == Space::scratch)
      return &access_scratch<Element, false>;
    else if constexpr (Element::dwords != 0)
      return &access_regular_memory<space, Element, false>;
    else
      return &access_memory<space, Element, false>;
  };
  constexpr auto low = Placement::low_half, high = Placement::high_half;
  set(loads[0], load(Small<uint8_t>{}));
  set(loads[1], load(Small<int8_t>{}));
  set(loads[2], load(Small<uint16_t>{}));
  set(loads[3], load(Small<int16_t>{}));
  set(loads[4], load(Dwords<1>{}));
  set(loads[5], load(Dwords<2>{}));
  set(loads[6], load(Dwords<3>{}));
  set(loads[7], load(Dwords<4>{}));
  set(loads[8], load(Small<uint8_t, low>{}));
  set(loads[9], load(Small<int8_t, low>{}));
  set(loads[10], load(Small<uint16_t, low>{}));
  set(loads[11], load(Small<uint8_t, high>{}));
  set(loads[12], load(Small<int8_t, high>{}));
  set(loads[13], load(Small<uint16_t, high>{}));
  set(stores[0], store(Small<uint8_t>{}));
  set(stores[1], store(Small<uint16_t>{}));
  set(stores[2], store(Dwords<1>{}));
  set(stores[3], store(Dwords<2>{}));
  set(stores[4], store(Dwords<3>{}));
  set(stores[5], store(Dwords<4>{}));
  set(stores[6], store(Small<uint8_t, high>{}));
  set(stores[7], store(Small<uint16_t, high>{}));
}

// global_load_addtid_b32 and its store (guide 11.2): the lane number times 4 takes the place of the VGPR
// address.
template <bool is_load>
void access_addtid(const Operation* op, Wave* wave, int64_t budget) {
  uint64_t base = static_cast<uint64_t>(op->offset);
  if (op->source_flags & kHasScalarBase)
    base += scalar_at(wave, op->source[2]) | uint64_t{scalar_at(wave, op->source[2] + 4)} << 32;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    const uint64_t at = base + 4 * lane;
    auto* memory = memory_for<is_load>(op, wave, at, 4);
    if (!memory)
      return raise_memory_violation(op, wave, budget, static_cast<int>(lane), at, 4,
                                    is_load ? kRead : kWrite);
    if constexpr (is_load)
      load_lane<Dwords<1>>(wave, op->dst, lane, memory);
    else
      store_lane<Dwords<1>>(wave, op->source[1], lane, memory);
  }
  LOCKSTEP_NEXT();
}

// What the interpreter knows is coherent; a wave with caches of its own has a unit that empties them
// (engine/precise/caches.h).
void already_coherent(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT();
}

}  // namespace

#define LOCKSTEP_SEGMENT(segment)                                                                       \
  add<Space::segment>(                                                                                  \
      table,                                                                                            \
      {Opcode::segment##_load_u8, Opcode::segment##_load_i8, Opcode::segment##_load_u16,                \
       Opcode::segment##_load_i16, Opcode::segment##_load_b32, Opcode::segment##_load_b64,              \
       Opcode::segment##_load_b96, Opcode::segment##_load_b128, Opcode::segment##_load_d16_u8,          \
       Opcode::segment##_load_d16_i8, Opcode::segment##_load_d16_b16, Opcode::segment##_load_d16_hi_u8, \
       Opcode::segment##_load_d16_hi_i8, Opcode::segment##_load_d16_hi_b16},                            \
      {Opcode::segment##_store_b8, Opcode::segment##_store_b16, Opcode::segment##_store_b32,            \
       Opcode::segment##_store_b64, Opcode::segment##_store_b96, Opcode::segment##_store_b128,          \
       Opcode::segment##_store_d16_hi_b8, Opcode::segment##_store_d16_hi_b16})

void LOCKSTEP_REGISTER(flat)(HandlerTable& table) {
  LOCKSTEP_SEGMENT(flat);
  LOCKSTEP_SEGMENT(global);
  LOCKSTEP_SEGMENT(scratch);
  table.other[static_cast<size_t>(Opcode::global_load_addtid_b32)] = &access_addtid<true>;
  table.other[static_cast<size_t>(Opcode::global_store_addtid_b32)] = &access_addtid<false>;
  table.other[static_cast<size_t>(Opcode::buffer_gl0_inv)] = &already_coherent;
  table.other[static_cast<size_t>(Opcode::buffer_gl1_inv)] = &already_coherent;
}

}  // namespace lockstep::interpreter
