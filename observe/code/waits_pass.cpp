#include "observe/code/waits_pass.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/precise/missing_waits.h"
#include "isa/effects.h"
#include "state/wave.h"

namespace lockstep::observe {

namespace {

using precise::Counts;
using precise::Share;
using precise::Shares;

// A result that may not be there yet.
struct Pending {
  uint32_t place;                     // that was issued
  std::array<uint8_t, 2> newer = {};  // of each of its shares' kind, issued behind it
};
// By place.
using State = std::vector<Pending>;

// Beyond this every limit has let it land.
constexpr uint8_t kMostNewer = 64;

// What one instruction does to the state, whichever it is.
struct Facts {
  isa::RegisterEffects effects;  // of registers that are known without M0
  std::vector<isa::RegisterRange> destinations;
  Shares shares;
  std::optional<Counts> waited;
};

bool waits_for_register(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case isa::Opcode::s_waitcnt_vmcnt:
    case isa::Opcode::s_waitcnt_vscnt:
    case isa::Opcode::s_waitcnt_lgkmcnt:
    case isa::Opcode::s_waitcnt_expcnt:
      return instruction.operands[0].code != isa::code::kNull;
    default:
      return false;
  }
}

Facts facts_of(const isa::Instruction& instruction, const Wave& wave) {
  Facts facts;
  const isa::RegisterEffects all =
      isa::register_effects(instruction, {.wave_size = wave.wave_size, .m0 = std::nullopt});
  for (const isa::RegisterUse& use : all.reads)
    if (!use.is_indexed) facts.effects.reads.add(use);
  for (const isa::RegisterUse& use : all.writes)
    if (!use.is_indexed) facts.effects.writes.add(use);
  facts.shares = precise::shares_of(instruction);
  if (facts.shares.count != 0)
    facts.destinations.assign(facts.effects.writes.begin(), facts.effects.writes.end());
  // How long it waits then is in a register: for everything, so that nothing is told that is not so.
  facts.waited = waits_for_register(instruction) ? Counts{} : precise::limits_of(instruction, wave);
  return facts;
}

class WaitsPass {
 public:
  WaitsPass(const CodeFlow& flow, unsigned wave_size, uint64_t bias, Findings& findings)
      : flow_(flow), bias_(bias), findings_(findings) {
    initialise_wave(wave_, wave_size, nullptr);
    facts_.reserve(flow.places().size());
    for (const Place& place : flow.places()) facts_.push_back(facts_of(place.instruction, wave_));
  }

  void run() {
    for (const uint64_t function : flow_.functions())
      if (const Place* const place = flow_.at(function)) come_to(*place, {});
    while (!changed_.empty()) {
      const uint32_t block = *changed_.begin();
      changed_.erase(changed_.begin());
      walk(block, false);
    }
    for (const auto& [block, state] : at_begin_) walk(block, true);
  }

 private:
  uint32_t number_of(const Place& place) const {
    return static_cast<uint32_t>(&place - flow_.places().data());
  }

  // Joins what is known at the begin of a block with what one more path brings.
  void come_to(const Place& place, const State& state) {
    const uint32_t block = number_of(place);
    const auto [at, is_new] = at_begin_.try_emplace(block);
    State joined;
    auto a = at->second.begin();
    auto b = state.begin();
    while (a != at->second.end() || b != state.end()) {
      if (b == state.end() || (a != at->second.end() && a->place < b->place)) {
        joined.push_back(*a++);
      } else if (a == at->second.end() || b->place < a->place) {
        joined.push_back(*b++);
      } else {
        Pending both = *a;
        for (unsigned i = 0; i < both.newer.size(); ++i) both.newer[i] = std::min(a->newer[i], b->newer[i]);
        joined.push_back(both);
        ++a, ++b;
      }
    }
    const bool is_same = std::equal(
        joined.begin(), joined.end(), at->second.begin(), at->second.end(),
        [](const Pending& x, const Pending& y) { return x.place == y.place && x.newer == y.newer; });
    if (is_same && !is_new) return;
    at->second = std::move(joined);
    changed_.insert(block);
  }

