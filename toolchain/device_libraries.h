// Makes Debian's rocm-device-libs (5.2, older than gfx11) fit for gfx11 and clang 19.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::toolchain {

// Fills `directory` with the libraries from `source`, adapted. False on failure, with the reason.
bool prepare_device_libraries(const std::filesystem::path& source, const std::filesystem::path& directory,
                              std::string& error);

// Where the package puts them, or an empty path with the advice in `error`.
std::filesystem::path find_device_libraries(std::string& error);

}  // namespace lockstep::toolchain
