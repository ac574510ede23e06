#include "toolchain/compile.h"

#include <llvm/Config/llvm-config.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "cache/folder.h"
#include "cache/key.h"
#include "cache/store.h"
#include "toolchain/compile_cache.h"
#include "toolchain/confinement.h"
#include "toolchain/device_libraries.h"
#include "toolchain/files.h"
#include "toolchain/files_read.h"
#include "toolchain/headers.h"
#include "toolchain/installed.h"
#include "toolchain/options.h"
#include "toolchain/process.h"
#include "toolchain/spirv.h"
#include "toolchain/wrong_code.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr char kExtensions[] =
    "OpenCL C .cl, .clcpp; HIP .hip, .cu; C++ .cpp, .cc, .cxx; LLVM IR .ll, .bc; SPIR-V .spv";
constexpr Limits kLimits{.seconds = 1800, .megabytes = 8192};

// Raise when what prepared_directory() puts into the cache changes other than through its inputs.
constexpr unsigned kCacheFormat = 3;

class Hash {  // FNV-1a
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ uint8_t(c)) * 0x100000001b3u;
    value_ = (value_ ^ 0xff) * 0x100000001b3u;
  }
  void add(uint64_t number) { add(std::to_string(number)); }
  std::string text() const {
    char digits[17];
    snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value_));
    return digits;
  }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

std::string cache_key(const fs::path& libraries) {
  Hash hash;
  hash.add(kCacheFormat);
  hash.add(LLVM_VERSION_STRING);
  for (const char* name : {"opencl.bc", "ockl.bc", "ocml.bc"}) {
    std::error_code ignored;
    hash.add((libraries / name).string());
    hash.add(fs::file_size(libraries / name, ignored));
    hash.add(uint64_t(fs::last_write_time(libraries / name, ignored).time_since_epoch().count()));
  }
  for (const Header& header : embedded_headers()) {
    hash.add(header.path);
    hash.add(header.text);
  }
  return hash.text();
}

bool fill(const fs::path& directory, const fs::path& libraries, std::string& error) {
  std::error_code failed;
  fs::create_directory(directory / "bitcode", failed);
  if (failed) {
    error = "cannot make " + (directory / "bitcode").string() + ": " + failed.message();
    return false;
  }
  if (!prepare_device_libraries(libraries, directory / "bitcode", error)) return false;
  for (const Header& header : embedded_headers()) {
    const fs::path path = directory / "include" / header.path;
    fs::create_directories(path.parent_path(), failed);
    if (!write_file(path, header.text, error)) return false;
  }
  // By this file clang takes the folder for a ROCm, and brings its own headers for HIP.
  fs::create_directories(directory / "share/hip", failed);
  return write_file(directory / "share/hip/version",
                    "HIP_VERSION_MAJOR=6\nHIP_VERSION_MINOR=0\nHIP_VERSION_PATCH=0\n", error);
}

// Processes may prepare at the same time: each fills a directory of its own, and one rename wins.
fs::path prepare(std::string& error) {
  const fs::path libraries = find_device_libraries(error);
  if (libraries.empty()) return {};
  const fs::path folder = cache::user_directory(error);
  if (folder.empty()) return {};
  const fs::path ready = folder / ("toolchain-" + cache_key(libraries));
  std::error_code failed;
  if (fs::exists(ready, failed)) return ready;
  const fs::path staging = make_staging_directory(ready, error);
  if (staging.empty()) return {};
  const bool filled = fill(staging, libraries, error);
  if (filled) fs::rename(staging, ready, failed);
  std::error_code ignored;
  if (!filled || failed) fs::remove_all(staging, ignored);
  if (!filled) return {};
  if (failed && !fs::exists(ready, ignored)) {
    error = "cannot rename " + staging.string() + " to " + ready.string() + ": " + failed.message();
    return {};
  }
  return ready;
}

// Headers of ours that OpenCL C source needs for what it uses, by the words that show it.
struct ExtraHeader {
  std::string_view word;
  const char* header;
};
constexpr ExtraHeader kOpenClHeaders[] = {{"printf", "lockstep/opencl_printf.h"},
                                          {"amd_", "lockstep/opencl_amd.h"},
                                          {"clock_read_", "lockstep/opencl_clock.h"},
                                          {"sub_group_shuffle", "lockstep/opencl_shuffles.h"}};

