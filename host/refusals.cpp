#include "host/refusals.h"

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <cstdio>
#include <iterator>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "host/drm_abi.h"
#include "host/kfd_abi.h"

namespace lockstep::host {

namespace {

struct Refusal {
  unsigned number;
  const char *name, *reason;
};

constexpr char kOldDebugger[] = "debuggers of before Linux 4.20, which no driver has any more";
constexpr char kDebugger[] = "debuggers of ROCm cannot attach to emulated devices yet";
constexpr char kAmdsOwn[] = "it is of AMD's own kernel packages, not of Linux";
constexpr char kSyncFiles[] =
    "sync files, and synchronisation objects of other processes and devices, are not there yet";
constexpr char kUserMemory[] = "memory of the program has its own address alone, which /dev/kfd gives";
constexpr char kMaster[] = "it is of the display server's";
constexpr char kGraphics[] = "the machine has no stages of graphics yet (compute and copies run)";
constexpr char kVideo[] = "it has no video engines";
constexpr char kDisplays[] = "there are no displays";

constexpr Refusal kKfd[] = {
    {_IOC_NR(AMDKFD_IOC_DBG_REGISTER_DEPRECATED), "AMDKFD_IOC_DBG_REGISTER_DEPRECATED", kOldDebugger},
    {_IOC_NR(AMDKFD_IOC_DBG_UNREGISTER_DEPRECATED), "AMDKFD_IOC_DBG_UNREGISTER_DEPRECATED", kOldDebugger},
    {_IOC_NR(AMDKFD_IOC_DBG_ADDRESS_WATCH_DEPRECATED), "AMDKFD_IOC_DBG_ADDRESS_WATCH_DEPRECATED",
     kOldDebugger},
    {_IOC_NR(AMDKFD_IOC_DBG_WAVE_CONTROL_DEPRECATED), "AMDKFD_IOC_DBG_WAVE_CONTROL_DEPRECATED", kOldDebugger},
    {_IOC_NR(AMDKFD_IOC_GET_QUEUE_WAVE_STATE), "AMDKFD_IOC_GET_QUEUE_WAVE_STATE", kDebugger},
    {_IOC_NR(AMDKFD_IOC_CRIU_OP), "AMDKFD_IOC_CRIU_OP",
     "processes that use devices cannot be written to disk and restored"},
    {kDebugTrap, "AMDKFD_IOC_DBG_TRAP", kDebugger},
    {0x82, "AMDKFD_IOC_DBG_TRAP_DEPRECATED", kAmdsOwn},
    {0x83, "AMDKFD_IOC_CROSS_MEMORY_COPY_DEPRECATED", kAmdsOwn},
    {0x84, "AMDKFD_IOC_RLC_SPM", "there are no performance counters yet"},
    {0x85, "AMDKFD_IOC_PC_SAMPLE", "programs cannot be sampled yet"},
};

constexpr Refusal kRenderNode[] = {
    {DRM_COMMAND_BASE + DRM_AMDGPU_GEM_USERPTR, "DRM_IOCTL_AMDGPU_GEM_USERPTR", kUserMemory},
    {DRM_COMMAND_BASE + DRM_AMDGPU_FENCE_TO_HANDLE, "DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE", kSyncFiles},
    {DRM_COMMAND_BASE + DRM_AMDGPU_SCHED, "DRM_IOCTL_AMDGPU_SCHED", kMaster},
    {_IOC_NR(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD), "DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", kSyncFiles},
    {_IOC_NR(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE), "DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE", kSyncFiles},
    {_IOC_NR(DRM_IOCTL_SET_CLIENT_CAP), "DRM_IOCTL_SET_CLIENT_CAP", kDisplays},
    {_IOC_NR(DRM_IOCTL_GET_CLIENT), "DRM_IOCTL_GET_CLIENT", kDisplays},
    {_IOC_NR(DRM_IOCTL_AUTH_MAGIC), "DRM_IOCTL_AUTH_MAGIC", kDisplays},
};

constexpr char kSensors[] = "an emulated device has no clocks, temperatures or statistics of its own";
constexpr Refusal kQueries[] = {
    {AMDGPU_INFO_CRTC_FROM_ID, "AMDGPU_INFO_CRTC_FROM_ID", kDisplays},
    {AMDGPU_INFO_VCE_CLOCK_TABLE, "AMDGPU_INFO_VCE_CLOCK_TABLE", kSensors},
    {AMDGPU_INFO_VBIOS, "AMDGPU_INFO_VBIOS", "it has no firmware"},
    {AMDGPU_INFO_NUM_HANDLES, "AMDGPU_INFO_NUM_HANDLES", kSensors},
    {AMDGPU_INFO_SENSOR, "AMDGPU_INFO_SENSOR", kSensors},
    {AMDGPU_INFO_VIDEO_CAPS, "AMDGPU_INFO_VIDEO_CAPS", kVideo},
    {kFaultQuery, "AMDGPU_INFO_GPUVM_FAULT",
     "faults are told here, with their lanes, and by events of /dev/kfd"},
};

constexpr Refusal kEngines[] = {
    {AMDGPU_HW_IP_GFX, "AMDGPU_HW_IP_GFX", kGraphics},
    {AMDGPU_HW_IP_UVD, "AMDGPU_HW_IP_UVD", kVideo},
    {AMDGPU_HW_IP_VCE, "AMDGPU_HW_IP_VCE", kVideo},
    {AMDGPU_HW_IP_UVD_ENC, "AMDGPU_HW_IP_UVD_ENC", kVideo},
    {AMDGPU_HW_IP_VCN_DEC, "AMDGPU_HW_IP_VCN_DEC", kVideo},
    {AMDGPU_HW_IP_VCN_ENC, "AMDGPU_HW_IP_VCN_ENC", kVideo},
    {AMDGPU_HW_IP_VCN_JPEG, "AMDGPU_HW_IP_VCN_JPEG", kVideo},
};

constexpr Refusal kChunks[] = {
    {AMDGPU_CHUNK_ID_FENCE, "AMDGPU_CHUNK_ID_FENCE",
     "the object that shall tell of the end is not mapped for the device (map it)"},
};

void refuse(const char* who, const char* what, std::span<const Refusal> known, unsigned number) {
  static std::mutex mutex;
  static std::set<std::pair<const char*, unsigned>> told;
  {
    std::lock_guard lock(mutex);
    if (!told.insert({what, number}).second) return;
  }
  for (const Refusal& refusal : known)
    if (refusal.number == number) {
      std::fprintf(stderr, "lockstep: %s does not answer %s (%s 0x%x): %s\n", who, refusal.name, what, number,
                   refusal.reason);
      return;
    }
  std::fprintf(stderr, "lockstep: %s does not know %s 0x%x\n", who, what, number);
}

}  // namespace

void refuse_kfd(unsigned number) {
  refuse("/dev/kfd", "ioctl", kKfd, number);
}

void refuse_render_node(unsigned number) {
  refuse("the render node", "request", kRenderNode, number);
}

void refuse_engine(unsigned type) {
  refuse("the render node", "engine", kEngines, type);
}

void refuse_chunk(unsigned id) {
  refuse("the render node", "chunk of commands", kChunks, id);
}

void refuse_query(unsigned number) {
  refuse("the render node", "query", kQueries, number);
}

void refuse_image(unsigned geometry) {
  static std::once_flag once;
  static constexpr const char* kGeometries[] = {"1D",       "2D", "3D",         "1D array",
                                                "2D array", "",   "2D (depth)", "2D array (depth)"};
  const char* const name = geometry < std::size(kGeometries) ? kGeometries[geometry] : "of no known kind";
  std::call_once(once, [&] {
    std::fprintf(stderr,
                 "lockstep: images and textures are refused: the machine has no image instructions yet; this "
                 "one is %s (linear textures and images of buffers work)\n",
                 name);
  });
}

}  // namespace lockstep::host
