// The 64-byte kernel descriptor that `name.kd` symbols point at, decoded for gfx10 to gfx11.
// Source: LLVM's AMDGPU usage guide (code object v3 to v6 kernel descriptor), guide 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::loader {

inline constexpr size_t kKernelDescriptorBytes = 64;

// COMPUTE_PGM_RSRC1. LLVM 19 leaves bits of `reserved` and of the SGPR count set on gfx11; both are ignored
// by hardware.
struct Rsrc1 {
  uint32_t raw = 0;
  uint8_t granulated_vgpr_count = 0;
  uint8_t granulated_sgpr_count = 0;
  uint8_t priority = 0;
  uint8_t float_round_32 = 0;
  uint8_t float_round_16_64 = 0;
  uint8_t float_denorm_32 = 0;
  uint8_t float_denorm_16_64 = 0;
  bool privileged = false;
  bool dx10_clamp = false;
  bool debug_mode = false;
  bool ieee_mode = false;
  bool bulky = false;
  bool cdbg_user = false;
  bool fp16_overflow = false;
  uint8_t reserved = 0;  // bits 27 and 28
  bool wgp_mode = false;
  bool memory_ordered = false;
  bool forward_progress = false;
};

// COMPUTE_PGM_RSRC2
struct Rsrc2 {
  uint32_t raw = 0;
  bool private_segment = false;
  uint8_t user_sgpr_count = 0;
  bool trap_handler = false;
  bool workgroup_id_x = false;
  bool workgroup_id_y = false;
  bool workgroup_id_z = false;
  bool workgroup_info = false;
  uint8_t workitem_id = 0;  // 0: x, 1: x and y, 2: x, y and z (packed in v0 on gfx11), 3: undefined
  bool exception_address_watch = false;
  bool exception_memory = false;
  uint16_t granulated_lds_size = 0;
  bool exception_float_invalid = false;
  bool exception_float_denormal_source = false;
  bool exception_float_divide_by_zero = false;
  bool exception_float_overflow = false;
  bool exception_float_underflow = false;
  bool exception_float_inexact = false;
  bool exception_integer_divide_by_zero = false;
  bool reserved = false;
};

// COMPUTE_PGM_RSRC3 of gfx11
struct Rsrc3 {
  uint32_t raw = 0;
  uint8_t shared_vgpr_count = 0;
  uint8_t instruction_prefetch_size = 0;
  bool trap_on_start = false;
  bool trap_on_end = false;
  uint32_t reserved = 0;  // bits 12 to 30
  bool image_op = false;
};

struct KernelCodeProperties {
  uint16_t raw = 0;
  bool private_segment_buffer = false;
  bool dispatch_pointer = false;
  bool queue_pointer = false;
  bool kernarg_segment_pointer = false;
  bool dispatch_id = false;
  bool flat_scratch_init = false;
  bool private_segment_size = false;
  bool wave32 = false;
  bool dynamic_stack = false;
  uint8_t reserved = 0;  // bits 7 to 9, then 12 to 15
};

struct KernelDescriptor {
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t kernarg_size = 0;  // 0 may also mean: not said (older producers)
  int64_t entry_byte_offset = 0;
  Rsrc1 rsrc1;
  Rsrc2 rsrc2;
  Rsrc3 rsrc3;
  KernelCodeProperties properties;
  uint8_t kernarg_preload_length = 0;  // dwords; gfx90a and gfx12 only, 0 on gfx11
  uint16_t kernarg_preload_offset = 0;
  bool reserved_bytes_set = false;

  unsigned wave_size() const { return properties.wave32 ? 32 : 64; }
  // VGPRs that a wave asks for: the field counts units of 8 in wave32 and of 4 in wave64 on gfx10 and gfx11.
  unsigned vgpr_count() const { return (rsrc1.granulated_vgpr_count + 1u) * (properties.wave32 ? 8u : 4u); }
  // User SGPRs that the enabled pointers and sizes take, before any kernel argument preloading.
  unsigned enabled_user_sgprs() const;
};

KernelDescriptor decode_kernel_descriptor(std::span<const std::byte, kKernelDescriptorBytes> bytes);

}  // namespace lockstep::loader
