// The registers of a wave (guide chapter 3) and what the engines keep beside them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "state/fault.h"
#include "state/trap_status.h"

namespace lockstep {

struct WorkGroup;
class MemoryView;

enum class WaveState : uint8_t {
  ready,
  at_barrier,
  sleeping,  // until Wave::sleep_clocks are over, or another wave of the group wakes it
  blocked,   // waits for other waves of the device (Wave::wait), the PC at the instruction that waits
  halted,    // the machine refused the instruction at the PC (Wave::fault says why) and may take it later
  held,      // STATUS says that it is halted: until the host lets it go on (Wave::held_from says with what)
  ended,
  faulted,
};

// What a blocked wave waits for.
enum class WaitKind : uint8_t {
  none,
  semaphore,  // of global wave sync
  barrier,    // of global wave sync
  turn,       // of ds_ordered_count
};

struct Wait {
  WaitKind kind = WaitKind::none;
  uint8_t resource = 0;     // of global wave sync
  bool flag = false;        // the pass of a barrier that the wave waits for the end of
  uint8_t is_over = false;  // set by another thread: the wave may repeat the instruction
  uint64_t pc = 0;          // of the instruction that waits

  void grant() { __atomic_store_n(&is_over, true, __ATOMIC_RELEASE); }
  bool granted() const { return __atomic_load_n(&is_over, __ATOMIC_ACQUIRE); }
};

// Numbers into Wave::scalar: those of the operand codes that the state itself needs, then beyond the 256
// codes.
inline constexpr unsigned kScalarVcc = 106, kScalarTtmp0 = 108, kScalarM0 = 125, kScalarExec = 126,
                          kScalarScc = 253;
// Low and high half of the instruction's literal or wide constant.
inline constexpr unsigned kScalarLiteral = 255;
inline constexpr unsigned kScalarDiscard = 258;  // where writes to NULL go: up to 16 registers, never read
// Inline constants of other widths than 32 bits: 64-bit integers and doubles as pairs, then f16.
inline constexpr unsigned kScalarWideInteger = 280;                     // + 2 * (code - 128)
inline constexpr unsigned kScalarDouble = kScalarWideInteger + 2 * 81;  // + 2 * (code - 240)
inline constexpr unsigned kScalarHalf = kScalarDouble + 2 * 9;          // + (code - 240)
inline constexpr unsigned kScalarAperture = kScalarHalf + 9;            // + 2 * (code - 235)
inline constexpr unsigned kScalarConditions = kScalarAperture + 8;      // VCCZ and EXECZ as pairs
inline constexpr unsigned kScalarZeros = kScalarConditions + 4;         // NULL read as a group: eight zeros
inline constexpr unsigned kScalarSlots = kScalarZeros + 8;

inline constexpr unsigned kMaxVgprs = 256;
// What a wave that asks for `count` VGPRs gets: whole blocks, whose size is the device's and half as large in
// wave64 (guide 3.3.2.1).
inline constexpr unsigned allocated_vgprs(unsigned count, unsigned wave_size, unsigned block_wave32) {
  const unsigned block = wave_size == 64 ? block_wave32 / 2 : block_wave32;
  const unsigned rounded = (count + block - 1) / block * block;
  return rounded < block ? block : rounded > kMaxVgprs ? kMaxVgprs : rounded;
}
// Registers behind the last VGPR that only the engine sees: operands rewritten by DPP.
inline constexpr unsigned kEngineVgprs = 8;

// Flat apertures (guide 11.2.. and 6.9): the high halves that mark LDS and scratch addresses.
inline constexpr uint64_t kSharedApertureBase = 0x0001'0000'0000'0000ull;
inline constexpr uint64_t kPrivateApertureBase = 0x0002'0000'0000'0000ull;
inline constexpr uint64_t kApertureSize = 0x1'0000'0000ull;

inline constexpr unsigned kCachedRanges = 16;
inline constexpr unsigned kForeseenStores = 8;

struct CachedRange {
  uint64_t begin = 1;  // empty until the first access
  uint64_t end = 0;
};

struct alignas(64) Wave {
  // Indexed by the guide's scalar operand codes: 0..105 SGPRs, 106/107 VCC, 108..123 TTMP, 124 NULL (always
  // 0), 125 M0, 126/127 EXEC, 128..248 inline constants as 32-bit values, 253 SCC; 255/256 the literal of the
  // current instruction.
  uint32_t scalar[kScalarSlots];

  std::byte* vgprs = nullptr;   // (kMaxVgprs + kEngineVgprs) registers of wave_size x 4 bytes
  uint32_t register_bytes = 0;  // bytes of one VGPR: wave_size * 4
  uint32_t chunks = 0;          // wave_size / 16
  uint64_t lane_mask = 0;       // wave_size ones
  uint32_t wave_size = 0;
  uint32_t vgpr_count = kMaxVgprs;  // allocated

