// Objects for host processors other than this one.
#include "engine/translator/code_generator.h"

#include <gtest/gtest.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine/translator/body_library.h"
#include "engine/translator/doubt_checks.h"
#include "engine/translator/emitter.h"
#include "engine/translator/liveness.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/pair_splitting.h"
#include "machine/kernel.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/engine/translator/llvm_text.h"
#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

// Bytes of the host's code for a kernel.
size_t code_bytes(const char* source, const char* kernel_name, const char* processor) {
  const Bytes code_object = compile(source);
  AddressSpace memory;
  auto object = loader::CodeObject::parse(code_object, "test.co");
  if (!object) return 0;
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  if (!loaded) return 0;
  const loader::Kernel* kernel = (*loaded)->object().find_kernel(kernel_name);
  const Routine routine =
      find_routine((*loaded)->code(), (*loaded)->loaded_address(kernel->entry_address), 32, kMaxVgprs);
  const Facts facts = analyse(routine);
  EXPECT_EQ(routine.pieces.size(), 1u);
  return generate(routine, facts, 0, 0, processor).code_bytes;
}

TEST(CodeGenerator, MakesObjectsForBothHostLevels) {
  const char* const source = R"(
    __kernel void scale(__global float* data, float factor, uint n) {
      uint i = get_global_id(0);
      float x = data[i];
      for (uint k = 0; k < n; ++k)
        for (uint j = 0; j < 24; ++j) x = x * factor + j;
      data[i] = x;
    })";
  const size_t v3 = code_bytes(source, "scale", "x86-64-v3"), v4 = code_bytes(source, "scale", "x86-64-v4");
  EXPECT_GT(v3, 0u);
  EXPECT_GT(v4, 0u);
  // Half as many registers a chunk.
  EXPECT_LT(v4, v3);
}

// How many loops are round the calls for one lane in the row function, in their order: of those where
// addresses are as expected. The x of the group is in s2.
std::vector<unsigned> loops_round_calls(const std::string& text) {
  Routine routine = routine_of(text + "\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v2, s[0:1]", 32);
  routine.launch.group_id_register = 2;
  const Facts facts = analyse(routine);
  BodySession session;
  llvm::Module module("routine", session.context());
  Emitter rows(module, routine, facts, 0, 0, {true, true}, Emitter::Shape::row);
  rows.emit(kRowFunctionName);
  llvm::Function& row = *module.getFunction(kRowFunctionName);
  move_out_of_rows(row, nullptr, Bodies::called);
  EXPECT_FALSE(llvm::verifyFunction(row, &llvm::errs()));
  const llvm::DominatorTree tree(row);
  const llvm::LoopInfo loops(tree);
  std::vector<unsigned> result;
  for (const llvm::Function& function : module)
    if (function.getName().starts_with("one_lane")) {
      const auto* call = llvm::cast<llvm::CallInst>(*function.user_begin());
      result.push_back(loops.getLoopDepth(call->getParent()));
    }
  // Then comes the other version of the block.
  result.resize(result.size() / 2);
  return result;
}

// Bodies are full of branches, which LLVM does not move out of loops: what the waves of a row have alike is
// computed before their groups.
TEST(CodeGenerator, ComputesBeforeARowWhatAllItsWavesHave) {
  using Depths = std::vector<unsigned>;
  EXPECT_EQ(loops_round_calls("s_load_b32 s4, s[0:1], 0x10\ns_waitcnt lgkmcnt(0)\nv_rcp_f32 v2, s4"),
            Depths{1});
  EXPECT_EQ(loops_round_calls("v_rcp_f32 v2, s4"), Depths{1});
  EXPECT_EQ(loops_round_calls("v_rcp_f32 v2, s2"), Depths{2});
  // What goes on with results goes with them.
  EXPECT_EQ(loops_round_calls("v_cvt_f32_u32 v2, s4\nv_rcp_iflag_f32 v2, v2\nv_mul_f32 v2, 0x4f7ffffe, v2\n"
                              "v_cvt_u32_f32 v2, v2\nv_mul_hi_u32 v2, s2, v2"),
            (Depths{1, 1, 1, 1, 2}));
  EXPECT_EQ(loops_round_calls("v_rcp_f32 v2, v0"), Depths{});
}

