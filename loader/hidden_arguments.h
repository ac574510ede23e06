// Fills what the runtime, not the caller, owes a kernel: the hidden arguments at the end of its argument
// segment, and the places of its `local` arguments.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/error.h"
#include "loader/metadata.h"

namespace lockstep::loader {

struct HiddenValues {
  std::array<uint32_t, 3> grid{1, 1, 1};   // work-items
  std::array<uint32_t, 3> block{1, 1, 1};  // work-items of a work-group
  std::array<uint64_t, 3> global_offset{};
  uint16_t dimensions = 3;
  uint32_t dynamic_lds_bytes = 0;
  uint32_t private_base_high = 0;  // high half of the scratch aperture's address
  uint32_t shared_base_high = 0;   // high half of the LDS aperture's address
  uint64_t printf_buffer = 0;
  uint64_t hostcall_buffer = 0;
  uint64_t multigrid_sync = 0;
  uint64_t heap = 0;
  uint64_t default_queue = 0;
  uint64_t completion_action = 0;
  uint64_t queue = 0;
};

// Writes each hidden argument that the metadata lists to its offset in `kernarg`. The lists of code object v4
// (global offsets and pointers) and of v5 and v6 (block counts to queue pointer) differ only in what they
// contain.
Result<void> fill_hidden_arguments(const KernelMetadata& kernel, const HiddenValues& values,
                                   std::span<std::byte> kernarg);

// Writes where in LDS each `local` argument begins, behind the kernel's static LDS, as `bytes` of each
// argument say; those of 0 bytes are left as they are. How much dynamic LDS that takes.
uint64_t fill_local_offsets(std::span<const Argument* const> arguments, std::span<const uint32_t> bytes,
                            uint32_t static_lds, std::span<std::byte> kernarg);

}  // namespace lockstep::loader
