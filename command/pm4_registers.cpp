// Registers that PM4 packets read and write.
#include <algorithm>
#include <iterator>

#include "command/packet_bits.h"
#include "command/pm4.h"
#include "command/pm4_executor.h"
#include "text/hex.h"

namespace lockstep::command {

std::optional<uint32_t> Pm4Executor::read_register(uint32_t number, const char* field) {
  if (pm4::is_compute_register(number)) return registers_[number - pm4::kShBase];
  if (number == pm4::kShMemConfig) return sh_mem_config_;
  if (number == pm4::kHdpFlushRequest) return 0;
  if (number == pm4::kHdpFlushDone) return ~0u;  // for every client, at once
  if (UserConfig::has(number)) return services_.user_config.read(number);
  refuse(
      QueueError::Kind::unsupported, field,
      "register " + hex(number) +
          " is none that this machine has (compute registers, SH_MEM_CONFIG, flushes of the host data path, "
          "some of UCONFIG: docs/queues.md)");
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
  if (number == pm4::kHdpFlushRequest || number == pm4::kHdpFlushDone) return true;
  if (UserConfig::has(number)) {
    const std::string reason = services_.user_config.write(number, value);
    if (!reason.empty()) refuse(QueueError::Kind::unsupported, field, reason);
    return reason.empty();
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

// Values of consecutive registers, from memory.
Pm4Executor::Status Pm4Executor::load_registers(const Packet& packet) {
  if (packet.count != 4) return bad_length(packet, "LOAD_SH_REG_INDEX", "4");
  const uint32_t index = bits(packet.words[0], 0, 2);
  if (index != 0 || bits(packet.words[2], 31, 1))
    return refuse(QueueError::Kind::unsupported, index != 0 ? "index" : "data_format",
                  "1 or more (0: the address is that of the values, which stand one behind the other)");
  const uint32_t first = packet.words[2] & 0xffff, count = bits(packet.words[3], 0, 14);
  const std::byte* const from =
      at(pair(packet.words[0], packet.words[1]), uint64_t{count} * 4, kRead, "mem_addr");
  if (!from) return Status::failed;
  for (uint32_t i = 0; i < count; ++i)
    if (!set_compute_register(first + i, load_shared<uint32_t>(from + i * 4))) return Status::failed;
  return Status::executed;
}

// Offset, value, offset, value (Mesa, sid.h: of gfx11 and later).
Pm4Executor::Status Pm4Executor::set_register_pairs(const Packet& packet) {
  if (packet.count < 2 || packet.count % 2 != 0)
    return bad_length(packet, "SET_SH_REG_PAIRS", "an even number, 2 or more");
  for (uint32_t i = 0; i < packet.count; i += 2)
    if (!set_compute_register(packet.words[i], packet.words[i + 1])) return Status::failed;
  return Status::executed;
}

// How many, and for two of them their offsets in one dword and their values; the last value may be there
// twice.
Pm4Executor::Status Pm4Executor::set_packed_pairs(const Packet& packet) {
  const uint32_t count = packet.count == 0 ? 0 : packet.words[0] & 0xffff;
  if (count < 2 || count % 2 != 0 || packet.count != 1 + count / 2 * 3)
    return refuse(QueueError::Kind::invalid_packet, "reg_writes_count",
                  std::to_string(count) + " registers in " + std::to_string(packet.count) +
                      " dwords (an even number, with three dwords for two of them)");
  for (uint32_t i = 1; i < packet.count; i += 3) {
    const uint32_t offsets = packet.words[i];
    if (!set_compute_register(offsets & 0xffff, packet.words[i + 1]) ||
        !set_compute_register(offsets >> 16, packet.words[i + 2]))
      return Status::failed;
  }
  return Status::executed;
}

bool Pm4Executor::set_compute_register(uint32_t offset, uint32_t value) {
  if (offset < pm4::kShEnd - pm4::kShBase) return write_register(pm4::kShBase + offset, value, "reg_offset");
  refuse(QueueError::Kind::unsupported, "reg_offset",
         hex(offset) + " is beyond the registers that SET_SH_REG reaches, " + hex(pm4::kShBase) + " to " +
             hex(pm4::kShEnd - 1));
  return false;
}

Pm4Executor::Status Pm4Executor::set_user_config(const Packet& packet, bool has_index) {
  if (packet.count < 2)
    return bad_length(packet, has_index ? "SET_UCONFIG_REG_INDEX" : "SET_UCONFIG_REG", "2 or more");
  if (packet.words[0] >> 16 != 0)
    return refuse(QueueError::Kind::unsupported, has_index ? "index" : "reg_offset",
                  hex(packet.words[0]) + " (0 above the register offset)");
  const uint32_t first = pm4::kUconfigBase + packet.words[0];
  for (uint32_t i = 0; i + 1 < packet.count; ++i)
    if (!write_register(first + i, packet.words[1 + i], "reg_offset")) return Status::failed;
  return Status::executed;
}

}  // namespace lockstep::command
