// Program flow (guide chapter 5): branches, calls, waits, barriers, messages, hardware registers.

#include "engine/interpreter/common.h"
#include "engine/interpreter/dispatch_context.h"
#include "engine/interpreter/program.h"
#include "engine/interpreter/registration.h"
#include "isa/branch.h"
#include "isa/effects.h"
#include "isa/hardware_registers.h"
#include "isa/row_facts.h"
#include "numeric/float_mode.h"
#include "state/dispatch_state.h"
#include "state/status.h"
#include "state/trap_status.h"
#include "text/hex.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;
namespace message = isa::message;
namespace hardware_register = isa::hardware_register;

// ---- Branches
// ----------------------------------------------------------------------------------------------------

[[gnu::cold]] void fault_bad_target(const Operation* op, Wave* wave, int64_t budget, uint64_t pc) {
  Fault fault;
  fault.kind = FaultKind::bad_pc;
  fault.message = "the branch target " + hex(pc) + " lies outside the code";
  raise(op, wave, budget, std::move(fault));
}

// Every taken branch may end the wave's turn, so that no loop keeps the others waiting.
#define LOCKSTEP_JUMP(destination, address)                                        \
  do {                                                                             \
    const Operation* target = (destination);                                       \
    if (!target) return fault_bad_target(op, wave, budget, address);               \
    if (budget <= 1) return leave(wave, target->pc, budget - 1, WaveState::ready); \
    [[clang::musttail]] return handler_of(target)(target, wave, budget - 1);       \
  } while (false)

uint64_t label_target(const Operation* op) {
  const isa::Instruction& instruction = *op->instruction;
  return *isa::label_target(instruction, op->pc + instruction.size);
}

// The branch keeps no target that is in another mapping, or in none. In a handler of its own, since a call
// would cost every branch a stack frame.
[[gnu::noinline, gnu::cold]] void jump_to_label_elsewhere(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_JUMP(program_of(wave)->at(label_target(op)), label_target(op));
}

#define LOCKSTEP_JUMP_TO_LABEL()                        \
  do {                                                  \
    if (!op->target) [[clang::musttail]]                \
      return jump_to_label_elsewhere(op, wave, budget); \
    LOCKSTEP_JUMP(op->target, label_target(op));        \
  } while (false)

// Word by word: the host does not forward the store of one word to a load of two.
bool has_lanes(const Wave* wave) {
  return ((wave->scalar[kScalarExec] & static_cast<uint32_t>(wave->lane_mask)) |
          (wave->scalar[kScalarExec + 1] & static_cast<uint32_t>(wave->lane_mask >> 32))) != 0;
}

struct Always {
  static bool holds(Wave*) { return true; }
};
struct Scc0 {
  static bool holds(Wave* w) { return w->scc() == 0; }
};
struct Scc1 {
  static bool holds(Wave* w) { return w->scc() != 0; }
};
struct VccZero {
  static bool holds(Wave* w) { return w->mask(isa::code::kVccLo) == 0; }
};
struct VccNotZero {
  static bool holds(Wave* w) { return w->mask(isa::code::kVccLo) != 0; }
};
struct ExecZero {
  static bool holds(Wave* w) { return !has_lanes(w); }
};
struct ExecNotZero {
  static bool holds(Wave* w) { return has_lanes(w); }
};
// STATUS.CDBG_USER and CDBG_SYS (guide 3.4.1): a debugger sets them, or a trap handler.
struct DebugUser {
  static bool holds(Wave* w) { return w->status & status_bit::kConditionDebugUser; }
};
struct DebugSystem {
  static bool holds(Wave* w) { return w->status & status_bit::kConditionDebugSystem; }
};
struct DebugAny {
  static bool holds(Wave* w) {
    return w->status & (status_bit::kConditionDebugUser | status_bit::kConditionDebugSystem);
  }
};
struct DebugBoth {
  static bool holds(Wave* w) { return DebugUser::holds(w) && DebugSystem::holds(w); }
};

