// Global wave sync (guide 13.4.4): 64 resources that waves of the whole device meet at, as counting
// semaphores or as barriers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "state/wave.h"

namespace lockstep {

class GlobalWaveSync {
 public:
  static constexpr unsigned kResources = 64;
  static constexpr uint32_t kCounterMask = 0xfff;  // a counter has 12 bits

  enum class Type : uint8_t { semaphore, barrier };
  struct Resource {
    Type type = Type::semaphore;
    bool flag = false;           // the passes of a barrier in turn: who waits, waits for the other value
    bool is_configured = false;  // has ever been given a count
    uint32_t counter = 0;        // releases left, or waves that a barrier still waits for
    std::vector<Wave*> queue;    // waiting waves, first come, first served
  };
  using Released = std::vector<Wave*>;

  const Resource& resource(unsigned id) const { return resources_[id]; }
  // The one that the wave waits at.
  std::optional<unsigned> resource_of(const Wave& wave) const;

  // The operations of table 63. Waves that may go on are appended to `released`.
  void init(unsigned id, uint32_t count, Released& released);
  void semaphore_add(unsigned id, uint32_t count, Released& released);
  void semaphore_release_all(unsigned id, Released& released);
  // True if the wave may go on at once; else it is queued.
  bool semaphore_acquire(unsigned id, Wave& wave, Released& released);
  // `waves` of them meet the next time.
  bool barrier(unsigned id, Wave& wave, uint32_t waves, Released& released);

  // The wave no longer waits: it was killed.
  void forget(const Wave& wave);

 private:
  static void enqueue(Resource& resource, Wave& wave, WaitKind kind, unsigned id);
  // Lets go whoever the state of the resource no longer holds.
  static void release(Resource& resource, Released& released);

  std::array<Resource, kResources> resources_;
};

}  // namespace lockstep
