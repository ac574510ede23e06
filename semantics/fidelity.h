// How far the result of an instruction can be trusted. Exact means: it follows a capture from a card or the
// guide's words to the bit. Only what is not exact is listed here; docs/isa.md shows all of it.
//
// Order of truth: captures from cards, the guide, LLVM 19. Where all are silent, the note says what was
// chosen.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isa/instruction.h"
#include "semantics/engine_handled.h"

namespace lockstep::semantics {

enum class Fidelity : uint8_t {
  exact,
  bounded,      // within Doubt::ulp units in the last place
  open,         // guide and captures are silent: the note says what was chosen
  unsupported,  // faults when executed: the note says why
};

// Which results may differ from the card's.
enum class Concern : uint8_t {
  results,       // those of ordinary operands
  corner_cases,  // only those of the operands or states that the note names
};

struct Doubt {
  Fidelity fidelity = Fidelity::exact;
  Concern concern = Concern::results;
  double ulp = 0;  // bounded: the largest error
  std::string_view note;
};

constexpr std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::exact:
      return "exact";
    case Fidelity::bounded:
      return "bounded";
    case Fidelity::open:
      return "open";
    case Fidelity::unsupported:
      return "unsupported";
  }
  return "";
}

namespace fidelity {

constexpr Doubt open(std::string_view note) {
  return {Fidelity::open, Concern::results, 0, note};
}
constexpr Doubt corner(std::string_view note) {
  return {Fidelity::open, Concern::corner_cases, 0, note};
}
constexpr Doubt bounded(double ulp, std::string_view note) {
  return {Fidelity::bounded, Concern::results, ulp, note};
}

}  // namespace fidelity

