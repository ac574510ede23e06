// How instructions of global wave sync and ordered counts must stand in the program (guide 13.4.1), and other
// rules of GDS that change no result here.
#pragma once

#include <string>

#include "engine/precise/remembers.h"
#include "engine/precise/rule_book.h"

namespace lockstep::precise {

struct GlobalSyncState {
  enum class Behind : uint8_t { nothing, synchronisation, its_wait };

  Behind behind_ = Behind::nothing;  // what the last instruction was
  bool gds_under_way_ = false;       // a GDS instruction since the last wait for LGKMcnt
  bool is_told_ = false;             // about the instruction that the wave stands at
  bool operator==(const GlobalSyncState&) const = default;
};

class GlobalSyncRules final : public Unit, public Remembers<GlobalSyncState> {
 public:
  explicit GlobalSyncRules(RuleBook rules) : rules_(rules) {}
  Verdict before(const Step& step) override;
  void after(const Step& step) override;
  // Then before() and after() do nothing: it neither breaks a rule nor changes what the next one may break.
  bool is_far_from_any(const isa::Instruction& instruction) const {
    return behind_ == Behind::nothing && !gds_under_way_ && instruction.row->encoding != isa::Encoding::ds;
  }

 private:
  // The rule that the instruction breaks, or an empty text. Leaves everything as it is: an instruction that
  // stalls is looked at again.
  std::string broken_by(const Step& step) const;

  RuleBook rules_;
};

}  // namespace lockstep::precise
