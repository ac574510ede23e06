#include "host/buffers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "host/export_record.h"
#include "host/own_descriptors.h"
#include "host/reserved.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

uint64_t whole_pages(uint64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

const char* name_of(uint32_t flags) {
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) return "device memory";
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) return "host memory";
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) return "doorbells";
  if (flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) return "registers";
  return "memory of the host for devices";
}

// Has the host find pages for memory that a program is about to fill, all at once: one at a time, by a fault
// each, takes several times as long. As many as leave enough for what others need.
void find_pages(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kMostBytes = uint64_t{512} << 20;
  constexpr uint64_t kLeastPartOfFree = 4;
  struct sysinfo host = {};
  if (bytes > kMostBytes || syscall(SYS_sysinfo, &host) != 0 ||
      bytes > uint64_t{host.freeram} * host.mem_unit / kLeastPartOfFree)
    return;
  // Where Linux does not know it, or the program has changed its mind, pages come by faults.
  syscall(SYS_madvise, address, bytes, MADV_POPULATE_WRITE);
}

}  // namespace

Gpu* Buffers::find(uint32_t id) const {
  for (const auto& gpu : gpus_)
    if (gpu->id == id) return gpu.get();
  return nullptr;
}

Buffers::Buffer* Buffers::find_buffer(uint64_t handle) {
  const auto found = buffers_.find(handle);
  return found == buffers_.end() ? nullptr : &found->second;
}

bool Buffers::read_ids(uint64_t address, uint32_t count, std::vector<uint32_t>& ids) const {
  if (count > kMostGpus) return false;
  ids.resize(count);
  return copy_from_process(ids.data(), address, count * sizeof(uint32_t));
}

uint64_t Buffers::used(const Gpu& gpu) const {
  std::lock_guard lock(mutex_);
  return used_[gpu.index];
}

uint64_t Buffers::place_of(uint64_t handle, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const Buffer* const buffer = find_buffer(handle);
  return buffer && buffer->imported < 0 && buffer->bytes >= bytes ? buffer->offset : 0;
}

bool Buffers::are_mapped_in(uint64_t begin, uint64_t bytes) const {
  if (gem_objects_.are_mapped_in(begin, bytes)) return true;
  std::lock_guard lock(mutex_);
  return std::ranges::any_of(buffers_, [&](const auto& entry) {
    const Buffer& buffer = entry.second;
    return buffer.offset != 0 && !buffer.mapped.empty() && buffer.address < begin + bytes &&
           begin < buffer.address + buffer.bytes;
  });
}

int Buffers::allocate(kfd_ioctl_alloc_memory_of_gpu_args& args) {
  Gpu* const gpu = find(args.gpu_id);
  if (!gpu || args.size == 0 || args.size > kHighestAddress) return EINVAL;
  constexpr uint32_t kOfDevice = KFD_IOC_ALLOC_MEM_FLAGS_VRAM, kOfHost = KFD_IOC_ALLOC_MEM_FLAGS_GTT;
  Buffer buffer;
  buffer.address = args.va_addr;
  buffer.bytes = whole_pages(args.size);
  buffer.flags = args.flags;
  buffer.gpu = gpu->index;
  if (buffer.address != 0 && !is_address_range(buffer.address, buffer.bytes)) return EINVAL;

  if (buffer.address != 0 && args.flags & (kOfDevice | kOfHost) &&
      !is_reserved(buffer.address, buffer.bytes)) {
    std::fprintf(stderr, "lockstep: no device memory at 0x%llx: the program has memory of its own there\n",
                 args.va_addr);
    return EINVAL;
  }

  const bool is_elsewhere =
      (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0 && args.mmap_offset != args.va_addr;
  // ROCr asks so for memory of the device that OpenCL wants to lock: Linux finds no pages of the program's
  // there.
  if (is_elsewhere && are_mapped_in(args.mmap_offset, buffer.bytes)) return EFAULT;

  std::lock_guard lock(mutex_);
  give_back_left();
  if (args.flags & (kOfDevice | kOfHost)) {
    if (args.flags & kOfDevice && used_[gpu->index] + buffer.bytes > local_memory_bytes(gpu->model))
      return ENOMEM;
    buffer.offset = store_.allocate(buffer.bytes);
    if (buffer.offset == 0) return ENOMEM;
    // Memory of the device that the host does not see the emulator still has to reach.
    if (buffer.address != 0 &&
        !store_.map(reinterpret_cast<void*>(buffer.address), buffer.offset, buffer.bytes)) {
      store_.free(buffer.offset, buffer.bytes);
      return ENOMEM;
    }
    args.mmap_offset = buffer.offset;
    if (args.flags & kOfDevice) used_[gpu->index] += buffer.bytes;
  } else if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
    // Guest addresses are host addresses.
    if (is_elsewhere) {
      std::fprintf(stderr,
                   "lockstep: host memory at 0x%llx cannot be at 0x%llx for a device, only at its own "
                   "address (let the runtime use the address limit that the driver reports)\n",
                   args.mmap_offset, args.va_addr);
      return EINVAL;
    }
  } else if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
    args.mmap_offset = Store::kFirstDoorbells + gpu->index * Store::kDoorbellBytes;
  } else if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP) {
    args.mmap_offset = Store::kFirstRegisters + gpu->index * Store::kRegisterBytes;
  } else {
    return EINVAL;
  }
  args.handle = next_handle_++;
  if (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) of_program_.insert(args.handle);
  buffers_.emplace(args.handle, std::move(buffer));
  return 0;
}

