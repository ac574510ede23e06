// What the instruction set says of an instruction: one Row for each instruction in each encoding.
// Source: RDNA3 ISA guide, chapters 4 to 16 (chapter 15 for field positions and opcode numbers), LLVM 19 for
// spelling.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::isa {

// The microcode formats of guide chapter 15. DPP8 and DPP16 are not formats of their own here but a property
// of a decoded instruction (Instruction::dpp): they extend VOP1, VOP2, VOPC, VOP3, VOP3SD and VOP3P.
enum class Encoding : uint8_t {
  sop2,
  sopk,
  sop1,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3sd,
  vop3p,
  vopd,
  vinterp,
  ldsdir,
  ds,
  flat,
  global,
  scratch,
  mubuf,
  mtbuf,
  mimg,
  exp,
};

// VALU instructions, VOPD pairs among them.
constexpr bool is_vector_alu(Encoding encoding) {
  return encoding >= Encoding::vop1 && encoding <= Encoding::vinterp;
}
// SALU instructions, program control among them.
constexpr bool is_scalar_alu(Encoding encoding) {
  return encoding <= Encoding::sopp;
}
// What takes addresses and data from VGPRs: LDS, GDS, FLAT, GLOBAL, SCRATCH, buffers, images.
constexpr bool is_vector_memory(Encoding encoding) {
  return encoding >= Encoding::ds && encoding <= Encoding::mimg;
}
// All that goes another way than the ALUs: scalar and vector memory, LDS, GDS, exports.
constexpr bool is_memory(Encoding encoding) {
  return encoding == Encoding::smem || encoding >= Encoding::ldsdir;
}

// One enumerator an instruction, named as LLVM spells the mnemonic without encoding suffix:
// Opcode::v_add_f32. The same enumerator serves VOP2 and VOP3. VOPD halves have their own (v_dual_add_f32),
// with Row::base naming the instruction whose meaning they share.
enum class Opcode : uint16_t {
#define LOCKSTEP_OPCODE(mnemonic) mnemonic,
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
  count,
};

// How the bits of an operand are to be read.
enum class Type : uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b96,
  b128,
  b256,
  b512,
  u8,
  i8,
  u16,
  i16,
  u24,
  i24,
  u32,
  i32,
  u64,
  i64,
  f16,
  bf16,
  f32,
  f64,
  pk_b16,
  pk_u16,
  pk_i16,
  pk_f16,
  pk_bf16,
  pk_u8,
  pk_i8,
  pk_u4,
  pk_i4,
  pk_f32,
  mask,      // one bit a lane: VCC or SGPRs (one in wave32, an aligned pair in wave64)
  address,   // 64-bit guest address
  resource,  // buffer, image or sampler descriptor
  label,     // branch target: signed dwords relative to the next instruction
  hwreg,     // packed register id, offset and size of s_getreg and s_setreg
  imm,       // plain immediate
};

// What part an operand plays. The engine finds operands by role, the assembler order is the order of the row.
enum class Role : uint8_t {
  none,
  dst,   // sdst or vdst
  dst2,  // second destination: carry or compare mask of VOP3SD, SOP ops with two results
  src0,
  src1,
  src2,
  addr,  // VGPR address of DS, FLAT, MUBUF, MIMG
  data,
  data2,
  saddr,     // SGPR base of FLAT, SBASE of SMEM
  resource,  // SRSRC
  sampler,   // SSAMP
  soffset,   // scalar offset of SMEM and MUBUF
  simm,      // immediate of SOPK and SOPP, literal constant K of fmaak and fmamk
};

// Which encodings of an operand field are possible.
enum class Field : uint8_t {
  none,
  vgpr,        // 8-bit VGPR number
  src9,        // 9-bit: SGPR, inline constant, literal or VGPR
  sdst7,       // 7-bit scalar destination
  ssrc8,       // 8-bit scalar source: SGPR, inline constant, literal
  sgpr,        // SGPR group of SMEM or a resource
  vcc,         // implied VCC that the assembler prints
  exec,        // implied EXEC destination of v_cmpx, not printed
  hidden_vcc,  // implied VCC that the assembler does not print (v_dual_cndmask_b32)
  imm,
  vgpr_addr,  // the ADDR field of DS where it holds data
};

// Where the decoder finds an operand's number among the fields of the instruction; of use to it alone.
enum class Place : uint8_t { src0, src1, src2, vgpr_dst, scalar_dst, scalar_dst2, vcc, elsewhere };

// Eight bytes, the first five in the order of Operand's, so that the decoder copies them at once.
struct alignas(8) OperandSpec {
  Role role = Role::none;
  Type type = Type::none;
  uint8_t words = 1;  // registers it spans; 16-bit operands 1; for masks 1 (the wave size decides)
  bool read = false;
  bool written = false;
  Field field = Field::none;
  bool modifiers = false;  // VOP3 and DPP: ABS and NEG apply to it
  Place place = Place::elsewhere;
};

