#include "engine/translator/compact_loops.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <set>
#include <utility>

#include "engine/translator/divergent_loops.h"
#include "engine/translator/effects.h"
#include "engine/translator/lane_loops.h"
#include "engine/translator/loop_parts.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;
using Kind = BitsOfOthers::Kind;

constexpr unsigned kMostNodes = 200, kMostBlocks = 24;
// Vector instructions: what a function of the transcendental unit is, and what an access must have beside it.
constexpr unsigned kTranscendental = 20, kOperationsOfAccess = 4;
constexpr unsigned kScalars = kRegisters - kFirstScalar;
using ScalarSet = std::bitset<kScalars>;

// What a scalar register is in the compact wave. Constants for all lanes or none are both.
struct Scalar {
  bool is_number = false;  // that of the wave
  bool is_mask = false;    // the wave's, of the lanes that are there
  BitsOfOthers others;     // of a mask
  ScalarSet origins;       // it would be a mask if these were masks at the header
};
bool has_changed(const Scalar& before, const Scalar& now) {
  return before.is_number != now.is_number || before.is_mask != now.is_mask || before.others != now.others ||
         before.origins != now.origins;
}

struct State {
  std::array<Scalar, kScalars> scalars;
  Scalar& operator[](unsigned number) { return scalars[number - kFirstScalar]; }
  const Scalar& operator[](unsigned number) const { return scalars[number - kFirstScalar]; }
};

Scalar joined(const Scalar& a, const Scalar& b) {
  return {a.is_number && b.is_number, a.is_mask && b.is_mask,
          a.others == b.others ? a.others : BitsOfOthers{}, a.origins | b.origins};
}

BitsOfOthers constant_bits(bool value) {
  return {value ? Kind::ones : Kind::zeros};
}

// Whatever a bit is that is not known, the result may be a constant, or the other one.
BitsOfOthers combined(MaskOperation operation, const BitsOfOthers& a, const BitsOfOthers& b) {
  const auto values = [](const BitsOfOthers& bits) {
    if (bits.kind == Kind::zeros) return std::vector{false};
    if (bits.kind == Kind::ones) return std::vector{true};
    return std::vector{false, true};
  };
  const bool are_same = a == b && a.kind == Kind::begin;
  bool may_be_zero = false, may_be_one = false, is_first = true, is_second = true;
  for (const bool x : values(a))
    for (const bool y : values(b)) {
      if (are_same && x != y) continue;
      const bool result = result_of(operation, x, y);
      (result ? may_be_one : may_be_zero) = true;
      is_first &= result == x;
      is_second &= result == y;
    }
  if (may_be_zero != may_be_one) return constant_bits(may_be_one);
  return is_first ? a : is_second ? b : BitsOfOthers{};
}

class Candidate {
 public:
  Candidate(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks, unsigned header)
      : routine_(routine), facts_(facts), blocks_(blocks), header_(header), words_(routine.wave_size / 32) {}

  std::optional<CompactLoop> loop() {
    if (!has_shape()) return std::nullopt;
    while (!follows_scalars()) {
      const RegisterSet before = loop_.masks;
      for (unsigned i = 0; i < kScalars; ++i)
        if (must_be_masks_[i]) loop_.masks.set(first_of_mask(kFirstScalar + i));
      if (loop_.masks == before) return std::nullopt;
    }
    if (!knows_masks()) return std::nullopt;
    return loop_;
  }

 private:
  const Effects& effects(unsigned node) const { return facts_.nodes[node].effects; }
  const Block& block(unsigned index) const { return routine_.blocks[index]; }
  bool is_inside(int index) const { return index >= 0 && blocks_.contains(static_cast<unsigned>(index)); }
  unsigned first_of_mask(unsigned number) const { return number - (number - kFirstScalar) % words_; }

  static bool is_on_exec(const Node& branch) {
    const Opcode opcode = branch.instruction.row->opcode;
    return opcode == Opcode::s_cbranch_execz || opcode == Opcode::s_cbranch_execnz;
  }

