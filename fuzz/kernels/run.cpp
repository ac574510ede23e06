#include "fuzz/kernels/run.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "fuzz/kernels/emit.h"
#include "toolchain/process.h"

namespace lockstep::kernel_fuzz {

namespace fs = std::filesystem;

namespace {

// Far beyond what a kernel of ours needs.
constexpr uint64_t kInstructionLimit = 50'000'000;

using HostKernel = void (*)(const uint8_t*, uint8_t*, uint8_t*, uint32_t, uint32_t, uint64_t, int32_t,
                            uint16_t, float, uint32_t);

void must(lockstep_status status) {
  if (status != LOCKSTEP_OK) throw std::runtime_error(lockstep_last_error());
}

float float_argument(const Kernel& kernel) {
  const auto bits = uint32_t(kernel.arguments[5]);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Both sides promise no more than what IEEE 754 says of each operation.
const std::vector<std::string> kDeviceFlags = {"-x",
                                               "cl",
                                               "--target=amdgcn-amd-amdhsa",
                                               "-mcpu=gfx1100",
                                               "-nogpulib",
                                               "-cl-no-stdinc",
                                               "-cl-std=CL2.0",
                                               "-cl-fp32-correctly-rounded-divide-sqrt",
                                               "-ffp-contract=off",
                                               "-fno-strict-aliasing",
                                               "-w"};
const std::vector<std::string> kHostFlags = {"-x",
                                             "c++",
                                             "-std=c++20",
                                             "-nostdinc",
                                             "-shared",
                                             "-fPIC",
                                             "-O1",
                                             "-mfma",
                                             "-mf16c",
                                             "-msse4.2",
                                             "-mpopcnt",
                                             "-fuse-ld=lld",
                                             "-w",
                                             "-Xclang",
                                             "-ffloat16-excess-precision=none",
                                             "-ffp-contract=off",
                                             "-fno-strict-aliasing",
                                             "-fwrapv",
                                             "-Wno-c++11-narrowing"};

bool run_clang(std::vector<std::string> arguments, std::string& error) {
  const char* chosen = getenv("LOCKSTEP_CLANG");
  arguments.insert(arguments.begin(), chosen && *chosen ? chosen : "clang-19");
  const toolchain::ProcessResult result = toolchain::run_process(arguments, {});
  if (result.started && result.exit_code == 0) return true;
  error = result.output.empty() ? "clang ended with code " + std::to_string(result.exit_code) : result.output;
  return false;
}

}  // namespace

Buffers::Buffers(const Kernel& kernel)
    : input(kInputBytes),
      output(size_t(kernel.output_bytes) * kernel.local() * kernel.groups),
      atomics(kAtomicBytes) {
  Random random(kernel.seed ^ 0x5eed);
  for (unsigned at = 0; at < kInputBytes; at += 8) {
    const auto base = Base(random.below(kBaseCount));
    for (unsigned offset = 0; offset < 8; offset += bits(base) / 8) {
      const uint64_t value = interesting_bits(random, base);
      memcpy(&input[at + offset], &value, bits(base) / 8);
    }
  }
  for (uint8_t& byte : output) byte = uint8_t(random.next());
  for (uint8_t& byte : atomics) byte = uint8_t(random.next());
}

struct Runner::Host {
  void* library = nullptr;
  ~Host() {
    if (library) dlclose(library);
  }
};

struct Runner::CodeObject {
  lockstep_code_object* object = nullptr;
  ~CodeObject() { lockstep_code_object_destroy(object); }
};

Runner::Runner(lockstep_engine engine, std::string checks) : engine_(engine), checks_(std::move(checks)) {
  std::string pattern = (fs::temp_directory_path() / "lockstep-kernel-fuzz-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make the directory " + pattern);
  directory_ = pattern;
  lockstep_device_options options;
  lockstep_device_options_init(&options);
  options.engine = engine;
  options.threads = 1;
  must(lockstep_device_create(&options, &device_));
}

Runner::~Runner() {
  lockstep_device_destroy(device_);
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

bool Runner::compile_host(std::span<const Kernel* const> kernels, Host& host, std::string& error) {
  // A new name each time: the dynamic linker knows libraries by their paths.
  const fs::path stem = directory_ / ("host" + std::to_string(files_++));
  const fs::path source = stem.string() + ".cpp", library = stem.string() + ".so";
  std::ofstream(source) << emit(kernels, Target::host);
  std::vector<std::string> arguments = kHostFlags;
  for (const std::string& last : {source.string(), std::string("-o"), library.string()})
    arguments.push_back(last);
  const bool compiled = run_clang(arguments, error);
  if (compiled && !(host.library = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL))) error = dlerror();
  fs::remove(source);
  if (compiled) fs::remove(library);
  return host.library != nullptr;
}

bool Runner::compile_device(const fs::path& source, Variant variant, CodeObject& code, std::string& error) {
  const fs::path output = directory_ / "device.co";
  std::vector<std::string> arguments = kDeviceFlags;
  arguments.push_back("-O" + std::to_string(variant.level));
  arguments.push_back(variant.wave_size == 64 ? "-mwavefrontsize64" : "-mno-wavefrontsize64");
  arguments.push_back("-DWAVE=" + std::to_string(variant.wave_size));
  if (!checks_.empty()) arguments.push_back("-DCHECKED");
  for (const std::string& last : {source.string(), std::string("-o"), output.string()})
    arguments.push_back(last);
  if (!run_clang(arguments, error)) return false;
  must(lockstep_code_object_open(output.c_str(), nullptr, &code.object));
  return true;
}

// Of the last dispatch; notes are of what may be meant.
std::string Runner::first_finding() const {
  for (uint32_t i = 0; i < lockstep_device_check_finding_count(device_); ++i) {
    lockstep_check_finding finding{};
    finding.struct_size = sizeof finding;
    must(lockstep_device_check_finding(device_, i, &finding));
    if (finding.severity != LOCKSTEP_SEVERITY_NOTE)
      return std::string(finding.checker) + ": " + finding.where.instruction + ": " + finding.rule + " (" +
             finding.detail + ")";
  }
  return {};
}

bool Runner::run_device(const Kernel& kernel, const CodeObject& code, unsigned number, Buffers& buffers,
                        Outcome& outcome) {
  const std::string name = "k" + std::to_string(number);
  const lockstep_kernel* found = lockstep_code_object_find_kernel(code.object, name.c_str());
  if (!found) throw std::runtime_error("no kernel " + name);
  lockstep_arguments* arguments;
  must(lockstep_arguments_create(found, &arguments));
  Bytes* memory[] = {&buffers.input, &buffers.output, &buffers.atomics};
  const char* const names[] = {"input", "output", "atomics"};
  uint64_t addresses[3];
  for (unsigned i = 0; i < 3; ++i) {
    must(lockstep_memory_allocate(device_, memory[i]->size(), names[i], &addresses[i]));
    must(lockstep_memory_write(device_, addresses[i], memory[i]->data(), memory[i]->size()));
    must(lockstep_arguments_set_buffer(arguments, i, addresses[i]));
  }
  for (unsigned i = 0; i < kArguments; ++i)
    must(lockstep_arguments_set(arguments, 3 + i, &kernel.arguments[i], bits(kArgumentTypes[i]) / 8));
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  options.block[0] = kernel.local_x;
  options.block[1] = kernel.local_y;
  options.grid[0] = kernel.local_x * kernel.groups;
  options.grid[1] = kernel.local_y;
  options.instruction_limit = kInstructionLimit;
  if (!checks_.empty()) options.checks = checks_.c_str();
  lockstep_statistics statistics;
  statistics.struct_size = sizeof statistics;
  const lockstep_status status = lockstep_dispatch(device_, found, arguments, &options, &statistics);
  // Its note says why the translator left the kernel to the interpreter.
  if (status == LOCKSTEP_OK && engine_ == LOCKSTEP_ENGINE_TRANSLATOR && !*statistics.note)
    ++outcome.translated;
  if (status != LOCKSTEP_OK) {
    outcome.kind = Outcome::Kind::fault;
    const lockstep_fault* fault = lockstep_device_fault(device_);
    outcome.message = fault && fault->text ? fault->text : lockstep_last_error();
  }
  if (std::string finding = first_finding(); status == LOCKSTEP_OK && !finding.empty()) {
    outcome.kind = Outcome::Kind::finding;
    outcome.message = std::move(finding);
  }
  for (unsigned i = 0; i < 3; ++i) {
    must(lockstep_memory_read(device_, addresses[i], memory[i]->data(), memory[i]->size()));
    must(lockstep_memory_free(device_, addresses[i]));
  }
  lockstep_arguments_destroy(arguments);
  return outcome.kind == Outcome::Kind::same;
}

static bool run_host(const Kernel& kernel, void* library, unsigned number, unsigned wave_size,
                     Buffers& buffers) {
  const auto function = reinterpret_cast<HostKernel>(dlsym(library, ("k" + std::to_string(number)).c_str()));
  if (!function) return false;
  const auto& a = kernel.arguments;
  function(buffers.input.data(), buffers.output.data(), buffers.atomics.data(), uint32_t(a[0]),
           uint32_t(a[1]), a[2], int32_t(a[3]), uint16_t(a[4]), float_argument(kernel), wave_size);
  return true;
}

// A file that clang does not take tells nothing of its other kernels.
std::vector<Outcome> Runner::run_one_by_one(std::span<const Kernel* const> kernels,
                                            std::span<const Variant> variants, const std::string& error) {
  if (kernels.size() == 1) return {{Outcome::Kind::not_compiled, error, variants[0], engine_}};
  std::vector<Outcome> outcomes;
  const size_t half = kernels.size() / 2;
  for (const auto part : {kernels.first(half), kernels.subspan(half)})
    for (Outcome& outcome : run(part, variants)) outcomes.push_back(std::move(outcome));
  return outcomes;
}

std::vector<Outcome> Runner::run(std::span<const Kernel* const> kernels, std::span<const Variant> variants) {
  std::string error;
  Host host;
  if (!compile_host(kernels, host, error)) return run_one_by_one(kernels, variants, error);
  std::vector<Outcome> outcomes(kernels.size());
  for (Outcome& outcome : outcomes) outcome.engine = engine_;
  std::vector<Buffers> expected[2];
  for (const unsigned wave_size : {32u, 64u}) {
    auto& list = expected[wave_size == 64];
    if (std::none_of(variants.begin(), variants.end(), [&](Variant v) { return v.wave_size == wave_size; }))
      continue;
    for (unsigned i = 0; i < kernels.size(); ++i) {
      list.emplace_back(*kernels[i]);
      if (!run_host(*kernels[i], host.library, i, wave_size, list.back()))
        throw std::runtime_error("host kernel missing");
    }
  }
  const fs::path source = directory_ / "device.cl";
  std::ofstream(source) << emit(kernels, Target::device);
  for (const Variant variant : variants) {
    CodeObject code;
    if (!compile_device(source, variant, code, error)) {
      const Variant only[] = {variant};
      std::vector<Outcome> separate = run_one_by_one(kernels, only, error);
      for (size_t i = 0; i < kernels.size(); ++i)
        if (outcomes[i].kind == Outcome::Kind::same) outcomes[i] = separate[i];
      std::ofstream(source) << emit(kernels, Target::device);
      continue;
    }
    for (unsigned i = 0; i < kernels.size(); ++i) {
      if (outcomes[i].kind != Outcome::Kind::same) continue;
      Buffers got(*kernels[i]);
      Outcome& outcome = outcomes[i];
      if (run_device(*kernels[i], code, i, got, outcome) &&
          !got.same_results(expected[variant.wave_size == 64][i]))
        outcome.kind = Outcome::Kind::different;
      outcome.variant = variant;
    }
  }
  return outcomes;
}

Runner::Details Runner::details(const Kernel& kernel, Variant variant) {
  Details details;
  const Kernel* const kernels[] = {&kernel};
  details.outcome.variant = variant;
  details.outcome.engine = engine_;
  Host host;
  CodeObject code;
  const fs::path source = directory_ / "device.cl";
  std::ofstream(source) << emit(kernels, Target::device);
  if (!compile_host(kernels, host, details.outcome.message) ||
      !compile_device(source, variant, code, details.outcome.message)) {
    details.outcome.kind = Outcome::Kind::not_compiled;
    return details;
  }
  const auto add_line = [](void* user, const lockstep_listing_line* line) {
    auto& text = *static_cast<std::string*>(user);
    char address[32];
    if (line->function) text += std::string(line->function) + ":\n";
    snprintf(address, sizeof address, "  %6llx  ", static_cast<unsigned long long>(line->address));
    text += address + std::string(line->text) + (*line->problem ? std::string("  ; ") + line->problem : "") +
            "\n";
    return 0;
  };
  lockstep_code_object_disassemble(code.object, nullptr, add_line, &details.listing);
  Buffers device(kernel), expected(kernel);
  run_host(kernel, host.library, 0, variant.wave_size, expected);
  if (run_device(kernel, code, 0, device, details.outcome) && !device.same_results(expected))
    details.outcome.kind = Outcome::Kind::different;
  details.device_output = device.output;
  details.device_atomics = device.atomics;
  details.host_output = expected.output;
  details.host_atomics = expected.atomics;
  return details;
}

}  // namespace lockstep::kernel_fuzz
