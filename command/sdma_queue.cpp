#include "command/sdma_queue.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "command/memory_atomic.h"
#include "command/packet_bits.h"
#include "command/sdma.h"
#include "memory/host_fault.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

uint64_t pair(std::span<const uint32_t> packet, unsigned first) {
  return packet[first] | uint64_t{packet[first + 1]} << 32;
}

uint32_t operation(uint32_t header) {
  return header & 0xff;
}
uint32_t sub_operation(uint32_t header) {
  return header >> 8 & 0xff;
}

}  // namespace

RingQueue::Progress SdmaQueue::refuse(QueueError::Kind kind, std::string field, std::string text) {
  failure_ = {kind, std::move(field), std::move(text), 0};
  return Progress::failed;
}

// A program may unmap what is copied at this moment.
RingQueue::Progress SdmaQueue::refuse_lost(uint64_t address) {
  refuse(QueueError::Kind::memory_violation, "addr",
         hex(address) + " is no memory of the process any more (unmap it when the copy is done)");
  failure_.address = address;
  return Progress::failed;
}

uint32_t SdmaQueue::length(uint64_t, std::span<const uint32_t> words) {
  if (skip_ != 0) return 1;
  const uint32_t header = words[0];
  // Another sub-operation is another packet. Timestamps are looked at later; a cache request of user queues
  // has 1.
  const uint32_t most = operation(header) == sdma::kTimestamp      ? 0xff
                        : operation(header) == sdma::kCacheRequest ? 1
                                                                   : 0;
  const bool is_rectangle =
      operation(header) == sdma::kCopy && sub_operation(header) == sdma::kCopyLinearRectangle;
  if (sub_operation(header) > most && !is_rectangle) {
    refuse(QueueError::Kind::unsupported, "sub_op",
           "operation " + std::to_string(operation(header)) + " of kind " +
               std::to_string(sub_operation(header)) +
               " (0 is the linear copy, write and fill, the poll and the fence; 4 the copy of a rectangle)");
    return 0;
  }
  switch (operation(header)) {
    case sdma::kNop:
      return 1 + bits(header, 16, 14);
    case sdma::kCopy:
      return is_rectangle ? 13 : bits(header, 27, 1) ? 9 : 7;
    case sdma::kWrite:
      if (words.size() < 4) return 5;
      return 4 + bits(words[3], 0, 20) + 1;
    case sdma::kIndirect:
      return 6;
    case sdma::kFence:
      return 4;
    case sdma::kTrap:
    case sdma::kDummyTrap:
      return 2;
    case sdma::kPollRegisterOrMemory:
      return 6;
    case sdma::kSemaphore:
      return 3;
    case sdma::kConditionalExecution:
      return 5;
    case sdma::kAtomic:
      return 8;
    case sdma::kConstantFill:
      return 5;
    case sdma::kTimestamp:
      return 3;
    case sdma::kCacheRequest:
      return 5;
    default:
      refuse(QueueError::Kind::unsupported, "op",
             "operation " + std::to_string(operation(header)) +
                 " (0 nop, 1 copy, 2 write, 4 buffer, 5 fence, 6 trap, 7 semaphore, 8 poll, 9 condition, 10 "
                 "atomic, 11 fill, 13 timestamp, 17 cache, 32 no trap)");
      return 0;
  }
}

std::byte* SdmaQueue::at(uint64_t address, uint64_t bytes, uint8_t access, unsigned alignment,
                         const char* field) {
  if (address % alignment != 0) {
    refuse(QueueError::Kind::invalid_packet, field,
           hex(address) + " is no multiple of " + std::to_string(alignment) + " (align it)");
    return nullptr;
  }
  std::byte* found = guest_bytes(*ranges_, address, bytes, access);
  if (!found) {
    refuse(QueueError::Kind::memory_violation, field,
           describe_violation(*ranges_, address, bytes, access) + " (map it for the device first)");
    failure_.address = address;
  }
  return found;
}

RingQueue::Progress SdmaQueue::execute(uint64_t, std::span<const uint32_t> packet) {
  if (skip_ != 0) {
    --skip_;
    return Progress::done;
  }
  // What at() finds stays until the packet is done, or until it waits.
  ranges_ = services().memory.snapshot();
  RangeUser user(ranges_.get());
  user.begin();
  return operation(packet[0]) == sdma::kIndirect ? indirect(packet) : execute(packet);
}

