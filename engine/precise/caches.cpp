#include "engine/precise/caches.h"

#include <algorithm>
#include <cstring>

#include "state/work_group.h"

namespace lockstep::precise {

namespace {

// Other threads may write there at the same time: each aligned dword is read as a whole. A line has parts
// that no instruction asked for, which the address sanitizer would take amiss where the whole process is the
// guest's.
__attribute__((no_sanitize("address"))) void copy_from_memory(std::byte* to, uint64_t address,
                                                              uint64_t bytes) {
  const auto* from = reinterpret_cast<const std::byte*>(address);
  while (bytes != 0) {
    if (address % 4 == 0 && bytes >= 4) {
      const uint32_t word = __atomic_load_n(reinterpret_cast<const uint32_t*>(from), __ATOMIC_RELAXED);
      __builtin_memcpy(to, &word, 4);
      from += 4, to += 4, address += 4, bytes -= 4;
    } else {
      *to++ = static_cast<std::byte>(
          __atomic_load_n(reinterpret_cast<const unsigned char*>(from++), __ATOMIC_RELAXED));
      ++address, --bytes;
    }
  }
}

}  // namespace

void LineCache::read(uint64_t address, uint64_t bytes, const CachedRange& range, Policy policy,
                     std::byte* to) {
  std::lock_guard lock(mutex_);
  while (bytes != 0) {
    const uint64_t begin = address / line_bytes_ * line_bytes_;
    const uint64_t offset = address - begin, part = std::min(bytes, line_bytes_ - offset);
    auto at = lines_.find(begin);
    bool there = at != lines_.end();
    for (uint64_t i = 0; there && i < part; ++i) there = at->second.valid[offset + i];
    // Policy::miss, or a line that is not to be kept.
    const bool passes = policy == Policy::miss || (gives_up_streams_ && policy == Policy::stream && !there);
    if (passes) {
      behind_.read(address, part, range, policy, to);
    } else {
      if (!there) {
        if (at == lines_.end()) {
          // Which line must go when there is no room is not known; any will do (open).
          if (lines_.size() >= capacity_) lines_.erase(lines_.begin());
          at = lines_.try_emplace(begin).first;
        }
        Line& line = at->second;
        const uint64_t first = std::max(begin, range.begin), last = std::min(begin + line_bytes_, range.end);
        std::byte fetched[kWidestLine];
        behind_.read(first, last - first, range, policy, fetched);
        for (uint64_t i = first - begin; i < last - begin; ++i)
          if (!line.valid[i]) {
            line.data[i] = fetched[i - (first - begin)];
            line.valid[i] = true;
          }
      }
      std::memcpy(to, at->second.data + offset, part);
    }
    if (policy == Policy::miss || (gives_up_streams_ && policy == Policy::stream)) lines_.erase(begin);
    address += part, to += part, bytes -= part;
  }
}

void LineCache::refresh(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  while (bytes != 0) {
    const uint64_t begin = address / line_bytes_ * line_bytes_;
    const uint64_t offset = address - begin, part = std::min(bytes, line_bytes_ - offset);
    if (const auto at = lines_.find(begin); at != lines_.end()) {
      copy_from_memory(at->second.data + offset, address, part);
      for (uint64_t i = offset; i < offset + part; ++i) at->second.valid[i] = true;
    }
    address += part, bytes -= part;
  }
}

void LineCache::drop(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  for (uint64_t begin = address / line_bytes_ * line_bytes_; begin < address + bytes; begin += line_bytes_)
    lines_.erase(begin);
}

void LineCache::invalidate() {
  std::lock_guard lock(mutex_);
  lines_.clear();
}

Place DeviceCaches::place_of(const Wave& wave, bool processor_mode) const {
  const unsigned arrays = layout_.shader_engines * layout_.arrays_per_engine;
  // GPR_ALLOC and HW_ID1 (guide 3.4.8) of a wave that has been given registers say where these are.
  if (wave.gpr_alloc != 0) {
    const uint32_t id = wave.hw_id1;
    const unsigned array = (id >> 18 & 7) * layout_.arrays_per_engine + (id >> 16 & 1);
    return {array % arrays, (id >> 10 & 15) % layout_.processors_per_array, id >> 9 & 1};
  }
  uint64_t rest = wave.group->number;
  Place place;
  place.array = static_cast<unsigned>(rest % arrays);
  rest /= arrays;
  place.processor = static_cast<unsigned>(rest % layout_.processors_per_array);
  rest /= layout_.processors_per_array;
  place.unit = static_cast<unsigned>((processor_mode ? wave.index_in_group : rest) % kUnits);
  return place;
}

void DeviceCaches::Memory::read(uint64_t address, uint64_t bytes, const CachedRange&, Policy, std::byte* to) {
  copy_from_memory(to, address, bytes);
}

// Lines of 128 bytes, of 64 in the scalar cache, as AMD published them for RDNA 3.
DeviceCaches::DeviceCaches(const CacheLayout& layout) : layout_(layout) {
  for (unsigned array = 0; array < layout.shader_engines * layout.arrays_per_engine; ++array) {
    LineCache& l1 = *array_.emplace_back(std::make_unique<LineCache>(128, layout.l1_bytes, memory_, true));
    for (unsigned processor = 0; processor < layout.processors_per_array; ++processor) {
      scalar_.push_back(std::make_unique<LineCache>(64, layout.scalar_bytes, l1));
      for (unsigned unit = 0; unit < kUnits; ++unit)
        vector_.push_back(std::make_unique<LineCache>(128, layout.l0_bytes, l1));
    }
  }
}

LineCache& DeviceCaches::vector(const Place& place) {
  return *vector_[processor_of(place) * kUnits + place.unit];
}
LineCache& DeviceCaches::scalar(const Place& place) {
  return *scalar_[processor_of(place)];
}
LineCache& DeviceCaches::array(const Place& place) {
  return *array_[place.array];
}

}  // namespace lockstep::precise
