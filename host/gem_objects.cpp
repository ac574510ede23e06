#include "host/gem_objects.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "host/export_record.h"
#include "host/kfd_abi.h"
#include "host/own_descriptors.h"
#include "host/reserved.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

constexpr uint64_t kPage = kPageBytes;

void* map_pages(uint64_t address, uint64_t bytes, int protection, int flags, int file, uint64_t offset) {
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, bytes, protection, flags | MAP_FIXED, file, offset));
}

}  // namespace

GemObjects::~GemObjects() {
  for (auto& [key, object] : objects_) {
    close_own(object.record);
    close_own(object.memory);
  }
}

int GemObjects::import(const Gpu& gpu, drm_prime_handle& args) {
  ExportRecord record;
  if (!read_record(args.fd, record)) return EINVAL;
  Object object;
  object.memory = taken_over(open_exported(record));
  if (object.memory < 0) return EINVAL;
  struct stat status = {};
  object.record = own_copy(args.fd);
  // The record is the program's: it may say what is not so.
  if (object.record < 0 || syscall(SYS_fstat, object.memory, &status) != 0 || record.bytes == 0 ||
      record.bytes % kPage != 0 || record.offset % kPage != 0 ||
      record.offset > static_cast<uint64_t>(status.st_size) ||
      record.bytes > static_cast<uint64_t>(status.st_size) - record.offset) {
    close_own(object.record);
    close_own(object.memory);
    return EINVAL;
  }
  object.inode = status.st_ino;
  object.offset = record.offset;
  object.bytes = record.bytes;
  struct stat own = {};
  object.is_own = syscall(SYS_fstat, store_.descriptor(), &own) == 0 && own.st_ino == status.st_ino;
  std::lock_guard lock(mutex_);
  for (const auto& [key, other] : objects_) {
    if (key.first != gpu.index || other.inode != object.inode || other.offset != object.offset) continue;
    close_own(object.record);
    close_own(object.memory);
    args.handle = key.second;
    return 0;
  }
  args.handle = next_handle_++;
  objects_.emplace(Key(gpu.index, args.handle), std::move(object));
  return 0;
}

int GemObjects::export_again(const Gpu& gpu, drm_prime_handle& args) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  if (found == objects_.end()) return ENOENT;
  const int file = static_cast<int>(
      syscall(SYS_fcntl, found->second.record, args.flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
  if (file < 0) return errno;
  args.fd = file;
  return 0;
}

int GemObjects::close(Gpu& gpu, const drm_gem_close& args) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  if (found == objects_.end()) return EINVAL;
  Object& object = found->second;
  while (!object.mappings.empty()) unmap(gpu, object, object.mappings.begin()->first);
  if (object.name != 0) store_.free(object.name, object.bytes);
  close_own(object.record);
  close_own(object.memory);
  objects_.erase(found);
  return 0;
}

int GemObjects::map(Gpu& gpu, Object& object, const drm_amdgpu_gem_va& args) {
  const uint64_t begin = args.va_address, bytes = args.map_size, offset = object.offset + args.offset_in_bo;
  if (bytes > object.bytes || args.offset_in_bo > object.bytes - bytes || args.offset_in_bo % kPage != 0)
    return EINVAL;
  // Mapped by this object or another one already.
  auto next = object.mappings.lower_bound(begin);
  if ((next != object.mappings.end() && next->first < begin + bytes) ||
      (next != object.mappings.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin))
    return EINVAL;
  const auto shared = shared_.find(begin);
  const bool is_there = shared != shared_.end() && shared->second.bytes == bytes &&
                        shared->second.inode == object.inode && shared->second.offset == offset;
  if (!is_there) {
    // Guest addresses are host addresses: the emulated device reaches the memory by the process's mapping.
    if (shared != shared_.end() || !is_reserved(begin, bytes, object.inode)) {
      std::fprintf(stderr, "lockstep: no device memory at 0x%llx: the program has memory of its own there\n",
                   static_cast<unsigned long long>(begin));
      return EINVAL;
    }
    if (map_pages(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, object.memory, offset) ==
        MAP_FAILED)
      return ENOMEM;
  }
  const uint8_t access = (args.flags & AMDGPU_VM_PAGE_READABLE ? kRead : uint8_t{0}) |
                         (args.flags & AMDGPU_VM_PAGE_WRITEABLE ? kWrite : uint8_t{0}) |
                         (args.flags & AMDGPU_VM_PAGE_EXECUTABLE ? kExecute : uint8_t{0});
  gpu.memory.map_over(begin, bytes, access, "device memory");
  object.mappings[begin] = {bytes, args.offset_in_bo};
  Shared& entry = shared_[begin];
  entry.bytes = bytes;
  entry.inode = object.inode;
  entry.offset = offset;
  ++entry.users;
  return 0;
}

