// A wave's way to memory where it is not the plain one: it finds out what an instruction would touch.
#pragma once

#include "engine/interpreter/memory_view.h"
#include "engine/precise/footprint.h"

namespace lockstep::precise {

class MemoryPath final : public MemoryView {
 public:
  // From now on the wave's accesses come here.
  void attach(Wave& wave);

  // Between the two, reads give zeros, and writes go nowhere but into the footprints.
  void begin_trial() { in_trial_ = true; }
  void end_trial(Footprint& reads, Footprint& writes);
  // The instruction has been executed, not in a trial.
  void executed(const isa::Instruction&) {}

 private:
  const std::byte* read(const isa::Instruction& instruction, uint64_t address, uint64_t bytes,
                        const CachedRange& range) override;
  std::byte* write(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) override;
  std::byte* modify(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) override;

  bool in_trial_ = false;
  Footprint reads_, writes_;
  alignas(64) std::byte buffer_[kWidestAccess] = {};
};

}  // namespace lockstep::precise
