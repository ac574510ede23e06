// /dev/kfd and the render node as a runtime uses them, and as one that means harm does.
#include <gtest/gtest.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <vector>

#include "machine/kernel.h"
#include "memory/host_fault.h"
#include "tests/host/driver_fixture.h"
#include "toolchain/compile.h"

namespace lockstep::host {
namespace {

// HIP keeps what it has pinned for a copy, also when the program has given that memory back and a buffer of
// the device stands in a part of it. Nothing is left of it then, and its late end takes nothing of the buffer
// away.
TEST_F(DriverTest, BuffersTakeThePlaceOfMemoryThatTheProgramGaveBack) {
  const uint64_t place = reserve(4 * kPage);
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(place), 4 * kPage, PROT_READ | PROT_WRITE), 0);
  const auto pinned =
      allocate_at(place, 4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
  ASSERT_EQ(map(pinned.handle, {id}), 0);
  ASSERT_TRUE(accessible(0, place, 4 * kPage));

  ASSERT_EQ(munmap(reinterpret_cast<void*>(place), 4 * kPage), 0);
  ASSERT_EQ(mmap(reinterpret_cast<void*>(place), 2 * kPage, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0),
            reinterpret_cast<void*>(place));
  const auto buffer =
      allocate_at(place, 2 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  EXPECT_TRUE(accessible(0, place, 2 * kPage));
  EXPECT_FALSE(accessible(0, place + 2 * kPage, 1));
  EXPECT_EQ(unmap(pinned.handle, {id}), 0);
  EXPECT_EQ(free(pinned.handle), 0);
  EXPECT_TRUE(accessible(0, place, 2 * kPage));
}

// ROCr hands the thunk a piece of its own memory of the device as the program's, and that asks for it at
// another address. The program's own memory cannot be there either, but that is told.
TEST_F(DriverTest, MemoryOfTheDeviceIsNoneOfTheProgram) {
  const auto buffer = allocate(4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  void* const own = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(own, MAP_FAILED);
  kfd_ioctl_alloc_memory_of_gpu_args args = {};
  args.va_addr = reserve(kPage);
  args.size = kPage;
  args.gpu_id = id;
  args.flags = KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;

  testing::internal::CaptureStderr();
  args.mmap_offset = buffer.va_addr + kPage;
  EXPECT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), EFAULT);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");

  testing::internal::CaptureStderr();
  args.mmap_offset = reinterpret_cast<uint64_t>(own);
  EXPECT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), EINVAL);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("only at its own address"), std::string::npos);
  munmap(own, kPage);
}

TEST_F(DriverTest, TellsVersionAndApertures) {
  kfd_ioctl_get_version_args version = {};
  EXPECT_EQ(kfd(AMDKFD_IOC_GET_VERSION, version), 0);
  EXPECT_EQ(version.major_version, 1u);
  EXPECT_EQ(version.minor_version, 17u);
  kfd_ioctl_get_process_apertures_new_args args = {};
  EXPECT_EQ(kfd(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  ASSERT_EQ(args.num_of_nodes, 2u);
  kfd_process_device_apertures apertures[2];
  args.kfd_process_device_apertures_ptr = reinterpret_cast<uint64_t>(apertures);
  EXPECT_EQ(kfd(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, args), 0);
  EXPECT_EQ(apertures[0].gpu_id, id);
  EXPECT_NE(apertures[1].gpu_id, id);
  EXPECT_EQ(apertures[0].lds_base, kSharedApertureBase);
  kfd_ioctl_get_process_apertures_args old = {};
  EXPECT_EQ(kfd(AMDKFD_IOC_GET_PROCESS_APERTURES, old), 0);
  ASSERT_EQ(old.num_of_nodes, 2u);
  EXPECT_EQ(std::memcmp(old.process_apertures, apertures, sizeof apertures), 0);
}

TEST_F(DriverTest, MemoryIsAllocatedMappedAndFreed) {
  constexpr uint64_t kBytes = 8 * kPage;
  const auto before = [&] {
    kfd_ioctl_get_available_memory_args args = {};
    args.gpu_id = id;
    EXPECT_EQ(kfd(AMDKFD_IOC_AVAILABLE_MEMORY, args), 0);
    return args.available;
  };
  const uint64_t available = before();
  const auto buffer = allocate(kBytes, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  EXPECT_EQ(before(), available - kBytes);
  EXPECT_FALSE(accessible(0, buffer.va_addr, 1));
  EXPECT_EQ(map(buffer.handle, {id, driver.gpus()[1]->id}), 0);
  EXPECT_TRUE(accessible(0, buffer.va_addr, kBytes));
  EXPECT_TRUE(accessible(1, buffer.va_addr, kBytes));
  // The program's mapping of the render node is the same memory.
  auto* const seen =
      static_cast<uint32_t*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, driver.descriptor(),
                                  static_cast<off_t>(buffer.mmap_offset)));
  ASSERT_NE(seen, MAP_FAILED);
  *reinterpret_cast<uint32_t*>(buffer.va_addr) = 5;
  EXPECT_EQ(*seen, 5u);
  munmap(seen, kBytes);
  EXPECT_EQ(unmap(buffer.handle, {id}), 0);
  EXPECT_FALSE(accessible(0, buffer.va_addr, 1));
  EXPECT_TRUE(accessible(1, buffer.va_addr, kBytes));
  EXPECT_EQ(free(buffer.handle), 0);
  EXPECT_FALSE(accessible(1, buffer.va_addr, 1));
  EXPECT_EQ(before(), available);
  EXPECT_EQ(free(buffer.handle), EINVAL);
}

// A fault for each page takes long; but scratch is large and mostly not used, and memory is the host's, too.
TEST_F(DriverTest, PagesOfWhatProgramsFillAreThereAtOnce) {
  constexpr uint32_t kOfPrograms = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC;
  const auto pages_there = [&](uint64_t bytes, uint32_t flags) {
    const auto buffer = allocate(bytes, flags);
    EXPECT_EQ(map(buffer.handle, {id}), 0);
    std::vector<unsigned char> are_there(bytes / kPage);
    EXPECT_EQ(mincore(reinterpret_cast<void*>(buffer.va_addr), bytes, are_there.data()), 0);
    EXPECT_EQ(*reinterpret_cast<const uint64_t*>(buffer.va_addr + bytes - 8), 0u);
    EXPECT_EQ(free(buffer.handle), 0);
    return std::ranges::count_if(are_there, [](unsigned char page) { return page & 1; });
  };
  EXPECT_EQ(pages_there(300 * kPage, kOfPrograms), 300);
  EXPECT_EQ(pages_there(300 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM), 0);
  EXPECT_EQ(pages_there(uint64_t{2} << 30, kOfPrograms), 0);
}

TEST_F(DriverTest, RightsAreThoseOfTheAllocation) {
  const auto args = allocate_at(reserve(kPage), kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(args.handle, {id}), 0);
  EXPECT_TRUE(accessible(0, args.va_addr, kPage, kRead));
  EXPECT_FALSE(accessible(0, args.va_addr, 1, kWrite));
  EXPECT_FALSE(accessible(0, args.va_addr, 1, kExecute));
}

TEST_F(DriverTest, MemoryOfTheProgramIsNotReplaced) {
  int here = 7;
  kfd_ioctl_alloc_memory_of_gpu_args args = {};
  args.va_addr = reinterpret_cast<uint64_t>(&here) & ~(kPage - 1);
  args.size = kPage;
  args.gpu_id = id;
  args.flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM;
  EXPECT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), EINVAL);
  EXPECT_EQ(here, 7);
  // More than the card has.
  args.size = uint64_t{driver.gpus()[0]->model.memory_megabytes} * (1u << 20) + kPage;
  args.va_addr = reserve(args.size);
  EXPECT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, args), ENOMEM);
}