void GemObjects::unmap(Gpu& gpu, Object& object, uint64_t begin) {
  const auto mapping = object.mappings.find(begin);
  gpu.memory.unmap(begin, mapping->second.bytes);
  const auto shared = shared_.find(begin);
  if (--shared->second.users == 0) {
    // The addresses stay the program's, without memory.
    map_pages(begin, mapping->second.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    shared_.erase(shared);
  }
  object.mappings.erase(mapping);
}

int GemObjects::change_mapping(Gpu& gpu, const drm_amdgpu_gem_va& args) {
  if (args.va_address % kPage != 0 || args.va_address < kPage || args.map_size == 0 ||
      args.map_size % kPage != 0 || args.map_size > kHighestAddress ||
      args.va_address > kHighestAddress - args.map_size)
    return EINVAL;
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  // To clear a range needs no object.
  if (args.operation == AMDGPU_VA_OP_CLEAR || args.operation == AMDGPU_VA_OP_REPLACE) {
    for (auto& [key, object] : objects_) {
      if (key.first != gpu.index) continue;
      std::vector<uint64_t> within;
      for (const auto& [begin, mapping] : object.mappings) {
        const uint64_t bytes = mapping.bytes;
        if (begin >= args.va_address + args.map_size || begin + bytes <= args.va_address) continue;
        if (begin < args.va_address || begin + bytes > args.va_address + args.map_size) {
          std::fprintf(stderr,
                       "lockstep: the render node does not take away a part of the mapping at 0x%llx (unmap "
                       "all of it)\n",
                       static_cast<unsigned long long>(begin));
          return EINVAL;
        }
        within.push_back(begin);
      }
      for (const uint64_t begin : within) unmap(gpu, object, begin);
    }
    if (args.operation == AMDGPU_VA_OP_CLEAR) return 0;
  }
  if (found == objects_.end()) return ENOENT;
  Object& object = found->second;
  if (args.operation == AMDGPU_VA_OP_MAP || args.operation == AMDGPU_VA_OP_REPLACE)
    return map(gpu, object, args);
  if (args.operation != AMDGPU_VA_OP_UNMAP) return EINVAL;
  const auto mapping = object.mappings.find(args.va_address);
  if (mapping == object.mappings.end() || mapping->second.bytes != args.map_size) return ENOENT;
  unmap(gpu, object, args.va_address);
  return 0;
}

int GemObjects::mmap_offset(const Gpu& gpu, drm_amdgpu_gem_mmap& args) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.in.handle});
  if (found == objects_.end()) return ENOENT;
  Object& object = found->second;
  if (!object.is_own && object.name == 0) object.name = store_.allocate(object.bytes);
  if (!object.is_own && object.name == 0) return ENOMEM;
  args.out.addr_ptr = object.is_own ? object.offset : object.name;
  return 0;
}

std::optional<int> GemObjects::descriptor_at(uint64_t& offset, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, object] : objects_) {
    if (object.name == 0 || offset < object.name || offset - object.name >= object.bytes) continue;
    if (bytes > object.bytes - (offset - object.name)) return -1;
    offset = offset - object.name + object.offset;
    return object.memory;
  }
  return std::nullopt;
}

bool GemObjects::are_mapped_in(uint64_t begin, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  const auto next = shared_.lower_bound(begin + bytes);
  return next != shared_.begin() && std::prev(next)->first + std::prev(next)->second.bytes > begin;
}

int GemObjects::metadata(const Gpu& gpu, drm_amdgpu_gem_metadata& args) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  if (found == objects_.end()) return ENOENT;
  ExportMetadata metadata;
  if (args.op == AMDGPU_GEM_METADATA_OP_SET_METADATA) {
    if (args.data.data_size_bytes > sizeof args.data.data) return EINVAL;
    metadata.flags = args.data.flags;
    metadata.tiling = args.data.tiling_info;
    metadata.bytes = args.data.data_size_bytes;
    std::memcpy(metadata.data, args.data.data, metadata.bytes);
    return write_metadata(found->second.record, metadata) ? 0 : ENOMEM;
  }
  if (args.op != AMDGPU_GEM_METADATA_OP_GET_METADATA || !read_metadata(found->second.record, metadata))
    return EINVAL;
  args.data.flags = metadata.flags;
  args.data.tiling_info = metadata.tiling;
  args.data.data_size_bytes = metadata.bytes;
  std::memcpy(args.data.data, metadata.data, metadata.bytes);
  return 0;
}

bool GemObjects::has(const Gpu& gpu, uint32_t handle) const {
  std::lock_guard lock(mutex_);
  return objects_.contains({gpu.index, handle});
}

uint64_t GemObjects::address_of(const Gpu& gpu, uint32_t handle, uint64_t offset, uint64_t bytes) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, handle});
  if (found == objects_.end()) return 0;
  for (const auto& [begin, mapping] : found->second.mappings)
    if (offset >= mapping.offset && offset - mapping.offset < mapping.bytes &&
        bytes <= mapping.bytes - (offset - mapping.offset))
      return begin + (offset - mapping.offset);
  return 0;
}

int GemObjects::operate(const Gpu& gpu, const drm_amdgpu_gem_op& args) {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find({gpu.index, args.handle});
  if (found == objects_.end()) return ENOENT;
  if (args.op == AMDGPU_GEM_OP_SET_PLACEMENT) return 0;
  ExportRecord record;
  if (args.op != AMDGPU_GEM_OP_GET_GEM_CREATE_INFO || !read_record(found->second.record, record))
    return EINVAL;
  drm_amdgpu_gem_create_in made = {};
  made.bo_size = found->second.bytes;
  made.alignment = kPage;
  made.domains = record.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? AMDGPU_GEM_DOMAIN_VRAM : AMDGPU_GEM_DOMAIN_GTT;
  if (record.flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC)
    made.domain_flags = AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED;
  return copy_to_process(args.value, &made, sizeof made) ? 0 : EFAULT;
}

}  // namespace lockstep::host
