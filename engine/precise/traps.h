// Traps of one wave (guide 3.4.9, 5.1): when it enters its trap handler, with what in the TTMPs, and how it
// comes back.
#pragma once

#include "engine/precise/dependency_counters.h"
#include "engine/precise/rule_book.h"
#include "engine/precise/settings.h"
#include "engine/precise/unit.h"

namespace lockstep::precise {

class Traps final : public Unit {
 public:
  // All must outlive the unit.
  Traps(const Settings& settings, RuleBook rules, DependencyCounters& counters, Executor& executor)
      : settings_(settings.traps),
        results_(settings.results),
        rules_(rules),
        counters_(counters),
        executor_(executor) {}

  void launch(Wave& wave) override;
  Verdict before(const Step& step) override;
  void after(const Step& step) override;
  void interrupt(Wave& wave) override;
  bool on_fault(Wave& wave) override;

  // The instruction in flight raised exceptions: TRAPSTS bits, which are set, and a trap is taken behind the
  // instruction if MODE.EXCP_EN wants one for any of them.
  void raise(Wave& wave, uint32_t exceptions);
  // Whether a request of the host is to be taken at the next instruction: also by a wave that is halted
  // (guide 3.4.1, HALT).
  bool has_request(Wave& wave);

 private:
  bool may_trap(const Wave& wave) const;
  void take_requests(Wave& wave);
  void take(Wave& wave, const HostRequest& request);
  bool is_pending(const Wave& wave) const;
  void enter_handler(Wave& wave, uint64_t pc, unsigned trap_id, bool from_host, Fault&& cause = {});
  // For what is pending, and a fault if there is one.
  void enter_handler(Wave& wave, uint64_t pc, Fault&& cause = {});
  void pass_first_level(Wave& wave) const;
  void finish_access(Wave& wave);
  Verdict report_exceptions(const Step& step) const;

  const TrapSettings& settings_;
  const Results results_;
  const RuleBook rules_;
  DependencyCounters& counters_;
  Executor& executor_;
  uint64_t executed_ = 0;
  size_t scheduled_taken_ = 0, host_taken_ = 0;
  // What waits for the next instruction boundary outside the handler: bits that TRAPSTS gets on entry, and
  // exceptions, whose bits it has already.
  uint32_t causes_ = 0;
  bool exception_ = false;
  // Exceptions that ask for a trap where no handler takes it: what the machine reports in the person of one.
  uint32_t reported_ = 0;
  uint8_t host_trap_id_ = 0;
};

}  // namespace lockstep::precise
