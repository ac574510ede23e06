#include "engine/translator/address_plan.h"

#include <algorithm>

#include "engine/translator/linear.h"
#include "engine/translator/operands.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::AccessShape;
using isa::Role;

// What is emitted twice is short: so many instructions for each access that gains by it, and so many more.
constexpr unsigned kNodesForAccess = 40, kSmallBlock = 64;

bool changes_memory(const Node& node) {
  switch (node.kind) {
    case NodeKind::atomic:
    case NodeKind::call:
      return true;
    case NodeKind::global:
    case NodeKind::scratch:
    case NodeKind::lds:
      return isa::access_shape(node.instruction.row->opcode).kind != AccessShape::Kind::load;
    default:
      return false;
  }
}

// Lanes that lie side by side, or loads of one place.
bool is_regular_access(const Node& node, const Strides& strides, bool has_masked_bytes) {
  if (node.kind != NodeKind::global) return false;
  const AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  if (shape.part != isa::RegisterPart::whole || (shape.bytes < 4 && !has_masked_bytes)) return false;
  const isa::Operand& address = *node.instruction.find(Role::addr);
  const isa::Operand* base = node.instruction.find(Role::saddr);
  const auto low = strides.find(address.vgpr());
  if (low == strides.end()) return false;
  if (!base || base->code == isa::code::kNull) {
    const auto high = strides.find(address.vgpr() + 1);
    if (high == strides.end() || high->second != 0) return false;
  }
  return low->second == shape.bytes || (low->second == 0 && shape.kind == AccessShape::Kind::load);
}

}  // namespace

LinearState::Step LinearState::step(const Node& node, const RegisterSet& merged) {
  Step result;
  const Effects effects = effects_of(node, wave_size_, vgpr_count_);
  std::map<unsigned, uint32_t> written;
  if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
    LinearMath math(nullptr);
    for (const Half& half : halves_of(node.instruction)) {
      const auto sources = [&](const isa::Operand& operand, unsigned word) -> std::optional<Linear> {
        const auto source = source_of(operand, node.instruction);
        if (!source) return std::nullopt;
        Linear linear;
        if (source->is_constant) {
          linear.constant = static_cast<uint32_t>(source->value >> (32 * word));
        } else if (is_vgpr(source->first)) {
          const auto found = strides.find(source->first + word);
          if (found == strides.end()) return std::nullopt;
          result.reads.push_back(source->first + word);
          linear.stride = found->second;
        }
        return linear;
      };
      const auto carries = [&](const isa::Operand& operand, llvm::Value*&) {
        const auto source = source_of(operand, node.instruction);
        if (!source || source->is_constant || !carries_.contains(source->first)) return false;
        result.reads_carry.push_back(source->first);
        return true;
      };
      const LinearResult made = math.result_of(node.instruction, half, sources, carries);
      for (unsigned i = half.first; i < half.last; ++i) {
        const isa::Operand& operand = node.instruction.operands[i];
        if (operand.role == Role::dst && operand.is_vgpr()) {
          for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word)
            if (made.words[word] && !merged[operand.vgpr() + word])
              written[operand.vgpr() + word] = made.words[word]->stride;
        } else if (operand.role == Role::dst2 && made.has_carry) {
          if (const auto number = scalar_destination(operand)) result.writes_carry.push_back(*number);
        }
      }
    }
  }
  const RegisterSet changed = effects.writes | effects.reloaded;
  std::erase_if(strides, [&](const auto& each) { return changed[each.first]; });
  std::erase_if(carries_, [&](unsigned number) { return changed[number]; });
  // What may execute anything leaves nothing known.
  if (node.kind == NodeKind::step || node.kind == NodeKind::outside) {
    strides.clear();
    carries_.clear();
  }
  for (const auto& [number, stride] : written) {
    strides[number] = stride;
    result.writes.push_back(number);
  }
  carries_.insert(result.writes_carry.begin(), result.writes_carry.end());
  return result;
}

AddressPlan plan_addresses(const Routine& routine, const Facts& facts, unsigned index,
                           bool has_masked_bytes) {
  const Block& block = routine.blocks[index];
  const unsigned count = block.last - block.first;
  LinearState state(routine.wave_size, routine.vgpr_count);
  state.strides = facts.blocks[index].strides;
  std::vector<LinearState::Step> steps;
  std::vector<bool> regular(count);
  unsigned accesses = 0;
  AddressPlan plan;
  for (unsigned n = block.first; n < block.last; ++n) {
    const Node& node = routine.nodes[n];
    regular[n - block.first] = is_regular_access(node, state.strides, has_masked_bytes);
    accesses += regular[n - block.first];
    const ExecChange change = facts.nodes[n].effects.exec;
    plan.roots_in_all_lanes |= change == ExecChange::grows || change == ExecChange::any;
    steps.push_back(state.step(node, facts.nodes[n].merged));
  }
  if (accesses == 0 || count > kSmallBlock + accesses * kNodesForAccess) return {};

  plan.is_regular = regular;
  plan.is_computed.resize(count);
  plan.is_cut.resize(count);
  std::set<unsigned> needed, needed_carries;
  bool more_behind = false;
  for (unsigned i = count; i-- > 0;) {
    const Node& node = routine.nodes[block.first + i];
    plan.is_cut[i] = more_behind && changes_memory(node);
    more_behind |= regular[i];
    const LinearState::Step& step = steps[i];
    bool is_wanted = false;
    for (unsigned number : step.writes) is_wanted |= needed.erase(number) != 0;
    for (unsigned number : step.writes_carry) is_wanted |= needed_carries.erase(number) != 0;
    if (is_wanted) {
      plan.is_computed[i] = true;
      needed.insert(step.reads.begin(), step.reads.end());
      needed_carries.insert(step.reads_carry.begin(), step.reads_carry.end());
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

}  // namespace lockstep::translator