// A function of LLVM's that ends with a question about the doubt of %run.
std::unique_ptr<llvm::Module> run_with_doubt(llvm::LLVMContext& context, const std::string& body) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(
      "declare i32 @llvm.vector.reduce.or.v16i32(<16 x i32>)\n"
      "define i16 @run(<16 x float> %a, <16 x float> %b, <16 x i32> %c, i1 %rare) {\nbegin:\n" +
          body + R"(
      %any = call i32 @llvm.vector.reduce.or.v16i32(<16 x i32> %run)
      %is.any = icmp ne i32 %any, 0
      br i1 %is.any, label %look, label %certain
    look:
      %lanes = icmp ne <16 x i32> %run, zeroinitializer
      %bits = bitcast <16 x i1> %lanes to i16
      ret i16 %bits
    certain:
      ret i16 0
    })",
      problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

unsigned count_of(const llvm::Module& module, unsigned opcode) {
  const llvm::Function& function = *module.getFunction("run");
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  unsigned count = 0;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) count += instruction.getOpcode() == opcode;
  return count;
}

// Whether there is doubt, and in which lanes, is asked of the masks that it was made of.
TEST(CodeGenerator, KeepsDoubtAsMasks) {
  llvm::LLVMContext context;
  const auto module = run_with_doubt(context, R"(
      %x = fcmp uno <16 x float> %a, zeroinitializer
      %y = fcmp uno <16 x float> %b, zeroinitializer
      %z = icmp sgt <16 x i32> %c, zeroinitializer
      %first = select <16 x i1> %x, <16 x i32> splat (i32 -1), <16 x i32> zeroinitializer
      br i1 %rare, label %slow, label %behind
    slow:
      %second = select <16 x i1> %y, <16 x i32> splat (i32 -1), <16 x i32> %first
      br label %behind
    behind:
      %merged = phi <16 x i32> [ %first, %begin ], [ %second, %slow ]
      %third = sext <16 x i1> %z to <16 x i32>
      %run = or <16 x i32> %merged, %third)");
  ASSERT_TRUE(module);
  keep_doubt_as_masks(*module->getFunction("run"));
  EXPECT_EQ(count_of(*module, llvm::Instruction::Select), 0u);
  EXPECT_EQ(count_of(*module, llvm::Instruction::SExt), 0u);
  EXPECT_EQ(count_of(*module, llvm::Instruction::Call), 0u);
}

// Two checks are one comparison where doubt is lanes; one that something else asks for stays by itself.
TEST(CodeGenerator, ChecksTwoNumbersAtOnce) {
  const auto compares_left = [](const std::string& behind) {
    llvm::LLVMContext context;
    const auto module = run_with_doubt(context, R"(
      %x = fcmp uno <16 x float> %a, zeroinitializer
      %first = select <16 x i1> %x, <16 x i32> splat (i32 -1), <16 x i32> %c
      %y = fcmp uno <16 x float> %b, zeroinitializer)" +
                                                    behind);
    EXPECT_TRUE(module);
    if (!module) return 0u;
    check_lanes_in_pairs(*module->getFunction("run"));
    return count_of(*module, llvm::Instruction::FCmp);
  };
  const std::string second = R"(
      %second = select <16 x i1> %y, <16 x i32> splat (i32 -1), <16 x i32> %first)";
  EXPECT_EQ(compares_left(second + "\n%run = or <16 x i32> %second, %c"), 1u);
  EXPECT_EQ(compares_left(second + R"(
      %sum = fadd <16 x float> %a, %b
      %z = fcmp uno <16 x float> %sum, zeroinitializer
      %run = select <16 x i1> %z, <16 x i32> splat (i32 -1), <16 x i32> %second)"),
            2u);
  EXPECT_EQ(compares_left(second + "\n%run = or <16 x i32> %second, %first"), 2u);
  EXPECT_EQ(compares_left(R"(
      %second = select <16 x i1> %y, <16 x i32> splat (i32 -1), <16 x i32> %first
      %y.lanes = sext <16 x i1> %y to <16 x i32>
      %run = or <16 x i32> %second, %y.lanes)"),
            2u);
}

