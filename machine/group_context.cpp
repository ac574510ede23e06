#include "machine/group_context.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <new>
#include <utility>

#include "machine/group_memory.h"
#include "machine/start_order.h"
#include "machine/trap_entry.h"
#include "machine/wait_text.h"
#include "numeric/float_mode.h"
#include "state/trap_status.h"
#include "text/hex.h"

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
  return static_cast<unsigned>(waves_of_items(launch, launch.group[0] * launch.group[1] * launch.group[2]));
}

size_t vgpr_bytes_of(unsigned wave_size) {
  return size_t{kMaxVgprs + kEngineVgprs} * wave_size * 4;
}

// Of a wave; without a ring the storage has them.
size_t scratch_bytes_of(const Launch& launch) {
  return scratch_wave_bytes(launch.scratch_bytes, launch.wave_size);
}
size_t own_scratch_bytes_of(const Launch& launch) {
  return launch.scratch ? 0 : scratch_bytes_of(launch);
}

// Of a fresh wave, what the launch gives no value.
void fill_registers(Wave& wave, uint8_t byte) {
  std::memset(wave.scalar, byte, kScalarTtmp0 * sizeof wave.scalar[0]);
  std::memset(wave.vgprs, byte, size_t{wave.vgpr_count} * wave.register_bytes);
}

// What the waves of a group may reach: LDS comes in blocks (guide 3.3.4).
uint32_t allocated_lds_bytes(const Launch& launch) {
  const uint64_t blocks = (uint64_t{launch.lds_bytes} + launch.lds_granule - 1) / launch.lds_granule;
  return static_cast<uint32_t>(std::min<uint64_t>(blocks * launch.lds_granule, kLdsBytes));
}

// A wave's turn: long enough to cost nothing, short enough that a wave that spins on another one does not
// hold it up.
constexpr int64_t kTurn = 20'000;
constexpr int64_t kLongestSleep = 64 * 127;  // clocks (guide 5.1, s_sleep)

// A wave's turn when others need the thread more than it.
constexpr int64_t kShortTurn = 200;

// Wave-instructions of a group after which it is looked at whether its waves spin.
constexpr int64_t kProbeInterval = 50'000;

uint32_t bits(uint32_t value, unsigned low, unsigned count) {
  return value >> low & ((1u << count) - 1);
}

// STATUS as the registers ask for it (guide 3.4.1; LLVM: PRIORITY, CDBG_USER). What follows from other state
// is not kept there.
uint32_t initial_status(uint32_t rsrc1) {
  return bits(rsrc1, 10, 2) << status_bit::kSystemPriorityShift |
         (bits(rsrc1, 25, 1) ? status_bit::kConditionDebugUser : 0);
}

// The work-items of a wave within its group. A null wave has none.
struct WaveItems {
  uint32_t first = 0, count = 0;
};

WaveItems items_of(const Launch& launch, unsigned index, const GroupPlace& place) {
  const uint32_t first = std::min(index * launch.wave_size, place.items);
  return {first, std::min(launch.wave_size, place.items - first)};
}

// Of a wave, those that have a work-item.
uint64_t lanes_of(const Launch& launch, unsigned index, const GroupPlace& place) {
  const uint32_t active = items_of(launch, index, place).count;
  return active == 64 ? ~uint64_t{0} : (uint64_t{1} << active) - 1;
}

void fill_user_data(const Launch& launch, Wave& wave) {
  std::ranges::copy(launch.user_data, wave.scalar);
}

}  // namespace

// MODE as the registers ask for it (guide 3.4.2; LLVM: FLOAT_MODE, DX10_CLAMP, IEEE_MODE, FP16_OVFL, the
// exceptions of arithmetic and the address watch).
uint32_t initial_mode(const Launch& launch) {
  const uint32_t rsrc1 = launch.rsrc1, rsrc2 = launch.rsrc2;
  return bits(rsrc1, 12, 8) | bits(rsrc1, 21, 1) << 8 | bits(rsrc1, 23, 1) << 9 | bits(rsrc1, 26, 1) << 23 |
         bits(rsrc2, 24, 7) << 12 | bits(rsrc2, 13, 1) << 19;
}

