// What newer kernels' amdgpu_drm.h has beyond that of Linux 6.1, under names of our own: installed headers
// may have it or not.
#pragma once

#include <libdrm/amdgpu_drm.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace lockstep::host {

// The interface that is answered (Linux 6.8, amdgpu_drv.c): 3.48 has versions of engines, 3.50 least clocks
// and those of profiling, 3.51 the link to the host, 3.52 caches, 3.53 a graphics engine's shadow memory.
inline constexpr int kAmdgpuMajor = 3, kAmdgpuMinor = 57;

// In structures that were longer than what they said: their padding has got names.
inline constexpr size_t kPcieGenerationOfDevice =
    offsetof(drm_amdgpu_info_device, ids_flags) - sizeof(uint32_t);
inline constexpr size_t kPcieLanesOfDevice =
    offsetof(drm_amdgpu_info_device, cu_ao_bitmap) - sizeof(uint32_t);
inline constexpr size_t kVersionOfEngine =
    offsetof(drm_amdgpu_info_hw_ip, available_rings) + sizeof(uint32_t);
static_assert(kVersionOfEngine + sizeof(uint32_t) == sizeof(drm_amdgpu_info_hw_ip));

// Behind what drm_amdgpu_info_device has in all headers.
inline constexpr size_t kFirstOfDevice =
    offsetof(drm_amdgpu_info_device, tcc_disabled_mask) + sizeof(uint64_t);
struct SecondOfDevice {
  uint64_t min_engine_clock, min_memory_clock;                                         // kHz
  uint32_t tcp_cache_size, num_sqc_per_wgp, sqc_data_cache_size, sqc_inst_cache_size;  // KiB
  uint32_t gl1c_cache_size, gl2c_cache_size;                                           // KiB
  uint64_t mall_size;                                                                  // bytes
  uint32_t enabled_rb_pipes_mask_hi, shadow_size, shadow_alignment, csa_size, csa_alignment;
};
static_assert(kFirstOfDevice % alignof(SecondOfDevice) == 0);

// Queries: how many indirect buffers a submission may have, for each kind of engine (the last of ten is VPE);
// and the last fault.
inline constexpr uint32_t kMostBuffersQuery = 0x22, kFaultQuery = 0x23;
using MostBuffers = std::array<uint32_t, 10>;
// Clocks for profiling, as AMDGPU_INFO_SENSOR numbers them.
inline constexpr uint32_t kPeakEngineClock = 0xa, kPeakMemoryClock = 0xb;

}  // namespace lockstep::host
