#pragma once

#include <filesystem>
#include <string>

namespace lockstep::cli {

// What keeps the dynamic loader of this machine from loading all of a library; empty: nothing that its
// headers tell. The loader itself would only warn of a library that is to be preloaded, and of one that is
// cut off it maps pages that are not there.
std::string fault_of_shared_object(const std::filesystem::path& path);

}  // namespace lockstep::cli
