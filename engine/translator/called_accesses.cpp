#include "engine/translator/called_accesses.h"

#include <algorithm>
#include <vector>

#include "engine/translator/address_plan.h"

namespace lockstep::translator {
namespace {

// The ways of an access whose lanes may be anywhere are some hundred host instructions, whose registers the
// code generator has to find places for across all of them. That pays where waves come often. A piece with
// more accesses than these outside of its loops takes seconds to translate, and each wave goes through it for
// some microseconds, once: there they are calls. Blocks have a first version for regular addresses only where
// most of their accesses are such; second versions call for all.
constexpr unsigned kMostInline = 32;

// Whether waves may come there often without leaving the function. Loops through several pieces store and
// load their registers in each round, and are as long as these.
std::vector<bool> blocks_in_loops(const Routine& routine, const Piece& piece) {
  std::vector<bool> result(piece.last - piece.first);
  for (unsigned i = piece.first; i < piece.last; ++i)
    for (int to : {routine.blocks[i].taken, routine.blocks[i].next})
      if (to >= static_cast<int>(piece.first) && to <= static_cast<int>(i))
        std::fill(result.begin() + to - piece.first, result.begin() + i + 1 - piece.first, true);
  return result;
}

}  // namespace

void find_called_accesses(const Routine& routine, Facts& facts) {
  // Routines of one piece are short; their waves may run in rows, and leave their registers alone.
  if (routine.pieces.size() < 2) return;
  const std::vector<AddressPlan> plans = plan_addresses(routine, facts, false);
  const auto is_regular = [&](unsigned b, unsigned n) {
    return plans[b].has_regular(n - routine.blocks[b].first);
  };
  for (const Piece& piece : routine.pieces) {
    const std::vector<bool> is_in_loop = blocks_in_loops(routine, piece);
    std::vector<std::vector<unsigned>> accesses(piece.last - piece.first);  // by block
    std::vector<size_t> irregular(accesses.size());
    size_t count = 0;
    for (unsigned b = piece.first; b < piece.last; ++b) {
      if (is_in_loop[b - piece.first]) continue;
      for (unsigned n = routine.blocks[b].first; n < routine.blocks[b].last; ++n) {
        if (routine.nodes[n].kind != NodeKind::global) continue;
        accesses[b - piece.first].push_back(n);
        irregular[b - piece.first] += !is_regular(b, n);
        ++count;
      }
    }
    if (count <= kMostInline) continue;
    for (unsigned b = piece.first; b < piece.last; ++b) {
      const std::vector<unsigned>& all = accesses[b - piece.first];
      const bool has_first_version = 2 * irregular[b - piece.first] < all.size();
      for (unsigned n : all)
        facts.nodes[n].access_call =
            has_first_version && is_regular(b, n) ? AccessCall::where_irregular : AccessCall::always;
    }
  }
}

}  // namespace lockstep::translator