// Some reserve addresses by memory that they never touch.
TEST_F(DriverTest, MemoryThatTheProgramNeverTouchedIsAReservation) {
  constexpr uint64_t kBytes = 8192 * kPage;
  const auto make = [] {
    return static_cast<uint32_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  };
  const auto flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  uint32_t* const memory = make();
  const auto args = allocate_at(reinterpret_cast<uint64_t>(memory), kBytes, flags);
  EXPECT_EQ(map(args.handle, {id}), 0);
  EXPECT_TRUE(accessible(0, args.va_addr, kBytes));
  // The last page of it, and one that has only been read.
  uint32_t* const stored = make();
  stored[kBytes / 4 - 1] = 7;
  allocate_at(reinterpret_cast<uint64_t>(stored), kBytes, flags, EINVAL);
  EXPECT_EQ(stored[kBytes / 4 - 1], 7u);
  allocate_at(reinterpret_cast<uint64_t>(stored), kBytes - kPage, flags);
  const volatile uint32_t* const read = make();
  EXPECT_EQ(read[1024], 0u);
  allocate_at(reinterpret_cast<uint64_t>(read), kBytes, flags, EINVAL);
  // A file's is a file's.
  const int file = memfd_create("file", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  void* const of_file = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  allocate_at(reinterpret_cast<uint64_t>(of_file), kBytes, flags, EINVAL);
  close(file);
}

TEST_F(DriverTest, QueuesOfACopyEngine) {
  struct {
    kfd_ioctl_create_queue_args queue = {};
    uint32_t engine = 0, pad = 0;
  } args;
  static_assert(sizeof(kfd_ioctl_create_queue_args) == kEngineOfQueue,
                "as of the header that this is built with");
  const auto memory = allocate(2 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(memory.handle, {id}), 0);
  args.queue.ring_base_address = memory.va_addr;
  args.queue.ring_size = kPage;
  args.queue.read_pointer_address = memory.va_addr + kPage;
  args.queue.write_pointer_address = memory.va_addr + kPage + 8;
  args.queue.gpu_id = id;
  args.queue.queue_type = kQueueOfEngine;
  args.queue.queue_percentage = 100;
  const unsigned long request = _IOWR(AMDKFD_IOCTL_BASE, _IOC_NR(AMDKFD_IOC_CREATE_QUEUE), decltype(args));
  const uint32_t engines = driver.gpus()[0]->model.copy_engines;
  for (args.engine = 0; args.engine < engines; ++args.engine) EXPECT_EQ(kfd(request, args), 0);
  EXPECT_EQ(kfd(request, args), EINVAL) << "there is no such engine";
  args.queue.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
  EXPECT_EQ(kfd(request, args), 0) << "any engine";
  args.queue.queue_type = kQueueOfEngine;
  EXPECT_EQ(kfd(AMDKFD_IOC_CREATE_QUEUE, args.queue), 0) << "programs that know no engines get the first";
}

TEST_F(DriverTest, SharedVirtualMemoryComesAndGoes) {
  const uint64_t address = reserve(4 * kPage);
  // One attribute stands behind the structure.
  alignas(8) std::byte svm[sizeof(kfd_ioctl_svm_args) + sizeof(kfd_ioctl_svm_attribute)] = {};
  auto& args = *reinterpret_cast<kfd_ioctl_svm_args*>(svm);
  const auto request = _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x20, sizeof svm);
  args.start_addr = address;
  args.size = 4 * kPage;
  args.op = KFD_IOCTL_SVM_OP_SET_ATTR;
  args.nattr = 1;
  args.attrs[0] = {KFD_IOCTL_SVM_ATTR_ACCESS, id};
  EXPECT_EQ(kfd(request, svm), 0);
  EXPECT_TRUE(accessible(0, address, 4 * kPage));
  EXPECT_FALSE(accessible(1, address, 1));
  args.op = KFD_IOCTL_SVM_OP_GET_ATTR;
  EXPECT_EQ(kfd(request, svm), 0);
  EXPECT_EQ(args.attrs[0].type, uint32_t{KFD_IOCTL_SVM_ATTR_ACCESS}) << "as it was given";
  // A buffer takes the place of what the program has freed without a word.
  const auto buffer =
      allocate_at(address + kPage, kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
  EXPECT_EQ(map(buffer.handle, {id}), 0);
  // What was allocated is not shared besides, and nothing is told of it; what is beside it may be.
  for (const uint32_t operation : {KFD_IOCTL_SVM_OP_GET_ATTR, KFD_IOCTL_SVM_OP_SET_ATTR}) {
    args.op = operation;
    EXPECT_EQ(kfd(request, svm), EADDRINUSE);
    args.start_addr = address + 2 * kPage;
    args.size = kPage;
    EXPECT_EQ(kfd(request, svm), 0);
    args.start_addr = address;
    EXPECT_EQ(kfd(request, svm), 0);
    args.size = 4 * kPage;
  }
  EXPECT_EQ(free(buffer.handle), 0);
  EXPECT_FALSE(accessible(0, address + kPage, 1));
  EXPECT_TRUE(accessible(0, address + 2 * kPage, 2 * kPage));
  args.op = KFD_IOCTL_SVM_OP_SET_ATTR;
  args.attrs[0] = {KFD_IOCTL_SVM_ATTR_NO_ACCESS, id};
  EXPECT_EQ(kfd(request, svm), 0);
  EXPECT_FALSE(accessible(0, address, 1));
  args.nattr = 1000;
  EXPECT_EQ(kfd(request, svm), EINVAL) << "more than the structure has";
}

// hipMemAdvise() and hipMemRangeGetAttribute(): what is said of a range is told again, of parts and of
// wholes.
TEST_F(DriverTest, SharedVirtualMemoryKeepsWhatWasSaidOfIt) {
  const uint64_t address = reserve(8 * kPage);
  alignas(8) std::byte svm[sizeof(kfd_ioctl_svm_args) + 2 * sizeof(kfd_ioctl_svm_attribute)] = {};
  auto& args = *reinterpret_cast<kfd_ioctl_svm_args*>(svm);
  const auto request = _IOC(_IOC_READ | _IOC_WRITE, 'K', 0x20, sizeof svm);
  const auto ask = [&](uint32_t op, unsigned page, unsigned pages,
                       std::vector<kfd_ioctl_svm_attribute> what) {
    args.start_addr = address + page * kPage;
    args.size = pages * kPage;
    args.op = op;
    args.nattr = static_cast<uint32_t>(what.size());
    std::copy(what.begin(), what.end(), args.attrs);
    return kfd(request, svm);
  };
  const auto set = [&](unsigned page, unsigned pages, uint32_t type, uint32_t value) {
    return ask(KFD_IOCTL_SVM_OP_SET_ATTR, page, pages, {{type, value}});
  };
  const auto get = [&](unsigned page, unsigned pages, uint32_t type) {
    EXPECT_EQ(ask(KFD_IOCTL_SVM_OP_GET_ATTR, page, pages, {{type, 0}}), 0);
    return args.attrs[0].value;
  };
  constexpr uint32_t kPreferred = KFD_IOCTL_SVM_ATTR_PREFERRED_LOC,
                     kNowhere = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
  constexpr uint32_t kFlags = KFD_IOCTL_SVM_ATTR_SET_FLAGS, kMostlyRead = KFD_IOCTL_SVM_FLAG_GPU_READ_MOSTLY;
  EXPECT_EQ(get(0, 8, kPreferred), kNowhere);
  EXPECT_EQ(set(2, 4, kPreferred, id), 0);
  EXPECT_EQ(get(2, 4, kPreferred), id);
  EXPECT_EQ(get(3, 1, kPreferred), id);
  EXPECT_EQ(get(1, 2, kPreferred), kNowhere) << "of a part";
  EXPECT_EQ(get(0, 2, kPreferred), kNowhere);
  EXPECT_EQ(set(4, 4, kPreferred, KFD_IOCTL_SVM_LOCATION_SYSMEM), 0);
  EXPECT_EQ(get(2, 2, kPreferred), id);
  EXPECT_EQ(get(4, 4, kPreferred), uint32_t{KFD_IOCTL_SVM_LOCATION_SYSMEM});
  EXPECT_EQ(get(2, 4, kPreferred), kNowhere);
  EXPECT_EQ(get(2, 2, KFD_IOCTL_SVM_ATTR_PREFETCH_LOC), kNowhere);
  EXPECT_EQ(set(0, 3, kFlags, kMostlyRead), 0);
  EXPECT_EQ(get(0, 3, kFlags) & kMostlyRead, kMostlyRead);
  EXPECT_EQ(get(0, 4, kFlags) & kMostlyRead, 0u) << "not of all";
  EXPECT_EQ(get(0, 4, KFD_IOCTL_SVM_ATTR_CLR_FLAGS) & kMostlyRead, 0u) << "nor cleared in all";
  EXPECT_EQ(get(2, 1, kPreferred), id);
  EXPECT_EQ(set(1, 2, KFD_IOCTL_SVM_ATTR_CLR_FLAGS, kMostlyRead), 0);
  EXPECT_EQ(get(0, 1, kFlags) & kMostlyRead, kMostlyRead);
  EXPECT_EQ(get(1, 2, kFlags) & kMostlyRead, 0u);
  EXPECT_EQ(get(1, 2, KFD_IOCTL_SVM_ATTR_GRANULARITY), 9u);
  EXPECT_EQ(set(1, 1, KFD_IOCTL_SVM_ATTR_GRANULARITY, 3), 0);
  EXPECT_EQ(get(0, 8, KFD_IOCTL_SVM_ATTR_GRANULARITY), 3u);
  // All attributes of a request, or none.
  EXPECT_EQ(ask(KFD_IOCTL_SVM_OP_SET_ATTR, 0, 8, {{kPreferred, id}, {KFD_IOCTL_SVM_ATTR_ACCESS, 12345}}),
            EINVAL);
  EXPECT_EQ(set(0, 8, kPreferred, 12345), EINVAL);
  EXPECT_EQ(set(0, 8, 99, 0), EINVAL);
  EXPECT_EQ(get(4, 4, kPreferred), uint32_t{KFD_IOCTL_SVM_LOCATION_SYSMEM});
  // How a device may reach it.
  const auto access = [&](unsigned page, unsigned pages, uint32_t of) {
    EXPECT_EQ(ask(KFD_IOCTL_SVM_OP_GET_ATTR, page, pages, {{KFD_IOCTL_SVM_ATTR_ACCESS, of}}), 0);
    return args.attrs[0].type;
  };
  constexpr uint32_t kAccess = KFD_IOCTL_SVM_ATTR_ACCESS, kInPlace = KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE,
                     kNone = KFD_IOCTL_SVM_ATTR_NO_ACCESS;
  EXPECT_EQ(set(0, 2, kAccess, id), 0);
  EXPECT_EQ(set(2, 2, kInPlace, id), 0);
  EXPECT_EQ(access(0, 2, id), kAccess);
  EXPECT_EQ(access(2, 2, id), kInPlace);
  EXPECT_EQ(access(1, 2, id), kNone) << "not in one way";
  EXPECT_EQ(access(3, 2, id), kNone) << "not all of it";
  EXPECT_EQ(access(0, 2, driver.gpus()[1]->id), kNone);
  EXPECT_EQ(set(2, 1, kAccess, id), 0);
  EXPECT_EQ(access(0, 3, id), kAccess);
  EXPECT_EQ(set(3, 1, kNone, id), 0);
  EXPECT_EQ(access(3, 1, id), kNone);
  // What is no memory of the program any more.
  munmap(reinterpret_cast<void*>(address + 7 * kPage), kPage);
  EXPECT_EQ(set(6, 2, kPreferred, id), EFAULT);
  EXPECT_EQ(ask(KFD_IOCTL_SVM_OP_GET_ATTR, 7, 1, {{kPreferred, 0}}), EFAULT);
  EXPECT_EQ(set(6, 1, kPreferred, id), 0);
}

TEST_F(DriverTest, ExportedMemoryIsShared) {
  const auto buffer = allocate(4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  ExportDmabufArgs exported = {};
  exported.handle = buffer.handle;
  ASSERT_EQ(kfd(_IOWR('K', 0x24, ExportDmabufArgs), exported), 0);
  const int file = static_cast<int>(exported.dmabuf_fd);
  EXPECT_EQ(lseek(file, 0, SEEK_END), static_cast<off_t>(4 * kPage)) << "how libdrm asks for the size";
  kfd_ioctl_get_dmabuf_info_args info = {};
  info.dmabuf_fd = exported.dmabuf_fd;
  ASSERT_EQ(kfd(AMDKFD_IOC_GET_DMABUF_INFO, info), 0);
  EXPECT_EQ(info.size, 4 * kPage);
  EXPECT_EQ(info.gpu_id, id);
  // Another driver stands for another process.
  Driver other(settings(1));
  kfd_ioctl_import_dmabuf_args imported = {};
  imported.va_addr = reserve(4 * kPage);
  imported.gpu_id = other.gpus()[0]->id;
  imported.dmabuf_fd = exported.dmabuf_fd;
  ASSERT_EQ(other.kfd_ioctl(AMDKFD_IOC_IMPORT_DMABUF, &imported), 0);
  reinterpret_cast<uint32_t*>(buffer.va_addr)[100] = 9;
  EXPECT_EQ(reinterpret_cast<uint32_t*>(imported.va_addr)[100], 9u);
  close(file);
  // The same by a handle of 128 bits that stays valid.
  IpcExportArgs shared = {};
  shared.handle = buffer.handle;
  shared.flags = 0x2001;  // HsaMemFlags, which only runtimes know
  ASSERT_EQ(kfd(_IOWR('K', 0x81, IpcExportArgs), shared), 0);
  IpcImportArgs taken = {};
  taken.va_addr = reserve(4 * kPage);
  taken.gpu_id = other.gpus()[0]->id;
  std::memcpy(taken.share_handle, shared.share_handle, sizeof taken.share_handle);
  ASSERT_EQ(other.kfd_ioctl(_IOWR('K', 0x80, IpcImportArgs), &taken), 0);
  EXPECT_EQ(reinterpret_cast<uint32_t*>(taken.va_addr)[100], 9u);
  EXPECT_EQ(taken.flags, 0x2001u);
  uint64_t offset = taken.mmap_offset + kPage;
  EXPECT_NE(other.descriptor_at(offset, 3 * kPage), other.descriptor()) << "not its own memory";
  EXPECT_EQ(offset, buffer.mmap_offset + kPage);
  offset = taken.mmap_offset + kPage;
  EXPECT_EQ(other.descriptor_at(offset, 4 * kPage), -1) << "no more than there is";
  kfd_ioctl_free_memory_of_gpu_args gone = {};
  gone.handle = taken.handle;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &gone), 0);
  taken.share_handle[2] = 0;
  EXPECT_EQ(other.kfd_ioctl(_IOWR('K', 0x80, IpcImportArgs), &taken), EINVAL);
  imported.dmabuf_fd = 0;
  EXPECT_EQ(other.kfd_ioctl(AMDKFD_IOC_IMPORT_DMABUF, &imported), EINVAL);
}

