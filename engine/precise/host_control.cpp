#include "engine/precise/host_control.h"

#include <utility>

#include "state/dispatch_state.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

constexpr uint32_t kHalts = status_bit::kHalt | status_bit::kFatalHalt;

}  // namespace

void HostControl::launch(Wave& wave) {
  if (host_) turn_must_end_ = &host_->attach(wave, *this);
  show(wave);
}

void HostControl::show(const Wave& wave) {
  pc_.store(wave.pc, std::memory_order_relaxed);
  state_.store(wave.state, std::memory_order_relaxed);
}

// HALT is ignored if the host asks for the trap handler (guide 3.4.1).
bool HostControl::is_stopped(Wave& wave) const {
  if (!is_halted(wave.status)) return false;
  return wave.status & status_bit::kFatalHalt || !traps_ || !traps_->has_request(wave);
}

// Its place in the queues of the device it keeps.
void HostControl::interrupt(Wave& wave) {
  if (!host_ || wave.state != WaveState::held || wave.held_from == WaveState::blocked || is_stopped(wave))
    return;
  cause_ = host_->let_go(wave);
  wave.state = wave.held_from;
}

// HALT is ignored in the trap handler, and what is done there is no step: the wave cannot halt in it.
Verdict HostControl::before(const Step& step) {
  Wave& wave = step.wave;
  const bool privileged = wave.status & status_bit::kPrivileged;
  // An s_trap that entered the handler is done, though no unit hears of it.
  if (std::exchange(at_trap_, !privileged && step.instruction.row->opcode == Opcode::s_trap) && privileged)
    count_step(wave);
  if (!host_ && !is_stopped(wave)) return Verdict::execute;
  if (!host_) return halts_for_good_ ? stay_halted(step) : fail(step);
  show(wave);
  if (turn_must_end_->load(std::memory_order_acquire)) return Verdict::stall;
  if (!is_stopped(wave)) return Verdict::execute;
  // Here a store that faults does so as at a wait; hold() could not tell of it.
  if (const Verdict verdict = counters_.finish(); verdict != Verdict::execute) return verdict;
  turn_must_end_->store(true, std::memory_order_release);
  return Verdict::stall;
}

void HostControl::after(const Step& step) {
  Wave& wave = step.wave;
  if (!host_) return;
  show(wave);
  if (wave.state == WaveState::ended) return host_->ended(wave, steps_ > 0);
  const Opcode opcode = step.instruction.row->opcode;
  if (opcode == Opcode::s_sethalt) cause_ = HaltCause::sethalt;
  if (opcode == Opcode::s_sendmsghalt) cause_ = HaltCause::sendmsghalt;
  if (!(wave.status & status_bit::kPrivileged)) count_step(wave);
  // At a barrier it comes to no next instruction.
  if (wave.state != WaveState::ready && must_hold(wave))
    turn_must_end_->store(true, std::memory_order_release);
}

void HostControl::count_step(Wave& wave) {
  if (steps_ > 0 && --steps_ == 0) halt(wave, HaltCause::step);
}

Verdict HostControl::stay_halted(const Step& step) {
  if (const Verdict verdict = counters_.finish(); verdict != Verdict::execute) return verdict;
  step.wave.held_from = WaveState::ready;
  step.wave.state = WaveState::held;
  return Verdict::stopped;
}

Verdict HostControl::fail(const Step& step) {
  Wave& wave = step.wave;
  wave.fault = {};
  wave.fault.kind = FaultKind::trap;
  wave.fault.pc = step.pc;
  wave.fault.message =
      "the wave left its trap handler with STATUS.HALT set, and no debugger is there to resume it (clear it "
      "with s_sethalt 0 in the handler, or attach a wave control)";
  wave.state = WaveState::faulted;
  return Verdict::stopped;
}

void HostControl::halt(Wave& wave, HaltCause cause) {
  wave.status |= status_bit::kHalt;
  cause_ = cause;
}

void HostControl::refuse(Wave& wave) {
  refusal_ = std::move(wave.fault.message);
  wave.fault = {};
  wave.state = WaveState::ready;
  halt(wave, HaltCause::refused);
}

// What the hardware notes of a fault in TRAPSTS it notes without a trap handler, too (guide 3.4.9).
void HostControl::halt_faulted(Wave& wave) {
  if (wave.fault.kind == FaultKind::memory_violation || wave.fault.kind == FaultKind::misaligned)
    wave.trapsts |= trapsts_bit::kMemoryViolation;
  if (wave.fault.kind == FaultKind::illegal_instruction) wave.trapsts |= trapsts_bit::kIllegalInstruction;
  fault_ = std::exchange(wave.fault, {});
  wave.state = WaveState::ready;
  wave.status |= status_bit::kFatalHalt;
}

void HostControl::fail_with_fault(Wave& wave) {
  wave.fault = *fault_;
  wave.state = WaveState::faulted;
}

void HostControl::obey(Wave& wave, const HostCommands& commands) {
  if (commands.release) {
    wave.status &= ~kHalts;
    steps_ = commands.steps;
    if (wave.state == WaveState::held) wave.state = wave.held_from;
    if (fault_) return fail_with_fault(wave);
  }
  if (commands.halt) halt(wave, HaltCause::command);
  wave.status = (wave.status & ~commands.chosen_conditions) | commands.conditions;
}

void HostControl::kill(Wave& wave) {
  if (fault_) return fail_with_fault(wave);
  settle(wave);
  if (wave.wait.kind != WaitKind::none) DeviceState::Access(*wave.group->dispatch->device).forget(wave);
  wave.state = WaveState::ended;
  show(wave);
}

bool HostControl::must_hold(const Wave& wave) {
  switch (wave.state) {
    case WaveState::ready:
    case WaveState::at_barrier:
    case WaveState::sleeping:
    case WaveState::blocked:
      return is_halted(wave.status);
    case WaveState::held:
    case WaveState::halted:
    case WaveState::ended:
    case WaveState::faulted:
      return false;
  }
  return false;
}

// A wave that slept has slept enough when it goes on.
HaltCause HostControl::hold(Wave& wave) {
  settle(wave);
  break_clause();
  wave.held_from = wave.state == WaveState::sleeping ? WaveState::ready : wave.state;
  wave.state = WaveState::held;
  steps_ = 0;
  show(wave);
  const HaltCause cause = std::exchange(cause_, HaltCause::sethalt);
  if (fault_) return HaltCause::fault;
  return wave.status & status_bit::kFatalHalt ? HaltCause::fatal : cause;
}

// An access that faults is left as it is: it faults again where the wave waits for it.
void HostControl::settle(Wave& wave) {
  const WaveState state = wave.state;
  Verdict verdict = Verdict::stall;
  while (verdict == Verdict::stall) verdict = counters_.finish();
  if (verdict == Verdict::stopped) wave.fault = {};
  wave.state = state;
}

bool HostControl::continue_at(Wave& wave, uint64_t pc) {
  return executor_.continue_at(wave, pc, wave.status & status_bit::kPrivileged);
}

}  // namespace lockstep::precise
