#include "observe/races/device_heap.h"

#include <algorithm>

namespace lockstep::observe {

namespace {

// The first argument of a function, and what it returns, if that has 64 bits: v0 and v1 (LLVM AMDGPU usage,
// calling convention of non-kernel functions).
uint64_t first_value(const Wave& wave, unsigned lane) {
  const auto* const low = reinterpret_cast<const uint32_t*>(wave.vgprs);
  const auto* const high = reinterpret_cast<const uint32_t*>(wave.vgprs + wave.register_bytes);
  return low[lane] | uint64_t{high[lane]} << 32;
}

}  // namespace

void DeviceHeap::looks_at(uint64_t entry) {
  if (!find_) return;
  const Functions found{find_(entry, "__ockl_dm_alloc"), find_(entry, "__ockl_dm_dealloc"),
                        // The runtime's kernel that clears a heap while its first wave fills in the head.
                        find_(entry, "__amd_rocclr_initHeap")};
  const auto is_same = [&](const Functions& known) {
    return known.allocate.begin == found.allocate.begin && known.free.begin == found.free.begin &&
           known.initialise.begin == found.initialise.begin;
  };
  if (found.allocate.end + found.free.end + found.initialise.end != 0 &&
      std::none_of(functions_.begin(), functions_.end(), is_same))
    functions_.push_back(found);
}

std::vector<DeviceHeap::Block> DeviceHeap::handed_out(const Event& event) {
  const Wave& wave = event.wave;
  const auto function = std::find_if(functions_.begin(), functions_.end(),
                                     [&](const Functions& each) { return each.allocate.contains(event.pc); });
  if (function == functions_.end()) return {};
  if (event.pc == function->allocate.begin) {
    std::array<uint64_t, kMostLanes>& sizes = asked_[&wave];
    for (unsigned lane = 0; lane < wave.wave_size; ++lane)
      sizes[lane] = wave.exec() >> lane & 1 ? first_value(wave, lane) : 0;
    return {};
  }
  if (event.instruction.row->opcode != isa::Opcode::s_setpc_b64) return {};
  const auto asked = asked_.find(&wave);
  if (asked == asked_.end()) return {};
  std::vector<Block> blocks;
  for (unsigned lane = 0; lane < wave.wave_size; ++lane)
    if (wave.exec() >> lane & 1 && first_value(wave, lane) != 0 && asked->second[lane] != 0)
      blocks.push_back({first_value(wave, lane), asked->second[lane]});
  asked_.erase(asked);
  return blocks;
}

}  // namespace lockstep::observe
