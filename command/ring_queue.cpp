#include "command/ring_queue.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "command/processor.h"
#include "memory/host_fault.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

constexpr uint32_t kLongestPacket = 16385;  // PM4: a header and a count of 14 bits

uint32_t checked_dwords(uint32_t dwords) {
  if (dwords < 16 || dwords > (1u << 26) || !std::has_single_bit(dwords))
    throw std::invalid_argument("a ring of " + std::to_string(dwords) +
                                " dwords: the size must be a power of two from 16 to 67108864");
  return dwords;
}

}  // namespace

RingQueue::RingQueue(uint64_t id, const char* kind, RingQueueOptions options, Services services)
    : Queue(id, options.priority, std::move(options.on_error), std::move(options.precise)),
      services_(services),
      kind_(kind),
      dwords_(checked_dwords(options.dwords)) {
  if (options.memory) {
    memory_ = *options.memory;
    if (!has_memory())
      throw std::invalid_argument(
          "a ring of " + std::to_string(dwords_) + " dwords at " + hex(ring_address()) +
          " with positions at " + hex(reinterpret_cast<uint64_t>(memory_.read)) + " and " +
          hex(reinterpret_cast<uint64_t>(memory_.write)) + ": not all of it is mapped for the device");
  } else {
    pages_.emplace(services.memory, kControlBytes + size_t{dwords_} * 4, kReadWrite,
                   std::string(kind) + " queue " + std::to_string(id));
    auto* control = reinterpret_cast<uint64_t*>(pages_->data());
    memory_ = {reinterpret_cast<uint32_t*>(pages_->data() + kControlBytes), control, control + 1,
               control + 2};
  }
  heard_ = load_shared<uint64_t>(memory_.doorbell);
  read_ = memory_.wraps ? 0 : read_position();
}

void RingQueue::report_read() const {
  if (memory_.wraps)
    store_shared<uint32_t>(reinterpret_cast<uint32_t*>(memory_.read),
                           static_cast<uint32_t>(read_ & (dwords_ - 1)));
  else
    store_shared<uint64_t>(memory_.read, read_ * 4 / memory_.unit);
}

bool RingQueue::has_memory() const {
  const std::shared_ptr<const RangeSet> ranges = services_.memory.snapshot();
  const auto has = [&](const void* address, uint64_t bytes, uint8_t access) {
    return guest_bytes(*ranges, reinterpret_cast<uint64_t>(address), bytes, access) != nullptr;
  };
  return has(memory_.ring, uint64_t{dwords_} * 4, kRead) && has(memory_.read, 8, kReadWrite) &&
         has(memory_.write, 8, kRead);
}

uint64_t RingQueue::published_end() const {
  const uint64_t write = write_position();
  if (pages_) return write;
  const auto doorbell = load_shared<uint64_t>(memory_.doorbell) * memory_.unit / 4;
  // Some store the position behind the doorbell, or never.
  if (doorbell > read_ && doorbell - read_ <= dwords_ && write < doorbell) return doorbell;
  if (write >= read_) return write;
  return write == doorbell && write < dwords_ ? read_ + ((write - read_) & (dwords_ - 1)) : read_;
}

bool RingQueue::submit(std::span<const uint32_t> packets,
                       std::optional<Waiters::Clock::time_point> deadline) {
  if (packets.size() > dwords_) return false;
  const uint64_t write = write_position();
  bool active = true;
  const bool room = services_.waiters.wait(
      [&] {
        active = state() == QueueState::active;
        return !active || write + packets.size() - read_position() <= dwords_;
      },
      deadline);
  if (!room || !active) return false;
  for (size_t i = 0; i < packets.size(); ++i)
    store_shared<uint32_t>(&memory_.ring[(write + i) & (dwords_ - 1)], packets[i], std::memory_order_relaxed);
  ring_doorbell(write + packets.size());
  return true;
}

