// The engine that runs kernels as host code (DESIGN 5). The interpreter executes single instructions that
// have no translation, those that may fault, and waves in another float mode than the default.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/observer.h"
#include "engine/translator/context.h"
#include "engine/translator/translation_cache.h"

namespace lockstep::translator {

// What it cost to make a translation, and how often it had to give way.
struct Statistics {
  size_t instructions = 0;  // gfx11 instructions translated
  double seconds = 0;       // of the host's processor, to translate or load it; of the first time, if reused
  size_t code_bytes = 0;
  Origin origin = Origin::translated;
  // Instructions without a translation, by name; those that were never looked at have none.
  std::vector<InterpretedInstruction> interpreted;
};

class Translator final : public Engine {
 public:
  // As Interpreter; `entry` is where the waves start. Throws Cancelled.
  Translator(std::vector<CodeRange> code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
             uint64_t entry, unsigned vgpr_count, const IsCancelled& is_cancelled = {});
  ~Translator() override;
  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override;

  // As Interpreter's.
  void set_host_real_time() {
    interpreter_.set_host_real_time();
    stepper_.set_host_real_time();
  }

  // Why the kernel as a whole runs in the interpreter; empty if it was translated.
  const std::string& unsupported() const { return unsupported_; }
  const Statistics& statistics() const { return statistics_; }
  // As the interpreter runs it.
  const interpreter::Code& code() const { return interpreter_.code(); }

 private:
  // Forgets which ranges were hit if they may be others now.
  void look_at_memory();

  // Stops a wave behind one instruction.
  class OneInstruction final : public Observer {
   public:
    bool on_instruction(const Wave& wave, const isa::Instruction&, uint64_t pc) override {
      return pc == wave.pc;  // which stays where the run began
    }
  };

  int64_t step(Wave& wave);

  OneInstruction one_instruction_;
  interpreter::Interpreter interpreter_, stepper_;
  std::shared_ptr<const RangeSet> memory_;
  std::string unsupported_;
  Statistics statistics_;
  std::shared_ptr<const Translation> translation_;
  Context context_;
  std::vector<std::atomic<const Range*>> last_range_;
  std::atomic<uint64_t> memory_version_ = 0;  // that last_range_ is of
};

}  // namespace lockstep::translator
