// The decoder by itself: truncated input, the row table, and facts that LLVM's text does not show.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "isa/instruction.h"
#include "tests/isa/encodings.h"

namespace lockstep::test {
namespace {

using isa::DecodeError;
using isa::Encoding;
using isa::Instruction;
using isa::Opcode;
using isa::Role;

Instruction decode(std::vector<uint32_t> words, unsigned wave_size = 32) {
  Instruction instruction;
  const DecodeError error = isa::decode(std::as_bytes(std::span(words)), wave_size, instruction);
  EXPECT_EQ(error, DecodeError::none) << isa::describe(error);
  return instruction;
}

std::string text(const Instruction& instruction, unsigned wave_size = 32) {
  char buffer[isa::kMaxText];
  return {buffer, isa::disassemble(instruction, wave_size, buffer, sizeof buffer)};
}

TEST(RowTable, NoTwoRowsOverlap) {
  std::set<std::pair<Encoding, unsigned>> seen;
  for (const isa::Row& row : isa::rows()) {
    EXPECT_TRUE(seen.emplace(row.encoding, row.number).second) << row.name;
    EXPECT_EQ(isa::find_row(row.encoding, row.number), &row) << row.name;
    // VOP3 and VOP3SD share their opcode numbers.
    if (row.encoding == Encoding::vop3sd) {
      EXPECT_EQ(isa::find_row(Encoding::vop3, row.number), nullptr) << row.name;
    }
  }
}

TEST(RowTable, IsGroupedByEncodingInOpcodeOrder) {
  const std::span<const isa::Row> rows = isa::rows();
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].encoding == rows[i - 1].encoding) {
      EXPECT_LT(rows[i - 1].number, rows[i].number) << rows[i].name;
    }
  }
}

TEST(RowTable, EveryInstructionIsFoundByName) {
  for (unsigned i = 0; i < static_cast<unsigned>(Opcode::count); ++i) {
    const Opcode opcode = static_cast<Opcode>(i);
    const isa::Row* row = isa::find_row(opcode);
    ASSERT_NE(row, nullptr) << isa::name(opcode);
    EXPECT_EQ(row->opcode, opcode);
    EXPECT_EQ(row->name, isa::name(opcode));
    EXPECT_EQ(isa::find_row(row->name), row);
    EXPECT_NE(isa::find_row(row->base), nullptr);
  }
  EXPECT_EQ(isa::find_row("v_no_such_instruction"), nullptr);
}

// The input stands in a heap block of its exact size, so that the address sanitizer sees any read past the
// end.
DecodeError decode_prefix(std::span<const uint32_t> words, size_t bytes, Instruction& instruction) {
  const std::span<const std::byte> all = std::as_bytes(words);
  const std::vector<std::byte> exact(all.begin(), all.begin() + static_cast<ptrdiff_t>(bytes));
  return isa::decode(exact, 32, instruction);
}

TEST(Truncation, EveryRowAtEveryLength) {
  for (const isa::Row& row : isa::rows()) {
    bool found = false;
    for (std::vector<uint32_t> words : starting_points(row)) {
      words.resize(5, 0xff00e405);
      Instruction whole;
      if (isa::decode(std::as_bytes(std::span(words)), 32, whole) != DecodeError::none) continue;
      found = true;
      for (uint32_t marker : {0u, 233u, 250u, 255u}) {
        std::vector<uint32_t> variant = words;
        const bool wide = row.encoding >= Encoding::vop3 && row.encoding <= Encoding::vop3p;
        if (marker) variant[wide ? 1 : 0] = (variant[wide ? 1 : 0] & ~(wide ? 0x1ffu : 0xffu)) | marker;
        if (isa::decode(std::as_bytes(std::span(variant)), 32, whole) != DecodeError::none) continue;
        for (size_t size = 0; size < whole.size; ++size) {
          Instruction cut;
          EXPECT_EQ(decode_prefix(variant, size, cut), DecodeError::truncated)
              << row.name << " of " << size << " bytes";
          EXPECT_LE(cut.size, size < 4 ? size : 4) << row.name;
        }
        Instruction full;
        EXPECT_EQ(decode_prefix(variant, whole.size, full), DecodeError::none) << row.name;
      }
    }
    EXPECT_TRUE(found) << row.name << ": no starting point decodes";
  }
}

TEST(Operands, CarryInAndOutOfVop2AreVcc) {
  const Instruction add = decode({0x40000000 | 2 << 17 | 8 << 9 | 0x104}, 64);
  EXPECT_EQ(text(add, 64), "v_add_co_ci_u32_e32 v2, vcc, v4, v8, vcc");
  EXPECT_EQ(add.find(Role::dst2)->code, isa::code::kVccLo);
  EXPECT_EQ(add.find(Role::dst2)->words, 2);
  EXPECT_TRUE(add.find(Role::dst2)->written);
  EXPECT_EQ(add.find(Role::src2)->code, isa::code::kVccLo);
  EXPECT_TRUE(add.find(Role::src2)->read);
}

TEST(Operands, CompareAndExecute) {
  const Instruction compare = decode({0x7c000000 | 0x91 << 17 | 8 << 9 | 0x104});
  EXPECT_EQ(text(compare), "v_cmpx_lt_f32_e32 v4, v8");
  EXPECT_EQ(compare.find(Role::dst)->code, isa::code::kExecLo);
  EXPECT_TRUE(compare.find(Role::dst)->written);
  EXPECT_TRUE(compare.row->flags & isa::kWritesExec);
}

