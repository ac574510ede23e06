// Runs waves one instruction at a time through the interpreter, and asks the units about each: the machine
// around the instruction at the price of speed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/observer.h"
#include "engine/precise/unit.h"

namespace lockstep::precise {

// The units of one wave, in the order in which they are asked.
using Units = std::vector<std::unique_ptr<Unit>>;
using MakeUnits = std::function<Units(Wave&, Executor&)>;

class PreciseEngine final : public Engine, private Observer, private Executor {
 public:
  // As for Interpreter; `make_units` is called when a wave enters, from several threads.
  PreciseEngine(std::vector<CodeRange> code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
                unsigned vgpr_count, MakeUnits make_units, Math math = Math::exact,
                const memory::AccessModes& modes = {}, Listener* listener = nullptr);
  ~PreciseEngine();

  // What waves read as TBA and TMA.
  void set_trap_addresses(uint64_t base, uint64_t memory);
  // What waves read as the real time is the host's clock.
  void set_host_clock(uint32_t megahertz);
  // Waves that halt themselves can be resumed: it is no fault. A unit holds them.
  void set_halts_resumable();

  // A wave that has run in another engine, and faulted there or has come to an s_trap or a halt that it did
  // not take, goes on here. False if it is nothing that a trap handler is for: then the fault stays.
  bool take_over(Wave& wave);
  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override;
  void interrupt(Wave& wave) override;
  bool has_pending_results(const Wave& wave) const override;

 private:
  struct Attachment;

  Answer on_instruction(const Wave& wave, const isa::Instruction& instruction, uint64_t pc,
                        const void* known) override;
  bool execute(Wave& wave, uint64_t pc) override;
  const isa::Instruction& executed_at(const Wave& wave, uint64_t pc) override;
  const Accesses& accesses(const Step& step) override;
  bool continue_at(Wave& wave, uint64_t pc, bool privileged) override;

  bool attach(Wave& wave, uint64_t pc);
  static Attachment& attachment_of(const Wave& wave);
  // Runs the wave up to its next instruction, at most `permits` of them executed; false if it faulted.
  bool advance(Wave& wave, unsigned permits);
  bool offer_fault(Wave& wave);

  interpreter::Interpreter interpreter_, privileged_;
  MakeUnits make_units_;
  Listener* const listener_;
  std::mutex mutex_;
  std::unordered_map<const Wave*, std::unique_ptr<Attachment>> attachments_;
};

}  // namespace lockstep::precise
