// The checkers that follow a dispatch, or those of a queue, by their names.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/findings.h"
#include "engine/listeners.h"
#include "engine/precise/settings.h"
#include "memory/address_space.h"

namespace lockstep::api {

class Checks {
 public:
  // `names`: as in lockstep_dispatch_options.checks; null: none. `freed`: what the device has taken back.
  // Throws Failure for a name that there is not.
  Checks(const char* names, const std::vector<Range>& freed);

  void add(Listener& listener) { listeners_.add(listener); }
  // What the dispatches must be run with.
  void prepare(precise::Settings& settings);
  // Null if nobody listens.
  Listener* listener() { return listeners_.empty() ? nullptr : &listeners_; }
  // What the checkers found; `by_units`: what the units of the precise engine did.
  std::vector<Finding> findings(const std::vector<Finding>& by_units) const;

 private:
  Findings findings_;
  std::set<std::string, std::less<>> names_;
  std::vector<std::unique_ptr<Listener>> checkers_;
  Listeners listeners_;
};

}  // namespace lockstep::api
