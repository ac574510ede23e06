// The words that the operand column of isa/rows/*.inc is written in. Internal to isa/.
#pragma once

#include <array>
#include <initializer_list>

#include "isa/row.h"

namespace lockstep::isa {

constexpr uint8_t words_of(Type type) {
  switch (type) {
    case Type::b64:
    case Type::u64:
    case Type::i64:
    case Type::f64:
    case Type::address:
      return 2;
    case Type::b96:
      return 3;
    case Type::b128:
      return 4;
    case Type::b256:
      return 8;
    case Type::b512:
      return 16;
    default:
      return 1;
  }
}

constexpr bool is_float(Type type) {
  switch (type) {
    case Type::f16:
    case Type::bf16:
    case Type::f32:
    case Type::f64:
    case Type::pk_f16:
    case Type::pk_bf16:
      return true;
    default:
      return false;
  }
}

// One half of a VGPR: these operands can be addressed as .l and .h (guide 7.4).
constexpr bool is_16_bit(Type type) {
  switch (type) {
    case Type::b16:
    case Type::u16:
    case Type::i16:
    case Type::f16:
    case Type::bf16:
      return true;
    default:
      return false;
  }
}

// An operand of a row; Field::none stands for the usual field of its role in the row's encoding.
struct Spec : OperandSpec {
  // ABS and NEG apply although the type is not a float (guide 7.2.2.1, LLVM).
  constexpr Spec modified() const {
    Spec copy = *this;
    copy.modifiers = true;
    return copy;
  }
};

inline constexpr unsigned kMaxSpecs = 8;

struct Shape {
  std::array<OperandSpec, kMaxSpecs> specs{};
  uint8_t count = 0;
  template <typename... Specs>
  constexpr explicit Shape(Specs... list) : specs{list...}, count(sizeof...(list)) {}
};

namespace shape {

constexpr Spec spec(Role role, Field field, Type type, unsigned words, bool read, bool written) {
  return Spec{{role, type, static_cast<uint8_t>(words ? words : words_of(type)), read, written, field}};
}

constexpr Spec source(Role role, Type type, unsigned words = 0) {
  Spec result = spec(role, Field::none, type, words, true, false);
  result.modifiers = is_float(type);
  return result;
}
constexpr Spec src0(Type type, unsigned words = 0) {
  return source(Role::src0, type, words);
}
constexpr Spec src1(Type type, unsigned words = 0) {
  return source(Role::src1, type, words);
}
constexpr Spec src2(Type type, unsigned words = 0) {
  return source(Role::src2, type, words);
}
constexpr Spec dst(Type type, unsigned words = 0) {
  return spec(Role::dst, Field::none, type, words, false, true);
}
constexpr Spec dst_and_source(Type type, unsigned words = 0) {
  return spec(Role::dst, Field::none, type, words, true, true);
}

// Sources that may only be VGPRs though the field has nine bits.
constexpr Spec vgpr_source(Role role, Type type, unsigned words) {
  return spec(role, Field::vgpr, type, words, true, false);
}
constexpr Spec vgpr_src0(Type type, unsigned words = 0) {
  return vgpr_source(Role::src0, type, words);
}
constexpr Spec vgpr_src1(Type type, unsigned words = 0) {
  return vgpr_source(Role::src1, type, words);
}
constexpr Spec vgpr_src2(Type type, unsigned words = 0) {
  return vgpr_source(Role::src2, type, words);
}
// The second operand of a swap.
constexpr Spec src0_and_destination(Type type) {
  return spec(Role::src0, Field::vgpr, type, 0, true, true);
}

// Scalar operands of vector instructions.
constexpr Spec scalar_dst(Type type) {
  return spec(Role::dst, Field::sdst7, type, 0, false, true);
}
constexpr Spec scalar_src0(Type type) {
  return spec(Role::src0, Field::ssrc8, type, 0, true, false);
}
constexpr Spec scalar_src1(Type type) {
  return spec(Role::src1, Field::ssrc8, type, 0, true, false);
}
constexpr Spec scalar_src2(Type type) {
  return spec(Role::src2, Field::ssrc8, type, 0, true, false);
}
constexpr Spec lane_select() {
  return scalar_src1(Type::u32);
}
constexpr Spec mask_dst2() {
  return spec(Role::dst2, Field::sdst7, Type::mask, 1, false, true);
}
constexpr Spec mask_src2() {
  return spec(Role::src2, Field::sdst7, Type::mask, 1, true, false);
}
constexpr Spec vcc_dst() {
  return spec(Role::dst, Field::vcc, Type::mask, 1, false, true);
}
constexpr Spec vcc_dst2() {
  return spec(Role::dst2, Field::vcc, Type::mask, 1, false, true);
}
constexpr Spec vcc_src2() {
  return spec(Role::src2, Field::vcc, Type::mask, 1, true, false);
}
constexpr Spec hidden_vcc_src2() {
  return spec(Role::src2, Field::hidden_vcc, Type::mask, 1, true, false);
}
constexpr Spec exec_dst() {
  return spec(Role::dst, Field::exec, Type::mask, 1, false, true);
}
constexpr Spec constant_k(Type type) {
  return spec(Role::simm, Field::imm, type, 0, true, false);
}

// SOP1: an SSRC field that takes no constants; SOPK, SOPP, SMEM.
constexpr Spec register_src0(Type type) {
  return spec(Role::src0, Field::sgpr, type, 0, true, false);
}
constexpr Spec sdst_source(Type type) {
  return spec(Role::src0, Field::sdst7, type, 0, true, false);
}
constexpr Spec literal_src0(Type type) {
  return spec(Role::src0, Field::imm, type, 0, true, false);
}
constexpr Spec simm(Type type) {
  return spec(Role::simm, Field::imm, type, 1, true, false);
}
constexpr Spec message() {
  return simm(Type::imm);
}
constexpr Spec base() {
  return spec(Role::saddr, Field::sgpr, Type::address, 2, true, false);
}
constexpr Spec buffer_base() {
  return spec(Role::resource, Field::sgpr, Type::resource, 4, true, false);
}
constexpr Spec soffset() {
  return spec(Role::soffset, Field::sdst7, Type::u32, 1, true, false);
}

// Memory instructions: VGPRs. Types are those in memory; words those of the register group.
constexpr Spec vgpr_memory(Role role, Type type, unsigned words = 0, bool written = false) {
  return spec(role, Field::vgpr, type, words, true, written);
}
constexpr Spec addr() {
  return vgpr_memory(Role::addr, Type::u32);
}
constexpr Spec addr_in_out() {
  return vgpr_memory(Role::addr, Type::u32, 1, true);
}
constexpr Spec addr64() {
  return vgpr_memory(Role::addr, Type::address);
}
constexpr Spec buffer_index() {
  return vgpr_memory(Role::addr, Type::u32, 2);
}
constexpr Spec image_address() {
  return vgpr_memory(Role::addr, Type::b32, 4);
}
constexpr Spec data(Type type, unsigned words = 0) {
  return vgpr_memory(Role::data, type, words);
}
constexpr Spec data2(Type type, unsigned words = 0) {
  return vgpr_memory(Role::data2, type, words);
}
constexpr Spec data_in_addr(Type type) {
  return spec(Role::data, Field::vgpr_addr, type, 0, true, false);
}
// Their SGPRs.
constexpr Spec scalar_offset() {
  return spec(Role::saddr, Field::sgpr, Type::u32, 1, true, false);
}
constexpr Spec buffer_soffset() {
  return spec(Role::soffset, Field::ssrc8, Type::u32, 1, true, false);
}
constexpr Spec image_resource() {
  return spec(Role::resource, Field::sgpr, Type::resource, 8, true, false);
}
constexpr Spec sampler() {
  return spec(Role::sampler, Field::sgpr, Type::resource, 4, true, false);
}

}  // namespace shape
}  // namespace lockstep::isa
