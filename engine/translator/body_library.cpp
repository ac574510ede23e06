#include "engine/translator/body_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <stdexcept>

// Embedded by bitcode.S.
extern "C" const char lockstep_translator_bodies_begin[], lockstep_translator_bodies_end[];

namespace lockstep::translator {

void import_bodies(llvm::Module& module) {
  const llvm::StringRef bitcode(
      lockstep_translator_bodies_begin,
      static_cast<size_t>(lockstep_translator_bodies_end - lockstep_translator_bodies_begin));
  // Lazy: only functions that are linked are read.
  auto bodies = llvm::getOwningLazyBitcodeModule(llvm::MemoryBuffer::getMemBuffer(bitcode, "bodies", false),
                                                 module.getContext(), true);
  if (!bodies)
    throw std::runtime_error("the embedded bodies are damaged: " + llvm::toString(bodies.takeError()));
  (*bodies)->setDataLayout(module.getDataLayout());
  (*bodies)->setTargetTriple(module.getTargetTriple());
  std::vector<std::string> wanted;
  for (const llvm::Function& function : module)
    if (function.isDeclaration() && (*bodies)->getFunction(function.getName()) &&
        !(*bodies)->getFunction(function.getName())->isDeclaration())
      wanted.push_back(function.getName().str());
  if (llvm::Linker::linkModules(module, std::move(*bodies), llvm::Linker::Flags::LinkOnlyNeeded))
    throw std::runtime_error("the embedded bodies do not link");
  for (const std::string& name : wanted) {
    llvm::Function& function = *module.getFunction(name);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width",
                                  "prefer-vector-width", "stack-protector-buffer-size"})
      function.removeFnAttr(attribute);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace lockstep::translator
