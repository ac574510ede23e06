#include "host/driver.h"

#include <libdrm/drm.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/refusals.h"
#include "host/render_node.h"
#include "memory/host_fault.h"
#include "state/real_time.h"
#include "state/wave.h"

namespace lockstep::host {

namespace {

Gpus make_gpus(const Settings& settings, Reports& reports) {
  Gpus gpus;
  for (unsigned index = 0; index < settings.devices; ++index) {
    auto gpu = std::make_unique<Gpu>();
    gpu->index = index;
    gpu->id = gpu_id(settings.model, index);
    gpu->model = settings.model;
    machine::Device::Options options;
    options.hardware = settings.model;
    options.engine = settings.engine;
    options.threads = settings.threads;
    options.host_real_time = true;
    options.precise = settings.precise;
    options.listener = reports.listener(index);
    options.trap_handler = &gpu->traps;
    gpu->processor = std::make_unique<command::CommandProcessor>(gpu->memory, std::move(options));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

// Answers a request with a copy of its arguments, longer than any structure that we know. As in the kernel,
// what the program says is only read may lie where it cannot write.
template <class Answer>
int with_arguments(unsigned long request, void* place, Answer answer) {
  constexpr uint32_t kMostBytes = 16384;
  const uint32_t bytes = _IOC_SIZE(request);
  const auto address = reinterpret_cast<uint64_t>(place);
  const bool is_written = _IOC_DIR(request) != _IOC_WRITE;
  alignas(16) std::byte arguments[kMostBytes + 256] = {};
  if (bytes > kMostBytes || (is_written && !host_has(address, bytes, true)) ||
      !copy_from_process(arguments, address, bytes))
    return EFAULT;
  const int error = answer(arguments);
  // Whatever another thread has done to them meanwhile.
  return is_written && !copy_to_process(address, arguments, bytes) ? EFAULT : error;
}

uint64_t nanoseconds(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

Driver::Driver(const Settings& settings)
    : reports_(settings.reports, code_objects_, settings.model.name),
      gpus_(make_gpus(settings, reports_)),
      buffers_(store_, gpus_),
      shared_(gpus_, buffers_),
      doorbells_(store_, gpus_),
      queues_(gpus_, doorbells_, events_, smi_events_, code_objects_),
      commands_(buffers_.gem_objects(), [this](const command::QueueError& error) { queues_.tell(error); }) {
  reports_.dumps().set_store(store_.descriptor());
  catch_host_faults();
  for (const auto& gpu : gpus_) {
    gpu->processor->interrupts().set_callback([this](const command::Interrupt& interrupt) {
      // Packets, waves and copies all name the number of an event.
      constexpr uint32_t kNumber = 0xffffff;
      events_.raise(interrupt.data & kNumber);
    });
    gpu->traps.tell_fault = [this, gpu = gpu.get()](const auto& fault, const auto& launch) {
      queues_.wave_faulted(*gpu, fault, launch);
    };
    gpu->traps.is_exception = [this, gpu = gpu.get()](const auto&, uint32_t data) {
      return queues_.are_exceptions(*gpu, data);
    };
    gpu->traps.tell_exceptions = [this, gpu = gpu.get()](const auto* cause, const auto& launch,
                                                         uint32_t data) {
      queues_.tell_exceptions(*gpu, cause, launch, data);
    };
  }
}

Gpu* Driver::find(uint32_t id) const {
  for (const auto& gpu : gpus_)
    if (gpu->id == id) return gpu.get();
  return nullptr;
}

int Driver::kfd_ioctl(unsigned long request, void* argument) {
  // As the kernel does: programs may know shorter or longer structures than we.
  if (_IOC_TYPE(request) != AMDKFD_IOCTL_BASE) return ENOTTY;
  const uint32_t bytes = _IOC_SIZE(request);
  return with_arguments(request, argument,
                        [&](void* arguments) { return answer(_IOC_NR(request), arguments, bytes); });
}

int Driver::answer(unsigned number, void* p, uint32_t bytes) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_GET_VERSION): {
      auto& args = *static_cast<kfd_ioctl_get_version_args*>(p);
      args.major_version = kKfdMajor;
      args.minor_version = kKfdMinor;
      return 0;
    }
    case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE): {
      uint32_t engine = 0;
      std::memcpy(&engine, static_cast<std::byte*>(p) + kEngineOfQueue, sizeof engine);  // 0 if it is shorter
      return queues_.create(*static_cast<kfd_ioctl_create_queue_args*>(p), engine);
    }
    case _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE):
      return queues_.destroy(*static_cast<kfd_ioctl_destroy_queue_args*>(p));
    case _IOC_NR(AMDKFD_IOC_GET_PROCESS_APERTURES):
      return apertures(*static_cast<kfd_ioctl_get_process_apertures_args*>(p));
    case _IOC_NR(AMDKFD_IOC_UPDATE_QUEUE):
      return queues_.update(*static_cast<kfd_ioctl_update_queue_args*>(p));
    case _IOC_NR(AMDKFD_IOC_SET_MEMORY_POLICY):  // caches of host and devices are one
      return find(static_cast<kfd_ioctl_set_memory_policy_args*>(p)->gpu_id) ? 0 : EINVAL;
    case _IOC_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS):
      return clock_counters(*static_cast<kfd_ioctl_get_clock_counters_args*>(p));
    case _IOC_NR(AMDKFD_IOC_CREATE_EVENT):
      return create_event(*static_cast<kfd_ioctl_create_event_args*>(p));
    case _IOC_NR(AMDKFD_IOC_DESTROY_EVENT):
      return events_.destroy(*static_cast<kfd_ioctl_destroy_event_args*>(p));
    case _IOC_NR(AMDKFD_IOC_SET_EVENT):
      return events_.set(*static_cast<kfd_ioctl_set_event_args*>(p));
    case _IOC_NR(AMDKFD_IOC_RESET_EVENT):
      return events_.reset(*static_cast<kfd_ioctl_reset_event_args*>(p));
    case _IOC_NR(AMDKFD_IOC_WAIT_EVENTS):
      return events_.wait(*static_cast<kfd_ioctl_wait_events_args*>(p));
    case _IOC_NR(AMDKFD_IOC_SET_SCRATCH_BACKING_VA):  // each queue has a scratch ring of its own
      return find(static_cast<kfd_ioctl_set_scratch_backing_va_args*>(p)->gpu_id) ? 0 : EINVAL;
    case _IOC_NR(AMDKFD_IOC_GET_TILE_CONFIG): {
      auto& args = *static_cast<kfd_ioctl_get_tile_config_args*>(p);
      if (!find(args.gpu_id)) return EINVAL;
      args.num_tile_configs = args.num_macro_tile_configs = 0;  // gfx9 and later have none
      args.gb_addr_config = 0x545;
      args.num_banks = 4;
      args.num_ranks = 1;
      return 0;
    }
    case _IOC_NR(AMDKFD_IOC_SET_TRAP_HANDLER):
      return set_trap_handler(*static_cast<kfd_ioctl_set_trap_handler_args*>(p));
    case _IOC_NR(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW):
      return apertures(*static_cast<kfd_ioctl_get_process_apertures_new_args*>(p));
    case _IOC_NR(AMDKFD_IOC_ACQUIRE_VM):
      return find(static_cast<kfd_ioctl_acquire_vm_args*>(p)->gpu_id) ? 0 : EINVAL;
    case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU):
      return buffers_.allocate(*static_cast<kfd_ioctl_alloc_memory_of_gpu_args*>(p));
    case _IOC_NR(AMDKFD_IOC_FREE_MEMORY_OF_GPU):
      return free_memory(*static_cast<kfd_ioctl_free_memory_of_gpu_args*>(p));
    case _IOC_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU):
      return buffers_.map(*static_cast<kfd_ioctl_map_memory_to_gpu_args*>(p));
    case _IOC_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU):
      return buffers_.unmap(*static_cast<kfd_ioctl_unmap_memory_from_gpu_args*>(p));
    case _IOC_NR(AMDKFD_IOC_SET_CU_MASK):
      return queues_.set_cu_mask(*static_cast<kfd_ioctl_set_cu_mask_args*>(p));
    case _IOC_NR(AMDKFD_IOC_GET_DMABUF_INFO):
      return buffers_.dmabuf_info(*static_cast<kfd_ioctl_get_dmabuf_info_args*>(p));
    case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF):
      return buffers_.import_dmabuf(*static_cast<kfd_ioctl_import_dmabuf_args*>(p));
    case _IOC_NR(AMDKFD_IOC_ALLOC_QUEUE_GWS):
      return queues_.allocate_gws(*static_cast<kfd_ioctl_alloc_queue_gws_args*>(p));
    case _IOC_NR(AMDKFD_IOC_SVM): {
      auto& args = *static_cast<kfd_ioctl_svm_args*>(p);
      if (bytes < sizeof args || args.nattr > (bytes - sizeof args) / sizeof(kfd_ioctl_svm_attribute))
        return EINVAL;
      return shared_.answer(args, args.nattr);
    }
    case _IOC_NR(AMDKFD_IOC_SET_XNACK_MODE): {
      auto& args = *static_cast<kfd_ioctl_set_xnack_mode_args*>(p);
      if (args.xnack_enabled >= 0 && queues_.has_some()) return EBUSY;
      if (args.xnack_enabled > 0) return EPERM;  // gfx11 cannot repeat faulting accesses
      args.xnack_enabled = 0;
      return 0;
    }
    case _IOC_NR(AMDKFD_IOC_SMI_EVENTS): {
      auto& args = *static_cast<kfd_ioctl_smi_events_args*>(p);
      return find(args.gpuid) ? smi_events_.open(args) : EINVAL;
    }
    case _IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY):
      return buffers_.available(*static_cast<kfd_ioctl_get_available_memory_args*>(p));
    case kExportDmabuf:
      return buffers_.export_dmabuf(*static_cast<ExportDmabufArgs*>(p));
    case kIpcExport:
      return buffers_.export_ipc(*static_cast<IpcExportArgs*>(p));
    case kIpcImport:
      return buffers_.import_ipc(*static_cast<IpcImportArgs*>(p));
    case kRuntimeEnable: {
      auto& args = *static_cast<RuntimeEnableArgs*>(p);
      constexpr uint32_t kEnable = 1;  // else it is disabled
      code_objects_.set_list(args.mode_mask & kEnable ? args.r_debug : 0);
      queues_.set_runtime(args.mode_mask & kEnable);
      args.capabilities_mask = 0;
      return 0;
    }
    default:
      refuse_kfd(number);
      return number == kDebugTrap ? EPERM : EINVAL;
  }
}

