// Queues of KFD: rings of the program's that command processors execute.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "host/buffers.h"
#include "host/code_objects.h"
#include "host/doorbells.h"
#include "host/events.h"
#include "host/kfd_abi.h"
#include "host/smi_events.h"

namespace lockstep::host {

// Functions that answer ioctls return 0 or the number of an error (errno.h).
class Queues {
 public:
  Queues(const Gpus& gpus, Doorbells& doorbells, Events& events, SmiEvents& smi_events,
         CodeObjects& code_objects)
      : gpus_(gpus),
        doorbells_(doorbells),
        events_(events),
        smi_events_(smi_events),
        code_objects_(code_objects) {}
  ~Queues();

  // Takes no lock: whoever has it may be gone after a fork.
  bool has_had_some() const { return next_ != 1; }
  bool has_some() {
    std::lock_guard lock(mutex_);
    return !queues_.empty();
  }
  // `engine` is of queues that want a certain copy engine.
  int create(kfd_ioctl_create_queue_args& args, uint32_t engine);
  int destroy(const kfd_ioctl_destroy_queue_args& args);
  int update(const kfd_ioctl_update_queue_args& args);
  int set_cu_mask(const kfd_ioctl_set_cu_mask_args& args);
  int allocate_gws(kfd_ioctl_alloc_queue_gws_args& args);

  // Whether the program's runtime takes what its waves' trap handlers report (AMDKFD_IOC_RUNTIME_ENABLE).
  void set_runtime(bool enabled) { runtime_enabled_ = enabled; }
  // On the standard error.
  void tell(const command::QueueError& error) { tell(error.message, error.fault ? &*error.fault : nullptr); }
  // As machine::TrapHandler has them.
  void wave_faulted(const Gpu& gpu, const machine::WaveFault& fault, const machine::Launch& launch);
  bool are_exceptions(const Gpu& gpu, uint32_t payload);
  void tell_exceptions(const Gpu& gpu, const machine::WaveFault* cause, const machine::Launch& launch,
                       uint32_t payload);

 private:
  struct Entry {
    Gpu* gpu = nullptr;
    std::shared_ptr<command::Queue> queue;
    uint64_t* doorbell = nullptr;
    uint64_t ring = 0, ring_bytes = 0;
    uint64_t save_area = 0;
    bool copies = false;  // of the copy engine
    bool suspended = false;
  };

  void failed(uint32_t id, const command::QueueError& error);
  void tell(const std::string& message, const machine::WaveFault* fault);
  void tell(const Gpu& gpu, const machine::WaveFault& fault, const machine::Launch& launch);
  // As the driver does: the program's other queues of that device end, and its runtime is told.
  void memory_fault(const Gpu& gpu, uint64_t address, const command::Queue* queue);
  // All queues of the device but that one become inactive.
  void end_others(const Gpu& gpu, const command::Queue* queue);
  // Adds exceptions, a bit each, to those that the runtime finds beside the queue's area of saved contexts.
  void send_to_runtime(uint64_t save_area, uint64_t exceptions);
  // What changing_ guards stays until it is released.
  Entry* find(uint32_t id);
  // mutex_ is held.
  const Entry* find(const Gpu& gpu, uint32_t doorbell_id) const;

  const Gpus& gpus_;
  Doorbells& doorbells_;
  Events& events_;
  SmiEvents& smi_events_;
  CodeObjects& code_objects_;
  std::mutex changing_;  // of a queue that is there, taken before mutex_
  std::mutex mutex_;     // of the map
  uint32_t next_ = 1;
  std::map<uint32_t, Entry> queues_;
  std::atomic<bool> runtime_enabled_ = false;
  std::mutex telling_mutex_;  // taken before mutex_, until a fault has been written
  std::set<uint64_t> told_;   // PCs of faults that handlers took: each is told once
};

}  // namespace lockstep::host
