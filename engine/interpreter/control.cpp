// Program flow (guide chapter 5): branches, calls, waits, barriers, messages, hardware registers.
#include "engine/interpreter/common.h"
#include "engine/interpreter/dispatch_context.h"
#include "engine/interpreter/program.h"
#include "engine/interpreter/registration.h"
#include "numeric/float_mode.h"
#include "state/dispatch_state.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

// ---- Branches
// ----------------------------------------------------------------------------------------------------

void fault_bad_target(const Operation* op, Wave* wave, int64_t budget) {
  Fault fault;
  fault.kind = FaultKind::bad_pc;
  fault.message = "the branch target lies outside the code";
  raise(op, wave, budget, std::move(fault));
}

// Every taken branch may end the wave's turn, so that no loop keeps the others waiting.
#define LOCKSTEP_JUMP(destination)                                                 \
  do {                                                                             \
    const Operation* target = (destination);                                       \
    if (!target) return fault_bad_target(op, wave, budget);                        \
    if (budget <= 1) return leave(wave, target->pc, budget - 1, WaveState::ready); \
    [[clang::musttail]] return handler_of(target)(target, wave, budget - 1);       \
  } while (false)

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
  static bool holds(Wave* w) { return w->exec() == 0; }
};
struct ExecNotZero {
  static bool holds(Wave* w) { return w->exec() != 0; }
};
// STATUS.CDBG_USER and CDBG_SYS (guide 3.4.1): a debugger sets them, or a trap handler.
using status_bit::kConditionDebugSystem, status_bit::kConditionDebugUser;
struct DebugUser {
  static bool holds(Wave* w) { return w->status & kConditionDebugUser; }
};
struct DebugSystem {
  static bool holds(Wave* w) { return w->status & kConditionDebugSystem; }
};
struct DebugAny {
  static bool holds(Wave* w) { return w->status & (kConditionDebugUser | kConditionDebugSystem); }
};
struct DebugBoth {
  static bool holds(Wave* w) { return DebugUser::holds(w) && DebugSystem::holds(w); }
};