int Buffers::free(const kfd_ioctl_free_memory_of_gpu_args& args) {
  std::lock_guard lock(mutex_);
  Buffer* const buffer = find_buffer(args.handle);
  if (!buffer) return EINVAL;
  for (uint32_t index : buffer->mapped) gpus_[index]->memory.unmap(buffer->address, buffer->bytes);
  const Left memory = {buffer->offset, buffer->bytes, buffer->record, buffer->flags, buffer->gpu};
  if (buffer->imported >= 0) {
    store_.free(buffer->offset, buffer->bytes);
    close_own(buffer->imported);
    close_own(buffer->record);
  } else if (buffer->shows_holders) {
    left_.push_back(memory);
  } else {
    give_back(memory);
  }
  of_program_.erase(args.handle);
  buffers_.erase(args.handle);
  give_back_left();
  return 0;
}

void Buffers::give_back(const Left& memory) {
  if (memory.offset != 0) store_.free(memory.offset, memory.bytes);
  if (memory.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) used_[memory.gpu] -= memory.bytes;
  close_own(memory.record);
}

void Buffers::give_back_left() {
  std::erase_if(left_, [&](const Left& memory) {
    if (is_held_by_others(memory.record)) return false;
    give_back(memory);
    return true;
  });
}

int Buffers::map_on(Buffer& buffer, Gpu& gpu) {
  if (buffer.mapped.contains(gpu.index)) return 0;
  // The program may have mapped it without rights, since the host is not to see it.
  if (buffer.offset != 0 && buffer.imported < 0 &&
      syscall(SYS_mprotect, buffer.address, buffer.bytes, PROT_READ | PROT_WRITE) != 0)
    return ENOMEM;
  const uint8_t access = kRead | (buffer.flags & KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE ? kWrite : uint8_t{0}) |
                         (buffer.flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE ? kExecute : uint8_t{0});
  // Memory that the program had here is gone, and Linux's driver takes the whole of such a buffer away with
  // its first page. HIP keeps what it has pinned for a copy, and frees it long after the program has given it
  // back.
  for (const uint64_t handle : of_program_) {
    Buffer& other = buffers_.at(handle);
    if (buffer.offset != 0 && other.address < buffer.address + buffer.bytes &&
        buffer.address < other.address + other.bytes && other.mapped.erase(gpu.index))
      gpu.memory.unmap(other.address, other.bytes);
  }
  if (!gpu.memory.map_over(buffer.address, buffer.bytes, access, name_of(buffer.flags))) return EINVAL;
  buffer.mapped.insert(gpu.index);
  return 0;
}

int Buffers::map(kfd_ioctl_map_memory_to_gpu_args& args) {
  std::vector<uint32_t> ids;
  if (!read_ids(args.device_ids_array_ptr, args.n_devices, ids)) return EFAULT;
  std::unique_lock lock(mutex_);
  Buffer* const buffer = find_buffer(args.handle);
  if (!buffer || args.n_success > args.n_devices || buffer->address == 0) return EINVAL;
  // What programs allocate on a device. What the host cannot see there is the runtime's, and large: scratch.
  constexpr uint32_t kOfPrograms = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
  const bool is_to_be_filled =
      (buffer->flags & kOfPrograms) == kOfPrograms && buffer->imported < 0 && buffer->mapped.empty();
  for (; args.n_success < args.n_devices; ++args.n_success) {
    Gpu* const gpu = find(ids[args.n_success]);
    if (!gpu) return EINVAL;
    if (const int error = map_on(*buffer, *gpu)) return error;
  }
  const uint64_t address = buffer->address, bytes = buffer->bytes;
  lock.unlock();
  if (is_to_be_filled) find_pages(address, bytes);
  return 0;
}

