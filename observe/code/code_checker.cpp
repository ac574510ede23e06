#include "observe/code/code_checker.h"

#include <iterator>

#include "observe/code/legality_pass.h"
#include "observe/code/waits_pass.h"
#include "state/wave.h"

namespace lockstep::observe {

namespace {

// Functions return by such a jump, kernels have nowhere to return to.
void note_unknown_targets(const Code& code, const CodeFlow& flow, const Root& root, const char* checker,
                          uint64_t bias, Findings& findings) {
  for (const Place& place : flow.places()) {
    const bool is_call = place.leaves == Leaves::by_call;
    const auto function = code.function_begins.upper_bound(place.address);
    const bool is_kernels_own =
        root.is_kernel && function != code.function_begins.begin() && *std::prev(function) == root.begin;
    const bool is_jump = place.leaves == Leaves::by_return && is_kernels_own &&
                         place.instruction.row->opcode != isa::Opcode::s_rfe_b64;
    if (place.target || (!is_call && !is_jump)) continue;
    FindingDetail detail;
    detail.severity = Severity::note;
    FindingPlace at;
    at.pc = place.address + bias;
    findings.add(checker, at, 0,
                 is_call
                     ? "a call to an address that only a run knows: what is called is looked at by itself, "
                       "if it is a function of this code"
                     : "a jump to an address that only a run knows: what stands there is not looked at",
                 std::move(detail));
  }
}

}  // namespace

std::vector<lockstep::Finding> check_code(const Code& code, const std::vector<Root>& roots,
                                          const CodeChecks& checks) {
  // Units name places by the addresses of the bytes, where they read them.
  const uint64_t bias = reinterpret_cast<uint64_t>(code.bytes.data()) - code.address;
  Findings findings;
  for (const Root& root : roots) {
    const CodeFlow flow(code, root);
    if (checks.waits) find_missing_waits(flow, root.wave_size, bias, findings);
    if (checks.legality) find_broken_rules(code, flow, root, findings);
    note_unknown_targets(code, flow, root, checks.waits ? "waits" : "legality", bias, findings);
  }
  std::vector<lockstep::Finding> all = findings.all();
  for (lockstep::Finding& finding : all) {
    finding.pc -= bias;
    if (finding.detail.other_pc != 0) finding.detail.other_pc -= bias;
    finding.count = 0;
  }
  return all;
}

}  // namespace lockstep::observe
