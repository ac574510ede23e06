#include "host/events.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include "host/store.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

// Signal events have a slot in the page of events, and its number. Those of other types have none.
constexpr uint32_t kFirstOther = 0x80000000;
constexpr uint32_t kMostWaited = 65536;
constexpr uint64_t kNothingStored = ~uint64_t{0};

bool has_slot(uint32_t type) {
  return type == KFD_IOC_EVENT_SIGNAL || type == KFD_IOC_EVENT_DEBUG_EVENT;
}

}  // namespace

int Events::create(kfd_ioctl_create_event_args& args) {
  std::lock_guard lock(mutex_);
  uint32_t id = 0;
  if (has_slot(args.event_type)) {
    // The lowest free one: programs look through the slots.
    while (lowest_free_ < KFD_SIGNAL_EVENT_LIMIT && events_.contains(lowest_free_)) ++lowest_free_;
    if (lowest_free_ == KFD_SIGNAL_EVENT_LIMIT) return ENOSPC;
    id = lowest_free_;
  } else {
    id = kFirstOther + next_other_++ % kFirstOther;
  }
  Event& event = events_[id];
  event = {};
  event.type = args.event_type;
  event.serial = ++made_;
  event.auto_reset = args.auto_reset != 0;
  if (has_slot(args.event_type)) take_slot(id);
  args.event_id = args.event_trigger_data = id;
  args.event_slot_index = has_slot(args.event_type) ? id : 0;
  args.event_page_offset = Store::kEvents;
  return 0;
}

void Events::set_slots(void* memory) {
  std::lock_guard lock(mutex_);
  if (slots_) munmap(slots_, Store::kEventBytes);
  slots_ = static_cast<uint64_t*>(memory);
}

bool Events::has_slots() {
  std::lock_guard lock(mutex_);
  return slots_ != nullptr;
}

bool Events::take_slot(uint32_t id) const {
  return slots_ && id < KFD_SIGNAL_EVENT_LIMIT &&
         std::atomic_ref(slots_[id]).exchange(kNothingStored) != kNothingStored;
}

int Events::destroy(const kfd_ioctl_destroy_event_args& args) {
  std::lock_guard lock(mutex_);
  const auto event = events_.find(args.event_id);
  if (event == events_.end()) return EINVAL;
  wake(event->second);
  events_.erase(event);
  lowest_free_ = std::min(lowest_free_, args.event_id);
  return 0;
}

int Events::set(const kfd_ioctl_set_event_args& args) {
  std::lock_guard lock(mutex_);
  const auto event = events_.find(args.event_id);
  if (event == events_.end() || !has_slot(event->second.type)) return EINVAL;
  raise(event->second);
  return 0;
}

int Events::reset(const kfd_ioctl_reset_event_args& args) {
  std::lock_guard lock(mutex_);
  const auto event = events_.find(args.event_id);
  if (event == events_.end() || !has_slot(event->second.type)) return EINVAL;
  event->second.signaled = false;
  return 0;
}

void Events::raise(Event& event) {
  event.signaled = true;
  ++event.age;
  wake(event);
}

void Events::wake(const Event& event) {
  for (std::condition_variable* const each : event.waiting) each->notify_one();
}

void Events::raise(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto event = events_.find(id);
  if (event != events_.end() && has_slot(event->second.type)) {
    // Its slot stays as it is: programs that name their events find what was stored there.
    raise(event->second);
  } else {
    for (auto& [other, each] : events_)
      if (has_slot(each.type) && take_slot(other)) raise(each);
  }
}

void Events::raise_memory_fault(const kfd_hsa_memory_exception_data& data) {
  std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event.type != KFD_IOC_EVENT_MEMORY) continue;
    event.memory = data;
    raise(event);
  }
}

void Events::raise_reset(uint32_t gpu_id) {
  std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event.type != KFD_IOC_EVENT_HW_EXCEPTION) continue;
    event.hardware = {};
    event.hardware.reset_type = KFD_HW_EXCEPTION_GPU_HANG;
    event.hardware.reset_cause = KFD_HW_EXCEPTION_WHOLE_GPU_RESET;
    event.hardware.gpu_id = gpu_id;
    raise(event);
  }
}