int Buffers::unmap(kfd_ioctl_unmap_memory_from_gpu_args& args) {
  std::vector<uint32_t> ids;
  if (!read_ids(args.device_ids_array_ptr, args.n_devices, ids)) return EFAULT;
  std::lock_guard lock(mutex_);
  Buffer* const buffer = find_buffer(args.handle);
  if (!buffer || args.n_success > args.n_devices) return EINVAL;
  for (; args.n_success < args.n_devices; ++args.n_success) {
    Gpu* const gpu = find(ids[args.n_success]);
    if (!gpu) return EINVAL;
    if (buffer->mapped.erase(gpu->index)) gpu->memory.unmap(buffer->address, buffer->bytes);
  }
  return 0;
}

int Buffers::available(kfd_ioctl_get_available_memory_args& args) {
  Gpu* const gpu = find(args.gpu_id);
  if (!gpu) return EINVAL;
  {
    std::lock_guard lock(mutex_);
    give_back_left();
  }
  args.available = local_memory_bytes(gpu->model) - used(*gpu);
  return 0;
}

int Buffers::make_record(const Buffer& buffer) const {
  const int file =
      taken_over(static_cast<int>(syscall(SYS_memfd_create, "lockstep dmabuf", 1u /* MFD_CLOEXEC */)));
  if (file < 0) return -errno;
  const ExportRecord record = {
      kExportMagic,        buffer.offset, buffer.bytes, static_cast<uint32_t>(syscall(SYS_getpid)),
      store_.descriptor(), buffer.flags,  buffer.gpu};
  if (syscall(SYS_ftruncate, file, buffer.bytes) != 0 ||
      syscall(SYS_pwrite64, file, &record, sizeof record, 0) != sizeof record) {
    const int error = errno;
    close_own(file);
    return -error;
  }
  return file;
}

int Buffers::record_of(Buffer& buffer) const {
  if (buffer.record >= 0) return buffer.record;
  const int file = make_record(buffer);
  if (file < 0) return file;
  // Where there is no /proc the memory goes with its buffer.
  const int again = taken_over(open_of_process(static_cast<uint32_t>(syscall(SYS_getpid)), file));
  if (again >= 0) close_own(file);
  buffer.record = again >= 0 ? again : file;
  buffer.shows_holders = !is_held_by_others(buffer.record);
  return buffer.record;
}

int Buffers::export_dmabuf(ExportDmabufArgs& args) {
  std::lock_guard lock(mutex_);
  Buffer* const buffer = find_buffer(args.handle);
  if (!buffer || buffer->offset == 0) return EINVAL;
  const int record = record_of(*buffer);
  if (record < 0) return -record;
  // Opened anew, so that it can be told whether somebody still has it.
  int file = open_of_process(static_cast<uint32_t>(syscall(SYS_getpid)), record);
  if (file < 0) file = static_cast<int>(syscall(SYS_fcntl, record, F_DUPFD_CLOEXEC, 0));
  if (file < 0) return errno;
  if (!(args.flags & O_CLOEXEC)) syscall(SYS_fcntl, file, F_SETFD, 0);
  args.dmabuf_fd = static_cast<uint32_t>(file);
  return 0;
}

// The handle names a file of this process, which stays as long as the buffer.
int Buffers::export_ipc(IpcExportArgs& args) {
  std::lock_guard lock(mutex_);
  Buffer* const buffer = find_buffer(args.handle);
  if (!buffer || buffer->offset == 0) return EINVAL;
  const int record = record_of(*buffer);
  if (record < 0) return -record;
  args.share_handle[0] = static_cast<uint32_t>(kExportMagic);
  args.share_handle[1] = static_cast<uint32_t>(syscall(SYS_getpid));
  args.share_handle[2] = static_cast<uint32_t>(record);
  args.share_handle[3] = args.flags;  // what the runtime says of the memory, for the one who imports it
  return 0;
}

int Buffers::dmabuf_info(kfd_ioctl_get_dmabuf_info_args& args) {
  const int file = static_cast<int>(args.dmabuf_fd);
  ExportRecord record;
  ExportMetadata metadata;
  if (!read_record(file, record) || record.gpu >= gpus_.size() || !read_metadata(file, metadata))
    return EINVAL;
  const uint32_t room = args.metadata_size;
  args.metadata_size = metadata.bytes;
  if (args.metadata_ptr != 0 && room < metadata.bytes) return EINVAL;
  if (args.metadata_ptr != 0 && !copy_to_process(args.metadata_ptr, metadata.data, metadata.bytes))
    return EFAULT;
  args.size = record.bytes;
  args.gpu_id = gpus_[record.gpu]->id;
  args.flags = record.flags;
  return 0;
}

