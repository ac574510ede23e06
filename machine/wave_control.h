// The host's hands on the waves of dispatches while they run: look, halt, resume, step, kill, and the
// registers of waves that stand still.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/precise/host_control.h"
#include "machine/wave_registers.h"
#include "state/wake_list.h"
#include "state/wave.h"
#include "state/work_group.h"

namespace lockstep::machine {

// Of a wave: never given twice by one WaveControl.
using WaveId = uint64_t;
// For commands: all waves that are resident now.
inline constexpr WaveId kAllWaves = 0;

struct WaveDescription {
  WaveId id = 0;
  std::array<uint32_t, 3> group{};  // work-group id
  uint32_t wave = 0;                // number within the work-group
  uint32_t wave_size = 0;
  // ready: it runs, or will in its turn. Of waves that are not held, state and PC are those of a moment ago.
  WaveState state = WaveState::ready;
  uint64_t pc = 0;
  precise::HaltCause cause = precise::HaltCause::command;  // of a held one
  // What the machine refused, or the fault; of one that is blocked, or was, what it waits for.
  std::string message;
  FaultKind fault = FaultKind::none;  // of one that is held for a fault
  uint64_t fault_pc = 0;              // the instruction's; with results that land late not the wave's
};

struct WaveEvent {
  WaveDescription wave;
  // The wave was killed, or ended before it had done its steps, or its dispatch ended while it was held; else
  // it was halted and is held.
  bool ended = false;
};

// The wave has ended, or never was.
class NoSuchWave : public std::runtime_error {
 public:
  explicit NoSuchWave(WaveId id)
      : std::runtime_error("there is no wave " + std::to_string(id) + " (it may have ended)") {}
};

// A dispatch that is given one (RunOptions::control) runs in the precise engine. It may serve several
// dispatches, one after the other and side by side, and must outlive them. All public functions may be called
// from any thread but from callbacks of the dispatches. Commands return at once; the waves obey at their next
// instruction boundary, and events tell.
class WaveControl final : public precise::Host {
 public:
  struct Settings {
    bool start_halted = false;                                          // before the first instruction
    bool condition_debug_user = false, condition_debug_system = false;  // STATUS.CDBG_USER and CDBG_SYS
    // A wave that faults halts fatally first (guide 3.4.1, FATAL_HALT), if no trap handler takes the fault.
    // The dispatch ends with the fault when the wave is let go on or killed; a write of its PC takes it back.
    bool halt_on_fault = false;
  };

  WaveControl() = default;
  explicit WaveControl(const Settings& settings) : settings_(settings) {}
  WaveControl(const WaveControl&) = delete;
  WaveControl& operator=(const WaveControl&) = delete;

  // For waves that are launched from now on; halt_on_fault for the others, too.
  void configure(const Settings& settings);

  // The resident waves in the order of their launch.
  std::vector<WaveDescription> waves() const;

  // The functions below throw NoSuchWave, and std::invalid_argument for what cannot be. Commands to all waves
  // never throw.

  // In its trap handler a wave goes on until it leaves it (guide 3.4.1).
  void halt(WaveId id);
  // Whoever halted it; takes back a halt that it has not come to yet.
  void resume(WaveId id);
  // Executes so many instructions of a halted wave, then halts it again. Those of a trap handler do not
  // count.
  void step(WaveId id, uint64_t instructions);
  // The wave ends as s_endpgm ends it: nobody waits for it any more.
  void kill(WaveId id);
  void set_conditions(WaveId id, std::optional<bool> user, std::optional<bool> system);

  // Of a halted wave.
  uint64_t read(WaveId id, RegisterName name) const;
  void write(WaveId id, RegisterName name, uint64_t value);

  // The next event, in the order in which they came; sleeps until there is one. Nothing when the time is
  // over, or by interrupt(). A halt that is over before anybody asked is not told.
  std::optional<WaveEvent> wait(std::optional<std::chrono::nanoseconds> limit);
  // Ends one wait(), the present one or the next.
  void interrupt();

  // ---- For the machine.

  // A work-group is about to be launched. What is returned says that apply() should be called.
  const std::atomic<bool>& begin(const WorkGroup& group);
  // Its waves are launched, and not running yet.
  void started(const WorkGroup& group);
  // Carries out the commands to waves of the group; from its thread, between their turns.
  void apply(const WorkGroup& group);
  // The machine refused the instruction of a wave of the group, which is to be held.
  void refused(Wave& wave);
  // A wave of the group has faulted. True: it is to be held; false: the host does not want to look at it (any
  // more).
  bool faulted(Wave& wave);
  // What became of the waves that wait is shown to the host.
  void show(const WorkGroup& group);
  // The group is over, or given up.
  void forget(const WorkGroup& group);
  // The dispatch is over: when this returns, nobody wakes it any more. Not with locks of the machine held.
  void leave(const WakeList& wake);

  // precise::Host
  std::atomic<bool>& attach(Wave& wave, precise::HostControl& unit) override;
  void ended(const Wave& wave, bool stepping) override;
  precise::HaltCause let_go(const Wave& wave) override;

 private:
  struct Controlled {
    WaveId id = 0;
    Wave* wave = nullptr;
    precise::HostControl* unit = nullptr;
    bool held = false;  // the host may look at its registers, nobody else does
    precise::HaltCause cause = precise::HaltCause::command;
    precise::HostCommands commands;
  };
  struct Group {
    std::shared_ptr<WakeList> wake;
    std::atomic<bool> has_commands = false;
    std::vector<Controlled> waves;  // never moved
  };
  struct Call {
    std::shared_ptr<WakeList> wake;
    const WorkGroup* group;
  };
  using Groups = std::unordered_map<const WorkGroup*, std::unique_ptr<Group>>;

  Controlled& find(WaveId id) const;
  static void require_held(const Controlled& wave, const char* why);
  WaveDescription describe(const Controlled& wave) const;
  // Gives commands to one wave or all, by a function that says whether it gave any, and wakes their groups.
  void give(WaveId id, const std::function<bool(Controlled&)>& command);
  void release(Controlled& wave, uint64_t steps);
  void add_event(const Controlled& wave, bool ended);
  void remove_halt_event(WaveId id);
  void give_up(Group& group);
  static Controlled& record_of(Group& group, const Wave& wave);
  Group& group_of(const WorkGroup& group) const { return *groups_.at(&group); }

  // Schedulers may hold their wake list's lock when they take this one, never the other way round.
  mutable std::mutex mutex_;
  std::condition_variable event_, called_;
  Settings settings_;
  Groups groups_;
  std::unordered_map<WaveId, Controlled*> by_id_;  // those that were launched and have not ended
  std::deque<WaveEvent> events_;
  unsigned interrupts_ = 0;
  unsigned calls_ = 0;  // of schedulers, under way
  WaveId last_id_ = 0;
};

}  // namespace lockstep::machine