template <class Condition>
void branch(const Operation* op, Wave* wave, int64_t budget) {
  if (Condition::holds(wave)) LOCKSTEP_JUMP(op->target);
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

void s_setpc(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_JUMP(program_of(wave)->at(pair_at(wave, op->source[0]) & ~uint64_t{3}));
}

void s_swappc(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t destination = pair_at(wave, op->source[0]) & ~uint64_t{3};
  const uint64_t pc = address_after(op);
  scalar_at(wave, op->dst) = static_cast<uint32_t>(pc);
  scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(pc >> 32);
  LOCKSTEP_JUMP(program_of(wave)->at(destination));
}

void s_call(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t pc = address_after(op);
  scalar_at(wave, op->dst) = static_cast<uint32_t>(pc);
  scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(pc >> 32);
  LOCKSTEP_JUMP(op->target);
}

// s_subvector_loop_begin/end (guide 16.2): wave64 code runs its halves one after the other; the SGPR keeps
// the other half of EXEC meanwhile.
void s_subvector_loop_begin(const Operation* op, Wave* wave, int64_t budget) {
  uint32_t& saved = scalar_at(wave, op->dst);
  if (wave->exec() == 0) LOCKSTEP_JUMP(op->target);
  if (wave->scalar[126] == 0) {
    saved = 0;
  } else {
    saved = wave->scalar[127];
    wave->scalar[127] = 0;
  }
  LOCKSTEP_NEXT();
}
void s_subvector_loop_end(const Operation* op, Wave* wave, int64_t budget) {
  uint32_t& saved = scalar_at(wave, op->dst);
  if (wave->scalar[127] != 0) {
    wave->scalar[126] = saved;
  } else if (saved != 0) {
    wave->scalar[127] = saved;
    saved = wave->scalar[126];
    wave->scalar[126] = 0;
    LOCKSTEP_JUMP(op->target);
  }
  LOCKSTEP_NEXT();
}

// ---- Waits and hints
// ---------------------------------------------------------------------------------------------

// Memory results are visible at once (DESIGN 6, default), so every wait is already satisfied; hints have no
// result.
void already_satisfied(const Operation* op, Wave* wave, int64_t budget) {
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

// Gives the turn to the other waves: the sleeping time itself belongs to the timing model.
void s_sleep(const Operation* op, Wave* wave, int64_t budget) {
  leave(wave, address_after(op), budget - 1, WaveState::sleeping);
}

void s_trap(const Operation* op, Wave* wave, int64_t budget) {
  // Without a trap handler the hardware skips the instruction and the runtime reports the wave (LLVM AMDGPU
  // usage, trap handler ABI): 2 is llvm.trap, 3 llvm.debugtrap.
  const unsigned id = static_cast<unsigned>(op->literal & 0xff);
  if (id == 0 || id == 3) LOCKSTEP_NEXT();
  Fault fault;
  fault.kind = FaultKind::trap;
  fault.message = id == 2 ? "the kernel called a trap (s_trap 2: llvm.trap, abort or a failed assertion)"
                          : "s_trap " + std::to_string(id) + " without a trap handler";
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

void s_sethalt(const Operation* op, Wave* wave, int64_t budget) {
  if (!(op->literal & 1)) LOCKSTEP_NEXT();
  fault_with(op, wave, budget, FaultKind::trap,
             "the wave halted itself and no debugger is there to resume it");
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

constexpr unsigned kInterrupt = 1, kDeallocVgprs = 3;

bool is_compute_message(unsigned message) {
  return message == kInterrupt || message == kDeallocVgprs;
}

void fault_unknown_message(const Operation* op, Wave* wave, int64_t budget, unsigned message) {
  Fault fault;
  fault.kind = FaultKind::unsupported;
  fault.message = "message " + std::to_string(message) + " is not available to compute waves";
  raise(op, wave, budget, std::move(fault));
}

// The payload of an interrupt is in M0 (guide 5.4).
void send_message(Wave* wave, unsigned message) {
  if (message == kInterrupt && wave->group->messages)
    wave->group->messages->on_interrupt(*wave, wave->scalar[125]);
}

void s_sendmsg(const Operation* op, Wave* wave, int64_t budget) {
  const unsigned message = static_cast<unsigned>(op->literal & 0xff);
  if (!is_compute_message(message)) return fault_unknown_message(op, wave, budget, message);
  send_message(wave, message);
  LOCKSTEP_NEXT();
}

void s_sendmsghalt(const Operation* op, Wave* wave, int64_t budget) {
  const unsigned message = static_cast<unsigned>(op->literal & 0xff);
  if (!is_compute_message(message)) return fault_unknown_message(op, wave, budget, message);
  send_message(wave, message);
  fault_with(op, wave, budget, FaultKind::trap,
             "the wave sent a message, halted itself, and no debugger is there to resume it");
}

void s_sendmsg_rtn(const Operation* op, Wave* wave, int64_t budget) {
  constexpr unsigned kTrapMemoryAddress = 0x82, kRealTime = 0x83, kTrapBaseAddress = 0x85;
  const unsigned message = static_cast<unsigned>(op->literal & 0xff);
  uint64_t value = 0;
  if (message == kRealTime) {
    value = context_of(wave)->real_time(wave, budget);
  } else if (message == kTrapMemoryAddress) {
    value = context_of(wave)->trap_memory;
  } else if (message == kTrapBaseAddress) {
    value = context_of(wave)->trap_base;
  } else {
    Fault fault;
    fault.kind = FaultKind::unsupported;
    fault.message = "s_sendmsg_rtn with message " + std::to_string(message) + " is not available yet";
    return raise(op, wave, budget, std::move(fault));
  }
  scalar_at(wave, op->dst) = static_cast<uint32_t>(value);
  if (op->instruction->row->opcode == Opcode::s_sendmsg_rtn_b64)
    scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(value >> 32);
  LOCKSTEP_NEXT();
}

// ---- Hardware registers
// ------------------------------------------------------------------------------------------

// Ids of s_getreg and s_setreg (guide 3.4 and 6.8; LLVM AMDGPU hwreg names for gfx11).
enum HardwareRegister : unsigned {
  kMode = 1,
  kStatus = 2,
  kTrapsts = 3,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kIbSts = 7,
  kFlushInstructionBuffers = 14,
  kShMemBases = 15,
  kFlatScratchLow = 20,
  kFlatScratchHigh = 21,
  kHwId1 = 23,
  kHwId2 = 24,
  kShaderCycles = 29,
};

// STATUS with the bits that nobody keeps because they follow from the rest (guide 3.4.1).
uint32_t status_of(const Wave* wave) {
  using namespace status_bit;
  uint32_t value = (wave->status & ~(kScc | kExecZero | kVccZero)) | kValid;
  if (wave->scalar[253]) value |= kScc;
  if (wave->exec() == 0) value |= kExecZero;
  if (wave->mask(isa::code::kVccLo) == 0) value |= kVccZero;
  if (wave->group && wave->group->wave_count > 1) value |= kInWorkGroup;
  return value;
}

// Bits that a write with s_setreg reaches; the others stay as they are (guide 16.1, s_setreg_b32). TRAPSTS
// beyond EXCP is the trap handler's.
uint32_t writable_bits(const Wave* wave, unsigned id) {
  const bool privileged = wave->status & status_bit::kPrivileged;
  switch (id) {
    case kMode:
      return ~0u;
    case kStatus:
      return privileged ? status_bit::kWritable : 0;
    case kTrapsts:
      return privileged ? trapsts_bit::kDefined : trapsts_bit::kExceptions;
    case kFlatScratchLow:
      return privileged ? ~0xffu : 0;  // a multiple of 256 (guide 3.4.7)
    case kFlatScratchHigh:
      return privileged ? ~0u : 0;
    default:
      return 0;
  }
}

bool read_hardware_register(const Wave* wave, int64_t budget, unsigned id, uint32_t* value) {
  switch (id) {
    case kMode:
      *value = wave->mode;
      return true;
    case kStatus:
      *value = status_of(wave);
      return true;
    case kTrapsts:
      *value = wave->trapsts;
      return true;
    case kGprAlloc:
      *value = wave->gpr_alloc;
      return true;
    case kLdsAlloc:
      *value = wave->lds_alloc;
      return true;
    case kIbSts:
      *value = 0;
      return true;
    case kShMemBases:
      *value = static_cast<uint32_t>(kPrivateApertureBase >> 48) |
               static_cast<uint32_t>(kSharedApertureBase >> 48) << 16;
      return true;
    case kFlatScratchLow:
      *value = static_cast<uint32_t>(wave->scratch_base);
      return true;
    case kFlatScratchHigh:
      *value = static_cast<uint32_t>(wave->scratch_base >> 32);
      return true;
    case kHwId1:
      *value = wave->hw_id1;
      return true;
    case kHwId2:
      *value = wave->hw_id2;
      return true;
    case kShaderCycles:
      *value = static_cast<uint32_t>(context_of(wave)->real_time(wave, budget)) & 0xfffff;
      return true;
    default:
      return false;
  }
}

struct RegisterField {
  unsigned id, offset, mask;
  explicit RegisterField(const Operation* op) {
    const uint32_t packed = op->detail;
    id = packed & 63;
    offset = packed >> 6 & 31;
    const unsigned size = (packed >> 11 & 31) + 1;
    mask = size == 32 ? ~0u : (1u << size) - 1;
  }
};

void unknown_register(const Operation* op, Wave* wave, int64_t budget, unsigned id, const char* verb) {
  Fault fault;
  fault.kind = FaultKind::unsupported;
  fault.message = "hardware register " + std::to_string(id) + " cannot be " + verb;
  raise(op, wave, budget, std::move(fault));
}

void s_getreg(const Operation* op, Wave* wave, int64_t budget) {
  const RegisterField field(op);
  uint32_t value = 0;
  if (!read_hardware_register(wave, budget, field.id, &value))
    return unknown_register(op, wave, budget, field.id, "read");
  scalar_at(wave, op->dst) = value >> field.offset & field.mask;
  LOCKSTEP_NEXT();
}

// Changes MODE and, if that changes the float-mode class, goes on in the program decoded for the other class.
#define LOCKSTEP_NEXT_IN_MODE(new_mode)                                            \
  do {                                                                             \
    wave->mode = (new_mode);                                                       \
    Program* program = program_of(wave);                                           \
    const bool is_default = (wave->mode & kFloatModeMask) == kDefaultFloatMode;    \
    if (is_default == program->default_float_mode()) LOCKSTEP_NEXT();              \
    wave->program = program->other_mode;                                           \
    const Operation* following = program->other_mode->at(address_after(op));       \
    if (!following) return fault_bad_target(op, wave, budget);                     \
    [[clang::musttail]] return handler_of(following)(following, wave, budget - 1); \
  } while (false)

template <bool immediate>
void s_setreg(const Operation* op, Wave* wave, int64_t budget) {
  const RegisterField field(op);
  const uint32_t source = immediate ? op->instruction->literal : scalar_at(wave, op->source[0]);
  const uint32_t mask = field.mask << field.offset & writable_bits(wave, field.id);
  const uint32_t value = source << field.offset & mask;
  uint32_t old = 0;
  // Instruction buffers hold nothing here that memory does not.
  if (field.id == kFlushInstructionBuffers) LOCKSTEP_NEXT();
  if (!read_hardware_register(wave, budget, field.id, &old))
    return unknown_register(op, wave, budget, field.id, "written");
  switch (field.id) {
    case kMode:
      LOCKSTEP_NEXT_IN_MODE((old & ~mask) | value);
    case kStatus:
      wave->status = (wave->status & ~mask) | value;
      if (mask & status_bit::kScc) wave->scc() = value & status_bit::kScc;
      break;
    case kTrapsts:
      wave->trapsts = (old & ~mask) | value;
      break;
    case kFlatScratchLow:
      wave->scratch_base = (wave->scratch_base & ~uint64_t{mask}) | value;
      break;
    case kFlatScratchHigh:
      wave->scratch_base = (wave->scratch_base & ~(uint64_t{mask} << 32)) | uint64_t{value} << 32;
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
  if (words == 2) index &= ~1u;
  const uint64_t number = uint64_t{offset / 4} + index, end = number + words;
  if (offset / 4 < kScalarTtmp0 && end <= kScalarTtmp0) return static_cast<uint32_t>(number * 4);
  if (offset / 4 >= kScalarTtmp0 && end <= isa::code::kNull && wave->status & status_bit::kPrivileged)
    return static_cast<uint32_t>(number * 4);
  return write ? kScalarDiscard * 4 : 0;
}

template <unsigned words, bool source_relative, bool destination_relative, bool split_index>
void s_movrel(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t m0 = wave->scalar[isa::code::kM0];
  const uint32_t source_index = split_index ? m0 & 0x3ff : m0,
                 destination_index = split_index ? m0 >> 16 & 0x3ff : m0;
  const uint32_t source =
      source_relative ? relative(wave, op->source[0], source_index, words, false) : op->source[0];
  const uint32_t destination =
      destination_relative ? relative(wave, op->dst, destination_index, words, true) : op->dst;
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
  for (Opcode opcode : {Opcode::s_nop,
                        Opcode::s_waitcnt,
                        Opcode::s_waitcnt_vscnt,
                        Opcode::s_waitcnt_vmcnt,
                        Opcode::s_waitcnt_expcnt,
                        Opcode::s_waitcnt_lgkmcnt,
                        Opcode::s_waitcnt_depctr,
                        Opcode::s_wait_idle,
                        Opcode::s_wait_event,
                        Opcode::s_delay_alu,
                        Opcode::s_clause,
                        Opcode::s_set_inst_prefetch_distance,
                        Opcode::s_icache_inv,
                        Opcode::s_dcache_inv,
                        Opcode::s_gl1_inv,
                        Opcode::s_setprio,
                        Opcode::s_version,
                        Opcode::s_ttracedata,
                        Opcode::s_ttracedata_imm,
                        Opcode::s_incperflevel,
                        Opcode::s_decperflevel,
                        Opcode::s_wakeup,
                        Opcode::s_atc_probe,
                        Opcode::s_atc_probe_buffer})
    set(opcode, &already_satisfied);
  set(Opcode::s_endpgm, &s_endpgm);
  set(Opcode::s_endpgm_saved, &s_endpgm);
  set(Opcode::s_sethalt, &s_sethalt);
  set(Opcode::s_setkill, &s_setkill);
  set(Opcode::s_rfe_b64, &s_rfe);
  set(Opcode::s_sendmsghalt, &s_sendmsghalt);
  set(Opcode::s_barrier, &s_barrier);
  set(Opcode::s_sleep, &s_sleep);
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
  set(Opcode::s_movrels_b32, &s_movrel<1, true, false, false>);
  set(Opcode::s_movrels_b64, &s_movrel<2, true, false, false>);
  set(Opcode::s_movreld_b32, &s_movrel<1, false, true, false>);
  set(Opcode::s_movreld_b64, &s_movrel<2, false, true, false>);
  set(Opcode::s_movrelsd_2_b32, &s_movrel<1, true, true, true>);
}

}  // namespace lockstep::interpreter
