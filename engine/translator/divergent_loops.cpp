#include "engine/translator/divergent_loops.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/lane_loops.h"
#include "engine/translator/loop_parts.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"
#include "engine/translator/quotients.h"
#include "isa/effects.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr unsigned kMostNodes = kMaxLoopSize, kMostBlocks = 16, kMostMasks = 6;
constexpr size_t kMostStates = 2000;  // of one loop
constexpr uint8_t kNoOrigin = 0xff;

// What a scalar register is to one lane.
enum class Bit : uint8_t { none, zero, one, any };
struct Scalar {
  Bit bit = Bit::none;         // of a mask: the lane's
  bool is_number = false;      // that the wave has there, too
  uint8_t origin = kNoOrigin;  // it is what this register (from kFirstScalar on) was at the loop's begin
  auto operator<=>(const Scalar&) const = default;
};
// By number of the register among those that the loop touches.
using State = std::vector<Scalar>;

Bit bit_of(bool value) {
  return value ? Bit::one : Bit::zero;
}

// Follows one lane through a loop, with all that its masks may be, and the wave through the branches that the
// lane does not take.
class Candidate {
 public:
  Candidate(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks, unsigned header)
      : routine_(routine), facts_(facts), blocks_(blocks), header_(header) {}

  std::optional<DivergentLoop> loop() {
    if (!has_shape()) return std::nullopt;
    find_registers();
    while (!follows_lanes()) {
      if (!std::exchange(found_mask_, false)) return std::nullopt;
      if (loop_.masks_at_begin.count() > kMostMasks) return std::nullopt;
    }
    for (const auto& [place, bits] : seen_at_begin_)
      if (bits == Bit::zero || bits == Bit::one) loop_.bits_at_begin[place] = bits == Bit::one;
    for (const auto& [place, bits] : seen_behind_)
      if (bits == Bit::zero || bits == Bit::one) loop_.bits_behind[place] = bits == Bit::one;
    return loop_;
  }

 private:
  const Effects& effects(unsigned node) const { return facts_.nodes[node].effects; }
  const Block& block(unsigned index) const { return routine_.blocks[index]; }
  bool is_inside(int index) const { return index >= 0 && blocks_.contains(static_cast<unsigned>(index)); }

  bool has_shape() {
    std::optional<unsigned> exit;
    unsigned nodes = 0;
    bool diverges = false;
    loop_.blocks = {header_};
    for (unsigned b : blocks_) {
      if (b != header_) loop_.blocks.push_back(b);
      if (block(b).piece != block(header_).piece) return false;
      nodes += block(b).last - block(b).first;
      for (int to : {block(b).taken, block(b).next}) {
        if (to < 0 || is_inside(to)) continue;
        if (exit && *exit != static_cast<unsigned>(to)) return false;
        exit = static_cast<unsigned>(to);
      }
      for (unsigned n = block(b).first; n < block(b).last; ++n) {
        if (!is_allowed(n, n + 1 == block(b).last)) return false;
        diverges |= routine_.nodes[n].kind == NodeKind::branch &&
                    is_on_exec(routine_.nodes[n].instruction.row->opcode);
      }
      count_cost(b);
    }
    find_blocks_without_branch();
    if (!exit || !diverges || nodes > kMostNodes || blocks_.size() > kMostBlocks) return false;
    loop_.exit = *exit;
    return true;
  }

