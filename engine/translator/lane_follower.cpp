#include "engine/translator/lane_follower.h"

#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

using Known = LaneFollower::Known;
constexpr Known kInside = 1;  // no other lanes than those of the begin
constexpr Known kEqual = 2;   // these lanes
constexpr Known kCovers = 4;  // together with EXEC all of them, and maybe others
constexpr unsigned kHalfBits = 3;

constexpr Known of_both(Known each) {
  return static_cast<Known>(each | each << kHalfBits);
}
// `flag`, for each half for which `value` has it; as another flag.
constexpr Known where(Known value, Known flag, Known then) {
  Known result = 0;
  for (const unsigned shift : {0u, kHalfBits})
    if (value >> shift & flag) result |= static_cast<Known>(then << shift);
  return result;
}

Known either(Known a, Known b) {  // a | b
  const Known inside = a & b & of_both(kInside), covers = (a | b) & of_both(kCovers);
  const Known equal = (a | b) & of_both(kEqual) & where(inside, kInside, kEqual);
  return inside | covers | equal;
}
Known both(Known a, Known b) {  // a & b
  return ((a | b) & of_both(kInside)) | (a & b & of_both(kEqual | kCovers));
}
Known difference(Known a, Known b) {  // a ^ b
  return a & b & of_both(kInside);
}
Known without(Known a) {  // a & ~b
  return a & of_both(kInside);
}

}  // namespace

bool LaneFollower::State::join(const State& other) {
  if (!reached) {
    *this = other;
    return true;
  }
  bool changed = false;
  for (unsigned i = 0; i < registers.size(); ++i) {
    const Known known = registers[i] & other.registers[i];
    changed |= known != registers[i];
    registers[i] = known;
  }
  return changed;
}

LaneFollower::State LaneFollower::at_begin() const {
  State state;
  state.reached = true;
  for (unsigned word = 0; word < words_; ++word)
    state.at(kExec + word) = static_cast<Known>((kInside | kEqual) << word * kHalfBits);
  complete(state);
  return state;
}

bool LaneFollower::all_on(const State& state) const {
  for (unsigned word = 0; word < words_; ++word)
    if (!(state.at(kExec + word) >> word * kHalfBits & kEqual)) return false;
  return true;
}

bool LaneFollower::is_inside(const State& state) const {
  for (unsigned word = 0; word < words_; ++word)
    if (!(state.at(kExec + word) >> word * kHalfBits & kInside)) return false;
  return true;
}

void LaneFollower::step(const Node& node, const Effects& effects, State& state) const {
  const State before = state;
  RegisterSet changed = effects.writes | effects.reloaded;
  // What it writes counts as read.
  if (node.kind == NodeKind::step) changed |= effects.reads;
  for (unsigned r = kFirstScalar; r < kRegisters; ++r)
    if (changed[r]) state.at(r) = 0;
  if (!writes_exec(effects))
    for (unsigned word = 0; word < words_; ++word)
      state.at(kExec + word) = effects.exec == ExecChange::none ? before.at(kExec + word) : Known{0};
  if (node.kind == NodeKind::scalar_alu) step_scalar(node.instruction, before, state);
  if (node.kind == NodeKind::vector_alu) step_compare(node, effects, before, state);
  complete(state);
}

// What is so because of what EXEC is.
void LaneFollower::complete(State& state) const {
  for (unsigned word = 0; word < words_; ++word) {
    const unsigned shift = word * kHalfBits;
    if (!(state.at(kExec + word) >> shift & kEqual)) continue;
    for (Known& known : state.registers) known |= static_cast<Known>(kCovers << shift);
  }
}

// A change of EXEC leaves what covers by itself; `also`: a register that together with EXEC has the lanes
// that it had before.
void LaneFollower::set_exec(unsigned word, Known value, const State& before, std::optional<unsigned> also,
                            State& state) const {
  const Known covers = static_cast<Known>(kCovers << word * kHalfBits);
  for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
    Known& known = state.at(r);
    if (known >> word * kHalfBits & kEqual)
      known |= covers;
    else
      known &= static_cast<Known>(~covers);
  }
  if (also && *also != kExec + word) state.at(*also) |= before.at(*also) & covers;
  state.at(kExec + word) = value & static_cast<Known>(~of_both(kCovers));
}

// Lanes that are off have no bits in what vector instructions compare.
void LaneFollower::step_compare(const Node& node, const Effects& effects, const State& before,
                                State& state) const {
  if (writes_exec(effects)) {
    for (unsigned word = 0; word < words_; ++word)
      set_exec(word, without(before.at(kExec + word)), before, std::nullopt, state);
    return;
  }
  const isa::Operand* mask = node.instruction.find(Role::dst);
  if (!mask || mask->is_vgpr() || mask->type != isa::Type::mask || node.instruction.dpp != isa::Dpp::none)
    return;
  const auto destination = scalar_destination(*mask);
  for (unsigned word = 0; destination && word < words_; ++word)
    state.at(*destination + word) = without(before.at(kExec + word));
}

