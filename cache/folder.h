// Where a user's runs leave what later ones may use.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::cache {

// A writable directory of this user that outlives the process: $XDG_CACHE_HOME/lockstep, ~/.cache/lockstep,
// or lockstep-<uid> in the temporary directory if it belongs to this user alone. Empty on failure.
std::filesystem::path user_directory(std::string& error);

// Nobody but this user and root can put a file there, or another folder in its place.
bool is_private(const std::filesystem::path& folder);

}  // namespace lockstep::cache
