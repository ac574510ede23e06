#include "observe/cost/cost_checker.h"

#include <bit>
#include <cstdio>
#include <string>
#include <utility>

namespace lockstep::observe {

namespace {

// Below these shares nothing is told: each kernel has some of all.
constexpr double kMostExtraClocks = 0.25;  // of the clocks that LDS needs
constexpr double kMostExtraLines = 2;      // lines a wave, and as many times those that are needed
constexpr double kMostScratch = 0.05;      // of the instructions that reach memory
constexpr double kMostIdle = 0.05;         // of the lanes' time in the kernel, in one stretch of code

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

double average(uint64_t sum, uint64_t count) {
  return static_cast<double>(sum) / static_cast<double>(count);
}

FindingDetail hint(std::string text, std::string remedy) {
  FindingDetail detail;
  detail.text = std::move(text);
  detail.remedy = std::move(remedy);
  detail.severity = Severity::note;
  return detail;
}

}  // namespace

bool CostChecker::wants(const isa::Instruction& instruction) const {
  const isa::Encoding encoding = instruction.row->encoding;
  return isa::is_vector_alu(encoding) || (isa::is_memory(encoding) && encoding != isa::Encoding::smem);
}

void CostChecker::before(const Event& event) {
  const Wave& wave = event.wave;
  Traffic banks, lines;
  if (!event.accesses.empty()) {
    banks = bank_clocks(event.accesses);
    lines = cache_lines(event.accesses);
  }
  uint64_t scratch_bytes = 0;
  for (const MemoryAccess& access : event.accesses)
    if (access.space == MemorySpace::scratch) scratch_bytes += access.bytes;
  std::lock_guard lock(mutex_);
  const auto [at, is_new] = dispatches_[wave.group ? wave.group->dispatch : nullptr].try_emplace(event.pc);
  Place& place = at->second;
  if (is_new) {
    place.first = {wave, event.pc};
    place.instruction = &event.instruction;
  }
  ++place.executions;
  place.lanes += wave.wave_size;
  place.lanes_on += static_cast<uint64_t>(std::popcount(wave.exec()));
  place.banks.taken += banks.taken;
  place.banks.needed += banks.needed;
  place.lines.taken += lines.taken;
  place.lines.needed += lines.needed;
  place.scratch_bytes += scratch_bytes;
}

void CostChecker::dispatch_ends(const DispatchEvent& event) {
  Places places;
  {
    std::lock_guard lock(mutex_);
    const auto found = dispatches_.find(event.id);
    if (found == dispatches_.end()) return;
    places = std::move(found->second);
    dispatches_.erase(found);
  }
  for (const auto& [pc, place] : places) {
    tell_banks(place);
    tell_lines(place);
  }
  tell_scratch(places);
  tell_idle_lanes(places);
}

void CostChecker::tell_banks(const Place& place) {
  const auto [taken, needed] = place.banks;
  if (needed == 0 || static_cast<double>(taken - needed) < kMostExtraClocks * static_cast<double>(needed))
    return;
  findings_.add(
      "cost", place.first, place.executions,
      std::string(place.instruction->row->name) +
          " waits for banks of LDS: its lanes want different dwords of the same one",
      hint(decimal(average(taken, place.executions)) + " clocks a wave, " +
               decimal(average(needed, place.executions)) + " without conflicts",
           "let neighbouring lanes take neighbouring dwords, or pad the rows of the array by a dword"));
}

void CostChecker::tell_lines(const Place& place) {
  const auto [taken, needed] = place.lines;
  const double extra = static_cast<double>(taken - needed);
  if (needed == 0 || extra < kMostExtraLines * static_cast<double>(place.executions) ||
      extra < kMostExtraLines * static_cast<double>(needed))
    return;
  findings_.add(
      "cost", place.first, place.executions,
      std::string(place.instruction->row->name) + " touches more cache lines than its bytes fill",
      hint(decimal(average(taken, place.executions)) +
               " lines of 128 bytes a wave, for bytes that fit into " +
               decimal(average(needed, place.executions)),
           "let neighbouring work-items take neighbouring elements (arrays of members instead of arrays of "
           "structures), or go through LDS"));
}

void CostChecker::tell_scratch(const Places& places) {
  uint64_t to_memory = 0, to_scratch = 0, bytes = 0, instructions = 0;
  const Place* hottest = nullptr;
  for (const auto& [pc, place] : places) {
    if (isa::is_memory(place.instruction->row->encoding)) to_memory += place.executions;
    if (place.scratch_bytes == 0) continue;
    to_scratch += place.executions;
    bytes += place.scratch_bytes;
    ++instructions;
    if (!hottest || place.executions > hottest->executions) hottest = &place;
  }
  if (!hottest || static_cast<double>(to_scratch) < kMostScratch * static_cast<double>(to_memory)) return;
  findings_.add(
      "cost", hottest->first, to_scratch,
      "private memory is used: registers were spilled, or an array is indexed by a variable",
      hint(std::to_string(instructions) + " instructions, " + decimal(100 * average(to_scratch, to_memory)) +
               " % of those executed that reach memory, " + std::to_string(bytes) +
               " bytes in all; this one most often",
           "unroll loops over private arrays so that their indices are constants, or keep fewer values at a "
           "time (`lockstep info` shows spilled registers)"));
}

void CostChecker::tell_idle_lanes(const Places& places) {
  uint64_t all = 0;
  for (const auto& [pc, place] : places) all += place.lanes;
  struct Stretch {
    const Place* first = nullptr;
    uint64_t last_pc = 0, instructions = 0, executions = 0, lanes = 0, on = 0;
  } stretch;
  const auto tell = [&] {
    const double idle = static_cast<double>(stretch.lanes - stretch.on);
    if (stretch.first && idle >= kMostIdle * static_cast<double>(all)) {
      FindingDetail detail =
          hint(std::to_string(stretch.instructions) + " vector instructions with " +
                   decimal(100 * average(stretch.on, stretch.lanes)) + " % of the lanes on: " +
                   decimal(100 * idle / static_cast<double>(all)) + " % of the lanes' time in this kernel",
               "let neighbouring work-items take the same way, give the idle ones work, or take what both "
               "ways have "
               "in common out of them");
      if (stretch.last_pc != stretch.first->first.pc) detail.other_pc = stretch.last_pc;
      findings_.add("cost", stretch.first->first, stretch.executions,
                    "most lanes are off in a stretch of code that takes time", std::move(detail));
    }
    stretch = {};
  };
  for (const auto& [pc, place] : places) {
    if (2 * place.lanes_on >= place.lanes) {
      tell();
      continue;
    }
    if (!stretch.first) stretch.first = &place;
    stretch.last_pc = pc;
    ++stretch.instructions;
    stretch.executions += place.executions;
    stretch.lanes += place.lanes;
    stretch.on += place.lanes_on;
  }
  tell();
}

}  // namespace lockstep::observe
