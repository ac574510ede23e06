// Commands that programs give the render node (DRM_IOCTL_AMDGPU_CS), as drivers of graphics do: contexts with
// rings of their own, lists of buffers, submissions, and waiting for their ends.
#pragma once

#include <libdrm/amdgpu_drm.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "command/command_processor.h"
#include "host/command_ring.h"
#include "host/gem_objects.h"
#include "host/gpu.h"
#include "host/submission.h"
#include "host/sync_objects.h"

namespace lockstep::host {

// Compute rings that a device has; those of copies are as many as its engines.
inline constexpr uint32_t kComputeRings = 4;
// 0 for engines that take no commands.
uint32_t rings_of(const Gpu& gpu, uint32_t engine);

// Functions that answer ioctls return 0 or the number of an error (errno.h).
class Commands {
 public:
  using Tell = std::function<void(const command::QueueError&)>;
  // `tell` is called for what ends a ring.
  Commands(const GemObjects& objects, Tell tell) : objects_(objects), tell_(std::move(tell)) {}
  ~Commands();

  // Takes no lock: whoever has it may be gone after a fork.
  bool has_had_rings() const { return has_had_rings_; }
  int context(const Gpu& gpu, drm_amdgpu_ctx& args);
  int buffer_list(const Gpu& gpu, drm_amdgpu_bo_list& args);
  int submit(Gpu& gpu, drm_amdgpu_cs& args);
  int wait(const Gpu& gpu, drm_amdgpu_wait_cs& args);
  int wait_fences(const Gpu& gpu, drm_amdgpu_wait_fences& args);
  // The end of a submission as a synchronisation object.
  int name_fence(const Gpu& gpu, drm_amdgpu_fence_to_handle& args);
  SyncObjects& sync_objects() { return sync_objects_; }
  // Of the submissions that have listed the object.
  int wait_idle(const Gpu& gpu, drm_amdgpu_gem_wait_idle& args);

 private:
  using Ring = CommandRing;
  using Fence = CommandFence;
  struct Context {
    std::map<std::pair<uint32_t, uint32_t>, std::shared_ptr<Ring>> rings;  // by engine and number
    bool told_of_reset = false;
    bool has_failed() const;
  };
  struct Parsed;
  using Key = std::pair<uint32_t, uint32_t>;  // device and number

  int find(const Gpu& gpu, const drm_amdgpu_fence& name, Fence& fence);
  std::shared_ptr<Ring> make_ring(Gpu& gpu, uint32_t engine);
  int read_list(const Gpu& gpu, const drm_amdgpu_bo_list_in& args, std::vector<uint32_t>& objects) const;
  int parse(Gpu& gpu, const drm_amdgpu_cs_in& args, Parsed& parsed);
  int parse_chunk(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed);
  int parse_buffer(Gpu& gpu, std::span<const uint32_t> words, Parsed& parsed);
  int parse_waits(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed);
  int parse_signals(Gpu& gpu, uint32_t id, std::span<const uint32_t> words, Parsed& parsed);
  int parse_dependencies(Gpu& gpu, std::span<const uint32_t> words, Parsed& parsed);
  // Null for a context that there is not.
  std::shared_ptr<Ring> ring_for(Gpu& gpu, uint32_t number, const Parsed& parsed);
  // Rings of contexts that are gone end when their commands have.
  void end_left();

  const GemObjects& objects_;
  const Tell tell_;
  SyncObjects sync_objects_;
  std::mutex mutex_;
  std::atomic<bool> has_had_rings_ = false;
  uint32_t next_context_ = 1, next_list_ = 1;
  std::map<Key, Context> contexts_;
  std::map<Key, std::vector<uint32_t>> lists_;
  std::vector<std::shared_ptr<Ring>> left_;
};

}  // namespace lockstep::host
