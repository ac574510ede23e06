// The constant-rate counter of the card (100 MHz; guide 5.3 REALTIME, table 16) as the host's clock counts
// it.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

inline constexpr uint64_t kRealTimeHertz = 100'000'000;

inline uint64_t host_real_time() {
  constexpr uint64_t kNanosecondsPerTick = 1'000'000'000 / kRealTimeHertz;
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count()) /
         kNanosecondsPerTick;
}

}  // namespace lockstep
