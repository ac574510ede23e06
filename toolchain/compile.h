// Turns assembly, OpenCL C and HIP source into gfx11 code objects (loadable ELF shared objects).
// Nothing of it is parsed in this process: assembly goes through LLVM's assembler and lld in a worker
// (toolchain/worker_client.h), OpenCL C and HIP through clang-19 with Debian's rocm-device-libs; both are
// held to limits on time, memory and files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::toolchain {

enum class Language { assembly, opencl, hip, llvm_ir, spirv };

// By file extension: .s .S .asm; .cl, .clcpp (C++ for OpenCL); .hip .cu; .ll .bc; .spv. C++ (.cpp .cc .cxx)
// is C++ for OpenCL where the file has __kernel and no __global__, else HIP. Nothing for others.
std::optional<Language> language_of(const std::filesystem::path& path);
std::string_view name(Language language);

// The kernel that is put round an assembly listing that has no .amdhsa_kernel of its own. Defaults are
// generous: a listing seldom says what it needs. Registers at entry: s[0:1] kernel arguments, s2 s3 s4
// work-group id, v0 work-item id (x | y << 10 | z << 20). An s_endpgm is put behind the listing. There is no
// metadata: whoever runs it lays out the arguments.
struct ListingKernel {
  std::string name = "main";
  unsigned vgprs = 256;
  unsigned lds_bytes = 65536;
  unsigned scratch_bytes_per_lane = 16384;
  unsigned kernarg_bytes = 1024;
};

// What a compiler may take before it is stopped. 0: LOCKSTEP_COMPILE_SECONDS and LOCKSTEP_COMPILE_MEGABYTES
// of the environment, else 60 s and 2048 MB for assembly, 1800 s and 8192 MB for the other languages.
struct Limits {
  unsigned seconds = 0;  // of processor time
  uint64_t megabytes = 0;
};

struct Options {
  std::string processor = "gfx1100";  // any gfx11 that LLVM 19 knows
  unsigned wave_size = 32;            // 32 or 64
  unsigned code_object_version = 5;   // 4, 5 or 6
  bool debug_info = false;            // all of it; else line tables alone, and of assembly none
  unsigned optimization = 2;          // 0 to 3; not for assembly
  // OpenCL kernels that do not say how large their work-groups are get code for so many work-items; 0: as
  // ROCm, 256.
  unsigned work_group_size = 0;
  std::string opencl_standard = "CL2.0";
  std::string hip_standard = "c++20";
  // Assembly finds .include and .incbin below these and, in compile_file(), below the folder of the source,
  // and nowhere else.
  std::vector<std::filesystem::path> include_directories;
  std::vector<std::string> extra_flags;  // passed to clang as they are; for assembly only -I DIRECTORY
  // Source files of the same language, or LLVM IR, that become part of the same code object. Each is compiled
  // by itself; what is not static is seen by all of them. Not for assembly, which has .include.
  std::vector<std::filesystem::path> more_sources;
  ListingKernel listing;
  Limits limits;
  std::function<bool()> cancelled = {};  // asked about ten times a second; true: stop
};

struct Result {
  std::vector<std::byte> code_object;  // empty if compilation failed
  std::string diagnostics;  // errors and warnings, "file:line:column: error: ..." where there is a place

  explicit operator bool() const { return !code_object.empty(); }
};

// `name` stands for the source in messages and in debug information. None of these throws for bad input or a
// missing compiler: the result says what is wrong and how to mend it. All may be called from several threads.
Result assemble(std::string_view text, std::string_view name, const Options& options = {});
Result compile_text(Language language, std::string_view text, std::string_view name,
                    const Options& options = {});
Result compile_file(Language language, const std::filesystem::path& path, const Options& options = {});

// The directory with device libraries for gfx11 and our HIP headers (sub-directories `bitcode` and
// `include`), made on first use in the user's cache. Empty on failure, with the reason in `error`.
std::filesystem::path prepared_directory(std::string& error);

}  // namespace lockstep::toolchain