// Files of C++, by their names alone.
bool is_cpp_name(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".cpp" || extension == ".cc" || extension == ".cxx";
}

void add_opencl_flags(std::vector<std::string>& arguments, const std::string& path, std::string_view text,
                      const Options& options, const fs::path& prepared) {
  const bool is_cpp = path.ends_with(".clcpp") || is_cpp_name(path);
  for (const char* flag : {"-x", is_cpp ? "clcpp" : "cl", "--target=amdgcn-amd-amdhsa"})
    arguments.push_back(flag);
  arguments.push_back("-mcpu=" + options.processor);
  arguments.push_back("-cl-std=" + (is_cpp ? "CLC++2021" : options.opencl_standard));
  arguments.push_back("-cl-kernel-arg-info");  // names, so that a caller may set arguments by name
  for (const ExtraHeader& extra : kOpenClHeaders) {
    if (text.find(extra.word) == text.npos) continue;
    arguments.push_back("-include");
    arguments.push_back(prepared / "include" / extra.header);
  }
  // clang has no option for it. A word of its own is not expanded again.
  if (options.work_group_size > 256)
    for (const std::string& word : {std::string("__kernel"), std::string("kernel")})
      arguments.push_back("-D" + word + "=__attribute__((amdgpu_flat_work_group_size(1," +
                          std::to_string(options.work_group_size) + "))) " + word);
}

void add_ir_flags(std::vector<std::string>& arguments, const Options& options) {
  // Text that names no target is for this one.
  for (const char* flag : {"-x", "ir", "--target=amdgcn-amd-amdhsa", "-Wno-override-module"})
    arguments.push_back(flag);
  arguments.push_back("-mcpu=" + options.processor);
}

void link_bitcode(std::vector<std::string>& arguments, const fs::path& bitcode) {
  arguments.insert(arguments.end(), {"-Xclang", "-mlink-bitcode-file", "-Xclang", bitcode});
}

void add_hip_flags(std::vector<std::string>& arguments, const Options& options, const fs::path& prepared) {
  for (const char* flag : {"-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output"})
    arguments.push_back(flag);
  arguments.push_back("--offload-arch=" + options.processor);
  arguments.push_back("-std=" + options.hip_standard);
  // Kernels in files without an include, as other files include them, find the language, too.
  const fs::path rocm = find_rocm();
  const fs::path headers = (rocm.empty() ? prepared : rocm) / "include";
  arguments.push_back("--rocm-path=" + (rocm.empty() ? prepared : rocm).string());
  arguments.push_back("-isystem");
  arguments.push_back(headers);
  arguments.push_back("-include");
  arguments.push_back(headers / "hip/hip_runtime.h");
  if (rocm.empty())
    arguments.push_back("-DLOCKSTEP_CODE_OBJECT_VERSION=" + std::to_string(options.code_object_version));
}

