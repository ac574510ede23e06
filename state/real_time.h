// The card's counters as the host's clock counts them: that of constant rate (100 MHz; guide 5.3 REALTIME,
// table 16), and clocks of the shader.
#pragma once

#include <chrono>
#include <cstdint>

namespace lockstep {

inline constexpr uint64_t kRealTimeHertz = 100'000'000;

inline uint64_t host_nanoseconds() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

inline uint64_t host_real_time() {
  constexpr uint64_t kNanosecondsPerTick = 1'000'000'000 / kRealTimeHertz;
  return host_nanoseconds() / kNanosecondsPerTick;
}

inline uint64_t host_shader_clocks(uint32_t megahertz) {
  const uint64_t now = host_nanoseconds();
  return now / 1000 * megahertz + now % 1000 * megahertz / 1000;
}

}  // namespace lockstep
