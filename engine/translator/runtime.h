// Functions that translated code calls for what is not worth inlining: lanes one by one, and range lookups.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/translator/context.h"
#include "isa/row.h"

extern "C" {

// Whether the access is allowed; then `slot` remembers the range.
bool lockstep_translator_allowed(const lockstep::translator::Context* context, uint32_t slot,
                                 uint64_t address, uint64_t bytes, uint32_t access);

// A GLOBAL load or store of a whole wave, lane by lane. `form` is memory_form(); `data` holds one dword of
// all lanes after the other. False if any lane may not access its address: then nothing was changed.
bool lockstep_translator_global(const lockstep::translator::Context* context, uint32_t slot, uint32_t form,
                                uint32_t wave_size, uint64_t base, uint64_t exec, const uint32_t* low,
                                const uint32_t* high, uint32_t* data);

// A GLOBAL or FLAT load or store of a whole wave, whose registers are all in the Wave. `registers`: the first
// VGPRs of the address and of the data (WaveAccess). False as above.
bool lockstep_translator_wave_access(lockstep::Wave* wave, const lockstep::translator::Context* context,
                                     uint32_t slot, uint32_t form, uint32_t registers, uint64_t base);

// The same of FLAT, whose lanes may each be in memory, scratch (the private aperture) or the LDS (the shared
// one).
bool lockstep_translator_flat(lockstep::Wave* wave, const lockstep::translator::Context* context,
                              uint32_t slot, uint32_t form, uint64_t base, uint64_t exec, const uint32_t* low,
                              const uint32_t* high, uint32_t* data);

// A load or store through a buffer resource of four words: dwords out of its bounds are loaded as zeros and
// not stored. `displacement`: the instruction's offset, and above it that of the SGPR. `offsets` and
// `indices` are null where the instruction has none.
bool lockstep_translator_buffer(const lockstep::translator::Context* context, uint32_t slot, uint32_t form,
                                uint32_t wave_size, uint64_t resource_low, uint64_t resource_high,
                                uint64_t displacement, uint64_t exec, const uint32_t* offsets,
                                const uint32_t* indices, uint32_t* data);

// Of data with a format: `format` is that of the instruction with kTypedFormat, or 0, and then the resource
// has it. `data` has registers for all components.
bool lockstep_translator_buffer_format(const lockstep::translator::Context* context, uint32_t slot,
                                       uint32_t form, uint32_t format, uint32_t wave_size,
                                       uint64_t resource_low, uint64_t resource_high, uint64_t displacement,
                                       uint64_t exec, const uint32_t* offsets, const uint32_t* indices,
                                       uint32_t* data);

// An atomic, as lockstep_translator_atomic(). `rows` has the lanes' offsets where `places` has 1, indices
// where it has 2, and data. Lanes out of bounds get 0.
bool lockstep_translator_buffer_atomic(lockstep::Wave* wave, const lockstep::translator::Context* context,
                                       uint32_t slot, uint32_t form, uint64_t resource_low,
                                       uint64_t resource_high, uint64_t displacement, uint64_t exec,
                                       uint32_t places, uint32_t* rows);

// Dwords from a scalar buffer of `size` bytes, where some of them may be behind its end.
bool lockstep_translator_scalar_buffer(const lockstep::translator::Context* context, uint32_t slot,
                                       uint64_t base, uint64_t size, uint64_t offset, uint32_t dwords,
                                       uint32_t* words);

// An LDS load or store of 16 lanes. Out of range: loads give zero, stores are dropped (guide 3.3.4.1).
void lockstep_translator_lds(lockstep::Wave* wave, uint32_t form, uint32_t lanes, const uint32_t* addresses,
                             uint32_t offset, uint32_t* data);

// An atomic of all lanes of a wave, the lowest first. `places`: 1 in the LDS, 2 with 64-bit addresses of the
// lanes, 4 of FLAT, which may be in an aperture. `rows` has the lanes' addresses, their high halves, two
// dwords of data and two of the second operand; what was in memory takes the place of the data. False: some
// lane may not do so, and none has.
bool lockstep_translator_atomic(lockstep::Wave* wave, const lockstep::translator::Context* context,
                                uint32_t slot, uint32_t form, uint32_t places, uint64_t base, uint64_t exec,
                                uint32_t* rows);

// Of this thread, for kMostLaneRounds rounds: which blocks of a loop lanes went through in each. Zeros,
// unless lanes are in a loop.
uint16_t* lockstep_translator_paths();
// Lanes were given up in the middle of a loop.
void lockstep_translator_forget_paths();

// Of a wave's lanes, each in memory of its own: so many rounds of dwords, side by side in memory, which
// `rows` has as rows of lanes.
void lockstep_translator_store_rows(uint64_t begin, const uint32_t* offsets, const uint32_t* rows,
                                    uint32_t rounds, uint32_t lanes, uint32_t dwords);

// A matrix instruction on the wave's registers; the numbers are those of a MatrixCall.
void lockstep_translator_matrix(lockstep::Wave* wave, uint32_t opcode, uint32_t registers, uint32_t modifiers,
                                uint32_t constant);

// Executes the instruction at an offset from the routine's entry as the interpreter does it. False: the wave
// stops, Wave::state and Wave::pc say why and where, and Wave::budget how many instructions it executed.
// `interpreted` is its number among those that the interpreter executes.
bool lockstep_translator_call(lockstep::Wave* wave, const lockstep::translator::Context* context,
                              int64_t offset, uint32_t interpreted);
}

