#include "engine/interpreter/interpreter.h"

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "engine/interpreter/aligned_access.h"
#include "engine/interpreter/common.h"
#include "engine/interpreter/registration.h"
#include "numeric/float_mode.h"
#include "state/trap_status.h"

namespace lockstep::interpreter {

namespace {

HostTarget target_of_processor() {
  __builtin_cpu_init();
#if LOCKSTEP_HAS_V4
  if (__builtin_cpu_supports("x86-64-v4")) return HostTarget::x86_64_v4;
#endif
  if (__builtin_cpu_supports("x86-64-v3")) return HostTarget::x86_64_v3;
  throw std::runtime_error("this processor is too old: Lockstep needs AVX2, FMA and F16C (x86-64-v3)");
}

HostTarget chosen_target() {
  const HostTarget best = target_of_processor();
  const char* const asked = std::getenv("LOCKSTEP_HOST_LEVEL");
  if (!asked || !*asked) return best;
  const std::string level = asked;
  if (level == "x86-64-v3") return HostTarget::x86_64_v3;
  if (level != "x86-64-v4")
    throw std::runtime_error("LOCKSTEP_HOST_LEVEL is '" + level +
                             "': say x86-64-v3 (AVX2) or x86-64-v4 (AVX-512), or unset it");
  if (best != HostTarget::x86_64_v4)
    throw std::runtime_error(
        "LOCKSTEP_HOST_LEVEL is x86-64-v4, but this processor or this build has no AVX-512: unset it");
  return best;
}

}  // namespace

HostTarget best_host_target() {
  static const HostTarget target = chosen_target();
  return target;
}

namespace {

#define LOCKSTEP_CALL_PLAIN(family) register_##family##_any(table);
#define LOCKSTEP_CALL_V3(family) register_##family##_v3(table);
#define LOCKSTEP_CALL_V4(family) register_##family##_v4(table);

HandlerTable make_table_v3(Math math, bool usual_modes) {
  HandlerTable table;
  LOCKSTEP_PLAIN_FAMILIES(LOCKSTEP_CALL_PLAIN)
  LOCKSTEP_VECTOR_FAMILIES(LOCKSTEP_CALL_V3)
  if (math == Math::fast) register_vop1_fast_v3(table);
  if (!usual_modes) register_aligned_access(table);
  return table;
}

#if LOCKSTEP_HAS_V4
HandlerTable make_table_v4(Math math, bool usual_modes) {
  HandlerTable table;
  LOCKSTEP_PLAIN_FAMILIES(LOCKSTEP_CALL_PLAIN)
  LOCKSTEP_VECTOR_FAMILIES(LOCKSTEP_CALL_V4)
  if (math == Math::fast) register_vop1_fast_v4(table);
  if (!usual_modes) register_aligned_access(table);
  return table;
}
#endif

// The tables of a host target, each made when it is first asked for.
template <HandlerTable make(Math, bool)>
const HandlerTable& table_of(Math math, bool usual_modes) {
  if (!usual_modes) {
    static const HandlerTable exact = make(Math::exact, false), fast = make(Math::fast, false);
    return math == Math::fast ? fast : exact;
  }
  static const HandlerTable exact = make(Math::exact, true), fast = make(Math::fast, true);
  return math == Math::fast ? fast : exact;
}

}  // namespace

const HandlerTable& handlers(HostTarget target, Math math, const memory::AccessModes& modes) {
  const bool usual_modes = modes == memory::AccessModes{};
#if LOCKSTEP_HAS_V4
  if (target == HostTarget::x86_64_v4) return table_of<make_table_v4>(math, usual_modes);
#endif
  if (target != HostTarget::x86_64_v3) throw std::invalid_argument("this build has no AVX-512 handlers");
  return table_of<make_table_v3>(math, usual_modes);
}

bool has_handler(const isa::Row& row) {
  const HandlerTable& table = handlers(best_host_target());
  const auto index = static_cast<size_t>(row.base);
  return table.valu[index].any || table.other[index];
}

Code::Code(const std::vector<CodeRange>& code, const std::shared_ptr<const RangeSet>& memory,
           unsigned wave_size, HostTarget target, unsigned vgpr_count, Observer* observer, Math math,
           bool privileged, const memory::AccessModes& modes)
    : default_mode(code, memory, wave_size, vgpr_count, true, handlers(target, math, modes), observer,
                   privileged),
      other_mode(code, memory, wave_size, vgpr_count, false, handlers(target, math, modes), observer,
                 privileged),
      without_vgprs(code, memory, wave_size, 0, true, handlers(target, math, modes), observer, privileged),
      modes(modes) {
  default_mode.other_mode = &other_mode;
  other_mode.other_mode = &default_mode;
  // Without VGPRs nothing computes with floats, so that the mode does not matter.
  without_vgprs.other_mode = &without_vgprs;
  for (Program* program : {&default_mode, &other_mode, &without_vgprs})
    program->without_vgprs = &without_vgprs;
}

Interpreter::Interpreter(std::vector<CodeRange> code, unsigned wave_size,
                         std::shared_ptr<const RangeSet> memory, HostTarget target, unsigned vgpr_count,
                         Observer* observer, Math math, bool privileged, const memory::AccessModes& modes)
    : Interpreter(std::make_shared<Code>(code, memory, wave_size, target, vgpr_count, observer, math,
                                         privileged, modes),
                  memory) {}

Interpreter::Interpreter(std::shared_ptr<Code> code, std::shared_ptr<const RangeSet> memory)
    : memory_(std::move(memory)),
      context_{.memory = memory_.get(), .modes = code->modes},
      code_(std::move(code)) {}

void Interpreter::set_trap_addresses(uint64_t base, uint64_t memory) {
  context_.trap_base = base;
  context_.trap_memory = memory;
}

bool Interpreter::enter(Wave& wave, uint64_t pc) {
  // A wave that comes back from its trap handler may have given its VGPRs back before.
  Program& program = wave.status & status_bit::kNoVgprs                  ? code_->without_vgprs
                     : (wave.mode & kFloatModeMask) == kDefaultFloatMode ? code_->default_mode
                                                                         : code_->other_mode;
  wave.program = &program;
  wave.dispatch = &context_;
  wave.pc = pc;
  return program.at(pc) != nullptr;
}

int64_t Interpreter::run(Wave& wave, int64_t budget) {
  const Operation* op = program_of(&wave)->at(wave.pc);
  if (!op) {  // a barrier or a sleep was the last thing in the code
    wave.fault = {};
    wave.fault.kind = FaultKind::bad_pc;
    wave.fault.pc = wave.pc;
    wave.fault.message = kPastTheEnd;
    wave.state = WaveState::faulted;
    return 0;
  }
  wave.turn_budget = budget;
  Observer* const observer = program_of(&wave)->observer();
  handler_of(op)(op, &wave, budget);
  if (observer) {
    Program::end_passing();
    observer->on_turn_over(wave);
  }
  const int64_t executed = budget - wave.budget;
  wave.executed_before_turn += executed;
  return executed;
}

}  // namespace lockstep::interpreter