// Registers and memory that an instruction touches without naming them.
enum Implicit : uint32_t {
  kExec = 1u << 0,
  kVcc = 1u << 1,
  kScc = 1u << 2,
  kM0 = 1u << 3,
  kMode = 1u << 4,
  kPc = 1u << 5,
  kMemory = 1u << 6,  // global memory
  kScratch = 1u << 7,
  kLds = 1u << 8,
  kGds = 1u << 9,
  kFlatScratch = 1u << 10,
  kStatus = 1u << 11,  // hardware registers other than MODE, and trap state
};

// Dependency counter that an instruction raises at issue (guide 5.6).
enum class Counter : uint8_t { none, vmcnt, vscnt, lgkmcnt, expcnt, vmcnt_and_lgkmcnt, vscnt_and_lgkmcnt };

// Clause types of guide 5.2 that the instruction may stand in; none: it may not be in a clause.
enum class Clause : uint8_t {
  none,
  valu,
  smem,
  lds,
  flat_load,
  flat_store,
  flat_atomic,
  vmem_load,
  vmem_store,
  vmem_atomic,
  image_load,
  image_store,
  image_atomic,
  image_sample,
  bvh
};

using Flags = uint64_t;
enum Flag : Flags {
  kCanDpp8 = Flags{1} << 0,
  kCanDpp16 = Flags{1} << 1,
  kCanOpsel = Flags{1} << 2,
  kCanOmod = Flags{1} << 3,
  kCanClamp = Flags{1} << 4,
  kCanAbs = Flags{1} << 5,
  kCanNeg = Flags{1} << 6,
  kCanLiteral = Flags{1} << 7,
  kInVopdX = Flags{1} << 8,  // may be the X half of a VOPD pair (as v_dual_*)
  kInVopdY = Flags{1} << 9,
  kCrossLane = Flags{1} << 10,  // reads lanes other than its own
  kBranch = Flags{1} << 11,     // may change the PC
  kEndsWave = Flags{1} << 12,
  kAtomic = Flags{1} << 13,
  kLoad = Flags{1} << 14,
  kStore = Flags{1} << 15,
  kReturnsData = Flags{1} << 16,  // atomic that always returns the old value (DS rtn forms)
  kTrans = Flags{1} << 17,        // runs in the transcendental unit (s_delay_alu TRANS)
  kWritesExec = Flags{1} << 18,   // v_cmpx
  // LLVM prints the OPSEL field; elsewhere it is silent about the half that is chosen
  kOpselInText = Flags{1} << 19,
  kMatrix = Flags{1} << 20,   // WMMA: destination and SRC2 span half as many registers in wave64
  kLdsOnly = Flags{1} << 24,  // DS: not with the GDS bit
  kGdsOnly = Flags{1} << 25,  // DS: only with the GDS bit
  // DS: offset0 and offset1 belong to two addresses, in units of an element or of 64 elements
  kTwoAddresses = Flags{1} << 26,
  kHighHalf = Flags{1} << 27,  // D16_HI: the 16-bit data is in the high half of the VGPR
  kToLds = Flags{1} << 28,     // MUBUF: loads from memory to LDS at the address in M0
  // Vector ALU: exists in a 32-bit encoding and in VOP3; LLVM tells them apart as _e32, _e64
  kTwoForms = Flags{1} << 29,
};

struct Row {
  Opcode opcode;
  Encoding encoding;
  uint16_t number;                        // value of the OP field (chapter 15)
  std::string_view name;                  // mnemonic without _e32, _e64, _dpp
  std::span<const OperandSpec> operands;  // assembler order, destinations first
  uint32_t implicit_reads;                // Implicit bits
  uint32_t implicit_writes;
  Counter counter;
  Clause clause;
  Flags flags;                   // Flag bits
  Opcode base;                   // VOPD halves: the instruction whose meaning they have; else equal to opcode
  uint8_t sources = 0;           // which of src0, src1, src2 it has, a bit each
  uint8_t modified_sources = 0;  // which of them ABS and NEG apply to
};

// All rows, grouped by encoding, in opcode order.
std::span<const Row> rows();
// The row for an opcode number in an encoding, or null.
const Row* find_row(Encoding encoding, unsigned number);
// The first row of an instruction (its shortest encoding), or null; by enumerator or by mnemonic.
const Row* find_row(Opcode opcode);
const Row* find_row(std::string_view name);
std::string_view name(Opcode opcode);
std::string_view name(Encoding encoding);

}  // namespace lockstep::isa
