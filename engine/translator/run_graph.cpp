#include "engine/translator/run_graph.h"

#include <algorithm>

#include "engine/translator/classify.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;

namespace {

// Whether the instruction copies a mask of lanes from one place in the scalar registers to another one.
bool is_mask_move(const Node& node, unsigned wave_size) {
  if (node.kind != NodeKind::scalar_alu) return false;
  if (node.instruction.row->base != (wave_size == 32 ? Opcode::s_mov_b32 : Opcode::s_mov_b64)) return false;
  const auto source = source_of(*node.instruction.find(Role::src0), node.instruction);
  const auto destination = scalar_destination(*node.instruction.find(Role::dst));
  if (!source || source->is_constant || !destination) return false;
  const auto is_mask = [&](unsigned number) {
    return number >= kFirstScalar && number <= kVcc && number % (wave_size / 32) == 0;
  };
  return is_mask(source->first) && is_mask(*destination);
}

// The constant that the instruction moves to scalar registers.
std::optional<MovedNumber> number_moved_by(const Node& node) {
  const Opcode opcode = node.instruction.row->base;
  if (node.kind != NodeKind::scalar_alu || (opcode != Opcode::s_mov_b32 && opcode != Opcode::s_mov_b64))
    return std::nullopt;
  const auto source = source_of(*node.instruction.find(Role::src0), node.instruction);
  const auto destination = scalar_destination(*node.instruction.find(Role::dst));
  if (!source || !source->is_constant || !destination) return std::nullopt;
  return MovedNumber{*destination, source->value};
}

}  // namespace

bool is_difference_of_scalars(Opcode opcode) {
  return opcode == Opcode::s_sub_i32 || opcode == Opcode::s_sub_u32 || opcode == Opcode::s_subb_u32;
}

RunGraph::RunGraph(const Routine& routine, const Facts& facts, const std::vector<unsigned>& nodes)
    : routine_(routine), facts_(facts) {
  last_writer_.fill(Term::kBefore);
  for (unsigned node : nodes) add(node);
}

void RunGraph::add(unsigned index) {
  const Node& node = routine_.nodes[index];
  const Effects& effects = facts_.nodes[index].effects;
  const bool is_vector = node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual;
  const int first = static_cast<int>(operations_.size());
  if (is_vector) {
    for (const Half& half : halves_of(node.instruction)) {
      const unsigned number = static_cast<unsigned>(operations_.size()) - static_cast<unsigned>(first);
      operations_.push_back(operation_of(index, half));
      operations_.back().half = number;
    }
  } else {
    Operation& other = operations_.emplace_back();
    other.node = index;
    other.moved = number_moved_by(node);
    if (is_mask_move(node, routine_.wave_size)) {
      const isa::Operand& source = *node.instruction.find(Role::src0);
      other.mask_source = term(source, node.instruction);
      other.mask = scalar_destination(*node.instruction.find(Role::dst));
      other.is_plain = true;
    }
    if (node.kind == NodeKind::scalar_alu && is_difference_of_scalars(node.instruction.row->base))
      add_difference_of_scalars(other, node.instruction);
  }
  if (effects.exec != ExecChange::none) exec_changes_.push_back(first);
  // Both halves of a pair read before either writes.
  std::array<HalfEffects, 2> halves = {{{effects.reads, effects.writes}, {}}};
  if (node.kind == NodeKind::dual) halves = effects_of_halves(node.instruction);
  for (int half = 0; half < 2; ++half)
    for (unsigned r = 0; r < kRegisters; ++r)
      if (halves[static_cast<size_t>(half)].reads[r] && last_writer_[r] != Term::kBefore)
        users_[last_writer_[r]].insert(first + half);
  for (int half = 0; half < 2; ++half)
    for (unsigned r = 0; r < kRegisters; ++r)
      if (halves[static_cast<size_t>(half)].writes[r]) last_writer_[r] = first + half;
}

void RunGraph::add_difference_of_scalars(Operation& operation, const isa::Instruction& instruction) const {
  const auto destination = scalar_destination(*instruction.find(Role::dst));
  if (!destination) return;
  for (const Role role : {Role::src0, Role::src1}) {
    const isa::Operand& source = *instruction.find(role);
    if (!source_of(source, instruction)) return;
    operation.sources.push_back(term(source, instruction));
  }
  operation.opcode = instruction.row->base;
  operation.result = *destination;
  operation.result_words = 1;
  operation.is_plain = true;
  if (operation.opcode == Opcode::s_sub_i32) return;
  operation.mask = kScc;
  operation.mask_source.first = kScc;
  operation.mask_source.written_by[0] = last_writer_[kScc];
}

