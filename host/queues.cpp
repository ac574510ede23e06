#include "host/queues.h"

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "command/fault_text.h"
#include "memory/host_fault.h"

namespace lockstep::host {

namespace {

// What Linux's driver takes an interrupt for that a wave sends with STATUS.PRIV set (kfd_int_process_v11.c):
// the number of the queue's doorbell, and above it exceptions of queues, a bit each.
constexpr uint32_t kDoorbellNumber = 0x3ff;
constexpr unsigned kExceptionsShift = 10;

ExceptionCode code_of(const command::QueueError& error) {
  using Kind = command::QueueError::Kind;
  if (error.fault) {
    switch (error.fault->fault.kind) {
      case FaultKind::memory_violation:
        return ExceptionCode::wave_memory_violation;
      case FaultKind::misaligned:
        return ExceptionCode::wave_aperture_violation;
      case FaultKind::illegal_instruction:
      case FaultKind::unsupported:
      case FaultKind::bad_pc:
        return ExceptionCode::wave_illegal_instruction;
      default:
        return ExceptionCode::wave_abort;
    }
  }
  if (error.kind == Kind::memory_violation) return ExceptionCode::wave_memory_violation;
  // By the field of the packet that is wrong, or what it begins with where there is one for each dimension.
  static constexpr std::pair<std::string_view, ExceptionCode> kFields[] = {
      {"setup", ExceptionCode::packet_dimensions_invalid},
      {"grid_size_", ExceptionCode::packet_dimensions_invalid},
      {"workgroup_size_", ExceptionCode::packet_work_group_invalid},
      {"group_segment_size", ExceptionCode::packet_group_segment_invalid},
      {"kernel_object", ExceptionCode::packet_code_invalid},
  };
  for (const auto& [field, code] : kFields)
    if (error.field.starts_with(field)) return code;
  return ExceptionCode::packet_unsupported;
}

}  // namespace

Queues::~Queues() {
  for (auto& [id, entry] : queues_) entry.gpu->processor->destroy(entry.queue);
}

int Queues::create(kfd_ioctl_create_queue_args& args, uint32_t engine) {
  Gpu* gpu = nullptr;
  for (const auto& each : gpus_)
    if (each->id == args.gpu_id) gpu = each.get();
  if (!gpu || args.queue_percentage > KFD_MAX_QUEUE_PERCENTAGE ||
      args.queue_priority > KFD_MAX_QUEUE_PRIORITY || args.read_pointer_address % 8 != 0 ||
      args.write_pointer_address % 8 != 0 || args.ring_base_address % 256 != 0 ||
      (args.queue_type == kQueueOfEngine && engine >= gpu->model.copy_engines))
    return EINVAL;
  Entry entry;
  entry.gpu = gpu;
  entry.doorbell = doorbells_.take(*gpu);
  if (!entry.doorbell) return ENOMEM;
  entry.ring = args.ring_base_address;
  entry.ring_bytes = args.ring_size;
  entry.save_area = args.ctx_save_restore_address;

  std::unique_lock lock(mutex_);
  const uint32_t id = next_++;
  auto on_error = [this, id](const command::QueueError& error) { failed(id, error); };
  try {
    if (args.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) {
      // The card finds the amd_queue_t, which kernels are given, by where it reports how far it has read.
      const uint64_t queue = args.read_pointer_address - offsetof(command::QueueMemory, read_dispatch_id);
      command::AqlQueueOptions options;
      options.size = args.ring_size / sizeof(command::AqlPacket);
      options.priority = static_cast<int>(args.queue_priority);
      options.on_error = on_error;
      options.memory = {reinterpret_cast<command::QueueMemory*>(queue),
                        reinterpret_cast<command::AqlPacket*>(args.ring_base_address), entry.doorbell,
                        reinterpret_cast<uint64_t*>(args.write_pointer_address)};
      entry.queue = gpu->processor->create_aql_queue(std::move(options));
    } else {
      command::RingQueueOptions options;
      options.dwords = args.ring_size / 4;
      options.priority = static_cast<int>(args.queue_priority);
      options.on_error = on_error;
      options.memory = {reinterpret_cast<uint32_t*>(args.ring_base_address),
                        reinterpret_cast<uint64_t*>(args.read_pointer_address),
                        reinterpret_cast<uint64_t*>(args.write_pointer_address), entry.doorbell};
      if (args.queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE) {
        options.memory->wraps = true;
        entry.queue = gpu->processor->create_pm4_queue(std::move(options));
      } else if (args.queue_type == KFD_IOC_QUEUE_TYPE_SDMA || args.queue_type == kQueueOfEngine) {
        entry.copies = true;
        options.memory->unit = 1;
        entry.queue = gpu->processor->create_sdma_queue(std::move(options));
      } else {
        throw std::invalid_argument("a queue of type " + std::to_string(args.queue_type) +
                                    " (0 is PM4, 1 SDMA, 2 AQL, 4 SDMA of one engine)");
      }
    }
  } catch (const std::exception& error) {
    doorbells_.give_back(*gpu, entry.doorbell);
    std::fprintf(stderr, "lockstep: no queue: %s\n", error.what());
    return EINVAL;
  }
  if (args.queue_percentage == 0) {
    gpu->processor->suspend(*entry.queue);
    entry.suspended = true;
  }
  args.queue_id = id;
  args.doorbell_offset = doorbells_.offset(*gpu, entry.doorbell);
  queues_.emplace(id, std::move(entry));
  return 0;
}

int Queues::destroy(const kfd_ioctl_destroy_queue_args& args) {
  std::lock_guard changing(changing_);
  Entry entry;
  {
    std::lock_guard lock(mutex_);
    const auto found = queues_.find(args.queue_id);
    if (found == queues_.end()) return EINVAL;
    entry = std::move(found->second);
    queues_.erase(found);
  }
  entry.gpu->processor->destroy(entry.queue);
  // Its end waits for what runs, which may tell of errors: without the lock.
  entry.queue.reset();
  doorbells_.give_back(*entry.gpu, entry.doorbell);
  return 0;
}

Queues::Entry* Queues::find(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto found = queues_.find(id);
  return found == queues_.end() ? nullptr : &found->second;
}

// Suspending waits for packets that are being processed, whose waves may tell of faults: without that lock.
int Queues::update(const kfd_ioctl_update_queue_args& args) {
  std::lock_guard changing(changing_);
  Entry* const found = find(args.queue_id);
  if (!found || args.queue_percentage > KFD_MAX_QUEUE_PERCENTAGE ||
      args.queue_priority > KFD_MAX_QUEUE_PRIORITY)
    return EINVAL;
  Entry& entry = *found;
  // Null and 0 suspend it, too: the driver's way to take its ring away for a time.
  const bool suspend = args.queue_percentage == 0 || args.ring_base_address == 0 || args.ring_size == 0;
  if (!suspend && (args.ring_base_address != entry.ring || args.ring_size != entry.ring_bytes)) {
    std::fprintf(stderr, "lockstep: queue %u cannot get another ring (make another queue)\n", args.queue_id);
    return EINVAL;
  }
  if (suspend)
    entry.gpu->processor->evict(*entry.queue);
  else
    entry.gpu->processor->suspend(*entry.queue);
  entry.queue->set_priority(static_cast<int>(args.queue_priority));
  entry.suspended = suspend;
  if (!suspend) entry.gpu->processor->resume(entry.queue);
  return 0;
}

int Queues::set_cu_mask(const kfd_ioctl_set_cu_mask_args& args) {
  std::lock_guard changing(changing_);
  const bool whole_words = args.num_cu_mask != 0 && args.num_cu_mask % 32 == 0 && args.num_cu_mask <= 1024;
  Entry* const found = find(args.queue_id);
  if (!found || found->copies || !whole_words) return EINVAL;
  std::vector<uint32_t> mask(args.num_cu_mask / 32);
  if (!copy_from_process(mask.data(), args.cu_mask_ptr, args.num_cu_mask / 8)) return EFAULT;
  // As the driver has it: both units of a work-group processor or none. A queue may have none at all, as long
  // as nothing is to run there.
  for (const uint32_t word : mask)
    if (((word ^ word >> 1) & 0x55555555) != 0) return EINVAL;
  Entry& entry = *found;
  const auto units = machine::ComputeUnits::of_pairs(entry.gpu->processor->device().hardware(), mask);
  entry.gpu->processor->suspend(*entry.queue);
  entry.queue->set_compute_units(units);
  if (!entry.suspended) entry.gpu->processor->resume(entry.queue);
  return 0;
}

int Queues::allocate_gws(kfd_ioctl_alloc_queue_gws_args& args) {
  constexpr uint32_t kResources = 64;  // guide 12.7: of global wave sync
  std::lock_guard lock(mutex_);
  if (!queues_.contains(args.queue_id) || args.num_gws > kResources) return EINVAL;
  args.first_gws = 0;
  return 0;
}

void Queues::tell(const std::string& message, const machine::WaveFault* fault) {
  std::string place;
  if (fault) {
    if (fault->fault.lane >= 0) place = "lane " + std::to_string(fault->fault.lane);
    const std::string code = code_objects_.place(fault->fault.pc);
    if (!code.empty()) place += (place.empty() ? "in " : ", in ") + code;
  }
  std::fprintf(stderr, "lockstep: %s\n%s%s%s", message.c_str(),
               place.empty() ? "" : "lockstep:   ", place.c_str(), place.empty() ? "" : "\n");
  if (fault)
    for (const std::string& line : code_objects_.caller_lines(fault->fault.pc))
      std::fprintf(stderr, "lockstep:     %s\n", line.c_str());
}

void Queues::end_others(const Gpu& gpu, const command::Queue* queue) {
  std::vector<std::shared_ptr<command::Queue>> others;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, entry] : queues_)
      if (entry.gpu == &gpu && entry.queue.get() != queue) others.push_back(entry.queue);
  }
  for (const auto& other : others) other->inactivate();
}