// It stays as long as somebody has a descriptor of it, or has imported it.
TEST_F(DriverTest, ExportedMemoryOutlivesItsBuffer) {
  const auto available = [&] {
    kfd_ioctl_get_available_memory_args args = {};
    args.gpu_id = id;
    EXPECT_EQ(kfd(AMDKFD_IOC_AVAILABLE_MEMORY, args), 0);
    return args.available;
  };
  const uint64_t all = available();
  for (const bool imports : {false, true}) {
    const auto buffer = allocate(4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
    ExportDmabufArgs exported = {};
    exported.handle = buffer.handle;
    ASSERT_EQ(kfd(_IOWR('K', 0x24, ExportDmabufArgs), exported), 0);
    const int file = static_cast<int>(exported.dmabuf_fd), second = dup(file);
    reinterpret_cast<uint32_t*>(buffer.va_addr)[100] = 9;
    EXPECT_EQ(free(buffer.handle), 0);
    EXPECT_EQ(available(), all - 4 * kPage);
    kfd_ioctl_import_dmabuf_args imported = {};
    imported.va_addr = reserve(4 * kPage);
    imported.gpu_id = id;
    imported.dmabuf_fd = exported.dmabuf_fd;
    if (imports) {
      ASSERT_EQ(kfd(AMDKFD_IOC_IMPORT_DMABUF, imported), 0);
    }
    close(file);
    EXPECT_EQ(available(), all - 4 * kPage);
    close(second);
    if (imports) {
      EXPECT_EQ(available(), all - 4 * kPage);
      EXPECT_EQ(reinterpret_cast<uint32_t*>(imported.va_addr)[100], 9u);
      EXPECT_EQ(free(imported.handle), 0);
    }
    EXPECT_EQ(available(), all);
  }
}

// What hipMemCreate, hipMemMap and their kin come to: memory without an address, passed to the render nodes.
TEST_F(DriverTest, MemoryIsMappedByTheRenderNodes) {
  kfd_ioctl_alloc_memory_of_gpu_args memory = {};
  memory.size = 4 * kPage;
  memory.gpu_id = id;
  memory.flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE;
  ASSERT_EQ(kfd(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, memory), 0);
  ExportDmabufArgs exported = {};
  exported.handle = memory.handle;
  ASSERT_EQ(kfd(_IOWR('K', 0x24, ExportDmabufArgs), exported), 0);
  const auto import = [&](unsigned device) {
    drm_prime_handle args = {};
    args.fd = static_cast<int>(exported.dmabuf_fd);
    EXPECT_EQ(driver.render_ioctl(device, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args), 0);
    return args.handle;
  };
  const uint32_t handles[] = {import(0), import(1)};
  EXPECT_EQ(import(0), handles[0]) << "the same memory";
  const auto change = [&](unsigned device, uint32_t operation, uint64_t address, uint64_t offset,
                          uint64_t bytes) {
    drm_amdgpu_gem_va args = {};
    args.handle = handles[device];
    args.operation = operation;
    args.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
    args.va_address = address;
    args.offset_in_bo = offset;
    args.map_size = bytes;
    return driver.render_ioctl(device, DRM_IOCTL_AMDGPU_GEM_VA, &args);
  };
  const uint64_t address = reserve(8 * kPage);
  EXPECT_EQ(change(0, AMDGPU_VA_OP_MAP, address, kPage, 2 * kPage), 0);
  EXPECT_EQ(change(1, AMDGPU_VA_OP_MAP, address, kPage, 2 * kPage), 0) << "at the same place on both devices";
  EXPECT_EQ(change(0, AMDGPU_VA_OP_MAP, address + kPage, 0, kPage), EINVAL) << "it is mapped there already";
  EXPECT_EQ(change(0, AMDGPU_VA_OP_MAP, address + 4 * kPage, 2 * kPage, 4 * kPage), EINVAL)
      << "behind its end";
  EXPECT_TRUE(accessible(0, address, 2 * kPage));
  EXPECT_TRUE(accessible(1, address, 2 * kPage));
  EXPECT_FALSE(accessible(0, address + 2 * kPage, 1));
  kfd_ioctl_svm_args shared = {};
  shared.start_addr = address + kPage;
  shared.size = 2 * kPage;
  EXPECT_EQ(kfd(AMDKFD_IOC_SVM, shared), EADDRINUSE) << "it is not the program's own";
  shared.start_addr = address + 2 * kPage;
  EXPECT_EQ(kfd(AMDKFD_IOC_SVM, shared), 0);
  *reinterpret_cast<uint32_t*>(address) = 77;
  drm_amdgpu_gem_mmap place = {};
  place.in.handle = handles[0];
  ASSERT_EQ(driver.render_ioctl(0, DRM_IOCTL_AMDGPU_GEM_MMAP, &place), 0);
  auto* const seen =
      static_cast<uint32_t*>(mmap(nullptr, 4 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, driver.descriptor(),
                                  static_cast<off_t>(place.out.addr_ptr)));
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_EQ(seen[kPage / 4], 77u);
  munmap(seen, 4 * kPage);
  // The program may have mapped the same memory there itself, but nothing else.
  ASSERT_NE(mmap(reinterpret_cast<void*>(address + 4 * kPage), kPage, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, driver.descriptor(), static_cast<off_t>(place.out.addr_ptr)),
            MAP_FAILED);
  EXPECT_EQ(change(0, AMDGPU_VA_OP_MAP, address + 4 * kPage, 0, kPage), 0);
  int here = 7;
  EXPECT_EQ(change(0, AMDGPU_VA_OP_MAP, reinterpret_cast<uint64_t>(&here) & ~(kPage - 1), 0, kPage), EINVAL);
  EXPECT_EQ(here, 7);
  EXPECT_EQ(change(0, AMDGPU_VA_OP_UNMAP, address, 0, kPage), ENOENT) << "a part";
  EXPECT_EQ(change(0, AMDGPU_VA_OP_UNMAP, address, 0, 2 * kPage), 0);
  EXPECT_FALSE(accessible(0, address, 1));
  EXPECT_EQ(*reinterpret_cast<uint32_t*>(address), 77u) << "the other device has it";
  drm_gem_close gone = {};
  gone.handle = handles[1];
  EXPECT_EQ(driver.render_ioctl(1, DRM_IOCTL_GEM_CLOSE, &gone), 0);
  EXPECT_FALSE(accessible(1, address, 1));
  EXPECT_FALSE(host_has(address, 1, false)) << "the addresses stay reserved";
  EXPECT_EQ(driver.render_ioctl(1, DRM_IOCTL_GEM_CLOSE, &gone), EINVAL);
  EXPECT_EQ(change(0, AMDGPU_VA_OP_CLEAR, address, 0, 8 * kPage), 0);
  EXPECT_FALSE(accessible(0, address + 4 * kPage, 1));
  close(static_cast<int>(exported.dmabuf_fd));
  EXPECT_EQ(free(memory.handle), 0);
}

// From an allocation to an event that a kernel's end raises, with nothing but ioctls and stores.
TEST_F(DriverTest, KernelsRunByTheProgramsOwnRing) {
  const toolchain::Result assembled = toolchain::assemble(
      ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\ns_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v0, 7\n"
      "v_mov_b32 v1, 0\ns_waitcnt lgkmcnt(0)\nglobal_store_b32 v1, v0, s[4:5]\ns_endpgm\n.size k, .-k\n"
      ".rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n"
      ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_wavefront_size32 1\n.end_amdhsa_kernel\n",
      "k.s", {});
  ASSERT_TRUE(assembled) << assembled.diagnostics;
  auto object = loader::CodeObject::parse(assembled.code_object, "k");
  ASSERT_TRUE(object);
  const auto code = machine::LoadedCode::load(std::move(*object), driver.gpus()[0]->memory);
  ASSERT_TRUE(code);

  const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  auto* const memory = reinterpret_cast<std::byte*>(buffer.va_addr);
  auto* const queue = reinterpret_cast<command::QueueMemory*>(memory);
  auto* const ring = reinterpret_cast<command::AqlPacket*>(memory + kPage);
  auto* const arguments = reinterpret_cast<uint64_t*>(memory + 8 * kPage);
  auto* const result = reinterpret_cast<uint32_t*>(memory + 9 * kPage);
  auto* const signal = reinterpret_cast<command::SignalMemory*>(memory + 10 * kPage);
  auto* const mailbox = reinterpret_cast<uint64_t*>(memory + 11 * kPage);
  for (unsigned i = 0; i < 64; ++i) ring[i].header = 1;  // invalid

  kfd_ioctl_create_event_args event = {};
  event.event_type = KFD_IOC_EVENT_SIGNAL;
  event.auto_reset = 1;
  ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, event), 0);
  kfd_ioctl_create_queue_args create = {};
  ASSERT_NO_FATAL_FAILURE(create_queue(create, ring, *queue));
  std::byte* doorbells = nullptr;
  ASSERT_NO_FATAL_FAILURE(map_doorbells(create, doorbells));

  for (uint64_t i = 0; i < 5; ++i) {
    *result = 0;
    arguments[0] = reinterpret_cast<uint64_t>(result);
    *signal = {};
    signal->kind = 1;
    signal->value = 1;
    signal->event_mailbox_ptr = reinterpret_cast<uint64_t>(mailbox);
    signal->event_id = event.event_id;
    command::AqlPacket packet = {};
    packet.dispatch.setup = 1;
    packet.dispatch.workgroup_size[0] = packet.dispatch.workgroup_size[1] =
        packet.dispatch.workgroup_size[2] = 1;
    packet.dispatch.grid_size[0] = packet.dispatch.grid_size[1] = packet.dispatch.grid_size[2] = 1;
    packet.dispatch.kernel_object =
        (*code)->loaded_address((*code)->object().find_kernel("k")->descriptor_address);
    packet.dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments);
    packet.dispatch.completion_signal = reinterpret_cast<uint64_t>(signal);
    std::memcpy(&ring[i % 64], &packet, sizeof packet);
    command::store_shared<uint64_t>(&queue->write_dispatch_id, i + 1);
    command::store_shared<uint16_t>(&ring[i % 64].header, 2 | 1u << 8);  // a dispatch behind all before
    // Once while the pages are looked at, once while they are protected.
    command::store_shared<uint64_t>(doorbells + create.doorbell_offset % Store::kDoorbellBytes, i);
    kfd_event_data data = {};
    ASSERT_NO_FATAL_FAILURE(wait_for(event.event_id, data));
    EXPECT_EQ(*result, 7u);
    EXPECT_EQ(signal->value, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 * 3));
  }
  kfd_ioctl_update_queue_args update = {};
  update.queue_id = create.queue_id;
  EXPECT_EQ(kfd(AMDKFD_IOC_UPDATE_QUEUE, update), 0) << "suspended";
  kfd_ioctl_set_xnack_mode_args mode = {-1};
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_XNACK_MODE, mode), 0);
  EXPECT_EQ(mode.xnack_enabled, 0);
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_XNACK_MODE, mode), EBUSY) << "not while there are queues";
  update.ring_base_address = create.ring_base_address;
  update.ring_size = create.ring_size;
  update.queue_percentage = 100;
  update.queue_priority = 15;
  EXPECT_EQ(kfd(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  uint32_t units[3] = {0xc, 0, 0};
  kfd_ioctl_set_cu_mask_args mask = {};
  mask.queue_id = create.queue_id;
  mask.num_cu_mask = 96;
  mask.cu_mask_ptr = reinterpret_cast<uint64_t>(units);
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), 0);
  units[0] = 0x6;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), EINVAL) << "halves of two work-group processors";
  units[0] = 0;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), 0) << "none, while nothing is to run";
  units[0] = 0xc;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), 0);
  mask.num_cu_mask = 95;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), EINVAL);
  mask.num_cu_mask = 96;
  mask.cu_mask_ptr = 16;
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_CU_MASK, mask), EFAULT);
  update.ring_base_address += kPage;
  EXPECT_EQ(kfd(AMDKFD_IOC_UPDATE_QUEUE, update), EINVAL) << "another ring";
  // What the program did not map for the device no kernel reaches; the program is told of the fault.
  update.ring_base_address -= kPage;
  EXPECT_EQ(kfd(AMDKFD_IOC_UPDATE_QUEUE, update), 0);
  uint32_t secret = 1234;
  kfd_ioctl_create_event_args told = {};
  told.event_type = KFD_IOC_EVENT_MEMORY;
  ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, told), 0);
  arguments[0] = reinterpret_cast<uint64_t>(&secret);
  command::AqlPacket last = {};
  last.dispatch.setup = 1;
  last.dispatch.workgroup_size[0] = last.dispatch.workgroup_size[1] = last.dispatch.workgroup_size[2] = 1;
  last.dispatch.grid_size[0] = last.dispatch.grid_size[1] = last.dispatch.grid_size[2] = 1;
  last.dispatch.kernel_object =
      (*code)->loaded_address((*code)->object().find_kernel("k")->descriptor_address);
  last.dispatch.kernarg_address = reinterpret_cast<uint64_t>(arguments);
  std::memcpy(&ring[5], &last, sizeof last);
  command::store_shared<uint64_t>(&queue->write_dispatch_id, 6);
  command::store_shared<uint16_t>(&ring[5].header, 2 | 1u << 8);
  command::store_shared<uint64_t>(doorbells + create.doorbell_offset % Store::kDoorbellBytes, 5);
  kfd_event_data fault = {};
  ASSERT_NO_FATAL_FAILURE(wait_for(told.event_id, fault));
  EXPECT_EQ(fault.memory_exception_data.va, reinterpret_cast<uint64_t>(&secret) & ~(kPage - 1));
  EXPECT_EQ(fault.memory_exception_data.failure.NotPresent, 1u);
  EXPECT_EQ(secret, 1234u);
  kfd_ioctl_destroy_queue_args destroy = {};
  destroy.queue_id = create.queue_id;
  EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
  EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), EINVAL);
  munmap(doorbells, Store::kDoorbellBytes);
}