// What is left of numbers of 64 bits that are joined from %low and %high and taken apart again, in
// instructions.
unsigned wide_instructions_left(const std::string& operation) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const auto module = llvm::parseAssemblyString(R"(
    define <16 x i32> @run(<16 x i32> %low, <16 x i32> %high, <16 x i32> %count) {
      %l = zext <16 x i32> %low to <16 x i64>
      %h = zext <16 x i32> %high to <16 x i64>
      %h.up = shl <16 x i64> %h, splat (i64 32)
      %pair = or <16 x i64> %l, %h.up
      %c = and <16 x i32> %count, splat (i32 63)
      %by = zext <16 x i32> %c to <16 x i64>
)" + operation + R"(
      %a = trunc <16 x i64> %x to <16 x i32>
      %x.up = lshr <16 x i64> %x, splat (i64 32)
      %b = trunc <16 x i64> %x.up to <16 x i32>
      %sum = xor <16 x i32> %a, %b
      ret <16 x i32> %sum
    })",
                                                problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  if (!module) return 0;
  llvm::Function& function = *module->getFunction("run");
  split_pairs(function, true);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  unsigned count = 0;
  for (const llvm::Instruction& instruction : function.getEntryBlock())
    count += !instruction.use_empty() && instruction.getType()->getScalarSizeInBits() == 64;
  return count;
}

TEST(CodeGenerator, SplitsOperationsOnPairsOfRegisters) {
  EXPECT_EQ(wide_instructions_left("%x = shl <16 x i64> %pair, splat (i64 7)"), 0u);
  EXPECT_EQ(wide_instructions_left("%x = lshr <16 x i64> %pair, splat (i64 40)"), 0u);
  EXPECT_EQ(wide_instructions_left("%x = ashr <16 x i64> %pair, splat (i64 32)"), 0u);
  EXPECT_EQ(wide_instructions_left("%x = ashr <16 x i64> %pair, %by"), 0u);
  EXPECT_EQ(wide_instructions_left("%y = shl <16 x i64> %pair, %by\n%x = add <16 x i64> %y, %l"), 0u);
  // The upper half of a product: two factors, the product and its shift.
  EXPECT_EQ(wide_instructions_left("%y = mul <16 x i64> %l, %h\n%x = add <16 x i64> %y, %pair"), 4u);
  // Counts that are not known to be below 64, and products of more than words.
  EXPECT_GT(wide_instructions_left("%x = shl <16 x i64> %pair, %l"), 4u);
  EXPECT_GT(wide_instructions_left("%x = mul <16 x i64> %l, splat (i64 4294967296)"), 2u);
  EXPECT_GT(wide_instructions_left("%x = mul <16 x i64> %pair, %by"), 4u);
}

// Comparisons of %pair, which is joined from halves, and what else the text says.
std::unique_ptr<llvm::Module> with_comparison(llvm::LLVMContext& context, const std::string& operation,
                                              const std::string& low, const std::string& high) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(R"(
    define <16 x i1> @run(<16 x i32> %low, <16 x i32> %high, <32 x i32> %loaded, <16 x i64> %other) {
      %l = zext <16 x i32> )" + low + R"( to <16 x i64>
      %h = zext <16 x i32> )" + high + R"( to <16 x i64>
      %h.up = shl <16 x i64> %h, splat (i64 32)
      %pair = or <16 x i64> %l, %h.up
      %extended = zext <16 x i32> %low to <16 x i64>
      %whole = bitcast <32 x i32> %loaded to <16 x i64>
)" + operation + R"(
      ret <16 x i1> %x
    })",
                                          problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str();
  return module;
}

