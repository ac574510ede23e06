#include "command/pm4_executor.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/processor.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

constexpr size_t kMaxDepth = 16;       // of indirect buffers
constexpr size_t kMaxReleases = 4096;  // that wait for the end of the pipe

uint64_t pair(uint32_t low, uint32_t high) {
  return low | uint64_t{high} << 32;
}

bool compare(uint32_t function, uint64_t value, uint64_t reference) {
  switch (function) {
    case 0:
      return true;
    case 1:
      return value < reference;
    case 2:
      return value <= reference;
    case 3:
      return value == reference;
    case 4:
      return value != reference;
    case 5:
      return value >= reference;
    default:
      return value > reference;
  }
}

}  // namespace

Pm4Executor::Pm4Executor(const Services& services, uint64_t queue, uint32_t doorbell_id, int priority,
                         machine::Device::Precise* precise, MessageSink* messages, OnEnd on_end)
    : services_(services),
      queue_(queue),
      doorbell_id_(doorbell_id),
      priority_(priority),
      precise_(precise),
      messages_(messages),
      on_end_(std::move(on_end)),
      dispatcher_(services.memory),
      registers_(pm4::kShEnd - pm4::kShBase),
      sh_mem_config_(static_cast<uint32_t>(services.device.access_modes().alignment)
                         << pm4::kShMemAlignmentShift |
                     pm4::kShMemFetchAhead),
      state_(std::make_shared<State>()) {
  // As the driver leaves them: of programs that never write them all compute units are used.
  set_compute_units(machine::ComputeUnits::all());
}

Pm4Executor::~Pm4Executor() {
  cancel();
  wait_idle();
}

void Pm4Executor::cancel() {
  end_running(true);
}

void Pm4Executor::abandon() {
  frames_.clear();
  releases_.clear();
  end_running(false);
}

void Pm4Executor::end_running(bool for_good) {
  std::set<std::shared_ptr<machine::ActiveDispatch>> running;
  {
    std::lock_guard lock(state_->mutex);
    state_->cancelled |= for_good;
    running = state_->running;
  }
  for (const auto& dispatch : running) services_.device.cancel(*dispatch);
}

std::set<std::shared_ptr<machine::ActiveDispatch>> Pm4Executor::running() const {
  std::lock_guard lock(state_->mutex);
  return state_->running;
}

void Pm4Executor::suspend() {
  for (const auto& dispatch : running()) services_.device.suspend(*dispatch);
}

void Pm4Executor::resume() {
  for (const auto& dispatch : running()) services_.device.resume(*dispatch);
}

void Pm4Executor::wait_idle() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [&] { return state_->in_flight == 0; });
}

Pm4Executor::Status Pm4Executor::refuse(QueueError::Kind kind, std::string field, std::string text) {
  fault_ = {kind, packet_address_, std::move(field), std::move(text), 0};
  return Status::failed;
}

Pm4Executor::Status Pm4Executor::bad_length(const Packet& packet, const char* name, const char* expected) {
  return refuse(QueueError::Kind::invalid_packet, "count",
                std::string(name) + " with " + std::to_string(packet.count) +
                    " dwords behind its header (it has " + expected + ")");
}

std::byte* Pm4Executor::at(uint64_t address, uint64_t bytes, uint8_t access, const char* field) {
  dispatcher_.refresh();
  return held(address, bytes, access, field);
}

std::byte* Pm4Executor::held(uint64_t address, uint64_t bytes, uint8_t access, const char* field) {
  if (address % 4 != 0) {
    refuse(QueueError::Kind::invalid_packet, field, hex(address) + " is no multiple of 4 (align it)");
    return nullptr;
  }
  std::byte* found = guest_bytes(*dispatcher_.ranges(), address, bytes, access);
  if (!found) {
    refuse(
        QueueError::Kind::memory_violation, field,
        describe_violation(*dispatcher_.ranges(), address, bytes, access) + " (map it for the device first)");
    fault_.unmapped = address;
  }
  return found;
}

