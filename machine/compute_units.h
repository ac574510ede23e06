// Which compute units of a device the work-groups of a queue may go to.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "hardware/hardware.h"

namespace lockstep::machine {

// A word for each shader engine with a bit for each compute unit, 16 for each of its arrays, as
// COMPUTE_STATIC_THREAD_MGMT_SE0 to SE7 have them (Linux, gc_11_0_0_sh_mask.h: SA0_CU_EN and SA1_CU_EN).
class ComputeUnits {
 public:
  static constexpr unsigned kEngines = 8, kArrayBits = 16;
  using Words = std::array<uint32_t, kEngines>;

  explicit ComputeUnits(const Words& words) : words_(words) {}
  static ComputeUnits all() {
    Words words;
    words.fill(~0u);
    return ComputeUnits(words);
  }
  // A user's mask, as the Linux driver spreads it (kfd_mqd_manager.c, mqd_symmetrically_map_cu_mask): a pair
  // of bits for a work-group processor, those of the engines in turn, then of their arrays, then of these.
  static ComputeUnits of_pairs(const hardware::Description& device, std::span<const uint32_t> mask) {
    Words words{};
    const unsigned arrays = device.arrays_per_shader_engine;
    unsigned bit = 0;
    for (unsigned processor = 0; processor < device.work_group_processors_per_array; ++processor)
      for (unsigned array = 0; array < arrays; ++array)
        for (unsigned engine = 0; engine < device.shader_engines && bit < 32 * mask.size();
             ++engine, bit += 2)
          words[engine] |= (mask[bit / 32] >> bit % 32 & 3) << shift(array, processor);
    return ComputeUnits(words);
  }

  const Words& words() const { return words_; }
  // Bits 0 and 1: the two units of a work-group processor. Arrays with more of them than a word has bits for
  // are not held back there.
  unsigned of_processor(unsigned engine, unsigned array, unsigned processor) const {
    return 2 * processor < kArrayBits ? words_[engine] >> shift(array, processor) & 3 : 3;
  }
  // How many of the work-group processors have exactly these.
  unsigned processors_with(const hardware::Description& device, unsigned units) const {
    unsigned count = 0;
    for (unsigned engine = 0; engine < device.shader_engines; ++engine)
      for (unsigned array = 0; array < device.arrays_per_shader_engine; ++array)
        for (unsigned processor = 0; processor < device.work_group_processors_per_array; ++processor)
          count += of_processor(engine, array, processor) == units;
    return count;
  }
  bool has_all(const hardware::Description& device) const {
    return processors_with(device, 3) == device.work_group_processors();
  }

 private:
  static unsigned shift(unsigned array, unsigned processor) { return kArrayBits * array + 2 * processor; }

  Words words_;
};

}  // namespace lockstep::machine
