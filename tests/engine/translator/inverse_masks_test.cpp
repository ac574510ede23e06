// Where a comparison has the opposite mask of an earlier one it is not made, and everywhere else it is.
#include "engine/translator/inverse_masks.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <utility>

#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

// The second of two masks of 32 lanes.
struct Second {
  std::string low = "fcmp uge <16 x float> %a, %b", high = "fcmp uge <16 x float> %c, %d";
  std::string low_on = "%on0", high_on = "%on1";
  std::string before;  // what is between the two
};

std::string mask(const std::string& name, const std::string& low, const std::string& high,
                 const std::string& low_on, const std::string& high_on) {
  return "  %l" + name + " = " + low + "\n  %lb" + name + " = bitcast <16 x i1> %l" + name +
         " to i16\n  %la" + name + " = and i16 %lb" + name + ", " + low_on + "\n  %h" + name + " = " + high +
         "\n  %hb" + name + " = bitcast <16 x i1> %h" + name + " to i16\n  %ha" + name + " = and i16 %hb" +
         name + ", " + high_on + "\n  %lz" + name + " = zext i16 %la" + name + " to i32\n  %hz" + name +
         " = zext i16 %ha" + name + " to i32\n  %hs" + name + " = shl i32 %hz" + name + ", 16\n  %" + name +
         " = or i32 %lz" + name + ", %hs" + name + "\n";
}

// How many comparisons are left of both masks.
unsigned comparisons_left(const Second& second) {
  const std::string text =
      "define i32 @run(<16 x float> %a, <16 x float> %b, <16 x float> %c, <16 x float> %d, i32 %exec, i32 "
      "%other) {\n"
      "  %on0 = trunc i32 %exec to i16\n  %upper = lshr i32 %exec, 16\n  %on1 = trunc i32 %upper to i16\n"
      "  %upper.other = lshr i32 %other, 16\n  %other1 = trunc i32 %upper.other to i16\n" +
      mask("first", "fcmp olt <16 x float> %a, %b", "fcmp olt <16 x float> %c, %d", "%on0", "%on1") +
      second.before + mask("second", second.low, second.high, second.low_on, second.high_on) +
      "  %both = mul i32 %first, %second\n  ret i32 %both\n}\n";
  llvm::LLVMContext context;
  const auto module = module_of(text, context);
  if (!module) return 0;
  llvm::Function& function = *module->getFunction("run");
  derive_inverse_masks(function);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  unsigned count = 0;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) count += llvm::isa<llvm::CmpInst>(instruction);
  return count;
}

TEST(InverseMasks, OppositesAreNotCompared) {
  EXPECT_EQ(comparisons_left({}), 2u);
}

TEST(InverseMasks, OthersAre) {
  using Change = std::pair<std::string Second::*, const char*>;
  for (const auto& [part, text] : {
           // Where one is a NaN both of these are false.
           Change{&Second::low, "fcmp oge <16 x float> %a, %b"},
           Change{&Second::high, "fcmp oge <16 x float> %c, %d"},
           // Other numbers, another order, other lanes, another block.
           Change{&Second::high, "fcmp uge <16 x float> %c, %b"},
           Change{&Second::low, "fcmp uge <16 x float> %b, %a"},
           Change{&Second::high_on, "%other1"},
           Change{&Second::before, "  br label %behind\nbehind:\n"},
       }) {
    Second second;
    second.*part = text;
    EXPECT_EQ(comparisons_left(second), 4u) << text;
  }
}

// What is in registers has NaNs among it, and lanes are off.
TEST(InverseMasks, BothEnginesHaveTheSame) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string first = wave_size == 32 ? "vcc_lo" : "vcc";
    for (const char* const opposites : {"lt_f32|nlt_f32", "nge_f32|ge_f32", "eq_f32|neq_f32", "u_f32|o_f32",
                                        "lt_i32|ge_i32", "eq_u32|ne_u32"}) {
      const std::string both = opposites;
      const size_t bar = both.find('|');
      const std::string compared = "v_cmp_" + both.substr(0, bar) + " " + first + ", v1, v2\n",
                        others = "v_cmpx_" + both.substr(bar + 1) + " v1, v2\n";
      expect_same_runs("v_cmpx_ne_u32 v5, v6\n" + compared + others + "v_add_nc_u32 v3, v3, v4\n", wave_size);
      // Not of what the numbers were before.
      expect_same_runs(compared + "v_xor_b32 v1, 1, v1\n" + others + "v_add_nc_u32 v3, v3, v4\n", wave_size);
      // Nor of the lanes that were on before.
      expect_same_runs(compared + "v_cmpx_lt_u32 v5, v6\n" + others + "v_add_nc_u32 v3, v3, v4\n", wave_size);
    }
  }
}

}  // namespace
}  // namespace lockstep::translator
