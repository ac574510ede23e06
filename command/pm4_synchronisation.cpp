// PM4 packets that wait, order and tell: caches, the end of the pipe, events.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>

#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/pm4_executor.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

constexpr size_t kMaxReleases = 4096;  // that wait for the end of the pipe

}  // namespace

Pm4Executor::Status Pm4Executor::acquire_memory(const Packet& packet) {
  if (packet.count != 7) return bad_length(packet, "ACQUIRE_MEM", "7");
  // Data caches are coherent here; decoded instructions are the one thing that can be stale.
  if (packet.words[6] & pm4::kGcrInstructionInvalidate) services_.device.forget_code();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return Status::executed;
}

// Of RELEASE_MEM: what is written when the dispatches before it have ended, and whether it interrupts.
struct Pm4Executor::ReleaseWords {
  enum Data : uint32_t { nothing, dword, qword, clock, system_clock, of_gds, add_dword = 7 };
  enum Interrupt : uint32_t { none, alone, behind_data, none_behind_data, always };

  explicit ReleaseWords(const uint32_t* words)
      : event(bits(words[0], 0, 6)),
        destination(bits(words[1], 16, 2)),
        interrupt(bits(words[1], 24, 3)),
        data(bits(words[1], 29, 3)),
        address(pair(words[2], words[3])),
        value(pair(words[4], words[5])),
        context(words[6]) {}
  bool interrupts() const { return interrupt == alone || interrupt == behind_data || interrupt == always; }
  unsigned bytes() const { return data == dword || data == add_dword ? 4 : 8; }
  uint8_t access() const { return data == add_dword ? kReadWrite : kWrite; }

  uint32_t event, destination, interrupt, data;
  uint64_t address, value;
  uint32_t context;
};

Pm4Executor::Status Pm4Executor::release_memory(const Packet& packet) {
  if (packet.count != 7) return bad_length(packet, "RELEASE_MEM", "7");
  const ReleaseWords words(packet.words);
  // Those that are told of at the end of the pipe; of graphics' there is nothing to flush.
  constexpr uint32_t kEvents[] = {pm4::kCacheFlushTs,        pm4::kCacheFlushAndInvTs,  pm4::kBottomOfPipeTs,
                                  pm4::kFlushAndInvDbDataTs, pm4::kFlushAndInvCbDataTs, pm4::kCsDone};
  if (std::ranges::find(kEvents, words.event) == std::end(kEvents))
    return refuse(
        QueueError::Kind::unsupported, "event_type",
        "event " + hex(words.event) + " (0x14 CACHE_FLUSH_AND_INV_TS, 0x28 BOTTOM_OF_PIPE_TS, 0x2f CS_DONE)");
  if (words.destination > 1)
    return refuse(QueueError::Kind::unsupported, "dst_sel",
                  std::to_string(words.destination) + " (0 and 1 memory)");
  if (words.data > ReleaseWords::system_clock && words.data != ReleaseWords::add_dword)
    return refuse(QueueError::Kind::unsupported, "data_sel",
                  std::to_string(words.data) +
                      " (0 nothing, 1 and 2 data of 32 and 64 bits, 3 and 4 clocks, 7 adds 32 bits)");
  if (words.interrupt > ReleaseWords::always)
    return refuse(QueueError::Kind::unsupported, "int_sel",
                  std::to_string(words.interrupt) +
                      " (0 none, 1 and 2 interrupt, 3 none, data confirmed, 4 interrupt always)");
  if (words.data != ReleaseWords::nothing &&
      !at(words.address, words.bytes(), words.access(), "address", words.bytes()))
    return Status::failed;
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
  const ReleaseWords words(release.words.data());
  packet_address_ = release.packet_address;
  if (words.data != ReleaseWords::nothing) {
    // Looked at again: much may have been unmapped meanwhile.
    std::byte* to = at(words.address, words.bytes(), words.access(), "address", words.bytes());
    if (!to) return false;
    const auto low = static_cast<uint32_t>(words.value);
    if (words.data == ReleaseWords::dword)
      store_shared<uint32_t>(to, low);
    else if (words.data == ReleaseWords::add_dword)
      std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(to)).fetch_add(low);
    else
      store_shared<uint64_t>(to, words.data == ReleaseWords::qword ? words.value : services_.time_stamp());
    services_.waiters.notify();
  }
  if (words.interrupts())
    services_.interrupts.raise({Interrupt::Source::end_of_pipe, words.context, queue_, {}, 0});
  return true;
}

