// What a dispatch asks of the machine around the instructions; by default nothing, and then the engines that
// know nothing of it run the dispatch at full speed.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::precise {

// What happens when a program breaks a rule that cannot change a result here, but may on a card.
enum class Rules : uint8_t { ignore, warn, fault };

struct Settings {
  Rules rules = Rules::ignore;

  // Whether the precise engine must run the dispatch.
  bool needed() const { return rules != Rules::ignore; }
  // Those settings that need it, for messages: "--rules warn, ...".
  std::string names() const;
};

}  // namespace lockstep::precise
