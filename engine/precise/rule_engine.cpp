#include "engine/precise/rule_engine.h"

#include <algorithm>
#include <utility>

#include "engine/interpreter/account.h"
#include "engine/interpreter/program.h"
#include "engine/precise/deferred.h"
#include "engine/precise/m0_rules.h"
#include "engine/straight.h"
#include "isa/effects.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

// Whether what the rules say of it, or remember, depends on more than what RuleState has and the lanes.
bool depends_on_values(const isa::Instruction& instruction) {
  if (isa::has_index(instruction.row->opcode) || has_m0_rule(instruction.row->opcode) || instruction.gds ||
      instruction.row->flags & isa::kGdsOnly)
    return true;
  switch (instruction.row->opcode) {
    case Opcode::s_version:  // must stand where the wave began
      return true;
    case Opcode::s_waitcnt_vmcnt:
    case Opcode::s_waitcnt_vscnt:
    case Opcode::s_waitcnt_lgkmcnt:
    case Opcode::s_waitcnt_expcnt:
      return instruction.operands[0].code != isa::code::kNull;
    default:
      return false;
  }
}

}  // namespace

// The units of units_for() that look after rules. An instruction is shown to them as if it had been executed
// already: nothing here depends on what it does.
struct RuleEngine::WaveRules final : AccessFinder {
  explicit WaveRules(RuleEngine& engine)
      : looks_for_legality(engine.looks_for_legality_),
        states(engine.states_),
        rules(engine.rules_, engine.findings_, &told),
        hints(rules),
        waits(rules, engine.looks_for_waits_, *this),
        clauses(rules, &waits),
        sync(rules),
        program(rules, engine.processor_mode_, 0, engine.pages_),
        operands(rules, engine.good_),
        hazards(rules, false) {
    if (engine.wave_size_ == 64) wave64_hazards.emplace(rules);
  }

  void begin(Wave& wave) {
    place = states.begin();
    from = nullptr;
    checked_until = 0;
    program.launch(wave);
  }

  // Up to which address there is nothing more to check, as long as the wave goes straight on.
  uint64_t check(const Facts& facts, const Step& step) {
    if (facts.is_straight) return check_straight(step);
    if (from) end_straight(step.pc);
    unsigned circumstances = step.wave.exec() == 0 ? kWithoutLanes : 0;
    if (facts.goes_to_memory_and_lds) circumstances |= flat_circumstances(step);
    checked_until = 0;
    const bool has_ways = place && !facts.depends_on_values;
    if (has_ways && follow_way(step, circumstances)) return 0;
    const RuleStates::Place* const before = place;
    if (place) restore(place->state);
    told.clear();
    work_out(step);
    place = states.place_of(state_behind(step.instruction));
    if (has_ways && place) states.add(*before, step.instruction, circumstances, 0, *place, told);
    return 0;
  }

  const Accesses& accesses(const Step& step) override {
    interpreter::find_accesses(interpreter::program_of(&step.wave)->at(step.pc), &step.wave, found);
    return found;
  }

 private:
  static constexpr unsigned kWithoutLanes = 1, kInLds = 2, kInMemory = 4;

  // Results of a FLAT load are under way from where a lane goes.
  unsigned flat_circumstances(const Step& step) {
    const uint64_t lds = flat_lanes(step, *this).lds, lanes = step.wave.exec();
    return ((lanes & lds) != 0 ? kInLds : 0) | ((lanes & ~lds) != 0 ? kInMemory : 0);
  }

  bool follow_way(const Step& step, unsigned circumstances) {
    const RuleStates::Way* const way = place->way_by(step.instruction, circumstances);
    if (!way) return false;
    place = way->to;
    checked_until = way->until;
    for (const ToldRule& rule : way->told) rules.tell_again(step.wave, rule);
    return true;
  }

  // The first time the units see them one by one, and what they remember is kept of the end alone.
  uint64_t check_straight(const Step& step) {
    if (step.pc < checked_until) return checked_until;  // it was called for the listener
    if (!from && place) {
      from_circumstances = step.wave.exec() == 0 ? kWithoutLanes : 0;
      if (follow_way(step, from_circumstances)) return checked_until;
      restore(place->state);
      told.clear();
      from = place;
      first = &step.instruction;
      place = nullptr;
    }
    if (!from) told.clear();  // there are too many states: nobody keeps it
    work_out(step);
    last = &step.instruction;
    return 0;
  }

  void end_straight(uint64_t until) {
    place = states.place_of(state_behind(*last));
    if (place) states.add(*from, *first, from_circumstances, until, *place, told);
    from = nullptr;
  }

  static void show(Unit& unit, const Step& step) {
    unit.before(step);
    unit.after(step);
  }

