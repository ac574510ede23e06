// What the waves of a dispatch share beside memory.
#pragma once

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
};

}  // namespace lockstep
