#include "engine/translator/loop_accesses.h"

#include <algorithm>
#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "engine/translator/classify.h"
#include "engine/translator/effects.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {
namespace {

struct Loop {
  unsigned first, last;  // blocks
  auto operator<=>(const Loop&) const = default;
};

// The smallest one that has the block.
std::optional<Loop> loop_around(const Routine& routine, unsigned block, const Piece& piece) {
  std::optional<Loop> loop;
  for (unsigned i = block; i < piece.last; ++i) {
    const int to = routine.blocks[i].taken;
    if (to < static_cast<int>(piece.first) || to > static_cast<int>(block)) continue;
    const Loop around{static_cast<unsigned>(to), i};
    if (!loop || around.last - around.first < loop->last - loop->first) loop = around;
  }
  return loop;
}

// The smallest one that goes round that loop.
std::optional<Loop> loop_around(const Routine& routine, const Loop& inner, const Piece& piece) {
  std::optional<Loop> loop;
  for (unsigned i = inner.last; i < piece.last; ++i) {
    const int to = routine.blocks[i].taken;
    if (to < static_cast<int>(piece.first) || to >= static_cast<int>(inner.first)) continue;
    const Loop around{static_cast<unsigned>(to), i};
    if (!loop || around.last - around.first < loop->last - loop->first) loop = around;
  }
  return loop;
}

// What is followed through a loop.
enum class From {
  loads,   // what the loop's own loads bring
  rounds,  // what it has from an earlier round; and, as nobody knows, what LDS holds and unknown code leaves
};

bool is_from(From from, const Node& node, const RegisterSet& reads, const RegisterSet& followed) {
  switch (node.kind) {
    case NodeKind::vector_alu:
    case NodeKind::scalar_alu:
      return (reads & followed).any();
    case NodeKind::get_pc:
      return false;
    case NodeKind::global:
    case NodeKind::scalar_load:
      return from == From::loads || (reads & followed).any();
    default:
      return true;
  }
}

// Keeps the registers that hold it, or what is computed from it.
void follow(From from, const Node& node, const Effects& effects, RegisterSet& followed) {
  if (node.kind == NodeKind::dual) {
    RegisterSet written, results;
    for (const HalfEffects& half : effects_of_halves(node.instruction)) {
      written |= half.writes;
      if ((half.reads & followed).any()) results |= half.writes;
    }
    followed = (followed & ~written) | results;
    return;
  }
  RegisterSet reads = effects.reads;
  reads.reset(kExec);
  reads.reset(kExec + 1);
  const RegisterSet written = effects.writes | effects.reloaded;
  if (is_from(from, node, reads, followed))
    followed |= written;
  else
    followed &= ~written;
}

// At the begin of each of the loop's blocks. `before`: at that of each round.
std::vector<RegisterSet> followed_in(const Routine& routine, const Loop& loop, From from,
                                     const RegisterSet& before) {
  std::vector<RegisterSet> followed(loop.last - loop.first + 1);
  followed[0] = before;
  Worklist work(followed.size());
  for (unsigned i = loop.first; i <= loop.last; ++i) work.add(i - loop.first);
  while (!work.empty()) {
    const unsigned i = work.take();
    const Block& block = routine.blocks[loop.first + i];
    RegisterSet state = followed[i];
    for (unsigned n = block.first; n < block.last; ++n)
      follow(from, routine.nodes[n], effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count),
             state);
    for (const int to : {block.taken, block.next}) {
      if (to < static_cast<int>(loop.first) || to > static_cast<int>(loop.last)) continue;
      RegisterSet& there = followed[static_cast<unsigned>(to) - loop.first];
      if ((state & ~there).none()) continue;
      there |= state;
      work.add(static_cast<unsigned>(to) - loop.first);
    }
  }
  return followed;
}

RegisterSet written_in(const Routine& routine, const Loop& loop) {
  RegisterSet written;
  for (unsigned n = routine.blocks[loop.first].first; n < routine.blocks[loop.last].last; ++n)
    written |= effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count).writes;
  return written;
}