// A program unmaps the ring of a queue, or where its positions are, and rings.
TEST_F(DriverTest, RingsThatAreGoneAreFaults) {
  for (const uint32_t type :
       {KFD_IOC_QUEUE_TYPE_SDMA, KFD_IOC_QUEUE_TYPE_COMPUTE, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL})
    for (const uint64_t gone : {0, 8}) {
      const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
      ASSERT_EQ(map(buffer.handle, {id}), 0);
      kfd_ioctl_create_event_args event = {};
      event.event_type = KFD_IOC_EVENT_MEMORY;
      ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, event), 0);
      kfd_ioctl_create_queue_args create = {};
      const uint64_t positions = buffer.va_addr + 8 * kPage;
      ASSERT_NO_FATAL_FAILURE(create_queue(create, type, buffer.va_addr,
                                           positions + offsetof(command::QueueMemory, read_dispatch_id),
                                           positions + offsetof(command::QueueMemory, write_dispatch_id)));
      auto* const doorbells = static_cast<std::byte*>(
          mmap(nullptr, Store::kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, driver.descriptor(),
               static_cast<off_t>(create.doorbell_offset / Store::kDoorbellBytes * Store::kDoorbellBytes)));
      ASSERT_NE(doorbells, MAP_FAILED);
      ASSERT_NE(mmap(reinterpret_cast<void*>(buffer.va_addr + gone * kPage), kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                MAP_FAILED);
      // Only now: a queue that is still starting may look at its position before the doorbell rings, and a
      // position that moved while the ring was there would make it read packets that nobody wrote.
      if (gone == 0) *reinterpret_cast<uint64_t*>(create.write_pointer_address) = 8;
      command::store_shared<uint64_t>(doorbells + create.doorbell_offset % Store::kDoorbellBytes, 8);
      SCOPED_TRACE(testing::Message() << type << " " << gone);
      kfd_event_data data = {};
      ASSERT_NO_FATAL_FAILURE(wait_for(event.event_id, data));
      EXPECT_EQ(data.memory_exception_data.va, buffer.va_addr + gone * kPage);
      kfd_ioctl_destroy_queue_args destroy = {};
      destroy.queue_id = create.queue_id;
      EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_QUEUE, destroy), 0);
      kfd_ioctl_destroy_event_args forget = {};
      forget.event_id = event.event_id;
      EXPECT_EQ(kfd(AMDKFD_IOC_DESTROY_EVENT, forget), 0);
      munmap(doorbells, Store::kDoorbellBytes);
      EXPECT_EQ(free(buffer.handle), 0);
    }
}

