#include "host/render_node.h"

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "host/device_files.h"
#include "host/drm_abi.h"
#include "host/refusals.h"
#include "memory/host_fault.h"
#include "state/real_time.h"

namespace lockstep::host {

namespace {

// What the kernel's driver calls generations of graphics cores (GC 11.0.0, 11.0.1).
constexpr uint32_t kFamilyOfCards = 145, kFamilyOfProcessors = 148;
constexpr uint32_t kVramGddr6 = 9, kVramLpddr5 = 12;

template <class T>
int give(const drm_amdgpu_info& query, const T& value) {
  const size_t bytes = std::min<size_t>(query.return_size, sizeof value);
  return copy_to_process(query.return_pointer, &value, bytes) ? 0 : EFAULT;
}

int version(drm_version& args) {
  args.version_major = kAmdgpuMajor;
  args.version_minor = kAmdgpuMinor;
  args.version_patchlevel = 0;
  const auto text = [](char* to, __kernel_size_t& bytes, std::string_view from) {
    const size_t room = std::min<size_t>(bytes, from.size());
    if (to && !copy_to_process(reinterpret_cast<uint64_t>(to), from.data(), room)) return false;
    bytes = from.size();
    return true;
  };
  return text(args.name, args.name_len, "amdgpu") && text(args.date, args.date_len, "20150101") &&
                 text(args.desc, args.desc_len, "AMD GPU")
             ? 0
             : EFAULT;
}

drm_amdgpu_info_device device_info(const hardware::Description& model) {
  const bool is_card = model.target != "gfx1103";
  drm_amdgpu_info_device d = {};
  d.device_id = model.pci_device_id;
  d.chip_rev = 1;
  d.external_rev = 2;
  d.pci_rev = model.pci_revision;
  d.family = is_card ? kFamilyOfCards : kFamilyOfProcessors;
  d.num_shader_engines = model.shader_engines;
  d.num_shader_arrays_per_engine = model.arrays_per_shader_engine;
  d.gpu_counter_freq = static_cast<uint32_t>(kRealTimeHertz / 1000);
  d.max_engine_clock = uint64_t{model.clock_mhz} * 1000;
  d.max_memory_clock = uint64_t{model.memory_clock_mhz} * 1000;
  d.cu_active_number = model.compute_units();
  d.num_cu_per_sh = model.work_group_processors_per_array * model.compute_units_per_work_group_processor;
  for (uint32_t engine = 0; engine < std::min(model.shader_engines, 4u); ++engine)
    for (uint32_t array = 0; array < std::min(model.arrays_per_shader_engine, 4u); ++array)
      d.cu_bitmap[engine][array] = static_cast<uint32_t>((uint64_t{1} << d.num_cu_per_sh) - 1);
  d.num_hw_gfx_contexts = 8;
  d.ids_flags = is_card ? 0 : AMDGPU_IDS_FLAGS_FUSION;
  d.virtual_address_offset = 0x200000;
  d.virtual_address_max = uint64_t{1} << 47;
  d.virtual_address_alignment = 4096;
  d.pte_fragment_size = 2u << 20;
  d.gart_page_size = 4096;
  d.vram_type = is_card ? kVramGddr6 : kVramLpddr5;
  d.vram_bit_width = model.memory_bus_bits;
  d.wave_front_size = 32;
  d.high_va_offset = 0xffff800000000000;
  d.high_va_max = 0xffffffffffe00000;
  return d;
}

// A card has one clock here, which is its least one too, and no shadow of a graphics engine.
SecondOfDevice second_device_info(const hardware::Description& model) {
  constexpr uint32_t kKib = 1024;
  SecondOfDevice d = {};
  d.min_engine_clock = uint64_t{model.clock_mhz} * 1000;
  d.min_memory_clock = uint64_t{model.memory_clock_mhz} * 1000;
  d.tcp_cache_size = model.l0_bytes_per_compute_unit / kKib;
  d.num_sqc_per_wgp = 1;
  d.sqc_data_cache_size = model.scalar_cache_bytes / kKib;
  d.sqc_inst_cache_size = model.instruction_cache_bytes / kKib;
  d.gl1c_cache_size = model.l1_bytes_per_array / kKib;
  d.gl2c_cache_size = model.l2_bytes / kKib;
  d.mall_size = model.mall_bytes;
  return d;
}

std::array<std::byte, kFirstOfDevice + sizeof(SecondOfDevice)> whole_device_info(
    const hardware::Description& model) {
  std::array<std::byte, kFirstOfDevice + sizeof(SecondOfDevice)> whole;
  const auto put = [&](size_t at, const auto& value, size_t bytes) {
    std::memcpy(&whole[at], &value, bytes);
  };
  put(0, device_info(model), kFirstOfDevice);
  put(kFirstOfDevice, second_device_info(model), sizeof(SecondOfDevice));
  put(kPcieGenerationOfDevice, kPcieGeneration, sizeof kPcieGeneration);
  put(kPcieLanesOfDevice, kPcieLanes, sizeof kPcieLanes);
  return whole;
}

// Graphics, compute and copies; there are no video engines.
bool has_engine(uint32_t type) {
  return type == AMDGPU_HW_IP_GFX || type == AMDGPU_HW_IP_COMPUTE || type == AMDGPU_HW_IP_DMA;
}

// A bit for each ring that takes commands by the render node; of graphics there is none.
drm_amdgpu_info_hw_ip engine_info(const Gpu& gpu, uint32_t type) {
  drm_amdgpu_info_hw_ip engine = {};
  engine.hw_ip_version_major = type == AMDGPU_HW_IP_DMA ? 6 : 11;
  engine.ib_start_alignment = type == AMDGPU_HW_IP_DMA ? 256 : 32;
  engine.ib_size_alignment = type == AMDGPU_HW_IP_DMA ? 4 : 32;
  engine.available_rings = (1u << rings_of(gpu, type)) - 1;
  const PartVersion part =
      type == AMDGPU_HW_IP_DMA ? copy_engine_version(gpu.model) : graphics_version(gpu.model);
  const uint32_t version = part.major << 16 | part.minor << 8 | part.revision;
  std::memcpy(reinterpret_cast<std::byte*>(&engine) + kVersionOfEngine, &version, sizeof version);
  return engine;
}

// What Linux 6.8 allows (amdgpu_ring_max_ibs); more are taken here.
MostBuffers most_buffers() {
  MostBuffers most;
  most.fill(49);
  most[AMDGPU_HW_IP_GFX] = 192;
  most[AMDGPU_HW_IP_COMPUTE] = 125;
  most[AMDGPU_HW_IP_VCN_JPEG] = 16;
  return most;
}

// What a node without displays says of itself: memory goes in and out as dmabufs.
int capability(drm_get_cap& args) {
  switch (args.capability) {
    case DRM_CAP_PRIME:
      args.value = DRM_PRIME_CAP_IMPORT | DRM_PRIME_CAP_EXPORT;
      return 0;
    case DRM_CAP_TIMESTAMP_MONOTONIC:
    case DRM_CAP_SYNCOBJ:
    case DRM_CAP_SYNCOBJ_TIMELINE:
      args.value = 1;
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

// A process has an address space of its own, so that its number is always its.
int address_space(drm_amdgpu_vm& args) {
  if (args.in.op != AMDGPU_VM_OP_RESERVE_VMID && args.in.op != AMDGPU_VM_OP_UNRESERVE_VMID) return EINVAL;
  return args.in.flags == 0 ? 0 : EINVAL;
}

// The versions that KFD's topology has, too.
int firmware(const drm_amdgpu_info& query) {
  drm_amdgpu_info_firmware version = {};
  switch (query.query_fw.fw_type) {
    case AMDGPU_INFO_FW_GFX_ME:
    case AMDGPU_INFO_FW_GFX_PFP:
    case AMDGPU_INFO_FW_GFX_MEC:
      version.ver = kComputeFirmware;
      break;
    case AMDGPU_INFO_FW_SDMA:
      version.ver = kCopyFirmware;
      break;
    case AMDGPU_INFO_FW_GFX_CE:
    case AMDGPU_INFO_FW_GFX_RLC:
    case AMDGPU_INFO_FW_GMC:
    case AMDGPU_INFO_FW_SMC:
    case AMDGPU_INFO_FW_SOS:
    case AMDGPU_INFO_FW_ASD:
    case AMDGPU_INFO_FW_VCN:
      break;
    default:
      return EINVAL;
  }
  return give(query, version);
}

// Of generation 11 (Linux, gfx_v11_0_set_gds_init).
drm_amdgpu_info_gds global_data_share() {
  drm_amdgpu_info_gds gds = {};
  gds.compute_partition_size = gds.gds_total_size = 0x1000;
  gds.gws_per_compute_partition = 64;
  gds.oa_per_compute_partition = 16;
  return gds;
}

int info(const Gpu& gpu, const Buffers& buffers, const drm_amdgpu_info& query) {
  const uint64_t total = local_memory_bytes(gpu.model), used = buffers.used(gpu);
  switch (query.query) {
    case AMDGPU_INFO_ACCEL_WORKING:
      return give(query, uint32_t{1});
    case AMDGPU_INFO_HW_IP_COUNT:
      if (query.query_hw_ip.type >= AMDGPU_HW_IP_NUM) return EINVAL;
      return give(query, uint32_t{has_engine(query.query_hw_ip.type)});
    case AMDGPU_INFO_HW_IP_INFO:
      if (query.query_hw_ip.type >= AMDGPU_HW_IP_NUM || query.query_hw_ip.ip_instance != 0) return EINVAL;
      return has_engine(query.query_hw_ip.type) ? give(query, engine_info(gpu, query.query_hw_ip.type))
                                                : give(query, drm_amdgpu_info_hw_ip{});
    case AMDGPU_INFO_DEV_INFO:
      return give(query, whole_device_info(gpu.model));
    case kMostBuffersQuery:
      return give(query, most_buffers());
    case AMDGPU_INFO_READ_MMR_REG: {
      // Programs look here for how memory is tiled, which nothing here is.
      constexpr uint32_t kMostRegisters = 128;
      const uint32_t count = query.read_mmr_reg.count;
      if (count > kMostRegisters) return EINVAL;
      const uint32_t registers[kMostRegisters] = {};
      const size_t bytes = std::min<size_t>(query.return_size, count * sizeof(uint32_t));
      return copy_to_process(query.return_pointer, registers, bytes) ? 0 : EFAULT;
    }
    case AMDGPU_INFO_VRAM_USAGE:
    case AMDGPU_INFO_VIS_VRAM_USAGE:
      return give(query, used);
    case AMDGPU_INFO_GTT_USAGE:
      return give(query, uint64_t{0});
    case AMDGPU_INFO_TIMESTAMP:
      return give(query, host_real_time());
    case AMDGPU_INFO_VRAM_GTT: {
      drm_amdgpu_info_vram_gtt sizes = {};
      sizes.vram_size = sizes.vram_cpu_accessible_size = sizes.gtt_size = total;
      return give(query, sizes);
    }
    case AMDGPU_INFO_MEMORY: {
      drm_amdgpu_memory_info memory = {};
      memory.vram.total_heap_size = memory.vram.usable_heap_size = total;
      memory.vram.heap_usage = used;
      memory.vram.max_allocation = total - used;
      memory.cpu_accessible_vram = memory.vram;
      memory.gtt.total_heap_size = memory.gtt.usable_heap_size = memory.gtt.max_allocation = total;
      return give(query, memory);
    }
    case AMDGPU_INFO_FW_VERSION:
      return firmware(query);
    case AMDGPU_INFO_GDS_CONFIG:
      return give(query, global_data_share());
    // Nothing is moved or evicted, no errors of memory are corrected, and none of it was ever lost.
    case AMDGPU_INFO_NUM_BYTES_MOVED:
    case AMDGPU_INFO_NUM_EVICTIONS:
    case AMDGPU_INFO_NUM_VRAM_CPU_PAGE_FAULTS:
    case AMDGPU_INFO_RAS_ENABLED_FEATURES:
      return give(query, uint64_t{0});
    case AMDGPU_INFO_VRAM_LOST_COUNTER:
      return give(query, uint32_t{0});
    case AMDGPU_INFO_SENSOR:
      // The others are of things that are not here (temperature, power, voltage), as on cards without them.
      switch (query.sensor_info.type) {
        case AMDGPU_INFO_SENSOR_GFX_SCLK:
        case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_SCLK:
        case kPeakEngineClock:
          return give(query, gpu.model.clock_mhz);
        case AMDGPU_INFO_SENSOR_GFX_MCLK:
        case AMDGPU_INFO_SENSOR_STABLE_PSTATE_GFX_MCLK:
        case kPeakMemoryClock:
          return give(query, gpu.model.memory_clock_mhz);
        default:
          return EINVAL;
      }
    default:
      refuse_query(query.query);
      return EINVAL;
  }
}

// Nothing: it is another request.
std::optional<int> on_sync_objects(const Gpu& gpu, SyncObjects& objects, unsigned request, void* argument) {
  switch (request) {
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_CREATE):
      return objects.create(gpu, *static_cast<drm_syncobj_create*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_DESTROY):
      return objects.destroy(gpu, *static_cast<const drm_syncobj_destroy*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD):
      return objects.export_object(gpu, *static_cast<drm_syncobj_handle*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE):
      return objects.import_object(gpu, *static_cast<drm_syncobj_handle*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_WAIT):
      return objects.wait(gpu, *static_cast<drm_syncobj_wait*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_RESET):
      return objects.reset(gpu, *static_cast<const drm_syncobj_array*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_SIGNAL):
      return objects.signal(gpu, *static_cast<const drm_syncobj_array*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT):
      return objects.wait(gpu, *static_cast<drm_syncobj_timeline_wait*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_QUERY):
      return objects.query(gpu, *static_cast<const drm_syncobj_timeline_array*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TRANSFER):
      return objects.transfer(gpu, *static_cast<const drm_syncobj_transfer*>(argument));
    case _IOC_NR(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL):
      return objects.signal(gpu, *static_cast<const drm_syncobj_timeline_array*>(argument));
    default:
      return std::nullopt;
  }
}

}  // namespace

int render_node_ioctl(Gpu& gpu, Buffers& buffers, Commands& commands, unsigned long request, void* argument) {
  if (const auto error = on_sync_objects(gpu, commands.sync_objects(), _IOC_NR(request), argument))
    return *error;
  switch (_IOC_NR(request)) {
    case _IOC_NR(DRM_IOCTL_VERSION):
      return version(*static_cast<drm_version*>(argument));
    case _IOC_NR(DRM_IOCTL_GET_MAGIC):  // of programs that ask for more rights than all have
      static_cast<drm_auth*>(argument)->magic = 1;
      return 0;
    case DRM_COMMAND_BASE + DRM_AMDGPU_INFO:
      return info(gpu, buffers, *static_cast<const drm_amdgpu_info*>(argument));
    case _IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE):
      return buffers.gem_objects().import(gpu, *static_cast<drm_prime_handle*>(argument));
    case _IOC_NR(DRM_IOCTL_PRIME_HANDLE_TO_FD):
      return buffers.gem_objects().export_again(gpu, *static_cast<drm_prime_handle*>(argument));
    case _IOC_NR(DRM_IOCTL_GEM_CLOSE):
      return buffers.close_gem(gpu, *static_cast<const drm_gem_close*>(argument));
    case _IOC_NR(DRM_IOCTL_GET_CAP):
      return capability(*static_cast<drm_get_cap*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_CREATE:
      return buffers.create_gem(gpu, *static_cast<drm_amdgpu_gem_create*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_WAIT_IDLE:
      return commands.wait_idle(gpu, *static_cast<drm_amdgpu_gem_wait_idle*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA:
      return buffers.gem_objects().change_mapping(gpu, *static_cast<const drm_amdgpu_gem_va*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP:
      return buffers.gem_objects().mmap_offset(gpu, *static_cast<drm_amdgpu_gem_mmap*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_METADATA:
      return buffers.gem_objects().metadata(gpu, *static_cast<drm_amdgpu_gem_metadata*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_GEM_OP:
      return buffers.gem_objects().operate(gpu, *static_cast<const drm_amdgpu_gem_op*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_CTX:
      return commands.context(gpu, *static_cast<drm_amdgpu_ctx*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_BO_LIST:
      return commands.buffer_list(gpu, *static_cast<drm_amdgpu_bo_list*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_CS:
      return commands.submit(gpu, *static_cast<drm_amdgpu_cs*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_CS:
      return commands.wait(gpu, *static_cast<drm_amdgpu_wait_cs*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_WAIT_FENCES:
      return commands.wait_fences(gpu, *static_cast<drm_amdgpu_wait_fences*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_FENCE_TO_HANDLE:
      return commands.name_fence(gpu, *static_cast<drm_amdgpu_fence_to_handle*>(argument));
    case DRM_COMMAND_BASE + DRM_AMDGPU_VM:
      return address_space(*static_cast<drm_amdgpu_vm*>(argument));
    default:
      refuse_render_node(_IOC_NR(request));
      return EINVAL;
  }
}

}  // namespace lockstep::host
