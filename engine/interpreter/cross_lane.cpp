// Instructions that read other lanes: DPP, permlane, readlane and writelane, the LDS permutes, v_swap,
// v_movrel.
#include "semantics/cross_lane.h"

#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/memory_access.h"
#include "engine/interpreter/registration.h"
#include "isa/effects.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;
using semantics::WaveView;

WaveView view(const Wave* wave) {
  return {wave->chunks, wave->exec()};
}

U32* chunks_of(Wave* wave, uint32_t offset) {
  return vgpr_chunk(wave, offset, 0);
}

// Source `i` of an instruction that may name an SGPR, a constant or a VGPR there, as a uniform value.
uint32_t uniform(const Operation* op, Wave* wave, unsigned i) {
  if (source_flags(op, i) & kScalarSource) return scalar_at(wave, op->source[i]);
  return vgpr_lanes(wave, op->source[i])[0];
}

void write_lanes(Wave* wave, uint32_t destination, const U32* result, uint64_t lanes) {
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    U32* target = vgpr_chunk(wave, destination, chunk);
    *target = select(mask_from_bits(static_cast<uint16_t>(lanes >> (16 * chunk))), result[chunk], *target);
  }
}

void dpp_gather(const Operation* op, Wave* wave, int64_t budget) {
  const auto* selection = reinterpret_cast<const semantics::DppSelection*>(op->literal);
  wave->dpp_write_mask =
      semantics::dpp_select(*selection, view(wave), chunks_of(wave, op->source[0]), chunks_of(wave, op->dst));
  LOCKSTEP_NEXT();
}

void v_readlane(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  const uint32_t lane = uniform(op, wave, 1);
  // The guide lets only VGPRs be read; a scalar source is uniform anyway.
  scalar_at(wave, op->dst) =
      source_flags(op, 0) & kScalarSource
          ? scalar_at(wave, op->source[0])
          : semantics::v_readlane_b32::eval(view(wave), chunks_of(wave, op->source[0]), lane);
  LOCKSTEP_NEXT();
}

void v_readfirstlane(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  scalar_at(wave, op->dst) =
      source_flags(op, 0) & kScalarSource
          ? scalar_at(wave, op->source[0])
          : semantics::v_readfirstlane_b32::eval(view(wave), chunks_of(wave, op->source[0]));
  LOCKSTEP_NEXT();
}

void v_writelane(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  semantics::v_writelane_b32::eval(view(wave), uniform(op, wave, 0), uniform(op, wave, 1),
                                   chunks_of(wave, op->dst));
  LOCKSTEP_NEXT();
}

template <class Body>
void v_permlane16(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  U32 result[4];
  const unsigned op_sel = op->instruction->op_sel;
  const uint64_t lanes = Body::eval(view(wave), op_sel & 1, op_sel >> 1 & 1, chunks_of(wave, op->source[0]),
                                    uniform(op, wave, 1), uniform(op, wave, 2), result);
  write_lanes(wave, op->dst, result, lanes);
  LOCKSTEP_NEXT();
}

void v_permlane64(const Operation* op, Wave* wave, int64_t budget) {
  U32 result[4];
  const uint64_t lanes =
      semantics::v_permlane64_b32::eval(view(wave), chunks_of(wave, op->source[0]), result);
  write_lanes(wave, op->dst, result, lanes);
  LOCKSTEP_NEXT();
}

void v_swap_b32(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t exec = wave->exec();
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    U32 *a = vgpr_chunk(wave, op->dst, chunk), *b = vgpr_chunk(wave, op->source[0], chunk);
    const auto swapped = semantics::v_swap_b32::eval(*a, *b);
    const Mask lanes = mask_from_bits(static_cast<uint16_t>(exec >> (16 * chunk)));
    const U32 first = select(lanes, swapped.destination, *a), second = select(lanes, swapped.source, *b);
    *a = first;
    *b = second;
  }
  LOCKSTEP_NEXT();
}

void v_swap_b16(const Operation* op, Wave* wave, int64_t budget) {
  const bool high_a = op->flags & kDstHigh, high_b = source_flags(op, 0) & kHigh;
  for (uint64_t lanes = wave->exec(); lanes != 0; lanes &= lanes - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    auto* a = reinterpret_cast<uint16_t*>(vgpr_lanes(wave, op->dst) + lane) + high_a;
    auto* b = reinterpret_cast<uint16_t*>(vgpr_lanes(wave, op->source[0]) + lane) + high_b;
    const uint16_t old = *a;
    *a = *b;
    *b = old;
  }
  LOCKSTEP_NEXT();
}

// ---- VGPRs chosen by M0 (guide 7.8)
// ------------------------------------------------------------------------------

bool is_allocated(const Wave* wave, uint32_t offset, uint32_t index) {
  return uint64_t{offset / wave->register_bytes} + index < wave->vgpr_count;
}