GroupContext::GroupContext(const Launch& launch) {
  const unsigned count = waves_of(launch);
  wave_size_ = launch.wave_size;
  const size_t vgpr_bytes = vgpr_bytes_of(launch.wave_size);
  wave_storage_ = allocate(count * sizeof(Wave));
  vgpr_storage_ = allocate(count * vgpr_bytes);
  lds_storage_ = allocate(kLdsBytes);
  scratch_bytes_per_wave_ = own_scratch_bytes_of(launch);
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

// VGPR 0 holds the work-item ids, ten bits each, as many as TIDIG_COMP_CNT asks for (LLVM AMDGPU usage,
// initial kernel state of gfx11).
void GroupContext::ItemIds::prepare(const GroupPlace& place, unsigned components, unsigned wave_size) {
  if (are_of(place) && components == made_components) return;
  words.resize(place.items);
  made_components = components;
  std::ranges::copy(place.size, made_size);
  auto word = words.begin();
  for (uint32_t z = 0; z < place.size[2]; ++z)
    for (uint32_t y = 0; y < place.size[1]; ++y)
      for (uint32_t x = 0; x < place.size[0]; ++x)
        *word++ = x | (components >= 1 ? y << 10 : 0) | (components >= 2 ? z << 20 : 0);
  const auto count_up = [&](uint32_t lanes) {
    for (uint32_t i = 0; i < words.size(); ++i)
      if (words[i] != words[i - i % lanes] + i % lanes) return false;
    return true;
  };
  counting_lanes = 0;
  is_one_row = count_up(static_cast<uint32_t>(words.size()));
  for (const uint32_t lanes : {wave_size, 16u, 8u, 4u})
    if (counting_lanes == 0 && count_up(lanes)) counting_lanes = lanes;
}

uint64_t waves_of_items(const Launch& launch, uint64_t items) {
  return (items + launch.wave_size - 1) / launch.wave_size + launch.null_waves;
}

uint32_t groups_along(const Launch& launch, unsigned axis) {
  return static_cast<uint32_t>((uint64_t{launch.grid[axis]} + launch.group[axis] - 1) / launch.group[axis]);
}

GroupPlace place_of(const Launch& launch, uint64_t number) {
  GroupPlace place;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t groups = groups_along(launch, axis);
    place.id[axis] = static_cast<uint32_t>(number % groups);
    number /= groups;
  }
  measure(launch, place);
  return place;
}

void measure(const Launch& launch, GroupPlace& place) {
  place.items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    place.size[axis] = static_cast<uint32_t>(std::min<uint64_t>(
        launch.group[axis], launch.grid[axis] - uint64_t{place.id[axis]} * launch.group[axis]));
    place.items *= place.size[axis];
  }
  place.waves = static_cast<uint32_t>(waves_of_items(launch, place.items));
}

GroupContext::~GroupContext() {
  abandon();
  leave_place();
  for (Wave* wave : waves_) wave->~Wave();
}

bool GroupContext::fits(const Launch& launch) const {
  return wave_size_ == launch.wave_size && waves_.size() == waves_of(launch) &&
         scratch_bytes_per_wave_ == own_scratch_bytes_of(launch);
}

size_t GroupContext::bytes() const {
  return waves_.size() * (sizeof(Wave) + vgpr_bytes_of(wave_size_) + scratch_bytes_per_wave_) + kLdsBytes;
}

PlacementNeeds placement_needs(const Launch& launch) {
  PlacementNeeds needs;
  needs.waves = waves_of(launch);
  needs.wave_size = launch.wave_size;
  needs.vgprs = wave_vgprs(launch);
  needs.lds_bytes = launch.lds_bytes;
  needs.wgp_mode = bits(launch.rsrc1, 29, 1);
  needs.units = launch.compute_units.get();
  return needs;
}

