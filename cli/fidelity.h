// How exact results are, in words.
#pragma once

#include <string>

#include "api/lockstep.hpp"

namespace lockstep::cli {

// "exact", "bounded", "open", "unsupported"
const char* name_of(lockstep_fidelity fidelity);
// "within 0.5 ulp", "open in corner cases"
std::string summary_of(lockstep_fidelity fidelity, bool corner_cases_only, double ulp);

// What the device's last dispatch found out, on the standard output.
void print_findings(const Device& device);

}  // namespace lockstep::cli
