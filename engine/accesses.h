// What an instruction reaches in memory: of lanes that do alike as one description, and of all of them one by
// one.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lockstep {

// Of an address. Scalar loads reach global memory by a cache of their own.
enum class MemorySpace : uint8_t { global, scalar, scratch, lds, gds };

// What becomes of an access.
enum class Reach : uint8_t {
  inside,
  filled_up,  // a read of bytes that are not the range's, but fill up its last aligned block of 16
  dropped,    // out of the range of a buffer resource, of LDS or of GDS: reads give zero, writes do nothing
  refused,    // the memory is not the wave's, and it faults
};

// Of one lane: of its element, or of a part that is judged by itself.
struct MemoryAccess {
  uint64_t address = 0;  // in scratch, LDS and GDS: the offset
  uint32_t bytes = 0;
  int16_t lane = -1;  // -1: of the wave as a whole
  MemorySpace space = MemorySpace::global;
  Reach reach = Reach::inside;
  bool reads = false, writes = false;  // both: an atomic
};

// The accesses of lanes of which each reaches as much, in the same way, and all are inside. Most instructions
// are like that, and can be judged by one look.
struct AlikeAccesses {
  static constexpr unsigned kMostLanes = 64;

  MemorySpace space = MemorySpace::global;
  bool reads = false, writes = false;
  uint32_t bytes = 0;  // of an access
  uint64_t lanes = 0;  // a bit for each that is on: one at least
  // A lane's addresses, one or two (of LDS): its offset and each of these.
  unsigned each = 1;
  std::array<uint64_t, 2> base{};
  // Those of lanes that are off, or that the wave does not have, are the first one's that is on.
  alignas(64) std::array<uint32_t, kMostLanes> offset;
  uint64_t first = 0, end = 0;  // no access begins before, or ends behind these
  bool is_uniform = false;      // all lanes have the same offset

  uint64_t address(unsigned lane, unsigned i = 0) const { return base[i] + offset[lane]; }
  unsigned first_lane() const { return static_cast<unsigned>(std::countr_zero(lanes)); }
  size_t count() const { return each * static_cast<size_t>(std::popcount(lanes)); }
  // Whether no lane between two that are on is off.
  bool are_lanes_in_a_row() const {
    const uint64_t from_first = lanes >> first_lane();
    return (from_first & (from_first + 1)) == 0;
  }
  // Whether so many lanes, from one that is on on, reach what lies side by side in memory.
  bool is_consecutive(unsigned lane, unsigned number) const {
    uint32_t differs = 0;
    for (unsigned i = 0; i < number; ++i) differs |= offset[lane + i] ^ (offset[lane] + i * bytes);
    return differs == 0;
  }
  // Likewise all that are on.
  bool is_consecutive() const {
    return each == 1 && are_lanes_in_a_row() &&
           is_consecutive(first_lane(), static_cast<unsigned>(std::popcount(lanes)));
  }
};

// By lane, and of a lane in the order in which its registers have them.
class Accesses {
 public:
  // Null: they are not alike, and must be looked at one by one.
  const AlikeAccesses* alike() const { return is_alike_ ? &alike_ : nullptr; }

  size_t size() const { return is_alike_ ? alike_.count() : list_.size(); }
  bool empty() const { return !is_alike_ && list_.empty(); }
  const MemoryAccess* data() const { return list().data(); }
  const MemoryAccess* begin() const { return data(); }
  const MemoryAccess* end() const { return data() + size(); }
  const MemoryAccess& operator[](size_t index) const { return list()[index]; }
  const MemoryAccess& front() const { return list().front(); }

  void clear() {
    is_alike_ = false;
    list_.clear();
  }
  void add(const MemoryAccess& access) { list_.push_back(access); }
  // To be filled in. Until clear() there are no others.
  AlikeAccesses& make_alike() {
    is_alike_ = true;
    is_listed_ = false;
    return alike_;
  }

 private:
  const std::vector<MemoryAccess>& list() const {
    if (is_alike_ && !is_listed_) make_list();
    return list_;
  }
  void make_list() const;

  bool is_alike_ = false;
  mutable bool is_listed_ = false;  // those that are alike, too
  AlikeAccesses alike_;
  mutable std::vector<MemoryAccess> list_;
};

}  // namespace lockstep