  void walk(uint32_t block, bool tells) {
    State state = at_begin_.at(block);
    for (uint32_t i = block;; ++i) {
      const Place& place = flow_.places()[i];
      execute(i, state, tells);
      if (!tells && place.target)
        if (const Place* const target = flow_.at(*place.target)) come_to(*target, state);
      if (!place.goes_on) return;
      // Callees wait before they return, by the rules of compilers; whether others do is not known.
      if (place.leaves == Leaves::by_call) state.clear();
      const Place* const next = flow_.at(place.next());
      if (!next) return;
      if (next->is_reached_by_jump) {
        if (!tells) come_to(*next, state);
        return;
      }
    }
  }

  void execute(uint32_t number, State& state, bool tells) const {
    const Facts& facts = facts_[number];
    if (facts.waited) land(state, *facts.waited);
    if (tells) check(number, state);
    if (facts.shares.count == 0) return;
    land(state, limits_at_issue(facts.waited, facts.shares));
    for (Pending& pending : state) {
      const Shares& shares = facts_[pending.place].shares;
      for (unsigned i = 0; i < shares.count; ++i)
        for (const Share& issued : facts.shares)
          if (issued.kind == shares.list[i].kind && issued.counter == shares.list[i].counter &&
              pending.newer[i] < kMostNewer)
            ++pending.newer[i];
    }
    if (facts.destinations.empty()) return;
    const auto at = std::lower_bound(state.begin(), state.end(), number,
                                     [](const Pending& each, uint32_t place) { return each.place < place; });
    if (at != state.end() && at->place == number)
      *at = {number};
    else
      state.insert(at, {number});
  }

  // Of FLAT ones one share is enough: compilers that know where an address is wait for that alone.
  void land(State& state, const Counts& limits) const {
    std::erase_if(state, [&](const Pending& pending) {
      const Shares& shares = facts_[pending.place].shares;
      for (unsigned i = 0; i < shares.count; ++i)
        if (precise::is_certain(shares.list[i], pending.newer[i], limits)) return true;
      return false;
    });
  }

  void check(uint32_t number, const State& state) const {
    const Place& place = flow_.places()[number];
    for (const Pending& pending : state) {
      const Facts& issued = facts_[pending.place];
      const Share& share = issued.shares.list[0];
      const auto use = precise::find_early_use(facts_[number].effects, facts_[number].shares, share.kind,
                                               issued.destinations);
      if (!use) continue;
      const Place& issued_at = flow_.places()[pending.place];
      const precise::Step step{const_cast<Wave&>(wave_), place.instruction, place.address};
      FindingDetail detail;
      detail.text = "on a path through the code";
      detail.other_pc = issued_at.address + bias_;
      findings_.add("waits", wave_, place.address + bias_,
                    precise::explain_missing_wait(step, *use, issued_at.instruction, issued_at.address,
                                                  share.counter, sufficient_limit(pending, state)),
                    std::move(detail));
      return;
    }
  }

  // The limit that makes sure of it on the path where the fewest came behind it.
  unsigned sufficient_limit(const Pending& pending, const State& state) const {
    const Share& share = facts_[pending.place].shares.list[0];
    if (!precise::completes_in_order(share.kind)) return 0;
    for (const Pending& other : state)
      for (const Share& beside : facts_[other.place].shares)
        if (beside.counter == share.counter && beside.kind != share.kind) return 0;
    return pending.newer[0];
  }

  const CodeFlow& flow_;
  const uint64_t bias_;
  Findings& findings_;
  Wave wave_{};
  std::vector<Facts> facts_;            // by place
  std::map<uint32_t, State> at_begin_;  // of blocks
  std::set<uint32_t> changed_;          // blocks that were joined and not walked since
};

}  // namespace

void find_missing_waits(const CodeFlow& flow, unsigned wave_size, uint64_t bias, Findings& findings) {
  WaitsPass(flow, wave_size, bias, findings).run();
}

}  // namespace lockstep::observe