Term RunGraph::term(const isa::Operand& operand, const isa::Instruction& instruction) const {
  Term result;
  result.neg = operand.neg;
  const Source source = *source_of(operand, instruction);
  result.is_constant = source.is_constant;
  if (source.is_constant) {
    result.value = source.value;
    return result;
  }
  result.first = source.first;
  for (unsigned word = 0; word < std::min<unsigned>(operand.words, 2); ++word)
    result.written_by[word] = last_writer_[source.first + word];
  return result;
}

Operation RunGraph::operation_of(unsigned index, const Half& half) const {
  const Node& node = routine_.nodes[index];
  const isa::Instruction& instruction = node.instruction;
  Operation result;
  result.node = index;
  result.opcode = half.row->base;
  result.is_plain = node.float_mode == kDefaultFloatMode && instruction.dpp == isa::Dpp::none &&
                    !instruction.clamp && instruction.omod == 0;
  const isa::Operand *destination = nullptr, *named_mask = nullptr;
  for (unsigned i = half.first; i < half.last; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.role == Role::dst) {
      destination = &operand;
    } else if (operand.role == Role::dst2) {
      result.mask = scalar_destination(operand);
    } else if (operand.type == isa::Type::mask) {
      named_mask = &operand;
    } else {
      result.is_plain &= !operand.abs && source_of(operand, instruction).has_value();
      if (!result.is_plain) return result;
      result.sources.push_back(term(operand, instruction));
    }
  }
  if (destination && destination->is_vgpr()) {
    result.result = destination->vgpr();
    result.result_words = destination->words;
    if (destination->read) result.sources.push_back(term(*destination, instruction));
  } else if (destination && destination->type == isa::Type::mask) {
    result.mask = scalar_destination(*destination);
  } else {
    result.is_plain = false;
    return result;
  }
  for (unsigned word = 0; word < routine_.wave_size / 32; ++word)
    result.mask_source.written_by[word] = last_writer_[kVcc + word];
  result.mask_source.first = kVcc;
  if (named_mask) {
    if (!source_of(*named_mask, instruction))
      result.is_plain = false;
    else
      result.mask_source = term(*named_mask, instruction);
  }
  return result;
}

const Operation* RunGraph::made_by(const Term& term, std::initializer_list<Opcode> opcodes,
                                   std::set<int>& steps) const {
  const int writer = term.written_by[0];
  if (term.is_constant || term.neg || writer == Term::kBefore) return nullptr;
  const Operation& result = operation(writer);
  const bool is_it = result.is_plain && result.result == term.first && result.result_words > 0 &&
                     std::ranges::find(opcodes, result.opcode) != opcodes.end();
  if (!is_it || (result.result_words == 2 && term.written_by[1] != writer)) return nullptr;
  steps.insert(writer);
  return &result;
}

const Operation* RunGraph::comparison(const Term& mask, std::set<int>& steps) const {
  const int writer = mask.written_by[0];
  if (writer == Term::kBefore || (routine_.wave_size == 64 && mask.written_by[1] != writer)) return nullptr;
  const Operation& made = operation(writer);
  if (!made.is_plain || made.mask != mask.first || made.result_words > 0) return nullptr;
  steps.insert(writer);
  return &made;
}

bool RunGraph::is_number(const Term& term, uint64_t number, unsigned words) const {
  if (term.is_constant || term.neg) return term.is_number(number);
  for (unsigned word = 0; word < words; ++word) {
    const int writer = term.written_by[word];
    const std::optional<MovedNumber> moved = writer == Term::kBefore ? std::nullopt : operation(writer).moved;
    if (!moved) return false;
    const unsigned place = 32 * (term.first + word - moved->first);
    if (static_cast<uint32_t>(moved->value >> place) != static_cast<uint32_t>(number >> 32 * word))
      return false;
  }
  return true;
}

bool RunGraph::changes_lanes(int first, int last) const {
  return std::ranges::any_of(exec_changes_, [&](int change) { return change >= first && change <= last; });
}

const std::set<int>& RunGraph::users(int operation) const {
  static const std::set<int> none;
  const auto used = users_.find(operation);
  return used == users_.end() ? none : used->second;
}

bool RunGraph::is_left_in(const RegisterSet& registers, int operation) const {
  for (unsigned r = 0; r < kRegisters; ++r)
    if (registers[r] && last_writer_[r] == operation) return true;
  return false;
}

}  // namespace lockstep::translator
