#include "engine/precise/precise_engine.h"

#include <algorithm>
#include <utility>

#include "engine/interpreter/account.h"
#include "engine/interpreter/program.h"
#include "engine/interpreter/tap.h"

namespace lockstep::precise {

// What the engine keeps beside a wave.
struct PreciseEngine::Attachment {
  Units units;
  unsigned permits = 0;                    // instructions that may pass the gate
  const isa::Instruction* next = nullptr;  // the one at wave.pc, if the gate has seen it
  size_t stalled_at = 0;                   // the unit that stalled it: those before have been asked
  Accesses accesses;                       // that a unit asked for
  interpreter::Told told;
};

PreciseEngine::PreciseEngine(std::vector<CodeRange> code, unsigned wave_size,
                             std::shared_ptr<const RangeSet> memory, unsigned vgpr_count,
                             MakeUnits make_units, Math math, const memory::AccessModes& modes,
                             Listener* listener)
    : interpreter_(code, wave_size, memory, interpreter::best_host_target(), vgpr_count, this, math, false,
                   modes),
      privileged_(code, wave_size, memory, interpreter::best_host_target(), vgpr_count, this, math, true,
                  modes),
      make_units_(std::move(make_units)),
      listener_(listener) {}

PreciseEngine::~PreciseEngine() = default;

PreciseEngine::Attachment& PreciseEngine::attachment_of(const Wave& wave) {
  return *static_cast<Attachment*>(wave.attachment);
}

void PreciseEngine::set_trap_addresses(uint64_t base, uint64_t memory) {
  interpreter_.set_trap_addresses(base, memory);
  privileged_.set_trap_addresses(base, memory);
}

void PreciseEngine::set_host_clock(uint32_t megahertz) {
  interpreter_.set_host_clock(megahertz);
  privileged_.set_host_clock(megahertz);
}

void PreciseEngine::set_halts_resumable() {
  interpreter_.set_halts_resumable();
  privileged_.set_halts_resumable();
}

bool PreciseEngine::enter(Wave& wave, uint64_t pc) {
  if (!attach(wave, pc)) return false;
  for (auto& unit : attachment_of(wave).units) unit->launch(wave);
  return true;
}

bool PreciseEngine::take_over(Wave& wave) {
  const uint64_t pc = wave.pc;
  if (!attach(wave, wave.fault.pc)) return false;
  Fault fault = std::exchange(wave.fault, {});
  wave.state = WaveState::ready;
  if (fault.kind == FaultKind::trap) return true;  // it looks at the instruction again
  // Up to the instruction, which is decoded when a wave comes to it.
  advance(wave, 0);
  wave.fault = std::move(fault);
  wave.state = WaveState::faulted;
  wave.pc = pc;
  return offer_fault(wave);
}

// The wave's units are those of a wave that has nothing under way.
bool PreciseEngine::attach(Wave& wave, uint64_t pc) {
  if (!interpreter_.enter(wave, pc)) return false;
  auto fresh = std::make_unique<Attachment>();
  fresh->units = make_units_(wave, *this);
  wave.attachment = fresh.get();
  std::lock_guard lock(mutex_);
  attachments_[&wave] = std::move(fresh);
  return true;
}

// The gate before each instruction: the wave stops there unless it has a permit.
Observer::Answer PreciseEngine::on_instruction(const Wave& wave, const isa::Instruction& instruction,
                                               uint64_t, const void*) {
  Attachment& attachment = attachment_of(wave);
  attachment.next = &instruction;
  if (attachment.permits == 0) return {.goes_on = false};
  --attachment.permits;
  attachment.next = nullptr;
  return {};
}

bool PreciseEngine::advance(Wave& wave, unsigned permits) {
  Attachment& attachment = attachment_of(wave);
  const uint64_t first = wave.pc;
  attachment.permits = permits;
  attachment.next = nullptr;
  // A taken branch uses one up and leaves the interpreter at zero: one more brings the wave to the gate
  // behind it.
  interpreter_.run(wave, permits + 1);
  // What is refused when it is decoded faults without coming to the gate, behind the instruction that was
  // permitted. That one is over; the other faults once more when it is its turn.
  if (wave.state == WaveState::faulted && permits != 0 && wave.fault.pc != first) {
    wave.fault = {};
    wave.state = WaveState::ready;
  }
  return wave.state != WaveState::faulted;
}

bool PreciseEngine::execute(Wave& wave, uint64_t pc) {
  Attachment& attachment = attachment_of(wave);
  const uint64_t resume = wave.pc;
  const isa::Instruction* next = attachment.next;
  wave.pc = pc;
  const bool good = advance(wave, 1);
  wave.pc = resume;
  attachment.next = next;
  return good;
}

const isa::Instruction& PreciseEngine::executed_at(const Wave& wave, uint64_t pc) {
  return *interpreter::program_of(&wave)->at(pc)->instruction;
}

const Accesses& PreciseEngine::accesses(const Step& step) {
  Accesses& accesses = attachment_of(step.wave).accesses;
  interpreter::find_accesses(interpreter::program_of(&step.wave)->at(step.pc), &step.wave, accesses);
  return accesses;
}

bool PreciseEngine::continue_at(Wave& wave, uint64_t pc, bool privileged) {
  attachment_of(wave).next = nullptr;
  set_privileged(wave, privileged);
  return (privileged ? privileged_ : interpreter_).enter(wave, pc);
}

bool PreciseEngine::offer_fault(Wave& wave) {
  Attachment& attachment = attachment_of(wave);
  attachment.next = nullptr;
  return std::any_of(attachment.units.begin(), attachment.units.end(),
                     [&](auto& unit) { return unit->on_fault(wave); });
}

bool PreciseEngine::has_pending_results(const Wave& wave) const {
  const Attachment& attachment = attachment_of(wave);
  return std::any_of(attachment.units.begin(), attachment.units.end(),
                     [](auto& unit) { return unit->has_pending_results(); });
}

void PreciseEngine::interrupt(Wave& wave) {
  Attachment& attachment = attachment_of(wave);
  for (auto& unit : attachment.units) unit->interrupt(wave);
  if (wave.state == WaveState::ready) attachment.next = nullptr;
}

int64_t PreciseEngine::run(Wave& wave, int64_t budget) {
  Attachment& attachment = attachment_of(wave);
  int64_t executed = 0;
  for (;;) {
    // Of the last instruction that the budget allows, too.
    if (wave.state == WaveState::faulted && !offer_fault(wave)) break;
    if (executed >= budget || wave.state != WaveState::ready) break;
    if (!attachment.next) {
      attachment.stalled_at = 0;
      if (!advance(wave, 0)) continue;
    }
    const Step step{wave, *attachment.next, wave.pc};
    // The units were asked about an instruction that waited when the wave came to it.
    const bool is_repeated = wave.wait.kind != WaitKind::none;
    Verdict verdict = Verdict::execute;
    size_t asked = std::exchange(attachment.stalled_at, 0);
    if (is_repeated) asked = attachment.units.size();
    for (; asked < attachment.units.size() && verdict == Verdict::execute; ++asked)
      verdict = attachment.units[asked]->before(step);
    if (verdict == Verdict::stall) {
      attachment.stalled_at = asked - 1;
      break;
    }
    if (verdict != Verdict::execute) attachment.next = nullptr;
    ++executed;
    if (verdict == Verdict::redirected || verdict == Verdict::stopped) continue;
    // A unit that has put it off has left the registers alone.
    const bool is_told = listener_ && listener_->wants(step.instruction);
    if (is_told)
      attachment.told.begin(*listener_, wave, step.instruction, step.pc,
                            isa::is_memory(step.instruction.row->encoding)
                                ? interpreter::program_of(&wave)->at(step.pc)
                                : nullptr,
                            true);
    const bool is_good = verdict != Verdict::execute || advance(wave, 1);
    if (is_told) attachment.told.end(*listener_, wave);
    if (!is_good) continue;
    if (wave.state == WaveState::blocked || wave.state == WaveState::halted) {
      --executed;
      break;
    }
    for (auto& unit : attachment.units) {
      const uint64_t pc = wave.pc;
      unit->after(step);
      if (wave.pc != pc) attachment.next = nullptr;
    }
  }
  return executed;
}

}  // namespace lockstep::precise
