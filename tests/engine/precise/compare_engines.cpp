#include "tests/engine/precise/compare_engines.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "isa/instruction.h"
#include "machine/reuse.h"
#include "machine/scheduler.h"
#include "tests/engine/precise/flow_program.h"

namespace lockstep::precise {

namespace {

// What is left of a run.
struct Remains {
  bool complete = false;  // it was not stopped
  machine::Outcome outcome;
  std::vector<uint32_t> memory;
};

// The dispatch of a program. All runs have the same addresses.
class Dispatch {
 public:
  explicit Dispatch(const FlowProgram& program)
      : memory_((FlowProgram::kPlayBytes + program.groups * FlowProgram::kDumpBytesOfGroup) / 4) {
    const auto play = reinterpret_cast<uint64_t>(memory_.data()), dumps = play + FlowProgram::kPlayBytes;
    const auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
    const auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
    launch_.wave_size = program.wave_size;
    launch_.grid = {program.groups * program.items, 1, 1};
    launch_.group = {program.items, 1, 1};
    launch_.rsrc1 = (program.default_float_mode ? 0xf0u : 0x1cu) << 12 | 1u << 21 | 1u << 23;
    launch_.rsrc2 = 1u << 7;
    launch_.lds_bytes = 1024;
    launch_.scratch_bytes = 64;
    launch_.vgpr_count = program.vgprs;
    launch_.entry = reinterpret_cast<uint64_t>(program.code.data());
    launch_.code = {{launch_.entry, launch_.entry + 4 * program.code.size()}};
    launch_.user_data = {low(play),
                         high(play),
                         low(dumps),
                         high(dumps),
                         low(play),
                         high(play) | 4u << 16,
                         FlowProgram::kPlayBytes / 4,
                         0x3002'0fac};
    launch_.memory = std::make_shared<const RangeSet>(
        std::vector<Range>{{play, play + 4 * memory_.size(), kReadWrite, "memory"}});
  }

  Remains run(const Settings& settings) {
    machine::RunOptions options;
    options.precise = settings;
    std::atomic<bool> cancel = false;
    options.cancel = &cancel;
    for (size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<uint32_t>(i * 0x0101'0001u);
    launch_.device = std::make_shared<DeviceState>();
    Remains remains;
    Findings findings;
    machine::PreparedEngine prepared = machine::make_engine(launch_, options, findings);
    {
      machine::Scheduler scheduler(launch_, options, *prepared.engine, reuse_);
      uint64_t executed = 0;
      for (unsigned steps = 0; executed < kMostInstructions && steps < kMostSteps && !remains.complete;
           ++steps)
        remains.complete = scheduler.step(kMostInstructions, executed) == machine::Scheduler::Step::finished;
      cancel = true;
      scheduler.report(remains.outcome);
    }
    remains.outcome.findings = findings.all();
    remains.memory = memory_;
    return remains;
  }

 private:
  static constexpr int64_t kMostInstructions = 4'000;
  static constexpr unsigned kMostSteps = 400;

  std::vector<uint32_t> memory_;
  machine::Launch launch_;
  machine::Reuse reuse_;
};

std::string fault_text(const FlowProgram& program, const machine::Outcome& outcome) {
  if (!outcome.fault) return "no fault";
  const Fault& fault = outcome.fault->fault;
  char place[64];
  std::snprintf(place, sizeof place, "group %u wave %u dword %lld kind %u: ", outcome.fault->group[0],
                outcome.fault->wave,
                static_cast<long long>(fault.pc - reinterpret_cast<uint64_t>(program.code.data())) / 4,
                static_cast<unsigned>(fault.kind));
  return place + outcome.fault->instruction + ": " + fault.message;
}

// An instruction that faults may have done a part of its work, or nothing where it was to be put off.
std::string difference(const FlowProgram& program, const Remains& expected, const Remains& found,
                       bool faults_alike) {
  const auto& a = expected.outcome;
  const auto& b = found.outcome;
  const auto key = [](const machine::WaveFault& fault) {
    return std::tuple(fault.fault.kind, fault.fault.pc, fault.group, fault.wave);
  };
  if (a.fault.has_value() != b.fault.has_value() || (a.fault && key(*a.fault) != key(*b.fault)))
    return "the interpreter ends with " + fault_text(program, a) + "\nand the precise engine with " +
           fault_text(program, b);
  if (a.fault && !faults_alike) return {};
  const auto [at, other] = std::ranges::mismatch(expected.memory, found.memory);
  if (at != expected.memory.end()) {
    char text[128];
    std::snprintf(text, sizeof text,
                  "dword 0x%zx of memory is 0x%x by the interpreter, 0x%x by the precise engine",
                  static_cast<size_t>(at - expected.memory.begin()), *at, *other);
    return text;
  }
  if (a.interrupts != b.interrupts) return "the interrupts differ";
  return {};
}

std::string listing(const FlowProgram& program) {
  std::string text = "wave" + std::to_string(program.wave_size) + ", " + std::to_string(program.groups) +
                     " groups of " + std::to_string(program.items) + " items, " +
                     std::to_string(program.vgprs) + " VGPRs\n";
  const auto bytes = std::as_bytes(std::span(program.code));
  for (size_t at = 0; at < bytes.size();) {
    isa::Instruction instruction;
    const auto error = isa::decode(bytes.subspan(at), program.wave_size, instruction);
    char line[isa::kMaxText];
    const size_t length =
        error == isa::DecodeError::none
            ? isa::disassemble(instruction, program.wave_size, line, sizeof line)
            : static_cast<size_t>(std::snprintf(line, sizeof line, ".long 0x%08x", program.code[at / 4]));
    if (std::string_view(line, length) == "s_code_end" && at / 4 + 64 >= program.code.size()) break;
    text += std::to_string(at / 4) + "\t" + std::string(line, length) + "\n";
    at += error == isa::DecodeError::none ? instruction.size : 4u;
  }
  return text;
}

}  // namespace

std::string compare_engines(std::span<const std::byte> bytes) {
  const FlowProgram program = flow_program(bytes);
  Dispatch dispatch(program);
  const Remains expected = dispatch.run({});
  const auto compare = [&](const char* name, const Settings& settings, bool is_same) -> std::string {
    const Remains found = dispatch.run(settings);
    if (!is_same || !expected.complete || !found.complete) return {};
    const std::string text = difference(program, expected, found, settings.results == Results::now);
    return text.empty() ? text : std::string(name) + ": " + text + "\n" + listing(program);
  };
  Settings checked;
  checked.rules = Rules::warn;
  const bool is_alone = program.groups == 1 && program.items <= program.wave_size;
  std::string text = compare("rules", checked, is_alone || !program.sleeps);
  Settings moved;
  moved.results = program.late ? Results::late : Results::random;
  moved.seed = program.seed;
  moved.rules = program.seed & 8 ? Rules::warn : Rules::ignore;
  if (program.incoherent) moved.caches = Caches::incoherent;
  // Several waves may race.
  if (text.empty()) text = compare("results", moved, program.waited && is_alone && !program.incoherent);
  return text;
}

}  // namespace lockstep::precise
