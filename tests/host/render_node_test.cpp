// The render node as programs of libdrm use it: memory of its own, what it can do, what it says of the
// device.
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "host/drm_abi.h"
#include "tests/host/driver_fixture.h"

namespace lockstep::host {
namespace {

struct RenderNode : DriverTest {
  template <class Args>
  int node(unsigned long request, Args& args, unsigned device = 0) {
    return driver.render_ioctl(device, request, &args);
  }
  drm_amdgpu_gem_create create(uint64_t bytes, uint64_t domains, uint64_t flags = 0, int expected = 0) {
    drm_amdgpu_gem_create args = {};
    args.in.bo_size = bytes;
    args.in.alignment = kPage;
    args.in.domains = domains;
    args.in.domain_flags = flags;
    EXPECT_EQ(node(DRM_IOCTL_AMDGPU_GEM_CREATE, args), expected);
    return args;
  }
  int close_object(uint32_t handle) {
    drm_gem_close args = {};
    args.handle = handle;
    return node(DRM_IOCTL_GEM_CLOSE, args);
  }
  uint64_t available() {
    kfd_ioctl_get_available_memory_args args = {};
    args.gpu_id = id;
    EXPECT_EQ(kfd(AMDKFD_IOC_AVAILABLE_MEMORY, args), 0);
    return args.available;
  }
  template <class T>
  int query(drm_amdgpu_info args, T& answer) {
    args.return_pointer = reinterpret_cast<uint64_t>(&answer);
    args.return_size = sizeof answer;
    return node(DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), args);
  }
};

TEST_F(RenderNode, MakesMemoryThatItsObjectHolds) {
  const uint64_t all = available();
  const uint32_t handle =
      create(3 * kPage - 1, AMDGPU_GEM_DOMAIN_VRAM, AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED).out.handle;
  const uint32_t second = create(kPage, AMDGPU_GEM_DOMAIN_GTT).out.handle;
  EXPECT_NE(handle, second);
  EXPECT_EQ(available(), all - 3 * kPage) << "whole pages, of the device alone";
  // The host and the device see the same.
  drm_amdgpu_gem_mmap place = {};
  place.in.handle = handle;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_GEM_MMAP, place), 0);
  auto* const seen =
      static_cast<uint32_t*>(mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, driver.descriptor(),
                                  static_cast<off_t>(place.out.addr_ptr)));
  ASSERT_NE(seen, MAP_FAILED);
  EXPECT_EQ(seen[0], 0u);
  seen[5] = 42;
  drm_amdgpu_gem_va mapping = {};
  mapping.handle = handle;
  mapping.operation = AMDGPU_VA_OP_MAP;
  mapping.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE;
  mapping.va_address = reserve(3 * kPage);
  mapping.map_size = 3 * kPage;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_GEM_VA, mapping), 0);
  EXPECT_TRUE(driver.gpus()[0]->memory.snapshot()->find(mapping.va_address, 3 * kPage, kReadWrite));
  EXPECT_EQ(reinterpret_cast<uint32_t*>(mapping.va_address)[5], 42u);
  drm_amdgpu_gem_wait_idle idle = {};
  idle.in.handle = handle;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, idle), 0);
  EXPECT_EQ(idle.out.status, 0u);
  drm_amdgpu_gem_create_in made = {};
  drm_amdgpu_gem_op operation = {};
  operation.handle = handle;
  operation.op = AMDGPU_GEM_OP_GET_GEM_CREATE_INFO;
  operation.value = reinterpret_cast<uint64_t>(&made);
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_GEM_OP, operation), 0);
  EXPECT_EQ(made.bo_size, 3 * kPage);
  EXPECT_EQ(made.domains, uint64_t{AMDGPU_GEM_DOMAIN_VRAM});
  EXPECT_EQ(made.domain_flags, uint64_t{AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED});
  munmap(seen, 3 * kPage);
  EXPECT_EQ(close_object(handle), 0);
  EXPECT_FALSE(driver.gpus()[0]->memory.snapshot()->find(mapping.va_address, 1, kRead));
  EXPECT_EQ(available(), all);
  EXPECT_EQ(close_object(handle), EINVAL);
  idle.in.handle = handle;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, idle), ENOENT);
  EXPECT_EQ(close_object(second), 0);
}

