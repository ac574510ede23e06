// Finds barriers that not all work-items of a group come to: waves that wait at different ones, waves that
// have ended before, lanes that are off. The machine counts waves, and those that ended as arrived (guide
// 5.5); what the languages ask for is that every work-item comes to the same barrier.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/findings.h"
#include "engine/listener.h"

namespace lockstep::observe {

class BarrierChecker final : public Listener {
 public:
  // `findings` must outlive this.
  explicit BarrierChecker(Findings& findings) : findings_(findings) {}

  bool wants(const isa::Instruction& instruction) const override;
  bool wants_after(const isa::Instruction&) const override { return false; }
  void before(const Event& event) override;
  void group_begins(const WorkGroup& group) override;
  void group_ends(const WorkGroup& group) override;
  void wave_begins(const Wave& wave) override;
  void wave_ends(const Wave& wave) override;
  void barrier_passed(const WorkGroup& group) override;

 private:
  struct OfWave {
    const Wave* wave = nullptr;
    uint64_t lanes = 0;    // that it began with
    uint64_t barrier = 0;  // PC of the one that it waits at; 0: none
    bool has_ended = false;
    std::vector<uint64_t> calls = {};  // PCs of those that it is inside of
  };
  OfWave& of(const Wave& wave);
  void follow_call(const Event& event, std::vector<uint64_t>& calls);

  Findings& findings_;
  std::mutex mutex_;
  std::unordered_map<const WorkGroup*, std::vector<OfWave>> groups_;
};

}  // namespace lockstep::observe
