// What checkers found, as text, JSON (docs/findings.md) or SARIF, and what of it a file suppresses.
#pragma once

#include <string>
#include <vector>

#include "api/lockstep.hpp"

namespace lockstep::cli {

struct FindingOptions {
  std::string checks;                // names, with commas between them
  std::vector<std::string> plugins;  // FILE[:ARGUMENTS]
  std::string format = "text";       // text, json, sarif
  std::string report;                // file that gets it; empty: the standard output
  std::string suppressions;          // file; empty: none
  std::string fail_on = "warning";   // the least severity that counts: note, warning, error
};

// Of the checkers, but those that stand for several.
std::vector<std::string> checker_names();

// A line of a suppression file: findings of a checker ("*" is any) at places that all its keys fit.
struct Suppression {
  std::string checker, kernel, file, text;
  uint32_t line = 0;  // 0: any
};
// Throws UsageError for what is no such line.
std::vector<Suppression> read_suppressions(const std::string& path);

struct Report {
  std::string input, kernel;
  std::vector<lockstep_check_finding> findings;  // those that are not suppressed
  size_t suppressed = 0;
};
Report report_of(std::string input, std::string kernel, std::vector<lockstep_check_finding> findings,
                 const std::vector<Suppression>& suppressions);

// Prints or writes it. Returns whether anything in it counts.
bool give_report(const Report& report, const FindingOptions& options);

std::string json_text(const Report& report);
std::string sarif_text(const Report& report);

}  // namespace lockstep::cli
