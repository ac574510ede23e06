// What a dispatch asks of the machine around the instructions; by default nothing, and then the engines that
// know nothing of it run the dispatch at full speed.
#pragma once

#include <cstdint>
#include <string>

#include "engine/precise/trap_settings.h"

namespace lockstep {
class Listener;
}

namespace lockstep::precise {

class Host;

// What happens when a program breaks a rule that cannot change a result here, but may on a card.
enum class Rules : uint8_t { ignore, warn, fault };

// When the result of a memory instruction lands: registers and memory change at once, as late as the
// dependency counters allow, or at some time in between.
enum class Results : uint8_t { now, late, random };

// Which of a dispatch's work-groups start first, and which of a group's waves have their turns first; nothing
// promises an order. Random: also how long turns are, one instruction or many.
enum class Order : uint8_t { forward, backward, random };

// Whether the caches between a compute unit and L2 are seen: coherent ones cannot be told from none.
enum class Caches : uint8_t { coherent, incoherent };

struct Settings {
  Rules rules = Rules::ignore;
  // Whose mistakes are looked for where rules are: of waits, and of all else.
  bool looks_for_waits = true, looks_for_legality = true;
  Results results = Results::now;
  uint64_t seed = 0;  // of Results::random: the same one gives the same run on one thread
  TrapSettings traps;
  // TRAPSTS.EXCP collects what arithmetic instructions raise. Programs that look at it get it anyway.
  bool exceptions = false;
  Caches caches = Caches::coherent;
  // Of these only random turns need the precise engine, which ends them behind any instruction.
  Order order = Order::forward;
  uint64_t order_seed = 0;  // of Order::random, likewise
  Host* host = nullptr;     // who commands the waves; outlives the dispatch
  // Who follows what the waves do; outlives the dispatch. Any engine of the interpreter's will do.
  Listener* listener = nullptr;

  // Whether the precise engine must run the dispatch.
  bool needed() const {
    return rules != Rules::ignore || results != Results::now || caches != Caches::coherent || needs_traps() ||
           exceptions || host || order == Order::random;
  }
  // Whether all that it needs one for is to tell of broken rules: then a RuleEngine will do.
  bool only_tells_of_rules() const {
    Settings others = *this;
    others.rules = Rules::ignore;
    return rules == Rules::warn && !others.needed();
  }
  bool is_default() const { return !needed() && !listener && order == Order::forward; }
  bool needs_traps() const {
    return traps.handler != 0 || traps.without_handler != TrapWithoutHandler::report ||
           traps.watches_addresses();
  }
  // Those settings that need it, for messages: "--rules warn, ...".
  std::string names() const;
};

}  // namespace lockstep::precise