template <class Condition>
void branch(const Operation* op, Wave* wave, int64_t budget) {
  if (Condition::holds(wave)) LOCKSTEP_JUMP_TO_LABEL();
  LOCKSTEP_NEXT();
}

uint64_t address_after(const Operation* op) {
  return op->pc + op->instruction->size;
}

void s_getpc(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t pc = address_after(op);
  scalar_at(wave, op->dst) = static_cast<uint32_t>(pc);
  scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(pc >> 32);
  LOCKSTEP_NEXT();
}

uint64_t pair_at(Wave* wave, uint32_t offset) {
  return scalar_at(wave, offset) | uint64_t{scalar_at(wave, offset + 4)} << 32;
}

uint64_t pc_at(Wave* wave, uint32_t offset) {
  return pair_at(wave, offset) & isa::kPcBits;
}

void s_setpc(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  const uint64_t destination = pc_at(wave, op->source[0]);
  LOCKSTEP_JUMP(program_of(wave)->at(destination), destination);
}

void s_swappc(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  const uint64_t destination = pc_at(wave, op->source[0]);
  const uint64_t pc = address_after(op);
  scalar_at(wave, op->dst) = static_cast<uint32_t>(pc);
  scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(pc >> 32);
  LOCKSTEP_JUMP(program_of(wave)->at(destination), destination);
}

void s_call(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t pc = address_after(op);
  scalar_at(wave, op->dst) = static_cast<uint32_t>(pc);
  scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(pc >> 32);
  LOCKSTEP_JUMP_TO_LABEL();
}

// s_subvector_loop_begin/end (LLVM: SOPK of GFX10 and later; the guide does not name them): wave64 code runs
// its halves one after the other; the SGPR keeps the other half of EXEC meanwhile.
void s_subvector_loop_begin(const Operation* op, Wave* wave, int64_t budget) {
  uint32_t& saved = scalar_at(wave, op->dst);
  if (wave->exec() == 0) LOCKSTEP_JUMP_TO_LABEL();
  if (wave->scalar[kScalarExec] == 0) {
    saved = 0;
  } else {
    saved = wave->scalar[kScalarExec + 1];
    wave->scalar[kScalarExec + 1] = 0;
  }
  LOCKSTEP_NEXT();
}
void s_subvector_loop_end(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t saved = scalar_at(wave, op->source[0]);
  if (wave->scalar[kScalarExec + 1] != 0) {
    wave->scalar[kScalarExec] = saved;
  } else if (saved != 0) {
    wave->scalar[kScalarExec + 1] = saved;
    scalar_at(wave, op->dst) = wave->scalar[kScalarExec];
    wave->scalar[kScalarExec] = 0;
    LOCKSTEP_JUMP_TO_LABEL();
  }
  LOCKSTEP_NEXT();
}

// ---- Waits and hints
// ---------------------------------------------------------------------------------------------

// Loads have their results at once (DESIGN 6, default), so waits for them are already satisfied; hints have
// no result.
void already_satisfied(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT();
}

// What the wave has stored must be in memory before it looks at what others stored (guide 4.1.1). The host
// may still hold a store back behind a later load. Any locked instruction orders both, in a quarter of the
// time of the MFENCE that a fence of C++ is.
void wait_for_stores(const Operation* op, Wave* wave, int64_t budget) {
  uint32_t place = 0;
  asm volatile("lock orl $0, %0" : "+m"(place) : : "memory", "cc");
  LOCKSTEP_NEXT();
}

void s_endpgm(const Operation* op, Wave* wave, int64_t budget) {
  leave(wave, op->pc, budget - 1, WaveState::ended);
}

void s_barrier(const Operation* op, Wave* wave, int64_t budget) {
  // A work-group of one wave treats it as s_nop (guide 5.5).
  if (wave->group->wave_count == 1) LOCKSTEP_NEXT();
  leave(wave, address_after(op), budget - 1, WaveState::at_barrier);
}