int Driver::create_event(kfd_ioctl_create_event_args& args) {
  const uint64_t of_program = args.event_page_offset;
  if (!events_.has_slots()) {
    const uint64_t place = of_program ? buffers_.place_of(of_program, Store::kEventBytes) : Store::kEvents;
    if (place == 0) return EINVAL;
    // A mapping of our own: what the program does with its own, and when, does not matter then.
    void* const slots = store_.map(nullptr, place, Store::kEventBytes);
    if (!slots) return ENOMEM;
    std::memset(slots, 0xff, Store::kEventBytes);
    events_.set_slots(slots);
    slots_buffer_ = of_program;
  }
  return events_.create(args);
}

int Driver::free_memory(const kfd_ioctl_free_memory_of_gpu_args& args) {
  if (args.handle == slots_buffer_.load()) {
    slots_buffer_ = 0;
    events_.set_slots(nullptr);
  }
  return buffers_.free(args);
}

int Driver::set_trap_handler(const kfd_ioctl_set_trap_handler_args& args) const {
  Gpu* const gpu = find(args.gpu_id);
  if (!gpu) return EINVAL;
  gpu->traps.set({args.tba_addr, args.tma_addr});
  return 0;
}

int Driver::clock_counters(kfd_ioctl_get_clock_counters_args& args) {
  if (!find(args.gpu_id)) return EINVAL;
  args.gpu_clock_counter = host_real_time();
  args.cpu_clock_counter = nanoseconds(CLOCK_MONOTONIC_RAW);
  args.system_clock_counter = nanoseconds(CLOCK_BOOTTIME);
  args.system_clock_freq = 1'000'000'000;
  return 0;
}

