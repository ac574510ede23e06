// What lanes hold that are first + lane * stride: shapes, and whether there is doubt in them.
#include "engine/translator/linear.h"

#include <gtest/gtest.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/translator/classify.h"
#include "engine/translator/operands.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

struct Number {
  uint32_t first = 0;
  int32_t stride = 0;
};

struct Sum {
  std::map<unsigned, std::optional<Linear>> registers;  // VGPRs
  std::map<unsigned, uint32_t> first;
  bool is_doubted = false;
};

// What it returns, which depends on nothing.
uint64_t folded(llvm::Function& function) {
  llvm::FunctionAnalysisManager analyses;
  llvm::PassBuilder builder;
  builder.registerFunctionAnalyses(analyses);
  llvm::EarlyCSEPass().run(function, analyses);
  const auto* result = llvm::cast<llvm::ReturnInst>(function.getEntryBlock().getTerminator());
  return llvm::cast<llvm::ConstantInt>(result->getReturnValue())->getZExtValue();
}

// Of constants.
Sum sum_of(const std::string& text, const std::map<unsigned, Number>& vgprs) {
  llvm::LLVMContext context;
  llvm::Module module("", context);
  llvm::IRBuilder<> ir(context);
  auto* type = llvm::FunctionType::get(ir.getInt32Ty(), false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "doubt", module);
  ir.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  LinearMath math(&ir, 16);
  Sum sum;
  for (const auto& [number, value] : vgprs) {
    Linear linear;
    linear.stride = value.stride;
    linear.first = ir.getInt32(value.first);
    sum.registers[number] = linear;
  }
  std::map<unsigned, LowSum> carries;
  std::map<unsigned, AlikeMask> masks;
  const Routine routine = routine_of(text, 32);
  for (const Node& node : routine.nodes) {
    if (node.kind != NodeKind::vector_alu) continue;
    const auto source = [&](const isa::Operand& operand, unsigned word) -> std::optional<Linear> {
      const auto found = source_of(operand, node.instruction);
      if (!found->is_constant) return sum.registers[found->first + word];
      Linear constant;
      constant.constant = static_cast<uint32_t>(found->value >> (32 * word));
      constant.first = ir.getInt32(*constant.constant);
      return constant;
    };
    const auto carry = [&](const isa::Operand& operand) -> std::optional<LowSum> {
      const auto found = carries.find(operand.code);
      return found == carries.end() ? std::nullopt : std::optional(found->second);
    };
    const auto mask = [&](const isa::Operand& operand) -> std::optional<AlikeMask> {
      const auto found = masks.find(source_of(operand, node.instruction)->first);
      return found == masks.end() ? std::nullopt : std::optional(found->second);
    };
    const Half half = halves_of(node.instruction)[0];
    const LinearResult result = math.result_of(node.instruction, half, source, carry, mask);
    const isa::Operand& written_first = *node.instruction.find(isa::Role::dst);
    if (!written_first.is_vgpr()) {
      const unsigned number = *scalar_destination(written_first);
      masks.erase(number);
      if (result.mask) masks[number] = *result.mask;
      continue;
    }
    const unsigned destination = node.instruction.find(isa::Role::dst)->vgpr();
    for (unsigned word = 0; word < 2; ++word)
      if (word == 0 || result.words[word]) sum.registers[destination + word] = result.words[word];
    if (const isa::Operand* written = node.instruction.find(isa::Role::dst2); written && result.low_sum)
      carries[written->code] = *result.low_sum;
  }
  llvm::Value* doubt = math.take_doubt();
  ir.CreateRet(doubt ? doubt : ir.getInt32(0));
  sum.is_doubted = folded(*function) != 0;
  for (const auto& [number, value] : sum.registers) {
    if (!value || !value->first) continue;
    const auto* first = llvm::dyn_cast<llvm::ConstantInt>(value->first);
    if (first) sum.first[number] = static_cast<uint32_t>(first->getZExtValue());
  }
  return sum;
}

