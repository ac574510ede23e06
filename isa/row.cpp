#include "isa/row.h"

#include <array>
#include <cstddef>

#include "isa/detail.h"
#include "isa/image.h"
#include "isa/row_facts.h"
#include "isa/row_text.h"
#include "isa/shape.h"

namespace lockstep::isa {
namespace {

using enum Opcode;

// A row as the files in isa/rows/ give it; Row adds nothing but a view of its operands.
struct Source {
  Opcode opcode;
  Encoding encoding;
  uint16_t number;
  std::string_view name;
  Shape shape;
  uint32_t reads;
  uint32_t writes;
  Counter counter;
  Clause clause;
  Flags flags;
  Opcode base;
};

constexpr Flags kDpp = kCanDpp8 | kCanDpp16;
constexpr Flags kDualY = kInVopdY;
constexpr Flags kDualXY = kInVopdX | kInVopdY;
constexpr Flags kVop3Only = kCanClamp | kCanOmod | kCanOpsel | kOpselInText;

constexpr bool is_vop3(Encoding encoding) {
  return encoding == Encoding::vop3 || encoding == Encoding::vop3sd || encoding == Encoding::vop3p;
}
// The field that an operand has in an encoding when its row does not say otherwise.
constexpr Field usual_field(Encoding encoding, Role role) {
  if (!is_vector_alu(encoding)) return role == Role::dst || role == Role::dst2 ? Field::sdst7 : Field::ssrc8;
  if (role == Role::dst) return Field::vgpr;
  if (role == Role::src1 && !is_vop3(encoding) && encoding != Encoding::vinterp) return Field::vgpr;
  return Field::src9;
}

constexpr Place source_place(Role role) {
  switch (role) {
    case Role::src0:
      return Place::src0;
    case Role::src1:
      return Place::src1;
    case Role::src2:
      return Place::src2;
    default:
      return Place::elsewhere;
  }
}

// SOP1, SOP2, SOPC, SOPK.
constexpr Place scalar_place(const OperandSpec& spec) {
  if (spec.field == Field::sdst7) return Place::scalar_dst;
  return spec.field == Field::imm ? Place::elsewhere : source_place(spec.role);
}

// Vector ALU. In VOP1, VOP2 and VOPC the number of a 16-bit operand is not all of its field.
constexpr Place vector_place(Encoding encoding, const OperandSpec& spec) {
  if (encoding <= Encoding::vopc && is_16_bit(spec.type)) return Place::elsewhere;
  switch (spec.field) {
    case Field::vcc:
    case Field::hidden_vcc:
      return Place::vcc;
    case Field::exec:
    case Field::imm:
      return Place::elsewhere;
    default:
      break;
  }
  if (spec.role == Role::dst2) return Place::scalar_dst2;
  if (spec.role == Role::dst) return spec.field == Field::sdst7 ? Place::scalar_dst : Place::vgpr_dst;
  return source_place(spec.role);
}

constexpr Source scalar(Opcode opcode, Encoding encoding, unsigned number, std::string_view name, Shape shape,
                        uint32_t reads, uint32_t writes, Flags flags, Counter counter = Counter::none,
                        Clause clause = Clause::none) {
  for (unsigned i = 0; i < shape.count; ++i) {
    OperandSpec& spec = shape.specs[i];
    if (spec.field == Field::none) {
      spec.field = usual_field(encoding, spec.role);
      if (spec.field == Field::ssrc8) flags |= kCanLiteral;
    }
    spec.modifiers = false;
    spec.place = scalar_place(spec);
  }
  return {opcode, encoding, static_cast<uint16_t>(number), name, shape, reads, writes, counter, clause,
          flags,  opcode};
}

constexpr Source vector(Opcode opcode, Encoding encoding, unsigned number, std::string_view name, Shape shape,
                        uint32_t reads, uint32_t writes, Flags flags, Opcode base) {
  const bool vop3 = is_vop3(encoding);
  const bool wide = vop3 || encoding == Encoding::vinterp;
  if (!wide) flags &= ~kVop3Only;
  for (unsigned i = 0; i < shape.count; ++i) {
    OperandSpec& spec = shape.specs[i];
    if (spec.field == Field::none) {
      spec.field = usual_field(encoding, spec.role);
      if (spec.field == Field::src9) flags |= kCanLiteral;
    }
    if (vop3 && spec.field == Field::vcc) spec.field = Field::sdst7;
    if (!vop3 && spec.field == Field::ssrc8 && encoding != Encoding::vop1) spec.field = Field::src9;
    spec.place = vector_place(encoding, spec);
    if (spec.modifiers && (wide || (flags & kCanDpp16))) {
      flags |= kCanNeg;
      if (encoding != Encoding::vop3sd && encoding != Encoding::vop3p && encoding != Encoding::vinterp)
        flags |= kCanAbs;
    }
    if ((encoding == Encoding::vop3 || encoding == Encoding::vinterp) && is_16_bit(spec.type))
      flags |= kCanOpsel;
  }
  if (encoding == Encoding::vop3p) flags |= kCanNeg;
  return {opcode, encoding,      static_cast<uint16_t>(number),
          name,   shape,         reads,
          writes, Counter::none, Clause::valu,
          flags,  base};
}

// The memories that a memory instruction may access.
constexpr uint32_t memories(Encoding encoding, Flags flags) {
  switch (encoding) {
    case Encoding::ds:
      if (flags & kCrossLane && !(flags & kAtomic)) return 0;
      return flags & kLdsOnly ? kLds : flags & kGdsOnly ? kGds : kLds | kGds;
    case Encoding::ldsdir:
      return kLds;
    case Encoding::flat:
      return kMemory | kLds | kScratch;
    case Encoding::scratch:
      return kScratch;
    case Encoding::exp:
      return 0;
    default:
      return kMemory;
  }
}

// The counter of an atomic is that without GLC; counter_of() knows the other.
constexpr Counter memory_counter(Encoding encoding, Flags flags) {
  const bool store = flags & (kStore | kAtomic);
  switch (encoding) {
    case Encoding::ds:
      return Counter::lgkmcnt;
    case Encoding::ldsdir:
    case Encoding::exp:
      return Counter::expcnt;
    case Encoding::flat:
      return store ? Counter::vscnt_and_lgkmcnt : Counter::vmcnt_and_lgkmcnt;
    default:
      return store ? Counter::vscnt : Counter::vmcnt;
  }
}

constexpr Clause memory_clause(Encoding encoding, Flags flags, unsigned number) {
  const auto pick = [&](Clause load, Clause store, Clause atomic) {
    return flags & kAtomic ? atomic : flags & kStore ? store : flags & kLoad ? load : Clause::none;
  };
  switch (encoding) {
    case Encoding::ds:
      return flags & kGdsOnly ? Clause::none : Clause::lds;
    case Encoding::ldsdir:
    case Encoding::exp:
      return Clause::none;
    case Encoding::flat:
      return pick(Clause::flat_load, Clause::flat_store, Clause::flat_atomic);
    case Encoding::mimg:
      if (kImageForms[number].kind == ImageKind::bvh) return Clause::bvh;
      if (kImageForms[number].has_sampler()) return Clause::image_sample;
      return pick(Clause::image_load, Clause::image_store, Clause::image_atomic);
    default:
      return pick(Clause::vmem_load, Clause::vmem_store, Clause::vmem_atomic);
  }
}

constexpr Source memory(Opcode opcode, Encoding encoding, unsigned number, std::string_view name, Shape shape,
                        uint32_t reads, Flags flags) {
  for (unsigned i = 0; i < shape.count; ++i) {
    OperandSpec& spec = shape.specs[i];
    if (spec.field == Field::none) spec.field = Field::vgpr;
    spec.modifiers = false;
  }
  const uint32_t space = memories(encoding, flags);
  uint32_t writes = 0;
  // The cache invalidates do not depend on EXEC.
  if (shape.count || flags & ~kHint) reads |= kExec;
  if (flags & (kLoad | kAtomic)) reads |= space;
  if (flags & (kStore | kAtomic)) writes |= space;
  if (flags & kToLds) writes |= kLds;
  if (encoding == Encoding::flat || encoding == Encoding::scratch) reads |= kFlatScratch;
  return {opcode,
          encoding,
          static_cast<uint16_t>(number),
          name,
          shape,
          reads,
          writes,
          memory_counter(encoding, flags),
          memory_clause(encoding, flags, number),
          flags,
          opcode};
}

using enum Type;
using namespace shape;

#define SCALAR(encoding, mnemonic, number, operands, reads, writes, flags, ...)          \
  scalar(mnemonic, Encoding::encoding, number, #mnemonic, Shape operands, reads, writes, \
         (flags)__VA_OPT__(, ) __VA_ARGS__),
#define TWO_FORMS(encoding, mnemonic, number, operands, reads, writes, flags) \
  VECTOR(encoding, mnemonic, number, operands, reads, writes, (flags) | kTwoForms)
#define VECTOR(encoding, mnemonic, number, operands, reads, writes, flags) \
  vector(mnemonic, Encoding::encoding, number, #mnemonic, Shape operands, reads, writes, flags, mnemonic),

// Rows stand in the order of enum Encoding and of their numbers, so the files must not be sorted by name.
// clang-format off
constexpr Source kSources[] = {
#define SOP2(...) SCALAR(sop2, __VA_ARGS__)
#define SOPK(...) SCALAR(sopk, __VA_ARGS__)
#define SOP1(...) SCALAR(sop1, __VA_ARGS__)
#define SOP1_LGKM(...) SCALAR(sop1, __VA_ARGS__, Counter::lgkmcnt)
#define SOPC(...) SCALAR(sopc, __VA_ARGS__)
#define SOPP(...) SCALAR(sopp, __VA_ARGS__)
#define SMEM(mnemonic, number, operands, reads, writes, counter, clause, flags) \
  SCALAR(smem, mnemonic, number, operands, reads, writes, flags, counter, clause)
#include "isa/rows/sop2.inc"
#include "isa/rows/sopk.inc"
#include "isa/rows/sop1.inc"
#include "isa/rows/sopc.inc"
#include "isa/rows/sopp.inc"
#include "isa/rows/smem.inc"

// The 32-bit forms.
#define VOP1(...) TWO_FORMS(vop1, __VA_ARGS__)
#define VOP1_ONLY(...) VECTOR(vop1, __VA_ARGS__)
#define VOP2(...) TWO_FORMS(vop2, __VA_ARGS__)
#define VOP2_CARRY(...) TWO_FORMS(vop2, __VA_ARGS__)
#define VOP2_ONLY(...) VECTOR(vop2, __VA_ARGS__)
#define VOPC(...) TWO_FORMS(vopc, __VA_ARGS__)
#include "isa/rows/vop1.inc"
#include "isa/rows/vop2.inc"
#include "isa/rows/vopc.inc"
#undef VOP1
#undef VOP1_ONLY
#undef VOP2
#undef VOP2_CARRY
#undef VOP2_ONLY
#undef VOPC

// VOP3: compares keep their number, VOP2 starts at 0x100, VOP1 at 0x180.
#define VOPC(...) TWO_FORMS(vop3, __VA_ARGS__)
#define VOP2(mnemonic, number, ...) TWO_FORMS(vop3, mnemonic, 0x100 + number, __VA_ARGS__)
#define VOP2_CARRY(...)
#define VOP2_ONLY(...)
#define VOP1(mnemonic, number, ...) TWO_FORMS(vop3, mnemonic, 0x180 + number, __VA_ARGS__)
#define VOP1_ONLY(...)
#define VOP3(...) VECTOR(vop3, __VA_ARGS__)
#define VOP3SD(...)
#include "isa/rows/vopc.inc"
#include "isa/rows/vop2.inc"
#include "isa/rows/vop1.inc"
#include "isa/rows/vop3.inc"
#undef VOP2
#undef VOP2_CARRY
#undef VOP3
#undef VOP3SD

#define VOP2(...)
#define VOP2_CARRY(mnemonic, number, ...) TWO_FORMS(vop3sd, mnemonic, 0x100 + number, __VA_ARGS__)
#define VOP3(...)
#define VOP3SD(...) VECTOR(vop3sd, __VA_ARGS__)
#include "isa/rows/vop2.inc"
#include "isa/rows/vop3.inc"

#define VOP3P(...) VECTOR(vop3p, __VA_ARGS__)
#include "isa/rows/vop3p.inc"
#define VOPD(mnemonic, number, operands, base, flags) \
  vector(mnemonic, Encoding::vopd, number, #mnemonic, Shape operands, kExec | kMode, 0, flags, base),
#include "isa/rows/vopd.inc"
#define VINTERP(...) VECTOR(vinterp, __VA_ARGS__)
#include "isa/rows/vinterp.inc"

#define MEMORY(encoding, mnemonic, number, operands, reads, flags) \
  memory(mnemonic, Encoding::encoding, number, #mnemonic, Shape operands, reads, flags),
#define LDSDIR(...) MEMORY(ldsdir, __VA_ARGS__)
#define DS(...) MEMORY(ds, __VA_ARGS__)
#define DS_LDS(mnemonic, number, operands, reads, flags) \
  MEMORY(ds, mnemonic, number, operands, reads, (flags) | kLdsOnly)
#define DS_GDS(mnemonic, number, operands, reads, flags) \
  MEMORY(ds, mnemonic, number, operands, reads, (flags) | kGdsOnly)
#define FLAT(...) MEMORY(flat, __VA_ARGS__)
#define GLOBAL(...) MEMORY(global, __VA_ARGS__)
#define SCRATCH(...) MEMORY(scratch, __VA_ARGS__)
#define MUBUF(...) MEMORY(mubuf, __VA_ARGS__)
#define MTBUF(...) MEMORY(mtbuf, __VA_ARGS__)
#define MIMG(mnemonic, number, operands, reads, flags, ...) \
  MEMORY(mimg, mnemonic, number, operands, reads, flags)
#define EXP(...) MEMORY(exp, __VA_ARGS__)
#include "isa/rows/ldsdir.inc"
#include "isa/rows/ds.inc"
#include "isa/rows/flat.inc"
#include "isa/rows/global.inc"
#include "isa/rows/scratch.inc"
#include "isa/rows/mubuf.inc"
#include "isa/rows/mtbuf.inc"
#include "isa/rows/mimg.inc"
#include "isa/rows/exp.inc"
};
// clang-format on

constexpr size_t kRowCount = std::size(kSources);

constexpr std::array<Row, kRowCount> kRows = [] {
  std::array<Row, kRowCount> rows{};
  for (size_t i = 0; i < kRowCount; ++i) {
    const Source& source = kSources[i];
    rows[i] = {source.opcode,
               source.encoding,
               source.number,
               source.name,
               {source.shape.specs.data(), source.shape.count},
               source.reads,
               source.writes,
               source.counter,
               source.clause,
               source.flags,
               source.base};
    for (const OperandSpec& spec : rows[i].operands) {
      if (spec.role < Role::src0 || spec.role > Role::src2) continue;
      const unsigned bit = 1u << (static_cast<unsigned>(spec.role) - static_cast<unsigned>(Role::src0));
      rows[i].sources |= bit;
      if (spec.modifiers) rows[i].modified_sources |= bit;
    }
  }
  return rows;
}();

constexpr auto kRowTexts = [] {
  std::array<detail::RowText, 2 * kRowCount> texts{};
  for (size_t i = 0; i < kRowCount; ++i)
    for (const bool is_dpp : {false, true}) texts[2 * i + is_dpp] = detail::make_row_text(kRows[i], is_dpp);
  return texts;
}();

constexpr size_t kEncodingCount = static_cast<size_t>(Encoding::exp) + 1;
constexpr size_t kOpcodeCount = static_cast<size_t>(Opcode::count);

// Bits of the OP field, in the order of enum Encoding.
constexpr std::array<uint8_t, kEncodingCount> kOpBits = {7, 5, 8, 7, 7, 8, 8, 6, 8, 10, 10, 7,
                                                         5, 7, 2, 8, 7, 7, 7, 8, 4, 8,  0};
// VOP3 and VOP3SD have one OP field together.
constexpr std::array<uint16_t, kEncodingCount + 1> kFirstSlot = [] {
  std::array<uint16_t, kEncodingCount + 1> first{};
  for (size_t i = 0; i < kEncodingCount; ++i) {
    const bool shared = static_cast<Encoding>(i) == Encoding::vop3;
    first[i + 1] = first[i] + (shared ? 0 : 1u << kOpBits[i]);
  }
  return first;
}();

constexpr auto kSlots = [] {
  std::array<const Row*, kFirstSlot[kEncodingCount]> slots{};
  for (const Row& row : kRows) {
    const Row*& slot = slots[kFirstSlot[static_cast<size_t>(row.encoding)] + row.number];
    if (slot) throw "two rows of one encoding have the same number";
    slot = &row;
  }
  return slots;
}();

constexpr auto kFirstRow = [] {
  std::array<const Row*, kOpcodeCount> first{};
  for (const Row& row : kRows) {
    const Row*& slot = first[static_cast<size_t>(row.opcode)];
    if (!slot) slot = &row;
  }
  return first;
}();

}  // namespace

const detail::RowIndex detail::kRowIndex = {kRows.data(), kSlots.data(), kFirstSlot.data(), kRowTexts.data()};

std::span<const Row> rows() {
  return kRows;
}

const Row* find_row(Encoding encoding, unsigned number) {
  const size_t index = static_cast<size_t>(encoding);
  if (number >> kOpBits[index]) return nullptr;
  const Row* row = detail::row_of_number(encoding, number);
  return row && row->encoding == encoding ? row : nullptr;
}

const Row* find_row(Opcode opcode) {
  const size_t index = static_cast<size_t>(opcode);
  return index < kOpcodeCount ? kFirstRow[index] : nullptr;
}

}  // namespace lockstep::isa
