// Checked access to guest memory: every address a wave uses passes through here.
#pragma once

#include <bit>
#include <cstring>
#include <utility>

#include "engine/interpreter/common.h"
#include "engine/interpreter/dispatch_context.h"
#include "engine/interpreter/operation.h"
#include "memory/address_space.h"
#include "memory/whole_access.h"
#include "numeric/lanes.h"

namespace lockstep::interpreter {

// An instruction tends to touch one buffer, so each has its own place in the wave's cache of ranges.
inline unsigned range_slot(const Operation* op) {
  return op->source_flags >> kRangeSlotShift;
}
inline bool holds(const CachedRange& range, uint64_t address, uint64_t bytes) {
  return address >= range.begin && address < range.end && range.end - address >= bytes;
}

// The way past the cached ranges: looks the range up and remembers it, or asks the wave's view of memory.
// Null if the access is not allowed.
std::byte* find_memory(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes, Access access);

// Where the bytes of a guest address are to be read, written, or changed by an atomic; null if the guest may
// not. A wave with a view of memory never has cached ranges, so only the slow way must know of it.
inline const std::byte* readable(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes) {
  if (holds(wave->read_ranges[range_slot(op)], address, bytes))
    return reinterpret_cast<const std::byte*>(address);
  return find_memory(op, wave, address, bytes, kRead);
}
inline std::byte* writable(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes) {
  if (holds(wave->write_ranges[range_slot(op)], address, bytes)) return reinterpret_cast<std::byte*>(address);
  return find_memory(op, wave, address, bytes, kWrite);
}
inline std::byte* modifiable(const Operation* op, Wave* wave, uint64_t address, uint64_t bytes) {
  const unsigned slot = range_slot(op);
  if (holds(wave->read_ranges[slot], address, bytes) && holds(wave->write_ranges[slot], address, bytes))
    return reinterpret_cast<std::byte*>(address);
  return find_memory(op, wave, address, bytes, kReadWrite);
}

// Whether the bytes are in the LDS that the work-group has. Addresses have 32 bits; sums may have more.
inline bool in_lds(const Wave* wave, uint32_t offset, uint32_t bytes) {
  return offset <= wave->lds_bytes && wave->lds_bytes - offset >= bytes;
}
inline bool in_lds(const Wave* wave, uint64_t offset, uint32_t bytes) {
  return offset <= wave->lds_bytes && wave->lds_bytes - offset >= bytes;
}

// Ends the wave with a memory violation that says which lane touched what.
void raise_memory_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                            uint32_t bytes, Access access);
void raise_misaligned(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                      uint32_t bytes);
// Likewise of an access that is no atomic, in the device's alignment mode.
void raise_misaligned_access(const Operation* op, Wave* wave, int64_t budget, int lane, uint64_t address,
                             uint32_t bytes, uint32_t alignment);
// An LDS address out of range, on a device that reports it.
void raise_lds_violation(const Operation* op, Wave* wave, int64_t budget, int lane, uint32_t offset,
                         uint32_t bytes, Access access);

LOCKSTEP_INLINE bool all_lanes(I32 compared) {
  return bits_from_mask(mask_of(compared)) == 0xffff;
}

