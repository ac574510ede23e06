// MXCSR, by which the host rounds, flushes and traps, as the bodies take it to be.
#pragma once

#include <cstdint>

namespace lockstep::numeric {

// While it lives, the thread rounds to nearest, keeps denormals and traps nothing. A thread has what the one
// that made it had, and programs change theirs: -ffast-math flushes denormals from main() on, HPC programs
// trap invalid operations. What the thread had, its flags too, is there again afterwards.
class HostFloatDefaults {
 public:
  HostFloatDefaults() : saved_(__builtin_ia32_stmxcsr()) {
    if ((saved_ & ~kFlags) != kAllMasked) __builtin_ia32_ldmxcsr(kAllMasked);
  }
  ~HostFloatDefaults() { __builtin_ia32_ldmxcsr(saved_); }
  HostFloatDefaults(const HostFloatDefaults&) = delete;
  HostFloatDefaults& operator=(const HostFloatDefaults&) = delete;

 private:
  static constexpr uint32_t kAllMasked = 0x1f80, kFlags = 0x3f;

  const uint32_t saved_;
};

}  // namespace lockstep::numeric
