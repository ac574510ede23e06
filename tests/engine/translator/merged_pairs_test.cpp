// Numbers of 64 bits that go on from round to round, and over branches.
#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "engine/translator/pair_folding.h"
#include "engine/translator/pair_merging.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

// A loop over %low and %high that computes %next from the number that they are; what follows the loop reads
// the low word.
std::string loop(const std::string& low, const std::string& high, const std::string& more = "") {
  return R"(
define <16 x i32> @run(<16 x i32> %a, <16 x i32> %b, <16 x i64> %c, <16 x i1> %on, i1 %again, i1 %which) {
begin:
  br label %round
round:
  %low = phi <16 x i32> [ %a, %begin ], [ )" +
         low + R"(, %last ]
  %high = phi <16 x i32> [ %b, %begin ], [ )" +
         high + R"(, %last ]
  %low.wide = zext <16 x i32> %low to <16 x i64>
  %high.wide = zext <16 x i32> %high to <16 x i64>
  %above = shl <16 x i64> %high.wide, splat (i64 32)
  %number = or <16 x i64> %low.wide, %above
  %next = mul <16 x i64> %number, %c
  %next.low = trunc <16 x i64> %next to <16 x i32>
  %next.above = lshr <16 x i64> %next, splat (i64 32)
  %next.high = trunc <16 x i64> %next.above to <16 x i32>
)" + (more.empty() ? "  br label %last\nlast:\n" : more) +
         R"(  br i1 %again, label %round, label %end
end:
  ret <16 x i32> %low
})";
}

struct Merged {
  unsigned words = 0, numbers = 0;  // that ways bring
  unsigned joins = 0;               // in the loop
};
Merged merged(const std::string& text) {
  llvm::LLVMContext context;
  const auto module = module_of(text, context);
  Merged result;
  if (!module) return result;
  llvm::Function& function = *module->getFunction("run");
  merge_pairs(function, false);
  fold_pairs(function, false);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& each : block) {
      if (llvm::isa<llvm::PHINode>(each))
        ++(each.getType()->getScalarSizeInBits() == 64 ? result.numbers : result.words);
      result.joins += block.getName() != "begin" && joined_words(each).has_value();
    }
  return result;
}

TEST(MergedPairs, GoOnWhole) {
  const auto expect_whole = [](const std::string& text, unsigned numbers) {
    const Merged found = merged(text);
    EXPECT_EQ(found.words, 0u) << text;
    EXPECT_EQ(found.numbers, numbers) << text;
    EXPECT_EQ(found.joins, 0u) << text;
  };
  expect_whole(loop("%next.low", "%next.high"), 1);
  const std::string kept = R"(
  %new.low = select <16 x i1> %on, <16 x i32> %next.low, <16 x i32> %low
  %new.high = select <16 x i1> %on, <16 x i32> %next.high, <16 x i32> %high
  br label %last
last:
)";
  expect_whole(loop("%new.low", "%new.high", kept), 1);
  const std::string branch = R"(
  br i1 %which, label %other, label %last
other:
  br label %last
last:
  %either.low = phi <16 x i32> [ %next.low, %round ], [ %low, %other ]
  %either.high = phi <16 x i32> [ %next.high, %round ], [ %high, %other ]
)";
  expect_whole(loop("%either.low", "%either.high", branch), 2);
  const std::string zero = R"(
  br i1 %which, label %other, label %last
other:
  br label %last
last:
  %either.low = phi <16 x i32> [ %next.low, %round ], [ zeroinitializer, %other ]
  %either.high = phi <16 x i32> [ %next.high, %round ], [ splat (i32 7), %other ]
)";
  expect_whole(loop("%either.low", "%either.high", zero), 2);
}

