// Who wants to know of the dispatches of a device.
#pragma once

#include <memory>

#include "engine/listener.h"
#include "machine/launch.h"

namespace lockstep::machine {

// Of one dispatch, as long as it runs.
class DispatchRecord {
 public:
  virtual ~DispatchRecord() = default;
  // Sees what the dispatch executes, by the interpreter. Null: nobody looks.
  virtual Listener* listener() { return nullptr; }
  // When its last wave has ended, before anybody else is told. Called once at most, from any thread.
  virtual void ended(const Outcome& outcome) = 0;
};

class DispatchListener {
 public:
  virtual ~DispatchListener() = default;
  // Before the first wave of a launch that the machine takes; from several threads. May return null.
  virtual std::unique_ptr<DispatchRecord> begins(const Launch& launch) = 0;
};

}  // namespace lockstep::machine