// What a message of clang means for somebody who did not install it.
std::string advice(const std::string& messages) {
  if (messages.find("ld.lld") != messages.npos && messages.find("doesn't exist") != messages.npos)
    return "note: the linker is missing: install the Debian package lld-19 (apt-get install lld-19)\n";
  if (messages.find("undefined hidden symbol: __printf_alloc") != messages.npos ||
      messages.find("undefined symbol: __printf_alloc") != messages.npos)
    return "note: printf is used in an included file: write its name in the main source too, or pass "
           "-include "
           "lockstep/opencl_printf.h\n";
  if (messages.find("undefined hidden symbol: ") != messages.npos ||
      messages.find("undefined symbol: ") != messages.npos)
    return "note: it is declared, and no file that was given defines it: give the file that does, too "
           "(several "
           "source files become one code object), or define it\n";
  if (messages.find("'cuda_runtime.h' file not found") != messages.npos ||
      messages.find("'cuda.h' file not found") != messages.npos)
    return "note: this is CUDA, and HIP is compiled here, which is written alike: hipify-perl or "
           "hipify-clang of ROCm "
           "translate it\n";
  for (const char* library :
       {"hipcub", "thrust", "rocprim", "hipblas", "rocblas", "hiprand", "rocrand", "hipsparse", "rocsparse",
        "hipfft", "rocfft", "hipsolver", "rocsolver", "rccl", "rocwmma"})
    if (messages.find("fatal error: '" + std::string(library) + "/") != messages.npos &&
        messages.find("file not found") != messages.npos)
      return "note: " + std::string(library) +
             " is a library of ROCm: install it, and name that ROCm in ROCM_PATH\n";
  // clang adds the target to what it says of HIP.
  if (messages.find("__global__") != messages.npos &&
      messages.find("when compiling for gfx") == messages.npos)
    return "note: this is HIP, and was compiled as OpenCL C: call the file .hip (language \"hip\" in "
           "Python)\n";
  if (messages.find("unknown type name '__kernel'") != messages.npos)
    return "note: this is OpenCL C, and was compiled as HIP: call the file .cl (language \"opencl\" in "
           "Python)\n";
  if (messages.find("requires cl_khr_fp16") != messages.npos)
    return "note: the device has it; say so in the source: #pragma OPENCL EXTENSION cl_khr_fp16 : enable\n";
  if (messages.find("symbol multiply defined") != messages.npos)
    return "note: two of the source files define it: make it static, or leave one of the files away\n";
  return {};
}

bool ran_out_of_memory(const std::string& messages) {
  for (const char* sign : {"LLVM ERROR: out of memory", "std::bad_alloc"})
    if (messages.find(sign) != messages.npos) return true;
  return false;
}

struct Source {
  Language language;
  std::string path;  // "-": the text, and no file
  std::string name;
  std::string_view text;

  // What clang reads from its standard input.
  std::string_view input() const {
    return path == "-" && language != Language::spirv ? text : std::string_view();
  }
};