bool Pm4Executor::call(uint64_t address, uint32_t dwords) {
  if (!at(address, uint64_t{dwords} * 4, kRead, "ib_base")) return false;
  frames_.push_back({address, address + uint64_t{dwords} * 4});
  return true;
}

uint32_t Pm4Executor::packet_dwords(uint64_t address, uint32_t header) {
  packet_address_ = address;
  const uint32_t type = header >> 30;
  if (type == 2) return 1;  // filler
  if (type != 3) {
    refuse(QueueError::Kind::invalid_packet, "header",
           hex(header) + " is a type " + std::to_string(type) +
               " packet (compute queues take type 3; does the buffer hold packets?)");
    return 0;
  }
  const uint32_t count = bits(header, 16, 14);
  // A NOP of the largest count is its header alone.
  if (bits(header, 8, 8) == pm4::kNop && count == 0x3fff) return 1;
  return count + 2;
}

Pm4Executor::Status Pm4Executor::step() {
  while (!frames_.empty() && frames_.back().address == frames_.back().end) frames_.pop_back();
  if (frames_.empty()) return Status::nothing;
  const Frame frame = frames_.back();
  packet_address_ = frame.address;
  const auto* words = reinterpret_cast<const uint32_t*>(at(frame.address, 4, kRead, "ib_base"));
  if (!words) return Status::failed;
  const uint32_t header = load_shared<uint32_t>(words);
  const uint32_t dwords = packet_dwords(frame.address, header);
  if (dwords == 0) return Status::failed;
  if (dwords > (frame.end - frame.address) / 4)
    return refuse(QueueError::Kind::invalid_packet, "count",
                  "the packet has " + std::to_string(dwords) + " dwords, but its buffer only " +
                      std::to_string((frame.end - frame.address) / 4) + " more (correct one of them)");
  if (!at(frame.address, uint64_t{dwords} * 4, kRead, "ib_base")) return Status::failed;
  std::vector<uint32_t> copy(words, words + dwords);
  copy[0] = header;
  // An indirect buffer packet puts its frame above this one.
  frames_.back().address += uint64_t{dwords} * 4;
  const size_t depth = frames_.size();
  const Status status = execute(frame.address, copy.data(), dwords);
  if (status == Status::waits_memory || status == Status::waits_dispatch)
    frames_[depth - 1].address = frame.address;
  return status;
}

Pm4Executor::Status Pm4Executor::execute(uint64_t address, const uint32_t* words, uint32_t count) {
  packet_address_ = address;
  if (words[0] >> 30 == 2) return Status::executed;
  const Packet packet{address, words + 1, count - 1};
  const uint32_t opcode = bits(words[0], 8, 8);
  if (words[0] & 1)
    return refuse(QueueError::Kind::unsupported, "header", "a predicated packet (clear bit 0 of its header)");
  return execute(opcode, packet);
}

Pm4Executor::Status Pm4Executor::execute(uint32_t opcode, const Packet& packet) {
  switch (opcode) {
    case pm4::kNop:
      return Status::executed;
    case pm4::kDispatchDirect:
      return dispatch_direct(packet);
    case pm4::kDispatchIndirect:
      return dispatch_indirect(packet);
    case pm4::kWriteData:
      return write_data(packet);
    case pm4::kWaitRegMem:
      return wait_memory(packet, false);
    case pm4::kWaitRegMem64:
      return wait_memory(packet, true);
    case pm4::kIndirectBuffer:
      return indirect_buffer(packet);
    case pm4::kCopyData:
      return copy_data(packet);
    case pm4::kEventWrite:
      return event_write(packet);
    case pm4::kReleaseMem:
      return release_memory(packet);
    case pm4::kAcquireMem:
      return acquire_memory(packet);
    case pm4::kSetShReg:
      return set_registers(packet, false);
    case pm4::kSetShRegIndex:
      return set_registers(packet, true);
    default:
      return refuse(QueueError::Kind::unsupported, "opcode",
                    "opcode " + hex(opcode) +
                        " (supported: NOP, SET_SH_REG, SET_SH_REG_INDEX, DISPATCH_DIRECT, DISPATCH_INDIRECT, "
                        "ACQUIRE_MEM, RELEASE_MEM, WAIT_REG_MEM, WAIT_REG_MEM64, WRITE_DATA, COPY_DATA, "
                        "INDIRECT_BUFFER, EVENT_WRITE)");
  }
}