LOCKSTEP_INLINE U32* vgpr_chunk(Wave* wave, uint32_t byte_offset, unsigned chunk) {
  return reinterpret_cast<U32*>(wave->vgprs + byte_offset + chunk * sizeof(U32));
}
LOCKSTEP_INLINE uint32_t* vgpr_lanes(Wave* wave, uint32_t byte_offset) {
  return reinterpret_cast<uint32_t*>(wave->vgprs + byte_offset);
}
LOCKSTEP_INLINE U32 load_unaligned(const void* from) {
  U32 value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

// Volatile, since the compiler would load parts of it again for other words of the same lanes
// (whole_access.h).
struct [[gnu::packed, gnu::may_alias]] VectorInMemory {
  U32 all;
};
LOCKSTEP_INLINE U32 load_once(const void* from) {
  return static_cast<const volatile VectorInMemory*>(from)->all;
}

// What a load does with the bytes of one lane.
template <unsigned dwords_>
struct Dwords {
  static constexpr unsigned dwords = dwords_;
  static constexpr unsigned bytes = 4 * dwords_;
  using Raw = uint32_t;
  static U32 placed(U32, U32 wide) { return wide; }
};
enum class Placement { whole, low_half, high_half };
// One byte or half, extended by zero or sign to 32 bits, or to 16 bits in one half of the register (D16).
template <class T, Placement placement_ = Placement::whole>
struct Small {
  static constexpr unsigned dwords = 0;
  static constexpr unsigned bytes = sizeof(T);
  using Raw = T;
  // The registers of sixteen lanes, with what they have loaded, extended by the signedness of T.
  static U32 placed(U32 old, U32 wide) {
    if constexpr (placement_ == Placement::low_half) return (old & 0xffff0000u) | (wide & 0xffffu);
    if constexpr (placement_ == Placement::high_half) return (old & 0xffffu) | wide << 16;
    return wide;
  }
  static uint32_t merged(uint32_t old, const void* from) {
    T raw;
    __builtin_memcpy(&raw, from, sizeof raw);
    const int32_t wide = raw;  // extended by the signedness of T
    if constexpr (placement_ == Placement::low_half)
      return (old & 0xffff0000u) | (static_cast<uint32_t>(wide) & 0xffffu);
    if constexpr (placement_ == Placement::high_half)
      return (old & 0xffffu) | static_cast<uint32_t>(wide) << 16;
    return static_cast<uint32_t>(wide);
  }
  // The bytes that a store writes.
  static T stored(uint32_t value) {
    return static_cast<T>(placement_ == Placement::high_half ? value >> 16 : value);
  }
};

// Reads one lane's element from host memory into its registers, of which `first` is the lane's word in the
// first.
template <class Element>
LOCKSTEP_INLINE void load_element(std::byte* first, uint32_t register_bytes, const void* from) {
  if constexpr (Element::dwords == 0) {
    uint32_t& target = *reinterpret_cast<uint32_t*>(first);
    target = Element::merged(target, from);
  } else {
    const auto* memory = static_cast<const std::byte*>(from);
    const auto word = [&](unsigned i) -> uint32_t& {
      return *reinterpret_cast<uint32_t*>(first + i * register_bytes);
    };
    if constexpr (Element::dwords == 4) {
      const FourDwords four = load_four(memory);
      for (unsigned i = 0; i < 4; ++i) word(i) = four[i];
      return;
    }
    for (unsigned i = 0; i + 1 < Element::dwords; i += 2) {
      const uint64_t pair = load_pair(memory + 4 * i);
      word(i) = static_cast<uint32_t>(pair);
      word(i + 1) = static_cast<uint32_t>(pair >> 32);
    }
    if constexpr (Element::dwords % 2 != 0)
      __builtin_memcpy(&word(Element::dwords - 1), memory + 4 * (Element::dwords - 1), 4);
  }
}

template <class Element>
LOCKSTEP_INLINE void load_lane(Wave* wave, uint32_t destination, unsigned lane, const void* from) {
  load_element<Element>(wave->vgprs + destination + 4 * lane, wave->register_bytes, from);
}

template <class Element>
LOCKSTEP_INLINE void store_element(const std::byte* first, uint32_t register_bytes, void* to) {
  if constexpr (Element::dwords == 0) {
    const auto value = Element::stored(*reinterpret_cast<const uint32_t*>(first));
    __builtin_memcpy(to, &value, sizeof value);
  } else {
    auto* memory = static_cast<std::byte*>(to);
    const auto word = [&](unsigned i) {
      return *reinterpret_cast<const uint32_t*>(first + i * register_bytes);
    };
    if constexpr (Element::dwords == 4) {
      store_four(memory, FourDwords{word(0), word(1), word(2), word(3)});
      return;
    }
    for (unsigned i = 0; i + 1 < Element::dwords; i += 2)
      store_pair(memory + 4 * i, word(i) | uint64_t{word(i + 1)} << 32);
    if constexpr (Element::dwords % 2 != 0) {
      const uint32_t last = word(Element::dwords - 1);
      __builtin_memcpy(memory + 4 * (Element::dwords - 1), &last, 4);
    }
  }
}
template <class Element>
LOCKSTEP_INLINE void store_lane(Wave* wave, uint32_t source, unsigned lane, void* to) {
  store_element<Element>(wave->vgprs + source + 4 * lane, wave->register_bytes, to);
}

// The elements of all sixteen lanes of a chunk, at these distances from `memory`. What the loop needs of the
// wave and the distances are copies: the stores may be over anything as far as the compiler knows, and to
// take a lane's number out of a vector takes the host two instructions.
struct Distances {
  alignas(U32) uint32_t of[kLanesPerChunk];
  explicit LOCKSTEP_INLINE Distances(U32 lanes) {
    __builtin_memcpy(of, &lanes, sizeof of);
    asm("" : "+m"(of));
  }
};
// What all lanes load of one register is put together in the host's: it does not forward stores of single
// lanes to a load of the register.
template <class Element, size_t... lane>
LOCKSTEP_INLINE U32 gathered(const Distances& distances, const std::byte* memory,
                             std::index_sequence<lane...>) {
  const auto at = [&](size_t i) __attribute__((always_inline)) {
    typename Element::Raw raw;
    __builtin_memcpy(&raw, memory + distances.of[i], sizeof raw);
    return static_cast<uint32_t>(static_cast<int32_t>(raw));
  };
  return U32{at(lane)...};
}
template <class Element>
LOCKSTEP_INLINE void load_all_lanes(Wave* wave, uint32_t destination, unsigned chunk,
                                    const Distances& distances, const std::byte* memory) {
  if constexpr (Element::dwords <= 1) {
    U32* const to = vgpr_chunk(wave, destination, chunk);
    *to = Element::placed(*to,
                          gathered<Element>(distances, memory, std::make_index_sequence<kLanesPerChunk>()));
  } else {
    std::byte* const registers = wave->vgprs + destination + chunk * sizeof(U32);
    const uint32_t register_bytes = wave->register_bytes;
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
      load_element<Element>(registers + 4 * lane, register_bytes, memory + distances.of[lane]);
  }
}
// Some of them.
template <class Element>
LOCKSTEP_INLINE void load_lanes(Wave* wave, uint32_t destination, unsigned chunk, uint16_t lanes,
                                const Distances& distances, const std::byte* memory) {
  std::byte* const registers = wave->vgprs + destination + chunk * sizeof(U32);
  const uint32_t register_bytes = wave->register_bytes;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    load_element<Element>(registers + 4 * lane, register_bytes, memory + distances.of[lane]);
  }
}
template <class Element>
LOCKSTEP_INLINE void store_lanes(Wave* wave, uint32_t source, unsigned chunk, uint16_t lanes,
                                 const Distances& distances, std::byte* memory) {
  const std::byte* const registers = wave->vgprs + source + chunk * sizeof(U32);
  const uint32_t register_bytes = wave->register_bytes;
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    store_element<Element>(registers + 4 * lane, register_bytes, memory + distances.of[lane]);
  }
}
template <class Element>
LOCKSTEP_INLINE void store_all_lanes(Wave* wave, uint32_t source, unsigned chunk, const Distances& distances,
                                     std::byte* memory) {
  const std::byte* const registers = wave->vgprs + source + chunk * sizeof(U32);
  const uint32_t register_bytes = wave->register_bytes;
  for (unsigned lane = 0; lane < kLanesPerChunk; ++lane)
    store_element<Element>(registers + 4 * lane, register_bytes, memory + distances.of[lane]);
}

