// What goes with memory that one process exports and another one takes. Another driver stands for another
// process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "host/export_record.h"
#include "tests/host/driver_fixture.h"

namespace lockstep::host {
namespace {

struct ExportedMemory : DriverTest {
  Driver other{settings(1)};
  kfd_ioctl_alloc_memory_of_gpu_args buffer =
      allocate(2 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC);

  int exported(Driver& from, uint64_t handle) {
    ExportDmabufArgs args = {};
    args.handle = handle;
    args.flags = O_CLOEXEC;
    EXPECT_EQ(from.kfd_ioctl(_IOWR('K', 0x24, ExportDmabufArgs), &args), 0);
    return static_cast<int>(args.dmabuf_fd);
  }
  uint32_t object_of(Driver& to, int file) {
    drm_prime_handle args = {};
    args.fd = file;
    EXPECT_EQ(to.render_ioctl(0, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args), 0);
    return args.handle;
  }
};

// ROCr 7 marks memory that it gives a handle for, and the process that takes it looks for the mark
// (hsa_amd_ipc_memory_attach).
TEST_F(ExportedMemory, HasTheMetadataThatWereSetByAnyOfItsFiles) {
  const int first = exported(driver, buffer.handle), second = exported(driver, buffer.handle);
  EXPECT_NE(fcntl(first, F_GETFD) & FD_CLOEXEC, 0);
  drm_amdgpu_gem_metadata set = {};
  set.handle = object_of(driver, first);
  set.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
  ASSERT_EQ(driver.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), 0);
  EXPECT_EQ(set.data.data_size_bytes, 0u) << "none at first";
  set.op = AMDGPU_GEM_METADATA_OP_SET_METADATA;
  set.data.flags = 3;
  set.data.tiling_info = 0x1234567890;
  set.data.data_size_bytes = 72;
  for (uint32_t i = 0; i < 18; ++i) set.data.data[i] = 1000 + i;
  ASSERT_EQ(driver.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), 0);
  close(first);

  drm_amdgpu_gem_metadata got = {};
  got.handle = object_of(other, second);
  got.op = AMDGPU_GEM_METADATA_OP_GET_METADATA;
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &got), 0);
  EXPECT_EQ(std::memcmp(&got.data, &set.data, sizeof got.data), 0);

  uint32_t words[32] = {};
  kfd_ioctl_get_dmabuf_info_args info = {};
  info.dmabuf_fd = static_cast<uint32_t>(second);
  info.metadata_ptr = reinterpret_cast<uint64_t>(words);
  info.metadata_size = 64;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_GET_DMABUF_INFO, &info), EINVAL) << "as much as there is room for";
  EXPECT_EQ(info.metadata_size, 72u) << "by which the thunk asks again";
  ASSERT_EQ(other.kfd_ioctl(AMDKFD_IOC_GET_DMABUF_INFO, &info), 0);
  EXPECT_EQ(std::memcmp(words, set.data.data, 72), 0);
  EXPECT_EQ(words[18], 0u);
  info.metadata_ptr = 4096;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_GET_DMABUF_INFO, &info), EFAULT);

  set.data.data_size_bytes = 257;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), EINVAL);
  set.data.data_size_bytes = 0;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &set), 0);
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &got), 0);
  EXPECT_EQ(got.data.data_size_bytes, 0u) << "gone again";
  got.op = 7;
  EXPECT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &got), EINVAL);
  got.handle = 99;
  EXPECT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_METADATA, &got), ENOENT);
  close(second);
}

TEST_F(ExportedMemory, SaysHowItWasMade) {
  const int file = exported(driver, buffer.handle);
  drm_amdgpu_gem_create_in made = {};
  drm_amdgpu_gem_op ask = {};
  ask.handle = object_of(other, file);
  ask.op = AMDGPU_GEM_OP_GET_GEM_CREATE_INFO;
  ask.value = reinterpret_cast<uint64_t>(&made);
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_OP, &ask), 0);
  EXPECT_EQ(made.bo_size, 2 * kPage);
  EXPECT_EQ(made.alignment, kPage);
  EXPECT_EQ(made.domains, uint64_t{AMDGPU_GEM_DOMAIN_VRAM});
  EXPECT_EQ(made.domain_flags, uint64_t{AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED});
  ask.value = 4096;
  EXPECT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_OP, &ask), EFAULT);
  ask.op = 9;
  EXPECT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_OP, &ask), EINVAL);
  close(file);
}

