// Numbers of 64 bits that are in two registers.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <utility>

namespace lockstep::translator {

// The number that has these words, as fold_pairs() knows it again.
llvm::Value* join_words(llvm::IRBuilderBase& ir, llvm::Value* low, llvm::Value* high);
// Of an instruction that joins a number: its words, the low one first, without what changes the number's
// sign.
std::optional<std::pair<llvm::Value*, llvm::Value*>> joined_words(llvm::Instruction& instruction);
// The number that these are taken out of, or null.
llvm::Value* number_of_words(llvm::Value* low, llvm::Value* high);

// Each instruction takes such numbers apart and the next one joins them again. Where both are in the function
// the number itself remains.
// `has_scalars`: of numbers, too, that are no vectors.
void fold_pairs(llvm::Function& function, bool has_scalars);

// Where code that is hardly ever executed joins a number, the number itself does not remain: all others would
// have to take it apart for their halves.
void keep_joined(llvm::Value* join);

}  // namespace lockstep::translator
