// What is taken of one lane's values as plain numbers (scalar_lanes.h).
#include "engine/translator/scalar_lanes.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <string>

namespace lockstep::translator {
namespace {

// Of a function of two numbers: which of them it returns, or else the number.
std::string result_of(const std::string& code) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(code + "\n!0 = !{}", problem, context);
  if (!module) return problem.getMessage().str();
  llvm::Function& function = *module->getFunction("run");
  EXPECT_TRUE(make_lanes_scalar(function));
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  const llvm::Value* result = llvm::cast<llvm::ReturnInst>(function.back().getTerminator())->getReturnValue();
  if (llvm::isa<llvm::UndefValue>(result)) return "undefined";
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(result))
    return std::to_string(number->getZExtValue());
  return result->getName().str();
}

std::string chosen_by(const std::string& mask) {
  return result_of(
      "define i32 @run(i32 %a, i32 %b) {\n  %x = insertelement <16 x i32> poison, i32 %a, i64 0\n"
      "  %y = insertelement <16 x i32> poison, i32 %b, i64 0\n"
      "  %chosen = select <16 x i1> " +
      mask +
      ", <16 x i32> %x, <16 x i32> %y\n"
      "  %e = extractelement <16 x i32> %chosen, i64 0, !lockstep.lane !0\n  ret i32 %e\n}");
}

// EXEC of a lane that is on is a number that is known, and as a mask an expression of one.
TEST(ScalarLanes, MasksMayBeNumbers) {
  EXPECT_EQ(chosen_by("bitcast (<1 x i16> <i16 1> to <16 x i1>)"), "a");
  EXPECT_EQ(chosen_by("bitcast (<1 x i16> <i16 -2> to <16 x i1>)"), "b");
  EXPECT_EQ(chosen_by("bitcast (i16 -1 to <16 x i1>)"), "a");
  EXPECT_EQ(chosen_by("bitcast (i16 6 to <16 x i1>)"), "b");
  EXPECT_EQ(chosen_by("zeroinitializer"), "b");
}

TEST(ScalarLanes, NumbersMayBeMasks) {
  const auto lowest_of = [](const std::string& mask) {
    return result_of("define i1 @run() {\n  %bit = trunc i16 " + mask +
                     " to i1, !lockstep.lane !0\n  ret i1 %bit\n}");
  };
  EXPECT_EQ(lowest_of("bitcast (<16 x i1> bitcast (<1 x i16> <i16 5> to <16 x i1>) to i16)"), "1");
  EXPECT_EQ(lowest_of("bitcast (<16 x i1> bitcast (<1 x i16> <i16 4> to <16 x i1>) to i16)"), "0");
  EXPECT_EQ(lowest_of("7"), "1");
}

}  // namespace
}  // namespace lockstep::translator
