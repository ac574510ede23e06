// Makes device libraries for gfx11 out of those of rocm-device-libs 5.2, which end at gfx10. For the worker
// only, since it reads bitcode.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace lockstep::toolchain {

std::unique_ptr<llvm::Module> read_module(const std::filesystem::path& path, llvm::LLVMContext& context,
                                          std::string& error);
bool write_module(const llvm::Module& module, const std::filesystem::path& path, std::string& error);

// Fills `directory` with the libraries from `source`.
bool make_device_libraries(const std::filesystem::path& source, const std::filesystem::path& directory,
                           std::string& error);

}  // namespace lockstep::toolchain
