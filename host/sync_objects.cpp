#include "host/sync_objects.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "host/own_descriptors.h"
#include "host/process_arrays.h"
#include "host/refusals.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

using Clock = command::Waiters::Clock;

constexpr uint32_t kMostHandles = 1 << 20;

}  // namespace

bool wait_for_commands(const Gpu& gpu, const std::function<bool()>& holds, uint64_t deadline) {
  if (static_cast<int64_t>(deadline) < 0) return gpu.processor->waiters().wait(holds, std::nullopt);
  return gpu.processor->waiters().wait(holds, Clock::time_point(std::chrono::nanoseconds(deadline)));
}

SyncObjects::~SyncObjects() {
  clear();
  for (const auto& [inode, exported] : exported_) close_own(exported.ours);
}

// Rings end where nobody has the lock.
void SyncObjects::clear() {
  std::vector<Point> gone;
  std::lock_guard lock(mutex_);
  const auto take = [&](Object& object) {
    std::ranges::move(object.points, std::back_inserter(gone));
    object.points.clear();
  };
  for (const auto& [key, object] : objects_) take(*object);
  for (const auto& [inode, exported] : exported_) take(*exported.object);
}

uint32_t SyncObjects::add(const Gpu& gpu, CommandFences fences) {
  auto object = std::make_shared<Object>();
  object->points.push_back({0, std::move(fences)});
  std::lock_guard lock(mutex_);
  objects_.emplace(Key(gpu.index, next_), std::move(object));
  return next_++;
}

int SyncObjects::create(const Gpu& gpu, drm_syncobj_create& args) {
  if (args.flags & ~DRM_SYNCOBJ_CREATE_SIGNALED) return EINVAL;
  auto object = std::make_shared<Object>();
  if (args.flags & DRM_SYNCOBJ_CREATE_SIGNALED) object->points.push_back({0, {}});
  std::lock_guard lock(mutex_);
  args.handle = next_++;
  objects_.emplace(Key(gpu.index, args.handle), std::move(object));
  return 0;
}

int SyncObjects::destroy(const Gpu& gpu, const drm_syncobj_destroy& args) {
  if (args.pad != 0) return EINVAL;
  ObjectPointer gone;
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  if (found == objects_.end()) return EINVAL;
  gone = std::move(found->second);
  objects_.erase(found);
  return 0;
}

SyncObjects::ObjectPointer SyncObjects::find(const Gpu& gpu, uint32_t handle) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, handle});
  return found == objects_.end() ? nullptr : found->second;
}

int SyncObjects::find(const Gpu& gpu, uint64_t handles, uint32_t count, std::vector<ObjectPointer>& objects) {
  if (count == 0 || count > kMostHandles) return EINVAL;
  std::vector<uint32_t> names;
  if (!read_all(handles, count, names)) return EFAULT;
  for (const uint32_t name : names) {
    objects.push_back(find(gpu, name));
    if (!objects.back()) return ENOENT;
  }
  return 0;
}

bool SyncObjects::has(const Gpu& gpu, uint32_t handle) {
  return find(gpu, handle) != nullptr;
}

void SyncObjects::put(const Gpu& gpu, Object& object, std::optional<uint64_t> point, CommandFences fences) {
  std::vector<Point> gone;
  {
    std::lock_guard lock(mutex_);
    std::vector<Point>& points = object.points;
    const uint64_t last = points.empty() ? 0 : points.back().number;
    if (!point) {
      gone = std::move(points);
      points.clear();
    } else {
      // Of those that have come the last one is known for all.
      const auto waits = std::ranges::find_if_not(points, are_over, &Point::fences);
      if (waits - points.begin() > 1) {
        const auto end = std::prev(waits);
        std::ranges::move(points.begin(), end, std::back_inserter(gone));
        points.erase(points.begin(), end);
      }
    }
    points.push_back({point ? std::max(*point, last) : 0, std::move(fences)});
  }
  gpu.processor->waiters().notify();
}

void SyncObjects::replace(const Gpu& gpu, uint32_t handle, CommandFences fences) {
  if (const auto object = find(gpu, handle)) put(gpu, *object, std::nullopt, std::move(fences));
}

