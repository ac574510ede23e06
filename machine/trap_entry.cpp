#include "machine/trap_entry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/precise/exceptions.h"
#include "machine/reuse.h"
#include "state/trap_status.h"
#include "state/work_group.h"

namespace lockstep::machine {

TrapEntry::TrapEntry(TrapHandler& handler, TrapHandler::Place place, Launch& launch,
                     const RunOptions& options)
    : handler_(handler), place_(place), launch_(launch), options_(options), messages_(launch.messages) {
  launch.messages = this;
}

void TrapEntry::set(precise::TrapSettings& traps) {
  traps.handler = place_.base;
  traps.memory = place_.memory;
  traps.is_second_level = traps.halts_for_good = true;
  traps.listener = this;
}

precise::PreciseEngine* TrapEntry::engine_for(const Wave& wave) {
  switch (wave.fault.kind) {
    case FaultKind::memory_violation:
    case FaultKind::misaligned:
    case FaultKind::illegal_instruction:
    case FaultKind::trap:
      break;
    default:
      return nullptr;
  }
  std::lock_guard lock(mutex_);
  auto& [findings, engine, causes] = entered();
  if (!engine) {
    precise::Settings settings = options_.precise;
    set(settings.traps);
    engine = make_precise_engine(launch_, launch_.code, settings, options_.math, findings, {});
  }
  return engine.get();
}

TrapEntry::Entered& TrapEntry::entered() {
  if (!entered_) entered_ = std::make_unique<Entered>();
  return *entered_;
}

void TrapEntry::enters_handler(const Wave& wave, Fault&& cause) {
  Cause found;
  WaveFault& fault = found.fault;
  const bool is_fault = cause.kind != FaultKind::none && cause.kind != FaultKind::trap;
  const uint32_t trap_id = wave.scalar[kScalarTtmp0 + 1] >> 16 & 0xff;
  if (cause.kind == FaultKind::trap)
    cause.message = trap_id == 2
                        ? kTrapOfCompilers
                        : "s_trap " + std::to_string(trap_id) + ", of which the trap handler told the driver";
  if (cause.kind == FaultKind::none) {
    cause.kind = FaultKind::trap;
    cause.pc = wave.scalar64(kScalarTtmp0) & ((uint64_t{1} << 48) - 1);
    const uint32_t enabled = (wave.mode & mode_bit::kExceptionEnable) >> mode_bit::kExceptionEnableShift;
    cause.message = "before this instruction " +
                    precise::exception_names(wave.trapsts & enabled & trapsts_bit::kArithmetic) +
                    " led into the trap handler, which told the driver";
  }
  fault.fault = std::move(cause);
  std::copy(std::begin(wave.group->id), std::end(wave.group->id), fault.group.begin());
  fault.wave = wave.index_in_group;
  fault.instruction = instruction_text(launch_, fault.fault.pc);
  found.told = is_fault;
  if (on_told_ && fault.fault.kind == FaultKind::memory_violation) on_told_(fault);
  if (is_fault) handler_.on_fault(fault, launch_);
  std::lock_guard lock(mutex_);
  entered().causes[&wave] = std::move(found);
}

void TrapEntry::on_interrupt(const Wave& wave, uint32_t payload) {
  if (!(wave.status & status_bit::kPrivileged) || !handler_.tells_exceptions(launch_, payload)) {
    if (messages_) messages_->on_interrupt(wave, payload);
    return;
  }
  Cause cause;
  {
    std::lock_guard lock(mutex_);
    Cause& known = entered().causes[&wave];
    cause = known;
    known.told = true;
  }
  if (on_told_) on_told_(cause.fault);
  handler_.on_exceptions(cause.told ? nullptr : &cause.fault, launch_, payload);
}

}  // namespace lockstep::machine
