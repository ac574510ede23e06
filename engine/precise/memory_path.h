// A wave's way to memory where it is not the plain one: it passes the caches of the wave's compute unit, and
// finds out what an instruction would touch.
#pragma once

#include <memory>

#include "engine/interpreter/memory_view.h"
#include "engine/precise/caches.h"
#include "engine/precise/footprint.h"

namespace lockstep::precise {

class MemoryPath final : public MemoryView {
 public:
  // From now on the wave's accesses come here.
  void attach(Wave& wave);
  // And pass these caches, which must outlive it.
  void use(DeviceCaches& caches, const Place& place);

  // Between the two, reads give zeros, and writes go nowhere but into the footprints.
  void begin_trial() { in_trial_ = true; }
  void end_trial(Footprint& reads, Footprint& writes);

  // The instruction has been executed, not in a trial: the caches learn what it wrote, or are invalidated.
  void executed(const isa::Instruction& instruction);

 private:
  const std::byte* read(const isa::Instruction& instruction, uint64_t address, uint64_t bytes,
                        const CachedRange& range) override;
  std::byte* write(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) override;
  std::byte* modify(const isa::Instruction& instruction, uint64_t address, uint64_t bytes) override;

  struct WayOfUnit {
    LineCache *vector, *scalar, *array;
  };

  bool in_trial_ = false;
  bool has_caches_ = false;
  WayOfUnit caches_{};
  // Of the trial, or of the instruction in execution.
  Footprint reads_, writes_, atomics_;
  alignas(64) std::byte buffer_[kWidestAccess] = {};
};

}  // namespace lockstep::precise
