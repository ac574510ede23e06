// A pre-decoded instruction: what a handler needs, in one cache line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::interpreter {

struct Operation;

// Handlers chain by tail calls: each one ends by calling the next operation's handler. `budget` counts down
// executed wave-instructions; branches leave the chain when it is used up.
using Handler = void (*)(const Operation*, Wave*, int64_t budget);

// Bits of Operation::source_flags, eight for each source.
enum SourceFlag : uint32_t {
  kScalarSource = 1,  // Operation::source is a byte offset into Wave::scalar, not into the VGPRs
  kAbs = 2,
  kNeg = 4,
  kHigh = 8,       // 16-bit: high half of the register; VOP3P: op_sel
  kNegHigh = 16,   // VOP3P neg_hi
  kHighHigh = 32,  // VOP3P op_sel_hi
  kHalves = 64,    // a 32-bit operand put together from the halves that kHigh and kHighHigh choose
};

// Bits of Operation::flags.
enum OperationFlag : uint8_t {
  kDstHigh = 1,  // 16-bit result into the high half
  kClamp = 2,
  kOmodShift = 2,  // two bits
  kOmodMask = 3 << kOmodShift,
  kWithoutLanes = 32,  // ordered count: as if EXEC were zero
  kDppMask = 16,       // write Wave::dpp_write_mask lanes instead of EXEC
  kKeepsScc = 64,      // the destination cannot be written: SCC stays as it is
};

struct alignas(64) Operation {
  Handler run;
  const isa::Instruction* instruction;  // for rare fields, faults and observers
  uint64_t pc;                          // guest address of the instruction
  union {
    uint64_t literal;         // literal or wide inline constant
    const Operation* target;  // branches
    int64_t offset;           // memory: immediate byte offset
  };
  uint32_t source[3];  // byte offsets: into the VGPRs, or into Wave::scalar (kScalarSource)
  uint32_t dst;        // likewise
  uint32_t dst2;       // scalar second destination, byte offset into Wave::scalar
  uint32_t source_flags;
  int32_t next;  // bytes to the operation that follows in program order
  uint8_t cost;  // wave-instructions that this operation counts as (0 inside a chain)
  uint8_t flags;
  uint16_t detail;  // for the handler's own use
};
static_assert(sizeof(Operation) == 64);

inline uint32_t source_flags(const Operation* op, unsigned i) {
  return op->source_flags >> (8 * i) & 0xff;
}

template <class T = uint32_t>
inline T& scalar_at(Wave* wave, uint32_t byte_offset) {
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(wave->scalar) + byte_offset);
}

// Another thread may be decoding the slot at this moment: it publishes the handler last, and a plain load on
// x86 is enough to see what it wrote before.
inline Handler handler_of(const Operation* op) {
  return __atomic_load_n(&op->run, __ATOMIC_ACQUIRE);
}

inline const Operation* next_of(const Operation* op) {
  return reinterpret_cast<const Operation*>(reinterpret_cast<const std::byte*>(op) + op->next);
}

// Ends a handler: on to the next operation. That this one is behind so many dwords is a guess of the host's
// branch prediction, which the statement keeps the compiler from making a sum of: else the place of each
// operation is known some cycles after that of the one before it, when `next` has been loaded, however much
// of the work could be done meanwhile.
#define LOCKSTEP_NEXT_IF_BEHIND(dwords)                                        \
  if (op->next == (dwords) * static_cast<int32_t>(sizeof(Operation))) {        \
    const Operation* following = op + (dwords);                                \
    asm("" : "+r"(following));                                                 \
    [[clang::musttail]] return handler_of(following)(following, wave, budget); \
  }
#define LOCKSTEP_NEXT()                                                        \
  do {                                                                         \
    budget -= op->cost;                                                        \
    LOCKSTEP_NEXT_IF_BEHIND(1)                                                 \
    LOCKSTEP_NEXT_IF_BEHIND(2)                                                 \
    LOCKSTEP_NEXT_IF_BEHIND(3)                                                 \
    const Operation* following = next_of(op);                                  \
    [[clang::musttail]] return handler_of(following)(following, wave, budget); \
  } while (false)

// Leaves the chain: the wave goes on later at `pc`, or never (ended, faulted).
inline void leave(Wave* wave, uint64_t pc, int64_t budget, WaveState state) {
  wave->pc = pc;
  wave->budget = budget;
  wave->state = state;
}

// Stops the wave with a fault at this operation. Fills everything but what the caller knows better.
void raise(const Operation* op, Wave* wave, int64_t budget, Fault fault);

}  // namespace lockstep::interpreter