// A source that is being compiled, and its place in the cache.
class CachedSource {
 public:
  // `arguments` are clang's, without those for output and input.
  CachedSource(const Source& source, std::span<const Result> linked,
               const std::vector<std::string>& arguments, const Options& options,
               const fs::path& dependencies, std::string& error)
      : source_(source), options_(options), dependencies_(dependencies) {
    if (source.language == Language::llvm_ir || source.language == Language::spirv ||
        !is_cacheable(options.extra_flags))
      return;  // there is no preprocessor that says what was read
    if (std::ranges::any_of(arguments, asks_for_the_time)) return;
    // A file that the assembler reads is none that clang tells of.
    if (source.text.find(".incbin") != source.text.npos) return;
    store_ = cache::Store::open(cache::kCompiled, error);
    if (!store_) return;
    clock_gettime(CLOCK_REALTIME_COARSE, &begin_);
    cache::Key key;
    key.add(LLVM_VERSION_STRING);
    key.add_file(arguments[0].find('/') == std::string::npos ? find_in_path(arguments[0]) : arguments[0]);
    for (const std::string& argument : arguments) key.add(argument);
    // Whether it is used follows from the compiler, which is not asked for its version where it has nothing
    // to do.
    std::string is_absent;
    key.add_file(guard_plugin(is_absent));
    std::error_code ignored;
    key.add(fs::current_path(ignored).string());  // stands in the debug information
    for (const char* name : {"CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "COMPILER_PATH"})
      key.add(environment(name));
    for (const char* name : kFolderLists) key.add(environment(name));
    // What packages bring, clang chooses among by version.
    for (const char* folder : {"/usr/include", "/usr/local/include", "/usr/include/c++", "/usr/lib/gcc"})
      key.add_file(folder);
    key.add(source.path);
    key.add(source.text);
    for (const Result& other : linked) key.add(text_of(other.code_object));
    key_ = key.text();
  }

  std::optional<Result> find() const { return key_.empty() ? std::nullopt : find_compiled(*store_, key_); }
  // Flags of clang by which it writes down what it reads.
  std::vector<std::string> flags() const {
    if (key_.empty()) return {};
    std::vector<std::string> out;
    for (const std::string& flag :
         {std::string("-dependency-file"), dependencies_.string(), std::string("-sys-header-deps"),
          std::string("-MT"), std::string("code")}) {
      out.push_back("-Xclang");
      out.push_back(flag);
    }
    return out;
  }
  void store(const Result& result) const {
    std::vector<std::byte> bytes;
    std::string unreadable;
    if (key_.empty() || !read_file(dependencies_, bytes, unreadable)) return;
    const std::string_view text = text_of(bytes);
    const std::vector<fs::path> folders = folders_searched();
    const std::optional<FilesRead> files = FilesRead::from(text, source_.input(), folders);
    // What was changed since clang began may be other code.
    if (files && !files->changed_since(begin_)) store_compiled(*store_, key_, *files, result);
  }

 private:
  static std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
  }

  static constexpr const char* kFolderLists[] = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"};

  // Where clang looks for files of the user, beside the folders of those that it found.
  std::vector<fs::path> folders_searched() const {
    std::vector<fs::path> out = {"."};
    if (source_.path != "-") out.push_back(fs::path(source_.path).parent_path());
    out.insert(out.end(), options_.include_directories.begin(), options_.include_directories.end());
    const std::vector<std::string>& flags = options_.extra_flags;
    for (size_t i = 0; i < flags.size(); ++i) {
      if ((flags[i] == "-I" || flags[i] == "-isystem") && i + 1 < flags.size())
        out.emplace_back(flags[++i]);
      else
        for (const std::string_view option : {"-I", "-isystem"})
          if (flags[i].starts_with(option)) out.emplace_back(flags[i].substr(option.size()));
    }
    for (const char* name : kFolderLists) {
      std::string_view list = environment(name);
      while (!list.empty()) {
        const std::string_view folder = list.substr(0, list.find(':'));
        out.emplace_back(folder.empty() ? "." : folder);
        list.remove_prefix(std::min(folder.size() + 1, list.size()));
      }
    }
    return out;
  }

  const Source& source_;
  const Options& options_;
  const fs::path dependencies_;
  std::unique_ptr<cache::Store> store_;
  timespec begin_{};
  std::string key_;
};

enum class Output {
  code_object,
  bitcode  // as the front end made it: what it is linked with decides how it is optimised
};

// `linked`: bitcode that becomes part of the output.
Result run_clang(const Source& source, std::span<const Result> linked, Output kind, const Options& options) {
  Result result;
  const auto fail = [&result](const std::string& why) {
    result.diagnostics = "error: " + why + "\n";
    return result;
  };
  std::string error;
  const std::string clang = find_clang();
  if (clang.empty())
    return fail("clang-19 is needed to compile " + std::string(toolchain::name(source.language)) +
                " and was not found in PATH: install the Debian packages clang-19 and lld-19 (apt-get "
                "install clang-19 lld-19), "
                "or name the "
                "compiler in LOCKSTEP_CLANG");
  const fs::path prepared = prepared_directory(error);
  if (prepared.empty()) return fail(error);
  const Limits limits = effective_limits(options.limits, kLimits, error);
  if (!error.empty()) return fail(error);
  const TemporaryDirectory directory;
  if (directory.path().empty()) return fail(directory.error());
  const fs::path output = directory.path() / "kernel.co";

  std::vector<std::string> arguments = {clang, "-fno-color-diagnostics", "-fno-crash-diagnostics"};
  if (source.language == Language::opencl)
    add_opencl_flags(arguments, source.name, source.text, options, prepared);
  if (source.language == Language::hip) add_hip_flags(arguments, options, prepared);
  if (source.language == Language::llvm_ir || source.language == Language::spirv)
    add_ir_flags(arguments, options);
  arguments.push_back("--rocm-device-lib-path=" + (prepared / "bitcode").string());
  arguments.push_back("-mcode-object-version=" + std::to_string(options.code_object_version));
  arguments.push_back(options.wave_size == 64 ? "-mwavefrontsize64" : "-mno-wavefrontsize64");
  arguments.push_back("-O" + std::to_string(options.optimization));
  for (const std::string& flag : guard_flags(options)) arguments.push_back(flag);
  // Lines cost nothing in the code, and a fault should name its own.
  arguments.push_back(options.debug_info ? "-g" : "-gline-tables-only");
  for (const fs::path& include : options.include_directories) arguments.push_back("-I" + include.string());
  for (const std::string& flag : options.extra_flags) arguments.push_back(flag);
  const Confinement confinement{limits, directory.path(), options.cancelled};
  if (kind == Output::bitcode)
    for (const char* flag : {"-c", "-emit-llvm", "-Xclang", "-disable-llvm-passes"})
      arguments.push_back(flag);
  const CachedSource cached(source, linked, arguments, options, directory.path() / "dependencies", error);
  if (!error.empty()) return fail(error);
  if (std::optional<Result> known = cached.find()) return *known;
  for (const std::string& flag : cached.flags()) arguments.push_back(flag);
  for (size_t i = 0; i < linked.size(); ++i) {
    const fs::path bitcode = directory.path() / ("source" + std::to_string(i) + ".bc");
    if (!write_file(bitcode, text_of(linked[i].code_object), error)) return fail(error);
    link_bitcode(arguments, bitcode);
  }
  std::string input = source.path;
  if (source.language == Language::spirv) {
    constexpr char kPrinting[] = "// printf: the word brings the header\n";
    const Result printing =
        run_clang({Language::opencl, "-", "printf.cl", kPrinting}, {}, Output::bitcode, options);
    if (!printing) return printing;
    const fs::path library = directory.path() / "printf.bc";
    if (write_file(library, text_of(printing.code_object), error))
      input = bitcode_of_spirv(source.text, library, options, confinement, error);
    if (!error.empty()) return fail(source.name + ": " + error);
  }
  for (const std::string& last : {std::string("-o"), output.string(), input}) arguments.push_back(last);

  std::vector<std::string> guarded = arguments;
  const PluginGuard guard = plugin_guard(clang);
  std::string warning = guard.warning;
  if (!guard.flag.empty()) guarded.push_back(guard.flag);
  ProcessResult process = run_process(guarded, source.input(), confinement);
  if (refused_plugin(process.output)) {
    // A clang 19 of another build. What it would guard against is rare.
    warning = "warning: " + process.output.substr(0, process.output.find('\n')) +
              ": LLVM 19 compiles some constructs wrongly, and nothing keeps it from doing so\n";
    process = run_process(arguments, source.input(), confinement);
  }
  if (!process.started)
    return fail(process.output + ": install the Debian package clang-19, or set LOCKSTEP_CLANG");
  result.diagnostics = warning + process.output;
  if (process.exit_code != 0) {
    if (result.diagnostics.empty())
      result.diagnostics = "error: " + clang + " ended with code " + std::to_string(process.exit_code) + "\n";
    result.diagnostics += advice(result.diagnostics);
    if (process.out_of_time) result.diagnostics += "error: " + time_limit_text(limits) + "\n";
    if (ran_out_of_memory(result.diagnostics))
      result.diagnostics += "error: " + memory_limit_text(limits) + "\n";
    return result;
  }
  if (!read_file(output, result.code_object, error))
    result.diagnostics += "error: " + error + "\n";
  else
    cached.store(result);
  return result;
}

// A path may look like an option.
std::string shown(const fs::path& path) {
  return path.string().starts_with("-") ? "./" + path.string() : path.string();
}

// The source with options.more_sources.
Result compile_program(const Source& source, const Options& options) {
  std::vector<Result> linked;
  std::string warnings;
  for (const fs::path& path : options.more_sources) {
    const std::optional<Language> language = language_of(path);
    if (!language) return {{}, "error: " + path.string() + ": is no source file (" + kExtensions + ")\n"};
    if (*language == Language::assembly || (*language != source.language && *language != Language::llvm_ir &&
                                            source.language != Language::llvm_ir))
      return {{},
              "error: " + path.string() + " is " + std::string(name(*language)) + " and " + source.name +
                  " is " + std::string(name(source.language)) +
                  ": files of one program are of the same language, or LLVM IR\n"};
    std::vector<std::byte> bytes;
    std::string error;
    if (!read_file(path, bytes, error)) return {{}, "error: " + error + "\n"};
    const std::string_view text = text_of(bytes);
    Result other = run_clang({*language, shown(path), shown(path), text}, {}, Output::bitcode, options);
    if (!other) return other;
    warnings += other.diagnostics;
    linked.push_back(std::move(other));
  }
  Result result = run_clang(source, linked, Output::code_object, options);
  result.diagnostics = warnings + result.diagnostics;
  return result;
}

}  // namespace