// It can be passed on as a dmabuf, to the other driver too, and stays as long as anybody has it.
TEST_F(RenderNode, PassesItsMemoryOn) {
  const uint64_t all = available();
  drm_prime_handle exported = {};
  exported.handle = create(2 * kPage, AMDGPU_GEM_DOMAIN_VRAM).out.handle;
  exported.flags = DRM_CLOEXEC | DRM_RDWR;
  ASSERT_EQ(node(DRM_IOCTL_PRIME_HANDLE_TO_FD, exported), 0);
  kfd_ioctl_import_dmabuf_args imported = {};
  imported.va_addr = reserve(2 * kPage);
  imported.gpu_id = id;
  imported.dmabuf_fd = static_cast<uint32_t>(exported.fd);
  ASSERT_EQ(kfd(AMDKFD_IOC_IMPORT_DMABUF, imported), 0);
  close(exported.fd);
  reinterpret_cast<uint32_t*>(imported.va_addr)[7] = 9;
  EXPECT_EQ(close_object(exported.handle), 0);
  EXPECT_EQ(available(), all - 2 * kPage);
  EXPECT_EQ(map(imported.handle, {id}), 0);
  EXPECT_EQ(reinterpret_cast<uint32_t*>(imported.va_addr)[7], 9u);
  EXPECT_EQ(free(imported.handle), 0);
  EXPECT_EQ(available(), all);
}

TEST_F(RenderNode, RefusesMemoryThatThereIsNot) {
  create(0, AMDGPU_GEM_DOMAIN_VRAM, 0, EINVAL);
  create(kPage, AMDGPU_GEM_DOMAIN_GDS, 0, EINVAL);
  create(kPage, 0, 0, EINVAL);
  create(~uint64_t{0}, AMDGPU_GEM_DOMAIN_GTT, 0, EINVAL);
  create(available() + kPage, AMDGPU_GEM_DOMAIN_VRAM, 0, ENOMEM);
}

TEST_F(RenderNode, SaysWhatItCanDo) {
  const auto capability = [&](uint64_t which, int expected = 0) {
    drm_get_cap args = {};
    args.capability = which;
    args.value = 99;
    EXPECT_EQ(node(DRM_IOCTL_GET_CAP, args), expected) << which;
    return args.value;
  };
  EXPECT_EQ(capability(DRM_CAP_PRIME), uint64_t{DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT});
  EXPECT_EQ(capability(DRM_CAP_TIMESTAMP_MONOTONIC), 1u);
  EXPECT_EQ(capability(DRM_CAP_SYNCOBJ), 1u);
  EXPECT_EQ(capability(DRM_CAP_SYNCOBJ_TIMELINE), 1u);
  capability(DRM_CAP_DUMB_BUFFER, EOPNOTSUPP);
}

TEST_F(RenderNode, AnswersWhatLibdrmAsks) {
  drm_amdgpu_info args = {};
  args.query = AMDGPU_INFO_FW_VERSION;
  args.query_fw.fw_type = AMDGPU_INFO_FW_GFX_MEC;
  drm_amdgpu_info_firmware firmware = {};
  EXPECT_EQ(query(args, firmware), 0);
  EXPECT_EQ(firmware.ver, 550u) << "as KFD's topology has it";
  args.query_fw.fw_type = AMDGPU_INFO_FW_SDMA;
  EXPECT_EQ(query(args, firmware), 0);
  EXPECT_EQ(firmware.ver, 21u);
  args.query_fw.fw_type = 0xff;
  EXPECT_EQ(query(args, firmware), EINVAL);
  args = {};
  args.query = AMDGPU_INFO_GDS_CONFIG;
  drm_amdgpu_info_gds gds = {};
  EXPECT_EQ(query(args, gds), 0);
  EXPECT_EQ(gds.gws_per_compute_partition, 64u);
  for (const uint32_t counter : {AMDGPU_INFO_NUM_BYTES_MOVED, AMDGPU_INFO_NUM_EVICTIONS,
                                 AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS, AMDGPU_INFO_RAS_ENABLED_FEATURES}) {
    args.query = counter;
    uint64_t value = 9;
    EXPECT_EQ(query(args, value), 0) << counter;
    EXPECT_EQ(value, 0u) << counter;
  }
  args.query = AMDGPU_INFO_VRAM_LOST_COUNTER;
  uint32_t lost = 9;
  EXPECT_EQ(query(args, lost), 0);
  EXPECT_EQ(lost, 0u);
}