bool GroupContext::take_place(const Launch& launch) {
  if (!launch.placement || placement_) return true;
  // Places on shader engines whose part of the scratch ring is used up.
  std::vector<GroupPlacement> passed;
  while (const auto place = launch.placement->allocate(placement_needs(launch))) {
    if (launch.scratch && !launch.scratch->take(place->shader_engine, scratch_entries())) {
      passed.push_back(*place);
      if (place->shader_engine == passed.front().shader_engine && passed.size() > 1) break;
      continue;
    }
    place_ = *place;
    placement_ = launch.placement;
    scratch_ring_ = launch.scratch;
    break;
  }
  for (const GroupPlacement& place : passed) launch.placement->release(place);
  return placement_ != nullptr;
}

void GroupContext::give_up_unused() {
  if (!placement_) return;
  uint32_t ended = 0, without_vgprs = 0;
  for (unsigned i = 0; i < group_.wave_count; ++i) {
    if (waves_[i]->state == WaveState::ended) ended |= 1u << i;
    if (waves_[i]->status & status_bit::kNoVgprs) without_vgprs |= 1u << i;
  }
  if ((ended & ~place_.lost_slots) || ((ended | without_vgprs) & ~place_.lost_vgprs))
    placement_->release_waves(place_, ended, without_vgprs);
}

void GroupContext::leave_place() {
  if (placement_) placement_->release(place_);
  if (scratch_ring_) scratch_ring_->give_back(scratch_entries());
  placement_.reset();
  scratch_ring_.reset();
  may_relaunch_ = has_lent_place_ = false;
}

void GroupContext::lend_place() {
  if (!placement_) return;
  placement_->release(place_);
  placement_.reset();
  has_lent_place_ = true;
}

bool GroupContext::take_place_again(const Launch& launch) {
  if (!has_lent_place_) return true;
  const auto place = launch.placement->allocate(placement_needs(launch));
  if (!place) return false;
  place_ = *place;
  placement_ = launch.placement;
  has_lent_place_ = false;
  lds_alloc_ = lds_allocation(place_, launch);
  for (unsigned i = 0; i < group_.wave_count; ++i) tell_place(launch, i, *waves_[i]);
  give_up_unused();
  return true;
}

void GroupContext::abandon() {
  for (Wave* wave : waves_)
    if (wave->wait.kind != WaitKind::none) DeviceState::Access(*group_.dispatch->device).forget(*wave);
  tell_end();
  leave_control();
}

void GroupContext::leave_control() {
  if (control_) control_->forget(group_);
  control_ = nullptr;
  has_commands_ = nullptr;
}

void GroupContext::clear_lds(const Launch& launch) {
  if (const uint32_t bytes = allocated_lds_bytes(launch); bytes != 0)
    std::memset(lds_storage_.get(), launch.initial_byte, bytes);
}

bool GroupContext::are_as_launched() const {
  return std::ranges::all_of(order_, [](const Wave* wave) { return wave->turn_budget == 0; });
}

bool GroupContext::may_run_more() const {
  return may_relaunch_ && has_whole_place() && are_as_launched();
}

bool GroupContext::relaunch(const Launch& launch, uint64_t number, const GroupPlace& place,
                            uint64_t first_wave) {
  if (!may_relaunch_ || !item_ids_.are_of(place) || !are_as_launched()) return false;
  for (unsigned axis = 0; axis < 3; ++axis) group_.id[axis] = place.id[axis] + launch.first_group[axis];
  group_.number = number;
  has_run_ = stands_still_ = false;
  calm_slices_ = 0;
  next_looked_at_ = 0;
  idle_mark_.reset();
  times_idle_ = 0;
  clock_ = 0;
  clear_lds(launch);
  const LaunchNeeds* const needs = adviser_ ? adviser_->launch_needs(mode_) : nullptr;
  registers_stay_ = needs && needs->registers_stay && ended_at_once_;
  const bool reads_others = !needs || (needs->scalars >> initial_sgprs(launch)).any();
  for (unsigned i = 0; i < group_.wave_count; ++i) {
    Wave& wave = *waves_[i];
    wave.creation_index = first_wave + i;
    if (!registers_stay_ || needs->changes_scalars) {
      if (reads_others) std::memset(wave.scalar, 0, 128 * sizeof wave.scalar[0]);
      wave.scc() = 0;
      fill_user_data(launch, wave);
    }
    if (!registers_stay_ || needs->changes_vgprs) {
      clear_vgprs(launch, needs, wave);
      fill_item_ids(launch, i, place, wave);
    }
    fill_group_sgprs(launch, i, wave);
    if (!registers_stay_ || needs->changes_scalars || needs->changes_exec)
      wave.set_exec(lanes_of(launch, i, place));
    if (launch.scratch_bytes != 0)
      std::memset(reinterpret_cast<void*>(wave.scratch_base), 0, scratch_bytes_of(launch));
    wave.pc = launch.entry;
    wave.executed_before_turn = 0;
    wave.state = WaveState::ready;
  }
  return true;
}

