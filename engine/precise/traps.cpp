#include "engine/precise/traps.h"

#include <string>
#include <utility>

#include "engine/precise/destinations.h"
#include "engine/precise/exceptions.h"
#include "engine/precise/operand_rules.h"
#include "engine/scalar_operand.h"
#include "state/status.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

constexpr uint64_t kPcMask = (uint64_t{1} << 48) - 1;
constexpr unsigned kBarrierBytes = 4;  // of s_barrier

bool is_privileged(const Wave& wave) {
  return wave.status & status_bit::kPrivileged;
}

bool ends_program(Opcode opcode) {
  return opcode == Opcode::s_endpgm || opcode == Opcode::s_endpgm_saved;
}

}  // namespace

void Traps::launch(Wave& wave) {
  if (settings_.on_end) wave.mode |= mode_bit::kTrapOnEnd;
  if (settings_.after_instruction) wave.mode |= mode_bit::kTrapAfterInstruction;
  wave.mode |= settings_.exception_enable << mode_bit::kExceptionEnableShift & mode_bit::kExceptionEnable;
  if (settings_.host) host_taken_ = settings_.host->count();
  if (settings_.on_start && may_trap(wave)) causes_ |= trapsts_bit::kWaveStart;
}

// Traps are taken only if there is a handler that is enabled, and never inside it.
bool Traps::may_trap(const Wave& wave) const {
  return settings_.takes_traps() && !is_privileged(wave);
}

void Traps::raise(Wave& wave, uint32_t exceptions) {
  wave.trapsts |= exceptions;
  // One enable bit serves all four address watches.
  uint32_t causes = exceptions & trapsts_bit::kExceptions;
  if (exceptions & 7 * trapsts_bit::kAddressWatch1) causes |= trapsts_bit::kAddressWatch;
  const uint32_t enabled =
      (wave.mode & mode_bit::kExceptionEnable) >> mode_bit::kExceptionEnableShift & causes;
  if (!enabled) return;
  if (may_trap(wave)) exception_ = true;
  if (settings_.handler == 0 && settings_.sets_trap_enable()) reported_ = enabled;
}

void Traps::take(Wave& wave, const HostRequest& request) {
  // Without a handler, host traps are ignored like all others (guide 3.4.9).
  if (!settings_.takes_traps()) return;
  if (request.save_context) {
    wave.trapsts |= trapsts_bit::kSaveContext;
  } else {
    causes_ |= trapsts_bit::kHostTrap;
    host_trap_id_ = request.trap_id;
  }
}

void Traps::take_requests(Wave& wave) {
  for (size_t i = scheduled_taken_; i < settings_.scheduled.size(); ++i) {
    if (settings_.scheduled[i].instructions > executed_) break;
    take(wave, settings_.scheduled[i].request);
    ++scheduled_taken_;
  }
  if (settings_.host)
    for (const size_t count = settings_.host->count(); host_taken_ < count; ++host_taken_)
      take(wave, settings_.host->at(host_taken_));
}

// SAVECTX keeps asking until the handler clears it (guide 3.4.9).
bool Traps::is_pending(const Wave& wave) const {
  return may_trap(wave) && (causes_ != 0 || exception_ || wave.trapsts & trapsts_bit::kSaveContext);
}

bool Traps::has_request(Wave& wave) {
  take_requests(wave);
  return may_trap(wave) && (causes_ & trapsts_bit::kHostTrap || wave.trapsts & trapsts_bit::kSaveContext);
}

// A wave that waits at a barrier comes back to it behind its handler: it has not arrived, as one that is
// saved there and restored later must not have. One that sleeps has slept enough.
void Traps::interrupt(Wave& wave) {
  if (wave.state != WaveState::at_barrier && wave.state != WaveState::sleeping) return;
  if (!has_request(wave)) return;
  if (wave.state == WaveState::at_barrier) wave.pc -= kBarrierBytes;
  wave.state = WaveState::ready;
}

// What the hardware does as an s_trap of its own making (guide 5.1, s_trap).
void Traps::enter_handler(Wave& wave, uint64_t pc, unsigned trap_id, bool from_host, Fault&& cause) {
  wave.trapsts |= causes_;
  causes_ = 0;
  exception_ = false;
  wave.state = WaveState::ready;
  wave.fault = {};
  executor_.continue_at(wave, settings_.handler, true);
  wave.scalar[kScalarTtmp0] = static_cast<uint32_t>(pc);
  wave.scalar[kScalarTtmp0 + 1] =
      (static_cast<uint32_t>(pc >> 32) & 0xffff) | trap_id << 16 | (from_host ? 1u << 24 : 0);
  if (settings_.is_second_level) pass_first_level(wave);
  if (settings_.listener) settings_.listener->enters_handler(wave, std::move(cause));
}

void Traps::enter_handler(Wave& wave, uint64_t pc, Fault&& cause) {
  const bool from_host = causes_ & trapsts_bit::kHostTrap;
  enter_handler(wave, pc, from_host ? host_trap_id_ : 0, from_host, std::move(cause));
}

