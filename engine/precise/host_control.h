// The host's commands to one wave: halt, resume, single step, kill (guide 3.4.1, 5.1, 5.2.1). A wave whose
// STATUS says that it is halted is held here until a command lets it go on.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/precise/clause_rules.h"
#include "engine/precise/dependency_counters.h"
#include "engine/precise/traps.h"
#include "engine/precise/unit.h"

namespace lockstep::precise {

class HostControl;

// Why a wave halted.
enum class HaltCause : uint8_t {
  command,      // of the host
  start,        // the waves of the dispatch start halted
  step,         // a single step is done
  sethalt,      // its program or trap handler set STATUS.HALT
  sendmsghalt,  // likewise, with a message
  fatal,        // STATUS.FATAL_HALT
  refused,      // the machine refused its instruction (NACK) and may take it later
  fault,        // it has faulted, which ends the dispatch when it goes on
};

// What the host wants of a wave; done between two of the wave's turns, in the order of the members.
struct HostCommands {
  bool kill = false;
  bool release = false;            // clears HALT and FATAL_HALT
  uint64_t steps = 0;              // instructions until it halts again; 0: it goes on
  bool halt = false;               // sets HALT
  uint32_t conditions = 0;         // values of those bits of COND_DBG_USER and COND_DBG_SYS ...
  uint32_t chosen_conditions = 0;  // ... that are to change

  bool any() const { return kill || release || halt || chosen_conditions != 0; }
};

// Who gives the commands. Called by the threads that run waves.
class Host {
 public:
  // A wave is launched, `control` is its unit. What is returned tells the waves of its group to end their
  // turns, since there is something to do between them.
  virtual std::atomic<bool>& attach(Wave& wave, HostControl& control) = 0;
  // The wave has ended; `stepping`: before it had done its steps.
  virtual void ended(const Wave& wave, bool stepping) = 0;
  // A held wave goes to its trap handler, and will halt again behind it. Says why it was halted.
  virtual HaltCause let_go(const Wave& wave) = 0;

 protected:
  ~Host() = default;
};

class HostControl final : public Unit {
 public:
  // All must outlive the unit, `counters`, `clauses` and `traps` (these two may be null) as long as it is
  // used. Without a host nobody could resume a wave: one that halts when it leaves its trap handler faults.
  // Unless `halts_for_good`: then it stays halted.
  HostControl(Host* host, bool halts_for_good, DependencyCounters& counters, ClauseRules* clauses,
              Traps* traps, Executor& executor)
      : host_(host),
        halts_for_good_(halts_for_good),
        counters_(counters),
        clauses_(clauses),
        traps_(traps),
        executor_(executor) {}

  void launch(Wave& wave) override;
  // Asked before all other units: a halted wave takes no trap but those of the host.
  Verdict before(const Step& step) override;
  void after(const Step& step) override;
  void interrupt(Wave& wave) override;

  // All below only between two turns of the wave, from the thread that runs its group.
  void halt(Wave& wave, HaltCause cause);
  // The machine has refused the instruction at wave.pc.
  void refuse(Wave& wave);
  // The wave has faulted, and is to halt fatally before that counts.
  void halt_faulted(Wave& wave);
  void obey(Wave& wave, const HostCommands& commands);
  // Ends the wave as s_endpgm does, or by the fault that it was halted for.
  void kill(Wave& wave);
  // Whether the wave is to be held and is not yet.
  static bool must_hold(const Wave& wave);
  // What it has under way lands, then wave.state is held. Returns why.
  HaltCause hold(Wave& wave);
  void break_clause() {
    if (clauses_) clauses_->break_clause();
  }
  // What refuse() was about.
  const std::string& refusal() const { return refusal_; }
  // What halt_faulted() was about; null if the wave has no fault, or no longer.
  const Fault* fault() const { return fault_ ? &*fault_ : nullptr; }
  void forget_fault() { fault_.reset(); }
  void show(const Wave& wave);

  // Of a held wave, from any one thread: it goes on at `pc`, or with another MODE. False if there is no code.
  bool continue_at(Wave& wave, uint64_t pc);

  // As they were shown last, from any thread.
  WaveState shown_state() const { return state_.load(std::memory_order_relaxed); }
  uint64_t shown_pc() const { return pc_.load(std::memory_order_relaxed); }

 private:
  bool is_stopped(Wave& wave) const;
  void settle(Wave& wave);
  void fail_with_fault(Wave& wave);
  void count_step(Wave& wave);
  Verdict fail(const Step& step);
  Verdict stay_halted(const Step& step);

  Host* const host_;
  const bool halts_for_good_;
  DependencyCounters& counters_;
  ClauseRules* const clauses_;
  Traps* const traps_;
  Executor& executor_;
  std::atomic<bool>* turn_must_end_ = nullptr;
  uint64_t steps_ = 0;    // left of a single step
  bool at_trap_ = false;  // an s_trap outside the handler was the last instruction looked at
  HaltCause cause_ = HaltCause::sethalt;
  std::string refusal_;
  std::optional<Fault> fault_;
  std::atomic<uint64_t> pc_ = 0;
  std::atomic<WaveState> state_ = WaveState::ready;
};

}  // namespace lockstep::precise