  bool has_shape() {
    unsigned nodes = 0;
    loop_.blocks = {header_};
    if (blocks_.size() > kMostBlocks) return false;
    for (unsigned b : blocks_) {
      if (b != header_) loop_.blocks.push_back(b);
      if (block(b).piece != block(header_).piece) return false;
      nodes += block(b).last - block(b).first;
      for (unsigned n = block(b).first; n < block(b).last; ++n) {
        if (!is_allowed(n, n + 1 == block(b).last)) return false;
        loop_.touched |= effects(n).reads | effects(n).writes;
        loop_.written |= effects(n).writes;
        count(routine_.nodes[n]);
      }
      for (int to : {block(b).taken, block(b).next}) {
        if (to < 0 || is_inside(to)) continue;
        if (routine_.nodes[block(static_cast<unsigned>(to)).first].kind == NodeKind::outside) return false;
        const Node& last = routine_.nodes[block(b).last - 1];
        loop_.do_lanes_leave |= last.kind == NodeKind::branch && is_on_exec(last);
      }
    }
    for (unsigned word = 0; word < words_; ++word) loop_.touched.set(kExec + word);
    loop_.masks.set(kExec);
    // Accesses take each lane's time, however many lanes are in a chunk. (A search of a graph took 1.4 times
    // as long compact.)
    return nodes <= kMostNodes && (loop_.do_lanes_leave || !facts_.nodes[block(header_).first].all_on) &&
           loop_.operations >= kOperationsOfAccess * loop_.accesses;
  }

  void count(const Node& node) {
    const bool is_pair = node.kind == NodeKind::dual;
    loop_.accesses += node.kind == NodeKind::global || node.kind == NodeKind::atomic;
    loop_.pairs += is_pair;
    if (is_pair || node.kind == NodeKind::vector_alu)
      loop_.operations += node.instruction.row->flags & isa::kTrans ? kTranscendental : 1;
  }

  bool is_allowed(unsigned n, bool is_last) const {
    const Node& node = routine_.nodes[n];
    switch (node.kind) {
      case NodeKind::branch:
        return is_last;
      case NodeKind::scalar_load:
      case NodeKind::store_wait:
        return true;
      case NodeKind::atomic:
        return node.instruction.row->encoding == isa::Encoding::global;
      case NodeKind::global:
        if (node.instruction.row->encoding == isa::Encoding::global && changes_memory(node)) return true;
        [[fallthrough]];
      default:
        return hides_order_of_lanes(node, effects(n));
    }
  }

