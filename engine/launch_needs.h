// What an engine knows of the code that waves are launched for, so that launching them is not more work than
// running them.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep {

struct LaunchNeeds {
  // VGPRs that a wave may read before it has written them: no others need be zero at launch.
  std::vector<unsigned> vgprs;
  // A wave that ends in its first turn leaves its registers as they were at launch.
  bool registers_stay = false;
};

// Beside Engine, of engines that know it.
class LaunchAdviser {
 public:
  // Of waves with this MODE, which start at the entry of the engine's kernel. Null while anything may be
  // read.
  virtual const LaunchNeeds* launch_needs(uint32_t mode) const = 0;

 protected:
  ~LaunchAdviser() = default;
};

}  // namespace lockstep
