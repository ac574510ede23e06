// Checks the rules while a plain interpreter runs the waves: for dispatches that ask for findings about them
// and for nothing else that the precise engine has, at a fraction of its price.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/chunked_list.h"
#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/interpreter/tap.h"
#include "engine/precise/operand_rules.h"
#include "engine/precise/rule_states.h"
#include "engine/precise/settings.h"

namespace lockstep::precise {

class RuleEngine final : public Engine, private Observer {
 public:
  // As for PreciseEngine; `settings`: which rules, and who listens; `pages`: of mapped_pages().
  RuleEngine(const std::vector<CodeRange>& code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
             unsigned vgpr_count, const Settings& settings, Findings& findings, bool processor_mode,
             std::vector<CodeRange> pages, Math math, const memory::AccessModes& modes);
  ~RuleEngine() override;

  // What waves read as the real time is the host's clock.
  void set_host_clock(uint32_t megahertz) { interpreter_.set_host_clock(megahertz); }

  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override { return interpreter_.run(wave, budget); }

 private:
  struct WaveRules;
  // What is known of an instruction, whatever wave comes to it.
  struct Facts {
    bool is_told = false;  // to the listener
    const void* known_to_tap = nullptr;
    bool depends_on_values = false;  // of registers, what the rules say of it
    bool is_straight = false;        // goes_straight_on(), and does not depend on values
    bool goes_to_memory_and_lds = false;
  };

  Wish wish_for(const isa::Instruction& instruction) override;
  Answer on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                        const void* known) override;
  void on_executed(const Wave& wave) override { tap_->on_executed(wave); }
  void on_turn_over(const Wave& wave) override;

  const unsigned wave_size_;
  const bool looks_for_waits_, looks_for_legality_, processor_mode_;
  const Rules rules_;
  Findings& findings_;
  const std::vector<CodeRange> pages_;
  std::optional<interpreter::Tap> tap_;  // if there is a listener
  const std::shared_ptr<GoodInstructions> good_ = std::make_shared<GoodInstructions>();
  RuleStates states_;
  interpreter::Interpreter interpreter_;
  std::mutex mutex_;
  ChunkedList<Facts> facts_;
  std::unordered_map<const Wave*, std::unique_ptr<WaveRules>> waves_;
};

}  // namespace lockstep::precise
