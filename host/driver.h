// /dev/kfd and the render nodes of one process, answered by emulated devices.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "host/buffers.h"
#include "host/commands.h"
#include "host/doorbells.h"
#include "host/events.h"
#include "host/queues.h"
#include "host/reports.h"
#include "host/settings.h"
#include "host/shared_virtual_memory.h"
#include "host/store.h"

namespace lockstep::host {

class Driver {
 public:
  // Throws std::exception.
  explicit Driver(const Settings& settings);

  int descriptor() const { return store_.descriptor(); }
  const Gpus& gpus() const { return gpus_; }
  // Answer ioctls: 0 or the number of an error. What is not there to be read or written is EFAULT.
  int kfd_ioctl(unsigned long request, void* argument);
  // Bytes of a device's memory that are allocated.
  uint64_t used_memory(unsigned device) const { return buffers_.used(*gpus_[device]); }
  int render_ioctl(unsigned device, unsigned long request, void* argument);
  int descriptor_at(uint64_t& offset, uint64_t bytes) const { return buffers_.descriptor_at(offset, bytes); }
  void mapped(uint64_t offset, void* address) { doorbells_.mapped(offset, address); }
  bool serve() { return doorbells_.serve_for_waiter(); }
  void stop_serving() { doorbells_.waiter_leaves(); }
  bool ring(const void* address, uint64_t value) { return doorbells_.ring(address, value); }
  void about_to_ring() { doorbells_.about_to_ring(); }
  // The program's runtime has handed out memory, or is about to take it back.
  void allocated(void* address, size_t bytes) {
    reports_.blocks().add(reinterpret_cast<uint64_t>(address), bytes);
  }
  void freed(void* address) { reports_.blocks().remove(reinterpret_cast<uint64_t>(address)); }
  bool has_had_queues() const { return queues_.has_had_some() || commands_.has_had_rings(); }
  // The process ends.
  void finish() { reports_.finish(); }

 private:
  int answer(unsigned number, void* argument, uint32_t bytes);
  int create_event(kfd_ioctl_create_event_args& args);
  int free_memory(const kfd_ioctl_free_memory_of_gpu_args& args);
  int set_trap_handler(const kfd_ioctl_set_trap_handler_args& args) const;
  int clock_counters(kfd_ioctl_get_clock_counters_args& args);
  int apertures(kfd_ioctl_get_process_apertures_args& args);
  int apertures(kfd_ioctl_get_process_apertures_new_args& args);
  static kfd_process_device_apertures apertures_of(const Gpu& gpu);

  Gpu* find(uint32_t id) const;

  Store store_;
  CodeObjects code_objects_;
  Reports reports_;
  Gpus gpus_;
  Events events_;
  std::atomic<uint64_t> slots_buffer_ = 0;  // the handle of the buffer that has the events' slots; 0: none
  SmiEvents smi_events_;
  Buffers buffers_;
  SharedVirtualMemory shared_;
  Doorbells doorbells_;
  Queues queues_;
  Commands commands_;
};

}  // namespace lockstep::host
