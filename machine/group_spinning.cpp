// Waves that spin or sleep until another group changes something: how they are told from those that get on.
#include <algorithm>
#include <array>
#include <cstring>

#include "machine/group_context.h"

namespace lockstep::machine {

namespace {

struct Fingerprint {
  uint64_t pc, mode, scalars;
  bool operator==(const Fingerprint&) const = default;
};

// `bytes` is a multiple of 64.
uint64_t hash(const void* memory, size_t bytes) {
  constexpr unsigned kLanes = 8;
  uint64_t sums[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (size_t at = 0; at < bytes; at += sizeof sums) {
    uint64_t words[kLanes];
    std::memcpy(words, static_cast<const std::byte*>(memory) + at, sizeof words);
    // No multiplication: hosts have none for vectors of 64 bits, and waves have up to 64 kB of registers.
    for (unsigned i = 0; i < kLanes; ++i) sums[i] = (sums[i] << 9 | sums[i] >> 55) + words[i];
  }
  uint64_t sum = 0;
  for (uint64_t part : sums) sum = (sum ^ part) * 0x9e3779b97f4a7c15u;
  return sum;
}

Fingerprint scalar_fingerprint(Wave& wave) {
  return {wave.pc, wave.mode | uint64_t{wave.scc()} << 32, hash(wave.scalar, 128 * sizeof wave.scalar[0])};
}

uint64_t vgpr_hash(const Wave& wave) {
  return hash(wave.vgprs, size_t{wave.vgpr_count} * wave.register_bytes);
}

uint64_t mixed(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x9e3779b97f4a7c15u;
  return sum ^ sum >> 32;
}

// Tells one state of a wave's registers from another.
uint64_t mark_of(const Fingerprint& scalars, uint64_t vgprs) {
  return mixed(mixed(mixed(scalars.pc, scalars.mode), scalars.scalars), vgprs);
}

}  // namespace

// Whether the wave comes back to the same place with all its registers the same: then it goes on so until
// another wave changes memory. A step is what the engine does with a budget of one: to the next taken branch,
// or just an instruction, or nothing if it stalls there for a turn. Gives the mark of the round's first
// place, which is the same wherever in it the wave was found.
std::optional<uint64_t> GroupContext::spin_mark(Engine& engine, Wave& wave, uint64_t& executed) {
  constexpr unsigned kMostSteps = 96;
  constexpr unsigned kMostReturns = 4;  // to the same place, with other registers
  const Fingerprint first = scalar_fingerprint(wave);
  unsigned steps = 0, returns = 0;
  Fingerprint lowest{~uint64_t{0}, 0, 0};
  auto returns_unchanged = [&](bool marks) {
    while (steps++ < kMostSteps && returns < kMostReturns) {
      const int64_t count = run_wave(engine, wave, 1);
      executed += static_cast<uint64_t>(count);
      if (wave.state != WaveState::ready) return false;
      if (count == 0) continue;
      if (marks && wave.pc < lowest.pc) lowest = scalar_fingerprint(wave);
      if (wave.pc != first.pc) continue;
      if (scalar_fingerprint(wave) == first) return true;
      ++returns;
    }
    return false;
  };
  if (!returns_unchanged(false)) return std::nullopt;
  const uint64_t vgprs = vgpr_hash(wave);
  if (!returns_unchanged(true) || vgpr_hash(wave) != vgprs) return std::nullopt;
  return mark_of(lowest, vgprs);
}

std::optional<uint64_t> GroupContext::all_ready_waves_spin(Engine& engine, uint64_t& executed) {
  // Looking is a turn; the sum is of the waves' own order, which is always the same.
  std::array<uint64_t, GroupPlacement::kMaxWaves> marks{};
  for (Wave* wave : order_) {
    if (wave->state != WaveState::ready) continue;
    const auto mark = spin_mark(engine, *wave, executed);
    if (!mark) return std::nullopt;
    marks[wave->index_in_group] = *mark;
  }
  uint64_t sum = 0;
  for (unsigned i = 0; i < group_.wave_count; ++i) sum = mixed(sum, marks[i]);
  return sum;
}

// One that spins on a wave of its group holds that up for the length of its turn.
bool GroupContext::next_wave_spins(Engine& engine, uint64_t& executed) {
  next_looked_at_ = (next_looked_at_ + 1) % order_.size();
  Wave& wave = *order_[next_looked_at_];
  return wave.state == WaveState::ready && spin_mark(engine, wave, executed).has_value();
}

uint64_t GroupContext::sleepers_mark() const {
  uint64_t sum = 0;
  for (unsigned i = 0; i < group_.wave_count; ++i)
    if (waves_[i]->state == WaveState::sleeping)
      sum = mixed(sum, mark_of(scalar_fingerprint(*waves_[i]), vgpr_hash(*waves_[i])));
  return sum;
}

GroupContext::Result GroupContext::idle(const Engine& engine, uint64_t mark) {
  calm_slices_ = 0;
  stands_still_ = idle_mark_ == mark && std::none_of(order_.begin(), order_.end(), [&](const Wave* wave) {
                    return engine.has_pending_results(*wave);
                  });
  idle_mark_ = mark;
  return Result::idle;
}

}  // namespace lockstep::machine
