// Synchronisation objects of the render node (DRM_IOCTL_SYNCOBJ_*): names for the ends of commands, which
// come and go by themselves, or for points of a timeline, each of which has come when all before it have.
#pragma once

#include <libdrm/drm.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "host/command_ring.h"
#include "host/gpu.h"

namespace lockstep::host {

// Nanoseconds of the monotonic clock, or for ever; false if the time is over first.
bool wait_for_commands(const Gpu& gpu, const std::function<bool()>& holds, uint64_t deadline);

// Functions that answer ioctls return 0 or the number of an error (errno.h). A point of 0 is the object's
// end, whatever its points.
class SyncObjects {
 public:
  ~SyncObjects();

  int create(const Gpu& gpu, drm_syncobj_create& args);
  int destroy(const Gpu& gpu, const drm_syncobj_destroy& args);
  int reset(const Gpu& gpu, const drm_syncobj_array& args);
  int signal(const Gpu& gpu, const drm_syncobj_array& args);
  int signal(const Gpu& gpu, const drm_syncobj_timeline_array& args);
  int query(const Gpu& gpu, const drm_syncobj_timeline_array& args);
  int wait(const Gpu& gpu, drm_syncobj_wait& args);
  int wait(const Gpu& gpu, drm_syncobj_timeline_wait& args);
  int transfer(const Gpu& gpu, const drm_syncobj_transfer& args);
  // Descriptors that name an object in this process.
  int export_object(const Gpu& gpu, drm_syncobj_handle& args);
  int import_object(const Gpu& gpu, drm_syncobj_handle& args);

  // One of the commands' own.
  uint32_t add(const Gpu& gpu, CommandFences fences);
  int descriptor_of(const Gpu& gpu, uint32_t handle, bool closes_on_exec, int& descriptor);
  bool has(const Gpu& gpu, uint32_t handle);
  // What is to be waited for until the point has come. Where nobody has said yet what that is, it is an
  // error, or waited for if `flags` say so, for some seconds.
  int fences_at(const Gpu& gpu, uint32_t handle, uint64_t point, uint32_t flags, CommandFences& fences);
  // The object's end from now on; a point behind those that it has.
  void replace(const Gpu& gpu, uint32_t handle, CommandFences fences);
  void append(const Gpu& gpu, uint32_t handle, uint64_t point, CommandFences fences);
  // Nobody waits any more.
  void clear();

 private:
  struct Point {
    uint64_t number;
    CommandFences fences;
  };
  struct Object {
    std::vector<Point> points;  // none: nobody has said what it stands for
  };
  using ObjectPointer = std::shared_ptr<Object>;
  using Key = std::pair<uint32_t, uint32_t>;  // device and handle
  struct Exported {
    int ours;  // closed at the other end: no descriptor is left
    uint32_t device;
    ObjectPointer object;
  };

  ObjectPointer find(const Gpu& gpu, uint32_t handle);
  int find(const Gpu& gpu, uint64_t handles, uint32_t count, std::vector<ObjectPointer>& objects);
  std::optional<CommandFences> fences_at(const Object& object, uint64_t point);
  int wait(const Gpu& gpu, std::span<const ObjectPointer> objects, std::span<const uint64_t> points,
           uint32_t flags, int64_t deadline, uint32_t& first);
  void put(const Gpu& gpu, Object& object, std::optional<uint64_t> point, CommandFences fences);
  // mutex_ is held.
  void forget_closed();

  std::mutex mutex_;  // of what follows, and of the objects' points
  uint32_t next_ = 1;
  std::map<Key, ObjectPointer> objects_;
  std::map<ino_t, Exported> exported_;  // by the program's end
};

}  // namespace lockstep::host