void Queues::memory_fault(const Gpu& gpu, uint64_t address, const command::Queue* queue) {
  // Linux's driver takes a process's queues from the device before it tells of the fault, unless its
  // parameter no_queue_eviction_on_vm_fault is set. The queue itself goes on as far as its other waves and
  // their handler come.
  end_others(gpu, queue);
  kfd_hsa_memory_exception_data data = {};
  data.va = address & ~uint64_t{4095};
  data.gpu_id = gpu.id;
  const bool readable = gpu.memory.snapshot()->find(data.va, 1, kRead) != nullptr;
  data.failure.NotPresent = !readable;
  data.failure.ReadOnly = readable;
  events_.raise_memory_fault(data);
  smi_events_.memory_fault(gpu.id);
}

void Queues::send_to_runtime(uint64_t save_area, uint64_t exceptions) {
  ContextSaveAreaHeader header;
  if (!copy_from_process(&header, save_area, sizeof header)) return;
  const uint64_t payload = header.err_payload_addr;
  if (payload % 8 == 0 && host_has(payload, 8, true))
    (void)guarded(
        [&] { std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(payload)).fetch_or(exceptions); });
  events_.raise(header.err_event_id);
}

void Queues::failed(uint32_t id, const command::QueueError& error) {
  tell(error);
  Gpu* gpu = nullptr;
  uint64_t save_area = 0;
  bool copies = false;
  std::shared_ptr<command::Queue> queue;
  {
    std::lock_guard lock(mutex_);
    const auto found = queues_.find(id);
    if (found == queues_.end()) return;
    gpu = found->second.gpu;
    save_area = found->second.save_area;
    copies = found->second.copies;
    queue = found->second.queue;
  }
  const ExceptionCode code = code_of(error);
  if (code == ExceptionCode::wave_memory_violation)
    memory_fault(*gpu, error.fault ? error.fault->fault.address : error.address, queue.get());
  if (copies) {
    // Nobody looks into the areas of these queues: the driver resets the device, which ends all that are
    // there.
    end_others(*gpu, queue.get());
    events_.raise_reset(gpu->id);
    smi_events_.reset(gpu->id);
    return;
  }
  send_to_runtime(save_area, uint64_t{1} << (static_cast<unsigned>(code) - 1));
}