// A copy engine's failure is the device's: it is reset, and no queue that it had then goes on.
TEST_F(DriverTest, FailedCopiesResetTheDevice) {
  const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  kfd_ioctl_create_event_args event = {};
  event.event_type = KFD_IOC_EVENT_HW_EXCEPTION;
  ASSERT_EQ(kfd(AMDKFD_IOC_CREATE_EVENT, event), 0);
  kfd_ioctl_smi_events_args smi = {};
  EXPECT_EQ(kfd(AMDKFD_IOC_SMI_EVENTS, smi), EINVAL) << "no device";
  smi.gpuid = id;
  ASSERT_EQ(kfd(AMDKFD_IOC_SMI_EVENTS, smi), 0);
  constexpr uint64_t kResets = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_GPU_PRE_RESET);
  EXPECT_EQ(write(static_cast<int>(smi.anon_fd), &kResets, sizeof kResets), 8);
  std::byte* doorbells = nullptr;
  struct Ring {
    uint32_t* words;
    uint64_t *read, *write;
    kfd_ioctl_create_queue_args create = {};
  };
  const auto make = [&](unsigned page, uint32_t type) {
    const uint64_t positions = buffer.va_addr + (page + 1) * kPage;
    Ring ring{reinterpret_cast<uint32_t*>(buffer.va_addr + page * kPage),
              reinterpret_cast<uint64_t*>(positions), reinterpret_cast<uint64_t*>(positions + 64)};
    create_queue(ring.create, type, buffer.va_addr + page * kPage, positions, positions + 64);
    if (!doorbells) {
      const uint64_t offset = ring.create.doorbell_offset / Store::kDoorbellBytes * Store::kDoorbellBytes;
      doorbells = static_cast<std::byte*>(mmap(nullptr, Store::kDoorbellBytes, PROT_READ | PROT_WRITE,
                                               MAP_SHARED, driver.descriptor(), static_cast<off_t>(offset)));
      driver.mapped(offset, doorbells);
    }
    return ring;
  };
  const auto ring_doorbell = [&](const Ring& ring, uint64_t position) {
    command::store_shared<uint64_t>(ring.write, position);
    command::store_shared<uint64_t>(doorbells + ring.create.doorbell_offset % Store::kDoorbellBytes,
                                    position);
  };
  constexpr uint32_t kNothing = 3u << 30 | 0x10 << 8;  // PM4: a NOP of two dwords
  const Ring copies = make(0, KFD_IOC_QUEUE_TYPE_SDMA), before = make(2, KFD_IOC_QUEUE_TYPE_COMPUTE);
  ASSERT_NE(doorbells, MAP_FAILED);
  testing::internal::CaptureStderr();
  copies.words[0] = 0xff;  // no packet of the engine's
  ring_doorbell(copies, 4);
  kfd_event_data data = {};
  ASSERT_NO_FATAL_FAILURE(wait_for(event.event_id, data));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(data.hw_exception_data.gpu_id, id);
  EXPECT_EQ(data.hw_exception_data.reset_cause, uint32_t{KFD_HW_EXCEPTION_WHOLE_GPU_RESET});
  char told[16] = {};
  for (int i = 0; i < 20'000 && read(static_cast<int>(smi.anon_fd), told, sizeof told - 1) < 0; ++i)
    usleep(1000);
  EXPECT_STREQ(told, "3 1\n");
  close(static_cast<int>(smi.anon_fd));
  // Queues that are made later work, and by then the other one would have.
  const Ring after = make(4, KFD_IOC_QUEUE_TYPE_COMPUTE);
  before.words[0] = after.words[0] = kNothing;
  ring_doorbell(before, 2);
  ring_doorbell(after, 2);
  for (int i = 0; i < 20'000 && command::load_shared<uint64_t>(after.read) != 2; ++i) usleep(1000);
  EXPECT_EQ(*after.read, 2u);
  EXPECT_EQ(*before.read, 0u);
  munmap(doorbells, Store::kDoorbellBytes);
}

// Programs unmap what they like when they like; what they map there later rings again.
TEST_F(DriverTest, DoorbellsMayBeUnmappedAtAnyTime) {
  const auto buffer = allocate(16 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  const uint64_t positions = buffer.va_addr + kPage;
  kfd_ioctl_create_queue_args create = {};
  ASSERT_NO_FATAL_FAILURE(
      create_queue(create, KFD_IOC_QUEUE_TYPE_COMPUTE, buffer.va_addr, positions, positions + 64));
  const uint64_t offset = create.doorbell_offset / Store::kDoorbellBytes * Store::kDoorbellBytes;
  auto* words = reinterpret_cast<uint32_t*>(buffer.va_addr);
  for (unsigned i = 0; i < kPage / 4; i += 2) words[i] = 3u << 30 | 0x10 << 8;  // PM4: a NOP of two dwords
  void* address = nullptr;
  const auto map_doorbells = [&] {
    address = mmap(address, Store::kDoorbellBytes, PROT_READ | PROT_WRITE,
                   MAP_SHARED | (address ? MAP_FIXED : 0), driver.descriptor(), static_cast<off_t>(offset));
    ASSERT_NE(address, MAP_FAILED);
    driver.mapped(offset, address);
  };
  for (uint64_t position = 2; position < 12; position += 2) {
    map_doorbells();
    munmap(address, Store::kDoorbellBytes);
    usleep(10'000);  // the thread that looks after them goes to sleep
    map_doorbells();
    usleep(10'000);
    command::store_shared<uint64_t>(reinterpret_cast<std::byte*>(positions + 64), position);
    command::store_shared<uint64_t>(
        static_cast<std::byte*>(address) + create.doorbell_offset % Store::kDoorbellBytes, position);
    const auto* read = reinterpret_cast<const uint64_t*>(positions);
    for (int i = 0; i < 20'000 && command::load_shared<uint64_t>(read) != position; ++i) usleep(1000);
    ASSERT_EQ(command::load_shared<uint64_t>(read), position);
    munmap(address, Store::kDoorbellBytes);
  }
}

TEST_F(DriverTest, RenderNodeDescribesTheDevice) {
  char name[16] = {};
  drm_version version = {};
  version.name = name;
  version.name_len = sizeof name;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOCTL_VERSION, &version), 0);
  EXPECT_STREQ(name, "amdgpu");
  drm_amdgpu_info_device device = {};
  drm_amdgpu_info query = {};
  query.return_pointer = reinterpret_cast<uint64_t>(&device);
  query.return_size = sizeof device;
  query.query = AMDGPU_INFO_DEV_INFO;
  EXPECT_EQ(driver.render_ioctl(1, DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), &query), 0);
  EXPECT_EQ(device.cu_active_number, driver.gpus()[1]->model.compute_units());
  EXPECT_EQ(device.gpu_counter_freq, 100'000u);
  // ROCr 6.4 asks how many engines of each type there are.
  uint32_t count = 9;
  query.return_pointer = reinterpret_cast<uint64_t>(&count);
  query.return_size = sizeof count;
  query.query = AMDGPU_INFO_HW_IP_COUNT;
  for (const auto& [type, engines] : {std::pair{AMDGPU_HW_IP_COMPUTE, 1u}, {AMDGPU_HW_IP_VCN_DEC, 0u}}) {
    query.query_hw_ip.type = type;
    EXPECT_EQ(driver.render_ioctl(0, DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), &query),
              0);
    EXPECT_EQ(count, engines);
  }
  query.query_hw_ip.type = 1000;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), &query),
            EINVAL);
  drm_amdgpu_info_hw_ip engine = {};
  query.return_pointer = reinterpret_cast<uint64_t>(&engine);
  query.return_size = sizeof engine;
  query.query = AMDGPU_INFO_HW_IP_INFO;
  query.query_hw_ip.type = AMDGPU_HW_IP_GFX;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), &query), 0);
  EXPECT_EQ(engine.hw_ip_version_major, 11u);
  query.query = AMDGPU_INFO_DEV_INFO;
  query.return_pointer = 0x1000;
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), &query),
            EFAULT);
  EXPECT_EQ(driver.render_ioctl(7, DRM_IOCTL_VERSION, &version), ENODEV);
}

