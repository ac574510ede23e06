#include "engine/translator/liveness.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/translator/called_accesses.h"
#include "engine/translator/held_registers.h"
#include "engine/translator/lane_pattern.h"
#include "engine/translator/lane_regions.h"
#include "engine/translator/lanes_in_loops.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

// One step backwards. `elsewhere`: what the lanes read that are off before it may be no more than that.
LiveSets before(const Effects& effects, const RegisterSet& elsewhere, LiveSets after, RegisterSet& merged) {
  const RegisterSet& vgprs = all_vgprs();
  LiveSets live = after;
  // EXEC changes after the registers are written: translate "on" and "off" to the EXEC before.
  switch (effects.exec) {
    case ExecChange::none:
      break;
    case ExecChange::shrinks:  // lanes that were on may be off now
      live.on |= after.off;
      break;
    case ExecChange::grows:  // lanes that were off may be on now
      live.off |= after.on & vgprs;
      break;
    case ExecChange::others:  // lanes that were on are off now
      live.on &= ~vgprs;
      live.on |= after.off;
      live.off |= after.on & vgprs;
      break;
    case ExecChange::any:
      live.on |= after.off;
      live.off |= after.on & vgprs;
      break;
  }
  live.off &= elsewhere;
  merged = effects.writes & live.off;
  live.on &= ~effects.writes;
  live.on |= effects.reads;
  if (effects.reads_all_lanes) live.off |= effects.reads & vgprs;
  return live;
}

// Whether something may read scratch at other places than instructions with constant addresses name.
bool reads_scratch_anywhere(const Node& node) {
  switch (node.kind) {
    case NodeKind::step:
    case NodeKind::jump:
    case NodeKind::outside:
      return true;
    case NodeKind::scratch:
      return isa::access_shape(node.instruction.row->opcode).kind == isa::AccessShape::Kind::load &&
             !constant_scratch_offset(node.instruction);
    default:
      break;
  }
  switch (node.instruction.row->encoding) {
    case isa::Encoding::flat:
    case isa::Encoding::mubuf:
    case isa::Encoding::mtbuf:
      return node.kind != NodeKind::nothing;
    case isa::Encoding::scratch:
      return node.kind != NodeKind::scratch;
    default:
      return false;
  }
}

// By region: VGPRs whose values in lanes that were off at its begin are read later.
using Outside = std::map<unsigned, RegisterSet>;

class LiveSearch {
 public:
  // `read_by_lanes_off`: by node, at most; may be empty.
  LiveSearch(const Routine& routine, const LaneRegions& regions,
             const std::vector<RegisterSet>& read_by_lanes_off, Facts& facts)
      : routine_(routine),
        regions_(regions),
        read_by_lanes_off_(read_by_lanes_off),
        facts_(facts),
        outside_(routine.blocks.size()) {}

  void run() {
    const std::vector<std::vector<unsigned>> comes_from = blocks_before(routine_);
    Worklist work(routine_.blocks.size());
    for (unsigned b = 0; b < routine_.blocks.size(); ++b) work.add(b);
    while (!work.empty()) {
      const unsigned b = work.take();
      if (look_through(b))
        for (unsigned user : comes_from[b]) work.add(user);
    }
  }

 private:
  // Whether what it needs has grown.
  bool look_through(unsigned b) {
    const RegisterSet& vgprs = all_vgprs();
    const RegisterSet exec = exec_registers(routine_.wave_size);
    const Block& block = routine_.blocks[b];
    LiveSets live = live_out(block, facts_);
    // Every way out of translated code needs EXEC.
    live.on |= exec;
    Outside outside = outside_behind(block);
    for (unsigned n = block.last; n-- > block.first;) {
      NodeFacts& node = facts_.nodes[n];
      Outside here;
      RegisterSet elsewhere = read_by_lanes_off_.empty() ? RegisterSet().set() : read_by_lanes_off_[n];
      for (const auto& [region, all_on] : regions_.at(n)) {
        // Behind a region's end its lanes may be any.
        const bool goes_on = n + 1 == block.last || regions_.is_in(n + 1, region);
        RegisterSet& read = here[region] = goes_on ? outside[region] : live.all() & vgprs;
        if (all_on) elsewhere &= read;
        if (node.effects.reads_all_lanes) read |= node.effects.reads & vgprs;
      }
      live = before(node.effects, elsewhere, live, node.merged);
      live.on |= exec;
      node.live = live;
      outside = std::move(here);
    }
    LiveSets& entry = facts_.blocks[b].live_in;
    if (live.on == entry.on && live.off == entry.off && outside == outside_[b]) return false;
    entry = live;
    outside_[b] = std::move(outside);
    return true;
  }

  Outside outside_behind(const Block& block) {
    const RegisterSet& vgprs = all_vgprs();
    Outside behind;
    for (const auto& [region, all_on] : regions_.at(block.last - 1))
      for (int to : {block.taken, block.next}) {
        if (to < 0) continue;
        const auto successor = static_cast<unsigned>(to);
        behind[region] |= regions_.is_in(routine_.blocks[successor].first, region)
                              ? outside_[successor][region]
                              : facts_.blocks[successor].live_in.all() & vgprs;
      }
    return behind;
  }

  const Routine& routine_;
  const LaneRegions& regions_;
  const std::vector<RegisterSet>& read_by_lanes_off_;
  Facts& facts_;
  std::vector<Outside> outside_;  // by block, at its begin
};

