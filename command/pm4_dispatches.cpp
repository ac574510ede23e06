// Dispatches that PM4 packets ask for.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/pm4_executor.h"
#include "command/processor.h"
#include "text/hex.h"

namespace lockstep::command {

Pm4Executor::Status Pm4Executor::dispatch_direct(const Packet& packet) {
  if (packet.count != 4) return bad_length(packet, "DISPATCH_DIRECT", "4");
  return dispatch(packet.words, packet.words[3]);
}

Pm4Executor::Status Pm4Executor::dispatch_indirect(const Packet& packet) {
  if (packet.count != 3) return bad_length(packet, "DISPATCH_INDIRECT on a compute queue", "3");
  // Read now: who lets a dispatch before compute them has to wait for it (CS_PARTIAL_FLUSH).
  const std::byte* from = at(pair(packet.words[0], packet.words[1]), 12, kRead, "address");
  if (!from) return Status::failed;
  uint32_t dimensions[3];
  std::memcpy(dimensions, from, sizeof dimensions);
  return dispatch(dimensions, packet.words[2]);
}

std::shared_ptr<machine::ScratchRing> Pm4Executor::scratch_ring() {
  const auto value = [&](uint32_t number) { return registers_[number - pm4::kShBase]; };
  const uint32_t size = bits(value(pm4::kTmpringSize), 0, 27);
  const uint32_t waves = bits(size, 0, 12), wave_bytes = bits(size, 12, 15) * machine::ScratchRing::kUnit;
  if (waves == 0 || wave_bytes == 0) {
    refuse(QueueError::Kind::invalid_packet, "COMPUTE_TMPRING_SIZE",
           "PGM_RSRC2 asks for scratch, but " + std::string(waves == 0 ? "WAVES" : "WAVESIZE") +
               " is 0 (set both, or clear SCRATCH_EN)");
    return nullptr;
  }
  const uint64_t base = pair(value(pm4::kScratchBaseLo), value(pm4::kScratchBaseHi) & 0xff) << 8;
  auto ring = std::make_shared<machine::ScratchRing>(base, wave_bytes,
                                                     services_.device.hardware().shader_engines, waves);
  // For each dispatch anew: the guest may have given the memory back while an earlier one used it.
  if (!held(base, ring->bytes(), kReadWrite, "COMPUTE_DISPATCH_SCRATCH_BASE_LO")) return nullptr;
  std::erase_if(rings_, [](const auto& known) { return known.expired(); });
  for (const auto& known : rings_)
    if (auto used = known.lock(); used && used->base() == base && used->register_value() == size) return used;
  rings_.push_back(ring);
  return ring;
}

Pm4Executor::Status Pm4Executor::dispatch(const uint32_t dimensions[3], uint32_t initiator) {
  const auto value = [&](uint32_t number) { return registers_[number - pm4::kShBase]; };
  for (unsigned axis = 0; axis < 3; ++axis) registers_[pm4::kDimX + axis - pm4::kShBase] = dimensions[axis];
  registers_[pm4::kDispatchInitiator - pm4::kShBase] = initiator;
  if (!(initiator & pm4::kComputeShaderEnable))
    return refuse(QueueError::Kind::invalid_packet, "dispatch_initiator",
                  "COMPUTE_SHADER_EN is not set: " + hex(initiator) + " (set bit 0)");
  if (initiator & pm4::kRestore)
    return refuse(
        QueueError::Kind::unsupported, "dispatch_initiator",
        "RESTORE is set: " + hex(initiator) + " (waves that were saved are the driver's to restore)");
  machine::Launch launch;
  static constexpr const char* kNames[] = {"dim_x", "dim_y", "dim_z"};
  uint64_t items = 1;
  for (unsigned axis = 0; axis < 3; ++axis) {
    const uint32_t threads = value(pm4::kNumThreadX + axis);
    const uint32_t full = threads & 0xffff, partial = threads >> 16;
    const uint32_t start = initiator & pm4::kStartAtZero ? 0 : value(pm4::kStartX + axis);
    items *= full;
    if (full == 0 || items > 1024)
      return refuse(QueueError::Kind::invalid_packet, std::string("COMPUTE_NUM_THREAD_") + "XYZ"[axis],
                    "work-groups of " + std::to_string(items) +
                        " work-items (set 1 to 1024 for all dimensions together, with SET_SH_REG)");
    launch.group[axis] = full;
    launch.first_group[axis] = start;
    // In work-items, then without the groups before the first.
    uint64_t grid = uint64_t{dimensions[axis]} * full;
    if (initiator & pm4::kThreadDimensions) {
      grid = dimensions[axis];
      if (!(initiator & pm4::kPartialGroups)) grid = (grid + full - 1) / full * full;
    } else if ((initiator & pm4::kPartialGroups) && partial != 0 && grid != 0) {
      grid = grid - full + std::min(partial, full);
    }
    const uint64_t before = uint64_t{start} * full;
    if (grid <= before) return Status::executed;  // an empty grid is no work
    if (grid - before > ~0u)
      return refuse(QueueError::Kind::unsupported, kNames[axis],
                    std::to_string(grid) + " work-items in one dimension (at most 4294967295)");
    launch.grid[axis] = static_cast<uint32_t>(grid - before);
  }
  const uint64_t entry = pair(value(pm4::kPgmLo), value(pm4::kPgmHi) & 0xff) << 8;
  // Code, scratch and what the waves may touch are looked up in the same mappings, which the launch keeps.
  dispatcher_.refresh();
  launch.code = dispatcher_.code(entry);
  if (launch.code.empty())
    return refuse(QueueError::Kind::memory_violation, "COMPUTE_PGM_LO",
                  "the program at " + hex(entry) +
                      " is no executable memory (load its code object, set PGM_LO to the "
                      "address divided by 256)");
  launch.entry = entry;
  launch.wave_size = initiator & pm4::kWave32 ? 32 : 64;
  launch.rsrc1 = value(pm4::kPgmRsrc1);
  launch.rsrc2 = value(pm4::kPgmRsrc2);
  launch.rsrc3 = value(pm4::kPgmRsrc3);
  launch.vgpr_count = std::min((bits(launch.rsrc1, 0, 6) + 1) * (launch.wave_size == 32 ? 8 : 4), 256u);
  launch.lds_bytes = bits(launch.rsrc2, 15, 9) * 512;
  if (launch.rsrc2 & 1) {
    launch.scratch = scratch_ring();
    if (!launch.scratch) return Status::failed;
    launch.scratch_bytes = launch.scratch->wave_bytes() / launch.wave_size;
  }
  const uint32_t user = bits(launch.rsrc2, 1, 5);
  if (user > 16)
    return refuse(QueueError::Kind::invalid_packet, "COMPUTE_PGM_RSRC2",
                  std::to_string(user) + " user SGPRs (the hardware has 16)");
  for (uint32_t i = 0; i < user; ++i) launch.user_data.push_back(value(pm4::kUserData0 + i));
  launch.memory = dispatcher_.ranges();
  launch.messages = messages_;
  launch.doorbell_id = doorbell_id_;
  launch.compute_units = compute_units();
  launch.access_modes = services_.device.access_modes();
  launch.access_modes.alignment =
      static_cast<memory::AlignmentMode>(bits(sh_mem_config_, pm4::kShMemAlignmentShift, 2));
  launch.ordered_append = initiator & pm4::kOrderedAppend;

  const uint64_t number = started_++;
  {
    std::lock_guard lock(state_->mutex);
    ++state_->in_flight;
    state_->numbers.insert(number);
  }
  const auto not_started = [&] {
    std::lock_guard lock(state_->mutex);
    --state_->in_flight;
    state_->numbers.erase(number);
  };
  std::shared_ptr<machine::ActiveDispatch> running;
  auto handle = std::make_shared<std::weak_ptr<machine::ActiveDispatch>>();
  auto ended = std::make_shared<bool>(false);
  try {
    running = services_.device.start(
        std::move(launch), priority_,
        [this, state = state_, handle, ended, number](machine::Outcome&& outcome) {
          const Services services = services_;
          on_end_(std::move(outcome));
          std::shared_ptr<machine::ActiveDispatch> dropped;
          {
            std::lock_guard lock(state->mutex);
            *ended = true;
            if ((dropped = handle->lock())) state->running.erase(dropped);
            state->numbers.erase(number);
            if (--state->in_flight == 0) state->idle.notify_all();
          }
          // The queue may be gone by now.
          services.processor.wake();
          services.waiters.notify();
        },
        precise_,
        [this] {
          std::lock_guard lock(state_->mutex);
          return state_->cancelled;
        });
  } catch (const std::invalid_argument& error) {
    not_started();
    return refuse(QueueError::Kind::invalid_packet, "", error.what());
  } catch (const std::bad_alloc&) {
    not_started();
    return refuse(QueueError::Kind::invalid_packet, "", "the host has no memory for the dispatch");
  }
  if (!running) return Status::executed;
  bool cancel = false;
  {
    std::lock_guard lock(state_->mutex);
    if (!*ended) {
      *handle = running;
      state_->running.insert(running);
      cancel = state_->cancelled;
    }
  }
  if (cancel) services_.device.cancel(*running);
  return Status::executed;
}

}  // namespace lockstep::command
