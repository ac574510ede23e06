// How many threads the host runs side by side.
#pragma once

#include <algorithm>
#include <thread>

namespace lockstep::machine {

// Asked once: the standard library reads a file of the kernel's for it each time, which takes as long as a
// small dispatch.
inline unsigned host_threads() {
  static const unsigned count = std::max(1u, std::thread::hardware_concurrency());
  return count;
}

}  // namespace lockstep::machine
