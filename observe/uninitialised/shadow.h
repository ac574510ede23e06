// Which bits of a wave's registers, and of the memories that belong to waves and groups, were never given a
// value: a set bit has none.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "engine/listener.h"
#include "isa/effects.h"

namespace lockstep::observe {

// Where bits without a value come from.
struct Origin {
  enum class Kind : uint8_t { none, vgpr, scalar, lds, scratch };
  Kind kind = Kind::none;
  bool is_computed = false;  // arithmetic has made something of them since
  uint32_t number = 0;       // of the register, or the offset
};

// Of a dword of memory.
struct Unwritten {
  uint32_t bits = 0;
  Origin origin;
};

class WaveShadow {
 public:
  static constexpr unsigned kScalars = 256;  // by operand code, SCC among them

  void begin(const Wave& wave, unsigned initial_sgprs);

  uint64_t lanes(unsigned vgpr) const { return lanes_[vgpr]; }
  uint32_t vgpr(unsigned number, unsigned lane) const {
    const uint64_t bit = uint64_t{1} << lane;
    return !(lanes_[number] & bit) ? 0 : whole_[number] & bit ? ~0u : bits_[number * wave_size_ + lane];
  }
  void set_vgpr(unsigned number, unsigned lane, uint32_t bits) {
    const uint64_t bit = uint64_t{1} << lane;
    if (bits == 0) {
      lanes_[number] &= ~bit;
    } else {
      lanes_[number] |= bit;
      if (bits == ~0u) {
        whole_[number] |= bit;
      } else {
        whole_[number] &= ~bit;
        bits_[number * wave_size_ + lane] = bits;
      }
    }
  }
  void clear_lanes(unsigned vgpr, uint64_t lanes) { lanes_[vgpr] &= ~lanes; }
  uint32_t scalar(unsigned code) const { return scalars_[code]; }
  void set_scalar(unsigned code, uint32_t bits) { scalars_[code] = bits; }
  // Of a register by its operand code.
  Origin& origin(unsigned code) { return origins_[code]; }

  Unwritten& scratch(uint32_t dword, unsigned lane) {
    const size_t at = size_t{dword} * wave_size_ + lane;
    if (at >= scratch_.size()) grow_scratch(dword);
    return scratch_[at];
  }

 private:
  void grow_scratch(uint32_t dword);

  unsigned wave_size_ = 32;
  std::array<uint64_t, kMaxVgprs> lanes_{};  // a bit for each lane that has any
  std::array<uint64_t, kMaxVgprs> whole_{};  // of these, those that have nothing but such bits
  std::vector<uint32_t> bits_;               // of the others, by register and lane
  std::array<uint32_t, kScalars> scalars_{};
  std::array<Origin, 2 * kMaxVgprs> origins_{};
  std::vector<Unwritten> scratch_;  // by dword and lane
};

// LDS of a group.
using GroupShadow = std::vector<Unwritten>;
void make_fresh(GroupShadow& lds, uint32_t bytes);

}  // namespace lockstep::observe
