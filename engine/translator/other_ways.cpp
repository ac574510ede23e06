#include "engine/translator/other_ways.h"

#include <optional>
#include <set>
#include <vector>

#include "engine/translator/operands.h"

namespace lockstep::translator {
namespace {

using isa::Opcode;
using isa::Role;

constexpr size_t kMostBlocks = 8;

class Finder {
 public:
  Finder(const Routine& routine, const Facts& facts) : routine_(routine), facts_(facts) {}

  std::optional<RegisterSet> find(unsigned node) {
    std::vector<unsigned> between;
    unsigned block = block_of(node);
    ++node;
    for (size_t blocks = 0; blocks < kMostBlocks; ++blocks) {
      for (; node < routine_.blocks[block].last; ++node) {
        const Effects& effects = facts_.nodes[node].effects;
        if (effects.exec == ExecChange::others) return read_before_other_way(node, block, between);
        if (effects.exec != ExecChange::none) return std::nullopt;
        between.push_back(node);
      }
      const auto next = successors(block);
      if (next.size() != 1) return std::nullopt;
      block = next[0];
      node = routine_.blocks[block].first;
    }
    return std::nullopt;
  }

 private:
  unsigned block_of(unsigned node) const {
    unsigned block = 0;
    while (routine_.blocks[block].last <= node) ++block;
    return block;
  }
  std::vector<unsigned> successors(unsigned block) const {
    std::vector<unsigned> result;
    for (const int each : {routine_.blocks[block].taken, routine_.blocks[block].next})
      if (each >= 0) result.push_back(static_cast<unsigned>(each));
    return result;
  }

  // Through `between`, against the order of things, from where the lanes come on again behind the other way.
  std::optional<RegisterSet> read_before_other_way(unsigned turn, unsigned block,
                                                   const std::vector<unsigned>& between) {
    const auto saved = scalar_destination(*routine_.nodes[turn].instruction.find(Role::dst));
    if (!saved || !follow(turn + 1, block, *saved)) return std::nullopt;
    RegisterSet read = (read_ & all_vgprs()) | (facts_.nodes[turn].live.on & ~all_vgprs());
    for (size_t i = between.size(); i-- > 0;) {
      const Effects& effects = facts_.nodes[between[i]].effects;
      read = (read & ~effects.writes) | effects.reads;
    }
    return read;
  }

  // Whether all ways from there lead to where what `saved` has comes on again, before anything else does.
  bool follow(unsigned node, unsigned block, unsigned saved) {
    for (; node < routine_.blocks[block].last; ++node) {
      if (turns_on(node, saved)) {
        const bool is_last = node + 1 == routine_.blocks[block].last;
        read_ |= is_last ? live_out(routine_.blocks[block], facts_).on : facts_.nodes[node + 1].live.on;
        return true;
      }
      const Effects& effects = facts_.nodes[node].effects;
      const bool has_saved =
          !effects.writes[saved] && (routine_.wave_size == 32 || !effects.writes[saved + 1]);
      if (!has_saved || turns_lanes_on(effects.exec)) return false;
      if (effects.reads_all_lanes) read_ |= effects.reads;
    }
    const Block& left = routine_.blocks[block];
    const auto next = successors(block);
    if (next.empty() || !left.jumps.empty()) return false;
    for (const unsigned each : next) {
      if (!seen_.insert(each).second) continue;
      if (seen_.size() > kMostBlocks || !follow(routine_.blocks[each].first, each, saved)) return false;
    }
    return true;
  }

  bool turns_on(unsigned node, unsigned saved) const {
    if (facts_.nodes[node].effects.exec != ExecChange::grows) return false;
    const isa::Instruction& instruction = routine_.nodes[node].instruction;
    if (instruction.row->base != (routine_.wave_size == 32 ? Opcode::s_or_b32 : Opcode::s_or_b64))
      return false;
    for (const Role role : {Role::src0, Role::src1}) {
      const auto source = source_of(*instruction.find(role), instruction);
      if (source && !source->is_constant && source->first == saved) return true;
    }
    return false;
  }

  const Routine& routine_;
  const Facts& facts_;
  RegisterSet read_;
  std::set<unsigned> seen_;
};

}  // namespace

RegisterSet read_behind(const Routine& routine, const Facts& facts, unsigned node, const RegisterSet& live) {
  return Finder(routine, facts).find(node).value_or(live);
}

}  // namespace lockstep::translator
