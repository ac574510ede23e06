// The checkers that follow a dispatch, or those of a queue, by their names.
#pragma once

#include <memory>
#include <vector>

#include "engine/findings.h"
#include "engine/listeners.h"
#include "memory/address_space.h"

namespace lockstep::api {

class Checks {
 public:
  // `names`: as in lockstep_dispatch_options.checks; null: none. `freed`: what the device has taken back.
  // Throws Failure for a name that there is not.
  Checks(const char* names, const std::vector<Range>& freed);

  void add(Listener& listener) { listeners_.add(listener); }
  // Null if nobody listens.
  Listener* listener() { return listeners_.empty() ? nullptr : &listeners_; }
  std::vector<Finding> findings() const { return findings_.all(); }

 private:
  Findings findings_;
  std::vector<std::unique_ptr<Listener>> checkers_;
  Listeners listeners_;
};

}  // namespace lockstep::api
