#include "engine/precise/wait_rules.h"

#include <algorithm>

#include "engine/precise/deferred.h"
#include "engine/register_effects.h"

namespace lockstep::precise {

bool WaitRules::is_skipped(const Step& step) const {
  if (!is_without_lanes(step.instruction, step.wave)) return false;
  const Shares shares = shares_of(step.instruction);
  return std::none_of(shares.begin(), shares.end(),
                      [&](const Share& share) { return may_be_up_[static_cast<size_t>(share.counter)]; });
}

Verdict WaitRules::before(const Step& step) {
  coming_.clear();
  if (is_skipped(step)) return Verdict::execute;
  const Shares shares = shares_of(step.instruction);
  if (any_busy_ && busy_.may_be_used_by(step))
    if (auto text = find_missing_wait(step, shares))
      if (const Verdict verdict = rules_.missed_wait(step, std::move(*text)); verdict != Verdict::execute)
        return verdict;
  const std::optional<Counts> wait = limits_of(step.instruction, step.wave);
  // Where few are under way there is room for another one, whatever it counts.
  if (wait || under_way_.size() >= kGreatest[CounterName::expcnt])
    come_down_to(limits_at_issue(wait, shares));
  if (shares.count != 0) issue(step, shares);
  return Verdict::execute;
}

void WaitRules::after(const Step& step) {
  for (Issued& issued : coming_) {
    if (issued.pc != step.pc) continue;
    make_busy(issued);
    under_way_.push_back(std::move(issued));
  }
  coming_.clear();
}

void WaitRules::issue(const Step& step, const Shares& shares) {
  for (const Share& share : shares) may_be_up_[static_cast<size_t>(share.counter)] = true;
  if (!tells_) return;
  // In a loop without waits, scalar loads would be remembered for ever, since none of them is certain before
  // all are. Of each the latest issue stands for those before.
  std::erase_if(under_way_, [&](const Issued& issued) {
    return issued.pc == step.pc && !completes_in_order(issued.share.kind);
  });
  const FlatLanes flat = flat_lanes(step, accesses_);
  for (const Share& share : shares) {
    // Nothing else has this counter, and stores have no results.
    if (share.counter == CounterName::vscnt) continue;
    uint64_t lanes = step.wave.exec();
    if (shares.count == 2) lanes &= share.counter == CounterName::lgkmcnt ? flat.lds : ~flat.lds;
    Issued& issued = coming_.emplace_back(Issued{&step.instruction, step.pc, share, {}});
    for (const isa::RegisterUse& use : register_effects(step.wave, step.instruction).writes)
      if (!use.is_vgpr() || lanes != 0) issued.destinations.push_back(use);
  }
}

void WaitRules::come_down_to(const Counts& limits) {
  for (unsigned i = 0; i < kCounters; ++i)
    if (limits.values[i] == 0) may_be_up_[i] = false;
  // By kind and counter: how many are behind the one that is looked at, from the newest on.
  std::array<std::array<uint16_t, kCounters>, kKinds> newer{};
  bool any = false;
  for (auto at = under_way_.rbegin(); at != under_way_.rend(); ++at) {
    uint16_t& behind = newer[static_cast<size_t>(at->share.kind)][static_cast<size_t>(at->share.counter)];
    if (is_certain(at->share, behind, limits)) {
      at->instruction = nullptr;
      any = true;
    }
    ++behind;
  }
  if (!any) return;
  std::erase_if(under_way_, [](const Issued& issued) { return !issued.instruction; });
  find_busy();
}

void WaitRules::find_busy() {
  busy_.clear();
  any_busy_ = false;
  for (const Issued& issued : under_way_) make_busy(issued);
}

void WaitRules::make_busy(const Issued& issued) {
  for (const isa::RegisterRange& range : issued.destinations) {
    busy_.add(range);
    any_busy_ = true;
  }
}

unsigned WaitRules::sufficient_limit(const Issued& issued) const {
  if (!completes_in_order(issued.share.kind)) return 0;
  unsigned newer = 0;
  bool behind = false;
  for (const Issued& other : under_way_) {
    if (&other == &issued) {
      behind = true;
    } else if (other.share.counter == issued.share.counter) {
      if (other.share.kind != issued.share.kind) return 0;
      if (behind) ++newer;
    }
  }
  return newer;
}

std::optional<std::string> WaitRules::find_missing_wait(const Step& step, const Shares& shares) const {
  const isa::RegisterEffects effects = register_effects(step.wave, step.instruction);
  for (const Issued& issued : under_way_)
    if (const auto use = find_early_use(effects, shares, issued.share.kind, issued.destinations))
      return explain_missing_wait(step, *use, *issued.instruction, issued.pc, issued.share.counter,
                                  sufficient_limit(issued));
  return {};
}

}  // namespace lockstep::precise
