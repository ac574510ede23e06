#include "engine/translator/walk_plan.h"

#include <algorithm>
#include <optional>

#include "engine/translator/effects.h"
#include "engine/translator/operands.h"
#include "engine/translator/worklist.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {
namespace {

// Each brings some 300 host instructions and eight rows of lanes on the stack.
constexpr size_t kMostWalks = 6;

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

}  // namespace

std::vector<WalkingLoad> find_walks(const Routine& routine, unsigned piece_index) {
  const Piece& piece = routine.pieces[piece_index];
  std::vector<WalkingLoad> walks;
  for (unsigned b = piece.first; b < piece.last; ++b) {
    const Block& block = routine.blocks[b];
    const bool has_global =
        std::any_of(routine.nodes.begin() + block.first, routine.nodes.begin() + block.last,
                    [](const Node& node) { return node.kind == NodeKind::global; });
    const std::optional<Loop> loop = has_global ? loop_around(routine, b, piece) : std::nullopt;
    if (!loop) continue;
    std::vector<RegisterSet> loaded(loop->last - loop->first + 1);
    RegisterSet written;
    Worklist work(loaded.size());
    for (unsigned i = loop->first; i <= loop->last; ++i) work.add(i - loop->first);
    while (!work.empty()) {
      const unsigned i = work.take();
      const Block& each = routine.blocks[loop->first + i];
      RegisterSet state = loaded[i];
      for (unsigned n = each.first; n < each.last; ++n) {
        const Effects effects = effects_of(routine.nodes[n], routine.wave_size, routine.vgpr_count);
        written |= effects.writes;
        follow(routine.nodes[n], effects, state);
      }
      for (const int to : {each.taken, each.next}) {
        if (to < static_cast<int>(loop->first) || to > static_cast<int>(loop->last)) continue;
        RegisterSet& there = loaded[static_cast<unsigned>(to) - loop->first];
        if ((state & ~there).none()) continue;
        there |= state;
        work.add(static_cast<unsigned>(to) - loop->first);
      }
    }
    RegisterSet state = loaded[b - loop->first];
    for (unsigned n = block.first; n < block.last; ++n) {
      const Node& node = routine.nodes[n];
      if (node.kind == NodeKind::global) {
        const GlobalOperands operands = global_operands(node.instruction);
        const unsigned address = operands.address.vgpr();
        bool moves = written[address], is_loaded = state[address];
        if (operands.base) {
          const auto base = source_of(*operands.base, node.instruction);
          moves |= base && !base->is_constant && written[base->first];
        } else {
          is_loaded |= state[address + 1];
        }
        // What asks for a look past the caches gets one.
        const bool is_cached = !node.instruction.glc && !node.instruction.dlc;
        if (operands.is_load() && operands.shape.part == isa::RegisterPart::whole &&
            (operands.shape.bytes == 4 || operands.shape.bytes == 8) && is_cached && moves && !is_loaded)
          walks.push_back({n, b});
      }
      follow(node, effects_of(node, routine.wave_size, routine.vgpr_count), state);
    }
  }
  if (walks.size() > kMostWalks) walks.clear();
  return walks;
}

}  // namespace lockstep::translator