void SyncObjects::append(const Gpu& gpu, uint32_t handle, uint64_t point, CommandFences fences) {
  if (const auto object = find(gpu, handle)) put(gpu, *object, point, std::move(fences));
}

int SyncObjects::reset(const Gpu& gpu, const drm_syncobj_array& args) {
  std::vector<ObjectPointer> objects;
  if (args.pad != 0) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  std::vector<Point> gone;
  std::lock_guard lock(mutex_);
  for (const auto& object : objects) {
    std::ranges::move(object->points, std::back_inserter(gone));
    object->points.clear();
  }
  return 0;
}

int SyncObjects::signal(const Gpu& gpu, const drm_syncobj_array& args) {
  std::vector<ObjectPointer> objects;
  if (args.pad != 0) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  for (const auto& object : objects) put(gpu, *object, std::nullopt, {});
  return 0;
}

int SyncObjects::signal(const Gpu& gpu, const drm_syncobj_timeline_array& args) {
  std::vector<ObjectPointer> objects;
  std::vector<uint64_t> points(args.count_handles <= kMostHandles ? args.count_handles : 0);
  if (args.flags != 0) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  if (args.points != 0 && !read_all(args.points, args.count_handles, points)) return EFAULT;
  for (size_t i = 0; i < objects.size(); ++i) put(gpu, *objects[i], points[i], {});
  return 0;
}