void GroupContext::clear_vgprs(const Launch& launch, const LaunchNeeds* needs, Wave& wave) {
  if (needs) {
    // A size that the compiler knows is a few stores; calls of memset() were a tenth of some kernels.
    constexpr size_t kHalf = 32 * sizeof(uint32_t);
    for (unsigned number : needs->vgprs) {
      std::memset(wave.vgpr(number), 0, kHalf);
      if (wave_size_ == 64) std::memset(wave.vgpr(number) + 32, 0, kHalf);
    }
  } else {
    std::memset(wave.vgprs, 0, size_t{wave_vgprs(launch)} * wave.register_bytes);
  }
}

bool GroupContext::start(const Launch& launch, uint64_t number, const GroupPlace& place, uint64_t first_wave,
                         DispatchState& dispatch, Engine& engine, const RunOptions& options) {
  if (relaunch(launch, number, place, first_wave)) return true;
  adviser_ = engine.adviser();
  registers_stay_ = false;
  WaveControl* const control = options.control;
  const precise::TrapSettings& traps = options.precise.traps;
  if (memory_ != launch.memory) {
    memory_ = launch.memory;
    memory_user_.set(memory_.get());
    for (Wave* wave : waves_) forget_ranges(*wave);
  }
  for (unsigned axis = 0; axis < 3; ++axis) group_.id[axis] = place.id[axis] + launch.first_group[axis];
  group_.number = number;
  group_.wake_up = group_.has_priorities = any_sleeping_ = false;
  clock_ = 0;
  group_.lds_bytes = launch.lds_bytes;
  group_.messages = launch.messages;
  group_.wave_count = place.waves;
  group_.dispatch = &dispatch;
  traps_ = options.traps;
  trap_engine_ = nullptr;
  taken_over_ = 0;
  lost_memory_ = nullptr;
  suspended_ = options.suspended;
  may_relaunch_ = !control && options.precise.is_default() && launch.initial_byte == 0;
  has_run_ = stands_still_ = false;
  calm_slices_ = 0;
  next_looked_at_ = 0;
  idle_mark_.reset();
  times_idle_ = 0;
  order_.resize(group_.wave_count);
  std::copy_n(waves_.begin(), group_.wave_count, order_.begin());
  turn_order_ = options.precise.order;
  random_ = precise::Random(options.precise.order_seed ^ precise::Random(number).next());
  rank_waves();
  if (turn_order_ == precise::Order::backward) std::ranges::reverse(order_);
  wake_times_.resize(group_.wave_count);
  std::ranges::fill(wake_times_, 0);
  clear_lds(launch);
  wave_vgprs_ = wave_vgprs(launch);
  lds_alloc_ = lds_allocation(placement_ ? place_ : GroupPlacement{}, launch);
  item_ids_.prepare(place, bits(launch.rsrc2, 11, 2), launch.wave_size);
  host_traps_ = traps.host;
  requests_seen_ = host_traps_ ? host_traps_->count() : 0;
  if (control) has_commands_ = &control->begin(group_);
  control_ = control;
  mode_ = initial_mode(launch);
  const LaunchNeeds* const needs = may_relaunch_ && adviser_ ? adviser_->launch_needs(mode_) : nullptr;
  for (unsigned i = 0; i < group_.wave_count; ++i) {
    Wave& wave = *waves_[i];
    wave.creation_index = first_wave + i;
    launch_wave(launch, needs, i, place, wave);
    if (traps.sets_trap_enable()) wave.status |= status_bit::kTrapEnabled;
    if (!engine.enter(wave, launch.entry)) return false;
  }
  if (control_) control_->started(group_);
  listener_ = options.precise.listener;
  if (listener_) {
    listener_->group_begins(group_);
    for (unsigned i = 0; i < group_.wave_count; ++i) listener_->wave_begins(*waves_[i]);
  }
  return true;
}

