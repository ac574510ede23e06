#include "engine/translator/address_plan.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "engine/translator/effects.h"
#include "engine/translator/exchange_loops.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::AccessShape;
using isa::Role;

// What is emitted twice is short: so many instructions for each access that gains by it, and so many more.
constexpr unsigned kNodesForAccess = 40, kNodesForWanted = 10, kSmallBlock = 64;

// From one lane's place to the next one's, of an access to whole registers with such an address.
std::optional<int32_t> stride_of_places(const GlobalOperands& access, const LinearState& state) {
  if (access.shape.part != isa::RegisterPart::whole) return std::nullopt;
  const Linear* low = state.find(access.address.vgpr());
  if (!low || low->is_high) return std::nullopt;
  if (!access.base) {
    const Linear* high = state.find(access.address.vgpr() + 1);
    if (!high || (!low->is_half_with(*high) && (high->is_high || high->stride != 0))) return std::nullopt;
  }
  return low->stride;
}

// Lanes that lie side by side, or loads of one place or with a stride: elements may overlap, as those of a
// compiler that has put neighbours together, or leave gaps. A chunk of several short rows has one place at
// most.
bool is_regular_access(const Routine& routine, const Node& node, const LinearState& state) {
  if (node.kind != NodeKind::global) return false;
  const GlobalOperands access = global_operands(node.instruction);
  const AccessShape& shape = access.shape;
  const std::optional<int32_t> stride = stride_of_places(access, state);
  if (!stride) return false;
  const auto apart = static_cast<uint32_t>(std::abs(*stride));
  if (access.is_load() && apart == 0) return true;
  if (routine.launch.has_short_rows()) return false;
  if (apart == shape.bytes) return true;
  if (!access.is_load()) return apart > shape.bytes && apart <= kMostBytesBetween;
  if (apart % 4 == 0 && shape.bytes >= 4) return true;
  return are_parts(shape, apart) || (apart > shape.bytes && apart <= kMostBytesBetween);
}

}  // namespace

bool are_parts(const AccessShape& shape, uint32_t stride) {
  return stride <= kMostBytesApart && shape.bytes <= kMostBytesOfParts;
}

LinearState::LinearState(const Routine& routine, const Strides& at_entry) : routine_(routine) {
  for (const auto& [number, stride] : at_entry) linear_[number].stride = stride;
}

const Linear* LinearState::find(unsigned number) const {
  const auto found = linear_.find(number);
  return found == linear_.end() ? nullptr : &found->second;
}

// High halves are mostly the same in all lanes.
Strides LinearState::strides() const {
  Strides strides;
  for (const auto& [number, linear] : linear_) strides[number] = linear.is_high ? 0 : linear.stride;
  return strides;
}

bool LinearState::loads_one_place(const Node& node) const {
  if (node.kind != NodeKind::global) return false;
  const GlobalOperands access = global_operands(node.instruction);
  return access.is_load() && stride_of_places(access, *this) == 0;
}

