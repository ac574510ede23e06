// Loops of a routine, whatever their shape.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// Loops in so many others are looked for: in each of these again.
inline constexpr unsigned kMostLoopsAround = 8;

std::set<unsigned> all_blocks(const Routine& routine);

// Blocks among `blocks` that control goes to from each other, if it stays among them: parts of more than one.
std::vector<std::set<unsigned>> loop_parts(const Routine& routine, const std::set<unsigned>& blocks);

// The block of a part through which all ways into it go; nothing if there are several.
std::optional<unsigned> header_of_part(const Routine& routine, const std::set<unsigned>& part);

}  // namespace lockstep::translator
