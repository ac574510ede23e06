// What the waves of a dispatch share beside memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "state/device_state.h"
#include "state/ordered_append.h"
#include "state/wake_list.h"

namespace lockstep {

struct DispatchState {
  std::shared_ptr<DeviceState> device;
  unsigned vmid = 0;      // chooses the ranges of DeviceState::vmids that the waves may use
  OrderedAppend ordered;  // guarded by the device's lock
  std::shared_ptr<WakeList> wake = std::make_shared<WakeList>();
  // What s_sendmsg_rtn answers, and what s_sendmsg sent (guide 5.3).
  uint32_t doorbell_id = 0x0bad;         // of the queue; the guide's number where there is none
  uint32_t dispatch_id = 0;              // draw or dispatch number
  std::atomic<uint64_t> interrupts = 0;  // that waves sent to the host so far
  // Every s_trap enters a handler: engines that have none stop at it.
  bool has_trap_handler = false;
};

}  // namespace lockstep
