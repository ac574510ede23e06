#include "loader/hidden_arguments.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "text/visible.h"

namespace lockstep::loader {
namespace {

uint64_t value_of(ValueKind kind, const HiddenValues& v) {
  auto axis = [kind](ValueKind x) { return static_cast<unsigned>(kind) - static_cast<unsigned>(x); };
  auto block = [&v](unsigned i) -> uint32_t { return v.block[i] ? v.block[i] : 1; };
  switch (kind) {
    case ValueKind::hidden_block_count_x:
    case ValueKind::hidden_block_count_y:
    case ValueKind::hidden_block_count_z: {
      // Counts whole work-groups only; a partial last one shows in the remainder.
      unsigned i = axis(ValueKind::hidden_block_count_x);
      return v.grid[i] / block(i);
    }
    case ValueKind::hidden_group_size_x:
    case ValueKind::hidden_group_size_y:
    case ValueKind::hidden_group_size_z:
      return block(axis(ValueKind::hidden_group_size_x));
    case ValueKind::hidden_remainder_x:
    case ValueKind::hidden_remainder_y:
    case ValueKind::hidden_remainder_z: {
      unsigned i = axis(ValueKind::hidden_remainder_x);
      return v.grid[i] % block(i);
    }
    case ValueKind::hidden_global_offset_x:
    case ValueKind::hidden_global_offset_y:
    case ValueKind::hidden_global_offset_z:
      return v.global_offset[axis(ValueKind::hidden_global_offset_x)];
    case ValueKind::hidden_grid_dims:
      return v.dimensions;
    case ValueKind::hidden_printf_buffer:
      return v.printf_buffer;
    case ValueKind::hidden_hostcall_buffer:
      return v.hostcall_buffer;
    case ValueKind::hidden_multigrid_sync_arg:
      return v.multigrid_sync;
    case ValueKind::hidden_heap_v1:
      return v.heap;
    case ValueKind::hidden_default_queue:
      return v.default_queue;
    case ValueKind::hidden_completion_action:
      return v.completion_action;
    case ValueKind::hidden_queue_ptr:
      return v.queue;
    case ValueKind::hidden_dynamic_lds_size:
      return v.dynamic_lds_bytes;
    case ValueKind::hidden_private_base:
      return v.private_base_high;
    case ValueKind::hidden_shared_base:
      return v.shared_base_high;
    default:
      return 0;
  }
}

}  // namespace

Result<void> fill_hidden_arguments(const KernelMetadata& kernel, const HiddenValues& values,
                                   std::span<std::byte> kernarg) {
  for (const Argument& a : kernel.arguments) {
    if (!is_hidden(a.kind) || a.kind == ValueKind::hidden_none) continue;
    if (a.size > 8 || a.offset > kernarg.size() || a.size > kernarg.size() - a.offset)
      return Error{"hidden argument " + visible(a.kind_text) + " of " + std::to_string(a.size) +
                       " bytes at offset " + std::to_string(a.offset) +
                       " does not fit the argument segment of " + std::to_string(kernarg.size()) + " bytes",
                   "kernel '" + visible(kernel.name) + "'",
                   "the metadata is damaged; compile the kernel again"};
    uint64_t value = value_of(a.kind, values);
    std::memcpy(kernarg.data() + a.offset, &value, a.size);
  }
  return {};
}

uint64_t fill_local_offsets(std::span<const Argument* const> arguments, std::span<const uint32_t> bytes,
                            uint32_t static_lds, std::span<std::byte> kernarg) {
  uint64_t at = static_lds;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = *arguments[i];
    if (a.kind != ValueKind::dynamic_shared_pointer || bytes[i] == 0) continue;
    const uint64_t align = std::clamp<uint64_t>(a.pointee_align, 1, 4096);
    at = (at + align - 1) / align * align;
    const auto offset = static_cast<uint32_t>(at);
    if (a.offset <= kernarg.size() && kernarg.size() - a.offset >= sizeof offset)
      std::memcpy(kernarg.data() + a.offset, &offset, sizeof offset);
    at += bytes[i];
  }
  return at - static_lds;
}

}  // namespace lockstep::loader