namespace lockstep::translator {

// Whether memory allows the access; then the slot has its range.
inline bool is_allowed(const Context* context, uint32_t slot, uint64_t address, uint64_t bytes,
                       Access access) {
  const Range* range = context->last_range[slot].load(std::memory_order_relaxed);
  return (address >= range->begin && address < range->end && range->end - address >= bytes) ||
         lockstep_translator_allowed(context, slot, address, bytes, access);
}

// Of lockstep_translator_wave_access(), in one number.
struct WaveAccess {
  uint8_t address = 0, data = 0;
  bool wide = false;  // addresses of 64 bits
  bool is_flat = false;

  constexpr uint32_t packed() const {
    return address | uint32_t{data} << 8 | uint32_t{wide} << 16 | uint32_t{is_flat} << 17;
  }
  static constexpr WaveAccess of(uint32_t packed) {
    return {static_cast<uint8_t>(packed), static_cast<uint8_t>(packed >> 8), (packed >> 16 & 1) != 0,
            (packed >> 17 & 1) != 0};
  }
};

// Of lockstep_translator_matrix().
struct MatrixCall {
  uint32_t registers = 0;  // VGPRs of D, A, B and C, eight bits each
  uint32_t modifiers = 0;  // MatrixBit, and NEG and NEG_HI
  uint32_t constant = 0;   // C, where it is no register
  static constexpr unsigned kNeg = 8, kNegHigh = 12;
};
enum MatrixBit : uint32_t { kHighHalves = 1, kClamped = 2, kConstantAddend = 4, kFloatAddend = 8 };

inline constexpr uint32_t kTypedFormat = 0x100;

// Of a loop that a wave goes through lane by lane; where a lane wants more the wave goes through it as a
// wave.
inline constexpr uint64_t kMostLaneRounds = 1 << 16;

struct RuntimeSymbol {
  const char* name;
  void* address;
  bool keeps_registers = false;  // calls leave all but the result's as they are (keep_registers.S)
};
std::span<const RuntimeSymbol> runtime_symbols();
bool keeps_registers(std::string_view name);

// Instructions that this thread has executed by calls since the last time. Counts them in `times` by their
// numbers.
uint64_t take_called(std::span<std::atomic<uint64_t>> times);

// What a runtime function must know of an instruction, in one number.
uint32_t memory_form(isa::Opcode opcode);

}  // namespace lockstep::translator
