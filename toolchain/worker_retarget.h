// What a translator of SPIR-V makes is LLVM IR for SPIR's address spaces; this makes it IR for amdgcn.
#pragma once

#include <filesystem>
#include <string>

namespace lockstep::toolchain {

// Reads bitcode for spir or spir64 and writes bitcode for amdgcn-amd-amdhsa, with that of `printing`
// (lockstep/opencl_printf.h) if it calls printf. `code_object_version` is 4 to 6.
bool retarget_bitcode(const std::filesystem::path& from, const std::filesystem::path& to,
                      const std::filesystem::path& printing, unsigned code_object_version,
                      std::string& error);

}  // namespace lockstep::toolchain