// Guide 5.1 and 16.5: about 64 clocks for each unit. The machine counts a clock for each wave-instruction of
// the work-group.
void s_sleep(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t units = op->literal & 0x7f;
  if (units == 0) LOCKSTEP_NEXT();
  wave->sleep_clocks = 64 * units;
  wave->executed_before_turn += 64 * units;  // its time goes on meanwhile (guide 3.4.10)
  leave(wave, address_after(op), budget - 1, WaveState::sleeping);
}

// The others wake when this wave's turn is over: until then they do not run anyway.
void s_wakeup(const Operation* op, Wave* wave, int64_t budget) {
  wave->group->wake_up = true;
  LOCKSTEP_NEXT();
}

void s_setprio(const Operation* op, Wave* wave, int64_t budget) {
  wave->status = (wave->status & ~status_bit::kUserPriority) | static_cast<uint32_t>(op->literal & 3)
                                                                   << status_bit::kUserPriorityShift;
  wave->group->has_priorities = true;
  LOCKSTEP_NEXT();
}

void s_trap(const Operation* op, Wave* wave, int64_t budget) {
  // TRAP_EN 0 makes it no operation (guide 3.4.9). Where no handler takes it the machine stands in for that
  // of ROCm's runtime (LLVM AMDGPU usage, trap handler ABI): 2 is llvm.trap, 3 llvm.debugtrap.
  if (!(wave->status & status_bit::kTrapEnabled)) LOCKSTEP_NEXT();
  const unsigned id = static_cast<unsigned>(op->literal & 0xff);
  const bool has_handler = wave->group->dispatch && wave->group->dispatch->has_trap_handler;
  if ((id == 0 || id == 3) && !has_handler) LOCKSTEP_NEXT();
  Fault fault;
  fault.kind = FaultKind::trap;
  fault.message = id == 2 ? kTrapOfCompilers : "s_trap " + std::to_string(id) + " without a trap handler";
  raise(op, wave, budget, std::move(fault));
}

void v_illegal(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = FaultKind::illegal_instruction;
  fault.message = "a zero dword is no instruction; does control run through data?";
  raise(op, wave, budget, std::move(fault));
}

void s_code_end(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = FaultKind::illegal_instruction;
  fault.message = "s_code_end executed: control ran past the end of the program";
  raise(op, wave, budget, std::move(fault));
}

// ---- What ends or stops a wave otherwise

void fault_with(const Operation* op, Wave* wave, int64_t budget, FaultKind kind, const char* message) {
  Fault fault;
  fault.kind = kind;
  fault.message = message;
  raise(op, wave, budget, std::move(fault));
}

// Guide 16.5: SIMM16[2] chooses FATAL_HALT, SIMM16[0] is the value. Inside a trap handler HALT waits until
// the handler is left. Who can resume a wave stops it before its next instruction
// (engine/precise/host_control.h).
void s_sethalt(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t bit = op->literal & 4 ? status_bit::kFatalHalt : status_bit::kHalt;
  wave->status = op->literal & 1 ? wave->status | bit : wave->status & ~bit;
  if (!is_halted(wave->status) || context_of(wave)->halts_are_resumable) LOCKSTEP_NEXT();
  fault_with(op, wave, budget, FaultKind::trap,
             bit == status_bit::kHalt
                 ? "the wave halted itself and no debugger is there to resume it"
                 : "the wave halted itself fatally and no debugger is there to resume it");
}

// A killed wave ends as if it had come to an s_endpgm.
void s_setkill(const Operation* op, Wave* wave, int64_t budget) {
  if (op->literal & 1) return s_endpgm(op, wave, budget);
  LOCKSTEP_NEXT();
}

void s_rfe(const Operation* op, Wave* wave, int64_t budget) {
  fault_with(op, wave, budget, FaultKind::illegal_instruction,
             "only a trap handler may return from a trap, and the wave is in none");
}

// ---- Messages
// ----------------------------------------------------------------------------------------------------

