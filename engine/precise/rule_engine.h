// Checks the rules while a plain interpreter runs the waves: for dispatches that ask for findings about them
// and for nothing else that the precise engine has, at a fraction of its price.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/interpreter/tap.h"
#include "engine/precise/operand_rules.h"
#include "engine/precise/settings.h"
#include "isa/effects.h"

namespace lockstep::precise {

class RuleEngine final : public Engine, private Observer {
 public:
  // As for PreciseEngine; `settings`: which rules, and who listens; `pages`: of mapped_pages().
  RuleEngine(const std::vector<CodeRange>& code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
             unsigned vgpr_count, const Settings& settings, Findings& findings, bool processor_mode,
             std::vector<CodeRange> pages, Math math, const memory::AccessModes& modes);
  ~RuleEngine() override;

  // What waves read as the real time is the host's clock.
  void set_host_real_time() { interpreter_.set_host_real_time(); }

  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override { return interpreter_.run(wave, budget); }

 private:
  struct WaveRules;
  // What is known of an instruction, whatever wave comes to it: most break no rule and change nothing of
  // what the next one may break.
  struct Facts {
    const isa::Instruction* instruction = nullptr;
    bool is_told = false;  // to the listener
    bool is_delay_hint = false, is_clause = false, is_for_program = false, is_for_hazards = false,
         has_m0_rule = false;
    bool counts = false;  // up, or waits until something has come down
    bool has_index = false;
    std::vector<isa::RegisterRange> used;  // registers, read or written
  };

  Calls calls_for(const isa::Instruction& instruction) const override;
  bool on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc) override;
  void on_executed(const Wave& wave) override { tap_->on_executed(wave); }
  void on_turn_over(const Wave& wave) override;
  const Facts& facts_of(const isa::Instruction& instruction, uint64_t pc);
  Facts make_facts(const isa::Instruction& instruction) const;

  static constexpr size_t kPlaces = 4096;

  const unsigned wave_size_, vgpr_count_;
  const bool looks_for_waits_, looks_for_legality_, processor_mode_;
  const RuleBook rules_;
  const std::vector<CodeRange> pages_;
  Listener* const listener_;
  std::optional<interpreter::Tap> tap_;  // if there is a listener
  const std::shared_ptr<GoodInstructions> good_ = std::make_shared<GoodInstructions>();
  interpreter::Interpreter interpreter_;
  std::mutex mutex_;
  std::unordered_map<const isa::Instruction*, std::unique_ptr<const Facts>> facts_;
  // Of facts_, by some bits of the address: nearly all are found here.
  std::array<std::atomic<const Facts*>, kPlaces> found_{};
  std::unordered_map<const Wave*, std::unique_ptr<WaveRules>> waves_;
};

}  // namespace lockstep::precise