  State first_state() const {
    State state;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
      Scalar& scalar = state[r];
      if (r == kScc || !loop_.masks[first_of_mask(r)]) {
        scalar.is_number = true;
        if (r != kScc) scalar.origins.set(r - kFirstScalar);
      } else {
        scalar.is_mask = true;
        scalar.others =
            first_of_mask(r) == kExec ? constant_bits(false) : BitsOfOthers{Kind::begin, first_of_mask(r)};
      }
    }
    return state;
  }

  // False where that needs other masks at the header, or there is no way.
  bool follows_scalars() {
    must_be_masks_.reset();
    states_.clear();
    states_behind_.clear();
    Worklist work(routine_.blocks.size());
    const auto go_to = [&](int to, const State& state) {
      const auto target = static_cast<unsigned>(to);
      const auto [found, is_new] = states_.try_emplace(target, state);
      bool changed = is_new;
      for (unsigned r = kFirstScalar; !is_new && r < kRegisters; ++r) {
        const Scalar now = joined(found->second[r], state[r]);
        changed |= has_changed(found->second[r], now);
        found->second[r] = now;
      }
      if (changed && is_inside(to)) work.add(target);
    };
    go_to(static_cast<int>(header_), first_state());
    while (!work.empty()) {
      const unsigned b = work.take();
      State state = states_.at(b);
      for (unsigned n = block(b).first; n < block(b).last; ++n) {
        if (!execute(n, state)) return false;
        if (changes_memory(routine_.nodes[n]) && n + 1 < block(b).last) states_behind_[n + 1] = state;
      }
      for (int to : {block(b).taken, block(b).next})
        if (to >= 0) go_to(to, state);
    }
    return true;
  }

  bool need_mask(const Scalar& scalar) {
    if (!scalar.is_mask) must_be_masks_ |= scalar.origins;
    return scalar.is_mask;
  }

  void write(State& state, unsigned number, const Scalar& value) const {
    state[number] = value;
    // Half of a mask is none.
    if (words_ == 2 && number != kScc && !value.is_mask) {
      Scalar& other = state[number ^ 1];
      other.is_mask = false;
      other.others = {};
    }
  }

  bool execute(unsigned n, State& state) {
    const Node& node = routine_.nodes[n];
    switch (node.kind) {
      case NodeKind::vector_alu:
      case NodeKind::dual:
        return execute_vector(n, state);
      case NodeKind::scalar_alu:
        return execute_scalar(n, state);
      case NodeKind::branch:
        return knows_branch(node, state);
      case NodeKind::global:
      case NodeKind::atomic:
        return reads_numbers(n, state);
      case NodeKind::scalar_load:
        if (!reads_numbers(n, state)) return false;
        for (unsigned r = kFirstScalar; r < kRegisters; ++r)
          if (effects(n).writes[r]) write(state, r, {true, false, {}, {}});
        return true;
      default:
        return true;
    }
  }

  bool execute_vector(unsigned n, State& state) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const RegisterSet numbers = numbers_read(instruction);
    for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
      if (!effects(n).reads[r]) continue;
      if (numbers[r] ? !state[r].is_number : !need_mask(state[r])) return false;
    }
    // Bits of lanes that are off are 0 (guide 7.2.5).
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (effects(n).writes[r]) write(state, r, {false, true, constant_bits(false), {}});
    return true;
  }

  bool reads_numbers(unsigned n, const State& state) const {
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (effects(n).reads[r] && first_of_mask(r) != kExec && !state[r].is_number) return false;
    return true;
  }

  bool execute_scalar(unsigned n, State& state) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const Opcode opcode = instruction.row->opcode;
    bool are_numbers = true;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (effects(n).reads[r]) are_numbers &= state[r].is_number;
    if (const auto mask = mask_instruction(opcode, routine_.wave_size))
      return combine_masks(n, *mask, are_numbers, state);
    if (opcode == (words_ == 2 ? Opcode::s_cselect_b64 : Opcode::s_cselect_b32))
      return select_mask(n, are_numbers, state);
    if (writes_exec(effects(n), routine_.wave_size)) return false;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (effects(n).writes[r]) write(state, r, {are_numbers, false, {}, {}});
    return true;
  }

  // Nothing for what no engine of ours reads as registers.
  std::optional<Scalar> source(const isa::Instruction& instruction, Role role, const State& state) const {
    const isa::Operand* operand = instruction.find(role);
    const auto from = operand ? source_of(*operand, instruction) : std::nullopt;
    if (!from) return std::nullopt;
    if (!from->is_constant) {
      // Masks begin at multiples of their size.
      if (from->first == kScc || first_of_mask(from->first) != from->first) return Scalar{};
      return state[from->first];
    }
    const uint64_t all = words_ == 2 ? ~uint64_t{0} : ~uint32_t{0}, value = from->value & all;
    if (value != 0 && value != all) return Scalar{true, false, {}, {}};
    return Scalar{true, true, constant_bits(value != 0), {}};
  }

  bool combine_masks(unsigned n, const MaskInstruction& mask, bool are_numbers, State& state) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const bool moves = mask.operation == MaskOperation::move,
               is_unary = moves || mask.operation == MaskOperation::invert;
    const Scalar exec = state[kExec];
    const auto first = source(instruction, Role::src0, state);
    const auto second = mask.saves_exec ? exec : is_unary ? first : source(instruction, Role::src1, state);
    const isa::Operand* destination = instruction.find(Role::dst);
    const auto to = destination ? scalar_destination(*destination) : std::nullopt;
    if (!first || !second) return false;
    const bool writes_exec = mask.saves_exec || to == kExec;
    Scalar result{are_numbers, first->is_mask && second->is_mask, {}, first->origins | second->origins};
    // What cannot be a number, or must not be, is a mask or nothing.
    if (!result.is_mask && (!are_numbers || writes_exec) && ((first->origins | second->origins).any())) {
      need_mask(*first);
      need_mask(*second);
      return false;
    }
    if (result.is_mask) result.others = combined(mask.operation, first->others, second->others);
    // Whether any lane has the bit.
    const bool says_any = result.is_number || (result.is_mask && result.others == constant_bits(false));
    if (writes_exec && (!result.is_mask || result.others != constant_bits(false))) return false;
    if (effects(n).writes[kScc]) state[kScc] = {says_any, false, {}, {}};
    if (mask.saves_exec) {
      if (to) write_mask(state, *to, exec);
      write_mask(state, kExec, {false, true, result.others, {}});
    } else if (to) {
      if (writes_exec) result.is_number = false;
      write_mask(state, *to, result);
    }
    return true;
  }

  // All of one or of the other, which SCC says for all lanes.
  bool select_mask(unsigned n, bool are_numbers, State& state) {
    const isa::Instruction& instruction = routine_.nodes[n].instruction;
    const auto first = source(instruction, Role::src0, state),
               second = source(instruction, Role::src1, state);
    const isa::Operand* destination = instruction.find(Role::dst);
    const auto to = destination ? scalar_destination(*destination) : std::nullopt;
    if (!first || !second || !to || first_of_mask(*to) == kExec) return false;
    Scalar result = joined(*first, *second);
    result.is_number = are_numbers;
    result.is_mask &= state[kScc].is_number;
    write_mask(state, *to, result);
    return true;
  }

  void write_mask(State& state, unsigned first, const Scalar& value) const {
    if (first_of_mask(first) != first) {
      for (unsigned word = 0; word < words_; ++word)
        write(state, first + word, {value.is_number, false, {}, {}});
      return;
    }
    for (unsigned word = 0; word < words_; ++word) write(state, first + word, value);
  }

  bool knows_branch(const Node& node, State& state) {
    switch (node.instruction.row->opcode) {
      case Opcode::s_branch:
      case Opcode::s_cbranch_execz:
      case Opcode::s_cbranch_execnz:
        return true;
      case Opcode::s_cbranch_scc0:
      case Opcode::s_cbranch_scc1:
        return state[kScc].is_number;
      case Opcode::s_cbranch_vccz:
      case Opcode::s_cbranch_vccnz:
        if (state[kVcc].is_number && (words_ == 1 || state[kVcc + 1].is_number)) return true;
        return need_mask(state[kVcc]) && state[kVcc].others == constant_bits(false);
      default:
        return false;
    }
  }

  bool knows_masks() {
    for (const auto& [to, state] : states_)
      if (!knows_masks_in(state, facts_.blocks[to].live_in.all(), loop_.masks_at[to])) return false;
    return std::ranges::all_of(states_behind_, [&](const auto& each) {
      return knows_masks_in(each.second, facts_.nodes[each.first].live.all(), loop_.masks_behind[each.first]);
    });
  }

  bool knows_masks_in(const State& state, const RegisterSet& live,
                      std::map<unsigned, BitsOfOthers>& masks) const {
    const RegisterSet needed = live & loop_.written;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
      if (!needed[r] && first_of_mask(r) != kExec) continue;
      const Scalar& scalar = state[r];
      if (scalar.is_number) continue;
      if (!scalar.is_mask || scalar.others.kind == Kind::unknown) return false;
      masks.emplace(first_of_mask(r), scalar.others);
    }
    return true;
  }

  const Routine& routine_;
  const Facts& facts_;
  const std::set<unsigned>& blocks_;
  const unsigned header_, words_;
  CompactLoop loop_;
  ScalarSet must_be_masks_;
  std::map<unsigned, State> states_;         // at the begin of blocks, of the loop and right behind it
  std::map<unsigned, State> states_behind_;  // before nodes, behind those that change memory
};

