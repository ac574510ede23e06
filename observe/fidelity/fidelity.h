// Which executed instructions are not exact, and where their results went.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/listener.h"
#include "observe/fidelity/taint.h"
#include "semantics/fidelity.h"

namespace lockstep::observe {

// Where a result of interest was used.
enum class Sink : uint8_t { address, branch, memory };
inline constexpr unsigned kSinks = 3;

// One cause of doubt: an instruction, or a form of any instruction.
struct Finding {
  std::string_view name;  // mnemonic or form
  semantics::Doubt doubt;
  uint64_t executions = 0;                // wave-instructions
  uint64_t first_pc = 0;                  // guest address of the one executed first
  std::array<uint64_t, kSinks> uses{};    // wave-instructions that used such a result
  std::array<uint64_t, kSinks> use_pc{};  // of the one executed first
};

class FidelityListener final : public Listener {
 public:
  explicit FidelityListener(Math math = Math::exact) : math_(math) {}
  // What is executed first is named, whatever the number of threads.
  Order order() const override { return Order::serial; }
  bool wants_after(const isa::Instruction&) const override { return false; }
  void before(const Event& event) override;
  // Instructions of an engine that is gone may stand where others stood.
  void dispatch_begins(const DispatchEvent&) override { own_.clear(); }
  void group_begins(const WorkGroup& group) override { taint_.begin(group); }
  void wave_begins(const Wave& wave) override { taint_.begin(wave); }

  // Ordinary results in doubt before corner cases, else in the order of first execution.
  std::vector<Finding> findings() const;
  uint64_t instructions() const { return instructions_; }

 private:
  // The findings that an instruction's own results belong to.
  struct Own {
    Sources x = 0, y = 0;
  };
  static constexpr unsigned kMostFindings = 64;  // bits of Sources

  Own own_of(const isa::Instruction& instruction, uint64_t pc);
  Sources finding(std::string_view name, const semantics::Doubt& doubt, uint64_t pc);

  const Math math_;
  Taint taint_;
  std::vector<Finding> findings_;
  std::unordered_map<const isa::Instruction*, Own> own_;
  uint64_t instructions_ = 0;
};

}  // namespace lockstep::observe
