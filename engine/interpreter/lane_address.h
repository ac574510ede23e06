// Where one lane of a memory instruction, or the wave, reaches: for handlers that go lane by lane, and for
// the account of what was accessed (account.h).
#pragma once

#include "engine/interpreter/flat_address.h"
#include "isa/memory_shape.h"
#include "memory/buffer_resource.h"

namespace lockstep::interpreter {

// Of a DS instruction, its one or two addresses (guide 12.5). Without a VGPR the address begins with M0, of
// ADDTID with the lane's number, too. In GDS it is relative to the base in M0 (12.6).
struct DataShareAddress {
  const uint32_t* lanes = nullptr;  // null: there is no VGPR
  uint32_t first, second;
  uint32_t step = 0;  // from lane to lane, without a VGPR: 0 or 4

  DataShareAddress(const Operation* op, Wave* wave, const isa::AccessShape& shape) {
    const isa::Instruction& instruction = *op->instruction;
    if (shape.addresses == 1) {
      first = second = static_cast<uint32_t>(op->offset);
    } else {
      first = instruction.offset0 * shape.offset_unit;
      second = instruction.offset1 * shape.offset_unit;
    }
    if (op->source_flags & kHasAddress) {
      lanes = vgpr_lanes(wave, op->source[0]);
      return;
    }
    if (!instruction.gds) {
      const uint32_t in_m0 = wave->scalar[isa::code::kM0] & 0xffff;
      first += in_m0;
      second += in_m0;
    }
    if (shape.add_lane_id) step = 4;
  }
  // The first or the second one.
  uint32_t of_lane(unsigned lane, unsigned i) const {
    return (i == 0 ? first : second) + (lanes ? lanes[lane] : step * lane);
  }
};
inline uint32_t data_share_address(const Operation* op, Wave* wave, unsigned lane,
                                   const isa::AccessShape& shape, unsigned i) {
  return DataShareAddress(op, wave, shape).of_lane(lane, i);
}

// Whether the window of GDS that M0 gives the wave holds it; `is_count`: of append and consume, whose M0
// gives no size.
bool in_gds(const Wave* wave, uint32_t address, uint32_t bytes, bool is_count);

// Of lds_direct_load.
inline uint32_t direct_load_address(const Wave* wave) {
  return wave->scalar[isa::code::kM0] & 0xfffc;  // dword-aligned
}

// LDSDIR works on all four lanes of a quad in which any lane is active (guide 12.2.1, 12.4).
inline uint64_t whole_quads(uint64_t exec) {
  uint64_t quads = exec | exec >> 1;
  quads = (quads | quads >> 2) & 0x1111'1111'1111'1111ull;
  return quads * 0xf;
}

// Of lds_param_load: calls `load(first lane, address)` for each quad that executes, with the address of the
// first of its primitive's three vertices. A primitive has 12 dwords an attribute: three vertices of four
// channels. M0[31:16] holds new_prim_mask from bit 1 on: the first quad of a wave always begins a primitive
// (guide 12.1.3).
inline constexpr uint32_t kVertexBytes = 16;
template <class Function>
void each_parameter_quad(const Operation* op, const Wave* wave, Function load) {
  const uint32_t m0 = wave->scalar[isa::code::kM0];
  const uint32_t quads = wave->wave_size / 4;
  const uint32_t begins = (m0 >> 16 & 0x7fff) << 1 | 1;
  const auto primitives = static_cast<uint32_t>(__builtin_popcount(begins & ((1u << quads) - 1)));
  const uint64_t base = (m0 & 0xffff) + uint64_t{op->instruction->attribute} * primitives * 48 +
                        op->instruction->attribute_channel * 4;
  const uint64_t written = whole_quads(wave->exec());
  uint32_t primitive = 0;
  for (uint32_t quad = 0; quad < quads; ++quad) {
    if (quad != 0 && begins >> quad & 1) ++primitive;
    if (written >> (quad * 4) & 1) load(quad * 4, base + primitive * 48);
  }
}

// Of ds_bvh_stack_rtn_b32: the lane's ring of dwords.
struct StackRing {
  uint32_t base, bytes;
};
inline StackRing stack_ring(const Operation* op, Wave* wave, unsigned lane) {
  return {vgpr_lanes(wave, op->source[0])[lane] >> 18 << 2, (8u << (op->instruction->offset1 >> 4 & 3)) * 4};
}

// Of a FLAT or GLOBAL instruction; ADDTID has no VGPR.
inline uint64_t memory_address(const GlobalAddress& address, Wave* wave, unsigned lane,
                               const isa::AccessShape& shape) {
  return shape.add_lane_id ? address.base + 4 * lane : address.of_lane(wave, lane);
}

// Of a SCRATCH instruction.
inline uint32_t scratch_offset_of_lane(const Operation* op, Wave* wave, unsigned lane) {
  return scratch_offset(op, wave) +
         (op->source_flags & kHasAddress ? vgpr_lanes(wave, op->source[0])[lane] : 0);
}

// Of MUBUF and MTBUF instructions.
struct BufferAddress {
  memory::BufferResource resource;
  uint32_t sgpr_offset;