TEST(MergedPairs, WordsOfTheirOwnStayWords) {
  const auto expect_words = [](const std::string& text) {
    const Merged found = merged(text);
    EXPECT_EQ(found.numbers, 0u) << text;
    EXPECT_GE(found.words, 2u) << text;
    EXPECT_EQ(found.joins, 1u) << text;
  };
  expect_words(loop("%next.high", "%next.low"));
  expect_words(loop("%next.low", "%high"));
  expect_words(loop("%low", "%high"));
  expect_words(
      loop("%next.low", "%changed", "  %changed = add <16 x i32> %next.high, %a\n  br label %last\nlast:\n"));
  expect_words(loop("%next.low", "%changed",
                    "  %changed = xor <16 x i32> %next.high, splat (i32 -2147483648)\n"
                    "  br label %last\nlast:\n"));
  expect_words(loop("%next.low", "%new.high", R"(
  %new.high = select <16 x i1> %on, <16 x i32> %next.high, <16 x i32> %high
  br label %last
last:
)"));
  expect_words(loop("%either.low", "%either.high", R"(
  br i1 %which, label %other, label %last
other:
  %lower = add <16 x i32> %next.low, %a
  br label %last
last:
  %either.low = phi <16 x i32> [ %next.low, %round ], [ %lower, %other ]
  %either.high = phi <16 x i32> [ %next.high, %round ], [ %high, %other ]
)"));
}

// Rounds of operations on a few pairs, with words of their own among them, branches, lanes that end early and
// loops in loops.
class RandomRounds {
 public:
  RandomRounds(unsigned seed, unsigned wave_size) : random_(seed), is_wide_(wave_size == 64) {}

  std::string text() {
    std::string text = "s_mov_b32 s40, 4\nv_and_b32 v30, 3, v30\nagain:\n";
    for (unsigned i = 0; i < 6; ++i) text += below(5) == 0 ? branch() : operation();
    if (below(3) == 0) {
      text += "s_mov_b32 s41, 3\ninner:\n";
      for (unsigned i = 0; i < 3; ++i) text += operation();
      text += "s_sub_u32 s41, s41, 1\ns_cmp_lg_u32 s41, 0\ns_cbranch_scc1 inner\n";
    }
    if (below(2) == 0) {
      text += "v_sub_nc_u32 v30, v30, 1\nv_cmp_ne_u32 " + mask("vcc") + ", 0, v30\ns_and_" + size() + " " +
              mask("exec") + ", " + mask("exec") + ", " + mask("vcc") +
              "\ns_cbranch_execz done\ns_sub_u32 s40, s40, 1\ns_cmp_lg_u32 s40, 0\ns_cbranch_scc1 "
              "again\ndone:\ns_mov_" +
              size() + " " + mask("exec") + ", -1";
    } else {
      text += "s_sub_u32 s40, s40, 1\ns_cmp_lg_u32 s40, 0\ns_cbranch_scc1 again";
    }
    return text;
  }

 private:
  unsigned below(unsigned end) { return static_cast<unsigned>(random_() % end); }
  std::string size() const { return is_wide_ ? "b64" : "b32"; }
  std::string mask(const std::string& name) const { return is_wide_ ? name : name + "_lo"; }
  static std::string pair(unsigned first) {
    return "v[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]";
  }
  // Some overlap.
  unsigned any() {
    static constexpr unsigned kFirst[] = {2, 4, 6, 8, 2, 4, 6, 8, 5};
    return kFirst[below(std::size(kFirst))];
  }
  std::string source() {
    const std::string sign[] = {"", "", "-", "|"};
    const std::string which = sign[below(4)];
    return which == "|" ? "|" + pair(any()) + "|" : which + pair(any());
  }
  std::string operation() {
    const unsigned d = any();
    switch (below(10)) {
      case 0:
        return "v_fma_f64 " + pair(d) + ", " + source() + ", " + source() + ", " + source() + "\n";
      case 1:
        return "v_add_f64 " + pair(d) + ", " + source() + ", " + source() + "\n";
      case 2:
        return "v_mul_f64 " + pair(d) + ", " + source() + ", 0.5\n";
      case 3:
        return "v_lshlrev_b64 " + pair(d) + ", 3, " + pair(any()) + "\n";
      case 4:
        return "v_mad_u64_u32 " + pair(d) + ", " + mask("vcc") + ", v10, v11, " + pair(any()) + "\n";
      case 5:
        return "v_max_f64 " + pair(d) + ", " + source() + ", " + source() + "\n";
      case 6:
        return "v_xor_b32 v" + std::to_string(d + 1) + ", 0x80000000, v" + std::to_string(d + 1) + "\n";
      case 7:
        return "v_and_b32 v" + std::to_string(d + 1) + ", 0x7fffffff, v" + std::to_string(d + 1) + "\n";
      case 8:
        return "v_xor_b32 v" + std::to_string(d + below(2)) + ", v10, v" + std::to_string(any()) + "\n";
      default:
        return "v_mov_b32 v" + std::to_string(d) + ", v" + std::to_string(any()) + "\nv_mov_b32 v" +
               std::to_string(d + 1) + ", v" + std::to_string(any()) + "\n";
    }
  }
  std::string branch() {
    const std::string label = "behind" + std::to_string(labels_++);
    return "v_cmp_lt_u32 " + mask("vcc") + ", v10, v" + std::to_string(any()) + "\ns_and_saveexec_" + size() +
           (is_wide_ ? " s[50:51], vcc" : " s50, vcc_lo") + "\ns_cbranch_execz " + label + "\n" +
           operation() + operation() + label + ":\ns_or_" + size() + " " + mask("exec") + ", " +
           mask("exec") + (is_wide_ ? ", s[50:51]\n" : ", s50\n");
  }

  std::mt19937 random_;
  bool is_wide_;
  unsigned labels_ = 0;
};

TEST(MergedPairs, RandomRoundsLeaveWhatTheInterpreterLeaves) {
  for (const unsigned wave_size : {32u, 64u})
    for (unsigned seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(seed);
      expect_same_runs(RandomRounds(seed, wave_size).text(), wave_size);
    }
}

}  // namespace
}  // namespace lockstep::translator
