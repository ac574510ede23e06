// Arrays of values that a loop chooses one by one become memory, and what only looks like one does not.
#include "engine/translator/indexed_registers.h"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

#include "tests/engine/translator/llvm_text.h"

namespace lockstep::translator {
namespace {

constexpr unsigned kElements = 5;

std::string number(unsigned i) {
  return std::to_string(i);
}

struct Parts {
  // Of each element: what it is in the next round, and of the store: the old value.
  std::string next = "%new", old = "%e";
  std::string between, behind;   // the load and the store; the store
  unsigned skipped = kElements;  // an element that is not stored
  unsigned copied = kElements;   // an element that the block behind takes as it was before the store
  bool is_split = false;         // the blocks, in the middle of the load and of the store
  std::string out = "%load4";
};

// A load at %i, and where it is odd a store at %j.
std::string loop(const Parts& parts) {
  std::string text =
      "define i32 @run(i32 %n, i32 %a, i32 %j) {\nentry:\n  br label %head\nhead:\n"
      "  %i = phi i32 [ 0, %entry ], [ %i.next, %tail ]\n";
  for (unsigned k = 0; k < kElements; ++k)
    text += "  %e" + number(k) + " = phi i32 [ " + number(k + 10) + ", %entry ], [ %joined" + number(k) +
            ", %tail ]\n";
  text += "  %load0 = add i32 %a, 0\n";
  const auto middle = [&](unsigned k, const std::string& label) {
    return parts.is_split && k == kElements / 2 ? "  br label %" + label + "\n" + label + ":\n" : "";
  };
  for (unsigned k = 0; k < kElements; ++k)
    text += middle(k, "loads") + "  %is" + number(k) + " = icmp eq i32 %i, " + number(k) + "\n  %l" +
            number(k) + " = select i1 %is" + number(k) + ", i32 %e" + number(k) + ", i32 " +
            (k == 0 ? "%load0" : "%l" + number(k - 1)) + "\n";
  text += "  %load4 = add i32 %l4, %i\n" + parts.between +
          "  %odd = trunc i32 %load4 to i1\n"
          "  br i1 %odd, label %store, label %tail\nstore:\n  %x = mul i32 %load4, 3\n";
  for (unsigned k = 0; k < kElements; ++k)
    if (k != parts.skipped)
      text += middle(k, "stores") + "  %at" + number(k) + " = icmp eq i32 %j, " + number(k) + "\n  %new" +
              number(k) + " = select i1 %at" + number(k) + ", i32 %x, i32 " + parts.old + number(k) + "\n";
  text += parts.behind + "  br label %tail\ntail:\n";
  const std::string from_head = parts.is_split ? ", %loads ], [ " : ", %head ], [ ",
                    from_store = parts.is_split ? ", %stores ]\n" : ", %store ]\n";
  for (unsigned k = 0; k < kElements; ++k)
    text += "  %joined" + number(k) + " = phi i32 [ %e" + number(k) + from_head +
            (k == parts.skipped ? "%e" : parts.next) + number(k) + from_store;
  if (parts.copied != kElements)
    text += "  %copy = phi i32 [ 0, %head ], [ %e" + number(parts.copied) + from_store;
  return text +
         "  %i.next = add i32 %i, 1\n  %more = icmp ult i32 %i.next, %n\n"
         "  br i1 %more, label %head, label %out\nout:\n  ret i32 " +
         parts.out + "\n}\n";
}

struct Result {
  bool any = false;
  unsigned loads = 0, stores = 0;
  std::string behind;  // loads and stores, L and S, of the block with the store, in their order
};

Result result_of(const Parts& parts) {
  llvm::LLVMContext context;
  const auto module = module_of(loop(parts), context);
  if (!module) return {};
  llvm::Function& function = *module->getFunction("run");
  Result result;
  result.any = index_registers(function);
  EXPECT_FALSE(llvm::verifyFunction(function, &llvm::errs()));
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) {
      const bool is_load = llvm::isa<llvm::LoadInst>(instruction),
                 is_store = llvm::isa<llvm::StoreInst>(instruction);
      result.loads += is_load;
      result.stores += is_store;
      if (block.getName() == "store" && (is_load || is_store)) result.behind += is_load ? 'L' : 'S';
    }
  return result;
}

TEST(IndexedRegisters, BecomeMemory) {
  const Result result = result_of({});
  EXPECT_TRUE(result.any);
  EXPECT_EQ(result.loads, 1u);
  EXPECT_EQ(result.stores, kElements + 1);
}

// As where a long block of the machine's code comes in parts.
TEST(IndexedRegisters, BecomeMemoryAcrossPartsOfBlocks) {
  Parts parts;
  parts.is_split = true;
  const Result result = result_of(parts);
  EXPECT_TRUE(result.any);
  EXPECT_EQ(result.loads, 1u);
  EXPECT_EQ(result.stores, kElements + 1);
}

TEST(IndexedRegisters, SingleElementsAreReadAsTheyAreThere) {
  Parts before;
  before.between = "  %single = add i32 %e2, 1\n";
  EXPECT_EQ(result_of(before).loads, 2u);
  Parts behind;
  behind.behind = "  %single = add i32 %new2, 1\n";
  EXPECT_EQ(result_of(behind).loads, 2u);
  // Before the new elements are read the old ones are there.
  Parts both;
  both.behind = "  %old = add i32 %e3, 1\n  %single = add i32 %new2, 1\n";
  EXPECT_EQ(result_of(both).loads, 3u);
  // Behind that they are what was loaded before the store, as registers that are copies of elements are.
  Parts old;
  old.behind = "  %single = add i32 %new2, 1\n  %old = add i32 %e3, %single\n";
  EXPECT_EQ(result_of(old).behind, "LSL");
  Parts copy;
  copy.behind = "  %single = add i32 %new2, 1\n";
  copy.copied = 3;
  EXPECT_EQ(result_of(copy).behind, "LSL");
}

TEST(IndexedRegisters, WhatIsNoArrayStaysAsItIs) {
  // The store changes something else than the elements.
  Parts other;
  other.old = "%l";
  EXPECT_FALSE(result_of(other).any);
  // Elements are exchanged for others from round to round.
  Parts without_store;
  without_store.next = "%l";
  EXPECT_FALSE(result_of(without_store).any);
  // A number in the middle is missing.
  Parts hole;
  hole.skipped = 2;
  EXPECT_FALSE(result_of(hole).any);
  // An element is read behind the loop.
  Parts out;
  out.out = "%joined1";
  EXPECT_FALSE(result_of(out).any);
}

}  // namespace
}  // namespace lockstep::translator
