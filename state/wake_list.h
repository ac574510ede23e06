// Where whoever schedules work-groups hears of waves that were released from a wait.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "state/work_group.h"

namespace lockstep {

struct WakeList {
  std::mutex mutex;
  std::condition_variable changed;
  // Groups with a wave that may go on, in the order of their release. A group may be gone by the time it is
  // read: only to be compared with.
  std::vector<const WorkGroup*> woken;
  // All groups are to be looked at.
  bool all_woken = false;
  // All threads of this scheduler wait for a release. Belongs to the DeviceState, under its lock.
  bool is_stuck = false;
  // Called after a group was added; may be empty. Set before any wave runs.
  std::function<void()> tell;
};

}  // namespace lockstep
