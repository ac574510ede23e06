#include "host/shared_virtual_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace lockstep::host {

namespace {

constexpr uint32_t kAllFlags = KFD_IOCTL_SVM_FLAG_HOST_ACCESS | KFD_IOCTL_SVM_FLAG_COHERENT |
                               KFD_IOCTL_SVM_FLAG_HIVE_LOCAL | KFD_IOCTL_SVM_FLAG_GPU_RO |
                               KFD_IOCTL_SVM_FLAG_GPU_EXEC | KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY |
                               KFD_IOCTL_SVM_FLAG_GPU_ALWAYS_MAPPED;
constexpr uint32_t kMostGranularity = 0x3f;

// Whether all of it is memory of the process, accessible or not.
bool is_memory(uint64_t address, uint64_t bytes) {
  return syscall(SYS_msync, address, bytes, MS_ASYNC) == 0;
}

}  // namespace

Gpu* SharedVirtualMemory::find(uint32_t id) const {
  for (const auto& gpu : gpus_)
    if (gpu->id == id) return gpu.get();
  return nullptr;
}

bool SharedVirtualMemory::is_location(uint32_t value) const {
  return value == KFD_IOCTL_SVM_LOCATION_SYSMEM || value == KFD_IOCTL_SVM_LOCATION_UNDEFINED || find(value);
}

int SharedVirtualMemory::check(const kfd_ioctl_svm_attribute& attribute) const {
  switch (attribute.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      return is_location(attribute.value) ? 0 : EINVAL;
    case KFD_IOCTL_SVM_ATTR_ACCESS:
    case KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE:
    case KFD_IOCTL_SVM_ATTR_NO_ACCESS:
      return find(attribute.value) ? 0 : EINVAL;
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
    case KFD_IOCTL_SVM_ATTR_GRANULARITY:
      return 0;
    default:
      return EINVAL;
  }
}

void SharedVirtualMemory::cut(uint64_t address) {
  const auto after = stretches_.upper_bound(address);
  if (after == stretches_.begin()) return;
  const auto across = std::prev(after);
  if (across->first == address || across->second.end <= address) return;
  const Stretch rest = across->second;
  across->second.end = address;
  stretches_.emplace(address, rest);
}

void SharedVirtualMemory::set(const kfd_ioctl_svm_args& args,
                              const std::vector<kfd_ioctl_svm_attribute>& attributes) {
  const uint64_t begin = args.start_addr, end = begin + args.size;
  const auto change = [&](Advice& advice) {
    for (const auto& [type, value] : attributes) {
      if (type == KFD_IOCTL_SVM_ATTR_PREFERRED_LOC) advice.preferred = value;
      if (type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC) advice.prefetched = value;
      if (type == KFD_IOCTL_SVM_ATTR_SET_FLAGS) advice.flags |= value & kAllFlags;
      if (type == KFD_IOCTL_SVM_ATTR_CLR_FLAGS) advice.flags &= ~value;
      if (type == KFD_IOCTL_SVM_ATTR_GRANULARITY) advice.granularity = value & kMostGranularity;
      if (type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE) advice.in_place |= uint64_t{1} << find(value)->index;
      if (type == KFD_IOCTL_SVM_ATTR_ACCESS || type == KFD_IOCTL_SVM_ATTR_NO_ACCESS)
        advice.in_place &= ~(uint64_t{1} << find(value)->index);
    }
  };
  cut(begin);
  cut(end);
  // What nothing was said of yet lies between the stretches.
  for (uint64_t at = begin; at < end;) {
    const auto next = stretches_.lower_bound(at);
    if (next != stretches_.end() && next->first == at) {
      at = next->second.end;
      continue;
    }
    const uint64_t gap_end = next == stretches_.end() ? end : std::min(end, next->first);
    stretches_.emplace(at, Stretch{gap_end, {}});
    at = gap_end;
  }
  for (auto at = stretches_.lower_bound(begin); at != stretches_.end() && at->first < end;) {
    change(at->second.advice);
    at = at->second.advice == Advice{} ? stretches_.erase(at) : std::next(at);
  }
  for (const auto& [type, value] : attributes) {
    if (type == KFD_IOCTL_SVM_ATTR_ACCESS || type == KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE)
      find(value)->memory.map_over(begin, args.size, kReadWrite | kExecute, "shared virtual memory");
    if (type == KFD_IOCTL_SVM_ATTR_NO_ACCESS) find(value)->memory.unmap(begin, args.size);
  }
}

