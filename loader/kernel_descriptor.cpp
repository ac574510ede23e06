#include "loader/kernel_descriptor.h"

#include <algorithm>

#include "llvm/Support/AMDHSAKernelDescriptor.h"
#include "llvm/Support/Endian.h"

namespace lockstep::loader {
namespace {

constexpr uint32_t field(uint32_t word, unsigned shift, unsigned width) {
  return (word >> shift) & ((1u << width) - 1);
}

Rsrc1 decode_rsrc1(uint32_t w) {
  Rsrc1 r;
  r.raw = w;
  r.granulated_vgpr_count = field(w, 0, 6);
  r.granulated_sgpr_count = field(w, 6, 4);
  r.priority = field(w, 10, 2);
  r.float_round_32 = field(w, 12, 2);
  r.float_round_16_64 = field(w, 14, 2);
  r.float_denorm_32 = field(w, 16, 2);
  r.float_denorm_16_64 = field(w, 18, 2);
  r.privileged = field(w, 20, 1);
  r.dx10_clamp = field(w, 21, 1);
  r.debug_mode = field(w, 22, 1);
  r.ieee_mode = field(w, 23, 1);
  r.bulky = field(w, 24, 1);
  r.cdbg_user = field(w, 25, 1);
  r.fp16_overflow = field(w, 26, 1);
  r.reserved = field(w, 27, 2);
  r.wgp_mode = field(w, 29, 1);
  r.memory_ordered = field(w, 30, 1);
  r.forward_progress = field(w, 31, 1);
  return r;
}

Rsrc2 decode_rsrc2(uint32_t w) {
  Rsrc2 r;
  r.raw = w;
  r.private_segment = field(w, 0, 1);
  r.user_sgpr_count = field(w, 1, 5);
  r.trap_handler = field(w, 6, 1);
  r.workgroup_id_x = field(w, 7, 1);
  r.workgroup_id_y = field(w, 8, 1);
  r.workgroup_id_z = field(w, 9, 1);
  r.workgroup_info = field(w, 10, 1);
  r.workitem_id = field(w, 11, 2);
  r.exception_address_watch = field(w, 13, 1);
  r.exception_memory = field(w, 14, 1);
  r.granulated_lds_size = field(w, 15, 9);
  r.exception_float_invalid = field(w, 24, 1);
  r.exception_float_denormal_source = field(w, 25, 1);
  r.exception_float_divide_by_zero = field(w, 26, 1);
  r.exception_float_overflow = field(w, 27, 1);
  r.exception_float_underflow = field(w, 28, 1);
  r.exception_float_inexact = field(w, 29, 1);
  r.exception_integer_divide_by_zero = field(w, 30, 1);
  r.reserved = field(w, 31, 1);
  return r;
}

Rsrc3 decode_rsrc3(uint32_t w) {
  Rsrc3 r;
  r.raw = w;
  r.shared_vgpr_count = field(w, 0, 4);
  r.instruction_prefetch_size = field(w, 4, 6);
  r.trap_on_start = field(w, 10, 1);
  r.trap_on_end = field(w, 11, 1);
  r.reserved = field(w, 12, 19);
  r.image_op = field(w, 31, 1);
  return r;
}

KernelCodeProperties decode_properties(uint16_t w) {
  KernelCodeProperties p;
  p.raw = w;
  p.private_segment_buffer = field(w, 0, 1);
  p.dispatch_pointer = field(w, 1, 1);
  p.queue_pointer = field(w, 2, 1);
  p.kernarg_segment_pointer = field(w, 3, 1);
  p.dispatch_id = field(w, 4, 1);
  p.flat_scratch_init = field(w, 5, 1);
  p.private_segment_size = field(w, 6, 1);
  p.wave32 = field(w, 10, 1);
  p.dynamic_stack = field(w, 11, 1);
  p.reserved = field(w, 7, 3) | field(w, 12, 4) << 3;
  return p;
}

}  // namespace

unsigned KernelDescriptor::enabled_user_sgprs() const {
  return 4u * properties.private_segment_buffer + 2u * properties.dispatch_pointer +
         2u * properties.queue_pointer + 2u * properties.kernarg_segment_pointer +
         2u * properties.dispatch_id + 2u * properties.flat_scratch_init +
         1u * properties.private_segment_size;
}

KernelDescriptor decode_kernel_descriptor(std::span<const std::byte, kKernelDescriptorBytes> bytes) {
  namespace hsa = llvm::amdhsa;
  const std::byte* p = bytes.data();
  auto is_set = [](std::byte b) { return b != std::byte{0}; };
  auto any = [&](size_t first, size_t count) { return std::any_of(p + first, p + first + count, is_set); };

  KernelDescriptor d;
  d.group_segment_fixed_size = llvm::support::endian::read32le(p + hsa::GROUP_SEGMENT_FIXED_SIZE_OFFSET);
  d.private_segment_fixed_size = llvm::support::endian::read32le(p + hsa::PRIVATE_SEGMENT_FIXED_SIZE_OFFSET);
  d.kernarg_size = llvm::support::endian::read32le(p + hsa::KERNARG_SIZE_OFFSET);
  d.entry_byte_offset =
      static_cast<int64_t>(llvm::support::endian::read64le(p + hsa::KERNEL_CODE_ENTRY_BYTE_OFFSET_OFFSET));
  d.rsrc3 = decode_rsrc3(llvm::support::endian::read32le(p + hsa::COMPUTE_PGM_RSRC3_OFFSET));
  d.rsrc1 = decode_rsrc1(llvm::support::endian::read32le(p + hsa::COMPUTE_PGM_RSRC1_OFFSET));
  d.rsrc2 = decode_rsrc2(llvm::support::endian::read32le(p + hsa::COMPUTE_PGM_RSRC2_OFFSET));
  d.properties = decode_properties(llvm::support::endian::read16le(p + hsa::KERNEL_CODE_PROPERTIES_OFFSET));
  uint16_t preload = llvm::support::endian::read16le(p + hsa::KERNARG_PRELOAD_OFFSET);
  d.kernarg_preload_length = field(preload, 0, 7);
  d.kernarg_preload_offset = field(preload, 7, 9);
  d.reserved_bytes_set =
      any(hsa::RESERVED0_OFFSET, 4) || any(hsa::RESERVED1_OFFSET, 20) || any(hsa::RESERVED3_OFFSET, 4);
  return d;
}

}  // namespace lockstep::loader
