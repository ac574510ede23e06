#include "state/device_state.h"

#include <utility>

#include "state/dispatch_state.h"

namespace lockstep {

DeviceState::Access::Access(DeviceState& device) : device_(device), lock_(device.mutex_) {}

DeviceState::Access::~Access() {
  struct Call {
    std::shared_ptr<WakeList> wake;
    const WorkGroup* group;
  };
  std::vector<Call> calls;
  for (Wave* wave : released_) {
    // The wave's own thread may take it as soon as the grant is there: nothing of it is touched after that.
    calls.push_back({wave->group->dispatch->wake, wave->group});
    if (calls.back().wake->is_stuck) {
      calls.back().wake->is_stuck = false;
      --device_.stuck_agents_;
    }
    wave->wait.grant();
  }
  // Schedulers ask the device with their own lock held, so theirs is taken without the device's.
  lock_.unlock();
  for (const Call& call : calls) {
    {
      std::lock_guard lock(call.wake->mutex);
      call.wake->woken.push_back(call.group);
    }
    call.wake->changed.notify_one();
    if (call.wake->tell) call.wake->tell();
  }
}

bool DeviceState::Access::reset() {
  for (unsigned id = 0; id < GlobalWaveSync::kResources; ++id)
    if (!device_.gws_.resource(id).queue.empty()) return false;
  device_.gds_.fill({});
  device_.gws_ = {};
  device_.stream_out_ = {};
  return true;
}

void DeviceState::Access::forget(Wave& wave) {
  switch (wave.wait.kind) {
    case WaitKind::none:
      break;
    case WaitKind::semaphore:
    case WaitKind::barrier:
      device_.gws_.forget(wave);
      break;
    case WaitKind::turn:
      wave.group->dispatch->ordered.forget(wave);
      break;
  }
  wave.wait = {};
}

DeviceState::Agent::Agent(std::shared_ptr<DeviceState> device, std::shared_ptr<WakeList> wake)
    : device_(std::move(device)), wake_(std::move(wake)) {
  std::lock_guard lock(device_->mutex_);
  ++device_->agents_;
}

DeviceState::Agent::~Agent() {
  std::lock_guard lock(device_->mutex_);
  go_on_locked();
  --device_->agents_;
}

void DeviceState::Agent::go_on() {
  std::lock_guard lock(device_->mutex_);
  go_on_locked();
}

void DeviceState::Agent::go_on_locked() {
  if (!wake_ || !std::exchange(wake_->is_stuck, false)) return;
  --device_->stuck_agents_;
}

bool DeviceState::Agent::is_stuck_with_all() {
  std::lock_guard lock(device_->mutex_);
  if (!wake_->is_stuck) {
    wake_->is_stuck = true;
    ++device_->stuck_agents_;
  }
  return device_->stuck_agents_ == device_->agents_;
}

}  // namespace lockstep
