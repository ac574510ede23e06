// Functions of LLVM's as text.
#pragma once

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <memory>
#include <string>

namespace lockstep::translator {

// Null, which fails the test, if the text is wrong.
inline std::unique_ptr<llvm::Module> module_of(const std::string& text, llvm::LLVMContext& context) {
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_TRUE(module) << problem.getMessage().str() << problem.getLineContents().str() << '\n' << text;
  return module;
}

}  // namespace lockstep::translator
