// Instructions that must not follow too closely upon others (guide 7.2.8, 7.9, 12.2.1.2): the hardware does
// not look for these dependencies, and here they change nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/precise/counters.h"
#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"
#include "engine/register_effects.h"

namespace lockstep::precise {

using isa::RegisterRange;

struct HazardState {
  // An instruction that was executed, with what decides which registers it uses. Which these are is worked
  // out where a direct load comes behind it, for hardly any program has those.
  struct Executed {
    const isa::Instruction* instruction = nullptr;
    uint32_t m0 = 0;  // of those that it moves the registers of
    bool is_privileged = false;
    bool operator==(const Executed&) const = default;
  };
  // wait_vdst lets at most so many be under way; those before them have completed whatever it says.
  static constexpr size_t kMostUnfinished = 16;
  // A transcendental instruction whose result may not have landed, which the hardware does not wait for where
  // another vector ALU instruction reads it soon. LLVM (VALUTransUseHazard): at most five vector instructions
  // between them, one of them transcendental.
  struct Transcendental {
    const isa::Instruction* instruction = nullptr;  // null: none
    unsigned behind = 0;                            // vector ALU instructions since
    bool operator==(const Transcendental&) const = default;
  };
  static constexpr uint64_t kAnywhere = 0;

  uint64_t next_pc_ = kAnywhere;  // where the wave goes on; elsewhere a trap, or the host, came between
  uint32_t privileged_ = 0;       // STATUS.PRIV: likewise
  bool behind_compare_ = false;   // the last vector ALU instruction was v_cmpx
  const isa::Instruction* matrix_ = nullptr;  // the last one, if that was WMMA
  // Vector ALU instructions that may not have completed, the newest first.
  std::array<Executed, kMostUnfinished> unfinished_;
  size_t unfinished_count_ = 0;
  std::array<Transcendental, 2> transcendental_;  // the newest first
  // Memory instructions that may not have read their VGPRs, the oldest first.
  std::vector<Executed> unread_;
  bool operator==(const HazardState&) const = default;
};

class HazardRules final : public Unit, public Remembers<HazardState> {
 public:
  // `is_interrupted`: traps or the host may take the wave elsewhere.
  HazardRules(RuleBook rules, bool is_interrupted) : rules_(rules), is_interrupted_(is_interrupted) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  // Of memory instructions the oldest of so many has come to its end: no counter goes beyond 63.
  static constexpr size_t kMostUnread = kCounters * 64;

  static constexpr unsigned kMostBehindTranscendental = 5;

  static Executed executed(const Step& step);
  static isa::RegisterEffects effects_of(const Executed& executed, const Wave& wave);
  std::string broken_by(const Step& step) const;
  std::string permlane_behind_compare(const Step& step) const;
  std::string matrix_behind_matrix(const Step& step) const;
  std::string use_of_transcendental(const Step& step) const;
  std::string load_over_vector_alu(const Step& step) const;
  std::string load_over_memory(const Step& step) const;

  void note_vector_alu(const Step& step);
  void note_memory(const Step& step);
  void note_waits(const Step& step);
  // At most so many vector ALU instructions are still under way.
  void complete(size_t left);
  void forget();

  RuleBook rules_;
  const bool is_interrupted_;
};

}  // namespace lockstep::precise
