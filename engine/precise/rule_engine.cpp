#include "engine/precise/rule_engine.h"

#include <algorithm>
#include <utility>

#include "engine/interpreter/account.h"
#include "engine/interpreter/program.h"
#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"
#include "engine/precise/global_sync_rules.h"
#include "engine/precise/hazard_rules.h"
#include "engine/precise/m0_rules.h"
#include "engine/precise/program_rules.h"
#include "engine/precise/wait_rules.h"
#include "engine/precise/wave64_hazards.h"

namespace lockstep::precise {

// The units of units_for() that look after rules, each asked only where it has something to do. An
// instruction is shown to them as if it had been executed already: nothing here depends on what it does.
struct RuleEngine::WaveRules final : AccessFinder {
  explicit WaveRules(const RuleEngine& engine)
      : looks_for_legality(engine.looks_for_legality_),
        hints(engine.rules_),
        waits(engine.rules_, engine.looks_for_waits_, *this),
        clauses(engine.rules_, &waits),
        sync(engine.rules_),
        program(engine.rules_, engine.processor_mode_, 0, engine.pages_),
        operands(engine.rules_, engine.good_),
        hazards(engine.rules_, false) {
    if (engine.wave_size_ == 64) wave64_hazards.emplace(engine.rules_);
  }

  template <class Rules>
  static void show(Rules& rules, const Step& step) {
    rules.before(step);
    rules.after(step);
  }

  void check(const Facts& facts, const Step& step) {
    if (looks_for_legality) {
      if (facts.is_delay_hint || hints.is_counting()) show(hints, step);
      if (facts.is_clause || clauses.is_inside()) show(clauses, step);
      if (!sync.is_far_from_any(step.instruction)) show(sync, step);
      if (facts.is_for_program || program.is_watching()) show(program, step);
      if (facts.has_m0_rule || !operands.is_known_as_good(step)) operands.before(step);
      if (facts.is_for_hazards) show(hazards, step);
      if (wave64_hazards) show(*wave64_hazards, step);
    }
    if (facts.counts || facts.has_index || waits.may_be_early(facts.used)) show(waits, step);
  }

  std::span<const MemoryAccess> accesses(const Step& step) override {
    interpreter::find_accesses(interpreter::program_of(&step.wave)->at(step.pc), &step.wave, found);
    return found;
  }

  const bool looks_for_legality;
  DelayHints hints;
  WaitRules waits;
  ClauseRules clauses;
  GlobalSyncRules sync;
  ProgramRules program;
  OperandRules operands;
  HazardRules hazards;
  std::optional<Wave64Hazards> wave64_hazards;
  std::vector<MemoryAccess> found;
};

RuleEngine::RuleEngine(const std::vector<CodeRange>& code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, unsigned vgpr_count, const Settings& settings,
                       Findings& findings, bool processor_mode, std::vector<CodeRange> pages, Math math,
                       const memory::AccessModes& modes)
    : wave_size_(wave_size),
      vgpr_count_(vgpr_count),
      looks_for_waits_(settings.looks_for_waits),
      looks_for_legality_(settings.looks_for_legality),
      processor_mode_(processor_mode),
      rules_(settings.rules, findings),
      pages_(std::move(pages)),
      listener_(settings.listener),
      interpreter_(code, wave_size, std::move(memory), interpreter::best_host_target(), vgpr_count, this,
                   math, false, modes) {
  if (listener_) tap_.emplace(*listener_);
}

RuleEngine::~RuleEngine() = default;

bool RuleEngine::enter(Wave& wave, uint64_t pc) {
  if (!interpreter_.enter(wave, pc)) return false;
  auto fresh = std::make_unique<WaveRules>(*this);
  fresh->program.launch(wave);
  wave.attachment = fresh.get();
  std::lock_guard lock(mutex_);
  waves_[&wave] = std::move(fresh);
  return true;
}

Observer::Calls RuleEngine::calls_for(const isa::Instruction& instruction) const {
  return listener_ && listener_->wants(instruction) && listener_->wants_after(instruction)
             ? Calls::before_and_behind
             : Calls::before;
}

bool RuleEngine::on_instruction(const Wave& observed, const isa::Instruction& instruction, uint64_t pc) {
  // The units steer nothing here, but look through an interface that lets others do so.
  auto& wave = const_cast<Wave&>(observed);
  const Facts& facts = facts_of(instruction, pc);
  if (facts.is_told) tap_->on_instruction(wave, instruction, pc);
  // They were shown an instruction that waited when the wave came to it.
  if (wave.wait.kind == WaitKind::none)
    static_cast<WaveRules*>(wave.attachment)->check(facts, {wave, instruction, pc});
  return true;
}

void RuleEngine::on_turn_over(const Wave& wave) {
  if (tap_) tap_->on_turn_over(wave);
}

const RuleEngine::Facts& RuleEngine::facts_of(const isa::Instruction& instruction, uint64_t pc) {
  std::atomic<const Facts*>& place = found_[pc / 4 % kPlaces];
  const Facts* found = place.load(std::memory_order_acquire);
  if (found && found->instruction == &instruction) return *found;
  std::lock_guard lock(mutex_);
  std::unique_ptr<const Facts>& facts = facts_[&instruction];
  if (!facts) facts = std::make_unique<const Facts>(make_facts(instruction));
  place.store(facts.get(), std::memory_order_release);
  return *facts;
}

RuleEngine::Facts RuleEngine::make_facts(const isa::Instruction& instruction) const {
  Facts facts;
  facts.instruction = &instruction;
  facts.is_told = listener_ && listener_->wants(instruction);
  facts.is_delay_hint = DelayHints::concerns(instruction);
  facts.is_clause = ClauseRules::concerns(instruction);
  facts.is_for_program = ProgramRules::concerns(instruction);
  facts.is_for_hazards = HazardRules::concerns(instruction);
  facts.has_m0_rule = has_m0_rule(instruction.row->opcode);
  facts.counts = shares_of(instruction).count != 0 || may_wait(instruction);
  facts.has_index = isa::has_index(instruction.row->opcode);
  const isa::RegisterEffects effects =
      isa::register_effects(instruction, {.wave_size = wave_size_, .vgpr_count = vgpr_count_, .m0 = {}});
  facts.used.assign(effects.reads.begin(), effects.reads.end());
  facts.used.insert(facts.used.end(), effects.writes.begin(), effects.writes.end());
  return facts;
}

}  // namespace lockstep::precise
