// Code as the interpreter runs it: a slot for each dword of guest code, decoded when first executed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/handlers.h"
#include "engine/observer.h"
#include "memory/address_space.h"
#include "semantics/cross_lane.h"

namespace lockstep::interpreter {

class Program {
 public:
  // Code of a wave size and float-mode class; the handlers come from `table`. The ranges must stay readable.
  // Where `memory` changes under waves, they may go to all of it that can be executed, as it is when they
  // do; else, or with null, the ranges are all. With an observer the instructions that it wants begin with an
  // operation that calls it, and none is folded into another. Privileged: as waves run it in the trap
  // handler, where TTMPs can be written.
  Program(const std::vector<CodeRange>& code, const std::shared_ptr<const RangeSet>& memory,
          unsigned wave_size, unsigned vgpr_count, bool default_float_mode, const HandlerTable& table,
          Observer* observer = nullptr, bool privileged = false);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The operation at a guest address, or null if the address is in no code range or not a multiple of 4. Safe
  // to call from several threads.
  const Operation* at(uint64_t pc);
  // Likewise for the target of a branch at `from`, which the branch keeps: null, too, if it is in another
  // mapping, which may give way to yet another one.
  const Operation* target(uint64_t from, uint64_t pc);
  // Whether it holds code of mappings that are gone, which waves may still be running: only its end frees it.
  bool has_stale_code() const { return has_stale_code_.load(std::memory_order_relaxed); }

  unsigned wave_size() const { return wave_size_; }
  unsigned vgpr_count() const { return vgpr_count_; }  // allocated to each wave
  bool default_float_mode() const { return default_float_mode_; }
  const HandlerTable& table() const { return table_; }
  Observer* observer() const { return observer_; }
  // The first operation of the instruction that this thread's observer is told of.
  static const Operation* observed();
  // The turn of the wave that this thread ran is over: Observer::Answer::passes_until was about that one.
  static void end_passing();
  bool privileged() const { return privileged_; }

  // The same code for the other float-mode class, and for waves that have given their VGPRs back; set once by
  // the owner.
  Program* other_mode = nullptr;
  Program* without_vgprs = nullptr;

  // Decodes the instruction of an undecoded slot; called by the slot's own handler.
  void decode(Operation* slot);

 private:
  static constexpr unsigned kPageDwords = 256;
  static constexpr uint64_t kPageBytes = 4 * kPageDwords, kRegionBytes = 1024 * kPageBytes;
  static constexpr unsigned kGuardSlots = 8;  // an instruction has at most 5 dwords
  // Second halves of VOPD pairs, preparations of DPP and the like; in observed code all of an instruction's
  // operations but the first call.
  static constexpr unsigned kChainSlots = 1024;
  struct Page;
  struct Region;
  struct Bytes;
  friend class Predecoder;

  // The region of the launch's code that has the address, or null.
  Region* own_region(uint64_t pc) const;
  // Likewise of other code, as it is mapped now.
  Region* region_elsewhere(uint64_t pc);
  const Operation* at(Region* region, uint64_t pc);
  Page* page_for(Region& region, uint64_t pc);
  // Moves `after` past instructions without effect, which then count as part of the one before them; says how
  // many. `reached`: they are executed whenever that one is.
  unsigned skip_without_effect(Operation** after, const Operation* page_end, const Bytes& bytes,
                               bool reached) const;

  unsigned wave_size_, vgpr_count_;
  bool default_float_mode_;
  const HandlerTable& table_;
  Observer* const observer_;
  const bool privileged_;
  std::recursive_mutex mutex_;
  std::deque<semantics::DppSelection> dpp_selections_;
  unsigned memory_instructions_ = 0;           // decoded so far, of those that have a place among the ranges
  std::vector<std::unique_ptr<Region>> own_;   // of the launch's code
  std::atomic<Page*> last_entered_ = nullptr;  // of those
  const std::shared_ptr<const RangeSet> memory_;  // where else code may be; or null
  std::shared_mutex elsewhere_mutex_;
  std::map<uint64_t, std::unique_ptr<Region>> elsewhere_;  // by their begin
  std::vector<std::unique_ptr<Region>> stale_;
  std::atomic<bool> has_stale_code_ = false;
};

// The program whose code a wave is running.
inline Program* program_of(const Wave* wave) {
  return static_cast<Program*>(const_cast<void*>(wave->program));
}

}  // namespace lockstep::interpreter
