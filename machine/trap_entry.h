// How the waves of a dispatch come into the trap handler that its process has given the driver, whatever
// engine runs them: those that know no handlers run them until they fault or come to an s_trap, and the
// precise engine from there on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/findings.h"
#include "engine/precise/precise_engine.h"
#include "engine/precise/trap_settings.h"
#include "machine/launch.h"

namespace lockstep::machine {

// Of a device: where its process's handler is, and who stands in for the driver. Called from several threads,
// those that run waves; must not throw.
class TrapHandler {
 public:
  struct Place {
    uint64_t base = 0;    // TBA; 0: there is none
    uint64_t memory = 0;  // TMA
  };
  virtual ~TrapHandler() = default;
  // For the dispatches that begin now.
  virtual Place place() const = 0;
  // A wave enters the handler because of a fault, not of an s_trap or what MODE asks for.
  virtual void on_fault(const WaveFault& fault, const Launch& launch) = 0;
  // Whether an interrupt of a wave in the handler tells the driver of exceptions; else it is the program's.
  virtual bool tells_exceptions(const Launch& launch, uint32_t payload) = 0;
  // It does; `cause`, null if it was told already, is what brought the wave there.
  virtual void on_exceptions(const WaveFault* cause, const Launch& launch, uint32_t payload) = 0;
};

class TrapEntry final : public precise::TrapListener, public MessageSink {
 public:
  // All must outlive this. Takes the place of the launch's sink of messages, which it hands them on to.
  TrapEntry(TrapHandler& handler, TrapHandler::Place place, Launch& launch, const RunOptions& options);
  TrapEntry(const TrapEntry&) = delete;
  TrapEntry& operator=(const TrapEntry&) = delete;

  // Is told before the driver is: of what its program is told, that may end it.
  using OnTold = std::function<void(const WaveFault&)>;
  void set_on_told(OnTold on_told) { on_told_ = std::move(on_told); }

  // For a precise engine that runs the dispatch from the start.
  void set(precise::TrapSettings& traps);
  // A wave that has stopped by a fault in an engine that knows no handlers: who runs it from here on, in its
  // handler or just before it. Null if that fault is none for a handler. Two calls, so that what the second
  // touches may be guarded.
  precise::PreciseEngine* engine_for(const Wave& wave);

  void enters_handler(const Wave& wave, Fault&& cause) override;
  void on_interrupt(const Wave& wave, uint32_t payload) override;

 private:
  struct Cause {
    WaveFault fault;
    bool told = false;
  };
  // Made for the first wave that needs it: few dispatches have one.
  struct Entered {
    Findings findings;
    std::unique_ptr<precise::PreciseEngine> engine;
    // Why waves are in their handlers, or were last. By storage, so that there are few.
    std::unordered_map<const Wave*, Cause> causes;
  };
  Entered& entered();  // with the lock held

  TrapHandler& handler_;
  const TrapHandler::Place place_;
  const Launch& launch_;
  const RunOptions& options_;
  MessageSink* const messages_;
  OnTold on_told_;
  std::mutex mutex_;
  std::unique_ptr<Entered> entered_;
};

}  // namespace lockstep::machine
