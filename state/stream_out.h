// The stream-out registers (guide 12.6.1, table 61), which ds_ordered_count counts in, too.
#pragma once

#include <array>
#include <cstdint>

namespace lockstep {

class StreamOutRegisters {
 public:
  static constexpr unsigned kCount = 16;
  // The first eight have 32 bits, the others 64.
  static constexpr bool is_64_bit(unsigned index) { return index >= 8; }

  uint64_t operator[](unsigned index) const { return values_[index]; }
  void set(unsigned index, uint64_t value) {
    values_[index] = is_64_bit(index) ? value : static_cast<uint32_t>(value);
  }
  // Ordered allocation (guide 13.4.3): the size of the ring that the wrap form counts in, a configuration
  // register of the driver's.
  std::array<uint32_t, kCount> ring_size{};

 private:
  std::array<uint64_t, kCount> values_{};
};

}  // namespace lockstep