// Innermost loops.
void find_in(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks,
             unsigned loops_around, std::map<unsigned, CompactLoop>& loops) {
  const auto look_at = [&](const std::set<unsigned>& part, unsigned header) {
    if (auto loop = Candidate(routine, facts, part, header).loop()) loops.emplace(header, std::move(*loop));
  };
  const auto is_loop = [&](unsigned b) { return routine.blocks[b].taken == static_cast<int>(b); };
  std::set<unsigned> alone = blocks;
  for (const std::set<unsigned>& part : loop_parts(routine, blocks)) {
    for (unsigned b : part) alone.erase(b);
    const auto header = header_of_part(routine, part);
    if (!header) continue;
    std::set<unsigned> without_header = part;
    without_header.erase(*header);
    const bool has_inner = std::ranges::any_of(part, is_loop) || !loop_parts(routine, without_header).empty();
    if (!has_inner)
      look_at(part, *header);
    else if (loops_around < kMostLoopsAround)
      find_in(routine, facts, without_header, loops_around + 1, loops);
  }
  for (unsigned b : alone)
    if (is_loop(b)) look_at({b}, b);
}

}  // namespace

std::map<unsigned, CompactLoop> find_compact_loops(const Routine& routine, const Facts& facts,
                                                   unsigned piece) {
  std::map<unsigned, CompactLoop> loops;
  std::set<unsigned> blocks;
  for (unsigned b = routine.pieces[piece].first; b < routine.pieces[piece].last; ++b) blocks.insert(b);
  find_in(routine, facts, blocks, 0, loops);
  return loops;
}

}  // namespace lockstep::translator
