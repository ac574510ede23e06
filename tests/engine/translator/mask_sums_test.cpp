// Sums with the lanes of a mask are choices, mean the same, and come to an end in LLVM.
#include "engine/translator/mask_sums.h"

#include <gtest/gtest.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <string>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

// Of %x and %m, the mask's lanes in 32 bits as %e.
struct Sum {
  const char *expanded, *text;
  int step;  // in the mask's lanes
};

std::string function_of(const Sum& sum) {
  return std::string("define <4 x i32> @run(<4 x i32> %x, <4 x i1> %m) {\n  %e = ") + sum.expanded +
         " <4 x i1> %m to <4 x i32>\n  %s = " + sum.text + "\n  ret <4 x i32> %s\n}\n";
}

TEST(MaskSums, AreChoices) {
  for (const Sum& sum : {Sum{"zext", "add <4 x i32> %x, %e", 1}, Sum{"zext", "add <4 x i32> %e, %x", 1},
                         Sum{"sext", "add <4 x i32> %x, %e", -1}, Sum{"zext", "sub <4 x i32> %x, %e", -1},
                         Sum{"sext", "sub <4 x i32> %x, %e", 1}}) {
    SCOPED_TRACE(function_of(sum));
    llvm::LLVMContext context;
    const auto module = module_of(function_of(sum), context);
    ASSERT_TRUE(module);
    llvm::Function& function = *module->getFunction("run");
    choose_mask_sums(function);
    EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));

    ASSERT_EQ(function.getInstructionCount(), 3u);
    auto* const choice =
        llvm::dyn_cast<llvm::SelectInst>(function.getEntryBlock().getTerminator()->getOperand(0));
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->getCondition(), function.getArg(1));
    EXPECT_EQ(choice->getFalseValue(), function.getArg(0));
    auto* const next = llvm::cast<llvm::Instruction>(choice->getTrueValue());
    const auto numbers = [&](uint32_t first) {
      llvm::SmallVector<uint32_t> all;
      for (const uint32_t number : {0u, ~0u, 0x7fffffffu, 5u}) all.push_back(number + first);
      return llvm::ConstantDataVector::get(context, all);
    };
    const std::array<llvm::Constant*, 2> operands{numbers(0),
                                                  llvm::cast<llvm::Constant>(next->getOperand(1))};
    EXPECT_EQ(llvm::ConstantFoldInstOperands(next, operands, module->getDataLayout()),
              numbers(static_cast<uint32_t>(sum.step)));
  }
}

TEST(MaskSums, OthersStay) {
  for (const char* const text :
       {"  %e = zext <4 x i1> %m to <4 x i32>\n  %s = sub <4 x i32> %e, %x\n",
        "  %e = zext <4 x i1> %m to <4 x i32>\n  %s = mul <4 x i32> %x, %e\n",
        "  %t = trunc <4 x i32> %x to <4 x i8>\n  %e = zext <4 x i8> %t to <4 x i32>\n"
        "  %s = add <4 x i32> %x, %e\n"}) {
    const std::string all = std::string("define <4 x i32> @run(<4 x i32> %x, <4 x i1> %m) {\n") + text +
                            "  ret <4 x i32> %s\n}\n";
    SCOPED_TRACE(all);
    llvm::LLVMContext context;
    const auto module = module_of(all, context);
    ASSERT_TRUE(module);
    const llvm::Function& function = *module->getFunction("run");
    choose_mask_sums(*module->getFunction("run"));
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      EXPECT_FALSE(llvm::isa<llvm::SelectInst>(instruction));
  }
}

// The upper half of EXEC has no lanes here, which LLVM's DAG combiner finds out and its IR does not say: the
// addition of such a carry was never compiled to an end.
TEST(MaskSums, OfNoLanesComeToAnEnd) {
  expect_same_runs(
      "s_and_saveexec_b64 s[62:63], 11\nv_cmpx_lt_u32 v29, v2\ns_and_not0_wrexec_b64 s[26:27], s[4:5]\n"
      "v_cmp_eq_u64 vcc_lo, v[29:30], v[8:9]\nv_movreld_b32 v9, s0\nv_maxmin_f16 v7, v30, v36, v16\n"
      "v_add_co_ci_u32 v56, vcc_lo, v36, v8, vcc_lo\n",
      32);
}

}  // namespace
}  // namespace lockstep::translator