// Nothing that a program can ask ends it, but what it asks for by address is its own.
// What is nowhere cannot be mapped, as with the kernel's driver: it is not memory that nothing else sees.
TEST_F(DriverTest, OnlyWhatProgramsAreToldOfIsMapped) {
  const auto descriptor_at = [&](uint64_t offset, uint64_t bytes) {
    return driver.descriptor_at(offset, bytes);
  };
  const auto buffer = allocate(4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  const int file = driver.descriptor();
  EXPECT_EQ(descriptor_at(buffer.mmap_offset, 4 * kPage), file);
  EXPECT_EQ(descriptor_at(buffer.mmap_offset + kPage, 3 * kPage), file);
  EXPECT_EQ(descriptor_at(buffer.mmap_offset + kPage, 4 * kPage), -1);
  EXPECT_EQ(descriptor_at(buffer.mmap_offset, ~uint64_t{0}), -1);
  EXPECT_EQ(descriptor_at(buffer.mmap_offset - kPage, kPage), -1);
  EXPECT_EQ(free(buffer.handle), 0);
  EXPECT_EQ(descriptor_at(buffer.mmap_offset, kPage), -1);
  for (const uint64_t nothing :
       {uint64_t{0}, kPage, uint64_t{1} << 40, uint64_t{1} << 46, ~uint64_t{0} - kPage + 1})
    EXPECT_EQ(descriptor_at(nothing, kPage), -1) << nothing;
  const uint64_t doorbells = 2 * Store::kDoorbellBytes, registers = 2 * Store::kRegisterBytes;
  EXPECT_EQ(descriptor_at(Store::kFirstDoorbells, doorbells), file);
  EXPECT_EQ(descriptor_at(Store::kFirstDoorbells, doorbells + kPage), -1) << "there are two devices";
  EXPECT_EQ(descriptor_at(Store::kFirstRegisters, registers), file);
  EXPECT_EQ(descriptor_at(Store::kFirstRegisters + registers, kPage), -1);
  EXPECT_EQ(descriptor_at(Store::kEvents, Store::kEventBytes), file);
}

// The kernel takes no request of another kind for its own, and writes nothing to what it only reads.
TEST_F(DriverTest, RequestsOfOtherKindsAndArgumentsThatCannotBeWritten) {
  drm_auth magic = {};
  EXPECT_EQ(driver.render_ioctl(0, DRM_IOCTL_GET_MAGIC, &magic), 0);
  EXPECT_EQ(driver.render_ioctl(0, TCGETS, &magic), ENOTTY) << "isatty()";
  EXPECT_EQ(driver.render_ioctl(0, TCSETS, &magic), ENOTTY) << "its number is that of DRM_IOCTL_GET_MAGIC";
  EXPECT_EQ(driver.kfd_ioctl(TCGETS, &magic), ENOTTY);
  const uint64_t place = reserve(kPage);
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(place), kPage, PROT_READ | PROT_WRITE), 0);
  auto& policy = *reinterpret_cast<kfd_ioctl_set_memory_policy_args*>(place);
  policy.gpu_id = id;
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(place), kPage, PROT_READ), 0);
  EXPECT_EQ(kfd(AMDKFD_IOC_SET_MEMORY_POLICY, policy), 0);
  EXPECT_EQ(driver.kfd_ioctl(AMDKFD_IOC_GET_VERSION, &policy), EFAULT);
  ASSERT_EQ(mprotect(reinterpret_cast<void*>(place), kPage, PROT_NONE), 0);
  EXPECT_EQ(driver.kfd_ioctl(AMDKFD_IOC_SET_MEMORY_POLICY, &policy), EFAULT);
  munmap(&policy, kPage);
}