// An index outside the wave's VGPRs reads VGPR 0, a write there is dropped into an engine register
// (guide 3.3.2.2).
uint32_t relative_vgpr(const Wave* wave, uint32_t offset, uint32_t index, bool write) {
  if (is_allocated(wave, offset, index)) return offset + index * wave->register_bytes;
  return write ? (kMaxVgprs + 1) * wave->register_bytes : 0;
}

template <bool source_relative, bool destination_relative, bool swap>
void v_movrel(const Operation* op, Wave* wave, int64_t budget) {
  if (!(op->flags & kDppMask)) copy_literal(op, wave);
  const auto [destination_index, source_index] =
      isa::register_indices(op->instruction->row->opcode, wave->scalar[isa::code::kM0]);
  const uint32_t destination =
      destination_relative ? relative_vgpr(wave, op->dst, destination_index, true) : op->dst;
  const bool scalar = source_flags(op, 0) & kScalarSource;
  uint32_t source =
      source_relative && !scalar ? relative_vgpr(wave, op->source[0], source_index, false) : op->source[0];
  uint64_t exec = wave->exec();
  // M0 chooses the register, then DPP its lanes.
  if (op->flags & kDppMask) {
    const auto* selection = reinterpret_cast<const semantics::DppSelection*>(op->literal);
    const uint32_t gathered = kMaxVgprs * wave->register_bytes;
    exec = semantics::dpp_select(*selection, view(wave), chunks_of(wave, source), chunks_of(wave, gathered));
    source = gathered;
  }
  // Both operands of a swap are destinations: one out of range and nothing is written.
  if (swap &&
      !(is_allocated(wave, op->dst, destination_index) && is_allocated(wave, op->source[0], source_index)))
    exec = 0;
  for (unsigned chunk = 0; chunk < wave->chunks; ++chunk) {
    const Mask lanes = mask_from_bits(static_cast<uint16_t>(exec >> (16 * chunk)));
    U32* to = vgpr_chunk(wave, destination, chunk);
    U32 value = scalar ? U32(scalar_at(wave, source)) : *vgpr_chunk(wave, source, chunk);
    // Moves take ABS and NEG (guide 7.2.2.1).
    if (source_flags(op, 0) & kAbs) value &= 0x7fffffffu;
    if (source_flags(op, 0) & kNeg) value ^= 0x80000000u;
    const U32 old = *to;
    *to = select(lanes, value, old);
    if constexpr (swap) {
      U32* from = vgpr_chunk(wave, source, chunk);
      *from = select(lanes, old, *from);
    }
  }
  LOCKSTEP_NEXT();
}

// ---- Permutes through the LDS crossbar (guide 12.5.2)
// ------------------------------------------------------------

template <class Body>
void ds_permute(const Operation* op, Wave* wave, int64_t budget) {
  U32 result[4];
  const uint64_t lanes =
      Body::eval(view(wave), chunks_of(wave, op->source[0]), chunks_of(wave, op->source[1]),
                 static_cast<uint32_t>(op->offset), result);
  write_lanes(wave, op->dst, result, lanes);
  LOCKSTEP_NEXT();
}

void ds_swizzle(const Operation* op, Wave* wave, int64_t budget) {
  U32 result[4];
  const uint64_t lanes = semantics::ds_swizzle_b32::eval(view(wave), chunks_of(wave, op->source[0]),
                                                         static_cast<uint32_t>(op->offset), result);
  write_lanes(wave, op->dst, result, lanes);
  LOCKSTEP_NEXT();
}

void no_operation(const Operation* op, Wave* wave, int64_t budget) {
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(cross_lane)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  table.dpp_gather = &dpp_gather;
  set(Opcode::v_nop, &no_operation);
  set(Opcode::v_pipeflush, &no_operation);
  set(Opcode::v_readlane_b32, &v_readlane);
  set(Opcode::v_readfirstlane_b32, &v_readfirstlane);
  set(Opcode::v_writelane_b32, &v_writelane);
  set(Opcode::v_permlane16_b32, &v_permlane16<semantics::v_permlane16_b32>);
  set(Opcode::v_permlanex16_b32, &v_permlane16<semantics::v_permlanex16_b32>);
  set(Opcode::v_permlane64_b32, &v_permlane64);
  set(Opcode::v_swap_b32, &v_swap_b32);
  set(Opcode::v_swap_b16, &v_swap_b16);
  set(Opcode::v_movreld_b32, &v_movrel<false, true, false>);
  set(Opcode::v_movrels_b32, &v_movrel<true, false, false>);
  set(Opcode::v_movrelsd_b32, &v_movrel<true, true, false>);
  set(Opcode::v_movrelsd_2_b32, &v_movrel<true, true, false>);
  set(Opcode::v_swaprel_b32, &v_movrel<true, true, true>);
  set(Opcode::ds_permute_b32, &ds_permute<semantics::ds_permute_b32>);
  set(Opcode::ds_bpermute_b32, &ds_permute<semantics::ds_bpermute_b32>);
  set(Opcode::ds_swizzle_b32, &ds_swizzle);
}

}  // namespace lockstep::interpreter
