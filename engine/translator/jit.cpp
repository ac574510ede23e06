#include "engine/translator/jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <atomic>
#include <cstring>
#include <stdexcept>

#include "engine/translator/runtime.h"
#include "engine/translator/stopwatch.h"
#include "numeric/exact.h"

namespace lockstep::translator {
namespace {

template <class T>
T checked(llvm::Expected<T> value) {
  if (!value) throw std::runtime_error("LLVM ORC: " + llvm::toString(value.takeError()));
  return static_cast<T&&>(*value);
}
void checked(llvm::Error error) {
  if (error) throw std::runtime_error("LLVM ORC: " + llvm::toString(std::move(error)));
}

// One for the process; what is loaded comes and goes.
llvm::orc::LLJIT& jit() {
  static llvm::orc::LLJIT& instance = [&]() -> llvm::orc::LLJIT& {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto made = checked(llvm::orc::LLJITBuilder().create());
    llvm::orc::SymbolMap symbols;
    const auto add = [&](const char* name, void* address) {
      symbols[made->mangleAndIntern(name)] = {
          llvm::orc::ExecutorAddr::fromPtr(address),
          llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
    };
    for (const RuntimeSymbol& symbol : runtime_symbols()) add(symbol.name, symbol.address);
    for (const numeric::ExactSymbol& symbol : numeric::exact_symbols()) add(symbol.name, symbol.address);
    // The code generator may turn copies and fills into these.
    add("memcpy", reinterpret_cast<void*>(&std::memcpy));
    add("memset", reinterpret_cast<void*>(&std::memset));
    add("memmove", reinterpret_cast<void*>(&std::memmove));
    checked(made->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
    // Never destroyed: code may still run when the process ends.
    return *made.release();
  }();
  return instance;
}

}  // namespace

struct LoadedCode::Library {
  llvm::orc::JITDylib* dylib;
};

LoadedCode::LoadedCode(Object& object, const char* symbol) : library_(std::make_unique<Library>()) {
  Stopwatch watch;
  static std::atomic<uint64_t> number{0};
  llvm::orc::LLJIT& instance = jit();
  library_->dylib =
      &checked<llvm::orc::JITDylib&>(instance.createJITDylib("routine" + std::to_string(number++)));
  library_->dylib->addToLinkOrder(instance.getMainJITDylib());
  checked(instance.addObjectFile(*library_->dylib, llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(
                                                       object.bytes.data(), object.bytes.size()))));
  address_ = address(symbol);
  object.stages.link += watch.lap();
}

LoadedCode::~LoadedCode() {
  llvm::consumeError(jit().getExecutionSession().removeJITDylib(*library_->dylib));
}

void* LoadedCode::address(const char* symbol) const {
  return checked(jit().lookup(*library_->dylib, symbol)).toPtr<void*>();
}

}  // namespace lockstep::translator
