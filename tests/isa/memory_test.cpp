// The memory families: what decoding says of operands, and text and validity as LLVM's.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "isa/effects.h"
#include "isa/image.h"
#include "isa/instruction.h"
#include "tests/isa/llvm_oracle.h"
#include "tests/isa/memory_variants.h"
#include "tests/sweep.h"

namespace lockstep::test {
namespace {

using isa::Counter;
using isa::DecodeError;
using isa::Encoding;
using isa::Instruction;
using isa::Operand;
using isa::Role;
using isa::Type;

constexpr unsigned kCombinations = 40;

DecodeError decode(std::span<const uint32_t> words, Instruction& out, unsigned wave_size = 32) {
  return isa::decode(std::as_bytes(words), wave_size, out);
}

std::string text_of(const Instruction& instruction, unsigned wave_size = 32) {
  char text[isa::kMaxText];
  return std::string(text, isa::disassemble(instruction, wave_size, text, sizeof text));
}

// Assembles with LLVM and decodes.
Instruction decoded(const std::string& line) {
  LlvmOracle llvm(32);
  std::string error;
  const auto bytes = llvm.assemble(line, error);
  EXPECT_TRUE(bytes) << line << ": " << error;
  Instruction instruction;
  if (bytes) {
    EXPECT_EQ(isa::decode(*bytes, 32, instruction), DecodeError::none) << line;
    EXPECT_EQ(instruction.size, bytes->size()) << line;
  }
  return instruction;
}

struct Expected {
  Role role;
  unsigned code;
  unsigned words;
  Type type;
  bool read;
  bool written;
};

constexpr unsigned v(unsigned number) {
  return isa::code::kVgpr0 + number;
}

void expect_operands(const std::string& line, const std::vector<Expected>& expected) {
  SCOPED_TRACE(line);
  const Instruction instruction = decoded(line);
  ASSERT_EQ(instruction.operand_count, expected.size());
  for (unsigned i = 0; i < expected.size(); ++i) {
    SCOPED_TRACE("operand " + std::to_string(i));
    const Operand& operand = instruction.operands[i];
    EXPECT_EQ(operand.role, expected[i].role);
    EXPECT_EQ(operand.code, expected[i].code);
    EXPECT_EQ(operand.words, expected[i].words);
    EXPECT_EQ(operand.type, expected[i].type);
    EXPECT_EQ(operand.read, expected[i].read);
    EXPECT_EQ(operand.written, expected[i].written);
  }
}

TEST(Memory, DsOperands) {
  expect_operands("ds_load_b32 v4, v1 offset:770", {{Role::dst, v(4), 1, Type::b32, false, true},
                                                    {Role::addr, v(1), 1, Type::u32, true, false}});
  expect_operands("ds_load_i8 v4, v1", {{Role::dst, v(4), 1, Type::i8, false, true},
                                        {Role::addr, v(1), 1, Type::u32, true, false}});
  expect_operands("ds_store_2addr_b64 v1, v[2:3], v[4:5] offset0:2 offset1:3",
                  {{Role::addr, v(1), 1, Type::u32, true, false},
                   {Role::data, v(2), 2, Type::b64, true, false},
                   {Role::data2, v(4), 2, Type::b64, true, false}});
  expect_operands("ds_cmpstore_rtn_f64 v[6:7], v1, v[2:3], v[4:5]",
                  {{Role::dst, v(6), 2, Type::f64, false, true},
                   {Role::addr, v(1), 1, Type::u32, true, false},
                   {Role::data, v(2), 2, Type::f64, true, false},
                   {Role::data2, v(4), 2, Type::f64, true, false}});
  expect_operands("ds_load_2addr_b64 v[4:7], v1", {{Role::dst, v(4), 4, Type::b64, false, true},
                                                   {Role::addr, v(1), 1, Type::u32, true, false}});
  expect_operands("ds_append v9 offset:4", {{Role::dst, v(9), 1, Type::u32, false, true}});
  expect_operands("ds_gws_init v3 gds", {{Role::data, v(3), 1, Type::u32, true, false}});
  expect_operands("ds_bvh_stack_rtn_b32 v4, v1, v2, v[8:11] offset:16",
                  {{Role::dst, v(4), 1, Type::b32, false, true},
                   {Role::addr, v(1), 1, Type::u32, true, true},
                   {Role::data, v(2), 1, Type::b32, true, false},
                   {Role::data2, v(8), 4, Type::b128, true, false}});
}

TEST(Memory, D16KeepsTheOtherHalf) {
  for (const char* line :
       {"ds_load_u8_d16 v4, v1", "global_load_d16_b16 v4, v[2:3], off",
        "buffer_load_d16_format_x v4, off, s[8:11], s3", "scratch_load_d16_i8 v4, v1, off"}) {
    const Instruction instruction = decoded(line);
    EXPECT_TRUE(instruction.operands[0].read && instruction.operands[0].written) << line;
    EXPECT_FALSE(instruction.operands[0].high) << line;
  }
  for (const char* line : {"ds_load_u8_d16_hi v4, v1", "flat_load_d16_hi_u8 v4, v[2:3]",
                           "buffer_load_d16_hi_format_x v4, off, s[8:11], s3"}) {
    const Instruction instruction = decoded(line);
    EXPECT_TRUE(instruction.operands[0].read && instruction.operands[0].high) << line;
  }
  const Instruction store = decoded("global_store_d16_hi_b8 v[2:3], v5, off");
  EXPECT_TRUE(store.find(Role::data)->high);
  EXPECT_FALSE(store.find(Role::addr)->high);
}

TEST(Memory, StreamOutRegistersOf32And64Bits) {
  EXPECT_EQ(decoded("ds_add_gs_reg_rtn v[2:3], v1 offset:28 gds").operands[0].words, 1);
  EXPECT_EQ(decoded("ds_add_gs_reg_rtn v[2:3], v1 offset:32 gds").operands[0].words, 2);
}

TEST(Memory, FlatAddresses) {
  expect_operands(
      "global_load_b64 v[4:5], v[2:3], off offset:-8",
      {{Role::dst, v(4), 2, Type::b64, false, true}, {Role::addr, v(2), 2, Type::address, true, false}});
  expect_operands("global_load_b32 v4, v2, s[6:7]", {{Role::dst, v(4), 1, Type::b32, false, true},
                                                     {Role::addr, v(2), 1, Type::u32, true, false},
                                                     {Role::saddr, 6, 2, Type::address, true, false}});
  expect_operands("global_store_addtid_b32 v4, s[6:7]", {{Role::data, v(4), 1, Type::b32, true, false},
                                                         {Role::saddr, 6, 2, Type::address, true, false}});
  expect_operands("scratch_load_b128 v[4:7], off, s5", {{Role::dst, v(4), 4, Type::b128, false, true},
                                                        {Role::saddr, 5, 1, Type::u32, true, false}});
  expect_operands("scratch_store_b16 v2, v4, s5", {{Role::addr, v(2), 1, Type::u32, true, false},
                                                   {Role::data, v(4), 1, Type::b16, true, false},
                                                   {Role::saddr, 5, 1, Type::u32, true, false}});
  expect_operands("scratch_load_b32 v4, off, off offset:16", {{Role::dst, v(4), 1, Type::b32, false, true}});
  EXPECT_EQ(decoded("global_load_b64 v[4:5], v[2:3], off offset:-8").offset, -8);
  // FLAT ignores the top bit of the offset.
  Instruction flat;
  ASSERT_EQ(decode(std::array{0xdc501008u, 0x047c0002u}, flat), DecodeError::none);
  EXPECT_EQ(flat.offset, 8);
  EXPECT_EQ(text_of(flat), "flat_load_b32 v4, v[2:3] offset:4104");
}

TEST(Memory, AtomicsReturnWithGlc) {
  expect_operands(
      "flat_atomic_cmpswap_b64 v[2:3], v[4:7]",
      {{Role::addr, v(2), 2, Type::address, true, false}, {Role::data, v(4), 4, Type::b64, true, false}});
  expect_operands("flat_atomic_cmpswap_b64 v[8:9], v[2:3], v[4:7] glc",
                  {{Role::dst, v(8), 2, Type::b64, false, true},
                   {Role::addr, v(2), 2, Type::address, true, false},
                   {Role::data, v(4), 4, Type::b64, true, false}});
  expect_operands("buffer_atomic_cmpswap_b32 v[4:5], v1, s[8:11], s3 offen glc",
                  {{Role::dst, v(4), 1, Type::b32, false, true},
                   {Role::data, v(4), 2, Type::b32, true, false},
                   {Role::addr, v(1), 1, Type::u32, true, false},
                   {Role::resource, 8, 4, Type::resource, true, false},
                   {Role::soffset, 3, 1, Type::u32, true, false}});
  EXPECT_EQ(decoded("buffer_atomic_add_u32 v4, off, s[8:11], s3").find(Role::dst), nullptr);
  EXPECT_EQ(isa::counter_of(decoded("global_atomic_add_u32 v[2:3], v4, off")), Counter::vscnt);
  EXPECT_EQ(isa::counter_of(decoded("global_atomic_add_u32 v1, v[2:3], v4, off glc")), Counter::vmcnt);
  EXPECT_EQ(isa::counter_of(decoded("flat_atomic_add_u32 v1, v[2:3], v4 glc")), Counter::vmcnt_and_lgkmcnt);
}

TEST(Memory, BufferAddresses) {
  for (const auto& [line, words] : {std::pair{"buffer_load_b32 v4, v1, s[8:11], s3 idxen", 1u},
                                    std::pair{"buffer_load_b32 v4, v[1:2], s[8:11], s3 idxen offen", 2u}})
    EXPECT_EQ(decoded(line).find(Role::addr)->words, words) << line;
  EXPECT_EQ(decoded("buffer_load_b32 v4, off, s[8:11], s3").find(Role::addr), nullptr);
  EXPECT_EQ(decoded("buffer_load_b64 v[4:6], off, s[8:11], s3 tfe").find(Role::dst)->words, 3);
  const Instruction to_lds = decoded("buffer_load_lds_b32 off, s[8:11], s3");
  EXPECT_TRUE(to_lds.lds);
  EXPECT_EQ(to_lds.find(Role::dst), nullptr);
  EXPECT_TRUE(isa::implicit_reads(to_lds) & isa::kM0);
  EXPECT_TRUE(isa::implicit_writes(to_lds) & isa::kLds);
  EXPECT_EQ(decoded("tbuffer_load_format_x v4, off, s[8:11], s3 format:[BUF_FMT_32_FLOAT]").format, 22);
}

TEST(Memory, ImageShapes) {
  const Instruction sample =
      decoded("image_sample_d v[0:2], v[4:9], s[8:15], s[16:19] dmask:0x7 dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(sample.find(Role::dst)->words, 3);
  EXPECT_EQ(sample.find(Role::addr)->words, 6);
  EXPECT_EQ(sample.find(Role::resource)->words, 8);
  EXPECT_EQ(sample.find(Role::sampler)->code, 16);
  const Instruction half = decoded("image_load v[0:1], v4, s[8:15] dmask:0x7 dim:SQ_RSRC_IMG_2D a16 d16");
  EXPECT_EQ(half.find(Role::dst)->words, 2);
  EXPECT_TRUE(half.find(Role::dst)->read);
  EXPECT_EQ(half.find(Role::addr)->words, 1);
  const Instruction tfe =
      decoded("image_gather4 v[0:4], v[4:5], s[8:15], s[16:19] dmask:0x1 dim:SQ_RSRC_IMG_2D tfe");
  EXPECT_EQ(tfe.find(Role::dst)->words, 5);
  const Instruction nsa = decoded(
      "image_sample_c_d v[0:3], [v4, v9, v2, v7, v[20:22]], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D");
  EXPECT_EQ(nsa.size, 12);
  unsigned addresses = 0, words = 0;
  for (unsigned i = 0; i < nsa.operand_count; ++i)
    if (nsa.operands[i].role == Role::addr) ++addresses, words += nsa.operands[i].words;
  EXPECT_EQ(addresses, 5u);
  EXPECT_EQ(words, 7u);
  const Instruction swap =
      decoded("image_atomic_cmpswap v[0:1], v4, s[8:15] dmask:0x3 dim:SQ_RSRC_IMG_1D glc");
  EXPECT_EQ(swap.find(Role::dst)->words, 1);
  EXPECT_EQ(swap.find(Role::data)->words, 2);
  const Instruction ray =
      decoded("image_bvh64_intersect_ray v[0:3], [v[4:5], v6, v[8:10], v[11:13], v[14:16]], s[8:11]");
  EXPECT_EQ(ray.find(Role::addr)->words, 2);
  EXPECT_EQ(ray.find(Role::resource)->words, 4);
}

TEST(Memory, ExportAndParameterLoads) {
  expect_operands("exp pos0 v1, off, v3, off done", {{Role::data, v(1), 1, Type::b32, true, false},
                                                     {Role::data, v(3), 1, Type::b32, true, false}});
  const Instruction position = decoded("exp pos0 v1, off, v3, off done");
  EXPECT_EQ(position.export_target, 12);
  EXPECT_EQ(position.export_enable, 5);
  EXPECT_TRUE(position.export_done);
  EXPECT_FALSE(isa::implicit_reads(position) & isa::kM0);
  EXPECT_TRUE(isa::implicit_reads(decoded("exp pos0 v1, off, v3, off row_en")) & isa::kM0);
  const Instruction parameter = decoded("lds_param_load v5, attr3.z wait_vdst:4");
  EXPECT_EQ(parameter.attribute, 3);
  EXPECT_EQ(parameter.attribute_channel, 2);
  EXPECT_EQ(parameter.wait_exp, 4);
}

TEST(Memory, GdsInsteadOfLds) {
  const Instruction lds = decoded("ds_add_u32 v1, v2"), gds = decoded("ds_add_u32 v1, v2 gds");
  EXPECT_EQ(isa::implicit_writes(lds), isa::kLds);
  EXPECT_EQ(isa::implicit_writes(gds), isa::kGds);
  EXPECT_TRUE(isa::implicit_reads(gds) & isa::kM0);
  EXPECT_EQ(isa::clause_of(gds), isa::Clause::none);
  EXPECT_EQ(isa::clause_of(lds), isa::Clause::lds);
}

TEST(Memory, NeverReadsPastTheEnd) {
  std::mt19937 random(1);
  for (const isa::Row& row : isa::rows()) {
    if (!is_memory_family(row.encoding)) continue;
    visit_memory_variants(row, 1, random, [&](std::span<const uint32_t> words) {
      Instruction instruction;
      if (decode(words, instruction) != DecodeError::none) return;
      const unsigned size = instruction.size / 4;
      for (unsigned length = 1; length < size; ++length) {
        // A copy of the exact size, so that the sanitizer sees a read beyond it.
        const std::vector<uint32_t> cut(words.begin(), words.begin() + length);
        EXPECT_EQ(decode(cut, instruction), DecodeError::truncated) << row.name;
      }
    });
  }
}

// The comparison of one encoding; false when it disagrees with LLVM without a reason.
struct Comparison {
  explicit Comparison(unsigned wave) : wave_size(wave), llvm(wave) {}
  unsigned wave_size;
  LlvmOracle llvm;
  LlvmText text;
  unsigned failures = 0;
  size_t both = 0, ours_only = 0;

  void check(std::span<const uint32_t> words) {
    if (failures > 20 || crashes_llvm(words)) return;
    Instruction instruction;
    const bool ours = decode(words, instruction, wave_size) == DecodeError::none;
    const bool theirs = llvm.disassemble(std::as_bytes(words), text);
    if (!ours && !theirs) return;
    char where[40];
    snprintf(where, sizeof where, "%08x %08x %08x", words[0], words[1], words[2]);
    if (!ours) {
      ADD_FAILURE() << where << " is refused, LLVM prints " << text.text;
      ++failures;
    } else if (!theirs) {
      ++ours_only;
      if (why_llvm_refuses(words, instruction).empty()) {
        ADD_FAILURE() << where << " is refused by LLVM for no listed reason, we print "
                      << text_of(instruction, wave_size);
        ++failures;
      }
    } else {
      ++both;
      const std::string our_text = text_of(instruction, wave_size);
      if (our_text != text.text || instruction.size != text.size) {
        ADD_FAILURE() << where << "\n  LLVM " << text.size << " " << text.text << "\n  we   "
                      << unsigned{instruction.size} << " " << our_text;
        ++failures;
      }
    }
  }
};

class MemoryText : public testing::TestWithParam<unsigned> {};

TEST_P(MemoryText, VariantsOfEveryRowAreLlvms) {
  Comparison comparison(GetParam());
  std::mt19937 random(GetParam());
  for (const isa::Row& row : isa::rows())
    if (is_memory_family(row.encoding))
      visit_memory_variants(row, kCombinations, random,
                            [&](std::span<const uint32_t> words) { comparison.check(words); });
  EXPECT_GT(comparison.both, 80000u);
}

TEST_P(MemoryText, RandomWordsAreLlvms) {
  Comparison comparison(GetParam());
  std::mt19937 random(7 * GetParam());
  for (uint32_t top :
       {0xce000000u, 0xd8000000u, 0xdc000000u, 0xe0000000u, 0xe8000000u, 0xf0000000u, 0xf8000000u})
    for (unsigned i = 0; i < of_sweep(60000u, 6000u); ++i) {
      const uint32_t kept = top == 0xce000000u ? 0x00ffffffu : 0x03ffffffu;
      const uint32_t words[] = {top | (static_cast<uint32_t>(random()) & kept),
                                static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
      comparison.check(words);
    }
}

TEST_P(MemoryText, EverySwizzleIsLlvms) {
  Comparison comparison(GetParam());
  for (uint32_t offset = 0; offset < 0x10000; ++offset)
    comparison.check(std::array{0xd8d40000u | offset, 0x05000001u, 0u});
  EXPECT_EQ(comparison.both, 0x10000u);
}

// What we print, LLVM assembles to an encoding that we print the same way.
TEST(Memory, TextAssemblesToTheSameInstruction) {
  LlvmOracle llvm(32);
  std::mt19937 random(3);
  size_t assembled = 0, refused = 0;
  for (const isa::Row& row : isa::rows()) {
    if (!is_memory_family(row.encoding)) continue;
    visit_memory_variants(row, 2, random, [&](std::span<const uint32_t> words) {
      // Different masks of ds_swizzle_b32 mean the same, and LLVM assembles the text of one to another.
      if (random() % 8 || row.opcode == isa::Opcode::ds_swizzle_b32) return;
      Instruction instruction;
      LlvmText text;
      if (crashes_llvm(words) || !llvm.disassemble(std::as_bytes(words), text)) return;
      ASSERT_EQ(decode(words, instruction), DecodeError::none);
      const std::string line = text_of(instruction);
      std::string error;
      const auto bytes = llvm.assemble(line, error);
      if (!bytes) {
        ++refused;
        return;
      }
      ++assembled;
      Instruction again;
      ASSERT_EQ(isa::decode(*bytes, 32, again), DecodeError::none) << line;
      EXPECT_EQ(text_of(again), line);
    });
  }
  EXPECT_GT(assembled, 10 * refused) << refused << " lines refused";
}

INSTANTIATE_TEST_SUITE_P(Waves, MemoryText, testing::Values(32u, 64u));

}  // namespace
}  // namespace lockstep::test