// ---- Registers

std::optional<uint32_t> Pm4Executor::read_register(uint32_t number, const char* field) {
  if (pm4::is_compute_register(number)) return registers_[number - pm4::kShBase];
  if (number == pm4::kShMemConfig) return sh_mem_config_;
  refuse(QueueError::Kind::unsupported, field,
         "register " + hex(number) + " is no compute register of gfx11, nor SH_MEM_CONFIG");
  return std::nullopt;
}

std::shared_ptr<const machine::ComputeUnits> Pm4Executor::compute_units() const {
  machine::ComputeUnits::Words words;
  for (size_t i = 0; i < words.size(); ++i)
    words[i] = registers_[pm4::kStaticThreadManagement[i] - pm4::kShBase];
  const machine::ComputeUnits units(words);
  if (units.has_all(services_.device.hardware())) return nullptr;
  return std::make_shared<const machine::ComputeUnits>(units);
}

void Pm4Executor::set_compute_units(const machine::ComputeUnits& units) {
  queues_units_ = units;
  for (size_t i = 0; i < units.words().size(); ++i)
    registers_[pm4::kStaticThreadManagement[i] - pm4::kShBase] = units.words()[i];
}

bool Pm4Executor::write_register(uint32_t number, uint32_t value, const char* field) {
  if (!read_register(number, field)) return false;
  if (number == pm4::kShMemConfig) {
    if (value & pm4::kShMemAddressMode) {
      refuse(QueueError::Kind::unsupported, field,
             "SH_MEM_CONFIG.ADDRESS_MODE is 1 (write 0: addresses have 64 bits)");
      return false;
    }
    sh_mem_config_ = value;
    return true;
  }
  registers_[number - pm4::kShBase] = value;
  return true;
}

Pm4Executor::Status Pm4Executor::set_registers(const Packet& packet, bool has_index) {
  if (packet.count < 2) return bad_length(packet, has_index ? "SET_SH_REG_INDEX" : "SET_SH_REG", "2 or more");
  const uint32_t index = has_index ? packet.words[0] >> 28 : 0;
  // 3: only what the driver leaves the queue of the compute units (AMD's PAL: apply_kmd_cu_and_mask).
  constexpr uint32_t kWithinTheQueues = 3;
  if (index != 0 && index != kWithinTheQueues)
    return refuse(QueueError::Kind::unsupported, "index",
                  std::to_string(index) + " (0 is SET_SH_REG, 3 masks compute units by the queue's)");
  if ((packet.words[0] & (has_index ? 0x0fffffff : ~0u)) >> 16 != 0)
    return refuse(QueueError::Kind::unsupported, "reg_offset",
                  "bits above the register offset are set: " + hex(packet.words[0]) + " (write 0)");
  const uint32_t first = pm4::kShBase + (packet.words[0] & 0xffff);
  if (first >= pm4::kShEnd)
    return refuse(QueueError::Kind::unsupported, "reg_offset",
                  "register " + hex(first) + " is beyond those that SET_SH_REG reaches, " +
                      hex(pm4::kShBase) + " to " + hex(pm4::kShEnd - 1));
  for (uint32_t i = 0; i + 1 < packet.count; ++i) {
    uint32_t value = packet.words[1 + i];
    const auto* const units = std::ranges::find(pm4::kStaticThreadManagement, first + i);
    if (index == kWithinTheQueues && units != std::end(pm4::kStaticThreadManagement))
      value &= queues_units_.words()[static_cast<size_t>(units - std::begin(pm4::kStaticThreadManagement))];
    if (!write_register(first + i, value, "reg_offset")) return Status::failed;
  }
  return Status::executed;
}

