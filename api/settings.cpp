#include "api/settings.h"

#include "api/status.h"

namespace lockstep::api {

namespace {

precise::Rules rules_of(lockstep_rules rules) {
  switch (rules) {
    case LOCKSTEP_RULES_IGNORE:
      return precise::Rules::ignore;
    case LOCKSTEP_RULES_WARN:
      return precise::Rules::warn;
    case LOCKSTEP_RULES_FAULT:
      return precise::Rules::fault;
  }
  throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                "options.rules is " + std::to_string(rules) + " (use a value of lockstep_rules)");
}

}  // namespace

precise::Settings settings_of(const lockstep_dispatch_options& options) {
  precise::Settings settings;
  settings.rules = rules_of(options.rules);
  return settings;
}

}  // namespace lockstep::api
