// What host programs, kernels and the command processor share in memory: signals, queues, AQL packets. The
// layouts are those of the HSA runtime specification (2.9) and of ROCm's amd_hsa_signal.h, amd_hsa_queue.h
// and hsa_ven_amd_*.h, which compiled kernels have built in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "machine/aql_packet.h"

namespace lockstep::command {

// ---- Signals

enum class SignalKind : int64_t { invalid = 0, user = 1, doorbell = -1 };

// amd_signal_t; an hsa_signal_t handle is its address.
struct alignas(64) SignalMemory {
  int64_t kind;
  int64_t value;               // of a doorbell: the address of the doorbell
  uint64_t event_mailbox_ptr;  // 0: no interrupt when the value changes
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ts, end_ts;  // of the packet that completed with this signal
  uint64_t queue_ptr;         // of a doorbell
  uint32_t reserved3[2];
};
static_assert(sizeof(SignalMemory) == 64 && offsetof(SignalMemory, value) == 8);

// ---- Queues

// amd_queue_t, what kernels and hosts read of it.
struct alignas(64) QueueMemory {
  uint32_t type, features;  // hsa_queue_t
  uint64_t base_address;
  uint64_t doorbell_signal;
  uint32_t size, reserved1;
  uint64_t id;
  uint32_t reserved2[4];
  uint64_t write_dispatch_id;
  uint32_t group_segment_aperture_base_hi, private_segment_aperture_base_hi;
  uint32_t max_cu_id, max_wave_id;
  uint64_t max_legacy_doorbell_dispatch_id_plus_1;
  uint32_t legacy_doorbell_lock;
  uint32_t reserved3[9];
  uint64_t read_dispatch_id;
  uint32_t read_dispatch_id_field_base_byte_offset, compute_tmpring_size;
  uint32_t scratch_resource_descriptor[4];
  uint64_t scratch_backing_memory_location, scratch_backing_memory_byte_size;
  uint32_t scratch_wave64_lane_byte_size, queue_properties;
  uint64_t scratch_last_used_index;
  uint64_t queue_inactive_signal;
  uint32_t reserved4[14];
};
static_assert(sizeof(QueueMemory) == 256);
static_assert(offsetof(QueueMemory, write_dispatch_id) == 56);
static_assert(offsetof(QueueMemory, group_segment_aperture_base_hi) == 64);
static_assert(offsetof(QueueMemory, read_dispatch_id) == 128);
static_assert(offsetof(QueueMemory, queue_inactive_signal) == 192);

inline constexpr uint32_t kQueueTypeMulti = 0, kQueueTypeSingle = 1, kQueueTypeCooperative = 2;
inline constexpr uint32_t kQueueFeatureKernelDispatch = 1;

// ---- AQL packets

enum class PacketType : uint8_t {
  vendor_specific = 0,
  invalid = 1,
  kernel_dispatch = 2,
  barrier_and = 3,
  agent_dispatch = 4,
  barrier_or = 5,
};

// Header: type 0-7, barrier 8, acquire scope 9-10, release scope 11-12.
inline constexpr unsigned kHeaderBarrier = 1u << 8;
inline constexpr unsigned kHeaderAcquireShift = 9, kHeaderReleaseShift = 11;
inline constexpr unsigned kFenceNone = 0, kFenceAgent = 1, kFenceSystem = 2;

using machine::KernelDispatchPacket;

struct BarrierPacket {
  uint16_t header, reserved0;
  uint32_t reserved1;
  uint64_t dep_signal[5];
  uint64_t reserved2, completion_signal;
};
static_assert(sizeof(BarrierPacket) == 64);

// Vendor packets name their format behind the header.
enum class VendorFormat : uint8_t { pm4_ib = 1, barrier_value = 2 };

// hsa_amd_barrier_value_packet_t
struct BarrierValuePacket {
  uint16_t header;
  uint8_t format, reserved0;
  uint32_t reserved1;
  uint64_t signal;
  int64_t value, mask;
  uint32_t condition, reserved2;
  uint64_t reserved3, reserved4;
  uint64_t completion_signal;
};
static_assert(sizeof(BarrierValuePacket) == 64);

// An indirect buffer of PM4 packets: the first dwords are the INDIRECT_BUFFER packet itself.
struct Pm4IbPacket {
  uint16_t header;
  uint8_t format, reserved0;
  uint32_t jump[4];
  uint32_t remaining_dwords;
  uint32_t reserved1[8];
  uint64_t completion_signal;
};
static_assert(sizeof(Pm4IbPacket) == 64);

union AqlPacket {
  uint16_t header;
  KernelDispatchPacket dispatch;
  BarrierPacket barrier;
  BarrierValuePacket barrier_value;
  Pm4IbPacket pm4_ib;
};
static_assert(sizeof(AqlPacket) == 64);

}  // namespace lockstep::command