unsigned wide_comparisons_left(const std::string& operation, bool has_mask_registers) {
  llvm::LLVMContext context;
  const auto module = with_comparison(context, operation, "%low", "%high");
  if (!module) return 0;
  llvm::Function& function = *module->getFunction("run");
  split_pairs(function, has_mask_registers);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  unsigned count = 0;
  for (const llvm::Instruction& instruction : function.getEntryBlock())
    count += llvm::isa<llvm::ICmpInst>(instruction) &&
             instruction.getOperand(0)->getType()->getScalarSizeInBits() == 64;
  return count;
}

TEST(CodeGenerator, SplitsComparisonsOfPairsOfRegisters) {
  for (const bool has_mask_registers : {true, false}) {
    const auto left = [&](const std::string& text) {
      return wide_comparisons_left(text, has_mask_registers);
    };
    for (const char* predicate : {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"}) {
      const std::string compared = std::string("%x = icmp ") + predicate + " <16 x i64> %pair, ";
      EXPECT_EQ(left(compared + "%extended"), 0u) << predicate;
      EXPECT_EQ(left(compared + "splat (i64 -7)"), 0u) << predicate;
      EXPECT_EQ(left(compared + "%whole"), 0u) << predicate;
    }
    EXPECT_EQ(left("%sum = add <16 x i64> %pair, %extended\n%x = icmp ult <16 x i64> %sum, %whole"), 0u);
    // Numbers that are there in any case, or nowhere else.
    EXPECT_EQ(left("%x = icmp ult <16 x i64> %pair, %other"), 1u);
    EXPECT_EQ(left("%x = icmp ult <16 x i64> %whole, splat (i64 5)"), 1u);
    EXPECT_EQ(
        left("%double = bitcast <16 x i64> %pair to <16 x double>\n%bits = and <16 x i64> %pair, splat (i64 "
             "-4)\n%x = icmp ult <16 x i64> %bits, splat (i64 5)"),
        1u);
    EXPECT_EQ(left("%sum = add <16 x i64> %pair, %other\n%x = icmp ult <16 x i64> %pair, %whole"), 1u);
  }
}

// Halves that are next to each other, and to what changes the sign. Constants are folded as they are made.
TEST(CodeGenerator, ComparisonsOfPairsAreThoseOfTheirNumbers) {
  const std::array<uint32_t, 6> words = {0, 1, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
  for (const bool has_mask_registers : {true, false})
    for (const uint64_t number :
         {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffff}, uint64_t{1} << 32, uint64_t{1} << 63,
          (uint64_t{1} << 63) + 1, ~(uint64_t{1} << 63), ~uint64_t{0}, 0x80000000'7fffffff})
      for (const char* predicate : {"eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"})
        for (const uint32_t high : words)
          for (const uint32_t low : words) {
            llvm::LLVMContext context;
            const auto text = [](uint32_t word) { return "splat (i32 " + std::to_string(word) + ")"; };
            const auto module =
                with_comparison(context,
                                std::string("%x = icmp ") + predicate + " <16 x i64> %pair, splat (i64 " +
                                    std::to_string(number) + ")",
                                text(low), text(high));
            ASSERT_TRUE(module);
            llvm::Function& function = *module->getFunction("run");
            const auto& comparison = *std::prev(function.getEntryBlock().end(), 2);
            const auto asked = llvm::cast<llvm::ICmpInst>(comparison).getPredicate();
            split_pairs(function, has_mask_registers);
            const auto* result =
                llvm::dyn_cast<llvm::Constant>(function.getEntryBlock().getTerminator()->getOperand(0));
            ASSERT_TRUE(result);
            const llvm::APInt a(64, uint64_t{high} << 32 | low), b(64, number);
            EXPECT_EQ(result->isAllOnesValue(), llvm::ICmpInst::compare(a, b, asked))
                << predicate << ' ' << high << ' ' << low << ' ' << number;
          }
}

// Numbers of 64 bits that a load has side by side stay whole, with what sign operations make of the upper
// half.
TEST(CodeGenerator, KeepsLoadedPairsWhole) {
  const auto extensions_left = [](const std::string& high) {
    std::string even, odd;
    for (unsigned lane = 0; lane < 16; ++lane) {
      const char* comma = lane == 0 ? "" : ", ";
      even += comma + ("i32 " + std::to_string(2 * lane));
      odd += comma + ("i32 " + std::to_string(2 * lane + 1));
    }
    const std::string shuffle = " = shufflevector <32 x i32> %all, <32 x i32> poison, <16 x i32> <";
    const std::string text =
        "define <16 x i64> @run(ptr %p, <16 x i32> %other) {\n%all = load <32 x i32>, ptr %p\n%low" +
        shuffle + even + ">\n%odd" + shuffle + odd + ">\n" + high +
        "%l = zext <16 x i32> %low to <16 x i64>\n%h = zext <16 x i32> %high to <16 x i64>\n"
        "%up = shl <16 x i64> %h, splat (i64 32)\n%x = or disjoint <16 x i64> %l, %up\nret <16 x i64> %x\n}";
    llvm::LLVMContext context;
    const auto module = module_of(text, context);
    if (!module) return 0u;
    fold_pairs(*module->getFunction("run"), false);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    return count_of(*module, llvm::Instruction::ZExt);
  };
  EXPECT_EQ(extensions_left("%high = or <16 x i32> %odd, zeroinitializer\n"), 2u);
  EXPECT_EQ(extensions_left("%high = xor <16 x i32> %odd, splat (i32 -2147483648)\n"), 0u);
  EXPECT_EQ(extensions_left("%high = and <16 x i32> %odd, splat (i32 2147483647)\n"), 0u);
  EXPECT_EQ(extensions_left("%abs = and <16 x i32> %odd, splat (i32 2147483647)\n"
                            "%high = xor <16 x i32> %abs, splat (i32 -2147483648)\n"),
            0u);
  EXPECT_EQ(extensions_left("%high = xor <16 x i32> %other, splat (i32 -2147483648)\n"), 2u);
  EXPECT_EQ(extensions_left("%high = xor <16 x i32> %odd, %other\n"), 2u);
}

// A NaN check is implied by one of what is computed from the value, behind a body with branches, too; but not
// by one that is made on some ways only.
TEST(CodeGenerator, DropsImpliedChecks) {
  const std::string checked = R"(
      %v = fmul <16 x float> %a, %b
      %v.nan = fcmp uno <16 x float> %v, zeroinitializer
      %v.doubt = select <16 x i1> %v.nan, <16 x i32> splat (i32 -1), <16 x i32> %c
      br i1 %rare, label %slow, label %behind
    slow:
      %s = fadd <16 x float> %v, %a
      %s.nan = fcmp uno <16 x float> %s, zeroinitializer
      %s.doubt = select <16 x i1> %s.nan, <16 x i32> splat (i32 -1), <16 x i32> %v.doubt
      br label %behind
    behind:
      %merged = phi <16 x i32> [ %v.doubt, %begin ], [ %s.doubt, %slow ])";
  const auto checks_left = [&](const std::string& behind) {
    llvm::LLVMContext context;
    const auto module = run_with_doubt(context, checked + behind);
    if (!module) return 0u;
    drop_implied_checks(*module->getFunction("run"));
    return count_of(*module, llvm::Instruction::Select);
  };
  EXPECT_EQ(checks_left("\n%run = or <16 x i32> %merged, zeroinitializer"), 2u);
  EXPECT_EQ(checks_left(R"(
      %w = fmul <16 x float> %v, %b
      %w.nan = fcmp uno <16 x float> %w, zeroinitializer
      %run = select <16 x i1> %w.nan, <16 x i32> splat (i32 -1), <16 x i32> %merged)"),
            2u);
}

// Of a lane's rounds through a loop: by one of the same round, but not by one behind all of them, which knows
// the last round's number only.
TEST(CodeGenerator, DropsImpliedChecksOfRounds) {
  const auto checks_left = [](const std::string& in_round, const std::string& behind) {
    const std::string text = R"(
      define i1 @run(float %a, float %b, i32 %n) {
      begin:
        br label %round
      round:
        %i = phi i32 [ 0, %begin ], [ %j, %round ]
        %sum = phi float [ %a, %begin ], [ %s, %round ]
        %doubt = phi i32 [ 0, %begin ], [ %s.doubt, %round ]
        %x = sitofp i32 %i to float
        %v = fmul float %x, %b
        %v.nan = fcmp uno float %v, 0.0
        %v.doubt = select i1 %v.nan, i32 -1, i32 %doubt
        )" + in_round + R"(
        %s.nan = fcmp uno float %s, 0.0
        %s.doubt = select i1 %s.nan, i32 -1, i32 %v.doubt
        %j = add i32 %i, 1
        %more = icmp ult i32 %j, %n
        br i1 %more, label %round, label %behind
      behind:
        )" + behind + R"(
        %doubted = icmp ne i32 %all, 0
        ret i1 %doubted
      })";
    llvm::LLVMContext context;
    const auto module = module_of(text, context);
    if (!module) return 0u;
    llvm::Function& function = *module->getFunction("run");
    mark_doubt_of_rounds(*function.back().getTerminator()->getPrevNode());
    drop_implied_checks(function);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs()));
    return count_of(*module, llvm::Instruction::Select);
  };
  const std::string no_more = "%all = or i32 %s.doubt, 0";
  EXPECT_EQ(checks_left("%s = fadd float %sum, %v", no_more), 1u);
  EXPECT_EQ(checks_left("%s = fadd float %sum, %x", no_more), 2u);
  EXPECT_EQ(checks_left("%s = fadd float %sum, %x", R"(
        %w = fadd float %v, %a
        %w.nan = fcmp uno float %w, 0.0
        %all = select i1 %w.nan, i32 -1, i32 %s.doubt)"),
            3u);
}

