#include "engine/precise/units.h"

#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"
#include "engine/precise/dependency_counters.h"
#include "engine/precise/global_sync_rules.h"

namespace lockstep::precise {

// The order counts: a unit that only checks comes before one that executes instructions itself, since behind
// that one nobody is asked. The dependency counters execute memory instructions; messages and GDS they leave
// to units behind them.
MakeUnits units_for(const Settings& settings, Findings& findings) {
  const RuleBook rules(settings.rules, findings);
  const auto siblings = std::make_shared<Siblings>();
  return [=](Wave& wave, Executor& executor) {
    Units units;
    if (rules.is_open()) {
      units.push_back(std::make_unique<DelayHints>(rules));
      units.push_back(std::make_unique<ClauseRules>(rules));
      units.push_back(std::make_unique<GlobalSyncRules>(rules));
    }
    const auto path = std::make_shared<MemoryPath>();
    if (settings.results != Results::now) path->attach(wave);
    units.push_back(std::make_unique<DependencyCounters>(settings, rules, path, siblings, wave, executor));
    return units;
  };
}

std::string Settings::names() const {
  std::string text;
  auto add = [&](const char* name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  if (rules == Rules::warn) add("--rules warn");
  if (rules == Rules::fault) add("--rules fault");
  if (results == Results::late) add("--results late");
  if (results == Results::random) add("--results random");
  return text;
}

}  // namespace lockstep::precise
