// What each memory instruction moves: the tables that the engines' memory handlers work from
// (guide 9.1, 11.1, 12.5). Image loads and stores are not here: their data follows the image's format and
// DMASK.
#pragma once

#include <cstdint>

#include "isa/row.h"
#include "semantics/atomic.h"

namespace lockstep::semantics {

// The part of the register that an 8- or 16-bit access uses. Loads leave the other half as it was.
enum class RegisterPart : uint8_t { whole, low_half, high_half };

struct AccessShape {
  enum class Kind : uint8_t { none, load, store };

  Kind kind = Kind::none;
  uint8_t bytes = 0;  // at each address; 0: the data format says (format_components is set)
  RegisterPart part = RegisterPart::whole;
  bool sign_extend = false;       // bytes and shorts, to the width of `part`
  uint8_t format_components = 0;  // *_format_x to _xyzw: 1 to 4
  bool d16 = false;               // format conversion to and from 16-bit components, two to a register
  uint8_t addresses = 1;  // 2: the DS two-address forms, with offset0 and offset1 in units of offset_unit
  uint16_t offset_unit = 1;
  bool add_lane_id = false;  // *_addtid: the address has lane * 4 in place of a VGPR
  bool to_lds = false;       // the loaded data goes to LDS

  constexpr explicit operator bool() const { return kind != Kind::none; }
  // Registers of one address; of a format access, without the status register of TFE.
  constexpr unsigned registers() const {
    if (format_components) return d16 ? (format_components + 1) / 2 : format_components;
    return (bytes + 3) / 4;
  }
};

enum class OldValue : uint8_t { not_returned, returned, returned_if_glc };

struct AtomicShape {
  AtomicOperation operation = AtomicOperation::none;
  uint8_t bytes = 0;  // 4 or 8; 0: an image atomic, whose DMASK has 1 or 2 bits for each data operand
  OldValue old_value = OldValue::not_returned;
  uint8_t addresses = 1;  // as in AccessShape
  uint16_t offset_unit = 1;

