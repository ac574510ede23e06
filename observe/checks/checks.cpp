#include "api/checks.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "api/status.h"
#include "observe/barriers/barrier_checker.h"
#include "observe/memory/memory_checker.h"
#include "observe/races/race_checker.h"
#include "observe/uninitialised/uninitialised_checker.h"

namespace lockstep::api {

namespace {

// Those of the precise engine's units are no listeners: they need its dependency counters.
constexpr std::string_view kNames[] = {"barriers", "legality", "memory", "races", "uninitialised", "waits"};

}  // namespace

Checks::Checks(const char* names, const std::vector<Range>& freed) {
  std::string_view rest = names ? names : "";
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "all") {
      names_.insert(std::begin(kNames), std::end(kNames));
    } else if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) {
      names_.emplace(name);
    } else {
      std::string known;
      for (const std::string_view each : kNames) known += std::string(each) + ", ";
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, "there is no checker '" + std::string(name) +
                                                   "' (options.checks takes: " + known + "all)");
    }
  }
  if (names_.contains("barriers")) checkers_.push_back(std::make_unique<observe::BarrierChecker>(findings_));
  if (names_.contains("memory"))
    checkers_.push_back(std::make_unique<observe::MemoryChecker>(findings_, freed));
  if (names_.contains("races")) checkers_.push_back(std::make_unique<observe::RaceChecker>(findings_));
  if (names_.contains("uninitialised"))
    checkers_.push_back(std::make_unique<observe::UninitialisedChecker>(findings_));
  for (const auto& checker : checkers_) listeners_.add(*checker);
}

void Checks::prepare(precise::Settings& settings) {
  if (names_.contains("waits") || names_.contains("legality"))
    settings.rules = std::max(settings.rules, precise::Rules::warn);
  settings.listener = listener();
}

std::vector<Finding> Checks::findings(const std::vector<Finding>& by_units) const {
  std::vector<Finding> all = findings_.all();
  std::copy_if(by_units.begin(), by_units.end(), std::back_inserter(all),
               [&](const Finding& finding) { return names_.contains(finding.checker); });
  std::sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) {
    return std::make_tuple(a.pc, std::string_view(a.checker), std::string_view(a.rule)) <
           std::make_tuple(b.pc, std::string_view(b.checker), std::string_view(b.rule));
  });
  return all;
}

}  // namespace lockstep::api
