// The shapes of instruction bodies. A body is a struct named like the instruction's mnemonic, with one static
// function `eval`: operands in, results out. It is pure: no register file, no EXEC, no memory, no libm, no
// state. The engines fetch operands, apply modifiers, merge by EXEC and write results, all from isa/
// metadata.
//
// Vector ALU (one chunk of 16 lanes):
//   struct v_add_nc_u32 { LOCKSTEP_BODY U32 eval(U32 a, U32 b) { return a + b; } };
//   struct v_add_f32 { template <class Mode> LOCKSTEP_BODY F32 eval(F32 a, F32 b, Mode mode) {...} };
// Parameters, in this order: the explicit sources in assembler order; the old destination if the row says it
// is read (v_fmac); a Mask for VCC if it is an implicit input (v_div_fmas); Lanes if the lane's number
// matters (v_mbcnt); the float mode if the meaning depends on it. Parameter types say how an operand is
// fetched: U32 I32 F32 one register; U64 I64 F64 a pair; U16 I16 F16 the half of the register that the
// encoding selects; Mask an SGPR lane mask; Words<n> n registers; Packed a VOP3P source. Results: one value
// of such a type; a Mask (compares); or WithMask<T> (value and carry or flag). Source modifiers (abs, neg,
// op_sel), omod, clamp, DPP are applied by the engine around the body, by the parameter and result types:
// bodies never see them. Integer CLAMP is the exception: see below. Abs and neg of a U32 or U16 parameter
// (v_mov_b32, v_cndmask_b32) act on its sign bit, as on a float's.
//
// Scalar ALU: uint32_t, int32_t, uint64_t, int64_t parameters; `bool scc` last if SCC is read; results T,
// WithScc<T> (value and new SCC) or Scc (compares). Instructions that change EXEC return WithExec<T>.
//
// Whole-wave bodies (permlane, WMMA, DPP): take spans over all chunks of the wave, see cross_lane.h.
#pragma once

#include <cstdint>

#include "numeric/float_mode.h"
#include "numeric/lanes.h"

#define LOCKSTEP_BODY static inline __attribute__((always_inline))

namespace lockstep::semantics {

template <class T>
struct WithMask {
  T value;
  Mask mask;
};

// Bodies whose results are never denormal, whatever MODE says: what it says of denormals does not disable
// their OMOD (measured for V_FMA_DX9_ZERO_F32 and V_FMAC_DX9_ZERO_F32; guide 7.2.3.1 speaks of "a few").
template <class Body>
inline constexpr bool flushes_always = false;

// Numbers of the chunk's lanes within the wave: 0 to 31 or 0 to 63.
struct Lanes {
  U32 index;
};

// n consecutive registers of each lane.
template <unsigned n>
struct Words {
  U32 word[n];
};

template <class T>
struct WithScc {
  T value;
  bool scc;
};
struct Scc {
  bool scc;
};
// v_swap_*: the new values of the destination operand and of the source operand.
template <class T>
struct Swapped {
  T destination;
  T source;
};
// Result of s_*_saveexec and s_*_wrexec: value for the destination, new EXEC, new SCC.
template <class T>
struct WithExec {
  T value;
  T exec;
  bool scc;
};

// A VOP3P source after op_sel, op_sel_hi, neg_lo and neg_hi: the two halves that feed the low and the high
// result.
template <class T>
struct Pair {
  T low;
  T high;
};
using PairU16 = Pair<U16>;
using PairI16 = Pair<I16>;
using PairF16 = Pair<F16>;
// A brain float is a U16, packed ones are a PairU16; the row's bf16 types say so, for the sake of inline
// constants, whose upper half it is (guide 7.5.1).

// A source of v_fma_mix*: read by the engine as f32, or widened from the f16 half that op_sel and op_sel_hi
// choose, after neg_hi (as ABS) and neg.
struct Mix {
  F32 value;
};

// Comes after the sources of v_dot4_i32_iu8, v_dot8_i32_iu4 and v_wmma_i32_*: NEG[0] and NEG[1] of the
// instruction, which there mean that the elements of src0 and of src1 are signed.
struct SignBits {
  bool src0;
  bool src1;
};

// Integer CLAMP saturates the exact result (guide 7.2.3.1), which the wrapped result no longer tells. A body
// whose row has kCanClamp on an integer result has a second function with the same parameters that saturates:
//   struct v_add_nc_u32 { LOCKSTEP_BODY U32 eval(U32 a, U32 b); LOCKSTEP_BODY U32 saturated(U32 a, U32 b); };
// Where clamping cannot change the result (v_cvt_u32_f32 saturates anyway, v_min3_i16 cannot overflow) there
// is no second function, and CLAMP is ignored.

}  // namespace lockstep::semantics