  void work_out(const Step& step) {
    if (looks_for_legality) {
      show(hints, step);
      show(clauses, step);
      show(sync, step);
      show(program, step);
      operands.before(step);
      show(hazards, step);
      if (wave64_hazards) show(*wave64_hazards, step);
    }
    show(waits, step);
    // What there is no use for any more must not tell states apart.
    if (!hints.is_counting()) hints.go_on_from({});
    if (!clauses.is_inside()) clauses.go_on_from({});
  }

  RuleState state_behind(const isa::Instruction& instruction) const {
    return {&instruction,    hints.state(),
            waits.state(),   clauses.state(),
            sync.state(),    program.state(),
            hazards.state(), wave64_hazards ? wave64_hazards->state() : Wave64State{}};
  }
  void restore(const RuleState& from) {
    hints.go_on_from(from.hints);
    waits.go_on_from(from.waits);
    clauses.go_on_from(from.clauses);
    sync.go_on_from(from.sync);
    program.go_on_from(from.program);
    hazards.go_on_from(from.hazards);
    if (wave64_hazards) wave64_hazards->go_on_from(from.wave64);
  }

  const bool looks_for_legality;
  RuleStates& states;
  const RuleStates::Place* place = nullptr;  // null: the units themselves know
  uint64_t checked_until = 0;
  // Of instructions that go straight on and are shown to the units for the first time: where they came from,
  // null if they are none; the first and last one.
  const RuleStates::Place* from = nullptr;
  unsigned from_circumstances = 0;
  const isa::Instruction *first = nullptr, *last = nullptr;
  std::vector<ToldRule> told;  // of what is worked out
  const RuleBook rules;
  DelayHints hints;
  WaitRules waits;
  ClauseRules clauses;
  GlobalSyncRules sync;
  ProgramRules program;
  OperandRules operands;
  HazardRules hazards;
  std::optional<Wave64Hazards> wave64_hazards;
  Accesses found;
};

RuleEngine::RuleEngine(const std::vector<CodeRange>& code, unsigned wave_size,
                       std::shared_ptr<const RangeSet> memory, unsigned vgpr_count, const Settings& settings,
                       Findings& findings, bool processor_mode, std::vector<CodeRange> pages, Math math,
                       const memory::AccessModes& modes)
    : wave_size_(wave_size),
      looks_for_waits_(settings.looks_for_waits),
      looks_for_legality_(settings.looks_for_legality),
      processor_mode_(processor_mode),
      rules_(settings.rules),
      findings_(findings),
      pages_(std::move(pages)),
      interpreter_(code, wave_size, std::move(memory), interpreter::best_host_target(), vgpr_count, this,
                   math, false, modes) {
  if (settings.listener) tap_.emplace(*settings.listener);
}

RuleEngine::~RuleEngine() = default;

bool RuleEngine::enter(Wave& wave, uint64_t pc) {
  if (!interpreter_.enter(wave, pc)) return false;
  {
    std::lock_guard lock(mutex_);
    std::unique_ptr<WaveRules>& own = waves_[&wave];
    if (!own) own = std::make_unique<WaveRules>(*this);
    wave.attachment = own.get();
  }
  static_cast<WaveRules*>(wave.attachment)->begin(wave);
  return true;
}

Observer::Wish RuleEngine::wish_for(const isa::Instruction& instruction) {
  Facts facts;
  facts.depends_on_values = depends_on_values(instruction);
  facts.goes_to_memory_and_lds = looks_for_waits_ && shares_of(instruction).count == 2;
  facts.is_straight = !facts.depends_on_values && goes_straight_on(instruction);
  Calls calls = Calls::before;
  bool may_be_passed = facts.is_straight;
  if (tap_) {
    const Wish wish = tap_->wish_for(instruction);
    facts.is_told = wish.calls != Calls::none;
    facts.known_to_tap = wish.known;
    if (facts.is_told) {
      calls = wish.calls;
      may_be_passed &= wish.may_be_passed;
    }
  }
  std::lock_guard lock(mutex_);
  return {calls, &facts_.add(facts), may_be_passed};
}

Observer::Answer RuleEngine::on_instruction(const Wave& observed, const isa::Instruction& instruction,
                                            uint64_t pc, const void* known) {
  // The units steer nothing here, but look through an interface that lets others do so.
  auto& wave = const_cast<Wave&>(observed);
  const Facts& facts = *static_cast<const Facts*>(known);
  if (facts.is_told) tap_->on_instruction(wave, instruction, pc, facts.known_to_tap);
  // They were shown an instruction that waited when the wave came to it.
  if (wave.wait.kind != WaitKind::none) return {};
  uint64_t until = static_cast<WaveRules*>(wave.attachment)->check(facts, {wave, instruction, pc});
  if (until != 0 && tap_) until = std::min(until, tap_->passes_until(wave));
  return {.passes_until = until};
}

void RuleEngine::on_turn_over(const Wave& wave) {
  if (tap_) tap_->on_turn_over(wave);
}

}  // namespace lockstep::precise
