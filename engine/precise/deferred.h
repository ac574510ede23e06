// A memory instruction that has been issued and whose effect is still to come, as a whole or in the
// registers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "engine/precise/counters.h"
#include "engine/precise/footprint.h"
#include "engine/precise/memory_path.h"
#include "engine/precise/unit.h"
#include "isa/effects.h"

namespace lockstep::precise {

using isa::RegisterRange;

// Values of registers, to put back later.
class RegisterValues {
 public:
  void take(const Wave& wave, const std::vector<RegisterRange>& vgprs);
  void put(Wave& wave) const;
  // Only those of `ranges`, each of which is scalar or was taken.
  void put(Wave& wave, const std::vector<RegisterRange>& ranges) const;

 private:
  static constexpr unsigned kScalars = 128;
  std::array<uint32_t, kScalars> scalars_;
  uint32_t scc_ = 0, mode_ = 0;
  const void* program_ = nullptr;  // goes with MODE
  std::vector<RegisterRange> ranges_;
  std::vector<uint32_t> vgprs_;
};

// Of a FLAT instruction as the wave comes to it: the lanes whose addresses are in LDS, and in scratch.
struct FlatLanes {
  uint64_t lds = 0, scratch = 0;
};
FlatLanes flat_lanes(const Step& step, AccessFinder& accesses);

// One share of an instruction: all of it, or those lanes of a FLAT one that go to LDS, or those that do not.
class Deferred {
 public:
  // As the wave comes to it. `lanes` of EXEC are the ones it acts for.
  Deferred(const Step& step, Share share, uint64_t lanes, const FlatLanes& flat);
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  const isa::Instruction& instruction() const { return instruction_; }
  uint64_t pc() const { return pc_; }
  const Share& share() const { return share_; }
  const std::vector<RegisterRange>& destinations() const { return destinations_; }

  // Those of its issue, with which it will be executed, or which its results replace.
  void keep_registers(const Wave& wave);
  // Finds out what memory it will touch, and touches nothing. False if it faults.
  bool explore(Wave& wave, Executor& executor, MemoryPath& path);
  // Whether it must touch memory after `older`, which was issued before it.
  bool must_follow(const Deferred& older) const;

  // Does what it does to memory, with the registers of its issue; those of the wave stay as they are. False
  // if it faulted.
  bool access(Wave& wave, Executor& executor, MemoryPath& path);
  // It was executed by others just now: takes its results out of the registers, which get back what they
  // held at its issue.
  void take_back_results(Wave& wave);
  // The results reach the registers.
  void write_back(Wave& wave) const;

  bool accessed = false;   // memory has seen it
  bool landed = false;     // and the registers too: the counter is lowered
  uint64_t issued_at = 0;  // in steps of the wave
  // What it still has of the counter. A message with an answer lowers it when it goes out and when the answer
  // is there (guide 5.3), a scalar load in two parts with each of them (8.2).
  uint32_t outstanding;

 private:
  bool execute(Wave& wave, Executor& executor, uint64_t lanes);
  void take_results(const Wave& wave);

  const isa::Instruction& instruction_;
  uint64_t pc_;
  Share share_;
  uint64_t lanes_;         // of EXEC
  uint64_t result_lanes_;  // whose registers are written
  bool uses_scratch_ = false;
  RegisterValues at_issue_;
  std::vector<RegisterRange> destinations_, vgprs_;  // vgprs_: read or written
  std::vector<uint32_t> results_;
  Footprint reads_, writes_;
};

}  // namespace lockstep::precise
