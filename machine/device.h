// The compute units of a device: run any number of dispatches at the same time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/listeners.h"
#include "hardware/hardware.h"
#include "machine/dispatch_listener.h"
#include "machine/launch.h"
#include "machine/placement.h"
#include "machine/reuse.h"
#include "machine/scheduler.h"
#include "machine/trap_entry.h"

namespace lockstep::machine {

// Work-groups of the launch that the whole device holds at once; 0 if it cannot hold even one.
uint32_t resident_groups(const hardware::Description& device, const Launch& launch);

// A dispatch that runs, or has run, on a Device.
class ActiveDispatch {
 public:
  using Done = std::function<void(Outcome&&)>;

  // The memory of one that has ended is kept for the next one.
  static void* operator new(size_t bytes);
  static void operator delete(void* memory);

 private:
  friend class Device;
  explicit ActiveDispatch(Launch&& launch) : launch_(std::move(launch)) {}

  static std::atomic<void*> spare_memory_;

  Launch launch_;
  RunOptions options_;
  std::atomic<bool> cancel_ = false, suspended_ = false;
  Findings findings_;
  PreparedEngine prepared_;
  std::unique_ptr<DispatchRecord> record_;  // null: nobody listens
  std::optional<Listeners> listeners_;      // the settings' and the record's, where there is a record's
  std::optional<TrapEntry> traps_;          // if the process has a handler
  std::optional<Scheduler> scheduler_;
  int priority_ = 0;
  Done done_;
  std::atomic<int64_t> processor_nanoseconds_ = 0;  // of threads that ran it, if somebody listens
};

class Device {
 public:
  struct Options {
    hardware::Description hardware;
    EngineKind engine = EngineKind::interpreter;
    Math math = Math::exact;
    unsigned threads = 0;              // 0: one for each processor
    memory::AccessModes access_modes;  // of what its queues launch
    // Time stamps and the waves' real time are the host's clock, at 100 MHz, so that programs can compare
    // them, and their SHADER_CYCLES the same at the shader's rate; else time stamps count nanoseconds, and a
    // wave's times its own instructions.
    bool host_real_time = false;
    precise::Settings precise;
    WaveControl* control = nullptr;  // of the waves of all dispatches; outlives the device
    // Called now and then while waves run, from any thread: they may have written to memory that somebody
    // outside waits for.
    std::function<void()> memory_may_have_changed;
    std::shared_ptr<DeviceState> state;    // null: one of its own
    DispatchListener* listener = nullptr;  // outlives the device
    // Of the process, for dispatches whose settings name no other. Outlives the device.
    TrapHandler* trap_handler = nullptr;
  };
  // What some dispatches ask of the machine around the instructions, and where what it finds is collected.
  struct Precise {
    precise::Settings settings;
    Findings findings;
  };
  explicit Device(Options options);
  // Cancels what runs and waits for its end.
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // Starts a dispatch. `done` is called once, when it has ended, faulted or was cancelled, from any thread,
  // the calling one included, without locks; it hears of totals and faults, a listener of all else. A small
  // dispatch is run by the calling thread for a moment; null if it ended there. Higher priorities get the
  // host's threads first. Throws std::invalid_argument for what no hardware would take. `precise`, if not
  // null, replaces the device's settings, takes the findings, and outlives the dispatch. `is_cancelled` is
  // asked now and then while the kernel is translated, when there is no dispatch yet that could be cancelled.
  std::shared_ptr<ActiveDispatch> start(Launch launch, int priority, ActiveDispatch::Done done,
                                        Precise* precise = nullptr,
                                        const translator::IsCancelled& is_cancelled = {});
  // Does for one work-group of such a launch all that start() does, with a kernel of its own that ends at
  // once: what the next dispatch needs is in the processor's caches then. Nobody is told, and waves see
  // nothing of it. False, and nothing done, where dispatches run, where somebody would have to be told, and
  // where a kernel would first be translated.
  bool rehearse(Launch launch);
  // Ends the dispatch soon; Outcome::cancelled tells.
  void cancel(ActiveDispatch& dispatch);
  // When this returns its waves stand still, each between two instructions, and others may have their places
  // on the device; until resume() or cancel(). Not while it is started, nor from its `done`.
  void suspend(ActiveDispatch& dispatch);
  void resume(ActiveDispatch& dispatch);

  const hardware::Description& hardware() const { return options_.hardware; }
  const memory::AccessModes& access_modes() const { return options_.access_modes; }
  // Global data share and its neighbours, which all dispatches share.
  const std::shared_ptr<DeviceState>& state() const { return state_; }
  // The bytes of code may have changed.
  void forget_code() { reuse_.forget_code(); }

 private:
  void give_trap_handler(ActiveDispatch& dispatch) const;
  void add_workers(uint64_t wanted);
  // What each thread does: works when it is called.
  void serve();
  void work();
  // The dispatch that is next in turn, a different one on each call among equals; null if none has work.
  std::vector<std::shared_ptr<ActiveDispatch>> candidates();
  // Runs groups of it for about a slice, or until they only spin.
  Scheduler::Step run_some(const std::shared_ptr<ActiveDispatch>& dispatch);
  // A step of its scheduler; counts the time for who listens.
  Scheduler::Step step(ActiveDispatch& dispatch, int64_t budget, uint64_t& executed);
  void finish(const std::shared_ptr<ActiveDispatch>& dispatch);

  const Options options_;
  const unsigned threads_;
  Reuse reuse_;
  const std::shared_ptr<Placement> placement_;
  // Of rehearsals: where a wave is placed depends on where others were before.
  const std::shared_ptr<Placement> rehearsal_placement_;
  const std::shared_ptr<DeviceState> state_;
  // A dispatch that comes later may release waves that wait now: they are never taken for lost.
  DeviceState::Agent agent_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::condition_variable rest_;                         // of workers that have only what spins
  std::vector<std::shared_ptr<ActiveDispatch>> active_;  // by priority, highest first
  std::atomic<uint64_t> changes_ = 0;                    // of what there is to do
  unsigned workers_ = 0;                                 // threads that work, or are called to
  unsigned called_ = 0;                                  // of those that sleep
  bool stop_ = false;
  std::condition_variable call_;
  uint64_t turn_ = 0;
  // Its own, not of a pool that devices share: a kernel of one device may wait for a kernel of another.
  std::vector<std::thread> pool_;
};

}  // namespace lockstep::machine