std::string check(const Options& options) {
  if (options.wave_size != 32 && options.wave_size != 64)
    return "the wave size is 32 or 64, not " + std::to_string(options.wave_size);
  if (options.code_object_version < 4 || options.code_object_version > 6)
    return "the code object version is 4, 5 or 6, not " + std::to_string(options.code_object_version);
  if (options.optimization > 3)
    return "the optimization level is 0 to 3, not " + std::to_string(options.optimization);
  if (options.work_group_size > 1024)
    return "a work-group has at most 1024 work-items, not " + std::to_string(options.work_group_size);
  if (!options.processor.starts_with("gfx11"))
    return "the processor is one of gfx1100, gfx1101, gfx1102, gfx1103, not " + options.processor;
  return {};
}

std::string_view name(Language language) {
  switch (language) {
    case Language::assembly:
      return "assembly";
    case Language::opencl:
      return "OpenCL C";
    case Language::hip:
      return "HIP";
    case Language::llvm_ir:
      return "LLVM IR";
    case Language::spirv:
      return "SPIR-V";
  }
  return "";
}

std::optional<Language> language_of(const fs::path& path) {
  const std::string extension = path.extension();
  if (extension == ".s" || extension == ".S" || extension == ".asm") return Language::assembly;
  if (extension == ".cl" || extension == ".clcpp") return Language::opencl;
  if (extension == ".ll" || extension == ".bc") return Language::llvm_ir;
  if (extension == ".spv") return Language::spirv;
  if (extension == ".hip" || extension == ".cu") return Language::hip;
  if (!is_cpp_name(path)) return std::nullopt;
  std::vector<std::byte> bytes;
  std::string ignored;
  if (fs::is_fifo(path) || !read_file(path, bytes, ignored)) return Language::hip;
  const std::string_view text = text_of(bytes);
  const bool is_opencl = text.find("__kernel ") != text.npos && text.find("__global__") == text.npos;
  return is_opencl ? Language::opencl : Language::hip;
}

