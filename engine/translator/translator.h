// The engine that runs kernels as host code (DESIGN 5). The interpreter executes single instructions that
// have no translation, those that may fault, waves in another float mode than the code is translated for, and
// all waves while nobody has translated the kernel yet; of long kernels their hot loops come first.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/launch_needs.h"
#include "engine/observer.h"
#include "engine/translator/context.h"
#include "engine/translator/exits.h"
#include "engine/translator/hot_loops.h"
#include "engine/translator/routine.h"
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

// When a kernel is translated.
enum class FirstTier : uint8_t {
  translator,  // before the first wave runs
  // While waves run in the interpreter, once it has paid: after as long as a part of the translation takes,
  // or nearly at once if there is one already. Waves change over where they are next at an entry.
  interpreter,
};

class Translator final : public Engine, public LaunchAdviser, private Stepper {
 public:
  // As Interpreter; `entry` is where the waves start, in this float mode and launched like this. Throws
  // Cancelled, and std::invalid_argument for a setting of the cache that makes no sense.
  Translator(std::vector<CodeRange> code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
             uint64_t entry, unsigned vgpr_count, const IsCancelled& is_cancelled = {},
             FirstTier first = FirstTier::translator, uint32_t float_mode = kDefaultFloatMode,
             const LaunchShape& launch = {});
  ~Translator() override;
  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override;
  const LaunchNeeds* launch_needs(uint32_t mode) const override;
  void run_turns(std::span<Wave* const> waves, int64_t turn, size_t& next, uint64_t& executed) override;
  void run_row(GroupRow& row) override;
  LaunchAdviser* adviser() override { return this; }

  // As Interpreter's; before waves run.
  void set_host_clock(uint32_t megahertz);

  // Why the kernel as a whole runs in the interpreter; empty if it was translated, or may be yet.
  const std::string& unsupported() const { return unsupported_; }
  // Changes over to the second version, for kernels whose results are NaNs often: now, where waves would do
  // so once they have left for NaNs often enough.
  void translate_for_nans();
  // Of the kernel, before that of the loops that are translated; nothing while there is no translation.
  Statistics statistics() const;
  // True from the second call on, once there are statistics: whoever adds them up counts them once.
  bool was_told();
  // Wave-instructions that the interpreter has executed until now.
  uint64_t interpreted() const { return interpreted_.load(std::memory_order_relaxed); }
  // The same kernel has run before with another memory: what it executed counts. Before waves run.
  void add_interpreted(uint64_t instructions) { interpreted_ += instructions; }
  // How waves left translated code until now: for exits_since().
  std::vector<uint64_t> exit_counts() const;
  // Those that came about since then, but for ends of waves.
  std::vector<Exit> exits_since(std::span<const uint64_t> before) const;
  // As the interpreter runs it.
  const interpreter::Code& code() const { return interpreter_.code(); }

 private:
  struct Translated;
  struct Handover;

  // Stops a wave behind one instruction.
  class OneInstruction final : public Observer {
   public:
    Answer on_instruction(const Wave& wave, const isa::Instruction&, uint64_t pc, const void*) override {
      return {.goes_on = pc == wave.pc};  // which stays where the run began
    }
  };

  // Translations with the same kernel in them: where a wave is in several of them, it enters the first.
  using Parts = std::span<const std::atomic<Translated*>>;

  Translated* translated() const;
  int64_t step(Wave& wave) override;
  int64_t run_untranslated(Wave& wave, int64_t budget);
  int64_t run_translated(Wave& wave, int64_t budget, Parts parts);
  // The interpreter has executed so much, the last of it, or before that, at `pc`.
  void count_interpreted(uint64_t executed, uint64_t pc);
  void look_whether_hot(uint64_t executed, uint64_t pc);
  void look_whether_nans_are_many(Translated& found);
  Routine second_version() const;
  void translate_in_background(std::shared_ptr<const Routine> routine, uint64_t entry, bool is_whole);

  const std::vector<CodeRange> code_;
  const unsigned wave_size_, vgpr_count_;
  const uint32_t float_mode_;  // of waves at the entry
  const LaunchShape launch_;
  const uint64_t entry_;
  const std::shared_ptr<const RangeSet> memory_;
  OneInstruction one_instruction_;
  interpreter::Interpreter interpreter_, stepper_;
  std::string unsupported_;
  const std::shared_ptr<Handover> handover_;  // with the thread that translates
  std::atomic<unsigned> told_ = 0;            // 1: of loops, 2: of the whole
  std::atomic<uint64_t> interpreted_ = 0;
  // Of interpreted_: when somebody is to look whether the kernel is hot.
  std::atomic<uint64_t> next_look_;
  std::mutex look_mutex_;
  std::unique_ptr<RoutineSearch> search_;  // from the first look until all is decoded
  uint64_t decoded_ = 0;                   // instructions, at most
  bool was_found_ = false;
  std::shared_ptr<const Routine> routine_;  // then, until its translation is wanted
  HotLoops loops_;
  uint64_t last_look_ = 0;  // of interpreted_
};

}  // namespace lockstep::translator