  BufferAddress(const Operation* op, Wave* wave) : resource(resource_of(op, wave)) {
    // The scalar offset; its literal, which LLVM allows, is not among the wave's scalars.
    const isa::Operand* operand = op->instruction->find(isa::Role::soffset);
    sgpr_offset = operand && operand->is_literal() ? op->instruction->literal : scalar_at(wave, op->dst2);
  }

  memory::BufferAccess of_lane(const Operation* op, Wave* wave, unsigned lane) const {
    const isa::Instruction& instruction = *op->instruction;
    uint32_t index = 0, offset = 0, next = op->source[0];
    if (instruction.idxen) {
      index = vgpr_lanes(wave, next)[lane];
      next += wave->register_bytes;
    }
    if (instruction.offen) offset = vgpr_lanes(wave, next)[lane];
    return memory::buffer_access(resource, index, offset, static_cast<uint32_t>(op->offset), lane);
  }

  // Loads to LDS put a lane's dword there (guide 9.1).
  static uint32_t in_lds(const Operation* op, const Wave* wave, unsigned lane) {
    return (wave->scalar[isa::code::kM0] & 0xffff) + static_cast<uint32_t>(op->offset) + 4 * lane;
  }

 private:
  static memory::BufferResource resource_of(const Operation* op, Wave* wave) {
    const uint32_t* words = &scalar_at(wave, op->source[2]);
    return memory::decode_buffer_resource({words[0], words[1], words[2], words[3]});
  }
};

// Of S_LOAD. The two low bits of every component count as zero, before they are added (guide 8.1.1).
inline uint64_t scalar_load_address(const Operation* op, Wave* wave) {
  const uint64_t base = scalar_at(wave, op->source[2]) | uint64_t{scalar_at(wave, op->source[2] + 4)} << 32;
  return (base & ~uint64_t{3}) + (static_cast<uint64_t>(op->offset) & ~uint64_t{3}) +
         (scalar_at(wave, op->dst2) & ~3u);
}

// Of S_BUFFER_LOAD.
struct ScalarBufferAddress {
  uint64_t base, size, offset;

  ScalarBufferAddress(const Operation* op, Wave* wave) {
    const uint32_t* resource = &scalar_at(wave, op->source[2]);
    base = (resource[0] | uint64_t{resource[1] & 0xffffu} << 32) & ~uint64_t{3};
    const uint64_t stride = resource[1] >> 16 & 0x3fff;
    size = (stride == 0 ? 1 : stride) * uint64_t{resource[2]};
    offset = (static_cast<uint64_t>(op->offset) + scalar_at(wave, op->dst2)) & ~uint64_t{3};
  }
  uint64_t of_dword(unsigned i) const { return base + offset + 4 * i; }
  // Each dword outside the buffer reads as zero (guide 8.4.1).
  bool has_dword(unsigned i) const { return offset + 4 * i < size; }
};

}  // namespace lockstep::interpreter
