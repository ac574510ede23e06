#include "engine/translator/walk_plan.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/effects.h"
#include "engine/translator/operands.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

// Each brings some 600 host instructions and sixteen rows of lanes on the stack.
constexpr size_t kMostWalks = 6;

// Whether the block is a loop by itself, whose lanes turn off and never on, and that changes nothing in
// memory but by this node.
bool is_quiet_loop(const Routine& routine, unsigned index, std::optional<unsigned> store = {}) {
  const Block& block = routine.blocks[index];
  if (block.taken != static_cast<int>(index)) return false;
  return std::all_of(
      routine.nodes.begin() + block.first, routine.nodes.begin() + block.last, [&](const Node& node) {
        switch (node.kind) {
          case NodeKind::nothing:
            // Among these is what invalidates caches.
            return node.instruction.row->encoding != isa::Encoding::mubuf;
          case NodeKind::global:
            return global_operands(node.instruction).is_load() || (store && &node == &routine.nodes[*store]);
          case NodeKind::scalar_alu:
          case NodeKind::vector_alu:
          case NodeKind::dual:
          case NodeKind::scalar_load:
          case NodeKind::lds:
          case NodeKind::branch:
            break;
          default:
            return false;
        }
        return !turns_lanes_on(effects_of(node, routine.wave_size, routine.vgpr_count).exec);
      });
}

// Of a loop that is one block: what its instructions do to a register from round to round.
class Steps {
 public:
  Steps(const Routine& routine, const Block& block) : routine_(routine), block_(block) {}

  bool is_written(unsigned number) const {
    for (unsigned n = block_.first; n < block_.last; ++n)
      if (writes(n)[number]) return true;
    return false;
  }
  // The instruction that adds this to the register, if no other writes it.
  std::optional<unsigned> addition(unsigned number, uint32_t step,
                                   std::initializer_list<isa::Opcode> opcodes) const {
    std::optional<unsigned> found;
    for (unsigned n = block_.first; n < block_.last; ++n) {
      if (!writes(n)[number]) continue;
      if (found) return std::nullopt;
      const isa::Instruction& instruction = routine_.nodes[n].instruction;
      for (const Half& half : halves_of(instruction))
        if (std::find(opcodes.begin(), opcodes.end(), half.row->base) != opcodes.end() &&
            adds(instruction, half, number, step))
          found = n;
      if (!found) return std::nullopt;
    }
    return found;
  }
  // The same of a pair of registers, whose halves are added by these instructions.
  bool adds_to_pair(unsigned low, uint32_t step, isa::Opcode add, isa::Opcode add_carry) const {
    const auto first = addition(low, step, {add}), second = addition(low + 1, 0, {add_carry});
    if (!first || !second || *second < *first) return false;
    RegisterSet carry = writes(*first);
    carry.reset(low);
    const Effects high = effects_of(routine_.nodes[*second], routine_.wave_size, routine_.vgpr_count);
    if (carry.none() || (carry & ~high.reads).any()) return false;
    for (unsigned n = *first + 1; n < *second; ++n)
      if ((writes(n) & carry).any()) return false;
    return true;
  }

 private:
  RegisterSet writes(unsigned node) const {
    return effects_of(routine_.nodes[node], routine_.wave_size, routine_.vgpr_count).writes;
  }
  static bool adds(const isa::Instruction& instruction, const Half& half, unsigned number, uint32_t step) {
    if (instruction.clamp || instruction.dpp != isa::Dpp::none) return false;
    bool writes = false, reads = false, counts = false;
    for (unsigned i = half.first; i < half.last; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      const std::optional<Source> source = source_of(operand, instruction);
      if (!source) return false;
      const bool is_register = !source->is_constant && source->first == number;
      if (operand.role == isa::Role::dst) writes = is_register;
      if (operand.role != isa::Role::src0 && operand.role != isa::Role::src1) continue;
      reads |= is_register;
      counts |= source->is_constant && static_cast<uint32_t>(source->value) == step;
    }
    return writes && reads && counts;
  }

  const Routine& routine_;
  const Block& block_;
};

// In a loop that is quiet.
bool steps_by_element(const Routine& routine, unsigned block, const GlobalOperands& operands) {
  using isa::Opcode;
  const Steps steps(routine, routine.blocks[block]);
  const unsigned address = operands.address.vgpr();
  const uint32_t bytes = operands.shape.bytes;
  if (!operands.base)
    return steps.adds_to_pair(address, bytes, Opcode::v_add_co_u32, Opcode::v_add_co_ci_u32);
  const unsigned base = scalar_register(operands.base->code);
  if (steps.is_written(address))
    return !steps.is_written(base) && !steps.is_written(base + 1) &&
           steps.addition(address, bytes, {Opcode::v_add_nc_u32, Opcode::v_add_co_u32});
  return steps.adds_to_pair(base, bytes, Opcode::s_add_u32, Opcode::s_addc_u32);
}

}  // namespace

std::vector<WalkingLoad> find_walks(const Routine& routine, unsigned piece) {
  return find_walks(routine, find_loop_accesses(routine, piece));
}

std::vector<WalkingLoad> find_walks(const Routine& routine, std::span<const LoopAccess> accesses) {
  std::vector<WalkingLoad> walks;
  for (const LoopAccess& access : accesses) {
    const isa::Instruction& instruction = routine.nodes[access.node].instruction;
    const GlobalOperands operands = global_operands(instruction);
    // What asks for a look past the caches gets one.
    const bool is_cached = !instruction.glc && !instruction.dlc;
    if (operands.is_load() && operands.shape.part == isa::RegisterPart::whole &&
        std::has_single_bit(operands.shape.bytes) && operands.shape.bytes <= 8 && is_cached && access.moves &&
        !access.is_loaded)
      walks.push_back(
          {access.node, access.block,
           is_quiet_loop(routine, access.block) && steps_by_element(routine, access.block, operands)});
  }
  const auto bytes_of = [&](const WalkingLoad& walk) {
    return isa::access_shape(routine.nodes[walk.node].instruction.row->opcode).bytes;
  };
  if (walks.size() > kMostWalks)
    std::erase_if(walks, [&](const WalkingLoad& walk) { return bytes_of(walk) < 4; });
  if (walks.size() > kMostWalks) walks.clear();
  return walks;
}

std::vector<WalkingStore> find_walking_stores(const Routine& routine, unsigned piece_index) {
  const Piece& piece = routine.pieces[piece_index];
  std::vector<WalkingStore> stores;
  for (unsigned b = piece.first; b < piece.last; ++b) {
    const Block& block = routine.blocks[b];
    if (block.taken != static_cast<int>(b)) continue;
    std::optional<unsigned> store;
    bool has_others = false;
    for (unsigned n = block.first; n < block.last; ++n) {
      const Node& node = routine.nodes[n];
      has_others |= node.kind == NodeKind::scalar_load;
      if (node.kind != NodeKind::global) continue;
      has_others |= node.instruction.row->encoding != isa::Encoding::global;
      if (global_operands(node.instruction).is_load()) continue;
      has_others |= store.has_value();
      store = n;
    }
    if (!store || has_others || !is_quiet_loop(routine, b, store)) continue;
    const isa::Instruction& instruction = routine.nodes[*store].instruction;
    const GlobalOperands operands = global_operands(instruction);
    const bool is_known_size = operands.shape.part == isa::RegisterPart::whole &&
                               (operands.shape.bytes == 4 || operands.shape.bytes == 8);
    if (!instruction.glc && !instruction.dlc && is_known_size && steps_by_element(routine, b, operands))
      stores.push_back({*store, b});
  }
  return stores;
}

}  // namespace lockstep::translator
