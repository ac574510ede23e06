#include "state/global_wave_sync.h"

#include <algorithm>

namespace lockstep {

void GlobalWaveSync::enqueue(Resource& resource, Wave& wave, WaitKind kind, unsigned id) {
  wave.wait.kind = kind;
  wave.wait.resource = static_cast<uint8_t>(id);
  wave.wait.flag = resource.flag;
  resource.queue.push_back(&wave);
}

void GlobalWaveSync::release(Resource& resource, Released& released) {
  std::erase_if(resource.queue, [&](Wave* wave) {
    if (wave->wait.kind == WaitKind::semaphore) {
      if (resource.type != Type::semaphore || resource.counter == 0) return false;
      --resource.counter;
    } else if (resource.type != Type::barrier || wave->wait.flag == resource.flag) {
      return false;
    }
    released.push_back(wave);
    return true;
  });
}

std::optional<unsigned> GlobalWaveSync::resource_of(const Wave& wave) const {
  for (unsigned id = 0; id < kResources; ++id)
    if (std::ranges::find(resources_[id].queue, &wave) != resources_[id].queue.end()) return id;
  return std::nullopt;
}

void GlobalWaveSync::init(unsigned id, uint32_t count, Released& released) {
  Resource& resource = resources_[id];
  resource.counter = count & kCounterMask;
  resource.flag = false;
  resource.is_configured = true;
  release(resource, released);
}

void GlobalWaveSync::semaphore_add(unsigned id, uint32_t count, Released& released) {
  Resource& resource = resources_[id];
  resource.counter = (resource.counter + count) & kCounterMask;
  resource.type = Type::semaphore;
  resource.is_configured = true;
  release(resource, released);
}

void GlobalWaveSync::semaphore_release_all(unsigned id, Released& released) {
  const auto& queue = resources_[id].queue;
  semaphore_add(id,
                static_cast<uint32_t>(
                    std::count_if(queue.begin(), queue.end(),
                                  [](const Wave* wave) { return wave->wait.kind == WaitKind::semaphore; })),
                released);
}

bool GlobalWaveSync::semaphore_acquire(unsigned id, Wave& wave, Released& released) {
  Resource& resource = resources_[id];
  resource.type = Type::semaphore;
  release(resource, released);
  if (resource.counter == 0) {
    enqueue(resource, wave, WaitKind::semaphore, id);
    return false;
  }
  --resource.counter;
  return true;
}

bool GlobalWaveSync::barrier(unsigned id, Wave& wave, uint32_t waves, Released& released) {
  Resource& resource = resources_[id];
  resource.type = Type::barrier;
  if (resource.counter > 1) {
    --resource.counter;
    enqueue(resource, wave, WaitKind::barrier, id);
    return false;
  }
  resource.flag = !resource.flag;
  resource.counter = waves;
  release(resource, released);
  return true;
}

void GlobalWaveSync::forget(const Wave& wave) {
  std::erase(resources_[wave.wait.resource].queue, &wave);
}

}  // namespace lockstep
