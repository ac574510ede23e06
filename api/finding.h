// What a dispatch that was watched leaves with its device.
#pragma once

#include <vector>

#include "api/device.h"
#include "machine/launch.h"

namespace lockstep::api {

// All but the instruction's text; offsets count from the kernel's entry.
Location locate(uint64_t pc, const RunningKernel& kernel);

std::vector<FindingReport> finding_reports(const observe::FidelityListener& observer,
                                           const machine::Launch& launch, const RunningKernel& kernel);

std::vector<BrokenRuleReport> broken_rule_reports(const std::vector<Finding>& findings,
                                                  const machine::Launch& launch, const RunningKernel& kernel);
// Of a queue's dispatches: the code is whatever the device has loaded there.
std::vector<BrokenRuleReport> broken_rule_reports(const std::vector<Finding>& findings,
                                                  const lockstep_device& device);

// Of code that did not run: addresses are as linked.
std::vector<BrokenRuleReport> code_reports(const std::vector<Finding>& findings, const Image& image);

// Adds what the reports' places were inlined into. One question to the toolchain's worker for each image.
void add_callers(std::vector<BrokenRuleReport>& reports, const RunningKernel& kernel);
void add_callers(std::vector<BrokenRuleReport>& reports, const lockstep_device& device);
void add_callers(std::vector<BrokenRuleReport>& reports, const Image& image);

lockstep_exception exception_of(const BrokenRuleReport& report);
lockstep_check_finding check_finding_of(const BrokenRuleReport& report);

}  // namespace lockstep::api