  constexpr explicit operator bool() const { return operation != AtomicOperation::none; }
};

#define LOCKSTEP_ANYWHERE(suffix)     \
  case isa::Opcode::flat_##suffix:    \
  case isa::Opcode::global_##suffix:  \
  case isa::Opcode::scratch_##suffix: \
  case isa::Opcode::buffer_##suffix
#define LOCKSTEP_FORMAT(suffix)      \
  case isa::Opcode::buffer_##suffix: \
  case isa::Opcode::tbuffer_##suffix
#define LOCKSTEP_SCALAR(suffix)      \
  case isa::Opcode::s_load_##suffix: \
  case isa::Opcode::s_buffer_load_##suffix

// Kind::none for what is neither a load nor a store of this table.
constexpr AccessShape access_shape(isa::Opcode opcode) {
  using enum AccessShape::Kind;
  using enum RegisterPart;
  switch (opcode) {
    LOCKSTEP_SCALAR(b32) : return {load, 4};
    LOCKSTEP_SCALAR(b64) : return {load, 8};
    LOCKSTEP_SCALAR(b128) : return {load, 16};
    LOCKSTEP_SCALAR(b256) : return {load, 32};
    LOCKSTEP_SCALAR(b512) : return {load, 64};

    LOCKSTEP_ANYWHERE(load_u8) : return {load, 1};
    LOCKSTEP_ANYWHERE(load_i8) : return {load, 1, whole, true};
    LOCKSTEP_ANYWHERE(load_u16) : return {load, 2};
    LOCKSTEP_ANYWHERE(load_i16) : return {load, 2, whole, true};
    LOCKSTEP_ANYWHERE(load_b32) : return {load, 4};
    LOCKSTEP_ANYWHERE(load_b64) : return {load, 8};
    LOCKSTEP_ANYWHERE(load_b96) : return {load, 12};
    LOCKSTEP_ANYWHERE(load_b128) : return {load, 16};
    LOCKSTEP_ANYWHERE(load_d16_u8) : return {load, 1, low_half};
    LOCKSTEP_ANYWHERE(load_d16_i8) : return {load, 1, low_half, true};
    LOCKSTEP_ANYWHERE(load_d16_b16) : return {load, 2, low_half};
    LOCKSTEP_ANYWHERE(load_d16_hi_u8) : return {load, 1, high_half};
    LOCKSTEP_ANYWHERE(load_d16_hi_i8) : return {load, 1, high_half, true};
    LOCKSTEP_ANYWHERE(load_d16_hi_b16) : return {load, 2, high_half};
    LOCKSTEP_ANYWHERE(store_b8) : return {store, 1};
    LOCKSTEP_ANYWHERE(store_b16) : return {store, 2};
    LOCKSTEP_ANYWHERE(store_b32) : return {store, 4};
    LOCKSTEP_ANYWHERE(store_b64) : return {store, 8};
    LOCKSTEP_ANYWHERE(store_b96) : return {store, 12};
    LOCKSTEP_ANYWHERE(store_b128) : return {store, 16};
    LOCKSTEP_ANYWHERE(store_d16_hi_b8) : return {store, 1, high_half};
    LOCKSTEP_ANYWHERE(store_d16_hi_b16) : return {store, 2, high_half};
    case isa::Opcode::global_load_addtid_b32:
      return {.kind = load, .bytes = 4, .add_lane_id = true};
    case isa::Opcode::global_store_addtid_b32:
      return {.kind = store, .bytes = 4, .add_lane_id = true};

      LOCKSTEP_FORMAT(load_format_x) : return {.kind = load, .format_components = 1};
      LOCKSTEP_FORMAT(load_format_xy) : return {.kind = load, .format_components = 2};
      LOCKSTEP_FORMAT(load_format_xyz) : return {.kind = load, .format_components = 3};
      LOCKSTEP_FORMAT(load_format_xyzw) : return {.kind = load, .format_components = 4};
      LOCKSTEP_FORMAT(store_format_x) : return {.kind = store, .format_components = 1};
      LOCKSTEP_FORMAT(store_format_xy) : return {.kind = store, .format_components = 2};
      LOCKSTEP_FORMAT(store_format_xyz) : return {.kind = store, .format_components = 3};
      LOCKSTEP_FORMAT(store_format_xyzw) : return {.kind = store, .format_components = 4};
      LOCKSTEP_FORMAT(load_d16_format_x)
          : return {.kind = load, .part = low_half, .format_components = 1, .d16 = true};
      LOCKSTEP_FORMAT(load_d16_format_xy) : return {.kind = load, .format_components = 2, .d16 = true};
      LOCKSTEP_FORMAT(load_d16_format_xyz) : return {.kind = load, .format_components = 3, .d16 = true};
      LOCKSTEP_FORMAT(load_d16_format_xyzw) : return {.kind = load, .format_components = 4, .d16 = true};
      LOCKSTEP_FORMAT(store_d16_format_x)
          : return {.kind = store, .part = low_half, .format_components = 1, .d16 = true};
      LOCKSTEP_FORMAT(store_d16_format_xy) : return {.kind = store, .format_components = 2, .d16 = true};
      LOCKSTEP_FORMAT(store_d16_format_xyz) : return {.kind = store, .format_components = 3, .d16 = true};
      LOCKSTEP_FORMAT(store_d16_format_xyzw) : return {.kind = store, .format_components = 4, .d16 = true};
    case isa::Opcode::buffer_load_d16_hi_format_x:
      return {.kind = load, .part = high_half, .format_components = 1, .d16 = true};
    case isa::Opcode::buffer_store_d16_hi_format_x:
      return {.kind = store, .part = high_half, .format_components = 1, .d16 = true};
    case isa::Opcode::buffer_load_lds_u8:
      return {.kind = load, .bytes = 1, .to_lds = true};
    case isa::Opcode::buffer_load_lds_i8:
      return {.kind = load, .bytes = 1, .sign_extend = true, .to_lds = true};
    case isa::Opcode::buffer_load_lds_u16:
      return {.kind = load, .bytes = 2, .to_lds = true};
    case isa::Opcode::buffer_load_lds_i16:
      return {.kind = load, .bytes = 2, .sign_extend = true, .to_lds = true};
    case isa::Opcode::buffer_load_lds_b32:
      return {.kind = load, .bytes = 4, .to_lds = true};
    case isa::Opcode::buffer_load_lds_format_x:
      return {.kind = load, .format_components = 1, .to_lds = true};

    case isa::Opcode::ds_load_u8:
      return {load, 1};
    case isa::Opcode::ds_load_i8:
      return {load, 1, whole, true};
    case isa::Opcode::ds_load_u16:
      return {load, 2};
    case isa::Opcode::ds_load_i16:
      return {load, 2, whole, true};
    case isa::Opcode::ds_load_b32:
      return {load, 4};
    case isa::Opcode::ds_load_b64:
      return {load, 8};
    case isa::Opcode::ds_load_b96:
      return {load, 12};
    case isa::Opcode::ds_load_b128:
      return {load, 16};
    case isa::Opcode::ds_load_u8_d16:
      return {load, 1, low_half};
    case isa::Opcode::ds_load_u8_d16_hi:
      return {load, 1, high_half};
    case isa::Opcode::ds_load_i8_d16:
      return {load, 1, low_half, true};
    case isa::Opcode::ds_load_i8_d16_hi:
      return {load, 1, high_half, true};
    case isa::Opcode::ds_load_u16_d16:
      return {load, 2, low_half};
    case isa::Opcode::ds_load_u16_d16_hi:
      return {load, 2, high_half};
    case isa::Opcode::ds_load_2addr_b32:
      return {.kind = load, .bytes = 4, .addresses = 2, .offset_unit = 4};
    case isa::Opcode::ds_load_2addr_b64:
      return {.kind = load, .bytes = 8, .addresses = 2, .offset_unit = 8};
    case isa::Opcode::ds_load_2addr_stride64_b32:
      return {.kind = load, .bytes = 4, .addresses = 2, .offset_unit = 4 * 64};
    case isa::Opcode::ds_load_2addr_stride64_b64:
      return {.kind = load, .bytes = 8, .addresses = 2, .offset_unit = 8 * 64};
    case isa::Opcode::ds_load_addtid_b32:
      return {.kind = load, .bytes = 4, .add_lane_id = true};
    case isa::Opcode::ds_store_b8:
      return {store, 1};
    case isa::Opcode::ds_store_b16:
      return {store, 2};
    case isa::Opcode::ds_store_b32:
      return {store, 4};
    case isa::Opcode::ds_store_b64:
      return {store, 8};
    case isa::Opcode::ds_store_b96:
      return {store, 12};
    case isa::Opcode::ds_store_b128:
      return {store, 16};
    case isa::Opcode::ds_store_b8_d16_hi:
      return {store, 1, high_half};
    case isa::Opcode::ds_store_b16_d16_hi:
      return {store, 2, high_half};
    case isa::Opcode::ds_store_2addr_b32:
      return {.kind = store, .bytes = 4, .addresses = 2, .offset_unit = 4};
    case isa::Opcode::ds_store_2addr_b64:
      return {.kind = store, .bytes = 8, .addresses = 2, .offset_unit = 8};
    case isa::Opcode::ds_store_2addr_stride64_b32:
      return {.kind = store, .bytes = 4, .addresses = 2, .offset_unit = 4 * 64};
    case isa::Opcode::ds_store_2addr_stride64_b64:
      return {.kind = store, .bytes = 8, .addresses = 2, .offset_unit = 8 * 64};
    case isa::Opcode::ds_store_addtid_b32:
      return {.kind = store, .bytes = 4, .add_lane_id = true};
    default:
      return {};
  }
}

#undef LOCKSTEP_ANYWHERE
#undef LOCKSTEP_FORMAT
#undef LOCKSTEP_SCALAR

#define LOCKSTEP_DS_ATOMIC(name, type, operation, bytes)      \
  case isa::Opcode::ds_##name##_##type:                       \
    return {AtomicOperation::operation, bytes, not_returned}; \
  case isa::Opcode::ds_##name##_rtn_##type:                   \
    return {AtomicOperation::operation, bytes, returned};
#define LOCKSTEP_ATOMIC(suffix, operation, bytes) \
  case isa::Opcode::flat_atomic_##suffix:         \
  case isa::Opcode::global_atomic_##suffix:       \
  case isa::Opcode::buffer_atomic_##suffix:       \
    return {AtomicOperation::operation, bytes, returned_if_glc};
#define LOCKSTEP_IMAGE_ATOMIC(suffix, operation) \
  case isa::Opcode::image_atomic_##suffix:       \
    return {AtomicOperation::operation, 0, returned_if_glc};

// AtomicOperation::none for what is not an atomic on memory. The GDS instructions that count waves
// (ds_ordered_count, ds_add_gs_reg_rtn, ds_sub_gs_reg_rtn) and ds_bvh_stack_rtn_b32 are the machine's.
constexpr AtomicShape atomic_shape(isa::Opcode opcode) {
  using enum OldValue;
  switch (opcode) {
    LOCKSTEP_DS_ATOMIC(add, u32, add, 4)
    LOCKSTEP_DS_ATOMIC(sub, u32, sub, 4)
    LOCKSTEP_DS_ATOMIC(rsub, u32, rsub, 4)
    LOCKSTEP_DS_ATOMIC(inc, u32, inc, 4)
    LOCKSTEP_DS_ATOMIC(dec, u32, dec, 4)
    LOCKSTEP_DS_ATOMIC(min, i32, smin, 4)
    LOCKSTEP_DS_ATOMIC(max, i32, smax, 4)
    LOCKSTEP_DS_ATOMIC(min, u32, umin, 4)
    LOCKSTEP_DS_ATOMIC(max, u32, umax, 4)
    LOCKSTEP_DS_ATOMIC(and, b32, and_, 4)
    LOCKSTEP_DS_ATOMIC(or, b32, or_, 4)
    LOCKSTEP_DS_ATOMIC(xor, b32, xor_, 4)
    LOCKSTEP_DS_ATOMIC(mskor, b32, mskor, 4)
    LOCKSTEP_DS_ATOMIC(cmpstore, b32, cmpswap, 4)
    LOCKSTEP_DS_ATOMIC(cmpstore, f32, fcmpswap, 4)
    LOCKSTEP_DS_ATOMIC(min, f32, fmin, 4)
    LOCKSTEP_DS_ATOMIC(max, f32, fmax, 4)
    LOCKSTEP_DS_ATOMIC(add, f32, fadd, 4)
    LOCKSTEP_DS_ATOMIC(add, u64, add, 8)
    LOCKSTEP_DS_ATOMIC(sub, u64, sub, 8)
    LOCKSTEP_DS_ATOMIC(rsub, u64, rsub, 8)
    LOCKSTEP_DS_ATOMIC(inc, u64, inc, 8)
    LOCKSTEP_DS_ATOMIC(dec, u64, dec, 8)
    LOCKSTEP_DS_ATOMIC(min, i64, smin, 8)
    LOCKSTEP_DS_ATOMIC(max, i64, smax, 8)
    LOCKSTEP_DS_ATOMIC(min, u64, umin, 8)
    LOCKSTEP_DS_ATOMIC(max, u64, umax, 8)
    LOCKSTEP_DS_ATOMIC(and, b64, and_, 8)
    LOCKSTEP_DS_ATOMIC(or, b64, or_, 8)
    LOCKSTEP_DS_ATOMIC(xor, b64, xor_, 8)
    LOCKSTEP_DS_ATOMIC(mskor, b64, mskor, 8)
    LOCKSTEP_DS_ATOMIC(cmpstore, b64, cmpswap, 8)
    LOCKSTEP_DS_ATOMIC(cmpstore, f64, fcmpswap, 8)
    LOCKSTEP_DS_ATOMIC(min, f64, fmin, 8)
    LOCKSTEP_DS_ATOMIC(max, f64, fmax, 8)
    case isa::Opcode::ds_storexchg_rtn_b32:
      return {AtomicOperation::swap, 4, returned};
    case isa::Opcode::ds_storexchg_rtn_b64:
      return {AtomicOperation::swap, 8, returned};
    case isa::Opcode::ds_storexchg_2addr_rtn_b32:
      return {AtomicOperation::swap, 4, returned, 2, 4};
    case isa::Opcode::ds_storexchg_2addr_rtn_b64:
      return {AtomicOperation::swap, 8, returned, 2, 8};
    case isa::Opcode::ds_storexchg_2addr_stride64_rtn_b32:
      return {AtomicOperation::swap, 4, returned, 2, 4 * 64};
    case isa::Opcode::ds_storexchg_2addr_stride64_rtn_b64:
      return {AtomicOperation::swap, 8, returned, 2, 8 * 64};
    case isa::Opcode::ds_wrap_rtn_b32:
      return {AtomicOperation::wrap, 4, returned};
    case isa::Opcode::ds_condxchg32_rtn_b64:
      return {AtomicOperation::condxchg32, 8, returned};
    case isa::Opcode::ds_append:
      return {AtomicOperation::append, 4, returned};
    case isa::Opcode::ds_consume:
      return {AtomicOperation::consume, 4, returned};

      LOCKSTEP_ATOMIC(swap_b32, swap, 4)
      LOCKSTEP_ATOMIC(cmpswap_b32, cmpswap, 4)
      LOCKSTEP_ATOMIC(add_u32, add, 4)
      LOCKSTEP_ATOMIC(sub_u32, sub, 4)
      LOCKSTEP_ATOMIC(min_i32, smin, 4)
      LOCKSTEP_ATOMIC(min_u32, umin, 4)
      LOCKSTEP_ATOMIC(max_i32, smax, 4)
      LOCKSTEP_ATOMIC(max_u32, umax, 4)
      LOCKSTEP_ATOMIC(and_b32, and_, 4)
      LOCKSTEP_ATOMIC(or_b32, or_, 4)
      LOCKSTEP_ATOMIC(xor_b32, xor_, 4)
      LOCKSTEP_ATOMIC(inc_u32, inc, 4)
      LOCKSTEP_ATOMIC(dec_u32, dec, 4)
      LOCKSTEP_ATOMIC(swap_b64, swap, 8)
      LOCKSTEP_ATOMIC(cmpswap_b64, cmpswap, 8)
      LOCKSTEP_ATOMIC(add_u64, add, 8)
      LOCKSTEP_ATOMIC(sub_u64, sub, 8)
      LOCKSTEP_ATOMIC(min_i64, smin, 8)
      LOCKSTEP_ATOMIC(min_u64, umin, 8)
      LOCKSTEP_ATOMIC(max_i64, smax, 8)
      LOCKSTEP_ATOMIC(max_u64, umax, 8)
      LOCKSTEP_ATOMIC(and_b64, and_, 8)
      LOCKSTEP_ATOMIC(or_b64, or_, 8)
      LOCKSTEP_ATOMIC(xor_b64, xor_, 8)
      LOCKSTEP_ATOMIC(inc_u64, inc, 8)
      LOCKSTEP_ATOMIC(dec_u64, dec, 8)
      LOCKSTEP_ATOMIC(cmpswap_f32, fcmpswap, 4)
      LOCKSTEP_ATOMIC(min_f32, fmin, 4)
      LOCKSTEP_ATOMIC(max_f32, fmax, 4)
      LOCKSTEP_ATOMIC(add_f32, fadd, 4)
    // GLC must be set (guide 9.1): the old value comes back in any case.
    case isa::Opcode::global_atomic_csub_u32:
    case isa::Opcode::buffer_atomic_csub_u32:
      return {AtomicOperation::csub, 4, returned};

      LOCKSTEP_IMAGE_ATOMIC(swap, swap)
      LOCKSTEP_IMAGE_ATOMIC(cmpswap, cmpswap)
      LOCKSTEP_IMAGE_ATOMIC(add, add)
      LOCKSTEP_IMAGE_ATOMIC(sub, sub)
      LOCKSTEP_IMAGE_ATOMIC(smin, smin)
      LOCKSTEP_IMAGE_ATOMIC(umin, umin)
      LOCKSTEP_IMAGE_ATOMIC(smax, smax)
      LOCKSTEP_IMAGE_ATOMIC(umax, umax)
      LOCKSTEP_IMAGE_ATOMIC(and, and_)
      LOCKSTEP_IMAGE_ATOMIC(or, or_)
      LOCKSTEP_IMAGE_ATOMIC(xor, xor_)
      LOCKSTEP_IMAGE_ATOMIC(inc, inc)
      LOCKSTEP_IMAGE_ATOMIC(dec, dec)
    default:
      return {};
  }
}

#undef LOCKSTEP_DS_ATOMIC
#undef LOCKSTEP_ATOMIC
#undef LOCKSTEP_IMAGE_ATOMIC

}  // namespace lockstep::semantics