// The same with numbers of 64 bits, of which neg is an operation on their bits.
TEST(CodeGenerator, DropsImpliedChecksOfDoubles) {
  llvm::LLVMContext context;
  const auto module = run_with_doubt(context, R"(
      %x = fpext <16 x float> %a to <16 x double>
      %v = fmul <16 x double> %x, %x
      %v.nan = fcmp uno <16 x double> %v, zeroinitializer
      %v.doubt = select <16 x i1> %v.nan, <16 x i32> splat (i32 -1), <16 x i32> %c
      %v.bits = bitcast <16 x double> %v to <16 x i64>
      %v.neg = xor <16 x i64> %v.bits, splat (i64 u0x8000000000000000)
      %y = bitcast <16 x i64> %v.neg to <16 x double>
      %w = fmul <16 x double> %y, %x
      %w.nan = fcmp uno <16 x double> %w, zeroinitializer
      %run = select <16 x i1> %w.nan, <16 x i32> splat (i32 -1), <16 x i32> %v.doubt)");
  ASSERT_TRUE(module);
  drop_implied_checks(*module->getFunction("run"));
  EXPECT_EQ(count_of(*module, llvm::Instruction::Select), 1u);
}

// A sum of shifts, as of generators of random numbers, is one product without carries.
TEST(CodeGenerator, MultipliesSumsOfShifts) {
  if (!__builtin_cpu_supports("pclmul")) GTEST_SKIP() << "no PCLMULQDQ on this host";
  const auto bytes_of = [](unsigned shifts) {
    std::string sum = "k ^ x";
    for (unsigned by = 2; by < 2 + shifts; ++by)
      sum += " ^ (x << " + std::to_string(by) + ") ^ (x >> " + std::to_string(by) + ")";
    const std::string source =
        "__kernel void mix_bits(__global uint* out, uint x, uint n) { for (uint k = 0; "
        "k < n; ++k) x = " +
        sum + "; out[get_global_id(0)] = x; }";
    return code_bytes(source.c_str(), "mix_bits", "");
  };
  const size_t few = bytes_of(8), many = bytes_of(24);
  EXPECT_LT(many, few + 64) << few << " " << many;
}