const Queues::Entry* Queues::find(const Gpu& gpu, uint32_t doorbell_id) const {
  for (const auto& [id, entry] : queues_)
    if (entry.gpu == &gpu && !entry.copies && entry.queue->doorbell_id() == doorbell_id) return &entry;
  return nullptr;
}

void Queues::tell(const Gpu& gpu, const machine::WaveFault& fault, const machine::Launch& launch) {
  constexpr size_t kMostTold = 1000;
  // Who finds the place told goes on when it has been: what it does next may end the program.
  std::lock_guard telling(telling_mutex_);
  uint64_t queue = 0;
  {
    std::lock_guard lock(mutex_);
    if (told_.size() == kMostTold || !told_.insert(fault.fault.pc).second) return;
    if (const Entry* const entry = find(gpu, launch.doorbell_id)) queue = entry->queue->id();
  }
  tell("queue " + std::to_string(queue) + ", packet " + std::to_string(launch.dispatch_id) + ": " +
           command::fault_text(fault),
       &fault);
}

void Queues::wave_faulted(const Gpu& gpu, const machine::WaveFault& fault, const machine::Launch& launch) {
  tell(gpu, fault, launch);
  if (fault.fault.kind != FaultKind::memory_violation) return;
  std::shared_ptr<command::Queue> queue;
  {
    std::lock_guard lock(mutex_);
    if (const Entry* const entry = find(gpu, launch.doorbell_id)) queue = entry->queue;
  }
  memory_fault(gpu, fault.fault.address, queue.get());
}

bool Queues::are_exceptions(const Gpu& gpu, uint32_t payload) {
  constexpr uint32_t kOfWaves = 0x3f;  // of the bits that a payload has room for those that name an exception
  if (!runtime_enabled_ || !(payload >> kExceptionsShift & kOfWaves)) return false;
  std::lock_guard lock(mutex_);
  return find(gpu, payload & kDoorbellNumber) != nullptr;
}

void Queues::tell_exceptions(const Gpu& gpu, const machine::WaveFault* cause, const machine::Launch& launch,
                             uint32_t payload) {
  uint64_t save_area = 0;
  {
    std::lock_guard lock(mutex_);
    if (const Entry* const entry = find(gpu, payload & kDoorbellNumber)) save_area = entry->save_area;
  }
  if (cause) tell(gpu, *cause, launch);
  send_to_runtime(save_area, payload >> kExceptionsShift);
}

}  // namespace lockstep::host