void GroupContext::tell_end() {
  if (Listener* listener = std::exchange(listener_, nullptr)) listener->group_ends(group_);
}

unsigned initial_sgprs(const Launch& launch) {
  auto count = static_cast<unsigned>(launch.user_data.size());
  for (unsigned bit = 7; bit <= 10; ++bit) count += bits(launch.rsrc2, bit, 1);
  return count;
}

void GroupContext::launch_wave(const Launch& launch, const LaunchNeeds* needs, unsigned index,
                               const GroupPlace& place, Wave& wave) {
  reset_all_but_vgprs(wave, wave_vgprs_);
  clear_vgprs(launch, needs, wave);
  if (launch.initial_byte != 0) fill_registers(wave, launch.initial_byte);
  wave.lds_bytes = allocated_lds_bytes(launch);
  tell_place(launch, index, wave);
  give_scratch(wave, 0, 0);
  if (launch.scratch_bytes != 0) {
    std::byte* scratch = scratch_ring_
                             ? reinterpret_cast<std::byte*>(scratch_ring_->address(scratch_entries_[index]))
                             : scratch_storage_.get() + index * scratch_bytes_per_wave_;
    std::memset(scratch, launch.initial_byte, scratch_bytes_of(launch));
    give_scratch(wave, reinterpret_cast<uint64_t>(scratch), launch.scratch_bytes);
    wave.status |= status_bit::kScratchEnabled;
  }
  wave.mode = mode_;
  wave.status |= initial_status(launch.rsrc1);
  fill_launch_registers(launch, index, place, wave);
}

void GroupContext::tell_place(const Launch& launch, unsigned index, Wave& wave) const {
  const unsigned vmid = group_.dispatch->vmid;
  if (placement_) {
    wave.hw_id1 = hardware_id1(place_, index);
    wave.hw_id2 = hardware_id2(place_, vmid);
    wave.gpr_alloc = vgpr_allocation(place_, index, launch, wave_vgprs_);
  } else {
    wave.hw_id1 = index;
    wave.hw_id2 = hardware_id2({}, vmid);
    wave.gpr_alloc = 0;
  }
  wave.lds_alloc = lds_alloc_;
}

void GroupContext::fill_launch_registers(const Launch& launch, unsigned index, const GroupPlace& place,
                                         Wave& wave) {
  fill_user_data(launch, wave);
  fill_group_sgprs(launch, index, wave);
  fill_item_ids(launch, index, place, wave);
  wave.set_exec(lanes_of(launch, index, place));
}

void GroupContext::fill_item_ids(const Launch& launch, unsigned index, const GroupPlace& place, Wave& wave) {
  const auto [first, active] = items_of(launch, index, place);
  std::memcpy(wave.vgpr(0), item_ids_.words.data() + first, active * sizeof(uint32_t));
}

void GroupContext::fill_group_sgprs(const Launch& launch, unsigned index, Wave& wave) {
  size_t next = launch.user_data.size();
  for (unsigned axis = 0; axis < 3; ++axis)
    if (bits(launch.rsrc2, 7 + axis, 1)) wave.scalar[next++] = group_.id[axis];
  if (bits(launch.rsrc2, 10, 1))
    wave.scalar[next++] =
        (index == 0 ? 1u << 31 : 0) | index << 20 | group_.wave_count |
        (launch.ordered_append ? static_cast<uint32_t>(wave.creation_index & 0xfff) << 6 : 0);
}