// The packet in the ring is done when those of its buffer are.
RingQueue::Progress SdmaQueue::indirect(std::span<const uint32_t> packet) {
  const uint64_t base = pair(packet, 1), dwords = bits(packet[3], 0, 20);
  if (base % 32 != 0)
    return refuse(QueueError::Kind::invalid_packet, "ib_base",
                  hex(base) + " is no multiple of 32 (align the buffer)");
  for (unsigned n = 0; n < kBatch && in_buffer_ < dwords; ++n) {
    const uint64_t address = base + 4 * in_buffer_, left = dwords - in_buffer_;
    const auto take = [&](uint64_t count) {
      const std::byte* from = at(address, count * 4, kRead, 4, "ib_base");
      if (!from) return false;
      buffered_.resize(count);
      const auto lost = guarded([&] { std::memcpy(buffered_.data(), from, count * 4); });
      if (lost) refuse_lost(*lost);
      return !lost;
    };
    if (!take(std::min<uint64_t>(left, 4))) return Progress::failed;  // what every length can be told from
    const uint32_t count = length(address, buffered_);
    if (count == 0) return Progress::failed;
    if (count > left)
      return refuse(QueueError::Kind::invalid_packet, "ib_size",
                    "the packet at " + hex(address) + " has " + std::to_string(count) +
                        " dwords, but its buffer only " + std::to_string(left) +
                        " more (correct one of them)");
    if (!take(count)) return Progress::failed;
    if (operation(buffered_[0]) == sdma::kIndirect)
      return refuse(QueueError::Kind::invalid_packet, "op",
                    "an indirect buffer calls another one (put the packet into the ring)");
    const Progress progress = execute(buffered_);
    if (progress != Progress::done) return progress;
    if (skip_ > left - count)
      return refuse(QueueError::Kind::invalid_packet, "exec_count",
                    std::to_string(skip_) + " dwords, but the buffer has only " +
                        std::to_string(left - count) + " more (correct one of them)");
    in_buffer_ += count + std::exchange(skip_, 0);
  }
  if (in_buffer_ < dwords) return Progress::more;  // other queues first
  in_buffer_ = 0;
  return Progress::done;
}

RingQueue::Progress SdmaQueue::execute(std::span<const uint32_t> packet) {
  switch (operation(packet[0])) {
    case sdma::kNop:
    case sdma::kDummyTrap:
      return Progress::done;
    case sdma::kCopy:
      return sub_operation(packet[0]) == sdma::kCopyLinearRectangle ? copy_rectangle(packet) : copy(packet);
    case sdma::kWrite:
      return write(packet);
    case sdma::kFence:
      return fence(packet);
    case sdma::kTrap:
      services().interrupts.raise({Interrupt::Source::copy_engine, packet[1] & 0xfffffff, id(), {}, 0});
      return Progress::done;
    case sdma::kPollRegisterOrMemory:
      return poll(packet);
    case sdma::kSemaphore:
      return semaphore(packet);
    case sdma::kConditionalExecution:
      return conditional_execution(packet);
    case sdma::kAtomic:
      return atomic(packet);
    case sdma::kConstantFill:
      return fill(packet);
    case sdma::kTimestamp:
      return time_stamp(packet);
    default:  // cache request: the engine copies through coherent memory
      std::atomic_thread_fence(std::memory_order_seq_cst);
      return Progress::done;
  }
}