TEST(Operands, HalvesOfVgprs) {
  // v_add_f16: bit 7 of a VGPR number in the short form, OPSEL in the long one.
  const Instruction brief = decode({0x64000000 | 0x82 << 17 | 0x88 << 9 | 0x104});
  EXPECT_EQ(text(brief), "v_add_f16_e32 v2.h, v4, v8.h");
  EXPECT_TRUE(brief.operands[0].high);
  EXPECT_EQ(brief.operands[0].vgpr(), 2u);
  EXPECT_FALSE(brief.operands[1].high);
  EXPECT_TRUE(brief.operands[2].high);
  EXPECT_EQ(brief.operands[2].vgpr(), 8u);
  const Instruction wide = decode({0xd5320000 | 9 << 11 | 2, 0x104 | 0x108 << 9});
  EXPECT_TRUE(wide.operands[0].high);
  EXPECT_TRUE(wide.operands[1].high);
  EXPECT_FALSE(wide.operands[2].high);
  // The accumulator of v_fmac_f16 is read and written.
  const Instruction accumulate = decode({0x6c000000 | 0x82 << 17 | 8 << 9 | 0x104});
  EXPECT_TRUE(accumulate.operands[0].read && accumulate.operands[0].written && accumulate.operands[0].high);
}

TEST(Operands, PackedHalves) {
  // v_pk_fma_f16 v8, v4, v12, v20 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,0,1]
  const Instruction fma = decode(
      {0xcc0e0000 | 8 | 4 << 8 | 2 << 11 | 1 << 14, 0x104 | 0x10c << 9 | 0x114u << 18 | 1u << 27 | 1u << 29});
  EXPECT_EQ(text(fma),
            "v_pk_fma_f16 v8, v4, v12, v20 op_sel:[0,1,0] op_sel_hi:[1,0,1] neg_lo:[1,0,0] neg_hi:[0,0,1]");
  EXPECT_TRUE(fma.operands[1].neg && !fma.operands[1].neg_hi && !fma.operands[1].high &&
              fma.operands[1].high_hi);
  EXPECT_TRUE(!fma.operands[2].neg && fma.operands[2].high && !fma.operands[2].high_hi);
  EXPECT_TRUE(fma.operands[3].neg_hi && !fma.operands[3].neg);
}

TEST(Operands, DualIssue) {
  // The Y destination's lowest bit is the opposite of X's, and both halves read one literal.
  const Instruction pair =
      decode({0xc8000000 | 2 << 22 | 8 << 17 | 0x104 | 8 << 9, 0xff | 3 << 17 | 12u << 24, 0x40490fdb});
  EXPECT_EQ(text(pair), "v_dual_fmamk_f32 v12, v4, 0x40490fdb, v8 :: v_dual_mov_b32 v7, 0x40490fdb");
  EXPECT_EQ(pair.size, 12);
  EXPECT_EQ(pair.first_y_operand, 4);
  EXPECT_EQ(pair.operands[4].vgpr(), 7u);
  EXPECT_TRUE(pair.operands[5].is_literal());
  EXPECT_EQ(pair.row_y->base, Opcode::v_mov_b32);
}

TEST(Operands, MatricesSpanFewerRegistersInWave64) {
  const std::vector<uint32_t> words = {0xcc404008, 0x18000000 | 0x104 | 0x10c << 9 | 0x114u << 18};
  EXPECT_EQ(decode(words, 32).operands[0].words, 8);
  EXPECT_EQ(decode(words, 64).operands[0].words, 4);
  EXPECT_EQ(decode(words, 64).operands[1].words, 8);
}

TEST(Operands, ScalarImmediates) {
  const Instruction move = decode({0xb004ffff});
  EXPECT_EQ(move.find(Role::simm)->value, -1);
  const Instruction compare = decode({0xb684ffff});  // s_cmpk_ge_u32
  EXPECT_EQ(compare.find(Role::simm)->value, 0xffff);
  const Instruction branch = decode({0xbfa0fffe});
  EXPECT_EQ(branch.find(Role::simm)->value, -2);
  const Instruction set = decode({0xb9800041, 0x12345678});  // s_setreg_imm32_b32
  EXPECT_TRUE(set.find(Role::src0)->is_literal());
  EXPECT_EQ(set.literal, 0x12345678u);
}

TEST(Operands, MisalignedScalarPairsLoseTheirLowBits) {
  const Instruction move = decode({0xbe850107});  // s_mov_b64 s[5:6], s[7:8] (guide 3.3.1.3)
  EXPECT_EQ(move.operands[0].code, 4);
  EXPECT_EQ(move.operands[1].code, 6);
}

TEST(Errors, SayWhatIsWrong) {
  Instruction instruction;
  const auto error_of = [&](std::vector<uint32_t> words) {
    return isa::decode(std::as_bytes(std::span(words)), 32, instruction);
  };
  EXPECT_EQ(error_of({0xffffffff, 0}), DecodeError::unknown_opcode);
  EXPECT_EQ(instruction.size, 4);
  EXPECT_EQ(error_of({0xbfbd0001}), DecodeError::reserved_field);          // s_barrier 1
  EXPECT_EQ(error_of({0x80040000 | 0xd1}), DecodeError::illegal_operand);  // s_add_u32 s4, code 209
  EXPECT_EQ(error_of({0xd52b0004, 0x104 | 0x10c << 9, 0}), DecodeError::none);
  EXPECT_EQ(error_of({0xd52b0004}), DecodeError::truncated);
  EXPECT_EQ(error_of({0xd5118004, 0x104 | 0x10c << 9}), DecodeError::reserved_field);  // clamp of v_min_i32
}

}  // namespace
}  // namespace lockstep::test