LinearState::Step LinearState::step(const Node& node, const RegisterSet& merged, bool loads_same) {
  Step result;
  const Effects effects = effects_of(node, routine_.wave_size, routine_.vgpr_count);
  std::map<unsigned, Linear> written;
  std::map<unsigned, LowSum> written_carries;
  std::optional<unsigned> written_mask;
  if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
    const auto sources = [&](const isa::Operand& operand, unsigned word) -> std::optional<Linear> {
      const auto source = source_of(operand, node.instruction);
      if (!source) return std::nullopt;
      Linear linear;
      if (source->is_constant) {
        linear.constant = static_cast<uint32_t>(source->value >> (32 * word));
      } else if (is_vgpr(source->first)) {
        const Linear* known = find(source->first + word);
        if (!known) return std::nullopt;
        result.reads.push_back(source->first + word);
        linear = *known;
      }
      return linear;
    };
    const auto carries = [&](const isa::Operand& operand) -> std::optional<LowSum> {
      const auto source = source_of(operand, node.instruction);
      if (!source || source->is_constant) return std::nullopt;
      const auto found = carries_.find(source->first);
      if (found == carries_.end()) return std::nullopt;
      result.reads_carry.push_back(source->first);
      return found->second;
    };
    const auto masks = [&](const isa::Operand& operand) -> std::optional<AlikeMask> {
      const auto source = source_of(operand, node.instruction);
      const auto found = source && !source->is_constant ? masks_.find(source->first) : masks_.end();
      if (found == masks_.end()) return std::nullopt;
      result.reads_mask = found->second;
      return AlikeMask{};
    };
    for (const Half& half : halves_of(node.instruction)) {
      const LinearResult made = math_.result_of(node.instruction, half, sources, carries, masks);
      for (unsigned i = half.first; i < half.last; ++i) {
        const isa::Operand& operand = node.instruction.operands[i];
        if (operand.role == Role::dst && operand.is_vgpr()) {
          for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word)
            if (made.words[word]) written[operand.vgpr() + word] = *made.words[word];
        } else if (operand.role == Role::dst && made.mask) {
          written_mask = scalar_destination(operand);
        } else if (operand.role == Role::dst2 && made.low_sum) {
          if (const auto number = scalar_destination(operand)) written_carries[*number] = *made.low_sum;
        }
      }
    }
  }
  if (node.kind == NodeKind::scalar_alu && makes_alike_mask(node.instruction, routine_.wave_size))
    written_mask = scalar_destination(*node.instruction.find(Role::dst));
  if (loads_same) {
    const GlobalOperands access = global_operands(node.instruction);
    for (unsigned word = 0; word < access.shape.registers(); ++word) written[access.data + word] = Linear{};
  }
  const RegisterSet changed = effects.writes | effects.reloaded;
  std::erase_if(linear_, [&](const auto& each) { return changed[each.first]; });
  std::erase_if(carries_, [&](const auto& each) { return changed[each.first]; });
  std::erase_if(masks_, [&](const auto& each) {
    return changed[each.first] || changed[each.first + routine_.wave_size / 32 - 1];
  });
  partial_ &= ~changed;
  // Lanes that were off have no carry, and are in no mask.
  if (turns_lanes_on(effects.exec)) {
    carries_.clear();
    masks_.clear();
    std::erase_if(linear_, [&](const auto& each) { return partial_[each.first]; });
    partial_.reset();
  }
  // What may execute anything leaves nothing known.
  if (node.kind == NodeKind::step || node.kind == NodeKind::outside) linear_.clear();
  for (auto& [number, linear] : written) {
    linear_[number] = linear;
    partial_[number] = merged[number];
    result.writes.push_back(number);
  }
  for (auto& [number, sum] : written_carries) {
    carries_[number] = sum;
    result.writes_carry.push_back(number);
  }
  if (written_mask && *written_mask != kExec) masks_[*written_mask] = &node;
  return result;
}

