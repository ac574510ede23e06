#include "engine/translator/lanes_in_loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/translator/effects.h"
#include "engine/translator/launch_lanes.h"
#include "engine/translator/loop_parts.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr unsigned kMostNodes = 400;
constexpr size_t kMostStates = 4000;  // of nodes, in one loop

// What a mask is to one lane; numbers are anything.
enum class Bit : uint8_t { any, zero, one };
Bit bit_of(bool value) {
  return value ? Bit::one : Bit::zero;
}
bool may_be(Bit bit, bool value) {
  return bit == Bit::any || bit == bit_of(value);
}

// By scalar register: that of the mask that begins there. EXEC is never any.
using State = std::array<Bit, kRegisters - kFirstScalar>;

class LaneInLoop {
 public:
  LaneInLoop(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks,
             std::vector<RegisterSet>& read)
      : routine_(routine),
        facts_(facts),
        blocks_(blocks),
        read_(read),
        words_(routine.wave_size / 32),
        is_all_known_(knows_all_ways(routine)) {}

  // False if the loop has something that is not followed, or lanes have too many ways.
  bool find() {
    if (!has_shape() || !follow()) return false;
    look_back();
    return true;
  }

 private:
  // A lane before an instruction.
  struct Place {
    unsigned block, node;
    State state;
    std::vector<unsigned> behind;  // places
    RegisterSet read;              // behind the loop, then from here on
  };

  const Effects& effects(unsigned node) const { return facts_.nodes[node].effects; }
  const Block& block(unsigned index) const { return routine_.blocks[index]; }
  bool is_inside(unsigned index) const { return blocks_.contains(index); }
  bool is_on(const State& state) const { return at(state, kExec) == Bit::one; }
  static Bit at(const State& state, unsigned number) { return state[number - kFirstScalar]; }

  bool has_shape() const {
    size_t nodes = 0;
    for (unsigned b : blocks_) {
      nodes += block(b).last - block(b).first;
      if (!block(b).jumps.empty()) return false;
      for (unsigned n = block(b).first; n < block(b).last; ++n) {
        switch (routine_.nodes[n].kind) {
          case NodeKind::indexed:
          case NodeKind::matrix:
          case NodeKind::get_pc:
          case NodeKind::call:
          case NodeKind::jump:
          case NodeKind::barrier:
          case NodeKind::step:
          case NodeKind::outside:
            return false;
          default:
            break;
        }
      }
    }
    return nodes <= kMostNodes;
  }

  // All places that a lane may come to. From code that is not known the interpreter may come to any entry.
  bool follow() {
    const std::vector<std::vector<unsigned>> before = blocks_before(routine_);
    for (unsigned b : blocks_) {
      const bool is_begin = b == routine_.entry_block || (block(b).is_entry && !is_all_known_) ||
                            !std::ranges::all_of(before[b], [&](unsigned each) { return is_inside(each); });
      if (!is_begin) continue;
      for (const Bit exec : {Bit::zero, Bit::one}) {
        State state{};
        state[kExec - kFirstScalar] = exec;
        begin_of(b, state);
      }
    }
    for (unsigned next = 0; next < places_.size(); ++next) {
      if (places_.size() > kMostStates) return false;
      go_on(next);
    }
    return true;
  }

  unsigned place_of(unsigned b, unsigned node, const State& state) {
    const auto [found, is_new] = numbers_.try_emplace({node, state}, static_cast<unsigned>(places_.size()));
    if (is_new) places_.push_back({b, node, state, {}, {}});
    return found->second;
  }
  // What nobody reads is forgotten.
  unsigned begin_of(unsigned b, State state) {
    const LiveSets& live = facts_.blocks[b].live_in;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (r != kExec && !live.on[r]) state[r - kFirstScalar] = Bit::any;
    return place_of(b, block(b).first, state);
  }

  void go_on(unsigned place) {
    const auto [b, n] = std::pair{places_[place].block, places_[place].node};
    const State state = places_[place].state;
    const std::vector<State> states = behind(n, state);
    if (n + 1 < block(b).last) {
      for (const State& each : states) add_behind(place, place_of(b, n + 1, each));
      return;
    }
    // One lane that is on is enough.
    const bool on = is_on(state);
    const Node& node = routine_.nodes[n];
    const Opcode opcode = node.instruction.row->opcode;
    const bool is_branch = node.kind == NodeKind::branch;
    const bool may_jump = !(is_branch && on && opcode == Opcode::s_cbranch_execz),
               may_pass = !(is_branch && on && opcode == Opcode::s_cbranch_execnz);
    for (const auto& [to, may_go] : {std::pair{block(b).taken, may_jump}, {block(b).next, may_pass}}) {
      if (to < 0 || !may_go) continue;
      const auto target = static_cast<unsigned>(to);
      for (const State& each : states) {
        if (is_inside(target)) {
          add_behind(place, begin_of(target, each));
        } else {
          const LiveSets& live = facts_.blocks[target].live_in;
          places_[place].read |= is_on(each) ? live.on : live.off;
        }
      }
    }
  }

  void add_behind(unsigned place, unsigned other) { places_[place].behind.push_back(other); }

  // The mask that the register belongs to.
  void forget(State& state, unsigned number) const {
    const unsigned first = number - (number - kFirstScalar) % words_;
    if (first != kExec) state[first - kFirstScalar] = Bit::any;
  }
  void set_mask(State& state, unsigned number, Bit bit) const {
    forget(state, number);
    if ((number - kFirstScalar) % words_ == 0) state[number - kFirstScalar] = bit;
  }

