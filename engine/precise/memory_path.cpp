#include "engine/precise/memory_path.h"

#include <cstring>
#include <utility>

namespace lockstep::precise {

void MemoryPath::attach(Wave& wave) {
  forget_ranges(wave);
  wave.memory_view = this;
}

void MemoryPath::end_trial(Footprint& reads, Footprint& writes) {
  in_trial_ = false;
  reads = std::exchange(reads_, {});
  writes = std::exchange(writes_, {});
  reads.settle();
  writes.settle();
}

const std::byte* MemoryPath::read(const isa::Instruction&, uint64_t address, uint64_t bytes,
                                  const CachedRange&) {
  if (!in_trial_) return reinterpret_cast<const std::byte*>(address);
  reads_.add(address, bytes);
  std::memset(buffer_, 0, bytes);
  return buffer_;
}

std::byte* MemoryPath::write(const isa::Instruction&, uint64_t address, uint64_t bytes) {
  if (!in_trial_) return reinterpret_cast<std::byte*>(address);
  writes_.add(address, bytes);
  return buffer_;
}

std::byte* MemoryPath::modify(const isa::Instruction&, uint64_t address, uint64_t bytes) {
  if (!in_trial_) return reinterpret_cast<std::byte*>(address);
  reads_.add(address, bytes);
  writes_.add(address, bytes);
  return buffer_;
}

}  // namespace lockstep::precise
