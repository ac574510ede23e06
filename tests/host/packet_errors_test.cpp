// Packets that no hardware takes: what the runtime is told of each, as a bit of the queue's error payload, by
// which ROCr chooses the status that a program's callback gets.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>

#include "tests/host/driver_fixture.h"

namespace lockstep::host {
namespace {

struct Refused {
  const char* name;
  void (*change)(command::KernelDispatchPacket&);
  // Of Linux's kfd_ioctl.h (EC_QUEUE_PACKET_...), counted from 1.
  unsigned code;
};
void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name;
}

struct RefusedPackets : DriverTest, testing::WithParamInterface<Refused> {};

TEST_P(RefusedPackets, TellTheRuntimeWhy) {
  const auto buffer = allocate(8 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  auto* const memory = reinterpret_cast<std::byte*>(buffer.va_addr);
  auto& queue_memory = *reinterpret_cast<command::QueueMemory*>(memory);
  auto& save_area = *reinterpret_cast<ContextSaveAreaHeader*>(memory + 2 * kPage);
  auto& payload = *reinterpret_cast<uint64_t*>(memory + 3 * kPage);
  // The descriptor of a kernel that ends at once, and its code.
  auto* const descriptor = memory + 4 * kPage;
  const int64_t entry = 256;
  const uint32_t end = 0xbfb00000, rsrc1 = 0x60ac0000;
  std::memcpy(descriptor + 16, &entry, sizeof entry);
  std::memcpy(descriptor + 48, &rsrc1, sizeof rsrc1);
  std::memcpy(descriptor + entry, &end, sizeof end);

  kfd_ioctl_create_event_args told = {};
  told.event_type = KFD_IOC_EVENT_SIGNAL;
  told.auto_reset = 1;
  ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, told), 0);
  save_area.err_payload_addr = reinterpret_cast<uint64_t>(&payload);
  save_area.err_event_id = told.event_id;
  kfd_ioctl_create_queue_args queue = {};
  queue.ctx_save_restore_address = reinterpret_cast<uint64_t>(&save_area);
  ASSERT_NO_FATAL_FAILURE(create_queue(queue, memory + kPage, queue_memory));
  std::byte* doorbells = nullptr;
  ASSERT_NO_FATAL_FAILURE(map_doorbells(queue, doorbells));

  command::AqlPacket packet = {};
  packet.dispatch.setup = 1;
  for (unsigned axis = 0; axis < 3; ++axis)
    packet.dispatch.workgroup_size[axis] = packet.dispatch.grid_size[axis] = 1;
  packet.dispatch.kernel_object = reinterpret_cast<uint64_t>(descriptor);
  auto* const ring = reinterpret_cast<command::AqlPacket*>(memory + kPage);
  std::memcpy(&ring[0], &packet, sizeof packet);
  GetParam().change(packet.dispatch);
  std::memcpy(&ring[1], &packet, sizeof packet);
  command::store_shared<uint64_t>(&queue_memory.write_dispatch_id, 2);
  for (command::AqlPacket* const slot : {&ring[0], &ring[1]})
    command::store_shared<uint16_t>(&slot->header, 2 | 1u << 8);
  command::store_shared<uint64_t>(doorbells + queue.doorbell_offset % Store::kDoorbellBytes, 1);
  kfd_event_data data = {};
  EXPECT_NO_FATAL_FAILURE(wait_for(told.event_id, data));
  EXPECT_EQ(payload, uint64_t{1} << (GetParam().code - 1));
  EXPECT_EQ(command::load_shared<uint64_t>(&queue_memory.read_dispatch_id), 1u) << "the first was right";

  kfd_ioctl_destroy_queue_args destroy = {};
  destroy.queue_id = queue.queue_id;
  EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
  munmap(doorbells, Store::kDoorbellBytes);
}

INSTANTIATE_TEST_SUITE_P(
    , RefusedPackets,
    testing::Values(
        Refused{"NoDimensions", [](command::KernelDispatchPacket& packet) { packet.setup = 0; }, 16},
        Refused{"EmptyGrid", [](command::KernelDispatchPacket& packet) { packet.grid_size[1] = 0; }, 16},
        Refused{"GroupSegmentThatIsTooLarge",
                [](command::KernelDispatchPacket& packet) { packet.group_segment_size = 65537; }, 17},
        Refused{"NoKernel", [](command::KernelDispatchPacket& packet) { packet.kernel_object += 1; }, 18},
        Refused{"ReservedField", [](command::KernelDispatchPacket& packet) { packet.reserved0 = 1; }, 20},
        Refused{"WorkGroupThatIsTooLarge",
                [](command::KernelDispatchPacket& packet) { packet.workgroup_size[0] = 1025; }, 21}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace lockstep::host