  // Behind the instruction.
  std::vector<State> behind(unsigned n, const State& before) const {
    const Node& node = routine_.nodes[n];
    const isa::Instruction& instruction = node.instruction;
    State state = before;
    for (unsigned r = kFirstScalar; r < kRegisters; ++r)
      if (effects(n).writes[r]) forget(state, r);
    std::optional<Bit> exec;
    if (effects(n).exec != ExecChange::none) exec = Bit::any;
    if (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) {
      // Bits of lanes that are off are 0 (guide 7.2.5), but perhaps where lanes have no source.
      if (!is_on(before)) {
        for (unsigned i = 0; instruction.dpp == isa::Dpp::none && i < instruction.operand_count; ++i) {
          const isa::Operand& operand = instruction.operands[i];
          if ((operand.role != Role::dst && operand.role != Role::dst2) || operand.type != isa::Type::mask)
            continue;
          if (const auto to = scalar_destination(operand)) set_mask(state, *to, Bit::zero);
        }
        if (exec) exec = Bit::zero;
      }
    } else if (const auto mask = node.kind == NodeKind::scalar_alu
                                     ? mask_instruction(instruction.row->opcode, routine_.wave_size)
                                     : std::nullopt) {
      combine(instruction, *mask, before, state, exec);
    }
    if (!exec) return {state};
    std::vector<State> states;
    for (const Bit bit : {Bit::zero, Bit::one}) {
      if (*exec != Bit::any && *exec != bit) continue;
      state[kExec - kFirstScalar] = bit;
      states.push_back(state);
    }
    return states;
  }

  void combine(const isa::Instruction& instruction, const MaskInstruction& mask, const State& before,
               State& state, std::optional<Bit>& exec) const {
    const auto source = [&](Role role) {
      const isa::Operand* operand = instruction.find(role);
      const auto from = operand ? source_of(*operand, instruction) : std::nullopt;
      if (!from) return Bit::any;
      if (!from->is_constant)
        return from->first == kScc || (from->first - kFirstScalar) % words_ != 0 ? Bit::any
                                                                                 : at(before, from->first);
      const uint64_t all = words_ == 2 ? ~uint64_t{0} : ~uint32_t{0}, value = from->value & all;
      return value == 0 ? Bit::zero : value == all ? Bit::one : Bit::any;
    };
    const Bit first = source(Role::src0), second = mask.saves_exec ? at(before, kExec) : source(Role::src1);
    Bit result = Bit::any;
    bool may_be_zero = false, may_be_one = false;
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        if (may_be(first, a) && may_be(second, b))
          (result_of(mask.operation, a, b) ? may_be_one : may_be_zero) = true;
    if (may_be_zero != may_be_one) result = bit_of(may_be_one);
    const isa::Operand* destination = instruction.find(Role::dst);
    const auto to = destination ? scalar_destination(*destination) : std::nullopt;
    if (mask.saves_exec) {
      if (to && *to != kExec) set_mask(state, *to, at(before, kExec));
      exec = to == kExec ? Bit::any : result;
    } else if (to == kExec) {
      exec = result;
    } else if (to) {
      set_mask(state, *to, result);
    }
  }

  // Against the order of things, until nothing is new.
  void look_back() {
    const RegisterSet& vgprs = all_vgprs();
    std::vector<RegisterSet> left;  // behind the loop
    for (const Place& place : places_) left.push_back(place.read & vgprs);
    for (Place& place : places_) place.read.reset();
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (size_t i = places_.size(); i-- > 0;) {
        Place& place = places_[i];
        RegisterSet read = left[i];
        for (unsigned other : place.behind) read |= places_[other].read;
        const Effects& here = effects(place.node);
        if (is_on(place.state)) read = (read & ~here.writes) | (here.reads & vgprs);
        if (here.reads_all_lanes) read |= here.reads & vgprs;
        is_more |= read != place.read;
        place.read = read;
      }
    }
    for (unsigned b : blocks_)
      for (unsigned n = block(b).first; n < block(b).last; ++n) read_[n] = ~vgprs;
    for (const Place& place : places_)
      if (!is_on(place.state)) read_[place.node] |= place.read;
  }

  const Routine& routine_;
  const Facts& facts_;
  const std::set<unsigned>& blocks_;
  std::vector<RegisterSet>& read_;
  const unsigned words_;
  const bool is_all_known_;
  std::vector<Place> places_;
  std::map<std::pair<unsigned, State>, unsigned> numbers_;
};

void find_in(const Routine& routine, const Facts& facts, const std::set<unsigned>& blocks,
             unsigned loops_around, std::vector<RegisterSet>& read, bool& is_any_known) {
  for (const std::set<unsigned>& loop : loop_parts(routine, blocks)) {
    if (LaneInLoop(routine, facts, loop, read).find()) {
      is_any_known = true;
      continue;
    }
    if (loops_around == kMostLoopsAround) continue;
    const auto header = header_of_part(routine, loop);
    if (!header) continue;
    std::set<unsigned> inside = loop;
    inside.erase(*header);
    find_in(routine, facts, inside, loops_around + 1, read, is_any_known);
  }
}

}  // namespace

std::vector<RegisterSet> find_read_by_lanes_off(const Routine& routine, const Facts& facts) {
  std::vector<RegisterSet> read(routine.nodes.size(), RegisterSet().set());
  bool is_any_known = false;
  find_in(routine, facts, all_blocks(routine), 0, read, is_any_known);
  if (!is_any_known) read.clear();
  return read;
}

}  // namespace lockstep::translator
