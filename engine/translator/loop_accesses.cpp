#include "engine/translator/loop_accesses.h"

#include <algorithm>
#include <optional>

#include "engine/translator/classify.h"
#include "engine/translator/effects.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"

namespace lockstep::translator {
namespace {

struct Loop {
  unsigned first, last;  // blocks
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

// What the loop's own loads brought, or was computed from it.
void follow(const Node& node, const Effects& effects, RegisterSet& loaded) {
  if (node.kind == NodeKind::dual) {
    RegisterSet written, from_loaded;
    for (const HalfEffects& half : effects_of_halves(node.instruction)) {
      written |= half.writes;
      if ((half.reads & loaded).any()) from_loaded |= half.writes;
    }
    loaded = (loaded & ~written) | from_loaded;
    return;
  }
  RegisterSet reads = effects.reads;
  reads.reset(kExec);
  reads.reset(kExec + 1);
  bool is_loaded = false;
  switch (node.kind) {
    case NodeKind::vector_alu:
    case NodeKind::scalar_alu:
      is_loaded = (reads & loaded).any();
      break;
    case NodeKind::get_pc:
      break;
    default:
      is_loaded = true;
  }
  const RegisterSet written = effects.writes | effects.reloaded;
  if (is_loaded)
    loaded |= written;
  else
    loaded &= ~written;
}

// At the begin of each of its blocks.
std::vector<RegisterSet> loaded_in(const Routine& routine, const Loop& loop) {
  std::vector<RegisterSet> loaded(loop.last - loop.first + 1);
  Worklist work(loaded.size());
  for (unsigned i = loop.first; i <= loop.last; ++i) work.add(i - loop.first);
  while (!work.empty()) {
    const unsigned i = work.take();
    const Block& block = routine.blocks[loop.first + i];
    RegisterSet state = loaded[i];
    for (unsigned n = block.first; n < block.last; ++n)
      follow(routine.nodes[n], effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count), state);
    for (const int to : {block.taken, block.next}) {
      if (to < static_cast<int>(loop.first) || to > static_cast<int>(loop.last)) continue;
      RegisterSet& there = loaded[static_cast<unsigned>(to) - loop.first];
      if ((state & ~there).none()) continue;
      there |= state;
      work.add(static_cast<unsigned>(to) - loop.first);
    }
  }
  return loaded;
}

RegisterSet written_in(const Routine& routine, const Loop& loop) {
  RegisterSet written;
  for (unsigned n = routine.blocks[loop.first].first; n < routine.blocks[loop.last].last; ++n)
    written |= effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count).writes;
  return written;
}

}  // namespace

std::vector<LoopAccess> find_loop_accesses(const Routine& routine, unsigned piece_index) {
  const Piece& piece = routine.pieces[piece_index];
  std::vector<LoopAccess> accesses;
  for (unsigned b = piece.first; b < piece.last; ++b) {
    const Block& block = routine.blocks[b];
    const bool has_global =
        std::any_of(routine.nodes.begin() + block.first, routine.nodes.begin() + block.last,
                    [](const Node& node) { return node.kind == NodeKind::global; });
    const std::optional<Loop> loop = has_global ? loop_around(routine, b, piece) : std::nullopt;
    if (!loop) continue;
    const RegisterSet written = written_in(routine, *loop);
    RegisterSet loaded = loaded_in(routine, *loop)[b - loop->first];
    for (unsigned n = block.first; n < block.last; ++n) {
      const Node& node = routine.nodes[n];
      if (node.kind == NodeKind::global) {
        const GlobalOperands operands = global_operands(node.instruction);
        const unsigned address = operands.address.vgpr();
        LoopAccess access{n, b, written[address], loaded[address]};
        if (!operands.base) {
          access.is_loaded |= loaded[address + 1];
        } else if (const auto base = source_of(*operands.base, node.instruction);
                   base && !base->is_constant) {
          access.moves |= written[base->first];
          access.base_is_loaded = loaded[base->first] || loaded[base->first + 1];
        }
        accesses.push_back(access);
      }
      follow(node, effects_of(node, routine.wave_size, routine.vgpr_count), loaded);
    }
  }
  return accesses;
}

}  // namespace lockstep::translator
