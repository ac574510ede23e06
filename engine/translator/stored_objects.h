// The host code of routines as it is kept for other processes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/translator/code_generator.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

// The name of a routine's objects: all that goes into them, which is the routine, this build of Lockstep,
// LLVM and the host's processor. Empty if the build has no name: then nothing can be kept.
std::string stored_key(const Routine& routine);

// An object for each piece.
std::string packed(const std::vector<Object>& objects);
// Nothing if it is not what packed() made for a routine of so many pieces.
std::optional<std::vector<Object>> unpacked(std::string_view text, size_t pieces);

// The build ID of the program or library that has the address: a hash of its contents, which linkers leave
// there. Empty if it has none.
std::string build_id_of(const void* address);

}  // namespace lockstep::translator
