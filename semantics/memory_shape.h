// What each atomic does to memory (guide chapter 13, 12.5.1); how many bytes at how many addresses is its
// row's (isa/memory_shape.h).
#pragma once

#include <cstdint>

#include "isa/memory_shape.h"
#include "semantics/atomic.h"

namespace lockstep::semantics {

enum class OldValue : uint8_t { not_returned, returned, returned_if_glc };

struct AtomicShape {
  AtomicOperation operation = AtomicOperation::none;
  uint8_t bytes = 0;  // 4 or 8; 0: an image atomic, whose DMASK has 1 or 2 bits for each data operand
  OldValue old_value = OldValue::not_returned;
  uint8_t addresses = 1;  // as in isa::AccessShape
  uint16_t offset_unit = 1;

  constexpr explicit operator bool() const { return operation != AtomicOperation::none; }
};

// AtomicOperation::none for what is not an atomic on memory. The GDS instructions that count waves
// (ds_ordered_count, ds_add_gs_reg_rtn, ds_sub_gs_reg_rtn) and ds_bvh_stack_rtn_b32 are the machine's.
const AtomicShape& atomic_shape(isa::Opcode opcode);

}  // namespace lockstep::semantics