// As ROCr's handler, for example, expects it (trap_handler.s of the HSA runtime says what the driver's leaves
// where).
void Traps::pass_first_level(Wave& wave) const {
  constexpr uint32_t kWaveInGroup = 0x3f, kDebuggerAttached = 1u << 23;
  uint32_t& where = wave.scalar[kScalarTtmp0 + 11];
  where = (where & ~(kWaveInGroup | kDebuggerAttached)) | (wave.index_in_group & kWaveInGroup);
  wave.scalar[kScalarTtmp0 + 12] = status_of(wave);
  wave.set_scalar64(kScalarTtmp0 + 14, settings_.memory);
}

// What the wave has under way lands first, on the way in and on the way out.
Verdict Traps::before(const Step& step) {
  Wave& wave = step.wave;
  if (reported_ != 0) return report_exceptions(step);
  take_requests(wave);
  const Opcode opcode = step.instruction.row->opcode;
  const bool pending = is_pending(wave), traps = opcode == Opcode::s_trap,
             returns = opcode == Opcode::s_rfe_b64 && is_privileged(wave),
             ends = ends_program(opcode) && wave.mode & mode_bit::kTrapOnEnd && may_trap(wave);
  if (!pending && !traps && !returns && !ends) return Verdict::execute;
  // Where no trap is taken, STATUS.TRAP_EN says whether s_trap is reported or does nothing.
  if (!pending && traps && !settings_.takes_traps()) return Verdict::execute;
  if (const Verdict verdict = counters_.finish(); verdict != Verdict::execute) return verdict;
  if (pending) {
    enter_handler(wave, step.pc);
  } else if (traps) {
    if (std::string rule = broken_trap_rule(step); !rule.empty())
      if (const Verdict verdict = rules_.broken(step, std::move(rule)); verdict != Verdict::execute)
        return verdict;
    const unsigned id = static_cast<unsigned>(step.instruction.operands[0].value) & 0xff;
    Fault cause;
    cause.kind = FaultKind::trap;
    cause.pc = step.pc;
    enter_handler(wave, step.pc, id, false, std::move(cause));
  } else if (returns) {
    // The PC has 48 bits: what the hardware put above it in TTMP1 does not disturb.
    const uint64_t source = scalar_value(wave, step.instruction.operands[0], step.instruction);
    executor_.continue_at(wave, source & kPcMask & ~uint64_t{3}, false);
  } else {
    // Cleared on entry, so that the handler can return to the s_endpgm (guide 3.4.2).
    wave.mode &= ~mode_bit::kTrapOnEnd;
    wave.trapsts |= trapsts_bit::kWaveEnd;
    enter_handler(wave, step.pc, 0, false);
  }
  return Verdict::redirected;
}

Verdict Traps::report_exceptions(const Step& step) const {
  Fault fault;
  fault.kind = FaultKind::trap;
  fault.pc = step.pc;
  fault.message = "before this instruction a lane raised " + exception_names(reported_) +
                  ", for which MODE.EXCP_EN asks for a trap, without a trap handler";
  step.wave.fault = std::move(fault);
  step.wave.state = WaveState::faulted;
  return Verdict::stopped;
}

void Traps::after(const Step& step) {
  Wave& wave = step.wave;
  ++executed_;
  if (wave.mode & mode_bit::kTrapAfterInstruction && may_trap(wave) &&
      !ends_program(step.instruction.row->opcode))
    causes_ |= trapsts_bit::kTrapAfterInstruction;
  interrupt(wave);
}

// The lanes with good addresses are served; bad ones read zero and write nothing (guide 11.3). Lanes are
// executed in order, so those before a bad one have been, unless the access was only tried.
void Traps::finish_access(Wave& wave) {
  Fault fault = wave.fault;
  wave.state = WaveState::ready;
  while (counters_.finish() == Verdict::stall) {
  }
  const uint64_t exec = wave.exec(), pc = fault.pc;
  const isa::Instruction& instruction = executor_.executed_at(wave, pc);
  if (fault.lane < 0) {
    clear_destinations(wave, instruction, exec);
    return;
  }
  uint64_t before_bad = results_ == Results::now ? ~uint64_t{0} : 0, rest = exec;
  for (;;) {
    const uint64_t lane = uint64_t{1} << fault.lane;
    clear_destinations(wave, instruction, lane);
    rest &= ~(lane | ((lane - 1) & before_bad));
    before_bad = ~uint64_t{0};
    if (rest == 0) break;
    wave.set_exec(rest);
    if (executor_.execute(wave, pc)) break;
    fault = wave.fault;
  }
  wave.state = WaveState::ready;
  wave.set_exec(exec);
}

bool Traps::on_fault(Wave& wave) {
  if (!may_trap(wave)) return false;
  Fault cause = wave.fault;
  switch (cause.kind) {
    case FaultKind::memory_violation:
      // Programs under Linux's driver tell by this bit that a page is missing, not that an aperture was left.
      if (settings_.is_second_level) wave.trapsts |= trapsts_bit::kXnackError;
      [[fallthrough]];
    case FaultKind::misaligned:
      finish_access(wave);
      wave.trapsts |= trapsts_bit::kMemoryViolation;
      break;
    case FaultKind::illegal_instruction:
      wave.trapsts |= trapsts_bit::kIllegalInstruction;
      break;
    default:
      return false;
  }
  const uint64_t pc = cause.pc;
  enter_handler(wave, pc, std::move(cause));
  return true;
}

}  // namespace lockstep::precise
