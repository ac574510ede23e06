// Tells what costs time on a card without being wrong: bank conflicts of LDS, vector memory that touches many
// cache lines for few bytes, private memory, and stretches of code that most lanes sit out. Hints, counted
// over the dispatch.
#pragma once

#include <array>
#include <map>
#include <mutex>

#include "engine/findings.h"
#include "engine/listener.h"
#include "observe/cost/traffic.h"

namespace lockstep::observe {

class CostChecker final : public Listener {
 public:
  // `findings` must outlive this.
  explicit CostChecker(Findings& findings) : findings_(findings) {}

  bool wants(const isa::Instruction& instruction) const override;
  bool wants_after(const isa::Instruction&) const override { return false; }
  void before(const Event& event) override;
  void dispatch_ends(const DispatchEvent& event) override;

 private:
  struct Place {
    FindingPlace first;
    const isa::Instruction* instruction = nullptr;
    uint64_t executions = 0;  // of waves
    uint64_t lanes_on = 0, lanes = 0;
    Traffic banks, lines;
    uint64_t scratch_bytes = 0;
  };
  // By PC.
  using Places = std::map<uint64_t, Place>;

  void tell_banks(const Place& place);
  void tell_lines(const Place& place);
  void tell_scratch(const Places& places);
  void tell_idle_lanes(const Places& places);

  Findings& findings_;
  std::mutex mutex_;
  std::map<const DispatchState*, Places> dispatches_;
};

}  // namespace lockstep::observe