// ---- Dispatches

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

// ---- Memory

Pm4Executor::Status Pm4Executor::acquire_memory(const Packet& packet) {
  if (packet.count != 7) return bad_length(packet, "ACQUIRE_MEM", "7");
  // Data caches are coherent here; decoded instructions are the one thing that can be stale.
  if (packet.words[6] & pm4::kGcrInstructionInvalidate) services_.device.forget_code();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return Status::executed;
}

Pm4Executor::Status Pm4Executor::release_memory(const Packet& packet) {
  if (packet.count != 7) return bad_length(packet, "RELEASE_MEM", "7");
  const uint32_t event = bits(packet.words[0], 0, 6);
  if (event != pm4::kCacheFlushAndInvTs && event != pm4::kBottomOfPipeTs && event != pm4::kCsDone)
    return refuse(
        QueueError::Kind::unsupported, "event_type",
        "event " + hex(event) + " (0x14 CACHE_FLUSH_AND_INV_TS, 0x28 BOTTOM_OF_PIPE_TS, 0x2f CS_DONE)");
  const uint32_t data = bits(packet.words[1], 29, 3), interrupt = bits(packet.words[1], 24, 3);
  if (data > 4)
    return refuse(QueueError::Kind::unsupported, "data_sel",
                  std::to_string(data) + " (0 nothing, 1 and 2 data of 32 and 64 bits, 3 and 4 clocks)");
  if (interrupt > 3)
    return refuse(QueueError::Kind::unsupported, "int_sel",
                  std::to_string(interrupt) + " (0 none, 1 and 2 interrupt, 3 none, data confirmed)");
  if (data != 0) {
    const uint64_t address = pair(packet.words[2], packet.words[3]);
    if (!at(address, data == 1 ? 4 : 8, kWrite, "address")) return Status::failed;
    if (data != 1 && address % 8 != 0)
      return refuse(QueueError::Kind::invalid_packet, "address",
                    hex(address) + " is no multiple of 8 (align it)");
  }
  // It comes at the end of the pipe, and what is behind it goes on.
  if (releases_.size() == kMaxReleases) return Status::waits_dispatch;
  Release& release = releases_.emplace_back(Release{started_, packet.address, {}});
  std::copy_n(packet.words, release.words.size(), release.words.begin());
  return settle() ? Status::executed : Status::failed;
}

bool Pm4Executor::settle() {
  for (; !releases_.empty(); releases_.pop_front()) {
    {
      std::lock_guard lock(state_->mutex);
      if (state_->cancelled) return true;
      if (!state_->numbers.empty() && *state_->numbers.begin() < releases_.front().behind) return true;
    }
    if (!release(releases_.front())) return false;
  }
  return true;
}

bool Pm4Executor::release(const Release& release) {
  const auto& words = release.words;
  const uint32_t data = bits(words[1], 29, 3), interrupt = bits(words[1], 24, 3);
  packet_address_ = release.packet_address;
  if (data != 0) {
    // Looked at again: much may have been unmapped meanwhile.
    std::byte* to = at(pair(words[2], words[3]), data == 1 ? 4 : 8, kWrite, "address");
    if (!to) return false;
    if (data == 1)
      store_shared<uint32_t>(to, words[4]);
    else
      store_shared<uint64_t>(to, data == 2 ? pair(words[4], words[5]) : services_.time_stamp());
    services_.waiters.notify();
  }
  if (interrupt == 1 || interrupt == 2)
    services_.interrupts.raise({Interrupt::Source::end_of_pipe, words[6], queue_, {}, 0});
  return true;
}