// At address 0 it is nowhere: a handle by which the memory can be exported again, which the program then maps
// by the render node (hsa_amd_vmem_import_shareable_handle).
int Buffers::import(int record_file, uint64_t address, uint32_t id, uint64_t& handle) {
  ExportRecord record;
  Gpu* const gpu = find(id);
  if (!gpu || !read_record(record_file, record) ||
      (address != 0 && (!is_address_range(address, record.bytes) || !is_reserved(address, record.bytes))))
    return EINVAL;
  // The other process's file, which may be our own.
  const int file = taken_over(open_exported(record));
  if (file < 0) return EINVAL;
  Buffer buffer;
  buffer.address = address;
  buffer.bytes = record.bytes;
  buffer.imported = file;
  buffer.imported_offset = record.offset;
  buffer.record = own_copy(record_file);
  buffer.flags = record.flags;
  buffer.gpu = gpu->index;
  buffer.offset = store_.allocate(record.bytes);
  const auto is_mapped = [&] {
    return reinterpret_cast<void*>(syscall(SYS_mmap, address, record.bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, record.offset)) !=
           MAP_FAILED;
  };
  if (buffer.record < 0 || buffer.offset == 0 || (address != 0 && !is_mapped())) {
    if (buffer.offset != 0) store_.free(buffer.offset, buffer.bytes);
    close_own(file);
    close_own(buffer.record);
    return ENOMEM;
  }
  std::lock_guard lock(mutex_);
  handle = next_handle_++;
  buffers_.emplace(handle, std::move(buffer));
  return 0;
}

int Buffers::import_dmabuf(kfd_ioctl_import_dmabuf_args& args) {
  uint64_t handle = 0;
  const int error = import(static_cast<int>(args.dmabuf_fd), args.va_addr, args.gpu_id, handle);
  args.handle = handle;
  return error;
}

int Buffers::import_ipc(IpcImportArgs& args) {
  if (args.share_handle[0] != static_cast<uint32_t>(kExportMagic)) return EINVAL;
  const int record = open_of_process(args.share_handle[1], static_cast<int>(args.share_handle[2]));
  if (record < 0) return EINVAL;
  const int error = import(record, args.va_addr, args.gpu_id, args.handle);
  syscall(SYS_close, record);
  if (error != 0) return error;
  std::lock_guard lock(mutex_);
  const Buffer& buffer = buffers_.at(args.handle);
  args.mmap_offset = buffer.offset;
  args.flags = args.share_handle[3];
  return 0;
}

int Buffers::create_gem(const Gpu& gpu, drm_amdgpu_gem_create& args) {
  const uint64_t domains = args.in.domains;
  if ((domains & (AMDGPU_GEM_DOMAIN_VRAM | AMDGPU_GEM_DOMAIN_GTT)) == 0) return EINVAL;  // GDS and its kin
  kfd_ioctl_alloc_memory_of_gpu_args memory = {};
  memory.size = args.in.bo_size;
  memory.gpu_id = gpu.id;
  memory.flags =
      KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
      (domains & AMDGPU_GEM_DOMAIN_VRAM ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM : KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  if (args.in.domain_flags & AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED)
    memory.flags |= KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
  if (const int error = allocate(memory)) return error;
  ExportDmabufArgs exported = {memory.handle, O_CLOEXEC, 0};
  int error = export_dmabuf(exported);
  if (error == 0) {
    drm_prime_handle object = {};
    object.fd = static_cast<int>(exported.dmabuf_fd);
    error = gem_objects_.import(gpu, object);
    args.out.handle = object.handle;
    syscall(SYS_close, object.fd);
  }
  // The object holds the memory from now on.
  kfd_ioctl_free_memory_of_gpu_args buffer = {};
  buffer.handle = memory.handle;
  free(buffer);
  return error;
}

int Buffers::close_gem(Gpu& gpu, const drm_gem_close& args) {
  const int error = gem_objects_.close(gpu, args);
  std::lock_guard lock(mutex_);
  give_back_left();
  return error;
}

int Buffers::descriptor_at(uint64_t& offset, uint64_t bytes) const {
  if (const std::optional<int> file = gem_objects_.descriptor_at(offset, bytes)) return *file;
  std::lock_guard lock(mutex_);
  for (const auto& [handle, buffer] : buffers_) {
    if (buffer.imported < 0 || offset < buffer.offset || offset - buffer.offset >= buffer.bytes) continue;
    if (bytes > buffer.bytes - (offset - buffer.offset)) return -1;
    offset = offset - buffer.offset + buffer.imported_offset;
    return buffer.imported;
  }
  const auto is_within = [&](uint64_t begin, uint64_t all) {
    return offset >= begin && offset - begin < all && bytes <= all - (offset - begin);
  };
  const bool is_given = store_.has_given(offset, bytes) ||
                        is_within(Store::kFirstDoorbells, gpus_.size() * Store::kDoorbellBytes) ||
                        is_within(Store::kFirstRegisters, gpus_.size() * Store::kRegisterBytes) ||
                        is_within(Store::kEvents, Store::kEventBytes);
  return is_given ? store_.descriptor() : -1;
}

}  // namespace lockstep::host
