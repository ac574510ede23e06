#include "state/wave.h"

#include <bit>
#include <cstring>
#include <utility>

namespace lockstep {

void initialise_wave(Wave& wave, unsigned wave_size, std::byte* vgprs) {
  std::memset(wave.scalar, 0, sizeof wave.scalar);
  // These outlive a wave: the guest's memory stays the same for the whole dispatch.
  forget_ranges(wave);
  // Inline constants (guide 6.2, operand table): integers 0..64 and -1..-16, then the floats.
  for (unsigned i = 0; i <= 64; ++i) wave.scalar[128 + i] = i;
  for (unsigned i = 1; i <= 16; ++i) wave.scalar[192 + i] = static_cast<uint32_t>(-static_cast<int32_t>(i));
  const float floats[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f};
  for (unsigned i = 0; i < 8; ++i) wave.scalar[240 + i] = std::bit_cast<uint32_t>(floats[i]);
  wave.scalar[248] = 0x3e22f983u;  // 1 / (2 pi), rounded to nearest
  // The aperture operands are 64-bit values (guide 6.9) whose low halves a 32-bit operand reads: base 0,
  // limit ~0.
  wave.scalar[236] = wave.scalar[238] = ~0u;
  wave.set_scalar64(kScalarAperture + 0, kSharedApertureBase);
  wave.set_scalar64(kScalarAperture + 2, kSharedApertureBase + kApertureSize - 1);
  wave.set_scalar64(kScalarAperture + 4, kPrivateApertureBase);
  wave.set_scalar64(kScalarAperture + 6, kPrivateApertureBase + kApertureSize - 1);

  for (unsigned i = 0; i <= 80; ++i)
    wave.set_scalar64(kScalarWideInteger + 2 * i,
                      static_cast<uint64_t>(int64_t{static_cast<int32_t>(wave.scalar[128 + i])}));
  const uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  for (unsigned i = 0; i < 9; ++i) {
    const float value = std::bit_cast<float>(wave.scalar[240 + i]);
    // The double nearest to 1 / (2 pi) has more digits than the float (LLVM: 0x3fc45f306dc9c882).
    wave.set_scalar64(kScalarDouble + 2 * i,
                      i == 8 ? 0x3fc45f306dc9c882u : std::bit_cast<uint64_t>(double{value}));
    wave.scalar[kScalarHalf + i] = halves[i];
  }

  wave.vgprs = vgprs;
  wave.register_bytes = wave_size * 4;
  wave.chunks = wave_size / 16;
  wave.lane_mask = wave_size == 64 ? ~uint64_t{0} : 0xffffffffu;
  wave.wave_size = wave_size;
}

void forget_ranges(Wave& wave) {
  for (unsigned i = 0; i < kCachedRanges; ++i) wave.read_ranges[i] = wave.write_ranges[i] = {};
}

void reset_wave(Wave& wave, unsigned vgpr_count) {
  reset_all_but_vgprs(wave, vgpr_count);
  std::memset(wave.vgprs, 0, size_t{vgpr_count} * wave.register_bytes);
}

void reset_all_but_vgprs(Wave& wave, unsigned vgpr_count) {
  std::memset(wave.scalar, 0, 128 * sizeof wave.scalar[0]);
  wave.scc() = 0;
  wave.vgpr_count = vgpr_count;
  wave.mode = wave.status = wave.trapsts = 0;
  std::memset(wave.trap_temporaries, 0, sizeof wave.trap_temporaries);
  wave.pc = 0;
  wave.budget = wave.turn_budget = wave.executed_before_turn = 0;
  wave.state = WaveState::ready;
  if (wave.fault.kind != FaultKind::none) wave.fault = {};
  wave.memory_view = nullptr;
  wave.wait = {};
  wave.passed_turn = false;
  wave.ordered_counts = 0;
}

void give_scratch(Wave& wave, uint64_t base, uint32_t bytes_per_lane) {
  wave.given_scratch_base = base;
  wave.given_scratch_bytes = bytes_per_lane;
  set_flat_scratch(wave, base);
}

void set_flat_scratch(Wave& wave, uint64_t base) {
  wave.scratch_base = base;
  wave.scratch_bytes = base == wave.given_scratch_base ? wave.given_scratch_bytes : 0;
}

void set_privileged(Wave& wave, bool privileged) {
  if (privileged == ((wave.status & status_bit::kPrivileged) != 0)) return;
  wave.status ^= status_bit::kPrivileged;
  for (unsigned i = 0; i < 16; ++i) std::swap(wave.scalar[kScalarTtmp0 + i], wave.trap_temporaries[i]);
}

}  // namespace lockstep
