// lockstep-rocrand: runs the kernels of rocRAND and of its tests on small inputs and looks at what they
// write. See docs/rocrand.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "tests/rocrand/arguments.h"
#include "tests/rocrand/reference.h"

namespace {

using namespace lockstep;
using namespace lockstep::rocrand;

struct Totals {
  unsigned ran = 0, exact = 0, plausible = 0, silent = 0, bad = 0, left_out = 0;
  uint64_t instructions = 0, translated = 0;
};

lockstep_device_options options_of(lockstep_engine engine) {
  lockstep_device_options options;
  lockstep_device_options_init(&options);
  options.engine = engine;
  return options;
}

struct Machine {
  explicit Machine(lockstep_engine engine) : options(options_of(engine)), device(&options) {}

  lockstep_device_options options;
  Device device;
};

// With two machines each kernel runs on both, and has to leave the same.
using Machines = std::vector<std::unique_ptr<Machine>>;
using Memories = std::vector<std::unique_ptr<Memory>>;

bool is(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// The type of the numbers that the kernel writes.
std::string number_type(const Signature& signature) {
  for (const std::string& parameter : signature.parameters)
    if (parameter.back() == '*' && !is(parameter, "_engine") && !is(parameter, "distribution_st"))
      return parameter.substr(0, parameter.size() - 1);
  return "";
}

template <class T>
std::vector<double> numbers(const Memory& memory, uint64_t count) {
  std::vector<double> result;
  for (uint64_t i = 0; i < count; ++i) {
    T number;
    std::memcpy(&number, memory.output.data() + i * sizeof number, sizeof number);
    result.push_back(static_cast<double>(number));
  }
  return result;
}

std::vector<double> numbers(const Memory& memory, const std::string& type, uint64_t count) {
  if (type == "unsigned char") return numbers<uint8_t>(memory, count);
  if (type == "unsigned short") return numbers<uint16_t>(memory, count);
  if (type == "unsigned int") return numbers<uint32_t>(memory, count);
  if (type == "unsigned long long") return numbers<uint64_t>(memory, count);
  if (type == "float") return numbers<float>(memory, count);
  if (type == "double") return numbers<double>(memory, count);
  return numbers<_Float16>(memory, count);
}

// "" or what is wrong with the distribution of the numbers: loose bounds that a wrong one would hardly keep.
std::string look_at(const std::string& all, const std::string& type, const std::vector<double>& x) {
  double sum = 0, logarithms = 0, least = x[0], most = x[0];
  for (const double number : x) {
    if (!std::isfinite(number)) return "a number that is infinite or none";
    sum += number;
    logarithms += number > 0 ? std::log(number) : 0;
    least = std::min(least, number);
    most = std::max(most, number);
  }
  const double mean = sum / static_cast<double>(x.size());
  const auto near = [&](double value, double expected, double off) {
    return std::fabs(value - expected) <= off
               ? std::string()
               : "mean " + std::to_string(value) + ", expected " + std::to_string(expected);
  };
  if (is(all, "poisson") || is(all, "discrete")) return near(mean, kPoissonMean, 0.5);
  // The test programs' kernels have a mean of their own.
  const double log_mean = is(all, "rocrand_log_normal_kernel") ? 1.6 : 0;
  if (is(all, "log_normal"))
    return least <= 0 ? "a number that is not positive"
                      : near(logarithms / static_cast<double>(x.size()), log_mean, 0.12);
  if (is(all, "normal")) return near(mean, 0, 0.12);
  const bool is_float = type == "float" || type == "double" || type == "__half";
  // Sobol's 32-bit engine gives 32 bits, whatever the type.
  const bool is_narrow = is(all, "vectors of 32 bits");
  const double range = is_float                              ? 1
                       : type == "unsigned char"             ? 0x1p8
                       : type == "unsigned short"            ? 0x1p16
                       : type == "unsigned int" || is_narrow ? 0x1p32
                                                             : 0x1p64;
  if (is_float && (least < 0 || most > 1)) return "a number outside 0 to 1";
  return near(mean / range, 0.5, 0.04);
}

// The numbers that must come, if we know them.
std::vector<uint32_t> expected(const Signature& signature, const Memory& memory) {
  std::vector<uint32_t> numbers;
  if (signature.function == "mad_u64_u32_kernel") {
    // The first four are plain, further ones have operands that are compiled in.
    for (uint32_t i = 0; i < 4; ++i) {
      const uint64_t factor = memory.operands[i];
      const uint64_t sum =
          factor * factor + (uint64_t{memory.operands[2 * i + 1]} << 32 | memory.operands[2 * i]);
      numbers.push_back(static_cast<uint32_t>(sum));
      numbers.push_back(static_cast<uint32_t>(sum >> 32));
    }
    return numbers;
  }
  const uint64_t count = numbers_wanted(signature);
  const std::string all = signature.function + "<" + signature.template_arguments + ">(" +
                          (signature.parameters.empty() ? "" : signature.parameters[0]);
  if (number_type(signature) != "unsigned int") return numbers;
  if (signature.function == "generate_kernel" && is(all, " uniform_distribution")) {
    if (is(all, "philox")) {
      for (uint32_t i = 0; i < count; ++i)
        numbers.push_back(
            philox({i / 4}, {static_cast<uint32_t>(kSeed), static_cast<uint32_t>(kSeed >> 32)})[i % 4]);
    } else if (is(all, "xorwow")) {
      // Each thread has a subsequence and takes every kThreads-th place.
      numbers.resize(count);
      Xorwow start(kSeed);
      for (uint32_t thread = 0; thread < kThreads; ++thread, start.skip_subsequence()) {
        Xorwow engine = start;
        for (uint64_t place = thread; place < count; place += kThreads) numbers[place] = engine.next();
      }
    }
  } else if (signature.function == "rocrand_kernel" && is(all, "philox")) {
    // Seed 0, the thread as subsequence.
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t thread = i % kThreads, number = i / kThreads;
      numbers.push_back(philox({number / 4, 0, thread, 0}, {})[number % 4]);
    }
  } else if (signature.function == "rocrand_kernel" && is(all, "xorwow")) {
    // The same, from number 123 on.
    numbers.resize(count);
    Xorwow start(0);
    for (uint32_t thread = 0; thread < kThreads; ++thread, start.skip_subsequence()) {
      Xorwow engine = start;
      for (int i = 0; i < 123; ++i) engine.next();
      for (uint64_t place = thread; place < count; place += kThreads) numbers[place] = engine.next();
    }
  } else if (signature.function == "generate_kernel" && is(all, "sobol_uniform") &&
             signature.parameters.size() == 5) {
    for (uint32_t i = 0; i < count; ++i) numbers.push_back(sobol(i));
  }
  return numbers;
}

void say(const char* verdict, const std::string& name, const std::string& why = "") {
  printf("  %-9s %s%s%s\n", verdict, name.c_str(), why.empty() ? "" : ": ", why.c_str());
}

enum class Outcome : uint8_t { ran, left_out, fault };
struct Result {
  Outcome outcome;
  std::string why;
  uint64_t instructions = 0, translated = 0;  // of waves
};

Result dispatch(Device& device, const Kernel& kernel, const Signature& signature, Memory& memory) {
  Arguments arguments(kernel);
  if (std::string unknown = bind(signature, kernel, memory, arguments); !unknown.empty())
    return {Outcome::left_out, std::move(unknown)};
  std::memset(memory.output.data(), kUnwritten, memory.output.size());
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  const uint32_t most = kernel.info().max_work_group_size;
  options.block[0] = most ? std::min(kBlock, most) : kBlock;
  options.grid[0] = kThreads;
  // Eight threads for each of MT19937's 8192 generators.
  if (is(kernel.info().readable_name, "mt19937")) options.grid[0] = 65536;
  options.instruction_limit = 2'000'000'000;
  lockstep_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  const lockstep_status status =
      lockstep_dispatch(device.get(), kernel.get(), arguments.get(), &options, &statistics);
  if (status != LOCKSTEP_OK)
    return {Outcome::fault, device.fault() ? device.fault()->text : lockstep_last_error()};
  return {Outcome::ran, "", statistics.wave_instructions, statistics.translated_wave_instructions};
}

void run(const Machines& machines, const Kernel& kernel, const Memories& memories, Totals& totals) {
  const std::string name = kernel.info().readable_name;
  const Signature signature = parse(name);
  for (size_t i = 0; i < machines.size(); ++i) {
    const Result result = dispatch(machines[i]->device, kernel, signature, *memories[i]);
    if (i + 1 == machines.size()) {
      totals.instructions += result.instructions;
      totals.translated += result.translated;
    }
    if (result.outcome == Outcome::ran) continue;
    const bool is_fault = result.outcome == Outcome::fault;
    ++(is_fault ? totals.bad : totals.left_out);
    say(is_fault ? "FAULT" : "left out", name, result.why);
    return;
  }
  const Memory& memory = *memories.front();
  ++totals.ran;
  if (memories.size() > 1 && !memory.holds_the_same(*memories.back())) {
    ++totals.bad;
    say("UNLIKE", name, "the translator's numbers or engines are not the interpreter's");
    return;
  }
  const std::string type = number_type(signature);
  if (type.empty()) {
    ++totals.silent;
    say("ran", name);
    return;
  }
  const std::vector<uint32_t> known = expected(signature, memory);
  if (!known.empty()) {
    const bool same = std::memcmp(memory.output.data(), known.data(), known.size() * 4) == 0;
    ++(same ? totals.exact : totals.bad);
    say(same ? "EXACT" : "DIFFERENT", name);
    return;
  }
  std::string all = signature.function + signature.template_arguments;
  for (const std::string& parameter : signature.parameters)
    if (parameter == "unsigned int const*") all += " vectors of 32 bits";
  const std::string problem = look_at(all, type, numbers(memory, type, numbers_wanted(signature)));
  ++(problem.empty() ? totals.plausible : totals.bad);
  say(problem.empty() ? "plausible" : "WRONG", name, problem);
}

void run_file(const std::string& path, const Machines& machines, Totals& totals) {
  std::optional<CodeObject> code;
  try {
    code = CodeObject::open(path);
  } catch (const Error& error) {
    if (error.status() != LOCKSTEP_NOT_FOUND && error.status() != LOCKSTEP_BAD_INPUT) throw;
    return;  // a program without device code
  }
  const std::vector<Kernel> found = code->kernels();
  if (found.empty()) return;
  // What makes engines comes first.
  std::vector<Kernel> kernels;
  for (const bool first : {true, false})
    for (const Kernel& kernel : found)
      if (is(kernel.info().readable_name, "init_engines_kernel") == first) kernels.push_back(kernel);
  printf("%s: %zu kernels\n", std::filesystem::path(path).filename().c_str(), kernels.size());
  Memories memories;
  for (const auto& machine : machines) memories.push_back(std::make_unique<Memory>(machine->device));
  for (const Kernel& kernel : kernels) {
    run(machines, kernel, memories, totals);
    if (!is(kernel.info().readable_name, "init_engines_kernel")) continue;
    for (const auto& memory : memories) memory->keep();
  }
  fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool on_both = argc > 1 && std::string_view(argv[1]) == "--both";
  const int first = on_both ? 2 : 1;
  if (argc <= first) {
    fprintf(stderr,
            "usage: lockstep-rocrand [--both] FILE_OR_FOLDER...\n"
            "Runs the kernels of rocRAND's library and tests, which it looks for in the folders.\n"
            "--both: each in the interpreter, then translated; what they leave must be the same.\n");
    return 2;
  }
  try {
    std::vector<std::string> files;
    for (int i = first; i < argc; ++i) {
      if (!std::filesystem::is_directory(argv[i])) {
        files.push_back(argv[i]);
        continue;
      }
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        const std::string name = entry.path().filename();
        if (entry.is_regular_file() && !entry.is_symlink() &&
            (name.starts_with("librocrand.so") || name.starts_with("test_rocrand")))
          files.push_back(entry.path());
      }
    }
    std::sort(files.begin(), files.end());
    Machines machines;
    machines.push_back(
        std::make_unique<Machine>(on_both ? LOCKSTEP_ENGINE_INTERPRETER : LOCKSTEP_ENGINE_AUTO));
    if (on_both) machines.push_back(std::make_unique<Machine>(LOCKSTEP_ENGINE_TRANSLATOR));
    Totals totals;
    for (const std::string& file : files) run_file(file, machines, totals);
    printf("%u kernels ran: %u exact, %u plausible, %u without numbers to look at; %u left out; %u bad\n",
           totals.ran, totals.exact, totals.plausible, totals.silent, totals.left_out, totals.bad);
    if (on_both)
      printf("%.3f %% of the translator's wave-instructions were translated\n",
             100.0 * static_cast<double>(totals.translated) / static_cast<double>(totals.instructions));
    return totals.bad || !totals.ran ? 1 : 0;
  } catch (const std::exception& error) {
    fprintf(stderr, "lockstep-rocrand: %s\n", error.what());
    return 2;
  }
}