std::vector<SharedVirtualMemory::Advice> SharedVirtualMemory::advice(uint64_t begin, uint64_t end) const {
  std::vector<Advice> all;
  auto next = stretches_.upper_bound(begin);
  if (next != stretches_.begin() && std::prev(next)->second.end > begin) --next;
  uint64_t at = begin;
  for (; at < end && next != stretches_.end() && next->first < end; ++next) {
    if (next->first > at) all.emplace_back();
    all.push_back(next->second.advice);
    at = next->second.end;
  }
  if (at < end) all.emplace_back();
  return all;
}

int SharedVirtualMemory::get(const kfd_ioctl_svm_args& args, kfd_ioctl_svm_attribute& attribute) const {
  const std::vector<Advice> parts = advice(args.start_addr, args.start_addr + args.size);
  // A place is told if it is that of the whole range.
  const auto common = [&](uint32_t Advice::* place) {
    const uint32_t first = parts.front().*place;
    const bool all =
        std::all_of(parts.begin(), parts.end(), [&](const Advice& a) { return a.*place == first; });
    return all ? first : uint32_t{KFD_IOCTL_SVM_LOCATION_UNDEFINED};
  };
  uint32_t of_all = kAllFlags, of_any = 0, granularity = kMostGranularity;
  uint64_t all_in_place = ~uint64_t{0}, any_in_place = 0;
  for (const Advice& part : parts) {
    of_all &= part.flags;
    of_any |= part.flags;
    granularity = std::min(granularity, part.granularity);
    all_in_place &= part.in_place;
    any_in_place |= part.in_place;
  }
  switch (attribute.type) {
    case KFD_IOCTL_SVM_ATTR_PREFERRED_LOC:
      attribute.value = common(&Advice::preferred);
      return 0;
    case KFD_IOCTL_SVM_ATTR_PREFETCH_LOC:
      attribute.value = common(&Advice::prefetched);
      return 0;
    case KFD_IOCTL_SVM_ATTR_ACCESS: {
      Gpu* const gpu = find(attribute.value);
      if (!gpu) return EINVAL;
      // One way for all of the range, or none.
      attribute.type = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
      if (!gpu->memory.snapshot()->find(args.start_addr, args.size, kRead)) return 0;
      if (all_in_place >> gpu->index & 1) attribute.type = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE;
      if (!(any_in_place >> gpu->index & 1)) attribute.type = KFD_IOCTL_SVM_ATTR_ACCESS;
      return 0;
    }
    case KFD_IOCTL_SVM_ATTR_SET_FLAGS:
      attribute.value = of_all;
      return 0;
    case KFD_IOCTL_SVM_ATTR_CLR_FLAGS:
      attribute.value = ~of_any;
      return 0;
    case KFD_IOCTL_SVM_ATTR_GRANULARITY:
      attribute.value = granularity;
      return 0;
    default:
      return EINVAL;
  }
}

int SharedVirtualMemory::answer(kfd_ioctl_svm_args& args, uint32_t attributes) {
  if (!is_address_range(args.start_addr, args.size) || args.size % kPageBytes != 0) return EINVAL;
  if (!is_memory(args.start_addr, args.size)) return EFAULT;
  // What was allocated for a device is not shared besides (Linux, kfd_svm.c: svm_range_check_vm).
  if (buffers_.are_mapped_in(args.start_addr, args.size)) return EADDRINUSE;
  std::lock_guard lock(mutex_);
  if (args.op == KFD_IOCTL_SVM_OP_SET_ATTR) {
    const std::vector<kfd_ioctl_svm_attribute> wanted(args.attrs, args.attrs + attributes);
    // All or nothing, as the driver does it.
    for (const kfd_ioctl_svm_attribute& attribute : wanted)
      if (const int error = check(attribute)) return error;
    set(args, wanted);
    return 0;
  }
  if (args.op != KFD_IOCTL_SVM_OP_GET_ATTR) return EINVAL;
  for (uint32_t i = 0; i < attributes; ++i)
    if (const int error = get(args, args.attrs[i])) return error;
  return 0;
}

}  // namespace lockstep::host
