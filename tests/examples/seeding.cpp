#include "tests/examples/seeding.h"

namespace lockstep::examples {

namespace {

// Further than any store of one element goes, and than loops that miss their end at first.
constexpr size_t kGuardBytes = 4096;

RunRequest request_for(uint64_t instructions) {
  RunRequest request;
  request.device.engine = LOCKSTEP_ENGINE_INTERPRETER;
  request.device.threads = 1;
  request.options.instruction_limit = instructions;
  return request;
}

RunRequest probe(uint64_t instructions, uint8_t byte, lockstep_results results = LOCKSTEP_RESULTS_NOW,
                 size_t guard_bytes = kGuardBytes) {
  RunRequest request = request_for(instructions);
  request.guard_bytes = guard_bytes;
  request.guard_byte = byte;
  request.options.initial_byte = byte;
  request.options.results = results;
  return request;
}

// Where they can end well defined, but otherwise than the example.
bool may_mean_something(Mistake mistake) {
  return mistake == Mistake::store || mistake == Mistake::initialisation || mistake == Mistake::exec_save;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Of the buffers that the example says something of.
bool same_results(const Example& example, const RunResult& a, const RunResult& b) {
  if (a.status != b.status || a.buffers.size() != b.buffers.size()) return false;
  if (a.buffers.empty()) return true;
  for (const Expectation& expectation : example.expectations) {
    const auto buffer = static_cast<size_t>(expectation.buffer);
    if (a.buffers[buffer] != b.buffers[buffer]) return false;
  }
  return true;
}

}  // namespace

Judgement judge(const Example& example, const Mutant& mutant, std::span<const std::byte> mutated,
                uint64_t instructions) {
  const bool may_mean = may_mean_something(mutant.mistake);
  std::vector<RunRequest> probes;
  if (may_mean)
    probes = {probe(instructions, 0), probe(instructions, 0, LOCKSTEP_RESULTS_NOW, 3 * kGuardBytes),
              probe(instructions, 0xff), probe(instructions, 0x5a)};
  else
    probes = {probe(instructions, 0), probe(instructions, 0x5a, LOCKSTEP_RESULTS_LATE),
              probe(instructions, 0, LOCKSTEP_RESULTS_RANDOM)};
  Judgement judgement;
  std::vector<RunResult> results;
  for (const RunRequest& request : probes) {
    const RunResult& result = results.emplace_back(run(example, mutated, request));
    const bool ends = result.status != LOCKSTEP_FAULT || !result.error.starts_with("instruction limit");
    std::string difference;
    if (result.status != LOCKSTEP_OK)
      difference = first_line(result.error);
    else if (!result.guards_hold)
      return {Effect::mistake, "memory beside a buffer has changed"};
    else
      difference = result.difference(example);
    if (difference.empty()) continue;
    if (!may_mean || (result.status != LOCKSTEP_OK && ends)) return {Effect::mistake, std::move(difference)};
    if (judgement.effect == Effect::none) judgement = {Effect::other_meaning, std::move(difference)};
  }
  // The second differs from the first in nothing but addresses: a register that still holds one is computed
  // with, as if it were what was not put there.
  if (may_mean && same_results(example, results[0], results[1]) &&
      !(same_results(example, results[0], results[2]) && same_results(example, results[0], results[3])))
    return {Effect::mistake, "results depend on what nobody has written"};
  return judgement;
}

std::string found(const Example& example, const Mutant& mutant, std::span<const std::byte> mutated,
                  uint64_t instructions) {
  const char* const slow = "uninitialised";
  const char* const others = "barriers,memory,races,waits";
  const bool slow_first = mutant.mistake == Mistake::initialisation || mutant.mistake == Mistake::exec_save;
  for (const char* const checks : {slow_first ? slow : others, slow_first ? others : slow}) {
    RunRequest request = request_for(instructions);
    request.options.checks = checks;
    const RunResult result = run(example, mutated, request);
    for (const CheckFinding& finding : result.findings)
      if (finding.checker != "legality")
        return finding.checker + ": " + finding.instruction + ": " + finding.rule;
    // The machine itself tells of memory that is not the kernel's.
    if (result.status == LOCKSTEP_FAULT && result.error.starts_with("memory violation"))
      return "fault: " + first_line(result.error);
  }
  return {};
}

}  // namespace lockstep::examples