  uint32_t mode = 0;  // MODE register
  uint32_t status = 0;
  uint32_t trapsts = 0;
  uint64_t pc = 0;
  int64_t budget = 0;       // instructions left in this turn, as the engine left it
  int64_t turn_budget = 0;  // instructions granted for the current turn
  int64_t executed_before_turn = 0;
  WaveState state = WaveState::ready;
  WaveState held_from = WaveState::ready;  // of a held wave: ready, at_barrier or blocked
  uint32_t sleep_clocks = 0;               // that the wave asked for when it went to sleep

  // Ranges that this wave's reads and writes hit lately.
  CachedRange read_ranges[kCachedRanges], write_ranges[kCachedRanges];
  // Where the loads that have these places began last, which tells what they will want next; and a kernel's
  // first stores, of waves that had this one's place in groups before.
  uint64_t last_reads[kCachedRanges] = {}, last_writes[kForeseenStores] = {};

  std::byte* lds = nullptr;  // of the work-group
  uint32_t lds_bytes = 0;    // allocated to the work-group
  // FLAT_SCRATCH: guest address of the wave's scratch, lanes interleaved by dword. A trap handler may set it.
  uint64_t scratch_base = 0;
  // A lane's bytes of the scratch that the machine gave the wave: zero while FLAT_SCRATCH is elsewhere, where
  // every address is looked up among the guest's ranges instead.
  uint32_t scratch_bytes = 0;
  uint64_t given_scratch_base = 0;
  uint32_t given_scratch_bytes = 0;

  uint32_t index_in_group = 0;
  // HW_ID1, HW_ID2, GPR_ALLOC and LDS_ALLOC: where the wave was placed.
  uint32_t hw_id1 = 0, hw_id2 = 0, gpr_alloc = 0, lds_alloc = 0;
  WorkGroup* group = nullptr;
  uint64_t creation_index = 0;        // number within the dispatch, in the order of creation
  Wait wait;                          // while blocked, and until the instruction was repeated
  bool passed_turn = false;           // a ds_ordered_count with wave_release was executed
  uint8_t ordered_counts = 0;         // ds_ordered_count executed
  const void* program = nullptr;      // the engine's decoded code for the current float-mode class
  const void* dispatch = nullptr;     // engine's per-dispatch context
  void* attachment = nullptr;         // what the precise engine keeps for this wave
  MemoryView* memory_view = nullptr;  // null: guest memory is the host's at the same address
  uint64_t dpp_write_mask = 0;        // lanes that the DPP instruction in flight may write
  uint32_t resume_chunk = 0;          // where the exact handler takes over from the quick one
  // TTMP0..15 while STATUS.PRIV is 0; their places in `scalar` are zero then, which is what a program may
  // read (guide 3.3.1.4).
  uint32_t trap_temporaries[16];
  Fault fault;

  uint64_t exec() const {
    return (scalar[kScalarExec] | uint64_t{scalar[kScalarExec + 1]} << 32) & lane_mask;
  }
  void set_exec(uint64_t value) {
    scalar[kScalarExec] = static_cast<uint32_t>(value);
    if (wave_size == 64) scalar[kScalarExec + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint64_t scalar64(unsigned index) const { return scalar[index] | uint64_t{scalar[index + 1]} << 32; }
  void set_scalar64(unsigned index, uint64_t value) {
    scalar[index] = static_cast<uint32_t>(value);
    scalar[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  // A lane mask register: one SGPR in wave32, a pair in wave64.
  uint64_t mask(unsigned index) const { return wave_size == 32 ? scalar[index] : scalar64(index); }
  void set_mask(unsigned index, uint64_t value) {
    scalar[index] = static_cast<uint32_t>(value);
    if (wave_size == 64) scalar[index + 1] = static_cast<uint32_t>(value >> 32);
  }
  uint32_t* vgpr(unsigned index) {
    return reinterpret_cast<uint32_t*>(vgprs + size_t{index} * register_bytes);
  }
  uint32_t& scc() { return scalar[kScalarScc]; }
};

// Sets what stays the same from wave to wave: the width, the VGPR storage, the inline constants.
void initialise_wave(Wave& wave, unsigned wave_size, std::byte* vgprs);
// Forgets which ranges the wave's accesses hit: the guest's memory is another one now.
void forget_ranges(Wave& wave);
// Makes the structure a fresh wave: registers zero, nothing executed yet.
void reset_wave(Wave& wave, unsigned vgpr_count);
void reset_all_but_vgprs(Wave& wave, unsigned vgpr_count);
// Scratch that the machine answers for: the wave reaches it without further checks. FLAT_SCRATCH points
// there.
void give_scratch(Wave& wave, uint64_t base, uint32_t bytes_per_lane);
// FLAT_SCRATCH as the trap handler sets it.
void set_flat_scratch(Wave& wave, uint64_t base);
// Sets or clears STATUS.PRIV: the TTMPs appear among the scalars, or go back to where no program sees them.
void set_privileged(Wave& wave, bool privileged);

}  // namespace lockstep
