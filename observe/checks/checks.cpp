#include "observe/checks/checks.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <tuple>

#include "observe/barriers/barrier_checker.h"
#include "observe/cost/cost_checker.h"
#include "observe/memory/memory_checker.h"
#include "observe/plugin/plugin_listener.h"
#include "observe/races/race_checker.h"
#include "observe/uninitialised/uninitialised_checker.h"

namespace lockstep::observe {

namespace {

// Those of the precise engine's units are no listeners: they need its dependency counters.
constexpr std::string_view kNames[] = {"barriers", "legality", "memory", "races", "uninitialised", "waits"};
// Of what is slow, not wrong: "all" leaves it away.
constexpr std::string_view kCost = "cost";

bool is_checker(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) || name == kCost;
}

std::unique_ptr<Listener> load_plugin(const std::string& text, Findings& findings) {
  auto plugin = std::make_unique<PluginListener>(text, findings);
  // What it finds must not look as if they had.
  if (is_checker(plugin->name()) || std::string_view(plugin->name()) == "all")
    throw PluginError("plug-in '" + text + "': its name is '" + plugin->name() +
                      "', which is that of a checker (lockstep_plugin.name: choose another)");
  return plugin;
}

}  // namespace

Checks::Names Checks::names_of(std::string_view text) {
  Names names;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    if (name == "all") {
      names.insert(std::begin(kNames), std::end(kNames));
    } else if (is_checker(name)) {
      names.emplace(name);
    } else {
      std::string known;
      for (const std::string_view each : kNames) known += std::string(each) + ", ";
      throw std::invalid_argument("there is no checker '" + std::string(name) +
                                  "' (those there are: " + known + std::string(kCost) + ", all)");
    }
  }
  return names;
}

Checks::Checks(Names names, const std::vector<Range>& freed, const Blocks* blocks,
               const std::vector<std::string>& plugins, FindFunction find)
    : names_(std::move(names)) {
  if (names_.contains("barriers")) checkers_.push_back(std::make_unique<BarrierChecker>(findings_));
  if (names_.contains("memory"))
    checkers_.push_back(std::make_unique<MemoryChecker>(findings_, freed, blocks));
  // The machinery of races sees which stores a barrier does not wait for; of registers the units tell.
  const RaceChecker::Tells tells{names_.contains("races"), names_.contains("waits")};
  if (tells.races || tells.waits)
    checkers_.push_back(std::make_unique<RaceChecker>(findings_, tells, std::move(find)));
  if (names_.contains("uninitialised"))
    checkers_.push_back(std::make_unique<UninitialisedChecker>(findings_));
  if (names_.contains(kCost)) checkers_.push_back(std::make_unique<CostChecker>(findings_));
  for (const std::string& plugin : plugins) checkers_.push_back(load_plugin(plugin, findings_));
  for (const auto& checker : checkers_) listeners_.add(*checker);
}

void Checks::ask_units(const Names& names, precise::Settings& settings) {
  const bool waits = names.contains("waits"), legality = names.contains("legality");
  if ((!waits && !legality) || settings.rules != precise::Rules::ignore) return;
  settings.rules = precise::Rules::warn;
  settings.looks_for_waits = waits;
  settings.looks_for_legality = legality;
}

void Checks::prepare(precise::Settings& settings) {
  ask_units(names_, settings);
  settings.listener = listener();
}

std::vector<lockstep::Finding> Checks::findings(const std::vector<lockstep::Finding>& by_units) const {
  std::vector<lockstep::Finding> all = findings_.all();
  std::copy_if(by_units.begin(), by_units.end(), std::back_inserter(all),
               [&](const lockstep::Finding& finding) { return names_.contains(finding.checker); });
  std::sort(all.begin(), all.end(), [](const lockstep::Finding& a, const lockstep::Finding& b) {
    return std::make_tuple(a.pc, std::string_view(a.checker), std::string_view(a.rule)) <
           std::make_tuple(b.pc, std::string_view(b.checker), std::string_view(b.rule));
  });
  return all;
}

}  // namespace lockstep::observe