Pm4Executor::Status Pm4Executor::wait_memory(const Packet& packet, bool wide) {
  if (packet.count != (wide ? 8u : 6u))
    return bad_length(packet, wide ? "WAIT_REG_MEM64" : "WAIT_REG_MEM", wide ? "8" : "6");
  const uint32_t control = packet.words[0];
  const uint32_t function = bits(control, 0, 3), space = bits(control, 4, 2), operation = bits(control, 6, 2);
  if (function > 6)
    return refuse(QueueError::Kind::invalid_packet, "function",
                  "7 (0 always, then <, <=, ==, !=, >=, 6 is >)");
  // Write a register, then wait for another one: how drivers flush the host data path. Memory of host and
  // guest is one.
  if (operation == 1 && space == 0 && !wide) return Status::executed;
  if (operation == 1 || operation == 2)
    return refuse(QueueError::Kind::unsupported, "operation",
                  std::to_string(operation) + " (0 waits; 1 writes a register, then waits for one)");
  if (space > 1)
    return refuse(QueueError::Kind::invalid_packet, "mem_space",
                  std::to_string(space) + " (0 register, 1 memory)");
  const uint64_t reference = wide ? pair(packet.words[3], packet.words[4]) : packet.words[3];
  const uint64_t mask = wide ? pair(packet.words[5], packet.words[6]) : packet.words[4];
  uint64_t value = 0;
  if (space == 0) {
    const auto found = read_register(packet.words[1], "reg_poll_addr");
    if (!found) return Status::failed;
    value = *found;
  } else {
    const uint64_t address = pair(packet.words[1], packet.words[2]);
    if (wide && address % 8 != 0)
      return refuse(QueueError::Kind::invalid_packet, "mem_poll_addr",
                    hex(address) + " is no multiple of 8 (align it)");
    const std::byte* from = at(address, wide ? 8 : 4, kRead, "mem_poll_addr");
    if (!from) return Status::failed;
    value = wide ? load_shared<uint64_t>(from) : load_shared<uint32_t>(from);
  }
  if (compare(function, value & mask, reference)) return Status::executed;
  if (space == 0)
    return refuse(QueueError::Kind::invalid_packet, "reg_poll_addr",
                  "waits for a register that nothing changes meanwhile (wait for memory)");
  // Units of 16 clocks on the card; here not so often that it costs a core.
  const uint32_t interval = packet.words[wide ? 7 : 5] & 0xffff;
  look_again_ = Waiters::Clock::now() + std::chrono::microseconds(std::max(200u, interval / 8));
  return Status::waits_memory;
}

Pm4Executor::Status Pm4Executor::write_data(const Packet& packet) {
  if (packet.count < 4) return bad_length(packet, "WRITE_DATA", "4 or more");
  const uint32_t control = packet.words[0];
  const uint32_t destination = bits(control, 8, 4);
  const bool one_address = bits(control, 16, 1);
  const uint32_t count = packet.count - 3;
  if (destination == 0) {
    for (uint32_t i = 0; i < count; ++i)
      if (!write_register(packet.words[1] + (one_address ? 0 : i), packet.words[3 + i], "dst_mmreg_addr"))
        return Status::failed;
    return Status::executed;
  }
  if (destination != 1 && destination != 2 && destination != 5)
    return refuse(QueueError::Kind::unsupported, "dst_sel",
                  std::to_string(destination) + " (0 register, 1, 2 and 5 memory)");
  std::byte* to = at(pair(packet.words[1], packet.words[2]), one_address ? 4 : uint64_t{count} * 4, kWrite,
                     "dst_mem_addr");
  if (!to) return Status::failed;
  for (uint32_t i = 0; i < count; ++i)
    store_shared<uint32_t>(to + (one_address ? 0 : i * 4), packet.words[3 + i]);
  services_.waiters.notify();
  return Status::executed;
}