void GroupContext::rank_waves() {
  const unsigned count = group_.wave_count;
  for (unsigned i = 0; i < count; ++i)
    ranks_[i] = static_cast<uint8_t>(turn_order_ == precise::Order::backward ? count - 1 - i : i);
  if (turn_order_ != precise::Order::random) return;
  for (unsigned left = count; left > 1; --left) std::swap(ranks_[left - 1], ranks_[random_.below(left)]);
}

int64_t GroupContext::turn_within(int64_t most, int64_t budget) {
  if (turn_order_ != precise::Order::random) return most;
  return StartOrder::draw_turn(random_, std::min(most, std::max<int64_t>(budget, 1)));
}

// Waves of higher priority first, the older of two alike (guide 5.1, s_setprio), unless another order was
// asked for.
void GroupContext::sort_by_priority() {
  // The host may change other bits of a held wave meanwhile.
  auto priority = [](const Wave* wave) {
    return priority_of(__atomic_load_n(&wave->status, __ATOMIC_RELAXED));
  };
  std::sort(order_.begin(), order_.end(), [&](const Wave* a, const Wave* b) {
    const unsigned pa = priority(a), pb = priority(b);
    return pa != pb ? pa > pb : ranks_[a->index_in_group] < ranks_[b->index_in_group];
  });
}

// Wave-instructions until the first of the sleeping waves wakes; `limit` if none does before.
int64_t GroupContext::time_to_wake(int64_t limit) const {
  for (unsigned i = 0; i < group_.wave_count; ++i)
    if (waves_[i]->state == WaveState::sleeping)
      limit = std::min(limit, std::max<int64_t>(wake_times_[i] - clock_, 1));
  return limit;
}

void GroupContext::wake(const Wave* except) {
  for (unsigned i = 0; i < group_.wave_count; ++i)
    if (waves_[i]->state == WaveState::sleeping && (except ? waves_[i] != except : wake_times_[i] <= clock_))
      waves_[i]->state = WaveState::ready;
}

// Nobody in the group has a use for the time until the first one wakes.
void GroupContext::skip_to_next_wake() {
  if (!any_sleeping_) return;
  clock_ += time_to_wake(kLongestSleep);
  wake(nullptr);
}

// The engine was left in the middle of an instruction of this turn; which one it cannot say any more.
void GroupContext::fault_for_lost_memory(Wave& wave, uint64_t address) {
  wave.fault = {};
  wave.fault.kind = FaultKind::memory_violation;
  wave.fault.pc = wave.pc;
  wave.fault.address = address;
  wave.fault.message = "access to " + hex(address) +
                       ", which is mapped for the device but is no memory of the host any more (unmapped or "
                       "freed while the kernel runs?), at or after the PC";
  wave.state = WaveState::faulted;
  lost_memory_ = &wave;
}

void GroupContext::take_memory() {
  const uint64_t version = memory_user_.begin();
  if (version == memory_version_) return;
  memory_version_ = version;
  for (Wave* each : waves_) forget_ranges(*each);
}

int64_t GroupContext::run_wave(Engine& engine, Wave& wave, int64_t turn) {
  int64_t count = 0;
  Engine& its_engine = is_taken_over(wave) ? static_cast<Engine&>(*trap_engine_) : engine;
  const auto lost = with_memory([&] { count = its_engine.run(wave, turn); });
  if (lost) fault_for_lost_memory(wave, *lost);
  if (listener_ && wave.state == WaveState::ended) listener_->wave_ends(wave);
  clock_ += count;
  if (wave.state == WaveState::sleeping) {
    wake_times_[wave.index_in_group] = clock_ + wave.sleep_clocks;
    any_sleeping_ = true;
  }
  if (group_.wake_up) {
    group_.wake_up = false;
    wake(&wave);
  }
  return count;
}

