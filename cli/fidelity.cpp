#include "cli/fidelity.h"

#include "cli/common.h"
#include "cli/location.h"

namespace lockstep::cli {

namespace {

void print_finding(const lockstep_finding& finding) {
  constexpr const char* kUses[] = {"an address", "a branch or EXEC", "memory"};
  print("{}: {}, executed {} times\n", finding.name,
        summary_of(finding.fidelity, finding.corner_cases_only, finding.ulp), finding.executions);
  print("  {}\n  first at {}\n", finding.note, place(finding.first));
  bool used = false;
  for (unsigned use = 0; use < 3; ++use) {
    if (!finding.uses[use]) continue;
    used = true;
    print("  reached {} {} times, first at {}\n", kUses[use], finding.uses[use], place(finding.used[use]));
  }
  if (!used) print("  reached no address, branch or memory\n");
}

}  // namespace

const char* name_of(lockstep_fidelity fidelity) {
  switch (fidelity) {
    case LOCKSTEP_FIDELITY_EXACT:
      return "exact";
    case LOCKSTEP_FIDELITY_BOUNDED:
      return "bounded";
    case LOCKSTEP_FIDELITY_OPEN:
      return "open";
    case LOCKSTEP_FIDELITY_UNSUPPORTED:
      return "unsupported";
  }
  return "";
}

std::string summary_of(lockstep_fidelity fidelity, bool corner_cases_only, double ulp) {
  if (fidelity == LOCKSTEP_FIDELITY_BOUNDED) return fmt::format("within {} ulp", ulp);
  return fmt::format("{}{}", name_of(fidelity), corner_cases_only ? " in corner cases" : "");
}

void print_findings(const Device& device) {
  const std::vector<lockstep_finding> findings = device.findings();
  if (findings.empty()) print("fidelity: every executed instruction is exact\n");
  bool in_corner_cases = false;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (i == 0 && !findings[i].corner_cases_only)
      print("fidelity: executed instructions that are not exact\n");
    if (!in_corner_cases && findings[i].corner_cases_only) {
      in_corner_cases = true;
      print("fidelity: executed instructions that are exact but for the cases named\n");
    }
    print_finding(findings[i]);
  }
}

}  // namespace lockstep::cli