// When the packet came, and when the dispatches before it had ended: either, or both.
Pm4Executor::Status Pm4Executor::time_stamp(const Packet& packet) {
  if (packet.count != 5) return bad_length(packet, "TIMESTAMP", "5");
  constexpr uint32_t kBottom = 1, kTop = 2, kEndOfPipe = 5;
  if (packet.words[0] & kTop) {
    std::byte* const to = at(pair(packet.words[3], packet.words[4]), 8, kWrite, "pipe_top_addr", 8);
    if (!to) return Status::failed;
    store_shared<uint64_t>(to, services_.time_stamp());
    services_.waiters.notify();
  }
  if (!(packet.words[0] & kBottom)) return Status::executed;
  const uint32_t release[7] = {pm4::kBottomOfPipeTs | kEndOfPipe << 8, ReleaseWords::clock << 29,
                               packet.words[1], packet.words[2]};
  return release_memory({packet.address, release, 7});
}

Pm4Executor::Status Pm4Executor::wait_memory(const Packet& packet, bool wide) {
  if (packet.count != (wide ? 8u : 6u))
    return bad_length(packet, wide ? "WAIT_REG_MEM64" : "WAIT_REG_MEM", wide ? "8" : "6");
  const uint32_t control = packet.words[0];
  const uint32_t function = bits(control, 0, 3), space = bits(control, 4, 2), operation = bits(control, 6, 2);
  if (function > kLastFunction) return bad_function();
  // Write a register, then wait for another one: how drivers flush the host data path. Memory of host and
  // guest is one.
  if (operation == 1 && space == 0 && !wide) return Status::executed;
  constexpr uint32_t kWaits = 0, kWaitsPreemptible = 3;
  if (operation != kWaits && operation != kWaitsPreemptible)
    return refuse(QueueError::Kind::unsupported, "operation",
                  std::to_string(operation) + " (0 and 3 wait; 1 writes a register, then waits for one)");
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
  return look_later(packet.words[wide ? 7 : 5] & 0xffff);
}

Pm4Executor::Status Pm4Executor::look_later(uint32_t interval) {
  // Units of 16 clocks on the card; here not so often that it costs a core.
  look_again_ = Waiters::Clock::now() + std::chrono::microseconds(std::max(200u, interval / 8));
  return Status::waits_memory;
}

Pm4Executor::Status Pm4Executor::bad_function() {
  return refuse(QueueError::Kind::invalid_packet, "function", kNoSuchFunction);
}

Pm4Executor::Status Pm4Executor::event_write(const Packet& packet) {
  // Those that sample have an address behind the event.
  if (packet.count != 1 && packet.count != 3)
    return bad_length(packet, "EVENT_WRITE", "1, or 3 with an address");
  const uint32_t event = bits(packet.words[0], 0, 6);
  switch (event) {
    case pm4::kCsPartialFlush:
      if (busy()) return Status::waits_dispatch;
      return settle() ? Status::executed : Status::failed;
    case pm4::kCacheFlush:
    case pm4::kCacheFlushAndInv:
    case pm4::kDbCacheFlushAndInv:
    case pm4::kFlushAndInvDbMeta:
    case pm4::kFlushAndInvCbMeta:
    case pm4::kFlushAndInvCbPixelData:
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Status::executed;
    // There are no waves of graphics, nothing that counts and nothing that is traced: it is done, has
    // stopped, or is never seen.
    case pm4::kVsPartialFlush:
    case pm4::kPsPartialFlush:
    case pm4::kPerfcounterStop:
    case pm4::kPipelinestatStart:
    case pm4::kPipelinestatStop:
    case pm4::kThreadTraceStop:
    case pm4::kThreadTraceMarker:
    case pm4::kThreadTraceFinish:
      return Status::executed;
    case pm4::kPerfcounterStart:
    case pm4::kPerfcounterSample:
    case pm4::kSamplePipelinestat:
      return refuse(
          QueueError::Kind::unsupported, "event_type",
          "event " + hex(event) + ": there are no performance counters nor statistics of the pipeline");
    case pm4::kThreadTraceStart:
      return refuse(QueueError::Kind::unsupported, "event_type",
                    "event " + hex(event) + ", THREAD_TRACE_START: there are no thread traces");
    default:
      return refuse(
          QueueError::Kind::unsupported, "event_type",
          "event " + hex(event) + " (0x06 CACHE_FLUSH, 0x07 CS_PARTIAL_FLUSH, ...: docs/queues.md)");
  }
}

}  // namespace lockstep::command