bool GroupContext::enter_trap_handler(Wave& wave) {
  if (!traps_ || is_taken_over(wave) || lost_memory_ == &wave) return false;
  trap_engine_ = traps_->engine_for(wave);
  if (!trap_engine_) return false;
  bool is_taken = false;
  const auto lost = with_memory([&] { is_taken = trap_engine_->take_over(wave); });
  if (lost) fault_for_lost_memory(wave, *lost);
  if (!is_taken || lost) return false;
  taken_over_ |= 1u << wave.index_in_group;
  // Translated code runs waves by itself, and leaves their storage fit for the next group's.
  adviser_ = nullptr;
  may_relaunch_ = false;
  return true;
}

std::optional<GroupContext::Result> GroupContext::stop_of(Wave& wave) {
  if (wave.state == WaveState::faulted && enter_trap_handler(wave)) return std::nullopt;
  if (wave.state == WaveState::faulted) return Result::faulted;
  if (wave.state == WaveState::halted) return Result::halted;
  return std::nullopt;
}

int64_t GroupContext::turn_of(int64_t budget) const {
  // A lone wave has nobody to wait for in its group.
  return group_.wave_count == 1
             ? kProbeInterval << doublings()
             : std::clamp<int64_t>(budget / group_.wave_count, kShortTurn, kTurn << doublings());
}

GroupContext::Result GroupContext::run(Engine& engine, int64_t budget, uint64_t& executed, size_t had_turn) {
  int64_t turn = turn_of(budget);
  // A group that comes back may still spin on what the others have not done yet, unless it got on so far.
  int64_t interval = has_run_ && calm_slices_ == 0 ? kShortTurn : kProbeInterval << doublings(),
          until_probe = interval;
  bool any_spins = false;
  // Waves that had a turn in a row have left their registers behind.
  bool is_first_pass = !has_run_ && std::ranges::none_of(order_, [](const Wave* wave) {
    return wave->executed_before_turn != 0;
  });
  ended_at_once_ = false;
  has_run_ = true;
  while (budget > 0) {
    if (suspended_ && suspended_->load(std::memory_order_relaxed)) return Result::unfinished;
    const int64_t before = budget;
    if (has_commands_ && has_commands_->load(std::memory_order_acquire)) control_->apply(group_);
    if (has_requests()) {
      requests_seen_ = host_traps_->count();
      for (Wave* wave : order_) engine.interrupt(*wave);
    }
    if (turn_order_ == precise::Order::random) rank_waves();
    if (group_.has_priorities || turn_order_ == precise::Order::random) sort_by_priority();
    const uint64_t executed_before = executed;
    if (had_turn == 0) had_turn = run_turns(std::min(turn, interval), budget, executed);
    budget -= static_cast<int64_t>(executed - executed_before);
    for (Wave* wave : order_) {
      // Under a command, or while it was looked at whether it spins.
      if (const auto stopped = stop_of(*wave)) return *stopped;
      if (had_turn != 0) {
        --had_turn;
        continue;
      }
      if (wave->state == WaveState::blocked && wave->wait.granted()) wave->state = WaveState::ready;
      if (wave->state != WaveState::ready) continue;
      // So has one whose turn ended beside others.
      if (wave->executed_before_turn != 0) is_first_pass = false;
      // Who sleeps shall not oversleep for the length of another wave's turn.
      const int64_t most = turn_within(std::min(turn, interval), budget);
      const int64_t count = run_wave(engine, *wave, any_sleeping_ ? time_to_wake(most) : most);
      executed += static_cast<uint64_t>(count);
      budget -= std::max<int64_t>(count, 1);
      if (const auto stopped = stop_of(*wave)) return *stopped;
      if (any_sleeping_) wake(nullptr);
    }
    bool any_ready = false, any_asleep = false, any_blocked = false, any_held = false, all_ended = true;
    for (const Wave* wave : order_) {
      any_ready |= wave->state == WaveState::ready;
      any_asleep |= wave->state == WaveState::sleeping;
      any_blocked |= wave->state == WaveState::blocked;
      any_held |= wave->state == WaveState::held && wave->held_from != WaveState::at_barrier;
      all_ended &= wave->state == WaveState::ended;
    }
    any_sleeping_ = any_asleep;
    if (all_ended) {
      ended_at_once_ = is_first_pass;
      tell_end();
      leave_control();
      return Result::finished;
    }
    is_first_pass = false;
    if (any_ready) {
      until_probe -= before - budget;
      if (until_probe <= 0) {
        if (const auto mark = all_ready_waves_spin(engine, executed)) {
          skip_to_next_wake();
          return idle(engine, *mark);
        }
        if (!any_spins && next_wave_spins(engine, executed)) {
          any_spins = true;
          calm_slices_ = 0;
          turn = turn_of(budget);
        }
        until_probe = interval = std::min(interval * 4, kProbeInterval << doublings());
      }
      continue;
    }
    // Who sleeps until something changes leaves the thread to those who may change it.
    if (any_asleep) {
      const uint64_t mark = sleepers_mark();
      skip_to_next_wake();
      return idle(engine, mark);
    }
    if (any_held) return Result::held;
    if (any_blocked) return Result::blocked;
    // Every wave that still runs has arrived; those that ended count as arrived (guide 5.5).
    if (listener_) listener_->barrier_passed(group_);
    for (unsigned i = 0; i < group_.wave_count; ++i) {
      Wave& wave = *waves_[i];
      if (wave.state == WaveState::at_barrier) wave.state = WaveState::ready;
      if (wave.state == WaveState::held) wave.held_from = WaveState::ready;
    }
  }
  // Who counts the rounds in which he waits for another group is not found spinning.
  const LaunchNeeds* const needs = adviser_ ? adviser_->launch_needs(mode_) : nullptr;
  calm_slices_ = needs && needs->wait_for_no_group && !any_spins ? calm_slices_ + 1 : 0;
  return Result::unfinished;
}