void RingQueue::ring_doorbell(uint64_t position) {
  store_shared<uint64_t>(memory_.write, position * 4 / memory_.unit);
  store_shared<uint64_t>(memory_.doorbell, position * 4 / memory_.unit);
  services_.processor.wake();
}

void RingQueue::inactivate() {
  if (become_inactive()) end();
}

void RingQueue::end() {
  cancel();
  services_.waiters.notify();
}

void RingQueue::fail(QueueError error) {
  // Dispatches fail beside each other and beside packets: the first one tells.
  if (!become_inactive()) return;
  end();
  tell(error);
}

QueueError RingQueue::error_of(const Failure& failure) const {
  QueueError error;
  error.kind = failure.kind;
  error.queue = id();
  error.position = read_;
  error.field = failure.field;
  error.address = failure.address;
  error.message = std::string(kind_) + " queue " + std::to_string(id()) + ", dword " +
                  std::to_string(error.position) + ": " +
                  (failure.field.empty() ? "" : failure.field + ": ") + failure.text;
  return error;
}

void RingQueue::fail_lost(uint64_t address) {
  fail(error_of({QueueError::Kind::memory_violation, "ring",
                 hex(address) + " is no memory of the process any more (destroy the queue first)", address}));
}

Queue::Advance RingQueue::advance() {
  Advance result;
  const auto begin = Waiters::Clock::now();
  heard_ = load_shared<uint64_t>(memory_.doorbell);
  if (state() == QueueState::active && !settle()) fail(error_of(failure()));
  for (unsigned n = 0; n < kBatch && state() == QueueState::active; ++n) {
    // The caller's memory may go at any moment.
    uint64_t write = 0;
    if (const auto lost = guarded([&] { write = published_end(); })) {
      fail_lost(*lost);
      break;
    }
    const uint64_t read = read_;
    if (read == write || (n != 0 && Waiters::Clock::now() - begin > kLongestBatch)) break;
    const uint64_t available = write - read;
    if (available > dwords_) {
      fail(error_of({QueueError::Kind::invalid_packet, "write position",
                     std::to_string(write) + " is more than the ring's " + std::to_string(dwords_) +
                         " dwords ahead (wait for room)"}));
      break;
    }
    const uint64_t address = reinterpret_cast<uint64_t>(&memory_.ring[read & (dwords_ - 1)]);
    packet_.clear();
    const auto take = [&](uint64_t count) {
      const uint64_t first = packet_.size(), end = std::max(first, std::min(count, available));
      packet_.resize(end);
      const auto lost = guarded([&] {
        for (uint64_t i = first; i < end; ++i)
          packet_[i] =
              load_shared<uint32_t>(&memory_.ring[(read + i) & (dwords_ - 1)], std::memory_order_relaxed);
      });
      if (lost) fail_lost(*lost);
      return !lost;
    };
    if (!take(4)) break;  // what every length can be told from
    const uint32_t count = length(address, packet_);
    if (count == 0) {
      fail(error_of(failure()));
      break;
    }
    if (count > available && !pages_) break;  // a caller may store its position in the middle of a packet
    if (count > available) {
      fail(error_of({QueueError::Kind::invalid_packet, "count",
                     "the packet has " + std::to_string(count) + " dwords, but " + std::to_string(available) +
                         " were published (publish whole packets, and correct its count)"}));
      break;
    }
    if (!take(std::min(count, kLongestPacket))) break;
    packet_.resize(std::min(count, kLongestPacket));
    const Progress progress = execute(address, packet_);
    if (progress == Progress::failed) {
      fail(error_of(failure()));
      break;
    }
    if (progress == Progress::more) {
      result.progressed = true;
      break;
    }
    if (progress != Progress::done) {
      result.waits_for_memory = progress == Progress::waits_memory;
      result.look_again = look_again();
      break;
    }
    read_ += count;
    if (const auto lost = guarded([&] { report_read(); })) {
      fail_lost(*lost);
      break;
    }
    services_.waiters.notify();
    result.progressed = true;
  }
  return result;
}

}  // namespace lockstep::command