// As libdrm does for a program that wants to see what it has imported (amdgpu_bo_cpu_map): ROCr 7 so gets at
// signals of others.
TEST_F(ExportedMemory, IsMappedByTheNodeOfAnotherProcess) {
  reinterpret_cast<uint32_t*>(buffer.va_addr)[kPage / 4 + 5] = 21;
  const int file = exported(driver, buffer.handle);
  drm_amdgpu_gem_mmap place = {};
  const uint32_t object = place.in.handle = object_of(other, file);
  close(file);
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_MMAP, &place), 0);
  const uint64_t name = place.out.addr_ptr;
  place = {};
  place.in.handle = object;
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_MMAP, &place), 0);
  EXPECT_EQ(place.out.addr_ptr, name) << "it has one";
  uint64_t offset = name + kPage;
  const int memory = other.descriptor_at(offset, kPage);
  ASSERT_GE(memory, 0);
  void* const seen =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, memory, static_cast<off_t>(offset));
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_EQ(static_cast<uint32_t*>(seen)[5], 21u);
  munmap(seen, kPage);
  offset = name + kPage;
  EXPECT_EQ(other.descriptor_at(offset, 2 * kPage), -1) << "no more than there is";
  drm_gem_close gone = {};
  gone.handle = object;
  EXPECT_EQ(other.render_ioctl(0, DRM_IOCTL_GEM_CLOSE, &gone), 0);
  offset = name;
  EXPECT_EQ(other.descriptor_at(offset, kPage), -1) << "it is gone";
}

// A handle without an address (hsa_amd_vmem_import_shareable_handle): it is not mapped, but exported again,
// and mapped by the render node.
TEST_F(ExportedMemory, IsImportedWithoutAnAddress) {
  const int file = exported(driver, buffer.handle);
  kfd_ioctl_import_dmabuf_args imported = {};
  imported.gpu_id = other.gpus()[0]->id;
  imported.dmabuf_fd = static_cast<uint32_t>(file);
  ASSERT_EQ(other.kfd_ioctl(AMDKFD_IOC_IMPORT_DMABUF, &imported), 0);
  close(file);
  uint32_t ids[] = {imported.gpu_id};
  kfd_ioctl_map_memory_to_gpu_args map = {};
  map.handle = imported.handle;
  map.device_ids_array_ptr = reinterpret_cast<uint64_t>(ids);
  map.n_devices = 1;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map), EINVAL) << "it is nowhere";

  const int again = exported(other, imported.handle);
  drm_amdgpu_gem_va place = {};
  place.handle = object_of(other, again);
  close(again);
  place.operation = AMDGPU_VA_OP_MAP;
  place.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
  place.va_address = reserve(2 * kPage);
  place.map_size = 2 * kPage;
  ASSERT_EQ(other.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_VA, &place), 0);
  reinterpret_cast<uint32_t*>(place.va_address)[kPage / 4] = 8;
  EXPECT_EQ(reinterpret_cast<uint32_t*>(buffer.va_addr)[kPage / 4], 8u) << "the same memory";

  kfd_ioctl_free_memory_of_gpu_args gone = {};
  gone.handle = imported.handle;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &gone), 0);
  reinterpret_cast<uint32_t*>(place.va_address)[kPage / 4] = 9;
  EXPECT_EQ(reinterpret_cast<uint32_t*>(buffer.va_addr)[kPage / 4], 9u) << "mapped by the render node";
}

// Linux sends a signal to who has a lease of a file that another one opens.
TEST(ExportRecord, IsAskedForItsHoldersWhileOthersOpenIt) {
  const auto process = static_cast<uint32_t>(getpid());
  const int made = memfd_create("record", MFD_CLOEXEC), file = open_of_process(process, made);
  ASSERT_GE(file, 0);
  close(made);
  const int second = open_of_process(process, file);
  EXPECT_TRUE(is_held_by_others(file));
  close(second);
  EXPECT_FALSE(is_held_by_others(file));
  const int copy = dup(file);
  EXPECT_FALSE(is_held_by_others(file)) << "a copy does not count";
  std::atomic<bool> stop = false;
  std::thread other([&] {
    while (!stop) close(open_of_process(process, file));
  });
  int held = 0, asked = 0;
  for (const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
       std::chrono::steady_clock::now() < end; ++asked)
    held += is_held_by_others(file);
  stop = true;
  other.join();
  EXPECT_GT(asked, 0);
  EXPECT_LE(held, asked);
  EXPECT_FALSE(is_held_by_others(file));
  close(copy);
  close(file);
}

}  // namespace
}  // namespace lockstep::host
