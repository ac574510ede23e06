#include "engine/precise/units.h"

#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"

namespace lockstep::precise {

Units make_units(const Settings& settings, Findings& findings, Wave&, Executor&) {
  Units units;
  const RuleBook rules(settings.rules, findings);
  if (rules.is_open()) {
    units.push_back(std::make_unique<DelayHints>(rules));
    units.push_back(std::make_unique<ClauseRules>(rules));
  }
  return units;
}

std::string Settings::names() const {
  std::string text;
  auto add = [&](const char* name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  if (rules == Rules::warn) add("--rules warn");
  if (rules == Rules::fault) add("--rules fault");
  return text;
}

}  // namespace lockstep::precise
