// The driver, and requests to it as a program makes them.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <vector>

#include "command/aql_queue.h"
#include "host/driver.h"
#include "host/kfd_abi.h"

namespace lockstep::host {

inline constexpr uint64_t kPage = 4096;

inline Settings settings(unsigned devices, machine::EngineKind engine = machine::EngineKind::interpreter) {
  Settings settings;
  settings.model = hardware::models().front();
  settings.devices = devices;
  settings.engine = engine;
  settings.threads = 2;
  return settings;
}

struct DriverTest : testing::Test {
  explicit DriverTest(machine::EngineKind engine = machine::EngineKind::interpreter, unsigned devices = 2)
      : driver(settings(devices, engine)) {}

  Driver driver;
  const uint32_t id = driver.gpus()[0]->id;

  template <class Args>
  int kfd(unsigned long request, Args& args) {
    return driver.kfd_ioctl(request, &args);
  }
  // Addresses that the program has reserved.
  static uint64_t reserve(uint64_t bytes) {
    void* address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(address, MAP_FAILED);
    return reinterpret_cast<uint64_t>(address);
  }
  kfd_ioctl_alloc_memory_of_gpu_args allocate_at(uint64_t address, uint64_t bytes, uint32_t flags,
                                                 int expected = 0) {
    kfd_ioctl_alloc_memory_of_gpu_args args = {};
    args.va_addr = address;
    args.size = bytes;
    args.gpu_id = id;
    args.flags = flags;
    // Memory of the program has its own address there.
    if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) args.mmap_offset = address;
    EXPECT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), expected);
    return args;
  }
  kfd_ioctl_alloc_memory_of_gpu_args allocate(uint64_t bytes, uint32_t kind, int expected = 0) {
    return allocate_at(reserve(bytes), bytes,
                       kind | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE,
                       expected);
  }
  int map(uint64_t handle, std::vector<uint32_t> ids) {
    kfd_ioctl_map_memory_to_gpu_args args = {};
    args.handle = handle;
    args.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids.data());
    args.n_devices = static_cast<uint32_t>(ids.size());
    const int error = kfd(AMDKFD_IOC_MAP_MEMORY_TO_GPU, args);
    if (error == 0) EXPECT_EQ(args.n_success, ids.size());
    return error;
  }
  int unmap(uint64_t handle, std::vector<uint32_t> ids) {
    kfd_ioctl_unmap_memory_from_gpu_args args = {};
    args.handle = handle;
    args.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids.data());
    args.n_devices = static_cast<uint32_t>(ids.size());
    return kfd(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, args);
  }
  int free(uint64_t handle) {
    kfd_ioctl_free_memory_of_gpu_args args = {};
    args.handle = handle;
    return kfd(AMDKFD_IOC_FREE_MEMORY_OF_GPU, args);
  }
  // Makes a queue of what `queue` has besides.
  void create_queue(kfd_ioctl_create_queue_args& queue, uint32_t type, uint64_t ring, uint64_t read,
                    uint64_t write) {
    queue.ring_base_address = ring;
    queue.ring_size = kPage;
    queue.read_pointer_address = read;
    queue.write_pointer_address = write;
    queue.gpu_id = id;
    queue.queue_type = type;
    queue.queue_percentage = 100;
    ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_QUEUE, queue), 0);
  }
  // An AQL queue whose counters are those of `memory`.
  void create_queue(kfd_ioctl_create_queue_args& queue, const void* ring, command::QueueMemory& memory) {
    create_queue(queue, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL, reinterpret_cast<uint64_t>(ring),
                 reinterpret_cast<uint64_t>(&memory.read_dispatch_id),
                 reinterpret_cast<uint64_t>(&memory.write_dispatch_id));
  }
  // The page with the queue's doorbell, of Store::kDoorbellBytes.
  void map_doorbells(const kfd_ioctl_create_queue_args& queue, std::byte*& doorbells) {
    const uint64_t page = queue.doorbell_offset / Store::kDoorbellBytes * Store::kDoorbellBytes;
    void* const mapped = mmap(nullptr, Store::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                              driver.descriptor(), static_cast<off_t>(page));
    ASSERT_NE(mapped, MAP_FAILED);
    driver.mapped(page, mapped);
    doorbells = static_cast<std::byte*>(mapped);
  }
  // Waits for the event; `data` is what it tells.
  void wait_for(uint32_t event_id, kfd_event_data& data) {
    data.event_id = event_id;
    kfd_ioctl_wait_events_args wait = {};
    wait.events_ptr = reinterpret_cast<uint64_t>(&data);
    wait.num_events = 1;
    wait.timeout = 20'000;
    ASSERT_EQ(kfd(AMDKFD_IOC_WAIT_EVENTS, wait), 0);
    ASSERT_EQ(wait.wait_result, uint32_t{KFD_IOC_WAIT_RESULT_COMPLETE});
  }
  bool accessible(unsigned gpu, uint64_t address, uint64_t bytes, uint8_t access = kReadWrite) {
    return driver.gpus()[gpu]->memory.snapshot()->find(address, bytes, access) != nullptr;
  }
};

}  // namespace lockstep::host
