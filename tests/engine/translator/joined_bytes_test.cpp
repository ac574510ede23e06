// Bytes that were joined to a word and are taken out of it again.
#include "engine/translator/joined_bytes.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <string>

#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

// Of a value made of %a, %b, %c (bytes), %d (16 bits) and %w, and of words that they are joined to, as text:
// what it is behind the pass, from the inside out.
std::string left_of(const std::string& last) {
  const std::string text =
      "define <16 x i32> @run(<16 x i8> %a, <16 x i8> %b, <16 x i8> %c, <16 x i16> %d, <16 x i32> %w) {\n"
      "  %az = zext <16 x i8> %a to <16 x i32>\n  %bz = zext <16 x i8> %b to <16 x i32>\n"
      "  %cz = zext <16 x i8> %c to <16 x i32>\n  %dz = zext <16 x i16> %d to <16 x i32>\n"
      "  %b8 = shl <16 x i32> %bz, splat (i32 8)\n  %b4 = shl <16 x i32> %bz, splat (i32 4)\n"
      "  %c16 = shl <16 x i32> %cz, splat (i32 16)\n  %w8 = shl <16 x i32> %w, splat (i32 8)\n"
      "  %ab = or <16 x i32> %az, %b8\n  %abc = or <16 x i32> %ab, %c16\n  %near = or <16 x i32> %az, %b4\n"
      "  %db = or <16 x i32> %dz, %b8\n  %aw = or <16 x i32> %w8, %az\n" +
      last + "  ret <16 x i32> %r\n}\n";
  llvm::LLVMContext context;
  const auto module = module_of(text, context);
  if (!module) return {};
  llvm::Function& function = *module->getFunction("run");
  split_joined_bytes(function);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  std::string ways;
  const auto* value = llvm::cast<llvm::ReturnInst>(function.back().getTerminator())->getReturnValue();
  while (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value)) {
    if (!instruction->getName().empty() && instruction->getName() != "r" && instruction->getName() != "s")
      return instruction->getName().str() + ways;
    ways = std::string(" ") + instruction->getOpcodeName() + ways;
    value = instruction->getOperand(0);
  }
  return value->getName().str() + ways;
}

std::string masked(const std::string& word, unsigned mask) {
  return "  %r = and <16 x i32> " + word + ", splat (i32 " + std::to_string(mask) + ")\n";
}
std::string shifted(const std::string& word, unsigned distance, const std::string& name = "%r") {
  return "  " + name + " = lshr <16 x i32> " + word + ", splat (i32 " + std::to_string(distance) + ")\n";
}

TEST(JoinedBytes, AreWhatTheyWere) {
  EXPECT_EQ(left_of(masked("%ab", 255)), "az");
  EXPECT_EQ(left_of(shifted("%ab", 8)), "bz");
  EXPECT_EQ(left_of(masked("%abc", 255)), "az");
  EXPECT_EQ(left_of(shifted("%abc", 16)), "cz");
  EXPECT_EQ(left_of(shifted("%abc", 8, "%s") + masked("%s", 255)), "bz");
  EXPECT_EQ(left_of(masked("%aw", 255)), "az");
  // Parts of parts.
  EXPECT_EQ(left_of(masked("%ab", 15)), "az and");
  EXPECT_EQ(left_of(masked("%abc", 0xff00)), "b8");
  EXPECT_EQ(left_of(shifted("%ab", 12)), "b8 lshr");
  EXPECT_EQ(left_of(shifted("%abc", 12, "%s") + masked("%s", 3)), "b8 lshr and");
  // Bits of it went over the end.
  EXPECT_EQ(left_of(shifted("%aw", 8)), "w8 lshr");
}

TEST(JoinedBytes, StayWhereBothAreRead) {
  EXPECT_EQ(left_of(masked("%near", 255)), "near and");
  EXPECT_EQ(left_of(shifted("%near", 4)), "near lshr");
  EXPECT_EQ(left_of(masked("%ab", 511)), "ab and");
  EXPECT_EQ(left_of(shifted("%ab", 7)), "ab lshr");
  EXPECT_EQ(left_of(shifted("%db", 8)), "db lshr");
  EXPECT_EQ(left_of(shifted("%abc", 8)), "abc lshr");
  EXPECT_EQ(left_of(shifted("%abc", 7, "%s") + masked("%s", 255)), "ab lshr and");
}

}  // namespace
}  // namespace lockstep::translator