Pm4Executor::Status Pm4Executor::copy_data(const Packet& packet) {
  if (packet.count != 5) return bad_length(packet, "COPY_DATA", "5");
  const uint32_t control = packet.words[0];
  const uint32_t source = bits(control, 0, 4), destination = bits(control, 8, 4);
  const bool wide = bits(control, 16, 1);
  const uint64_t bytes = wide ? 8 : 4;
  const uint64_t from = pair(packet.words[1], packet.words[2]), to = pair(packet.words[3], packet.words[4]);
  uint64_t value = 0;
  switch (source) {
    case 0:
      for (unsigned i = 0; i < bytes / 4; ++i) {
        const auto part = read_register(packet.words[1] + i, "src_reg_offset");
        if (!part) return Status::failed;
        value |= uint64_t{*part} << 32 * i;
      }
      break;
    case 1:
    case 2: {
      const std::byte* memory = at(from, bytes, kRead, "src_addr");
      if (!memory) return Status::failed;
      std::memcpy(&value, memory, bytes);
      break;
    }
    case 5:
      value = from;
      break;
    case 9:
      value = services_.time_stamp();
      break;
    default:
      return refuse(QueueError::Kind::unsupported, "src_sel",
                    std::to_string(source) + " (0 register, 1 and 2 memory, 5 immediate, 9 clock)");
  }
  if (destination == 0) {
    for (unsigned i = 0; i < bytes / 4; ++i)
      if (!write_register(packet.words[3] + i, static_cast<uint32_t>(value >> 32 * i), "dst_reg_offset"))
        return Status::failed;
    return Status::executed;
  }
  if (destination != 1 && destination != 2 && destination != 5)
    return refuse(QueueError::Kind::unsupported, "dst_sel",
                  std::to_string(destination) + " (0 register, 1, 2 and 5 memory)");
  std::byte* memory = at(to, bytes, kWrite, "dst_addr");
  if (!memory) return Status::failed;
  std::memcpy(memory, &value, bytes);
  services_.waiters.notify();
  return Status::executed;
}

Pm4Executor::Status Pm4Executor::indirect_buffer(const Packet& packet) {
  if (packet.count != 3) return bad_length(packet, "INDIRECT_BUFFER", "3");
  const uint32_t control = packet.words[2];
  const uint32_t dwords = bits(control, 0, 20);
  if (packet.words[0] & 3)
    return refuse(QueueError::Kind::invalid_packet, "ib_base_lo",
                  hex(packet.words[0]) + " is no multiple of 4 (align it)");
  if (dwords == 0) return Status::executed;
  // A chained buffer takes the place of this one.
  if (bits(control, 20, 1) && !frames_.empty()) frames_.pop_back();
  if (frames_.size() >= kMaxDepth)
    return refuse(QueueError::Kind::invalid_packet, "ib_base_lo",
                  "indirect buffers call each other more than " + std::to_string(kMaxDepth) +
                      " deep (chain them, or correct the loop)");
  return call(pair(packet.words[0], packet.words[1] & 0xffff), dwords) ? Status::executed : Status::failed;
}

Pm4Executor::Status Pm4Executor::event_write(const Packet& packet) {
  if (packet.count != 1) return bad_length(packet, "EVENT_WRITE", "1");
  const uint32_t event = bits(packet.words[0], 0, 6);
  switch (event) {
    case pm4::kCsPartialFlush:
      if (busy()) return Status::waits_dispatch;
      return settle() ? Status::executed : Status::failed;
    case pm4::kCacheFlush:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Status::executed;
    default:
      return refuse(QueueError::Kind::unsupported, "event_type",
                    "event " + hex(event) + " (0x06 CACHE_FLUSH, 0x07 CS_PARTIAL_FLUSH)");
  }
}

}  // namespace lockstep::command
