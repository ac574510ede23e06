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
  // The program is about to be told that a wave has gone to its trap handler by a fault or trap, which may be
  // the program's end. The outcome has the fault and what was found until now. From any thread, also several
  // times; waves still run, and ended() may follow.
  virtual void trapped(const Outcome&) {}
};

class DispatchListener {
 public:
  virtual ~DispatchListener() = default;
  // Before the first wave of a launch that the machine takes; from several threads. May return null.
  virtual std::unique_ptr<DispatchRecord> begins(const Launch& launch) = 0;
};

}  // namespace lockstep::machine