fs::path prepared_directory(std::string& error) {
  static std::mutex mutex;
  static fs::path prepared;
  const std::lock_guard lock(mutex);
  std::error_code ignored;
  if (prepared.empty() || !fs::exists(prepared, ignored)) prepared = prepare(error);
  return prepared;
}

Result compile_text(Language language, std::string_view text, std::string_view name, const Options& options) {
  if (language == Language::assembly) return assemble(text, name, options);
  if (const std::string problem = check(options); !problem.empty()) return {{}, "error: " + problem + "\n"};
  if (language == Language::llvm_ir || language == Language::spirv)
    return compile_program({language, "-", std::string(name), text}, options);
  std::string quoted;
  for (const char c : name) quoted += c == '"' || c == '\\' || c == '\n' ? '_' : c;
  const std::string input = "#line 1 \"" + quoted + "\"\n" + std::string(text);
  return compile_program({language, "-", std::string(name), input}, options);
}

Result compile_file(Language language, const fs::path& path, const Options& options) {
  std::vector<std::byte> bytes;
  std::string error;
  if (!read_file(path, bytes, error)) return {{}, "error: " + error + "\n"};
  const std::string_view text = text_of(bytes);
  if (language == Language::assembly) {
    const fs::path folder = path.parent_path();
    return assemble_from(folder.empty() ? "." : folder, text, path.string(), options);
  }
  if (const std::string problem = check(options); !problem.empty()) return {{}, "error: " + problem + "\n"};
  return compile_program({language, shown(path), shown(path), text}, options);
}

}  // namespace lockstep::toolchain
