// Events of KFD: what programs wait for in the kernel.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "host/kfd_abi.h"

namespace lockstep::host {

// Functions that answer ioctls return 0 or the number of an error (errno.h).
class Events {
 public:
  ~Events() { set_slots(nullptr); }

  int create(kfd_ioctl_create_event_args& args);
  // Memory, of kEventBytes, in which each signal event has a slot of 64 bits at its number: whoever raises it
  // may store there first, and need not name it then. It is unmapped when another one or none comes.
  void set_slots(void* memory);
  bool has_slots();
  int destroy(const kfd_ioctl_destroy_event_args& args);
  int set(const kfd_ioctl_set_event_args& args);
  int reset(const kfd_ioctl_reset_event_args& args);
  int wait(kfd_ioctl_wait_events_args& args);

  // A device has interrupted with the number of an event. If that is none, all are meant to whose slots
  // something was stored.
  void raise(uint32_t id);
  // A device has accessed memory that it may not: tells all events that wait for this.
  void raise_memory_fault(const kfd_hsa_memory_exception_data& data);
  // A device was reset.
  void raise_reset(uint32_t gpu_id);

 private:
  struct Event {
    uint32_t type = 0;
    bool auto_reset = false, signaled = false;
    uint64_t age = 1;     // goes up each time it is raised
    uint64_t serial = 0;  // of all events: a number is given again
    std::vector<std::condition_variable*> waiting;
    kfd_hsa_memory_exception_data memory{};
    kfd_hsa_hw_exception_data hardware{};
  };

  // One of the events of a wait: the program's own description of it, and whether that changes.
  struct Waited {
    kfd_event_data data{};
    uint64_t age_at_begin = 0, serial = 0;
    bool done = false, changed = false;
  };

  // Wakes those who wait for it, and nobody else: a program's launches raise events that no thread sleeps
  // for, beside the threads of its runtime that always sleep.
  static void raise(Event& event);
  static void wake(const Event& event);
  // Whether something has been stored to the slot, which is then as it was before.
  bool take_slot(uint32_t id) const;
  int wait(kfd_ioctl_wait_events_args& args, std::vector<Waited>& waited);
  // Whether the events are there, which tell `woken` from then on until leave().
  bool enter(std::vector<Waited>& waited, std::condition_variable& woken);
  void leave(const std::vector<Waited>& waited, const std::condition_variable& woken);
  // The event if it was not destroyed meanwhile.
  Event* find(const Waited& waited);
  // Looks at them again: how many are done; -1: one was destroyed.
  int64_t look(std::vector<Waited>& waited);

  std::mutex mutex_;
  std::map<uint32_t, Event> events_;
  uint64_t* slots_ = nullptr;
  uint32_t lowest_free_ = 1;  // no slot below it is
  uint32_t next_other_ = 0;
  uint64_t made_ = 0;
};

}  // namespace lockstep::host