void LaneFollower::step_scalar(const isa::Instruction& instruction, const State& before, State& state) const {
  const isa::Operand* to = instruction.find(Role::dst);
  const auto destination = to ? scalar_destination(*to) : std::nullopt;
  if (!destination) return lose_exec(instruction, before, state);
  const isa::Operand *first = instruction.find(Role::src0), *second = instruction.find(Role::src1);
  for (unsigned word = 0; word < to->words; ++word) {
    const unsigned result = *destination + word, exec = kExec + word;
    const auto source = [&](const isa::Operand* operand) -> std::optional<Source> {
      auto from = source_of(*operand, instruction);
      if (from && from->is_constant) from->value = from->value >> 32 * word & 0xffffffff;
      if (from && !from->is_constant) from->first += word;
      return from;
    };
    const auto known = [&](const isa::Operand* operand) -> Known {
      const auto from = source(operand);
      if (!from) return 0;
      if (!from->is_constant) return before.at(from->first);
      if (from->value == 0) return of_both(kInside);
      return from->value == 0xffffffff ? of_both(kCovers) : 0;
    };
    const auto is_exec = [&](const isa::Operand* operand) {
      const auto from = source(operand);
      return from && !from->is_constant && from->first == exec;
    };
    const auto number = [&](const isa::Operand* operand) -> std::optional<unsigned> {
      const auto from = source(operand);
      if (!from || from->is_constant) return std::nullopt;
      return from->first;
    };
    const Known on = before.at(exec);
    // What covers the lanes that this word of EXEC leaves out.
    const auto covers = [&](const isa::Operand* operand) -> Known {
      return known(operand) & static_cast<Known>(kCovers << word * kHalfBits);
    };
    const auto write = [&](Known value, std::optional<unsigned> also = std::nullopt) {
      if (result == exec)
        set_exec(word, value, before, also, state);
      else
        state.at(result) = value;
    };
    // What was EXEC is there, and EXEC is another.
    const auto save = [&](Known value, std::optional<unsigned> also = std::nullopt) {
      if (result == exec) return set_exec(word, 0, before, std::nullopt, state);
      state.at(result) = on;
      set_exec(word, value, before, also == result ? std::nullopt : also, state);
    };
    switch (instruction.row->base) {
      case Opcode::s_mov_b32:
      case Opcode::s_mov_b64:
        write(known(first));
        break;
      case Opcode::s_cselect_b32:
      case Opcode::s_cselect_b64:
        write(known(first) & known(second));
        break;
      case Opcode::s_or_b32:
      case Opcode::s_or_b64: {
        Known value = either(known(first), known(second));
        // EXEC and what covers the rest of it.
        for (const bool exec_is_first : {true, false})
          if (is_exec(exec_is_first ? first : second))
            value |= where(value, kInside, kEqual) &
                     where(covers(exec_is_first ? second : first), kCovers, kEqual);
        write(value);
        break;
      }
      case Opcode::s_and_b32:
      case Opcode::s_and_b64:
        write(both(known(first), known(second)));
        break;
      case Opcode::s_and_not1_b32:
      case Opcode::s_and_not1_b64:
        // EXEC without these lanes, and they, are as many as before.
        write(without(known(first)), is_exec(first) ? number(second) : std::nullopt);
        break;
      case Opcode::s_xor_b32:
      case Opcode::s_xor_b64: {
        Known value = difference(known(first), known(second));
        std::optional<unsigned> also;
        for (const bool exec_is_first : {true, false}) {
          const isa::Operand* other = exec_is_first ? second : first;
          if (!is_exec(exec_is_first ? first : second)) continue;
          value |= covers(other);
          also = number(other);
        }
        write(value, also);
        break;
      }
      case Opcode::s_and_saveexec_b32:
      case Opcode::s_and_saveexec_b64:
        save(both(known(first), on));
        break;
      case Opcode::s_or_saveexec_b32:
      case Opcode::s_or_saveexec_b64: {
        Known value = either(known(first), on);
        value |= where(value, kInside, kEqual) & where(covers(first), kCovers, kEqual);
        save(value);
        break;
      }
      case Opcode::s_and_not0_saveexec_b32:
      case Opcode::s_and_not0_saveexec_b64:
        save(without(on), number(first));
        break;
      case Opcode::s_and_not1_saveexec_b32:
      case Opcode::s_and_not1_saveexec_b64:
        save(without(known(first)));
        break;
      default:
        write(0);
        if (instruction.row->implicit_writes & isa::kExec) set_exec(word, 0, before, std::nullopt, state);
        break;
    }
  }
}

void LaneFollower::lose_exec(const isa::Instruction& instruction, const State& before, State& state) const {
  if (!(instruction.row->implicit_writes & isa::kExec)) return;
  for (unsigned word = 0; word < words_; ++word) set_exec(word, 0, before, std::nullopt, state);
}

}  // namespace lockstep::translator
