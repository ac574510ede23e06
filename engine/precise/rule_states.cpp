#include "engine/precise/rule_states.h"

#include <cstdint>

namespace lockstep::precise {

// Of what tells states apart as a rule: states that differ otherwise are compared.
size_t RuleState::hash() const {
  uint64_t sum = hints.instructions_left_ + hints.next_pc_ + wave64.exec_writes_;
  const auto add = [&](uint64_t value) { sum = (sum ^ value) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29; };
  const auto add_instruction = [&](const isa::Instruction* instruction) {
    add(reinterpret_cast<uint64_t>(instruction));
  };
  add_instruction(last);
  add(clauses.position_ + clauses.next_pc_);
  for (const WaitState::Issued& issued : waits.under_way_) add_instruction(issued.instruction);
  for (const bool may_be_up : waits.may_be_up_) add(may_be_up);
  for (size_t i = 0; i < hazards.unfinished_count_; ++i) add_instruction(hazards.unfinished_[i].instruction);
  for (const HazardState::Executed& unread : hazards.unread_) add_instruction(unread.instruction);
  for (const isa::Instruction* made : wave64.made_) add_instruction(made);
  return sum;
}

const RuleStates::Place* RuleStates::place_of(RuleState&& state) {
  const size_t hash = state.hash();
  std::lock_guard lock(mutex_);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (at->second->state == state) return at->second;
  if (places_.size() >= kMost) return nullptr;
  const Place& place = places_.add(std::move(state));
  by_hash_.emplace(hash, &place);
  return &place;
}

void RuleStates::add(const Place& from, const isa::Instruction& instruction, unsigned circumstances,
                     uint64_t until, const Place& to, const std::vector<ToldRule>& told) {
  std::lock_guard lock(mutex_);
  if (from.way_by(instruction, circumstances)) return;  // another thread was here
  const Way* const others = from.ways.load(std::memory_order_relaxed);
  const Way& way = ways_.add(Way{&instruction, circumstances, until, &to, told, others});
  from.ways.store(&way, std::memory_order_release);
}

}  // namespace lockstep::precise
