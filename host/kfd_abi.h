// What newer kernels' linux/kfd_ioctl.h has beyond that of Linux 6.1, under names of our own: installed
// headers may have it or not.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstddef>
#include <cstdint>

namespace lockstep::host {

// The interface that is answered: 1.14 has ages of events, 1.15 mappings by the render node (GEM_VA), without
// which runtimes do not offer memory that is mapped apart from being allocated (hipMemCreate), 1.16 memory of
// the device in one piece, as all of it is here, 1.17 queues of one copy engine.
inline constexpr uint32_t kKfdMajor = 1, kKfdMinor = 17;

// Numbers of ioctls.
inline constexpr unsigned kExportDmabuf = 0x24, kRuntimeEnable = 0x25, kDebugTrap = 0x26;
// Of AMD's own kernel packages: memory of one process in another one.
inline constexpr unsigned kIpcImport = 0x80, kIpcExport = 0x81;
// A queue of one copy engine, and where AMDKFD_IOC_CREATE_QUEUE says of which.
inline constexpr uint32_t kQueueOfEngine = 4;
inline constexpr size_t kEngineOfQueue = 88;

struct ExportDmabufArgs {
  uint64_t handle;
  uint32_t flags, dmabuf_fd;
};
struct RuntimeEnableArgs {
  uint64_t r_debug;
  uint32_t mode_mask, capabilities_mask;
};
struct IpcImportArgs {
  uint64_t handle, va_addr, mmap_offset;
  uint32_t share_handle[4];
  uint32_t gpu_id, flags;
};
struct IpcExportArgs {
  uint64_t handle;
  uint32_t share_handle[4];
  uint32_t gpu_id, flags;
};
// At the begin of a queue's area for saved contexts.
struct ContextSaveAreaHeader {
  uint32_t control_stack_offset, control_stack_size, wave_state_offset, wave_state_size;
  uint32_t debug_offset, debug_size;
  uint64_t err_payload_addr;
  uint32_t err_event_id, reserved1;
};

// Why a queue or device stopped: bits of the error payload, counted from 1.
enum class ExceptionCode : unsigned {
  wave_abort = 1,
  wave_illegal_instruction = 4,
  wave_memory_violation = 5,
  wave_aperture_violation = 6,
  packet_dimensions_invalid = 16,
  packet_group_segment_invalid = 17,
  packet_code_invalid = 18,
  packet_unsupported = 20,
  packet_work_group_invalid = 21,
};

}  // namespace lockstep::host