// A GLOBAL or FLAT access, of what is followed there: whether its address in VGPRs has it, and its base.
std::pair<bool, bool> has_followed(const Node& node, const RegisterSet& followed) {
  const GlobalOperands operands = global_operands(node.instruction);
  const unsigned address = operands.address.vgpr();
  if (!operands.base) return {followed[address] || followed[address + 1], false};
  const auto base = source_of(*operands.base, node.instruction);
  const bool has_base = base && !base->is_constant && (followed[base->first] || followed[base->first + 1]);
  return {followed[address], has_base};
}

bool has_accesses(const Routine& routine, const Block& block) {
  return std::any_of(routine.nodes.begin() + block.first, routine.nodes.begin() + block.last,
                     [](const Node& node) { return node.kind == NodeKind::global; });
}

// Calls `visit` for each access that is in such a loop, with what is followed there.
void visit_accesses(const Routine& routine, const Piece& piece, From from,
                    const std::function<std::optional<Loop>(unsigned block)>& loop_of,
                    const std::function<RegisterSet(const Loop& loop)>& before,
                    const std::function<void(unsigned node, unsigned block, const Loop& loop,
                                             const RegisterSet& followed)>& visit) {
  std::map<Loop, std::vector<RegisterSet>> known;
  for (unsigned b = piece.first; b < piece.last; ++b) {
    const Block& block = routine.blocks[b];
    const std::optional<Loop> loop = has_accesses(routine, block) ? loop_of(b) : std::nullopt;
    if (!loop) continue;
    std::vector<RegisterSet>& followed = known[*loop];
    if (followed.empty()) followed = followed_in(routine, *loop, from, before(*loop));
    RegisterSet state = followed[b - loop->first];
    for (unsigned n = block.first; n < block.last; ++n) {
      const Node& node = routine.nodes[n];
      if (node.kind == NodeKind::global) visit(n, b, *loop, state);
      follow(from, node, effects_of(node, routine.wave_size, routine.vgpr_count), state);
    }
  }
}

}  // namespace

std::vector<LoopAccess> find_loop_accesses(const Routine& routine, unsigned piece_index) {
  const Piece& piece = routine.pieces[piece_index];
  std::vector<LoopAccess> accesses;
  std::map<Loop, RegisterSet> written;
  visit_accesses(
      routine, piece, From::loads, [&](unsigned block) { return loop_around(routine, block, piece); },
      [&](const Loop& loop) {
        written[loop] = written_in(routine, loop);
        return RegisterSet{};
      },
      [&](unsigned n, unsigned block, const Loop& loop, const RegisterSet& loaded) {
        const Node& node = routine.nodes[n];
        const GlobalOperands operands = global_operands(node.instruction);
        const RegisterSet& changed = written.at(loop);
        bool moves = changed[operands.address.vgpr()];
        if (operands.base)
          if (const auto base = source_of(*operands.base, node.instruction); base && !base->is_constant)
            moves |= changed[base->first];
        const auto [is_loaded, base_is_loaded] = has_followed(node, loaded);
        accesses.push_back({n, block, moves, is_loaded, base_is_loaded});
      });
  return accesses;
}

std::vector<unsigned> find_accesses_again(const Routine& routine, const Facts& facts, unsigned piece_index) {
  const Piece& piece = routine.pieces[piece_index];
  std::vector<unsigned> again;
  visit_accesses(
      routine, piece, From::rounds,
      [&](unsigned block) {
        const std::optional<Loop> inner = loop_around(routine, block, piece);
        return inner ? loop_around(routine, *inner, piece) : std::nullopt;
      },
      [&](const Loop& loop) { return facts.blocks[loop.first].live_in.all() & written_in(routine, loop); },
      [&](unsigned n, unsigned, const Loop&, const RegisterSet& carried) {
        if (has_followed(routine.nodes[n], carried) == std::pair(false, false)) again.push_back(n);
      });
  return again;
}

}  // namespace lockstep::translator