namespace {

// `wanted`: registers that are to be linear at the end, of which those that are remain.
AddressPlan plan_block(const Routine& routine, const Facts& facts, unsigned index, Strides wanted) {
  const Block& block = routine.blocks[index];
  const unsigned count = block.last - block.first;
  LinearState state(routine, facts.blocks[index].strides);
  std::vector<LinearState::Step> steps;
  std::vector<bool> regular(count);
  unsigned accesses = 0;
  AddressPlan plan;
  for (unsigned n = block.first; n < block.last; ++n) {
    const Node& node = routine.nodes[n];
    regular[n - block.first] =
        facts.nodes[n].access_call != AccessCall::always && is_regular_access(routine, node, state);
    accesses += regular[n - block.first];
    plan.roots_in_all_lanes |= turns_lanes_on(facts.nodes[n].effects.exec);
    const bool loads_same = regular[n - block.first] && state.loads_one_place(node);
    steps.push_back(state.step(node, facts.nodes[n].merged, loads_same));
  }
  // The high half of a pair is the same in all lanes, unless the low halves pass a multiple of 2^32.
  std::erase_if(wanted, [&](const auto& each) {
    const Linear* known = state.find(each.first);
    return !known || !state.is_in_all_lanes(each.first) ||
           (known->is_high ? 0 : known->stride) != each.second;
  });
  if (accesses == 0 && wanted.empty()) return {};
  if (count > kSmallBlock + accesses * kNodesForAccess + wanted.size() * kNodesForWanted) return {};

  plan.is_regular = regular;
  plan.is_computed.resize(count);
  plan.linear_writes.resize(count);
  plan.chooses_by.resize(count);
  plan.is_cut.resize(count);
  std::set<unsigned> needed, needed_carries;
  std::set<const Node*> needed_masks;
  for (const auto& [number, stride] : wanted) {
    plan.kept.push_back(number);
    needed.insert(number);
  }
  // At the end it may turn out that what is wanted does not hold.
  bool more_behind = !wanted.empty();
  for (unsigned i = count; i-- > 0;) {
    const Node& node = routine.nodes[block.first + i];
    // A call puts registers into the Wave, where the second version would find them.
    const bool is_called = facts.nodes[block.first + i].access_call == AccessCall::always;
    plan.is_cut[i] = more_behind && (is_called || changes_memory(node));
    more_behind |= regular[i];
    const LinearState::Step& step = steps[i];
    bool is_wanted = false;
    for (unsigned number : step.writes) is_wanted |= needed.erase(number) != 0;
    for (unsigned number : step.writes_carry) is_wanted |= needed_carries.erase(number) != 0;
    is_wanted |= needed_masks.erase(&node) != 0 && node.kind != NodeKind::scalar_alu;
    if (is_wanted) {
      plan.is_computed[i] = !regular[i];
      plan.linear_writes[i] = step.writes;
      needed.insert(step.reads.begin(), step.reads.end());
      needed_carries.insert(step.reads_carry.begin(), step.reads_carry.end());
      if (step.reads_mask) {
        needed_masks.insert(step.reads_mask);
        plan.chooses_by[i] = static_cast<unsigned>(step.reads_mask - routine.nodes.data());
      }
    }
    if (!regular[i]) continue;
    const isa::Operand& address = *node.instruction.find(Role::addr);
    const isa::Operand* base = node.instruction.find(Role::saddr);
    needed.insert(address.vgpr());
    if (!base || base->code == isa::code::kNull) needed.insert(address.vgpr() + 1);
  }
  for (unsigned number : needed) plan.roots[number] = facts.blocks[index].strides.at(number);
  return plan;
}

// A loop of one block: its roots are wanted at its end, too. What it needs for these may need others.
AddressPlan plan_round(const Routine& routine, const Facts& facts, unsigned index, AddressPlan plan,
                       Strides wanted) {
  constexpr unsigned kMostTries = 3;
  const Block& block = routine.blocks[index];
  if (block.taken != static_cast<int>(index) || plan.is_empty() || plan.roots_in_all_lanes) return plan;
  const std::set<unsigned> kept(plan.kept.begin(), plan.kept.end());
  wanted.insert(plan.roots.begin(), plan.roots.end());
  for (unsigned tries = 0; tries < kMostTries; ++tries) {
    AddressPlan round = plan_block(routine, facts, index, wanted);
    if (round.is_empty()) return plan;
    const auto is_left = [&](const auto& root) {
      return std::ranges::count(round.kept, root.first) != 0 && wanted.at(root.first) == root.second;
    };
    if (std::ranges::all_of(round.roots, is_left)) {
      round.is_round = true;
      std::erase_if(round.kept, [&](unsigned number) { return !kept.contains(number); });
      return round;
    }
    const size_t before = wanted.size();
    wanted.insert(round.roots.begin(), round.roots.end());
    if (wanted.size() == before) break;
  }
  return plan;
}

// Whether the block is in a loop that ends before the other one.
bool is_in_loop_before(const Routine& routine, unsigned index, unsigned other) {
  return std::any_of(routine.blocks.begin() + index, routine.blocks.begin() + other, [&](const Block& last) {
    return last.taken >= 0 && last.taken <= static_cast<int>(index);
  });
}

// Where waves come to a block from. A round takes over what the one before leaves by itself.
std::vector<unsigned> blocks_before(const Routine& routine, const AddressPlan& plan, unsigned index) {
  std::vector<unsigned> before = routine.blocks[index].predecessors;
  if (plan.is_round) std::erase(before, index);
  return before;
}

// Whether what blocks find out counts in that one: all that waves come from is emitted before it. Where there
// are several, or lanes come on, loops do not have to keep in each round what is of use behind them.
bool takes_over(const Routine& routine, const AddressPlan& plan, unsigned index) {
  const std::vector<unsigned> before = blocks_before(routine, plan, index);
  if ((routine.blocks[index].is_entry && !plan.is_round) || before.empty()) return false;
  if (!std::ranges::all_of(before, [&](unsigned each) { return each < index; })) return false;
  if (before.size() == 1 && !plan.roots_in_all_lanes) return true;
  return std::ranges::none_of(before, [&](unsigned each) { return is_in_loop_before(routine, each, index); });
}

// As a scalar, in all lanes: what lanes that are off hold then is nobody's business.
bool is_written(const AddressPlan& plan, unsigned number) {
  return std::ranges::any_of(plan.linear_writes,
                             [&](const auto& writes) { return std::ranges::count(writes, number) != 0; });
}

// From the last block on: roots are wanted of those before it, but `unknown` ones.
// Between the rounds of `exchange_loops` lanes exchange with registers that are where others find them.
std::vector<AddressPlan> plan_backward(const Routine& routine, const Facts& facts, bool keeps,
                                       const std::map<unsigned, ExchangeLoop>& exchange_loops,
                                       const std::vector<RegisterSet>& unknown) {
  std::vector<AddressPlan> plans(routine.blocks.size());
  std::vector<Strides> wanted(routine.blocks.size());
  for (unsigned index = static_cast<unsigned>(plans.size()); index-- > 0;) {
    AddressPlan& plan = plans[index];
    plan = plan_block(routine, facts, index, wanted[index]);
    if (!exchange_loops.contains(index))
      plan = plan_round(routine, facts, index, std::move(plan), std::move(wanted[index]));
    if (!keeps || !takes_over(routine, plan, index)) continue;
    for (const auto& root : plan.roots)
      for (const unsigned before : blocks_before(routine, plan, index))
        if (!unknown[index][root.first]) wanted[before].insert(root);
  }
  return plans;
}

// From the first block on: known is what all those before it have from the same one.
void find_known(const Routine& routine, const Facts& facts, std::vector<AddressPlan>& plans) {
  // By block and register that it keeps: which one has found out, and whether of all lanes.
  std::vector<std::map<unsigned, unsigned>> origins(plans.size());
  std::vector<RegisterSet> in_all_lanes(plans.size());
  for (unsigned index = 0; index < plans.size(); ++index) {
    AddressPlan& plan = plans[index];
    const std::vector<unsigned> before = blocks_before(routine, plan, index);
    const bool takes_known = takes_over(routine, plan, index),
               all_on = facts.nodes[routine.blocks[index].first].all_on;
    const bool wants_all_lanes = plan.roots_in_all_lanes || (plan.is_round && all_on);
    for (const auto& [number, stride] : plan.roots) {
      if (!takes_known) break;
      const auto origin = origins[before[0]].find(number);
      if (origin == origins[before[0]].end()) continue;
      // Else what is kept holds for lanes that are on.
      if (wants_all_lanes && !in_all_lanes[origin->second][number]) continue;
      const auto is_same = [&](unsigned each) {
        const auto found = origins[each].find(number);
        return found != origins[each].end() && found->second == origin->second;
      };
      if (std::ranges::all_of(before, is_same)) plan.known.insert(*origin);
    }
    // The first round looks at all or none.
    if (plan.is_round && plan.known.size() != plan.roots.size()) plan.known.clear();
    const bool is_tested_in_all_lanes = plan.roots_in_all_lanes || all_on;
    for (unsigned number : plan.kept) {
      const auto known = plan.known.find(number);
      const bool is_computed = is_written(plan, number);
      // A round may have looked by itself.
      const bool is_found = is_computed || plan.is_round || known == plan.known.end();
      origins[index][number] = is_found ? index : known->second;
      if (is_found) plan.found.push_back(number);
      in_all_lanes[index][number] = is_computed || is_tested_in_all_lanes;
    }
  }
}

}  // namespace

std::vector<AddressPlan> plan_addresses(const Routine& routine, const Facts& facts, bool keeps) {
  // By block and number: roots that not all blocks before it could keep, or not the same way. None keeps
  // them.
  std::vector<RegisterSet> unknown(routine.blocks.size());
  const std::map<unsigned, ExchangeLoop> exchange_loops = find_exchange_loops(routine, facts);
  while (true) {
    std::vector<AddressPlan> plans = plan_backward(routine, facts, keeps, exchange_loops, unknown);
    if (!keeps) return plans;
    find_known(routine, facts, plans);
    bool is_done = true;
    for (unsigned index = 0; index < plans.size(); ++index) {
      if (!takes_over(routine, plans[index], index)) continue;
      for (const auto& [number, stride] : plans[index].roots) {
        if (plans[index].known.contains(number) || unknown[index][number]) continue;
        unknown[index].set(number);
        is_done = false;
      }
    }
    if (is_done) return plans;
  }
}

}  // namespace lockstep::translator