// Of the instruction with any operands and modifiers. A half of VOPD is asked for by its base.
constexpr Doubt doubt_of(isa::Opcode opcode) {
  using enum isa::Opcode;
  using namespace fidelity;
  switch (opcode) {
    // Dot products: the adder was measured on gfx1151 with 12 million cases; these points were not.
    case v_dot2_f32_f16:
    case v_dot2_f32_bf16:
    case v_dot2acc_f32_f16:
    case v_dual_dot2acc_f32_bf16:
      return open(
          "adder as measured on gfx1151, not shown for gfx1100; assumed: bits below the grid unit are "
          "dropped, the sum rounds to nearest even whatever MODE says, a zero addend neither raises the grid "
          "nor weighs a unit, a zero accumulator frames by its sign bit, a zero sum is -0 only if all "
          "addends "
          "are, denormal accumulators and results obey MODE, NaNs win in operand order");
    case v_dot2_f16_f16:
      return open(
          "nothing is measured for gfx11: the F32 adder, its sum rounded once to half; assumptions of "
          "v_dot2_f32_f16");
    case v_dot2_bf16_bf16:
      return open(
          "the F32 adder, its sum truncated to a brain float as measured on gfx1200; assumptions of "
          "v_dot2_f32_bf16");
    case v_wmma_f32_16x16x16_f16:
    case v_wmma_f32_16x16x16_bf16:
    case v_wmma_f16_16x16x16_f16:
    case v_wmma_bf16_16x16x16_bf16:
      return open(
          "order over K not measured: D starts as C and takes the two-element dot product for k = 0, 2, .. "
          "14, "
          "rounded to the format of D each time; assumptions of v_dot2; each half of the wave reads its own "
          "copies of A and B");
    case v_wmma_i32_16x16x16_iu8:
    case v_wmma_i32_16x16x16_iu4:
      return corner(
          "copies of A and B in the upper lanes that differ from the lower ones: each half reads its own");

    // Transcendental functions.
    case v_sin_f32:
    case v_cos_f32:
      return open(
          "fitted to captures of gfx1100, 70 of 70 known results agree, other inputs are not proven; error "
          "to the "
          "true value at most 1.25e-7");
    case v_rsq_f16:
    case v_sqrt_f16:
      return open(
          "the captured F32 result rounded once, as the captures of the other F16 forms show; not captured "
          "itself");
    case v_rcp_f64:
    case v_sqrt_f64:
      return bounded(
          0.5, "correctly rounded; the guide promises 2^29 units of the card, whose bits are not captured");
    case v_rsq_f64:
      return bounded(
          0.51,
          "measured error to the true value; the guide promises 2^29 units of the card, whose bits are "
          "not captured");

    // Float arithmetic.
    case v_fma_f32:
    case v_fmac_f32:
    case v_fmamk_f32:
    case v_fmaak_f32:
    case v_fma_f64:
    case v_fma_mix_f32:
    case v_fma_mixlo_f16:
    case v_fma_mixhi_f16:
    case v_interp_p10_f32:
    case v_interp_p2_f32:
      return corner("infinity times zero plus a NaN: the product's default NaN wins, as measured for F16");
    case v_interp_p10_f16_f32:
    case v_interp_p10_rtz_f16_f32:
      return corner(
          "halves are widened as v_cvt_f32_f16 does; infinity times zero plus a NaN: the default NaN wins");
    case v_interp_p2_f16_f32:
    case v_interp_p2_rtz_f16_f32:
      return open("rounded to single and then to half, as the guide writes it; the card might round once");
    case v_mul_dx9_zero_f32:
      return corner("denormals are flushed whatever MODE says, as measured for v_fma_dx9_zero_f32");
    case v_cvt_f16_f32:
    case v_cvt_f32_f64:
      return corner(
          "a signalling NaN with MODE.IEEE off stays signalling, if its payload survives narrowing");
    case v_cvt_pk_u8_f32:
      return open("fractions are truncated toward zero; the guide does not name the rounding");
    case v_cvt_norm_i16_f16:
    case v_cvt_norm_u16_f16:
    case v_cvt_pk_norm_i16_f16:
    case v_cvt_pk_norm_u16_f16:
    case v_cvt_pk_norm_i16_f32:
    case v_cvt_pk_norm_u16_f32:
      return open("scaled and rounded to nearest even; the guide does not name the rounding");
    case v_fract_f16:
    case v_fract_f32:
    case v_fract_f64:
      return corner("an integer, of either sign, gives +0");
    case v_cubesc_f32:
    case v_cubetc_f32:
      return corner("the chosen coordinate keeps its bits: denormals are not flushed, NaNs not quieted");
    case v_pack_b32_f16:
      return corner("halves keep their bits: denormals are not flushed, NaNs not quieted");

    // Integers.
    case v_subrev_co_ci_u32:
      return corner(
          "the borrow is that of src1 - src0 - carry; the guide repeats the formula of v_sub_co_ci_u32");

    // Time and machine.
    case s_sendmsg_rtn_b32:
    case s_sendmsg_rtn_b64:
      return open(
          "the real-time counter counts the wave's own instructions and the clocks that it asked to sleep, "
          "so that "
          "runs repeat exactly");

    case s_getreg_b32:
      return corner(
          "SHADER_CYCLES counts the wave's own instructions and the clocks that it asked to sleep, so that "
          "runs "
          "repeat exactly");

    // Float atomics.
    case ds_add_f32:
    case ds_add_rtn_f32:
      return open(
          "no capture exists: lanes add in the order of their numbers, rounded to nearest even; denormals "
          "obey "
          "MODE; the first NaN in the order data, memory wins, quieted");
    case buffer_atomic_add_f32:
    case global_atomic_add_f32:
    case flat_atomic_add_f32:
      return open(
          "no capture exists: lanes add in the order of their numbers, rounded to nearest even; denormal "
          "inputs "
          "and results are flushed; the first NaN in the order data, memory wins, quieted");
    case ds_min_f32:
    case ds_max_f32:
    case ds_min_rtn_f32:
    case ds_max_rtn_f32:
    case ds_min_f64:
    case ds_max_f64:
    case ds_min_rtn_f64:
    case ds_max_rtn_f64:
    case buffer_atomic_min_f32:
    case buffer_atomic_max_f32:
    case global_atomic_min_f32:
    case global_atomic_max_f32:
    case flat_atomic_min_f32:
    case flat_atomic_max_f32:
      return corner(
          "no capture exists: denormals are flushed for the comparison only; a number beats a quiet NaN, a "
          "signalling NaN wins, quieted, the data's first; equal operands leave memory as it is");
    case ds_cmpstore_f32:
    case ds_cmpstore_rtn_f32:
    case ds_cmpstore_f64:
    case ds_cmpstore_rtn_f64:
    case buffer_atomic_cmpswap_f32:
    case global_atomic_cmpswap_f32:
    case flat_atomic_cmpswap_f32:
      return corner(
          "no capture exists: a stored denormal is flushed when inputs are; a comparison that fails leaves "
          "memory "
          "as it is");

    // Data share.
    case ds_swizzle_b32:
      return corner("rotation with a mask: by the guide's formula, which its two examples contradict");
    case ds_gws_init:
      return corner(
          "the operand is the number of waves, as the guide says; LLVM documents that number minus one, "
          "which a "
          "setting of the device chooses; more than 12 bits are cut off");
    case ds_gws_barrier:
      return corner(
          "the operand is the number of waves minus one, as the guide's text and LLVM say; the guide's "
          "formula "
          "leaves the one out; a barrier that was never initialised lets the first wave through");
    case ds_gws_sema_v:
    case ds_gws_sema_br:
      return corner("a count beyond 12 bits wraps");
    case ds_ordered_count:
      return corner(
          "the order is that of the waves' creation, whatever wave number M0 names; the count base in M0 is "
          "not "
          "added, for the targets are registers; 64-bit targets return their low half; the wrap form's ring "
          "size "
          "is a setting of the device; without active lanes it adds 0 and lane 0 gets the result");
    case ds_bvh_stack_rtn_b32:
      return open(
          "a pop moves the index back and then reads; the guide's outline, in the other order, would not "
          "undo a push");

    // Conversions of buffer formats.
    case buffer_load_format_x:
    case buffer_load_format_xy:
    case buffer_load_format_xyz:
    case buffer_load_format_xyzw:
    case buffer_load_d16_format_x:
    case buffer_load_d16_format_xy:
    case buffer_load_d16_format_xyz:
    case buffer_load_d16_format_xyzw:
    case buffer_load_d16_hi_format_x:
    case buffer_load_lds_format_x:
    case tbuffer_load_format_x:
    case tbuffer_load_format_xy:
    case tbuffer_load_format_xyz:
    case tbuffer_load_format_xyzw:
    case tbuffer_load_d16_format_x:
    case tbuffer_load_d16_format_xy:
    case tbuffer_load_d16_format_xyz:
    case tbuffer_load_d16_format_xyzw:
      return corner(
          "D16 integers keep their low 16 bits; components that the format does not have load as 0");
    case buffer_store_format_x:
    case buffer_store_format_xy:
    case buffer_store_format_xyz:
    case buffer_store_format_xyzw:
    case buffer_store_d16_format_x:
    case buffer_store_d16_format_xy:
    case buffer_store_d16_format_xyz:
    case buffer_store_d16_format_xyzw:
    case buffer_store_d16_hi_format_x:
    case tbuffer_store_format_x:
    case tbuffer_store_format_xy:
    case tbuffer_store_format_xyz:
    case tbuffer_store_format_xyzw:
    case tbuffer_store_d16_format_x:
    case tbuffer_store_d16_format_xy:
    case tbuffer_store_d16_format_xyz:
    case tbuffer_store_d16_format_xyzw:
      return corner(
          "integers that do not fit are clamped, scaled and normalized ones round to nearest even; "
          "components that "
          "are not supplied are stored as 0");
    default:
      return {};
  }
}