  // What is skipped by a branch on EXEC, writes nothing but VGPRs, and needs no look at what it makes.
  void find_blocks_without_branch() {
    constexpr unsigned kMostInstructions = 4;
    for (unsigned b : blocks_) {
      const Node& last = routine_.nodes[block(b).last - 1];
      if (last.kind != NodeKind::branch || last.instruction.row->opcode != Opcode::s_cbranch_execz) continue;
      const int skipped = block(b).next, join = block(b).taken;
      if (!is_inside(skipped) || !is_inside(join) || join == static_cast<int>(header_)) continue;
      const auto index = static_cast<unsigned>(skipped);
      const Block& short_one = block(index);
      if (short_one.predecessors != std::vector{b} || short_one.is_entry) continue;
      if ((short_one.taken < 0 ? short_one.next : short_one.taken) != join) continue;
      unsigned instructions = 0;
      bool is_short = true;
      for (unsigned n = short_one.first; n < short_one.last; ++n) {
        const Node& node = routine_.nodes[n];
        if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
          ++instructions;
          is_short &= scalars_written(n).none();
          for (const Half& half : halves_of(node.instruction))
            is_short &= !vector_signature(half.row->base).takes_mode;
        } else if (node.kind == NodeKind::branch) {
          is_short &= node.instruction.row->opcode == Opcode::s_branch;
        } else {
          is_short &= node.kind == NodeKind::nothing;
        }
      }
      if (is_short && instructions <= kMostInstructions) loop_.without_branch.insert(index);
    }
  }
  RegisterSet scalars_written(unsigned n) const {
    RegisterSet scalars = effects(n).writes;
    for (unsigned r = 0; r < kVgprs; ++r) scalars.reset(r);
    return scalars;
  }

  bool is_allowed(unsigned n, bool is_last) {
    const Node& node = routine_.nodes[n];
    const isa::Instruction& instruction = node.instruction;
    loop_.touched |= effects(n).reads | effects(n).writes;
    loop_.written |= effects(n).writes;
    switch (node.kind) {
      case NodeKind::scratch:
        return note_scratch(n);
      case NodeKind::branch:
        return is_last && is_followed(instruction.row->opcode);
      default:
        if (node.kind == NodeKind::global) loop_.loads.push_back(n);
        return hides_order_of_lanes(node, effects(n));
    }
  }

  bool note_scratch(unsigned n) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const auto first = constant_scratch_offset(instruction);
    const isa::AccessShape shape = isa::access_shape(instruction.row->opcode);
    const bool is_load = shape.kind == isa::AccessShape::Kind::load;
    if (!first) {
      const isa::Operand* scalar_offset = instruction.find(Role::saddr);
      const bool has_base = scalar_offset && scalar_offset->code != isa::code::kNull;
      loop_.has_scratch_array = true;
      return shape.bytes >= 4 && !has_base && (is_load || !is_scratch_read_behind());
    }
    for (unsigned word = 0; word < shape.registers(); ++word) {
      if (facts_.nodes[n].unused_words >> word & 1) continue;
      if (!is_load && is_scratch_read_behind()) return false;
      loop_.scratch.insert(*first + 4 * word);
    }
    return true;
  }

  // By code that control comes to behind the loop.
  bool is_scratch_read_behind() {
    if (is_scratch_read_behind_) return *is_scratch_read_behind_;
    std::vector<unsigned> work;
    std::set<unsigned> known;
    const auto go_to = [&](int to) {
      if (to >= 0 && known.insert(static_cast<unsigned>(to)).second)
        work.push_back(static_cast<unsigned>(to));
    };
    for (unsigned b : blocks_)
      for (int to : {block(b).taken, block(b).next})
        if (!is_inside(to)) go_to(to);
    bool is_read = false;
    while (!work.empty()) {
      const unsigned b = work.back();
      work.pop_back();
      for (unsigned n = block(b).first; n < block(b).last; ++n) is_read |= reads_scratch(routine_.nodes[n]);
      go_to(block(b).taken);
      go_to(block(b).next);
    }
    return *(is_scratch_read_behind_ = is_read);
  }

  static bool is_on_exec(Opcode branch) {
    return branch == Opcode::s_cbranch_execz || branch == Opcode::s_cbranch_execnz;
  }
  static bool is_followed(Opcode branch) {
    return is_on_exec(branch) || branch == Opcode::s_branch || branch == Opcode::s_cbranch_scc0 ||
           branch == Opcode::s_cbranch_scc1;
  }

  // As counted in host code on AVX2. Of one lane elements that are chosen are memory at an index, and scratch
  // is values. Loads of several dwords and arrays in scratch were measured, by a ray's way through a tree of
  // boxes: what the wave gathers there waits for what it has scattered.
  void count_cost(unsigned b) {
    constexpr unsigned kBlock[2] = {12, 2}, kScalar[2] = {1, 0}, kLoad[2] = {60, 7},
                       kMoreOfLoad[2] = {110, 1}, kVector[2] = {6, 1}, kWide[2] = {30, 2},
                       kScratch[2] = {8, 0}, kArray[2] = {1500, 3}, kChoice[2] = {6, 0};
    const auto add = [&](const unsigned(&cost)[2], unsigned times = 1) {
      loop_.wave_cost += cost[0] * times;
      loop_.lane_cost += cost[1] * times;
    };
    const auto add_moves = [&](const unsigned(&cost)[2], unsigned times = 1) {
      loop_.wave_moves += cost[0] * times;
      loop_.lane_cost += cost[1] * times;
    };
    add(kBlock);
    for (unsigned n = block(b).first; n < block(b).last; ++n) {
      const Node& node = routine_.nodes[n];
      if (node.kind == NodeKind::scalar_alu) add(kScalar);
      const bool is_scratch = node.kind == NodeKind::scratch;
      if (node.kind == NodeKind::global || is_scratch) {
        const unsigned words = isa::access_shape(node.instruction.row->opcode).registers();
        if (!is_scratch) {
          add_moves(kLoad);
          add_moves(kMoreOfLoad, words - 1);
        } else if (constant_scratch_offset(node.instruction)) {
          add(kScratch, words);
        } else {
          add_moves(kArray, words);
        }
      }
      if (node.kind != NodeKind::vector_alu && node.kind != NodeKind::dual) continue;
      for (const Half& half : halves_of(node.instruction)) {
        bool is_wide = false;
        for (unsigned i = half.first; i < half.last; ++i)
          is_wide |=
              node.instruction.operands[i].words == 2 && node.instruction.operands[i].type != isa::Type::mask;
        add(half.row->base == Opcode::v_cndmask_b32 ? kChoice : is_wide ? kWide : kVector);
      }
    }
  }

  void find_registers() {
    loop_.touched.set(kExec);
    loop_.written.set(kExec);
    number_of_.assign(kRegisters, 0);
    for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
      if (!loop_.touched[r]) continue;
      number_of_[r] = static_cast<unsigned>(registers_.size());
      registers_.push_back(r);
    }
  }
  Scalar& at(State& state, unsigned number) const { return state[number_of_[number]]; }
  bool is_on(State& state) const { return at(state, kExec).bit == Bit::one; }

  // All states that lanes may begin with.
  std::vector<State> first_states(bool is_on, const RegisterSet& masks) const {
    std::vector<State> states(1, State(registers_.size()));
    for (unsigned r : registers_) {
      const size_t count = states.size();
      if (r == kExec) {
        for (State& state : states) at(state, r).bit = bit_of(is_on);
      } else if (masks[r]) {
        for (size_t i = 0; i < count; ++i) {
          at(states[i], r).bit = Bit::zero;
          states.push_back(states[i]);
          at(states.back(), r).bit = Bit::one;
        }
      } else if (facts_.blocks[header_].live_in.on[r]) {
        for (State& state : states) at(state, r) = {Bit::none, true, static_cast<uint8_t>(r - kFirstScalar)};
      }
    }
    return states;
  }

  // What was taken for a number at the loop's begin is a mask: all begins anew.
  bool must_be_mask(const Scalar& value) {
    if (value.origin == kNoOrigin || kFirstScalar + value.origin == kScc) return false;
    loop_.masks_at_begin.set(kFirstScalar + value.origin);
    return found_mask_ = true;
  }

  // Behind the instruction. False if the loop is no candidate. Of masks that may be either both are tried
  // where they are combined.
  bool execute(unsigned n, State state, std::vector<State>& behind) {
    const Node& node = routine_.nodes[n];
    if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual || node.kind == NodeKind::global ||
        node.kind == NodeKind::scratch)
      return execute_vector(n, std::move(state), behind);
    if (node.kind == NodeKind::scalar_alu) return execute_scalar(n, std::move(state), behind);
    behind.push_back(std::move(state));
    return true;
  }

  bool execute_vector(unsigned n, State state, std::vector<State>& behind) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const bool on = is_on(state);
    if (on) {
      const RegisterSet numbers = numbers_read(instruction);
      for (unsigned r : registers_) {
        if (!effects(n).reads[r] || r == kExec) continue;
        const Scalar& value = at(state, r);
        if (numbers[r]) {
          if (!value.is_number) return false;
        } else if (value.bit == Bit::none) {
          must_be_mask(value);
          return false;
        }
      }
    }
    for (unsigned r : registers_)
      if (effects(n).writes[r] && r != kExec) at(state, r) = {on ? Bit::any : Bit::zero};
    if (effects(n).writes[kExec] && on) {
      behind.push_back(state);
      at(state, kExec).bit = Bit::zero;
    }
    behind.push_back(std::move(state));
    return true;
  }

  bool execute_scalar(unsigned n, State state, std::vector<State>& behind) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const Opcode opcode = instruction.row->opcode;
    if (const auto mask = mask_instruction(opcode, routine_.wave_size)) {
      bool is_of_masks =
          effects(n).writes[kExec] || effects(n).reads[kExec] || mask->operation == MaskOperation::move;
      for (unsigned r : registers_) is_of_masks |= effects(n).reads[r] && !at(state, r).is_number;
      if (is_of_masks) return combine_masks(n, *mask, std::move(state), behind);
    }
    bool is_number = !effects(n).writes[kExec];
    if (!is_number) return false;
    for (unsigned r : registers_) is_number &= !effects(n).reads[r] || at(state, r).is_number;
    // All lanes or none, which one says that is the same for all.
    const bool makes_mask = makes_alike_mask(instruction, routine_.wave_size);
    for (unsigned r : registers_)
      if (effects(n).writes[r]) at(state, r) = {is_number && makes_mask ? Bit::any : Bit::none, is_number};
    behind.push_back(std::move(state));
    return true;
  }

  bool combine_masks(unsigned n, const MaskInstruction& mask, State state, std::vector<State>& behind) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const isa::Operand* destination = instruction.find(Role::dst);
    const auto to = destination ? scalar_destination(*destination) : std::nullopt;
    if (!to) return false;
    for (unsigned r : registers_) {
      if (!effects(n).reads[r] || at(state, r).bit != Bit::any) continue;
      for (const Bit bit : {Bit::zero, Bit::one}) {
        State one = state;
        at(one, r).bit = bit;
        if (!combine_masks(n, mask, std::move(one), behind)) return false;
      }
      return true;
    }
    const auto value = [&](Role role) -> Scalar {
      const isa::Operand* operand = instruction.find(role);
      const auto source = operand ? source_of(*operand, instruction) : std::nullopt;
      if (!source) return {};
      if (!source->is_constant) return at(state, source->first);
      const auto word = static_cast<uint32_t>(source->value);
      return {word == 0 ? Bit::zero : word == ~0u ? Bit::one : Bit::none, true};
    };
    const bool moves = mask.operation == MaskOperation::move;
    const Scalar exec = at(state, kExec), first = value(Role::src0),
                 second = mask.saves_exec || moves ? exec : value(Role::src1);
    // Whatever a bit is that is not known, the result may be the same.
    bool may_be_zero = false, may_be_one = false;
    for (const bool a : {false, true})
      for (const bool b : {false, true}) {
        if ((first.bit != Bit::none && first.bit != bit_of(a)) ||
            (second.bit != Bit::none && second.bit != bit_of(b)))
          continue;
        (result_of(mask.operation, a, b) ? may_be_one : may_be_zero) = true;
      }
    const bool is_known = may_be_zero != may_be_one;
    const bool writes_exec = mask.saves_exec || *to == kExec;
    if (!is_known && (writes_exec || !moves)) {
      // What was taken for a number is a mask, or the result is nothing that a lane could read.
      for (unsigned r : registers_)
        if (effects(n).reads[r] && at(state, r).bit == Bit::none && must_be_mask(at(state, r))) return false;
      if (writes_exec) return false;
    }
    const Bit result = is_known ? bit_of(may_be_one) : Bit::none;
    if (effects(n).writes[kScc]) at(state, kScc) = {};
    if (mask.saves_exec) {
      at(state, *to) = {exec.bit};
      at(state, kExec) = {result};
    } else if (moves && !writes_exec) {
      at(state, *to) = first;
    } else {
      at(state, *to) = {result};
    }
    behind.push_back(std::move(state));
    return true;
  }

  // At a block's begin: what nobody reads is forgotten.
  void forget_dead(State& state, unsigned to) const {
    const LiveSets& live = facts_.blocks[to].live_in;
    for (unsigned r : registers_)
      if (r != kExec && !live.all()[r]) at(state, r) = {};
  }

  static void note(std::map<std::pair<unsigned, unsigned>, Bit>& seen, unsigned place, unsigned number,
                   const Scalar& value) {
    const Bit bit = value.is_number || value.bit == Bit::none ? Bit::any : value.bit;
    const auto [found, is_new] = seen.try_emplace({place, number}, bit);
    if (!is_new && found->second != bit) found->second = Bit::any;
  }

  // Of a lane that is off and that the wave takes through the block nothing is noted; it has to stay off.
  enum class LaneIs : uint8_t { off, there };
  bool execute_block(unsigned b, State state, std::vector<State>& behind, LaneIs is_lane) {
    behind = {std::move(state)};
    for (unsigned n = block(b).first; n < block(b).last; ++n) {
      std::vector<State> next;
      for (State& each : behind)
        if (!execute(n, std::move(each), next)) return false;
      behind = std::move(next);
      if (behind.size() > kMostStates) return false;
      if (is_lane == LaneIs::off) {
        for (State& each : behind)
          if (is_on(each)) return false;
        continue;
      }
      for (State& each : behind)
        for (unsigned r : registers_)
          if (effects(n).writes[r] && r != kScc) note(seen_behind_, n, r, at(each, r));
    }
    return true;
  }

  bool follows_lanes() {
    seen_at_begin_.clear();
    seen_behind_.clear();
    may_be_mask_ = may_be_number_ = RegisterSet().set();
    std::set<std::pair<unsigned, State>> known;
    std::vector<std::pair<unsigned, State>> work;
    bool leaves = false;
    const auto go_to = [&](int to, State state) {
      const auto target = static_cast<unsigned>(to);
      forget_dead(state, target);
      if (!is_inside(to)) {
        leaves = true;
        for (unsigned r : registers_) {
          if (at(state, r).bit == Bit::none) may_be_mask_.reset(r);
          if (!at(state, r).is_number) may_be_number_.reset(r);
        }
        return true;
      }
      if (known.emplace(target, state).second) work.emplace_back(target, std::move(state));
      return known.size() <= kMostStates;
    };
    for (State& state : first_states(true, loop_.masks_at_begin))
      if (!go_to(static_cast<int>(header_), std::move(state))) return false;
    while (!work.empty()) {
      auto [b, state] = std::move(work.back());
      work.pop_back();
      for (unsigned r : registers_)
        if (r != kScc) note(seen_at_begin_, b, r, at(state, r));
      std::vector<State> behind;
      if (!execute_block(b, std::move(state), behind, LaneIs::there)) return false;
      for (State& each : behind)
        if (!leaves_block(b, std::move(each), go_to)) return false;
    }
    return leaves && knows_what_is_needed() && lanes_that_are_off_stay();
  }

  template <class GoTo>
  bool leaves_block(unsigned b, State state, const GoTo& go_to) {
    const Node& last = routine_.nodes[block(b).last - 1];
    if (last.kind != NodeKind::branch || block(b).taken < 0) return go_to(block(b).next, std::move(state));
    switch (last.instruction.row->opcode) {
      case Opcode::s_cbranch_scc0:
      case Opcode::s_cbranch_scc1:
        return at(state, kScc).is_number && go_to(block(b).taken, state) &&
               go_to(block(b).next, std::move(state));
      case Opcode::s_cbranch_execz:
      case Opcode::s_cbranch_execnz: {
        const bool jumps_if_on = last.instruction.row->opcode == Opcode::s_cbranch_execnz;
        const int if_on = jumps_if_on ? block(b).taken : block(b).next,
                  if_off = jumps_if_on ? block(b).next : block(b).taken;
        if (is_on(state)) return go_to(if_on, std::move(state));
        if (!goes_on_without(if_on, if_off, state)) return false;
        const bool is_short = is_inside(if_on) && loop_.without_branch.contains(static_cast<unsigned>(if_on));
        return go_to(is_short ? if_on : if_off, std::move(state));
      }
      default:
        return go_to(block(b).taken, std::move(state));
    }
  }

  // The wave's other lanes go from `from` to `join`. What they may leave there of this lane, which is off, is
  // no longer known in `state`.
  bool goes_on_without(int from, int join, State& state) {
    std::set<std::pair<unsigned, State>> known;
    std::vector<std::pair<unsigned, State>> work;
    RegisterSet written, differs;
    const State before = state;
    const auto go_to = [&](int to, State there) {
      if (to == join) {
        for (unsigned r : registers_)
          if (at(there, r).bit != before[number_of_[r]].bit || at(there, r).bit == Bit::any) differs.set(r);
        return true;
      }
      // Rounds of lanes are those of the wave.
      if (!is_inside(to) || (to == static_cast<int>(header_) && is_inside(join))) return false;
      forget_dead(there, static_cast<unsigned>(to));
      if (known.emplace(to, there).second) work.emplace_back(to, std::move(there));
      return known.size() <= kMostStates;
    };
    if (!go_to(from, state)) return false;
    while (!work.empty()) {
      auto [b, there] = std::move(work.back());
      work.pop_back();
      for (unsigned n = block(b).first; n < block(b).last; ++n) written |= effects(n).writes;
      std::vector<State> behind;
      if (!execute_block(b, std::move(there), behind, LaneIs::off)) return false;
      for (const State& each : behind)
        for (int to : {block(b).taken, block(b).next})
          if (to >= 0 && !go_to(to, each)) return false;
    }
    for (unsigned r : registers_) {
      if (r == kExec || !written[r]) continue;
      Scalar& value = at(state, r);
      value.is_number = false;
      value.origin = kNoOrigin;
      if (differs[r]) value.bit = Bit::none;
    }
    return true;
  }

  bool knows_what_is_needed() {
    loop_.masks_at_end.reset();
    loop_.numbers_at_end.reset();
    const RegisterSet needed = facts_.blocks[loop_.exit].live_in.all();
    for (unsigned r : registers_) {
      if (!loop_.written[r] || (r != kExec && !needed[r])) continue;
      if (may_be_number_[r])
        loop_.numbers_at_end.set(r);
      else if (may_be_mask_[r])
        loop_.masks_at_end.set(r);
      else
        return false;
    }
    return true;
  }

  // Lanes that are off at the loop's begin keep their bits of what is needed behind it.
  bool lanes_that_are_off_stay() {
    const RegisterSet masks = loop_.masks_at_begin | loop_.masks_at_end;
    if (masks.count() > kMostMasks + 1) return false;
    for (State& state : first_states(false, masks)) {
      if (!goes_on_without(static_cast<int>(header_), static_cast<int>(loop_.exit), state)) return false;
      for (unsigned r : registers_)
        if (loop_.masks_at_end[r] && at(state, r).bit == Bit::none) return false;
    }
    return true;
  }

  const Routine& routine_;
  const Facts& facts_;
  const std::set<unsigned>& blocks_;
  const unsigned header_;
  DivergentLoop loop_;
  std::vector<unsigned> registers_;  // scalar ones that the loop touches
  std::vector<unsigned> number_of_;  // among these, by register
  std::optional<bool> is_scratch_read_behind_;
  bool found_mask_ = false;
  std::map<std::pair<unsigned, unsigned>, Bit> seen_at_begin_, seen_behind_;
  RegisterSet may_be_mask_, may_be_number_;  // in all states that leave the loop
};