// Words of the only store to scratch, by bits, that are not stored.
unsigned unused_words(const std::string& behind) {
  const std::vector<uint32_t>& code =
      interpreter::assembled("scratch_store_b128 off, v[0:3], off\n" + behind, 32);
  const auto begin = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{begin, begin + code.size() * sizeof code[0]}};
  const Routine routine = find_routine(ranges, begin, 32, kMaxVgprs);
  return analyse(routine).nodes[0].unused_words;
}

TEST(CodeGenerator, StoresWhatIsReadOfSpilledGroups) {
  const std::string load = "scratch_load_b128 v[4:7], off, off\ns_waitcnt vmcnt(0)\n";
  EXPECT_EQ(unused_words(load + "global_store_b32 v8, v5, s[0:1]"), 0b1101u);
  EXPECT_EQ(unused_words(load + "global_store_b64 v8, v[6:7], s[0:1]"), 0b0011u);
  EXPECT_EQ(unused_words("s_nop 0"), 0b1111u);
  // Stored again elsewhere, where one is read.
  EXPECT_EQ(unused_words(load + "scratch_store_b128 off, v[4:7], off offset:16\n"
                                "scratch_load_b32 v9, off, off offset:24\ns_waitcnt vmcnt(0)\n"
                                "global_store_b32 v8, v9, s[0:1]"),
            0b1011u);
  // Anything may be read.
  EXPECT_EQ(
      unused_words("scratch_load_b32 v9, v10, off\ns_waitcnt vmcnt(0)\nglobal_store_b32 v8, v9, s[0:1]"), 0u);
  EXPECT_EQ(unused_words("flat_load_b32 v9, v[10:11]\ns_waitcnt vmcnt(0)\nglobal_store_b32 v8, v9, s[0:1]"),
            0u);
  EXPECT_EQ(unused_words("s_getreg_b32 s2, hwreg(HW_REG_SHADER_CYCLES)\ns_setpc_b64 s[30:31]"), 0u);
}