// Sixteen lanes whose elements lie one behind the other: between memory, as it lies there, and a vector for
// each word of the elements. Of three or four words the first two meet in one shuffle, the others in another.
template <unsigned dwords, unsigned word, size_t... lane>
LOCKSTEP_INLINE U32 word_of_elements(const U32 (&memory)[dwords], std::index_sequence<lane...>) {
  constexpr auto place = [](size_t of) { return static_cast<int>(of * dwords + word); };
  constexpr auto is_early = [](size_t of) { return of * dwords + word < 2 * kLanesPerChunk; };
  if constexpr (dwords == 1) {
    return memory[0];
  } else if constexpr (dwords == 2) {
    return __builtin_shufflevector(memory[0], memory[1], place(lane)...);
  } else {
    const U32 early = __builtin_shufflevector(memory[0], memory[1], (is_early(lane) ? place(lane) : -1)...);
    const U32 late =
        __builtin_shufflevector(memory[2], memory[dwords - 1], (is_early(lane) ? -1 : place(lane) - 32)...);
    return __builtin_shufflevector(early, late, (static_cast<int>(lane) + (is_early(lane) ? 0 : 16))...);
  }
}
template <unsigned dwords, unsigned part, size_t... place>
LOCKSTEP_INLINE U32 part_of_memory(const U32 (&words)[dwords], std::index_sequence<place...>) {
  constexpr auto lane = [](size_t at) { return static_cast<int>((16 * part + at) / dwords); };
  constexpr auto word = [](size_t at) { return static_cast<int>((16 * part + at) % dwords); };
  if constexpr (dwords == 1) {
    return words[0];
  } else if constexpr (dwords == 2) {
    return __builtin_shufflevector(words[0], words[1], (lane(place) + 16 * word(place))...);
  } else {
    const U32 early = __builtin_shufflevector(words[0], words[1],
                                              (word(place) < 2 ? lane(place) + 16 * word(place) : -1)...);
    const U32 late = __builtin_shufflevector(
        words[2], words[dwords - 1], (word(place) < 2 ? -1 : lane(place) + 16 * (word(place) - 2))...);
    return __builtin_shufflevector(early, late, (static_cast<int>(place) + (word(place) < 2 ? 0 : 16))...);
  }
}
template <unsigned dwords>
LOCKSTEP_INLINE void load_elements(const std::byte* from, U32 (&words)[dwords]) {
  U32 memory[dwords];
  for (unsigned i = 0; i < dwords; ++i) memory[i] = load_once(from + sizeof(U32) * i);
  [&]<unsigned... word>(std::integer_sequence<unsigned, word...>) __attribute__((always_inline)) {
    ((words[word] = word_of_elements<dwords, word>(memory, std::make_index_sequence<kLanesPerChunk>())), ...);
  }(std::make_integer_sequence<unsigned, dwords>());
}
template <unsigned dwords>
LOCKSTEP_INLINE void store_elements(const U32 (&words)[dwords], std::byte* to) {
  [&]<unsigned... part>(std::integer_sequence<unsigned, part...>) __attribute__((always_inline)) {
    const U32 memory[] = {part_of_memory<dwords, part>(words, std::make_index_sequence<kLanesPerChunk>())...};
    __builtin_memcpy(to, memory, sizeof memory);
  }(std::make_integer_sequence<unsigned, dwords>());
}

template <class Element>
LOCKSTEP_INLINE void load_consecutive(Wave* wave, uint32_t destination, unsigned chunk,
                                      const std::byte* from) {
  if constexpr (Element::dwords == 0) {
    using Raw = typename Element::Raw __attribute__((ext_vector_type(16)));
    Raw raw;
    __builtin_memcpy(&raw, from, sizeof raw);
    U32* const to = vgpr_chunk(wave, destination, chunk);
    *to = Element::placed(*to, bits_as<U32>(convert<I32>(raw)));
  } else {
    U32 words[Element::dwords];
    load_elements(from, words);
    for (unsigned i = 0; i < Element::dwords; ++i)
      *vgpr_chunk(wave, destination + i * wave->register_bytes, chunk) = words[i];
  }
}
template <unsigned dwords>
LOCKSTEP_INLINE void store_consecutive(Wave* wave, uint32_t source, unsigned chunk, std::byte* to) {
  U32 words[dwords];
  for (unsigned i = 0; i < dwords; ++i)
    words[i] = *vgpr_chunk(wave, source + i * wave->register_bytes, chunk);
  store_elements(words, to);
}

}  // namespace lockstep::interpreter