kfd_process_device_apertures Driver::apertures_of(const Gpu& gpu) {
  kfd_process_device_apertures a = {};
  a.lds_base = kSharedApertureBase;
  a.lds_limit = kSharedApertureBase + kApertureSize - 1;
  a.scratch_base = kPrivateApertureBase;
  a.scratch_limit = kPrivateApertureBase + kApertureSize - 1;
  a.gpuvm_base = 0x10000;
  // All that a process can have: then runtimes take addresses from mmap, and guest addresses are the
  // host's.
  a.gpuvm_limit = kHighestAddress - 1;
  a.gpu_id = gpu.id;
  return a;
}

int Driver::apertures(kfd_ioctl_get_process_apertures_args& args) {
  args.num_of_nodes = 0;
  for (const auto& gpu : gpus_)
    if (args.num_of_nodes < NUM_OF_SUPPORTED_GPUS)
      args.process_apertures[args.num_of_nodes++] = apertures_of(*gpu);
  return 0;
}

int Driver::apertures(kfd_ioctl_get_process_apertures_new_args& args) {
  const auto count = static_cast<uint32_t>(gpus_.size());
  if (args.num_of_nodes == 0) {
    args.num_of_nodes = count;
    return 0;
  }
  const uint32_t given = std::min(args.num_of_nodes, count);
  const uint64_t place = args.kfd_process_device_apertures_ptr;
  std::vector<kfd_process_device_apertures> all;
  for (uint32_t i = 0; i < given; ++i) all.push_back(apertures_of(*gpus_[i]));
  if (!copy_to_process(place, all.data(), all.size() * sizeof all[0])) return EFAULT;
  args.num_of_nodes = given;
  return 0;
}

int Driver::render_ioctl(unsigned device, unsigned long request, void* argument) {
  if (device >= gpus_.size()) return ENODEV;
  if (_IOC_TYPE(request) != DRM_IOCTL_BASE) return ENOTTY;
  return with_arguments(request, argument, [&](void* arguments) {
    return render_node_ioctl(*gpus_[device], buffers_, commands_, request, arguments);
  });
}

}  // namespace lockstep::host
