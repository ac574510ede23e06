// PM4 packets that move data.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "command/memory_atomic.h"
#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/pm4_executor.h"
#include "memory/host_fault.h"
#include "memory/range_user.h"
#include "text/hex.h"

namespace lockstep::command {

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
    case 4:
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
    case 6:
      value = returned_;
      break;
    case 9:
    case 10:
      value = services_.time_stamp();
      break;
    default:
      return refuse(
          QueueError::Kind::unsupported, "src_sel",
          std::to_string(source) +
              " (0 register, 1 and 2 memory, 4 counter, 5 immediate, 6 what an atomic returned, 9 and "
              "10 clocks)");
  }
  if (destination == 0 || destination == 4) {
    for (unsigned i = 0; i < bytes / 4; ++i)
      if (!write_register(packet.words[3] + i, static_cast<uint32_t>(value >> 32 * i), "dst_reg_offset"))
        return Status::failed;
    return Status::executed;
  }
  if (destination != 1 && destination != 2 && destination != 5)
    return refuse(QueueError::Kind::unsupported, "dst_sel",
                  std::to_string(destination) + " (0 register, 1, 2 and 5 memory, 4 counter)");
  std::byte* memory = at(to, bytes, kWrite, "dst_addr");
  if (!memory) return Status::failed;
  std::memcpy(memory, &value, bytes);
  services_.waiters.notify();
  return Status::executed;
}

// Poll, compare, and write if it holds.
Pm4Executor::Status Pm4Executor::conditional_write(const Packet& packet) {
  if (packet.count != 8) return bad_length(packet, "COND_WRITE", "8");
  const uint32_t control = packet.words[0], space = bits(control, 8, 2);
  if (bits(control, 0, 3) > kLastFunction) return bad_function();
  if (space > 1)
    return refuse(QueueError::Kind::unsupported, "write_space",
                  std::to_string(space) + " (0 register, 1 memory)");
  uint32_t value = 0;
  if (bits(control, 4, 1)) {
    const std::byte* from = at(pair(packet.words[1], packet.words[2]), 4, kRead, "poll_address");
    if (!from) return Status::failed;
    value = load_shared<uint32_t>(from);
  } else {
    const auto found = read_register(packet.words[1], "poll_address");
    if (!found) return Status::failed;
    value = *found;
  }
  if (!compare(bits(control, 0, 3), value & packet.words[4], packet.words[3])) return Status::executed;
  if (space == 0)
    return write_register(packet.words[5], packet.words[7], "write_address") ? Status::executed
                                                                             : Status::failed;
  std::byte* to = at(pair(packet.words[5], packet.words[6]), 4, kWrite, "write_address");
  if (!to) return Status::failed;
  store_shared<uint32_t>(to, packet.words[7]);
  services_.waiters.notify();
  return Status::executed;
}

Pm4Executor::Status Pm4Executor::atomic_memory(const Packet& packet) {
  if (packet.count != 8) return bad_length(packet, "ATOMIC_MEM", "8");
  constexpr uint32_t kLoop = 1, kLastCommand = 3;
  const uint32_t number = bits(packet.words[0], 0, 7), command = bits(packet.words[0], 8, 4);
  const auto atomic = MemoryAtomic::of(number);
  if (!atomic)
    return refuse(QueueError::Kind::unsupported, "atomic",
                  hex(number) + " (integer operations, as the L2 numbers them)");
  const bool loops = command == kLoop;
  if (command > kLastCommand || (loops && !atomic->compares()))
    return refuse(QueueError::Kind::unsupported, "command",
                  std::to_string(command) + " (0, 2 and 3 once; 1 until a compare and swap has swapped)");
  std::byte* to =
      at(pair(packet.words[1], packet.words[2]), atomic->bytes(), kReadWrite, "addr", atomic->bytes());
  if (!to) return Status::failed;
  const uint64_t compared = pair(packet.words[5], packet.words[6]);
  const uint64_t old = atomic->perform(to, pair(packet.words[3], packet.words[4]), compared);
  if (loops && old != (atomic->wide ? compared : compared & 0xffffffff))
    return look_later(bits(packet.words[7], 0, 13));
  if (atomic->returns) returned_ = old;
  services_.waiters.notify();
  return Status::executed;
}

// A copy, or a dword again and again.
Pm4Executor::Status Pm4Executor::dma_data(const Packet& packet) {
  if (packet.count != 6) return bad_length(packet, "DMA_DATA", "6");
  constexpr uint32_t kByCommand = 0, kData = 2, kNowhere = 2, kMemory = 3;
  const uint32_t source = bits(packet.words[0], 29, 2), destination = bits(packet.words[0], 20, 2);
  const uint64_t bytes = bits(packet.words[5], 0, 26);
  if (source != kByCommand && source != kData && source != kMemory)
    return refuse(QueueError::Kind::unsupported, "src_sel",
                  std::to_string(source) + " (0 and 3 memory, 2 data of the packet)");
  if (destination != kByCommand && destination != kNowhere && destination != kMemory)
    return refuse(QueueError::Kind::unsupported, "dst_sel",
                  std::to_string(destination) + " (0 and 3 memory, 2 nowhere)");
  if (bits(packet.words[5], 26, 4) != 0)
    return refuse(QueueError::Kind::unsupported, "command",
                  hex(packet.words[5]) + ": registers, or addresses that stay (clear bits 26 to 29)");
  const uint64_t from_address = pair(packet.words[1], packet.words[2]),
                 to_address = pair(packet.words[3], packet.words[4]);
  if (bytes == 0) return Status::executed;
  dispatcher_.refresh();
  RangeUser user(dispatcher_.ranges().get());
  user.begin();
  const std::byte* from = nullptr;
  if (source != kData && !(from = held(from_address, bytes, kRead, "src_addr", 1))) return Status::failed;
  if (destination == kNowhere) return Status::executed;  // it only fills caches
  std::byte* to = held(to_address, bytes, kWrite, "dst_addr", from ? 1 : 4);
  if (!to) return Status::failed;
  if (from ? to > from && to < from + bytes : bytes % 4 != 0)
    return refuse(QueueError::Kind::invalid_packet, from ? "dst_addr" : "byte_count",
                  from ? "it begins within what is copied, which goes upwards (copy to another place first)"
                       : std::to_string(bytes) + " bytes of dwords (fill a multiple of 4)");
  const auto lost = guarded([&] {
    if (from) {
      std::memmove(to, from, bytes);
    } else {
      for (uint64_t i = 0; i < bytes; i += 4) std::memcpy(to + i, &packet.words[1], 4);
    }
  });
  if (lost) {
    refuse(QueueError::Kind::memory_violation, "address",
           hex(*lost) + " is no memory of the process any more (unmap it when the copy is done)");
    fault_.unmapped = *lost;
    return Status::failed;
  }
  services_.waiters.notify();
  return Status::executed;
}

}  // namespace lockstep::command
