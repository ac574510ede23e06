// How text that others wrote (names in files, paths, lines of source) is shown in messages and on terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

// Names in messages are cut behind so many bytes.
inline constexpr size_t kShownName = 256;

// The text with everything that a terminal would obey instead of showing as \xNN: control characters
// (newlines too), marks that change the direction of writing, and bytes that are no UTF-8. A longer text is
// cut behind `most` bytes and ends with "...".
std::string visible(std::string_view text, size_t most = kShownName);

// The same for a text of several lines, of any length: newlines and tabs stay.
std::string visible_lines(std::string_view text);

}  // namespace lockstep
