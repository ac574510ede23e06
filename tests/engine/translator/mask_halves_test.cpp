// Masks of comparisons come to selections as lanes where that shortens the way, and mean the same.
#include "engine/translator/mask_halves.h"

#include <gtest/gtest.h>
#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <functional>
#include <random>
#include <string>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

// %NAME: a chunk's bits of a scalar.
std::string half_of(const std::string& scalar, const std::string& half, const std::string& name) {
  const std::string shifted = "  %s" + name + " = lshr i32 " + scalar + ", 16\n";
  return (half == "0" ? "" : shifted) + "  %" + name + " = trunc i32 " +
         (half == "0" ? scalar : "%s" + name) + " to i16\n";
}

// %NAME: both chunks' comparisons of x with y, under the scalar `on` if there is one.
std::string compared(const std::string& name, const std::string& predicate, const std::string& on = "") {
  std::string text;
  for (const std::string half : {"0", "1"}) {
    const std::string own = name + "." + half;
    text += "  %c" + own + " = icmp " + predicate + " <16 x i32> %x" + half + ", %y" + half + "\n  %b" + own +
            " = bitcast <16 x i1> %c" + own + " to i16\n";
    if (!on.empty())
      text += half_of(on, half, "t" + own) + "  %a" + own + " = and i16 %b" + own + ", %t" + own + "\n";
  }
  const std::string bits = on.empty() ? "%b" : "%a";
  return text + "  %l" + name + " = zext i16 " + bits + name + ".0 to i32\n  %h" + name + " = zext i16 " +
         bits + name + ".1 to i32\n  %u" + name + " = shl i32 %h" + name + ", 16\n  %" + name +
         " = or i32 %l" + name + ", %u" + name + "\n";
}

// %z0, %z1: x or y of either chunk by the mask.
std::string selected(const std::string& mask) {
  std::string text;
  for (const std::string half : {"0", "1"})
    text += half_of(mask, half, "zt" + half) + "  %zm" + half + " = bitcast i16 %zt" + half +
            " to <16 x i1>\n  %z" + half + " = select <16 x i1> %zm" + half + ", <16 x i32> %x" + half +
            ", <16 x i32> %y" + half + "\n";
  return text;
}

const std::string kReturn =
    "  %zn = insertelement <16 x i32> %z1, i32 %mask, i64 3\n  %zz = xor <16 x i32> %z0, %zn\n"
    "  ret <16 x i32> %zz\n}\n";
const std::string kBegin =
    "define <16 x i32> @run(<16 x i32> %x0, <16 x i32> %y0, <16 x i32> %x1, <16 x i32> %y1, i32 %exec, i32 "
    "%n) {\n";

// Whether a selection's lanes have been a scalar since they were compared in this round.
bool waits_for_scalars(const llvm::Function& function) {
  const std::function<bool(const llvm::Value*, unsigned)> is_compared = [&](const llvm::Value* value,
                                                                            unsigned depth) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction || llvm::isa<llvm::PHINode>(instruction) || depth > 12) return false;
    return (llvm::isa<llvm::CmpInst>(instruction) && instruction->getType()->isVectorTy()) ||
           llvm::any_of(instruction->operands(),
                        [&](const llvm::Value* operand) { return is_compared(operand, depth + 1); });
  };
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      if (llvm::isa<llvm::BitCastInst>(instruction) && instruction.getType()->isVectorTy() &&
          is_compared(&instruction, 0))
        return true;
  return false;
}

// LLVM does not fold this.
llvm::Constant* lanes_of(const llvm::ConstantInt& bits) {
  std::vector<llvm::Constant*> lanes;
  for (unsigned lane = 0; lane < 16; ++lane)
    lanes.push_back(llvm::ConstantInt::getBool(bits.getContext(), bits.getValue()[lane]));
  return llvm::ConstantVector::get(lanes);
}

// Of one block, with these arguments.
llvm::Constant* result_of(llvm::Function& function, const std::vector<llvm::Constant*>& arguments) {
  llvm::DenseMap<const llvm::Value*, llvm::Constant*> known;
  for (size_t i = 0; i < arguments.size(); ++i)
    known[function.getArg(static_cast<unsigned>(i))] = arguments[i];
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    std::vector<llvm::Constant*> operands;
    for (llvm::Value* operand : instruction.operands())
      operands.push_back(llvm::isa<llvm::Constant>(operand) ? llvm::cast<llvm::Constant>(operand)
                                                            : known.lookup(operand));
    if (llvm::isa<llvm::ReturnInst>(instruction)) return operands[0];
    if (const auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&instruction))
      known[&instruction] =
          llvm::ConstantFoldCompareInstOperands(comparison->getPredicate(), operands[0], operands[1], layout);
    else if (llvm::isa<llvm::BitCastInst>(instruction) && instruction.getType()->isVectorTy())
      known[&instruction] = lanes_of(*llvm::cast<llvm::ConstantInt>(operands[0]));
    else
      known[&instruction] = llvm::ConstantFoldInstOperands(&instruction, operands, layout);
  }
  return nullptr;
}

struct Changed {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> before, after;

  explicit Changed(const std::string& text)
      : before(module_of(text, context)), after(module_of(text, context)) {
    if (!after) return;
    combine_masks_by_halves(*after->getFunction("run"));
    EXPECT_FALSE(llvm::verifyFunction(*after->getFunction("run"), &llvm::errs()));
  }
  bool waits() const { return waits_for_scalars(*after->getFunction("run")); }

