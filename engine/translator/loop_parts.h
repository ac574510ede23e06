// Loops of a routine, whatever their shape.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "engine/translator/routine.h"

namespace lockstep::translator {

// Blocks among `blocks` that control goes to from each other, if it stays among them: parts of more than one.
std::vector<std::set<unsigned>> loop_parts(const Routine& routine, const std::set<unsigned>& blocks);

// The block of a part through which all ways into it go; nothing if there are several.
std::optional<unsigned> header_of_part(const Routine& routine, const std::set<unsigned>& part);

}  // namespace lockstep::translator