// Of a row's function nothing goes from one wave to the next, also where the last write of a register is of
// one that the code begins with.
TEST(CodeGenerator, KeepsNothingFromWaveToWave) {
  const std::string guarded =
      "v_lshl_or_b32 v1, s15, 5, v0\nv_cmp_gt_u32 vcc_lo, s2, v1\n"
      "s_and_saveexec_b32 s3, vcc_lo\ns_cbranch_execz end\n"
      "v_mov_b32 v2, 0\nv_lshlrev_b64 v[1:2], 2, v[1:2]\n"
      "v_add_co_u32 v4, vcc_lo, s4, v1\n"
      "v_add_co_ci_u32 v5, vcc_lo, s5, v2, vcc_lo\n"
      "global_load_b32 v6, v[4:5], off\ns_waitcnt vmcnt(0)\n"
      "v_add_nc_u32 v6, v6, v6\nv_add_co_u32 v1, vcc_lo, s6, v1\n"
      "v_add_co_ci_u32 v2, vcc_lo, s7, v2, vcc_lo\n"
      "global_store_b32 v[1:2], v6, off\nend:\ns_endpgm\n";
  const auto bytes = [](const std::string& text) {
    const Routine routine = routine_of(text, 32, {.group_id_register = 15, .counting_lanes = 32});
    const Facts facts = analyse(routine);
    EXPECT_TRUE(has_row_function(routine, facts));
    return generate(routine, facts, 0, 0, "x86-64-v4").code_bytes;
  };
  const size_t same = bytes(guarded);
  const size_t others = bytes(replaced(replaced(replaced(guarded, "v_add_co_u32 v1", "v_add_co_u32 v7"),
                                                "v_add_co_ci_u32 v2", "v_add_co_ci_u32 v8"),
                                       "v[1:2], v6", "v[7:8], v6"));
  EXPECT_LE(same, others + 16);
}

