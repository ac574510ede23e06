// Code as the interpreter runs it: a slot for each dword of guest code, decoded when first executed.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/handlers.h"
#include "engine/observer.h"
#include "semantics/cross_lane.h"

namespace lockstep::interpreter {

class Program {
 public:
  // Code of a wave size and float-mode class; the handlers come from `table`. The ranges must stay readable.
  // With an observer the instructions that it wants begin with an operation that calls it, and none is folded
  // into another. Privileged: as waves run it in the trap handler, where TTMPs can be written.
  Program(std::vector<CodeRange> code, unsigned wave_size, unsigned vgpr_count, bool default_float_mode,
          const HandlerTable& table, Observer* observer = nullptr, bool privileged = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The operation at a guest address, or null if the address is in no code range or not a multiple of 4. Safe
  // to call from several threads.
  const Operation* at(uint64_t pc);

  unsigned wave_size() const { return wave_size_; }
  unsigned vgpr_count() const { return vgpr_count_; }  // allocated to each wave
  bool default_float_mode() const { return default_float_mode_; }
  const HandlerTable& table() const { return table_; }
  Observer* observer() const { return observer_; }
  bool privileged() const { return privileged_; }

  // The same code for the other float-mode class, and for waves that have given their VGPRs back; set once by
  // the owner.
  Program* other_mode = nullptr;
  Program* without_vgprs = nullptr;

  // Decodes the instruction of an undecoded slot; called by the slot's own handler.
  void decode(Operation* slot);

 private:
  static constexpr unsigned kPageDwords = 256;
  static constexpr unsigned kGuardSlots = 8;  // an instruction has at most 5 dwords
  // Second halves of VOPD pairs, preparations of DPP and the like; in observed code all of an instruction's
  // operations but the first call.
  static constexpr unsigned kChainSlots = 1024;
  struct Page;
  friend class Predecoder;

  Page* page_for(uint64_t pc);
  // Moves `after` past instructions without effect, which then count as part of the one before them; says how
  // many. `reached`: they are executed whenever that one is.
  unsigned skip_without_effect(Operation** after, const Operation* page_end, uint64_t code_end,
                               bool reached) const;

  std::vector<CodeRange> code_;
  unsigned wave_size_, vgpr_count_;
  bool default_float_mode_;
  const HandlerTable& table_;
  Observer* const observer_;
  const bool privileged_;
  std::recursive_mutex mutex_;
  std::deque<semantics::DppSelection> dpp_selections_;
  struct RangePages;
  std::vector<std::unique_ptr<RangePages>> pages_;
};

// The program whose code a wave is running.
inline Program* program_of(const Wave* wave) {
  return static_cast<Program*>(const_cast<void*>(wave->program));
}

}  // namespace lockstep::interpreter