// Two neighbours of a picture that is read at half of its size: bits below the stride are the same in all
// lanes.
TEST(Linear, BitsBelowTheStrideAreSet) {
  struct Case {
    Number number;
    uint32_t bits;
    bool is_doubted;
  };
  for (const Case& each :
       {Case{{64, 2}, 1, false}, Case{{65, 2}, 1, false}, Case{{64, 2}, 2, true}, Case{{64, 4}, 3, false},
        Case{{64, 4}, 4, true}, Case{{64, -2}, 1, false}, Case{{64, 1}, 1, true}, Case{{64, 12}, 3, false},
        Case{{64, 2}, 128, false}, Case{{0x7ffffffe, 2}, 1, true}}) {
    SCOPED_TRACE(std::to_string(each.number.stride) + " " + std::to_string(each.bits));
    const Sum sum = sum_of("v_or_b32 v1, " + std::to_string(each.bits) + ", v0", {{0, each.number}});
    ASSERT_TRUE(sum.registers.at(1));
    EXPECT_EQ(sum.is_doubted, each.is_doubted);
    EXPECT_EQ(sum.registers.at(1)->stride, each.number.stride);
    EXPECT_EQ(sum.first.at(1), each.number.first | each.bits);
  }
}

// Products of 24 bits, and indices of 16, are made of what is taken for a signed number of so many bits.
TEST(Linear, NumbersOfFewBits) {
  struct Case {
    Number number;
    unsigned bits;
    bool is_doubted;
    uint32_t first;
  };
  for (const Case& each : {Case{{5, 1}, 24, false, 5}, Case{{0x7ffff0, 1}, 24, false, 0x7ffff0},
                           Case{{0x7ffff1, 1}, 24, true, 0}, Case{{0u - 8, 1}, 24, false, 0u - 8},
                           Case{{0xff800000, 4}, 24, false, 0xff800000}, Case{{0xff7fffff, 1}, 24, true, 0},
                           Case{{0x1000005, 1}, 24, true, 0}, Case{{0x7ff8, -1}, 16, false, 0x7ff8},
                           Case{{0x7ff8, 1}, 16, true, 0}, Case{{0u - 0x7ff8, -1}, 16, true, 0},
                           Case{{0xffffff, 0}, 24, false, ~0u}, Case{{0x1234567f, 0}, 8, false, 0x7f}}) {
    SCOPED_TRACE(std::to_string(each.number.first) + " " + std::to_string(each.bits));
    const Sum sum = sum_of("v_bfe_i32 v1, v0, 0, " + std::to_string(each.bits), {{0, each.number}});
    ASSERT_TRUE(sum.registers.at(1));
    EXPECT_EQ(sum.is_doubted, each.is_doubted);
    EXPECT_EQ(sum.registers.at(1)->stride, each.number.stride);
    if (!each.is_doubted) EXPECT_EQ(sum.first.at(1), each.first);
  }
  EXPECT_FALSE(sum_of("v_bfe_i32 v1, v0, 4, 24", {{0, {5, 1}}}).registers.at(1));
  EXPECT_FALSE(sum_of("v_bfe_i32 v1, v0, 0, v2", {{0, {5, 1}}, {2, {24, 0}}}).registers.at(1));
}

TEST(Linear, BitsThatArePutTogether) {
  const Sum both = sum_of("v_and_or_b32 v1, v0, 31, v2", {{0, {64, 1}}, {2, {256, 0}}});
  ASSERT_TRUE(both.registers.at(1));
  EXPECT_FALSE(both.is_doubted);
  EXPECT_EQ(both.registers.at(1)->stride, 1);
  EXPECT_EQ(both.first.at(1), 256u);
  // A bit that changes between lanes.
  EXPECT_TRUE(sum_of("v_and_or_b32 v1, v0, 31, v2", {{0, {64, 1}}, {2, {258, 0}}}).is_doubted);
  const Sum three = sum_of("v_or3_b32 v1, v0, v2, v3", {{0, {64, 1}}, {2, {256, 0}}, {3, {1024, 0}}});
  ASSERT_TRUE(three.registers.at(1));
  EXPECT_FALSE(three.is_doubted);
  EXPECT_EQ(three.first.at(1), 1344u);
  EXPECT_TRUE(sum_of("v_or3_b32 v1, v0, v2, v3", {{0, {64, 1}}, {2, {256, 0}}, {3, {1, 0}}}).is_doubted);
}