// What the version promises that the node says it is of, whichever header the program was compiled with.
TEST_F(RenderNode, SaysOfTheDeviceWhatItsVersionHas) {
  drm_version version = {};
  ASSERT_EQ(node(DRM_IOCTL_VERSION, version), 0);
  ASSERT_GE(version.version_minor, 52);
  const hardware::Description& model = driver.gpus()[0]->model;
  drm_amdgpu_info args = {};
  args.query = AMDGPU_INFO_DEV_INFO;
  struct {
    std::array<std::byte, kFirstOfDevice> first;
    SecondOfDevice second;
    uint64_t behind = 77;
  } device;
  ASSERT_EQ(query(args, device), 0);
  drm_amdgpu_info_device known = {};
  std::memcpy(&known, device.first.data(), kFirstOfDevice);
  EXPECT_EQ(known.cu_active_number, model.compute_units());
  EXPECT_EQ(known.high_va_max, 0xffffffffffe00000u) << "what is put in between changes nothing beside it";
  EXPECT_EQ(known.num_hw_gfx_contexts, 8u);
  EXPECT_EQ(known.cu_ao_bitmap[0][0], 0u);
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, &device.first[at], sizeof value);
    return value;
  };
  EXPECT_EQ(word(kPcieGenerationOfDevice), 4u);
  EXPECT_EQ(word(kPcieLanesOfDevice), 16u);
  EXPECT_EQ(device.second.min_engine_clock, known.max_engine_clock);
  EXPECT_EQ(device.second.min_memory_clock, known.max_memory_clock);
  EXPECT_EQ(device.second.tcp_cache_size, 32u);
  EXPECT_EQ(device.second.num_sqc_per_wgp, 1u);
  EXPECT_EQ(device.second.sqc_data_cache_size, 16u);
  EXPECT_EQ(device.second.sqc_inst_cache_size, 32u);
  EXPECT_EQ(device.second.gl1c_cache_size, 256u);
  EXPECT_EQ(device.second.gl2c_cache_size, 6144u);
  EXPECT_EQ(device.second.mall_size, uint64_t{96} << 20);
  EXPECT_EQ(device.behind, 77u) << "no more than there is";
  // A program of an older header gets what it has room for.
  std::array<std::byte, kFirstOfDevice + 1> shorter;
  shorter.back() = std::byte{9};
  args.return_pointer = reinterpret_cast<uint64_t>(&shorter);
  args.return_size = kFirstOfDevice;
  ASSERT_EQ(node(DRM_IOW(DRM_COMMAND_BASE + DRM_AMDGPU_INFO, drm_amdgpu_info), args), 0);
  EXPECT_TRUE(std::equal(device.first.begin(), device.first.end(), shorter.begin()));
  EXPECT_EQ(shorter.back(), std::byte{9});
}

TEST_F(RenderNode, SaysOfEnginesWhatItsVersionHas) {
  drm_amdgpu_info args = {};
  args.query = AMDGPU_INFO_HW_IP_INFO;
  const auto version = [&](uint32_t type) {
    args.query_hw_ip.type = type;
    std::array<uint32_t, sizeof(drm_amdgpu_info_hw_ip) / sizeof(uint32_t)> engine = {};
    EXPECT_EQ(query(args, engine), 0) << type;
    return engine[kVersionOfEngine / sizeof(uint32_t)];
  };
  EXPECT_EQ(version(AMDGPU_HW_IP_GFX), 11u << 16);
  EXPECT_EQ(version(AMDGPU_HW_IP_COMPUTE), 11u << 16);
  EXPECT_EQ(version(AMDGPU_HW_IP_DMA), 6u << 16);
  EXPECT_EQ(version(AMDGPU_HW_IP_VCN_DEC), 0u);
  args = {};
  args.query = kMostBuffersQuery;
  MostBuffers most = {};
  ASSERT_EQ(query(args, most), 0);
  EXPECT_EQ(most, (MostBuffers{192, 125, 49, 49, 49, 49, 49, 49, 16, 49}));
  args = {};
  args.query = AMDGPU_INFO_SENSOR;
  for (const auto& [sensor, mhz] : {std::pair(kPeakEngineClock, 2500u), {kPeakMemoryClock, 1249u}}) {
    args.sensor_info.type = sensor;
    uint32_t clock = 0;
    EXPECT_EQ(query(args, clock), 0);
    EXPECT_EQ(clock, mhz);
  }
  args.query = kFaultQuery;
  std::array<uint64_t, 2> fault = {};
  EXPECT_EQ(query(args, fault), EINVAL);
}

}  // namespace
}  // namespace lockstep::host
