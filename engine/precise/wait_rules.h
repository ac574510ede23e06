// Registers that are used before the program has made sure, by waits, that results have reached them
// (guide 5.6). What the program has made sure of does not depend on when results land.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "engine/precise/missing_waits.h"
#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"

namespace lockstep::precise {

struct WaitState {
  struct Issued {
    const isa::Instruction* instruction;
    uint64_t pc;
    Share share;
    std::vector<isa::RegisterRange> destinations;
    // The instruction and its lanes decide the rest: without lanes it writes no VGPRs.
    bool operator==(const Issued& other) const {
      return instruction == other.instruction && pc == other.pc && share.counter == other.share.counter &&
             destinations.size() == other.destinations.size();
    }
  };

  std::vector<Issued> under_way_;            // not certain to have come to its end, in the order of issue
  std::array<bool, kCounters> may_be_up_{};  // nothing has waited for zero since
  BusyRegisters busy_;                       // what those under way write
  bool any_busy_ = false;
  bool operator==(const WaitState&) const = default;
};

class WaitRules final : public Unit, public Remembers<WaitState> {
 public:
  // `tells`: whether missing waits are looked for; else it only knows which counters may not be zero.
  WaitRules(RuleBook rules, bool tells, AccessFinder& accesses)
      : rules_(rules), tells_(tells), accesses_(accesses) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

  // Whether the hardware passes over the instruction: it is vector memory, LDS or a direct load, no lane is
  // active, and its counter is zero (guide 3.2.3) however late results may be.
  bool is_skipped(const Step& step) const;

 private:
  std::optional<std::string> find_missing_wait(const Step& step, const Shares& shares) const;
  unsigned sufficient_limit(const Issued& issued) const;
  // Forgets what must have come to its end once the counters are down to the limits.
  void come_down_to(const Counts& limits);
  void find_busy();
  void make_busy(const Issued& issued);
  void issue(const Step& step, const Shares& shares);

  const RuleBook rules_;
  const bool tells_;
  AccessFinder& accesses_;
  std::vector<Issued> coming_;  // the instruction that the wave is at
};

}  // namespace lockstep::precise