// What has ways of its own on hosts without AVX-512.
TEST(CodeGenerator, MakesObjectsOfAllKindsOfAccesses) {
  const char* const source = R"(
    __kernel void accesses(__global float* particles, __global const uchar* pixels, __global uint* counts,
                           __global double* numbers) {
      uint i = get_global_id(0), stack[40];
      #pragma unroll 1
      for (uint k = 0; k < 40; ++k) stack[(k * i) % 40] = k;
      float3 p = vload3(2 * i, particles);
      vstore3(p * 2.0f, 2 * i, particles);
      atomic_add(&counts[pixels[3 * i] + stack[i % 40]], pixels[3 * i + 1]);
      atomic_cmpxchg(&counts[i & 7], i, pixels[3 * i + 2]);
      numbers[i] = sqrt(numbers[i]) / numbers[i + 1];
    })";
  for (const char* processor : {"x86-64-v3", "x86-64-v4"})
    EXPECT_GT(code_bytes(source, "accesses", processor), 0u) << processor;
}

// Rows of tables are looked up in registers where the host can do so, and only there.
TEST(CodeGenerator, LooksRowsUpAsTheHostCan) {
  const char* const source = R"(
    __kernel void roots(__global float* data) {
      uint i = get_global_id(0);
      data[i] = native_rsqrt(data[i]) + native_exp2(data[i]) + native_sin(data[i]);
    })";
  const size_t v3 = code_bytes(source, "roots", "x86-64-v3"), v4 = code_bytes(source, "roots", "x86-64-v4");
  EXPECT_GT(v4, 0u);
  EXPECT_LT(5 * v4, 3 * v3) << v4 << " " << v3;
}

// A number of 64 bits is not taken apart behind one instruction and put together before the next one.
TEST(CodeGenerator, KeepsDoublesWhole) {
  const auto chain = [](const char* type) {
    return "__kernel void chain(__global " + std::string(type) + "* data) { uint i = get_global_id(0); " +
           type + R"( x = data[i], s = x;
      #pragma unroll
      for (int k = 0; k < 60; ++k) s = fma(s, x, s);
      data[i] = s; })";
  };
  const size_t singles = code_bytes(chain("float").c_str(), "chain", "x86-64-v4"),
               doubles = code_bytes(chain("double").c_str(), "chain", "x86-64-v4");
  EXPECT_GT(singles, 0u);
  EXPECT_LT(doubles, 2 * singles) << doubles << " " << singles;
}

// A scalar that is half of a mask and half of another register.
TEST(CodeGenerator, KeepsBothHalvesOfScalarsThatAreMasks) {
  constexpr uint32_t kFlushesInputs = 0x1a8;
  EXPECT_EQ(compare("s_pack_lh_b32_b16 s33, ttmp9, s38\nv_mul_f32 v8, v3, v20\n"
                    "s_waitcnt_vscnt null, 0\nv_cndmask_b32 v15, v22, v21, s38",
                    {.seed = 7, .mode = kFlushesInputs}),
            "");
}

}  // namespace
}  // namespace lockstep::translator