void find_live(const Routine& routine, const LaneRegions& regions, Facts& facts) {
  const std::vector<RegisterSet> unknown;
  LiveSearch(routine, regions, unknown, facts).run();
  const std::vector<RegisterSet> read_by_lanes_off = find_read_by_lanes_off(routine, facts);
  if (read_by_lanes_off.empty()) return;
  for (BlockFacts& block : facts.blocks) block.live_in = {};
  LiveSearch(routine, regions, read_by_lanes_off, facts).run();
}

// Compilers spill groups of registers as a whole even if one of them holds something. What is stored of the
// others is loaded again, but to registers that nobody reads; or that are stored again, where nobody reads
// them. So at first nobody reads anything, and then what is live tells what is read.
void find_unused_words(const Routine& routine, const LaneRegions& regions, Facts& facts) {
  constexpr unsigned kMostRounds = 8;
  const auto offset_of = [&](unsigned n, isa::AccessShape::Kind kind) -> std::optional<uint32_t> {
    const Node& node = routine.nodes[n];
    if (node.kind != NodeKind::scratch || isa::access_shape(node.instruction.row->opcode).kind != kind)
      return std::nullopt;
    return constant_scratch_offset(node.instruction);
  };
  const auto words_of = [&](unsigned n) {
    return isa::access_shape(routine.nodes[n].instruction.row->opcode).registers();
  };
  std::vector<unsigned> stores;
  for (unsigned n = 0; n < routine.nodes.size(); ++n)
    if (offset_of(n, isa::AccessShape::Kind::store)) stores.push_back(n);
  if (stores.empty() || std::ranges::any_of(routine.nodes, reads_scratch_anywhere))
    return find_live(routine, regions, facts);

  std::set<uint32_t> used;
  for (unsigned round = 0;; ++round) {
    for (unsigned n : stores) {
      NodeFacts& store = facts.nodes[n];
      store.effects.reads = effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count).reads;
      store.unused_words = 0;
      if (round == kMostRounds) continue;
      const unsigned data = routine.nodes[n].instruction.find(isa::Role::data)->vgpr();
      for (unsigned word = 0; word < words_of(n); ++word) {
        if (used.contains(*offset_of(n, isa::AccessShape::Kind::store) + 4 * word)) continue;
        store.unused_words |= static_cast<uint8_t>(1u << word);
        store.effects.reads.reset(data + word);
      }
    }
    find_live(routine, regions, facts);
    const size_t before = used.size();
    for (const Block& block : routine.blocks) {
      RegisterSet live = live_out(block, facts).all();
      for (unsigned n = block.last; n-- > block.first; live = facts.nodes[n].live.all()) {
        const auto offset = offset_of(n, isa::AccessShape::Kind::load);
        if (!offset) continue;
        const unsigned data = routine.nodes[n].instruction.find(isa::Role::dst)->vgpr();
        for (unsigned word = 0; word < words_of(n); ++word)
          if (live[data + word]) used.insert(*offset + 4 * word);
      }
    }
    if (used.size() == before || round == kMostRounds) return;
  }
}

}  // namespace

bool reads_scratch(const Node& node) {
  return reads_scratch_anywhere(node) ||
         (node.kind == NodeKind::scratch &&
          isa::access_shape(node.instruction.row->opcode).kind == isa::AccessShape::Kind::load);
}

bool stores_registers_at_exits_only(const Routine& routine) {
  return routine.pieces.size() == 1 && std::ranges::none_of(routine.nodes, [](const Node& node) {
           return node.kind == NodeKind::call || node.kind == NodeKind::matrix ||
                  node.kind == NodeKind::indexed || node.kind == NodeKind::step ||
                  node.kind == NodeKind::jump;
         });
}

LiveSets live_out(const Block& block, const Facts& facts) {
  LiveSets live;
  const auto add = [&](int successor, bool has_no_lanes) {
    if (successor < 0) return;
    const LiveSets& there = facts.blocks[static_cast<unsigned>(successor)].live_in;
    live.on |= has_no_lanes ? there.on & ~all_vgprs() : there.on;
    live.off |= there.off;
  };
  // What reads VGPRs where no lane is on reads nothing.
  add(block.taken, block.is_taken_without_lanes);
  add(block.next, block.goes_on_without_lanes);
  return live;
}

Facts analyse(const Routine& routine) {
  Facts facts;
  for (const Node& node : routine.nodes)
    facts.nodes.emplace_back().effects = effects_of(node, routine.wave_size, routine.vgpr_count);
  facts.blocks.resize(routine.blocks.size());
  std::vector<const Effects*> effects;
  for (const NodeFacts& node : facts.nodes) effects.push_back(&node.effects);
  const LaneRegions regions(routine, effects);
  for (unsigned n = 0; n < facts.nodes.size(); ++n)
    if (!regions.at(n).empty()) facts.nodes[n].all_on = regions.at(n).front().all_on;
  find_unused_words(routine, regions, facts);
  LanePatterns patterns = guess_lane_patterns(routine);
  for (size_t n = 0; n < facts.nodes.size(); ++n) {
    facts.nodes[n].lds_stride = patterns.lds_strides[n];
    facts.nodes[n].lds_offsets = patterns.lds_offsets[n];
    facts.nodes[n].address_is_loaded = patterns.has_loaded_address[n];
  }
  for (size_t b = 0; b < facts.blocks.size(); ++b) facts.blocks[b].strides = std::move(patterns.strides[b]);
  find_called_accesses(routine, facts);
  find_held(routine, facts);
  for (const NodeFacts& node : facts.nodes) facts.merged |= node.merged;
  return facts;
}

}  // namespace lockstep::translator
