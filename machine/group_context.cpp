#include "machine/group_context.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "numeric/float_mode.h"

namespace lockstep::machine {

namespace {

constexpr size_t kLdsBytes = 65536;
// Vector loads of whole chunks may touch memory behind the last byte in use, never beyond this.
constexpr size_t kSlack = 256;

Storage allocate(size_t bytes) {
  const size_t rounded = (bytes + kSlack + 4095) / 4096 * 4096;
  void* memory = std::aligned_alloc(4096, rounded);
  if (!memory) throw std::bad_alloc();
  std::memset(memory, 0, rounded);
  return Storage(static_cast<std::byte*>(memory));
}

unsigned waves_of(const Launch& launch) {
  const uint32_t items = launch.group[0] * launch.group[1] * launch.group[2];
  return (items + launch.wave_size - 1) / launch.wave_size;
}

size_t vgpr_bytes_of(unsigned wave_size) {
  return size_t{kMaxVgprs + kEngineVgprs} * wave_size * 4;
}

size_t scratch_bytes_of(const Launch& launch) {
  return (size_t{launch.scratch_bytes} * launch.wave_size + 255) / 256 * 256;
}

// A wave's turn: long enough to cost nothing, short enough that a wave that spins on another one does not
// hold it up.
constexpr int64_t kTurn = 20'000;

uint32_t bits(uint32_t value, unsigned low, unsigned count) {
  return value >> low & ((1u << count) - 1);
}

// MODE as the descriptor asks for it (guide 3.4.2; LLVM: FLOAT_MODE, DX10_CLAMP, IEEE_MODE, FP16_OVFL).
uint32_t initial_mode(uint32_t rsrc1, uint32_t rsrc2) {
  return bits(rsrc1, 12, 8) | bits(rsrc1, 21, 1) << 8 | bits(rsrc1, 23, 1) << 9 | bits(rsrc1, 26, 1) << 23 |
         bits(rsrc2, 24, 7) << 12;
}

}  // namespace

GroupContext::GroupContext(const Launch& launch) {
  const unsigned count = waves_of(launch);
  wave_size_ = launch.wave_size;
  const size_t vgpr_bytes = vgpr_bytes_of(launch.wave_size);
  wave_storage_ = allocate(count * sizeof(Wave));
  vgpr_storage_ = allocate(count * vgpr_bytes);
  lds_storage_ = allocate(kLdsBytes);
  scratch_bytes_per_wave_ = scratch_bytes_of(launch);
  scratch_storage_ = allocate(count * scratch_bytes_per_wave_);
  for (unsigned i = 0; i < count; ++i) {
    Wave* wave = new (wave_storage_.get() + i * sizeof(Wave)) Wave;
    initialise_wave(*wave, launch.wave_size, vgpr_storage_.get() + i * vgpr_bytes);
    wave->group = &group_;
    wave->index_in_group = i;
    wave->lds = lds_storage_.get();
    waves_.push_back(wave);
  }
  group_.lds = lds_storage_.get();
}

GroupContext::~GroupContext() {
  for (Wave* wave : waves_) wave->~Wave();
}

bool GroupContext::fits(const Launch& launch) const {
  return wave_size_ == launch.wave_size && waves_.size() == waves_of(launch) &&
         scratch_bytes_per_wave_ == scratch_bytes_of(launch);
}

size_t GroupContext::bytes() const {
  return waves_.size() * (sizeof(Wave) + vgpr_bytes_of(wave_size_) + scratch_bytes_per_wave_) + kLdsBytes;
}

bool GroupContext::start(const Launch& launch, uint64_t number, Engine& engine) {
  if (memory_ != launch.memory) {
    memory_ = launch.memory;
    for (Wave* wave : waves_) forget_ranges(*wave);
  }
  uint64_t rest = number;
  uint32_t size[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint64_t groups = (uint64_t{launch.grid[axis]} + launch.group[axis] - 1) / launch.group[axis];
    group_.id[axis] = static_cast<uint32_t>(rest % groups);
    rest /= groups;
    // The last group of an axis may be partial: its size shrinks to what is left of the grid.
    size[axis] = static_cast<uint32_t>(std::min<uint64_t>(
        launch.group[axis], launch.grid[axis] - uint64_t{group_.id[axis]} * launch.group[axis]));
  }
  group_.number = number;
  group_.lds_bytes = launch.lds_bytes;
  group_.messages = launch.messages;
  const uint32_t items = size[0] * size[1] * size[2];
  group_.wave_count = (items + launch.wave_size - 1) / launch.wave_size;
  std::memset(lds_storage_.get(), 0, launch.lds_bytes);
  for (unsigned i = 0; i < group_.wave_count; ++i) {
    Wave& wave = *waves_[i];
    launch_wave(launch, i, size, wave);
    if (!engine.enter(wave, launch.entry)) return false;
  }
  return true;
}

void GroupContext::launch_wave(const Launch& launch, unsigned index, const uint32_t size[3], Wave& wave) {
  reset_wave(wave, allocated_vgprs(launch.vgpr_count, launch.wave_size));
  wave.lds_bytes = launch.lds_bytes;
  wave.scratch_bytes = launch.scratch_bytes;
  if (launch.scratch_bytes != 0) {
    std::byte* scratch = scratch_storage_.get() + index * scratch_bytes_per_wave_;
    std::memset(scratch, 0, scratch_bytes_per_wave_);
    wave.scratch_base = reinterpret_cast<uint64_t>(scratch);
  }
  wave.mode = initial_mode(launch.rsrc1, launch.rsrc2);

  // SGPRs: user data, work-group ids, work-group info (guide 3.5.3.4).
  unsigned next = 0;
  for (uint32_t word : launch.user_data) wave.scalar[next++] = word;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (bits(launch.rsrc2, 7 + axis, 1)) wave.scalar[next++] = group_.id[axis];
  if (bits(launch.rsrc2, 10, 1))
    wave.scalar[next++] = (index == 0 ? 1u << 31 : 0) | index << 20 | group_.wave_count;

  // VGPR 0 holds the work-item ids, ten bits each, as many as TIDIG_COMP_CNT asks for (LLVM AMDGPU usage,
  // initial kernel state of gfx11).
  const unsigned components = bits(launch.rsrc2, 11, 2);
  const uint32_t items = size[0] * size[1] * size[2];
  const uint32_t first = index * launch.wave_size;
  const uint32_t active = std::min(launch.wave_size, items - first);
  uint32_t x = first % size[0], y = first / size[0] % size[1], z = first / size[0] / size[1];
  uint32_t* ids = wave.vgpr(0);
  for (uint32_t lane = 0; lane < active; ++lane) {
    ids[lane] = x | (components >= 1 ? y << 10 : 0) | (components >= 2 ? z << 20 : 0);
    if (++x == size[0]) {
      x = 0;
      if (++y == size[1]) y = 0, ++z;
    }
  }
  const uint64_t exec = active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1;
  wave.set_exec(exec);
}

GroupContext::Result GroupContext::run(Engine& engine, int64_t budget, uint64_t& executed) {
  // A lone wave has nobody to wait for.
  const int64_t turn = group_.wave_count == 1 ? budget : kTurn;
  while (budget > 0) {
    bool any_ready = false, all_ended = true;
    for (unsigned i = 0; i < group_.wave_count; ++i) {
      Wave& wave = *waves_[i];
      if (wave.state == WaveState::ready) {
        const int64_t count = engine.run(wave, turn);
        executed += static_cast<uint64_t>(count);
        budget -= std::max<int64_t>(count, 1);
        if (wave.state == WaveState::faulted) return Result::faulted;
      }
      any_ready |= wave.state == WaveState::ready;
      all_ended &= wave.state == WaveState::ended;
    }
    if (all_ended) return Result::finished;
    if (any_ready) continue;
    // Every wave that still runs has arrived; those that ended count as arrived (guide 5.5).
    for (unsigned i = 0; i < group_.wave_count; ++i)
      if (waves_[i]->state == WaveState::at_barrier) waves_[i]->state = WaveState::ready;
  }
  return Result::unfinished;
}

const Wave& GroupContext::faulted_wave() const {
  return **std::find_if(waves_.begin(), waves_.end(),
                        [](const Wave* wave) { return wave->state == WaveState::faulted; });
}

}  // namespace lockstep::machine
