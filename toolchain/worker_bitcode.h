// Makes device libraries for gfx11 out of those of rocm-device-libs 5.2, which end at gfx10.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::toolchain {

// Fills `directory` with the libraries from `source`. Reads bitcode, so it is for the worker only.
bool make_device_libraries(const std::filesystem::path& source, const std::filesystem::path& directory,
                           std::string& error);

}  // namespace lockstep::toolchain
