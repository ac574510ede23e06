// What an engine knows of the code that waves are launched for, so that launching them is not more work than
// running them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep {

struct Wave;

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
  // While launch_needs() says something: gives these waves a turn each, in order, from `next` on, and counts
  // it on; those that have ended or are at a barrier need none. Stops before a wave that needs more than
  // translated code, which may have begun its turn. Adds what was executed.
  virtual void run_turns(std::span<Wave* const> waves, int64_t turn, size_t& next, uint64_t& executed) = 0;

 protected:
  ~LaunchAdviser() = default;
};

}  // namespace lockstep
