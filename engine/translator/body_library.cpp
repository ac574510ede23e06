#include "engine/translator/body_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <set>
#include <stdexcept>
#include <string>

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
  std::set<std::string> own;
  for (const llvm::Function& function : module)
    if (!function.isDeclaration()) own.insert(function.getName().str());
  if (llvm::Linker::linkModules(module, std::move(*bodies), llvm::Linker::Flags::LinkOnlyNeeded))
    throw std::runtime_error("the embedded bodies do not link");
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || own.contains(function.getName().str())) continue;
    const bool is_body = function.getName().starts_with("lockstep_");
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    function.setComdat(nullptr);
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width",
                                  "prefer-vector-width", "stack-protector-buffer-size"})
      function.removeFnAttr(attribute);
    // What clang left out of line inside bodies stays so.
    if (is_body) function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace lockstep::translator
