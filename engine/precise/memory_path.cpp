#include "engine/precise/memory_path.h"

#include <cstring>
#include <utility>

namespace lockstep::precise {

void MemoryPath::attach(Wave& wave) {
  forget_ranges(wave);
  wave.memory_view = this;
}

void MemoryPath::use(DeviceCaches& caches, const Place& place) {
  caches_ = {&caches.vector(place), &caches.scalar(place), &caches.array(place)};
  has_caches_ = true;
}

void MemoryPath::end_trial(Footprint& reads, Footprint& writes) {
  in_trial_ = false;
  reads = std::exchange(reads_, {});
  writes = std::exchange(writes_, {});
  reads.settle();
  writes.settle();
}

const std::byte* MemoryPath::read(const isa::Instruction& instruction, uint64_t address, uint64_t bytes,
                                  const CachedRange& range) {
  if (in_trial_) {
    reads_.add(address, bytes);
    std::memset(buffer_, 0, bytes);
    return buffer_;
  }
  if (!has_caches_) return reinterpret_cast<const std::byte*>(address);
  // GLC asks for the device's value; SLC keeps no line in L1, which L0 does not mind (guide 4.1.1).
  using Policy = LineSource::Policy;
  const bool is_scalar = instruction.row->encoding == isa::Encoding::smem;
  const Policy policy = instruction.glc ? Policy::miss : instruction.slc ? Policy::stream : Policy::hit;
  (is_scalar ? caches_.scalar : caches_.vector)->read(address, bytes, range, policy, buffer_);
  return buffer_;
}

std::byte* MemoryPath::write(const isa::Instruction&, uint64_t address, uint64_t bytes) {
  if (in_trial_ || has_caches_) writes_.add(address, bytes);
  return in_trial_ ? buffer_ : reinterpret_cast<std::byte*>(address);
}

std::byte* MemoryPath::modify(const isa::Instruction&, uint64_t address, uint64_t bytes) {
  if (in_trial_) {
    reads_.add(address, bytes);
    writes_.add(address, bytes);
    return buffer_;
  }
  if (has_caches_) atomics_.add(address, bytes);
  return reinterpret_cast<std::byte*>(address);
}

void MemoryPath::executed(const isa::Instruction& instruction) {
  if (!has_caches_) return;
  // What passed on its way to L2 renews the lines that it passed (L1 as well: the wave must see its own store
  // after it has invalidated L0 alone). What an atomic changed is fetched anew.
  for (const auto& [begin, end] : writes_.spans()) {
    caches_.vector->refresh(begin, end - begin);
    caches_.array->refresh(begin, end - begin);
  }
  for (const auto& [begin, end] : atomics_.spans()) {
    caches_.vector->drop(begin, end - begin);
    caches_.array->drop(begin, end - begin);
  }
  writes_.clear();
  atomics_.clear();
  switch (instruction.row->opcode) {
    case isa::Opcode::buffer_gl0_inv:
      return caches_.vector->invalidate();
    case isa::Opcode::buffer_gl1_inv:
    case isa::Opcode::s_gl1_inv:
      return caches_.array->invalidate();
    case isa::Opcode::s_dcache_inv:
      return caches_.scalar->invalidate();
    default:
      return;
  }
}

}  // namespace lockstep::precise