int SyncObjects::query(const Gpu& gpu, const drm_syncobj_timeline_array& args) {
  std::vector<ObjectPointer> objects;
  if (args.flags & ~DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  std::vector<uint64_t> numbers;
  {
    std::lock_guard lock(mutex_);
    for (const auto& object : objects) {
      uint64_t number = 0;
      for (const Point& point : object->points) {
        if (!(args.flags & DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED) && !are_over(point.fences)) break;
        number = point.number;
      }
      numbers.push_back(number);
    }
  }
  return copy_to_process(args.points, numbers.data(), numbers.size() * sizeof numbers[0]) ? 0 : EFAULT;
}

// mutex_ is not held.
std::optional<CommandFences> SyncObjects::fences_at(const Object& object, uint64_t point) {
  std::lock_guard lock(mutex_);
  const std::vector<Point>& points = object.points;
  if (points.empty() || points.back().number < point) return std::nullopt;
  CommandFences fences;
  for (const Point& each : points) {
    fences.insert(fences.end(), each.fences.begin(), each.fences.end());
    if (point != 0 && each.number >= point) break;
  }
  return fences;
}

int SyncObjects::fences_at(const Gpu& gpu, uint32_t handle, uint64_t point, uint32_t flags,
                           CommandFences& fences) {
  constexpr auto kPatience = std::chrono::seconds(5);  // as Linux has it
  if (flags & ~DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT) return EINVAL;
  const ObjectPointer object = find(gpu, handle);
  if (!object) return ENOENT;
  std::optional<CommandFences> found = fences_at(*object, point);
  if (!found) {
    if (!(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT)) return EINVAL;
    const auto is_there = [&] { return (found = fences_at(*object, point)).has_value(); };
    if (!gpu.processor->waiters().wait(is_there, Clock::now() + kPatience)) return ETIME;
  }
  fences = std::move(*found);
  return 0;
}

int SyncObjects::wait(const Gpu& gpu, std::span<const ObjectPointer> objects,
                      std::span<const uint64_t> points, uint32_t flags, int64_t deadline, uint32_t& first) {
  const bool all = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL;
  const bool until_known = flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
  // What was known at the beginning, or is known first, is what is waited for.
  std::vector<std::optional<CommandFences>> fences(objects.size());
  for (size_t i = 0; i < objects.size(); ++i) {
    fences[i] = fences_at(*objects[i], points[i]);
    if (!fences[i] && !until_known && !(flags & DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT)) return EINVAL;
  }
  const auto has_come = [&](size_t i) {
    if (!fences[i]) fences[i] = fences_at(*objects[i], points[i]);
    return fences[i] && (until_known || are_over(*fences[i]));
  };
  const auto holds = [&] {
    size_t come = 0;
    for (size_t i = objects.size(); i-- != 0;)
      if (has_come(i)) {
        first = static_cast<uint32_t>(i);
        ++come;
      }
    return all ? come == objects.size() : come != 0;
  };
  // A time that has passed is a question.
  const bool over = deadline <= 0 ? holds() : wait_for_commands(gpu, holds, static_cast<uint64_t>(deadline));
  return over ? 0 : ETIME;
}

int SyncObjects::wait(const Gpu& gpu, drm_syncobj_wait& args) {
  constexpr uint32_t kFlags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT;
  std::vector<ObjectPointer> objects;
  if (args.flags & ~kFlags) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  return wait(gpu, objects, std::vector<uint64_t>(objects.size()), args.flags, args.timeout_nsec,
              args.first_signaled);
}

int SyncObjects::wait(const Gpu& gpu, drm_syncobj_timeline_wait& args) {
  constexpr uint32_t kFlags = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL | DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT |
                              DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;
  std::vector<ObjectPointer> objects;
  if (args.flags & ~kFlags) return EINVAL;
  if (const int error = find(gpu, args.handles, args.count_handles, objects)) return error;
  std::vector<uint64_t> points(objects.size());
  if (args.points != 0 && !read_all(args.points, args.count_handles, points)) return EFAULT;
  return wait(gpu, objects, points, args.flags, args.timeout_nsec, args.first_signaled);
}

int SyncObjects::transfer(const Gpu& gpu, const drm_syncobj_transfer& args) {
  if (args.pad != 0) return EINVAL;
  const ObjectPointer to = find(gpu, args.dst_handle);
  if (!to) return ENOENT;
  CommandFences fences;
  if (const int error = fences_at(gpu, args.src_handle, args.src_point, args.flags, fences)) return error;
  put(gpu, *to, args.dst_point == 0 ? std::nullopt : std::optional<uint64_t>(args.dst_point),
      std::move(fences));
  return 0;
}

void SyncObjects::forget_closed() {
  std::erase_if(exported_, [](const auto& entry) {
    pollfd end = {entry.second.ours, 0, 0};
    if (poll(&end, 1, 0) != 1 || !(end.revents & POLLHUP)) return false;
    close_own(entry.second.ours);
    return true;
  });
}

// An object's descriptor is an end of a pair of sockets: when all that the program has of it are closed, the
// other end says so.
int SyncObjects::descriptor_of(const Gpu& gpu, uint32_t handle, bool closes_on_exec, int& descriptor) {
  const ObjectPointer object = find(gpu, handle);
  if (!object) return ENOENT;
  std::lock_guard lock(mutex_);
  forget_closed();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | (closes_on_exec ? SOCK_CLOEXEC : 0), 0, ends) != 0) return errno;
  const int ours = taken_over(ends[1]);
  struct stat status = {};
  if (ours < 0 || fstat(ends[0], &status) != 0) {
    const int error = errno;
    close_own(ours);
    syscall(SYS_close, ends[0]);
    return error;
  }
  exported_[status.st_ino] = {ours, gpu.index, object};
  descriptor = ends[0];
  return 0;
}

int SyncObjects::export_object(const Gpu& gpu, drm_syncobj_handle& args) {
  if (args.pad != 0 || args.flags & ~DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE) return EINVAL;
  if (args.flags != 0) {
    refuse_render_node(_IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD));
    return EINVAL;
  }
  return descriptor_of(gpu, args.handle, true, args.fd);
}

int SyncObjects::import_object(const Gpu& gpu, drm_syncobj_handle& args) {
  if (args.pad != 0 || args.flags & ~DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_IMPORT_SYNC_FILE) return EINVAL;
  if (args.flags != 0) {
    refuse_render_node(_IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE));
    return EINVAL;
  }
  struct stat status = {};
  if (fstat(args.fd, &status) != 0 || !S_ISSOCK(status.st_mode)) return EINVAL;
  std::lock_guard lock(mutex_);
  forget_closed();
  const auto found = exported_.find(status.st_ino);
  if (found == exported_.end() || found->second.device != gpu.index) {
    refuse_render_node(_IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE));
    return EINVAL;
  }
  args.handle = next_++;
  objects_.emplace(Key(gpu.index, args.handle), found->second.object);
  return 0;
}

}  // namespace lockstep::host