bool GroupContext::has_held_wave() const {
  return std::any_of(waves_.begin(), waves_.begin() + group_.wave_count,
                     [](const Wave* wave) { return wave->state == WaveState::held; });
}

bool GroupContext::may_go_on() const {
  if (has_requests() || (has_commands_ && has_commands_->load(std::memory_order_acquire))) return true;
  return std::any_of(waves_.begin(), waves_.begin() + group_.wave_count, [](const Wave* wave) {
    return wave->state == WaveState::blocked && wave->wait.granted();
  });
}

bool GroupContext::only_turns_are_awaited() const {
  return std::all_of(waves_.begin(), waves_.begin() + group_.wave_count, [](const Wave* wave) {
    return wave->state != WaveState::blocked || (wave->wait.kind == WaitKind::turn && !wave->wait.granted());
  });
}

void GroupContext::fail_blocked() {
  Wave& wave = wave_in(WaveState::blocked);
  wave.fault = {};
  wave.fault.kind = FaultKind::deadlock;
  wave.fault.pc = wave.pc;
  const bool is_turn = wave.wait.kind == WaitKind::turn;
  if (const auto wait = describe_wait(wave))
    wave.fault.message = wait->what + ", and every other wave " +
                         (is_turn ? "of the dispatch" : "on the device") +
                         " waits, too, or has ended: " + wait->lacks;
  wave.state = WaveState::faulted;
}

void GroupContext::resume_halted() {
  Wave& wave = wave_in(WaveState::halted);
  wave.fault = {};
  wave.state = WaveState::ready;
}

void GroupContext::hold_halted() {
  control_->refused(wave_in(WaveState::halted));
}

bool GroupContext::hold_faulted() {
  return control_->faulted(wave_in(WaveState::faulted));
}

void GroupContext::fail_halted() {
  wave_in(WaveState::halted).state = WaveState::faulted;
}

Wave& GroupContext::wave_in(WaveState state) const {
  return **std::find_if(waves_.begin(), waves_.end(), [&](const Wave* wave) { return wave->state == state; });
}

}  // namespace lockstep::machine
