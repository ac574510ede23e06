#include "command/pm4_executor.h"

#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/pm4_names.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

constexpr size_t kMaxDepth = 16;  // of indirect buffers
constexpr uint32_t kConditionalBufferDwords = 13;

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

std::byte* Pm4Executor::at(uint64_t address, uint64_t bytes, uint8_t access, const char* field,
                           unsigned alignment) {
  dispatcher_.refresh();
  return held(address, bytes, access, field, alignment);
}

std::byte* Pm4Executor::held(uint64_t address, uint64_t bytes, uint8_t access, const char* field,
                             unsigned alignment) {
  if (address % alignment != 0) {
    refuse(QueueError::Kind::invalid_packet, field,
           hex(address) + " is no multiple of " + std::to_string(alignment) + " (align it)");
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
    case pm4::kAtomicMem:
      return atomic_memory(packet);
    case pm4::kCondExec:
      return conditional_execution(packet);
    case pm4::kWriteData:
      return write_data(packet);
    case pm4::kWaitRegMem:
      return wait_memory(packet, false);
    case pm4::kWaitRegMem64:
      return wait_memory(packet, true);
    case pm4::kIndirectBuffer:
      return packet.count == kConditionalBufferDwords ? conditional_buffer(packet) : indirect_buffer(packet);
    case pm4::kCopyData:
      return copy_data(packet);
    case pm4::kCondWrite:
      return conditional_write(packet);
    case pm4::kEventWrite:
      return event_write(packet);
    case pm4::kReleaseMem:
      return release_memory(packet);
    case pm4::kTimestamp:
      return time_stamp(packet);
    case pm4::kDmaData:
      return dma_data(packet);
    case pm4::kAcquireMem:
      return acquire_memory(packet);
    case pm4::kRewind:
      return rewind(packet);
    case pm4::kSetShReg:
      return set_registers(packet, false);
    case pm4::kSetShRegIndex:
      return set_registers(packet, true);
    case pm4::kLoadShRegIndex:
      return load_registers(packet);
    case pm4::kSetShRegPairs:
      return set_register_pairs(packet);
    case pm4::kSetShRegPairsPacked:
    case pm4::kSetShRegPairsPackedN:
      return set_packed_pairs(packet);
    case pm4::kSetUconfigReg:
    case pm4::kSetUconfigRegIndex:
      return set_user_config(packet, opcode == pm4::kSetUconfigRegIndex);
    case pm4::kHdpFlush:
    case pm4::kInvalidateTlbs:
    case pm4::kPrimeUtcl2:
      // Memory of host and guest is one, and what is mapped is looked up each time.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Status::executed;
    default:
      return refuse(QueueError::Kind::unsupported, "opcode",
                    pm4::name(opcode) +
                        " is none of the packets that compute queues execute here "
                        "(docs/queues.md lists them)");
  }
}

// ---- Which packets are next

Pm4Executor::Status Pm4Executor::indirect_buffer(const Packet& packet) {
  if (packet.count != 3) return bad_length(packet, "INDIRECT_BUFFER", "3");
  return enter(packet.words, bits(packet.words[2], 20, 1));
}

Pm4Executor::Status Pm4Executor::enter(const uint32_t* buffer, bool chained) {
  const uint32_t dwords = bits(buffer[2], 0, 20);
  if (buffer[0] & 3)
    return refuse(QueueError::Kind::invalid_packet, "ib_base_lo",
                  hex(buffer[0]) + " is no multiple of 4 (align it)");
  if (dwords == 0) return Status::executed;
  // A chained buffer takes the place of this one.
  if (chained && !frames_.empty()) frames_.pop_back();
  if (frames_.size() >= kMaxDepth)
    return refuse(QueueError::Kind::invalid_packet, "ib_base_lo",
                  "indirect buffers call each other more than " + std::to_string(kMaxDepth) +
                      " deep (chain them, or correct the loop)");
  return call(pair(buffer[0], buffer[1] & 0xffff), dwords) ? Status::executed : Status::failed;
}

Pm4Executor::Status Pm4Executor::conditional_buffer(const Packet& packet) {
  constexpr uint32_t kIfThen = 1, kIfThenElse = 2;
  const uint32_t mode = bits(packet.words[0], 0, 2), function = bits(packet.words[0], 8, 3);
  if (mode != kIfThen && mode != kIfThenElse)
    return refuse(QueueError::Kind::invalid_packet, "mode",
                  std::to_string(mode) + " (1 if, then; 2 if, then, else)");
  if (function > kLastFunction) return bad_function();
  const std::byte* from = at(pair(packet.words[1], packet.words[2]), 8, kRead, "compare_addr", 8);
  if (!from) return Status::failed;
  const uint64_t mask = pair(packet.words[3], packet.words[4]),
                 reference = pair(packet.words[5], packet.words[6]);
  if (compare(function, load_shared<uint64_t>(from) & mask, reference)) return enter(packet.words + 7, false);
  return mode == kIfThenElse ? enter(packet.words + 10, false) : Status::executed;
}

Pm4Executor::Status Pm4Executor::conditional_execution(const Packet& packet) {
  if (packet.count != 4) return bad_length(packet, "COND_EXEC", "4");
  const std::byte* from = at(pair(packet.words[0] & ~3u, packet.words[1]), 4, kRead, "addr");
  if (!from) return Status::failed;
  if (load_shared<uint32_t>(from) != 0) return Status::executed;
  const uint32_t dwords = bits(packet.words[3], 0, 14);
  if (frames_.empty()) {
    skip_ = dwords;
    return Status::executed;
  }
  Frame& frame = frames_.back();
  const uint64_t left = (frame.end - frame.address) / 4;
  if (dwords > left)
    return refuse(QueueError::Kind::invalid_packet, "exec_count",
                  std::to_string(dwords) + " dwords, but the buffer has only " + std::to_string(left) +
                      " more (correct one of them)");
  frame.address += uint64_t{dwords} * 4;
  return Status::executed;
}

bool Pm4Executor::skip_dword() {
  if (skip_ == 0) return false;
  --skip_;
  return true;
}

// The program sets the bit when what follows has been written; the packet is read again until then.
Pm4Executor::Status Pm4Executor::rewind(const Packet& packet) {
  if (packet.count != 1) return bad_length(packet, "REWIND", "1");
  if (bits(packet.words[0], 31, 1)) return Status::executed;
  return look_later(0);
}

}  // namespace lockstep::command
