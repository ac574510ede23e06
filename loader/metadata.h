// What the compiler says of each kernel in the MessagePack note of a code object (LLVM's AMDGPU usage guide,
// code object metadata v3 to v5; v6 has v5's).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/error.h"

namespace lockstep::loader {

enum class ValueKind : uint8_t {
  unknown,
  by_value,
  global_buffer,
  dynamic_shared_pointer,
  sampler,
  image,
  pipe,
  queue,
  hidden_none,
  hidden_global_offset_x,
  hidden_global_offset_y,
  hidden_global_offset_z,
  hidden_printf_buffer,
  hidden_hostcall_buffer,
  hidden_default_queue,
  hidden_completion_action,
  hidden_multigrid_sync_arg,
  hidden_block_count_x,
  hidden_block_count_y,
  hidden_block_count_z,
  hidden_group_size_x,
  hidden_group_size_y,
  hidden_group_size_z,
  hidden_remainder_x,
  hidden_remainder_y,
  hidden_remainder_z,
  hidden_grid_dims,
  hidden_heap_v1,
  hidden_dynamic_lds_size,
  hidden_private_base,
  hidden_shared_base,
  hidden_queue_ptr,
};

std::string_view name_of(ValueKind kind);
inline bool is_hidden(ValueKind kind) {
  return kind >= ValueKind::hidden_none;
}

struct Argument {
  std::string name;       // empty if the compiler gave none
  std::string type_name;  // "float*"; empty if not given
  uint32_t size = 0;      // bytes in the kernel argument segment
  uint32_t offset = 0;
  ValueKind kind = ValueKind::unknown;
  std::string kind_text;      // as written in the file
  std::string address_space;  // "global", "local", ...; empty if not given
  std::string access;         // "read_only", "write_only", "read_write"; empty if not given
  std::string actual_access;
  uint32_t pointee_align = 0;  // of dynamic LDS pointers; 0 if not given
  bool is_const = false, is_restrict = false, is_volatile = false, is_pipe = false;
};

struct KernelMetadata {
  std::string name;
  std::string symbol;  // "name.kd"
  std::string language;
  std::vector<uint32_t> language_version;
  std::string kind;  // "normal", "init" or "fini"
  std::string vec_type_hint;
  std::string device_enqueue_symbol;
  std::vector<Argument> arguments;  // in the order of the file, hidden ones last
  std::optional<std::array<uint32_t, 3>> required_workgroup_size;
  std::optional<std::array<uint32_t, 3>> workgroup_size_hint;
  std::optional<uint32_t> max_flat_workgroup_size;
  std::optional<uint32_t> wavefront_size;
  uint64_t kernarg_segment_size = 0;
  uint32_t kernarg_segment_align = 0;
  uint64_t group_segment_fixed_size = 0;
  uint64_t private_segment_fixed_size = 0;
  std::optional<uint32_t> sgpr_count, vgpr_count, agpr_count;
  uint32_t sgpr_spill_count = 0, vgpr_spill_count = 0;
  bool uses_dynamic_stack = false;
  std::optional<bool> workgroup_processor_mode;
  bool uniform_work_group_size = false;

  // The arguments that a caller gives, that is all but the hidden ones.
  std::vector<const Argument*> user_arguments() const;
};

struct Metadata {
  uint32_t version_major = 0, version_minor = 0;
  std::string target;                       // "amdgcn-amd-amdhsa--gfx1100"
  std::vector<std::string> printf_formats;  // "id:arguments:size...:format"
  std::vector<KernelMetadata> kernels;
};

// Reads the description of an NT_AMDGPU_METADATA note. `where` starts the error's place.
Result<Metadata> parse_metadata(std::span<const std::byte> bytes, std::string_view where);

}  // namespace lockstep::loader