TEST_F(DriverTest, HostileRequestsAreAnswered) {
  EXPECT_EQ(driver.kfd_ioctl(AMDKFD_IOC_GET_VERSION, nullptr), EFAULT);
  EXPECT_EQ(driver.kfd_ioctl(AMDKFD_IOC_GET_VERSION, reinterpret_cast<void*>(0x1000)), EFAULT);
  std::mt19937_64 random(1);
  const auto buffer = allocate(4 * kPage, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  ASSERT_EQ(map(buffer.handle, {id}), 0);
  testing::internal::CaptureStderr();
  for (unsigned i = 0; i < 20'000; ++i) {
    const unsigned number = static_cast<unsigned>(random() % 0x28);
    if (number == _IOC_NR(AMDKFD_IOC_WAIT_EVENTS)) continue;  // could wait for ever, as asked
    alignas(8) uint64_t words[16];
    for (uint64_t& word : words) {
      const uint64_t choices[] = {0,
                                  1,
                                  random() % 64,
                                  random(),
                                  ~uint64_t{0},
                                  id,
                                  buffer.handle,
                                  buffer.va_addr,
                                  buffer.va_addr + random() % (4 * kPage)};
      word = choices[random() % std::size(choices)];
      if (random() % 2) word |= uint64_t{id} << 32;
    }
    const size_t bytes = random() % (sizeof words / 4 + 1) * 4;
    (void)driver.kfd_ioctl(_IOC(_IOC_READ | _IOC_WRITE, 'K', number, bytes), words);
  }
  testing::internal::GetCapturedStderr();
  kfd_ioctl_get_version_args version = {};
  EXPECT_EQ(kfd(AMDKFD_IOC_GET_VERSION, version), 0);
}

}  // namespace
}  // namespace lockstep::host