  void expect_same_results() {
    std::mt19937 random(1);
    for (unsigned round = 0; round < 8; ++round) {
      std::vector<llvm::Constant*> arguments;
      for (unsigned i = 0; i < 4; ++i) {
        std::array<uint32_t, 16> numbers;
        for (uint32_t& number : numbers) number = random() % 4;
        arguments.push_back(llvm::ConstantDataVector::get(context, numbers));
      }
      for (unsigned i = 0; i < 2; ++i)
        arguments.push_back(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), random()));
      EXPECT_EQ(result_of(*before->getFunction("run"), arguments),
                result_of(*after->getFunction("run"), arguments));
    }
  }
};

TEST(MaskHalves, AlgebraOfComparisonsStaysAmongLanes) {
  for (const char* const mask :
       {"and i32 %p, %q", "or i32 %p, %q", "xor i32 %q, %p", "xor i32 %p, -1", "and i32 %p, 252654421"}) {
    SCOPED_TRACE(mask);
    Changed changed(kBegin + compared("p", "ult") + compared("q", "ne") + "  %mask = " + mask + "\n" +
                    selected("%mask") + kReturn);
    EXPECT_FALSE(changed.waits());
    changed.expect_same_results();
  }
}

// To take the other one's lanes out of a scalar would be as much work as to bring these there.
TEST(MaskHalves, WhatIsCombinedWithScalarsIsAScalar) {
  for (const std::string& text : {compared("p", "ult") + "  %mask = or i32 %p, %exec\n",
                                  compared("p", "ult") + "  %mask = add i32 %p, 1\n",
                                  // Not in a loop.
                                  compared("mask", "ult", "%exec")}) {
    SCOPED_TRACE(text);
    Changed changed(kBegin + text + selected("%mask") + kReturn);
    EXPECT_TRUE(changed.waits());
    changed.expect_same_results();
  }
}

// Leaves lanes of EXEC, which comes of a scalar in each round, by one comparison and by another one of these;
// `more` is in the loop, too.
std::string loop(const std::string& more) {
  return kBegin +
         "  br label %again\nagain:\n  %in = phi i32 [ %exec, %0 ], [ %mask, %again ]\n  %on = sub i32 " +
         "%in, %n\n" + more + compared("p", "ult", "%on") + compared("q", "ne", "%p") +
         "  %mask = xor i32 %p, %q\n" + selected("%mask") +
         "  %over = icmp ult i32 %mask, %n\n  br i1 %over, label %out, label %again\nout:\n" + kReturn;
}

TEST(MaskHalves, SmallLoopsHaveThemUnderExec) {
  EXPECT_FALSE(Changed(loop("")).waits());
}

TEST(MaskHalves, InLoopsWithManyComparisonsTheyWaitAsScalars) {
  std::string more;
  for (unsigned i = 0; i < 70; ++i) more += "  %w" + std::to_string(i) + " = icmp eq <16 x i32> %x0, %y1\n";
  EXPECT_TRUE(Changed(loop(more)).waits());
}

// Lanes leave in the middle, at the end, or both; others are off from the begin.
TEST(MaskHalves, BothEnginesHaveTheSame) {
  for (const unsigned wave_size : {32u, 64u}) {
    const bool wide = wave_size == 64;
    const std::string b = wide ? "_b64 " : "_b32 ", exec = wide ? "exec" : "exec_lo",
                      vcc = wide ? "vcc" : "vcc_lo", all = wide ? "s[60:61]" : "s60",
                      left = wide ? "s[62:63]" : "s62", gone = wide ? "s[64:65]" : "s64";
    for (const char* const combined : {"and", "or", "xor", "and_not1", "or_not1"})
      expect_same_runs(
          "v_cmpx_ne_u32 v5, v6\ns_mov" + b + all + ", " + exec + "\ns_mov" + b + gone +
              ", 0\nv_mov_b32 v7, 0\nv_mov_b32 v9, 0\nagain:\nv_add_nc_u32 v7, 1, v7\n"
              "v_and_b32 v8, 31, v1\nv_cmp_lt_u32 " +
              vcc + ", v7, v8\ns_mov" + b + left + ", " + exec + "\ns_and" + b + exec + ", " + exec + ", " +
              vcc + "\ns_cbranch_execz behind\nv_add_nc_u32 v9, v9, v7\nv_cmp_gt_u32 " + vcc +
              ", 24, v9\nv_cndmask_b32 v10, v7, v9, " + vcc + "\ns_" + combined + b + vcc + ", " + exec +
              ", " + vcc + "\nv_cndmask_b32 v11, v9, v7, " + vcc + "\ns_and" + b + vcc + ", " + vcc + ", " +
              exec + "\nv_cmp_lt_u32 " + left + ", 40, v9\ns_or" + b + gone + ", " + gone + ", " + left +
              "\nbehind:\ns_and_not1" + b + exec + ", " + exec + ", " + gone + "\nv_cmp_gt_u32 " + vcc +
              ", 20, v7\ns_and" + b + exec + ", " + exec + ", " + vcc + "\ns_cbranch_execnz again\ns_mov" +
              b + exec + ", " + all + "\nv_add_nc_u32 v12, v9, v10\n",
          wave_size);
  }
}

}  // namespace
}  // namespace lockstep::translator