int Events::wait(kfd_ioctl_wait_events_args& args) {
  const uint32_t count = args.num_events;
  if (count > kMostWaited) return EINVAL;
  // The program may write to its array meanwhile, or take it away.
  std::vector<Waited> waited(count);
  constexpr size_t kBytes = sizeof(kfd_event_data);
  if (!host_has(args.events_ptr, count * kBytes, true)) return EFAULT;
  for (uint32_t i = 0; i < count; ++i)
    if (!copy_from_process(&waited[i].data, args.events_ptr + i * kBytes, kBytes)) return EFAULT;
  const int error = wait(args, waited);
  for (uint32_t i = 0; i < count; ++i)
    if (waited[i].changed && !copy_to_process(args.events_ptr + i * kBytes, &waited[i].data, kBytes))
      return EFAULT;
  return error;
}

bool Events::enter(std::vector<Waited>& waited, std::condition_variable& woken) {
  for (Waited& each : waited) {
    const auto event = events_.find(each.data.event_id);
    if (event == events_.end()) return false;
    each.age_at_begin = event->second.age;
    each.serial = event->second.serial;
    event->second.waiting.push_back(&woken);
  }
  return true;
}

void Events::leave(const std::vector<Waited>& waited, const std::condition_variable& woken) {
  for (const Waited& each : waited)
    if (Event* const event = find(each)) std::erase(event->waiting, &woken);
}

Events::Event* Events::find(const Waited& waited) {
  const auto found = events_.find(waited.data.event_id);
  return found == events_.end() || found->second.serial != waited.serial ? nullptr : &found->second;
}

int64_t Events::look(std::vector<Waited>& waited) {
  int64_t done = 0;
  for (Waited& each : waited) {
    Event* const event = find(each);
    if (!event) return -1;
    // An age that is not the present one: it was raised since the program looked last.
    uint64_t last_age = 0;
    auto* const age_place = reinterpret_cast<std::byte*>(&each.data);
    if (has_slot(event->type)) std::memcpy(&last_age, age_place, sizeof last_age);
    if (!each.done &&
        (event->signaled || event->age != each.age_at_begin || (last_age != 0 && last_age != event->age))) {
      each.done = true;
      if (event->auto_reset) event->signaled = false;
      each.changed =
          last_age != 0 || event->type == KFD_IOC_EVENT_MEMORY || event->type == KFD_IOC_EVENT_HW_EXCEPTION;
      if (last_age != 0) std::memcpy(age_place, &event->age, sizeof event->age);
      if (event->type == KFD_IOC_EVENT_MEMORY) each.data.memory_exception_data = event->memory;
      if (event->type == KFD_IOC_EVENT_HW_EXCEPTION) each.data.hw_exception_data = event->hardware;
    }
    done += each.done;
  }
  return done;
}

int Events::wait(kfd_ioctl_wait_events_args& args, std::vector<Waited>& waited) {
  constexpr uint32_t kForever = 0xfffffffe;  // and more
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(args.timeout);
  bool timed_out = args.timeout == 0;
  std::condition_variable woken;
  std::unique_lock lock(mutex_);
  int error = 0;
  if (!enter(waited, woken)) {
    args.wait_result = KFD_IOC_WAIT_RESULT_FAIL;
    error = EINVAL;
  } else {
    const int64_t wanted = args.wait_for_all ? args.num_events : 1;
    for (;;) {
      const int64_t done = look(waited);
      args.wait_result = done < 0         ? KFD_IOC_WAIT_RESULT_FAIL
                         : done >= wanted ? KFD_IOC_WAIT_RESULT_COMPLETE
                                          : KFD_IOC_WAIT_RESULT_TIMEOUT;
      if (done < 0) error = EIO;
      if (done < 0 || done >= wanted || timed_out) break;
      if (args.timeout >= kForever)
        woken.wait(lock);
      else
        timed_out = woken.wait_until(lock, deadline) == std::cv_status::timeout;
    }
  }
  leave(waited, woken);
  return error;
}

}  // namespace lockstep::host