// Arrays in registers, whose elements are chosen one after the other, and what does not fit there: of one
// lane they are memory at an index (indexed_registers.h), as those in scratch are, where the wave gathers and
// scatters. Without these lanes are no less work than the wave.
bool has_arrays(const Routine& routine, const std::set<unsigned>& blocks) {
  constexpr unsigned kFewestChoices = 12;
  unsigned choices = 0;
  for (unsigned b : blocks)
    for (unsigned n = routine.blocks[b].first; n < routine.blocks[b].last; ++n) {
      const Node& node = routine.nodes[n];
      if (node.kind == NodeKind::scratch && !constant_scratch_offset(node.instruction)) return true;
      if (node.kind != NodeKind::vector_alu && node.kind != NodeKind::dual) continue;
      for (const Half& half : halves_of(node.instruction)) choices += half.row->base == Opcode::v_cndmask_b32;
    }
  return choices >= kFewestChoices;
}

// Quotients of 64 bits choose among words, too, and are ninety instructions of one lane, but one division of
// the wave.
bool has_wide_quotients(const Routine& routine, const std::set<unsigned>& blocks) {
  return std::ranges::any_of(blocks, [&](unsigned b) {
    const auto nodes = routine.nodes.begin();
    return std::any_of(nodes + routine.blocks[b].first, nodes + routine.blocks[b].last, begins_wide_quotient);
  });
}

void find_in(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks,
             std::map<unsigned, DivergentLoop>& loops) {
  if (!has_arrays(routine, blocks)) return;
  for (const std::set<unsigned>& part : loop_parts(routine, blocks)) {
    if (!has_arrays(routine, part)) continue;
    const auto header = header_of_part(routine, part);
    if (!header) continue;
    std::set<unsigned> without_header = part;
    without_header.erase(*header);
    // Loops in which each block is executed once a round.
    bool has_inner = !loop_parts(routine, without_header).empty();
    for (unsigned b : without_header) has_inner |= routine.blocks[b].taken == static_cast<int>(b);
    if (has_inner) {
      find_in(routine, facts, without_header, loops);
      continue;
    }
    if (has_wide_quotients(routine, part)) continue;
    if (auto loop = Candidate(routine, facts, part, *header).loop()) loops.emplace(*header, std::move(*loop));
  }
}

}  // namespace

std::map<unsigned, DivergentLoop> find_divergent_loops(const Routine& routine, const Facts& facts) {
  std::map<unsigned, DivergentLoop> loops;
  if (routine.wave_size != 32) return loops;
  find_in(routine, facts, all_blocks(routine), loops);
  return loops;
}

}  // namespace lockstep::translator