RingQueue::Progress SdmaQueue::copy(std::span<const uint32_t> packet) {
  const uint64_t bytes = uint64_t{bits(packet[1], 0, 30)} + 1;
  const bool backwards = bits(packet[0], 25, 1), broadcast = bits(packet[0], 27, 1);
  const std::byte* from = at(pair(packet, 3), bytes, kRead, 1, "src_addr");
  if (!from) return Progress::failed;
  std::byte* to = at(pair(packet, 5), bytes, kWrite, 1, "dst_addr");
  if (!to) return Progress::failed;
  std::byte* second = nullptr;
  if (broadcast && !(second = at(pair(packet, 7), bytes, kWrite, 1, "dst2_addr"))) return Progress::failed;
  // An overlap that the direction does not suit would repeat what was just written, in steps of the engine's
  // own width, and so would destinations that overlap each other: nobody relies on that.
  const auto against = [&](const std::byte* destination) {
    return backwards ? destination < from && destination + bytes > from
                     : destination > from && destination < from + bytes;
  };
  for (const std::byte* destination : {to, second})
    if (destination && against(destination))
      return refuse(
          QueueError::Kind::invalid_packet, destination == to ? "dst_addr" : "dst2_addr",
          "source and destination overlap against the direction of the copy (set or clear `backwards`)");
  if (second && to < second + bytes && second < to + bytes)
    return refuse(QueueError::Kind::invalid_packet, "dst2_addr",
                  "both destinations of the copy overlap (give each memory of its own)");
  if (!second) {
    if (const auto lost = guarded([&] { std::memmove(to, from, bytes); })) return refuse_lost(*lost);
  } else {
    // Each part is read before either destination gets it: both may overlap the source.
    std::array<std::byte, 4096> part;
    for (uint64_t done = 0; done < bytes; done += part.size()) {
      const uint64_t count = std::min<uint64_t>(part.size(), bytes - done);
      const uint64_t first = backwards ? bytes - done - count : done;
      const auto lost = guarded([&] {
        std::memcpy(part.data(), from + first, count);
        std::memcpy(to + first, part.data(), count);
        std::memcpy(second + first, part.data(), count);
      });
      if (lost) return refuse_lost(*lost);
    }
  }
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::copy_rectangle(std::span<const uint32_t> packet) {
  const uint32_t size_log2 = bits(packet[0], 29, 3);
  if (size_log2 > 4)
    return refuse(QueueError::Kind::invalid_packet, "elementsize",
                  std::to_string(size_log2) + " (0 to 4: elements of 1 to 16 bytes)");
  const uint64_t element = uint64_t{1} << size_log2;
  const uint64_t width = bits(packet[11], 0, 14) + 1, height = bits(packet[11], 16, 14) + 1,
                 depth = bits(packet[12], 0, 13) + 1;
  // Address, first element (x, y, z), and elements from row to row and slice to slice.
  const auto row_of = [&](unsigned first, uint64_t y, uint64_t z) {
    const uint64_t pitch = bits(packet[first + 3], 13, 19) + 1, slice = bits(packet[first + 4], 0, 28) + 1;
    return pair(packet, first) +
           element * (bits(packet[first + 2], 0, 14) + (bits(packet[first + 2], 16, 14) + y) * pitch +
                      (bits(packet[first + 3], 0, 13) + z) * slice);
  };
  for (uint64_t z = 0; z < depth; ++z)
    for (uint64_t y = 0; y < height; ++y) {
      const std::byte* from = at(row_of(1, y, z), width * element, kRead, 1, "src_addr");
      if (!from) return Progress::failed;
      std::byte* to = at(row_of(6, y, z), width * element, kWrite, 1, "dst_addr");
      if (!to) return Progress::failed;
      if (const auto lost = guarded([&] { std::memmove(to, from, width * element); }))
        return refuse_lost(*lost);
    }
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::write(std::span<const uint32_t> packet) {
  const size_t count = packet.size() - 4;
  if (count != bits(packet[3], 0, 20) + size_t{1})
    return refuse(
        QueueError::Kind::unsupported, "count",
        std::to_string(bits(packet[3], 0, 20) + 1) + " dwords in one write (at most 16381; use a copy)");
  std::byte* to = at(pair(packet, 1), count * 4, kWrite, 4, "dst_addr");
  if (!to) return Progress::failed;
  for (size_t i = 0; i < count; ++i) store_shared<uint32_t>(to + i * 4, packet[4 + i]);
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::fill(std::span<const uint32_t> packet) {
  const uint32_t size = bits(packet[0], 30, 2);
  if (size != 0 && size != 2)
    return refuse(QueueError::Kind::invalid_packet, "fillsize",
                  std::to_string(size) + " (0 fills bytes, 2 fills dwords)");
  uint64_t bytes = uint64_t{bits(packet[4], 0, 30)} + 1;
  const uint64_t address = pair(packet, 1);
  if (size == 0) {
    std::byte* to = at(address, bytes, kWrite, 1, "dst_addr");
    if (!to) return Progress::failed;
    if (const auto lost = guarded([&] { std::memset(to, static_cast<int>(packet[3] & 0xff), bytes); }))
      return refuse_lost(*lost);
  } else {
    bytes = (bytes + 3) / 4 * 4;
    std::byte* to = at(address, bytes, kWrite, 4, "dst_addr");
    if (!to) return Progress::failed;
    const auto lost = guarded([&] {
      for (uint64_t i = 0; i < bytes; i += 4) std::memcpy(to + i, &packet[3], 4);
    });
    if (lost) return refuse_lost(*lost);
  }
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::fence(std::span<const uint32_t> packet) {
  std::byte* to = at(pair(packet, 1), 4, kWrite, 4, "addr");
  if (!to) return Progress::failed;
  store_shared<uint32_t>(to, packet[3]);
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::poll(std::span<const uint32_t> packet) {
  // HDP flushes: memory of host and guest is one.
  if (bits(packet[0], 26, 1) ||
      (packet[0] == sdma::kPollRegisterOrMemory && packet[2] == sdma::kHostDataPathFlush))
    return Progress::done;
  if (!bits(packet[0], 31, 1))
    return refuse(QueueError::Kind::unsupported, "mem_poll", "polls a register (set bit 31 and poll memory)");
  const std::byte* from = at(pair(packet, 1), 4, kRead, 4, "addr");
  if (!from) return Progress::failed;
  const uint32_t function = bits(packet[0], 28, 3);
  const uint32_t value = load_shared<uint32_t>(from) & packet[4], reference = packet[3];
  if (function > kLastFunction) return refuse(QueueError::Kind::invalid_packet, "func", kNoSuchFunction);
  const uint32_t retries = bits(packet[5], 16, 12);
  constexpr uint32_t kForever = 0xfff;
  // The engine goes on when it has looked so many times. Looks that are not due, because memory has changed
  // or another queue has work, do not count.
  const auto now = Waiters::Clock::now();
  const bool due = look_again_ && now >= *look_again_;
  polls_ += due;
  if (compare(function, value, reference) || (retries != kForever && due && polls_ > retries)) {
    polls_ = 0;
    look_again_.reset();
    return Progress::done;
  }
  return !look_again_ || due ? look_later(bits(packet[5], 0, 16)) : Progress::waits_memory;
}

// Counts up, or waits until there is something to count down from.
RingQueue::Progress SdmaQueue::semaphore(std::span<const uint32_t> packet) {
  const bool write_one = bits(packet[0], 29, 1), signals = bits(packet[0], 30, 1);
  std::byte* to = at(pair(packet, 1), 8, kReadWrite, 8, "addr");
  if (!to) return Progress::failed;
  const std::atomic_ref<uint64_t> count(*reinterpret_cast<uint64_t*>(to));
  if (signals) {
    write_one ? count.store(1) : void(count.fetch_add(1));
  } else {
    uint64_t found = count.load();
    do {
      if (found == 0) return look_later(0);
    } while (!count.compare_exchange_weak(found, found - 1));
    look_again_.reset();
  }
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::conditional_execution(std::span<const uint32_t> packet) {
  const std::byte* from = at(pair(packet, 1), 4, kRead, 4, "addr");
  if (!from) return Progress::failed;
  if (load_shared<uint32_t>(from) != packet[3]) skip_ = bits(packet[4], 0, 14);
  return Progress::done;
}

RingQueue::Progress SdmaQueue::look_later(uint32_t interval) {
  look_again_ = Waiters::Clock::now() + std::chrono::microseconds(std::max(200u, interval));
  return Progress::waits_memory;
}

RingQueue::Progress SdmaQueue::atomic(std::span<const uint32_t> packet) {
  const auto atomic = MemoryAtomic::of(bits(packet[0], 25, 7));
  if (!atomic)
    return refuse(QueueError::Kind::unsupported, "atomic_op",
                  std::to_string(bits(packet[0], 25, 7)) + " (integer operations, as the L2 numbers them)");
  const bool loops = bits(packet[0], 16, 1);
  if (loops && !atomic->compares())
    return refuse(QueueError::Kind::unsupported, "loop",
                  "1 (0 once; 1 until a compare and swap has swapped)");
  std::byte* to = at(pair(packet, 1), atomic->bytes(), kReadWrite, atomic->bytes(), "addr");
  if (!to) return Progress::failed;
  const uint64_t compared = atomic->wide ? pair(packet, 5) : packet[5];
  if (atomic->perform(to, pair(packet, 3), compared) != compared && loops)
    return look_later(bits(packet[7], 0, 13));
  look_again_.reset();
  services().waiters.notify();
  return Progress::done;
}

RingQueue::Progress SdmaQueue::time_stamp(std::span<const uint32_t> packet) {
  const uint32_t kind = sub_operation(packet[0]);
  if (kind != sdma::kTimestampGet && kind != sdma::kTimestampGetGlobal)
    return refuse(QueueError::Kind::unsupported, "sub_op",
                  "timestamp of kind " + std::to_string(kind) + " (1 and 2 write the time to memory)");
  std::byte* to = at(pair(packet, 1), 8, kWrite, 8, "write_addr");
  if (!to) return Progress::failed;
  store_shared<uint64_t>(to, services().time_stamp());
  services().waiters.notify();
  return Progress::done;
}

}  // namespace lockstep::command