// By comparisons of what all lanes have alike.
TEST(Linear, ChoicesOfAllLanes) {
  struct Case {
    const char* comparison;
    uint32_t low, high;
    bool chooses_second;
  };
  // Of v[0:1], and 7.
  for (const Case& each :
       {Case{"v_cmp_lt_u32 vcc_lo, v0, v6", 6, 0, true}, Case{"v_cmp_lt_u32 vcc_lo, v0, v6", 7, 0, false},
        Case{"v_cmp_lt_u32 vcc_lo, v0, v6", ~0u, 0, false}, Case{"v_cmp_lt_i32 vcc_lo, v0, v6", ~0u, 0, true},
        Case{"v_cmp_ne_u64 vcc_lo, v[0:1], v[6:7]", 7, 0, false},
        Case{"v_cmp_ne_u64 vcc_lo, v[0:1], v[6:7]", 7, 1, true},
        Case{"v_cmp_ge_u64 vcc_lo, v[0:1], v[6:7]", 7, 0, true},
        Case{"v_cmp_gt_u64 vcc_lo, v[0:1], v[6:7]", 0, 1, true},
        Case{"v_cmp_gt_i64 vcc_lo, v[0:1], v[6:7]", 0, ~0u, false},
        Case{"v_cmp_le_i64 vcc_lo, v[0:1], v[6:7]", 9, ~0u, true}}) {
    SCOPED_TRACE(std::string(each.comparison) + ' ' + std::to_string(each.low));
    const Sum sum = sum_of(
        std::string(each.comparison) + "\nv_cndmask_b32 v8, v2, v3, vcc_lo",
        {{0, {each.low, 0}}, {1, {each.high, 0}}, {2, {100, 4}}, {3, {900, 4}}, {6, {7, 0}}, {7, {0, 0}}});
    ASSERT_TRUE(sum.registers.at(8));
    EXPECT_EQ(sum.registers.at(8)->stride, 4);
    EXPECT_EQ(sum.first.at(8), each.chooses_second ? 900u : 100u);
    EXPECT_FALSE(sum.is_doubted);
  }
  const auto chosen = [](Number compared, Number first) {
    return sum_of("v_cmp_lt_u32 vcc_lo, v0, v1\nv_cndmask_b32 v8, v2, v3, vcc_lo",
                  {{0, compared}, {1, {7, 0}}, {2, first}, {3, {900, 4}}})
        .registers.at(8);
  };
  EXPECT_TRUE(chosen({6, 0}, {100, 4}));
  EXPECT_FALSE(chosen({6, 1}, {100, 4}));
  EXPECT_FALSE(chosen({6, 0}, {100, 8}));
}

// Compilers count indices of 64 bits in the high half of a pair, and shift them down with their sign.
TEST(Linear, IndicesInTheHighHalves) {
  const auto text = [](const std::string& low) {
    return "v_add_co_u32 v2, vcc_lo, " + low +
           ", 0\nv_add_co_ci_u32 v3, vcc_lo, v0, v1, vcc_lo\nv_add_co_u32 v2, vcc_lo, v2, 0\n"
           "v_add_co_ci_u32 v3, vcc_lo, 1, v3, vcc_lo\nv_ashrrev_i64 v[4:5], 30, v[2:3]";
  };
  const std::map<unsigned, Number> indices = {{0, {40, 0}}, {1, {2, 1}}};
  const Sum sum = sum_of(text("0"), indices);
  ASSERT_TRUE(sum.registers.at(4));
  EXPECT_EQ(sum.registers.at(4)->stride, 4);
  EXPECT_EQ(sum.first.at(4), 43u * 4);
  EXPECT_TRUE(sum.registers.at(4)->is_half_with(*sum.registers.at(5)));
  EXPECT_FALSE(sum.is_doubted);
  EXPECT_FALSE(sum_of(text("1"), indices).registers.at(4));
}

}  // namespace
}  // namespace lockstep::translator
