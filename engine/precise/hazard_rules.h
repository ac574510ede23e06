// Instructions that must not follow too closely upon others (guide 7.2.8, 7.9, 12.2.1.2): the hardware does
// not look for these dependencies, and here they change nothing.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "engine/precise/counters.h"
#include "engine/precise/rule_book.h"
#include "engine/register_effects.h"

namespace lockstep::precise {

using isa::RegisterRange;

class HazardRules final : public Unit {
 public:
  explicit HazardRules(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;

 private:
  // A vector ALU instruction that may not have completed.
  struct Unfinished {
    const isa::Row* row;
    std::vector<RegisterRange> vgprs;  // that it reads or writes
  };
  // A memory instruction that may not have read its VGPRs.
  struct Unread {
    const isa::Row* row;
    Shares shares;
    std::vector<RegisterRange> vgprs;
  };

  std::string broken_by(const Step& step) const;
  std::string permlane_behind_compare(const Step& step) const;
  std::string matrix_behind_matrix(const Step& step) const;
  std::string load_over_vector_alu(const Step& step) const;
  std::string load_over_memory(const Step& step) const;

  void note_vector_alu(const Step& step);
  void note_memory(const Step& step);
  void note_waits(const Step& step);
  // At most so many vector ALU instructions are still under way.
  void complete(size_t left);
  void forget();

  RuleBook rules_;
  uint64_t next_pc_ = 0;               // where the wave goes on; elsewhere a trap, or the host, came between
  bool behind_compare_ = false;        // the last vector ALU instruction was v_cmpx
  RegisterRange matrix_{};             // the result of the last one, if that was WMMA
  std::deque<Unfinished> unfinished_;  // the newest first
  std::deque<Unread> unread_;
};

}  // namespace lockstep::precise
