// What a wave waits for inside an instruction of GDS or GWS, in words.
#pragma once

#include <optional>
#include <string>

#include "state/wave.h"

namespace lockstep::machine {

struct WaitText {
  std::string what;   // "the wave waits at the barrier in global wave sync resource 3"
  std::string lacks;  // "2 more must arrive..."
};

// Nothing if it does not wait. From any thread, for a wave whose group is resident.
std::optional<WaitText> describe_wait(const Wave& wave);

}  // namespace lockstep::machine
