// What the waves of one dispatch ask of the host: to print, or for memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "state/work_group.h"

namespace lockstep::command {

class DispatchHost {
 public:
  virtual ~DispatchHost() = default;
  // Answers what waves have asked for. False if the interrupt means something else. Called from the thread
  // that runs the wave; must not throw.
  virtual bool answer(const Wave& wave, uint32_t payload) = 0;
  // Called once, behind the last wave and before anybody learns of the end. Empty, or what a wave asked for
  // that no guest gets.
  virtual std::string end() = 0;
};

// The host of a dispatch whose argument segment is there, before it is launched; null if it needs none. May
// map memory. Throws std::exception.
using DispatchHostMaker = std::function<std::unique_ptr<DispatchHost>(uint64_t arguments)>;

}  // namespace lockstep::command
