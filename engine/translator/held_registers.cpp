#include "engine/translator/held_registers.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "engine/translator/effects.h"
#include "engine/translator/loop_parts.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {
namespace {

// Blocks that control comes to from a loop that they are in, and from elsewhere, with those of that loop.
using LoopEntries = std::map<unsigned, std::set<unsigned>>;

void find_loop_entries(const Routine& routine, const std::set<unsigned>& blocks, unsigned loops_around,
                       LoopEntries& entries) {
  std::set<unsigned> alone = blocks;
  const auto is_entered = [&](unsigned b, const std::set<unsigned>& loop) {
    return std::ranges::any_of(routine.blocks[b].predecessors,
                               [&](unsigned from) { return !loop.contains(from); });
  };
  for (const std::set<unsigned>& loop : loop_parts(routine, blocks)) {
    std::set<unsigned> without_entries = loop;
    for (unsigned b : loop) {
      alone.erase(b);
      if (!is_entered(b, loop)) continue;
      without_entries.erase(b);
      entries.emplace(b, loop);
    }
    if (without_entries.size() < loop.size() && loops_around < kMostLoopsAround)
      find_loop_entries(routine, without_entries, loops_around + 1, entries);
  }
  for (unsigned b : alone)
    if (std::ranges::count(routine.blocks[b].predecessors, b) != 0 && is_entered(b, {b}))
      entries.emplace(b, std::set{b});
}

class HeldSearch {
 public:
  HeldSearch(const Routine& routine, Facts& facts)
      : routine_(routine),
        facts_(facts),
        touched_(routine.blocks.size()),
        written_(routine.blocks.size()),
        in_wave_again_(routine.blocks.size()),
        goes_to_(routine.blocks.size()),
        work_(routine.blocks.size()) {}

  void run() {
    for (unsigned b = 0; b < routine_.blocks.size(); ++b) {
      look_through(b);
      for (unsigned p : routine_.blocks[b].predecessors) goes_to_[p].push_back(b);
    }
    find();
    load_before_loops();
    keep_for_next_group();
    until_stable(&BlockFacts::dirty, [&](unsigned b) {
      RegisterSet dirty;
      for (unsigned p : routine_.blocks[b].predecessors)
        dirty |= (facts_.blocks[p].dirty & ~in_wave_again_[p]) | written_[p];
      return dirty & facts_.blocks[b].held;
    });
  }

 private:
  void look_through(unsigned b) {
    RegisterSet &touched = touched_[b], &written = written_[b];
    for (unsigned n = routine_.blocks[b].first; n < routine_.blocks[b].last; ++n) {
      const NodeFacts& node = facts_.nodes[n];
      const NodeKind kind = routine_.nodes[n].kind;
      // The interpreter does not touch what the host holds: it finds all in the Wave.
      if (kind == NodeKind::step || kind == NodeKind::outside) continue;
      if (node.access_call == AccessCall::always) {
        touched = written = {};
        in_wave_again_[b].set();
        continue;
      }
      if (kind == NodeKind::call || kind == NodeKind::matrix) {
        touched |= node.effects.reloaded | node.effects.writes;
        written |= node.effects.writes;
        continue;
      }
      // In loops what M0 chooses from stays in the Wave: it would be stored and loaded in each round.
      if (kind == NodeKind::indexed) {
        const RegisterSet chosen_from = vgprs_chosen_from(node.effects);
        in_wave_again_[b] |= chosen_from;
        touched = (touched & ~chosen_from) | node.effects.writes;
        written = (written & ~chosen_from) | node.effects.writes;
        continue;
      }
      // Of what may be read where a jump goes nothing is touched.
      if (kind != NodeKind::jump) touched |= node.effects.reads;
      touched |= node.effects.writes;
      written |= node.effects.writes;
    }
    // Conditions of branches and masked accesses read it.
    touched |= exec_registers(routine_.wave_size);
  }

  template <typename Value>
  void until_stable(RegisterSet BlockFacts::* set, const Value& value) {
    for (unsigned b = static_cast<unsigned>(routine_.blocks.size()); b-- > 0;)
      if (!routine_.blocks[b].predecessors.empty()) work_.add(b);
    while (!work_.empty()) {
      const unsigned b = work_.take();
      const RegisterSet now = value(b);
      if (now == facts_.blocks[b].*set) continue;
      facts_.blocks[b].*set = now;
      for (unsigned successor : goes_to_[b]) work_.add(successor);
    }
  }

  RegisterSet held_at_end(unsigned b) const {
    return (facts_.blocks[b].held & ~in_wave_again_[b]) | touched_[b];
  }

  void find() {
    for (unsigned b = 0; b < routine_.blocks.size(); ++b)
      if (!routine_.blocks[b].predecessors.empty()) facts_.blocks[b].held.set();
    until_stable(&BlockFacts::held, [&](unsigned b) {
      RegisterSet held = facts_.blocks[b].live_in.all();
      for (unsigned p : routine_.blocks[b].predecessors) held &= held_at_end(p);
      return held;
    });
  }

  // What changes in a loop, and is held at the end of each round, is loaded on the ways into it: else each
  // round would store it to the Wave, and load it from there.
  void load_before_loops() {
    LoopEntries loops;
    find_loop_entries(routine_, all_blocks(routine_), 0, loops);
    for (bool is_more = true; is_more;) {
      is_more = false;
      for (const auto& [entry, loop] : loops) {
        RegisterSet written, wanted = facts_.blocks[entry].live_in.all() & ~facts_.blocks[entry].held;
        for (unsigned b : loop) written |= written_[b];
        wanted &= written;
        for (unsigned p : routine_.blocks[entry].predecessors)
          if (loop.contains(p)) wanted &= held_at_end(p);
        if (wanted.none()) continue;
        is_more = true;
        for (unsigned p : routine_.blocks[entry].predecessors)
          if (!loop.contains(p)) touched_[p] |= wanted;
      }
      if (is_more) find();
    }
  }

  // What a wave begins with stays in the Wave for the next group's: if it changes, it is held on all ways.
  void keep_for_next_group() {
    if (!stores_registers_at_exits_only(routine_)) return;
    RegisterSet in_wave, all_written;
    for (unsigned b = 0; b < routine_.blocks.size(); ++b) {
      all_written |= written_[b];
      if (!routine_.blocks[b].predecessors.empty())
        in_wave |= facts_.blocks[b].live_in.all() & ~facts_.blocks[b].held;
    }
    in_wave &= all_written & facts_.blocks[routine_.entry_block].live_in.all();
    if (in_wave.none()) return;
    for (RegisterSet& each : touched_) each |= in_wave;
    find();
  }

  const Routine& routine_;
  Facts& facts_;
  std::vector<RegisterSet> touched_, written_;
  std::vector<RegisterSet> in_wave_again_;  // of what was held before
  std::vector<std::vector<unsigned>> goes_to_;
  Worklist work_;
};

}  // namespace

// Held: held at the end of every predecessor. An entry through a stub that loads everything does not count;
// an entry block without other predecessors starts with nothing.
void find_held(const Routine& routine, Facts& facts) {
  HeldSearch(routine, facts).run();
}

}  // namespace lockstep::translator