// Of a row, what no engine executes included.
constexpr Doubt doubt_of(const isa::Row& row) {
  if (const std::string_view* reason = find_unsupported(row))
    return {Fidelity::unsupported, Concern::results, 0, *reason};
  return doubt_of(row.base);
}

// What modifiers and forms leave open, whatever the instruction.
struct FormDoubt {
  std::string_view form;
  Doubt doubt;
};
inline constexpr FormDoubt form_doubts[] = {
    {"DPP with FETCH_INACTIVE",
     fidelity::corner(
         "a source outside the row: BOUND_CTRL alone decides, as the field is described; guide table 31 "
         "says otherwise")},
    {"MUBUF and MTBUF with IDXEN",
     fidelity::corner("raw range check without swizzling: index times stride counts as part of the offset")},
    {"exceptions in TRAPSTS.EXCP",
     fidelity::corner(
         "no capture exists: a flushed denormal operand counts as one; a result below the normal numbers "
         "after rounding with unbounded exponent underflows, exact or not; flushing and overflow are "
         "inexact; "
         "a float out of an integer's range is invalid; OMOD clears the exceptions of conversions to "
         "integers "
         "and adds none elsewhere; transcendental functions and dot products are judged by the returned "
         "result; class tests, cube maps, v_div_scale, v_trig_preop, v_pack_b32_f16, v_cvt_floor, "
         "v_cvt_nearest and the normalized conversions raise none")},
};

// The doubt that the form of a decoded instruction adds, or null.
inline const FormDoubt* form_doubt_of(const isa::Instruction& instruction) {
  if (instruction.dpp != isa::Dpp::none && instruction.fetch_inactive) return &form_doubts[0];
  const isa::Encoding encoding = instruction.row->encoding;
  if ((encoding == isa::Encoding::mubuf || encoding == isa::Encoding::mtbuf) && instruction.idxen)
    return &form_doubts[1];
  return nullptr;
}

}  // namespace lockstep::semantics