// The payload is M0[23:0].
void send_interrupt(const Wave* wave) {
  if (wave->group->dispatch) wave->group->dispatch->interrupts.fetch_add(1, std::memory_order_relaxed);
  if (wave->group->messages)
    wave->group->messages->on_interrupt(*wave, wave->scalar[isa::code::kM0] & 0xff'ffff);
}

void fault_message(const Operation* op, Wave* wave, int64_t budget, unsigned number) {
  const std::string text = std::to_string(number);
  Fault fault;
  fault.kind = FaultKind::illegal_instruction;
  if (number == message::kHsTessFactor)
    fault.message =
        "message 2 (HS tessellation factor) may only be sent by hull shader waves; this is a compute wave";
  else if (number == message::kGsAllocRequest)
    fault.message =
        "message 9 (GS allocation request) may only be sent by geometry shader waves; this is a compute wave";
  else
    fault.message = "message " + text +
                    " is reserved; s_sendmsg has 1 (interrupt), 2 (HS tessellation factor), " +
                    "3 (deallocate VGPRs) and 9 (GS allocation request)";
  raise(op, wave, budget, std::move(fault));
}

void s_sendmsg(const Operation* op, Wave* wave, int64_t budget) {
  const unsigned number = static_cast<unsigned>(op->literal & 0xff);
  if (number == message::kInterrupt) {
    send_interrupt(wave);
    LOCKSTEP_NEXT();
  }
  if (number != message::kDeallocVgprs) return fault_message(op, wave, budget, number);
  // The wave goes on in the program that has no VGPRs: there each instruction that names one faults.
  wave->status |= status_bit::kNoVgprs;
  Program* program = program_of(wave)->without_vgprs;
  wave->program = program;
  const Operation* following = program->at(address_after(op));
  // Behind the code's end: the next turn tells so.
  if (!following) return leave(wave, address_after(op), budget - 1, WaveState::ready);
  [[clang::musttail]] return handler_of(following)(following, wave, budget - 1);
}

void s_sendmsghalt(const Operation* op, Wave* wave, int64_t budget) {
  const unsigned number = static_cast<unsigned>(op->literal & 0xff);
  if (number != message::kInterrupt && number != message::kDeallocVgprs)
    return fault_message(op, wave, budget, number);
  wave->status |= status_bit::kHalt;
  if (!is_halted(wave->status) || context_of(wave)->halts_are_resumable) [[clang::musttail]]
    return s_sendmsg(op, wave, budget);
  if (number == message::kInterrupt) send_interrupt(wave);
  fault_with(op, wave, budget, FaultKind::trap,
             "the wave sent a message, halted itself, and no debugger is there to resume it");
}

// Guide 5.3, table 16, and 16.3: a 32-bit answer fills the upper half of a pair with zero, of a 64-bit answer
// a single register gets the lower half.
void s_sendmsg_rtn(const Operation* op, Wave* wave, int64_t budget) {
  static const DispatchState kNowhere;
  const DispatchState& dispatch = wave->group->dispatch ? *wave->group->dispatch : kNowhere;
  uint64_t answer = 0;
  switch (const unsigned number = static_cast<unsigned>(op->literal & 0xff)) {
    case message::kDoorbell:
      answer = dispatch.doorbell_id;
      break;
    case message::kDrawId:
      answer = dispatch.dispatch_id;
      break;
    case message::kTma:
      answer = context_of(wave)->trap_memory;
      break;
    case message::kTba:
      answer = context_of(wave)->trap_base;
      break;
    case message::kRealTime:
      answer = context_of(wave)->real_time(wave, budget);
      break;
    // "Ready to be saved". What the card answers is not said (open): zero, since the wave is given no place.
    case message::kSaveWave:
      if (wave->status & status_bit::kPrivileged) break;
      return fault_with(op, wave, budget, FaultKind::illegal_instruction,
                        "s_sendmsg_rtn 0x84 (save wave): only a trap handler may send it");
    case message::kIllegal:
      return fault_with(op, wave, budget, FaultKind::illegal_instruction,
                        "s_sendmsg_rtn 0xff is the illegal message");
    default: {
      Fault fault;
      fault.kind = FaultKind::illegal_instruction;
      fault.message = "s_sendmsg_rtn with message " + std::to_string(number) +
                      " is reserved; there are 128 (doorbell) to 133 (trap base address)";
      return raise(op, wave, budget, std::move(fault));
    }
  }
  scalar_at(wave, op->dst) = static_cast<uint32_t>(answer);
  if (op->instruction->row->opcode == Opcode::s_sendmsg_rtn_b64)
    scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(answer >> 32);
  LOCKSTEP_NEXT();
}

// ---- Hardware registers
// ------------------------------------------------------------------------------------------

// Bits that a write with s_setreg reaches; the others stay as they are (guide 16.1, s_setreg_b32). TRAPSTS
// beyond EXCP is the trap handler's.
uint32_t writable_bits(const Wave* wave, unsigned id) {
  const bool privileged = wave->status & status_bit::kPrivileged;
  switch (id) {
    case hardware_register::kMode:
      return ~0u;
    case hardware_register::kStatus:
      return privileged ? status_bit::kWritable : 0;
    case hardware_register::kTrapsts:
      // A handler that was told by it can clear it.
      if (privileged && wave->trapsts & trapsts_bit::kXnackError)
        return trapsts_bit::kDefined | trapsts_bit::kXnackError;
      return privileged ? trapsts_bit::kDefined : trapsts_bit::kExceptions;
    case hardware_register::kFlatScratchLow:
      return privileged ? ~0xffu : 0;  // a multiple of 256 (guide 3.4.7)
    case hardware_register::kFlatScratchHigh:
      return privileged ? ~0u : 0;
    default:
      return 0;
  }
}

bool read_hardware_register(const Wave* wave, int64_t budget, unsigned id, uint32_t* value) {
  switch (id) {
    case hardware_register::kMode:
      *value = wave->mode;
      return true;
    case hardware_register::kStatus:
      *value = status_of(*wave);
      return true;
    case hardware_register::kTrapsts:
      *value = wave->trapsts;
      return true;
    case hardware_register::kGprAlloc:
      *value = wave->gpr_alloc;
      return true;
    case hardware_register::kLdsAlloc:
      *value = wave->lds_alloc;
      return true;
    case hardware_register::kIbSts:
      *value = 0;
      return true;
    case hardware_register::kShMemBases:
      *value = static_cast<uint32_t>(kPrivateApertureBase >> 48) |
               static_cast<uint32_t>(kSharedApertureBase >> 48) << 16;
      return true;
    case hardware_register::kFlatScratchLow:
      *value = static_cast<uint32_t>(wave->scratch_base);
      return true;
    case hardware_register::kFlatScratchHigh:
      *value = static_cast<uint32_t>(wave->scratch_base >> 32);
      return true;
    case hardware_register::kHwId1:
      *value = wave->hw_id1;
      return true;
    case hardware_register::kHwId2:
      *value = wave->hw_id2;
      return true;
    case hardware_register::kShaderCycles:
      *value = static_cast<uint32_t>(context_of(wave)->shader_clocks(wave, budget)) & 0xfffff;
      return true;
    default:
      return false;
  }
}

void unknown_register(const Operation* op, Wave* wave, int64_t budget, unsigned id, const char* verb) {
  Fault fault;
  fault.kind = FaultKind::unsupported;
  fault.message = "hardware register " + std::to_string(id) + " cannot be " + verb;
  raise(op, wave, budget, std::move(fault));
}

void s_getreg(const Operation* op, Wave* wave, int64_t budget) {
  const isa::HardwareField field = isa::hardware_field(op->detail);
  uint32_t value = 0;
  if (!read_hardware_register(wave, budget, field.number, &value))
    return unknown_register(op, wave, budget, field.number, "read");
  scalar_at(wave, op->dst) = value >> field.offset & field.mask();
  LOCKSTEP_NEXT();
}

// Changes MODE and, if that changes the float-mode class, goes on in the program decoded for the other class.
// Behind the code's end the next turn tells so.
#define LOCKSTEP_NEXT_IN_MODE(new_mode)                                                  \
  do {                                                                                   \
    wave->mode = (new_mode);                                                             \
    Program* program = program_of(wave);                                                 \
    const bool is_default = (wave->mode & kFloatModeMask) == kDefaultFloatMode;          \
    if (is_default == program->default_float_mode()) LOCKSTEP_NEXT();                    \
    wave->program = program->other_mode;                                                 \
    const Operation* following = program->other_mode->at(address_after(op));             \
    if (!following) return leave(wave, address_after(op), budget - 1, WaveState::ready); \
    [[clang::musttail]] return handler_of(following)(following, wave, budget - 1);       \
  } while (false)

template <bool immediate>
void s_setreg(const Operation* op, Wave* wave, int64_t budget) {
  const isa::HardwareField field = isa::hardware_field(op->detail);
  const uint32_t source = immediate ? op->instruction->literal : scalar_at(wave, op->source[0]);
  const uint32_t mask = field.mask() << field.offset & writable_bits(wave, field.number);
  const uint32_t value = source << field.offset & mask;
  uint32_t old = 0;
  // Instruction buffers hold nothing here that memory does not.
  if (field.number == hardware_register::kFlushInstructionBuffers) LOCKSTEP_NEXT();
  if (!read_hardware_register(wave, budget, field.number, &old))
    return unknown_register(op, wave, budget, field.number, "written");
  switch (field.number) {
    case hardware_register::kMode:
      LOCKSTEP_NEXT_IN_MODE((old & ~mask) | value);
    case hardware_register::kStatus:
      wave->status = (wave->status & ~mask) | value;
      if (mask & status_bit::kScc) wave->scc() = value & status_bit::kScc;
      break;
    case hardware_register::kTrapsts:
      wave->trapsts = (old & ~mask) | value;
      break;
    case hardware_register::kFlatScratchLow:
      set_flat_scratch(*wave, (wave->scratch_base & ~uint64_t{mask}) | value);
      break;
    case hardware_register::kFlatScratchHigh:
      set_flat_scratch(*wave, (wave->scratch_base & ~(uint64_t{mask} << 32)) | uint64_t{value} << 32);
      break;
    default:
      break;  // read-only
  }
  LOCKSTEP_NEXT();
}

void s_round_mode(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT_IN_MODE((wave->mode & ~0xfu) | static_cast<uint32_t>(op->literal & 0xf));
}
void s_denorm_mode(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT_IN_MODE((wave->mode & ~0xf0u) | static_cast<uint32_t>(op->literal & 0xf) << 4);
}

// ---- SGPRs chosen by M0 (guide 6.. S_MOVREL)
// ---------------------------------------------------------------------

// Indexing must stay between SGPR 0 and VCC, or in the trap handler among the TTMPs; out of range reads take
// S0, writes are dropped (guide 3.3.1.4).
uint32_t relative(const Wave* wave, uint32_t offset, uint32_t index, unsigned words, bool write) {
  const uint64_t number = uint64_t{offset / 4} + index, end = number + words;
  if (offset / 4 < kScalarTtmp0 && end <= kScalarTtmp0) return static_cast<uint32_t>(number * 4);
  if (offset / 4 >= kScalarTtmp0 && end <= isa::code::kNull && wave->status & status_bit::kPrivileged)
    return static_cast<uint32_t>(number * 4);
  return write ? kScalarDiscard * 4 : 0;
}

template <unsigned words, bool source_relative, bool destination_relative>
void s_movrel(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  const isa::Indices index =
      isa::register_indices(op->instruction->row->opcode, wave->scalar[isa::code::kM0]);
  const uint32_t source =
      source_relative ? relative(wave, op->source[0], index.source, words, false) : op->source[0];
  const uint32_t destination =
      destination_relative ? relative(wave, op->dst, index.destination, words, true) : op->dst;
  uint32_t value[words];
  for (unsigned i = 0; i < words; ++i) value[i] = scalar_at(wave, source + 4 * i);
  for (unsigned i = 0; i < words; ++i) scalar_at(wave, destination + 4 * i) = value[i];
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(control)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  table.no_effect = &already_satisfied;
  set(Opcode::s_branch, &branch<Always>);
  set(Opcode::s_cbranch_scc0, &branch<Scc0>);
  set(Opcode::s_cbranch_scc1, &branch<Scc1>);
  set(Opcode::s_cbranch_vccz, &branch<VccZero>);
  set(Opcode::s_cbranch_vccnz, &branch<VccNotZero>);
  set(Opcode::s_cbranch_execz, &branch<ExecZero>);
  set(Opcode::s_cbranch_execnz, &branch<ExecNotZero>);
  set(Opcode::s_cbranch_cdbguser, &branch<DebugUser>);
  set(Opcode::s_cbranch_cdbgsys, &branch<DebugSystem>);
  set(Opcode::s_cbranch_cdbgsys_or_user, &branch<DebugAny>);
  set(Opcode::s_cbranch_cdbgsys_and_user, &branch<DebugBoth>);
  set(Opcode::s_getpc_b64, &s_getpc);
  set(Opcode::s_setpc_b64, &s_setpc);
  set(Opcode::s_swappc_b64, &s_swappc);
  set(Opcode::s_call_b64, &s_call);
  set(Opcode::s_subvector_loop_begin, &s_subvector_loop_begin);
  set(Opcode::s_subvector_loop_end, &s_subvector_loop_end);
  for (const isa::Row& row : isa::rows())
    if (row.flags & isa::kHint && !isa::is_vector_alu(row.encoding)) set(row.opcode, &already_satisfied);
  for (Opcode opcode : {Opcode::s_waitcnt_vscnt, Opcode::s_wait_idle}) set(opcode, &wait_for_stores);
  set(Opcode::s_endpgm, &s_endpgm);
  set(Opcode::s_endpgm_saved, &s_endpgm);
  set(Opcode::s_sethalt, &s_sethalt);
  set(Opcode::s_setkill, &s_setkill);
  set(Opcode::s_rfe_b64, &s_rfe);
  set(Opcode::s_sendmsghalt, &s_sendmsghalt);
  set(Opcode::s_barrier, &s_barrier);
  set(Opcode::s_sleep, &s_sleep);
  set(Opcode::s_wakeup, &s_wakeup);
  set(Opcode::s_setprio, &s_setprio);
  set(Opcode::s_trap, &s_trap);
  set(Opcode::s_code_end, &s_code_end);
  set(Opcode::v_illegal, &v_illegal);
  set(Opcode::s_sendmsg, &s_sendmsg);
  set(Opcode::s_sendmsg_rtn_b32, &s_sendmsg_rtn);
  set(Opcode::s_sendmsg_rtn_b64, &s_sendmsg_rtn);
  set(Opcode::s_getreg_b32, &s_getreg);
  set(Opcode::s_setreg_b32, &s_setreg<false>);
  set(Opcode::s_setreg_imm32_b32, &s_setreg<true>);
  set(Opcode::s_round_mode, &s_round_mode);
  set(Opcode::s_denorm_mode, &s_denorm_mode);
  set(Opcode::s_movrels_b32, &s_movrel<1, true, false>);
  set(Opcode::s_movrels_b64, &s_movrel<2, true, false>);
  set(Opcode::s_movreld_b32, &s_movrel<1, false, true>);
  set(Opcode::s_movreld_b64, &s_movrel<2, false, true>);
  set(Opcode::s_movrelsd_2_b32, &s_movrel<1, true, true>);
}

}  // namespace lockstep::interpreter
