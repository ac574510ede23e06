#include "engine/translator/body_library.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>

#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "engine/translator/scalar_lanes.h"

// Embedded by bitcode.S.
extern "C" const char lockstep_translator_bodies_begin[], lockstep_translator_bodies_end[];

namespace lockstep::translator {

struct BodySession::Library {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> bodies;

  Library() {
    const llvm::StringRef bitcode(
        lockstep_translator_bodies_begin,
        static_cast<size_t>(lockstep_translator_bodies_end - lockstep_translator_bodies_begin));
    auto module = llvm::getOwningLazyBitcodeModule(llvm::MemoryBuffer::getMemBuffer(bitcode, "bodies", false),
                                                   context, true);
    if (!module)
      throw std::runtime_error("the embedded bodies are damaged: " + llvm::toString(module.takeError()));
    bodies = std::move(*module);
  }
};

namespace {

// Reads the body; what clang knew of aliases between its pointers is of no use once they are gone.
void materialise(llvm::Function& body) {
  if (!body.isMaterializable()) return;
  if (llvm::Error error = body.materialize())
    throw std::runtime_error("an embedded body is damaged: " + llvm::toString(std::move(error)));
  for (const char* attribute : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width",
                                "prefer-vector-width", "stack-protector-buffer-size"})
    body.removeFnAttr(attribute);
  for (llvm::BasicBlock& block : body)
    for (llvm::Instruction& instruction : block)
      instruction.dropUnknownNonDebugMetadata({llvm::LLVMContext::MD_prof, llvm::LLVMContext::MD_range});
}

// Makes in the target module what a copied body refers to.
class Referenced final : public llvm::ValueMaterializer {
 public:
  Referenced(llvm::Module& module, std::vector<llvm::Function*>& pending)
      : module_(module), pending_(pending) {}

  llvm::Value* materialize(llvm::Value* value) override {
    if (auto* function = llvm::dyn_cast<llvm::Function>(value)) {
      llvm::Function* copy = module_.getFunction(function->getName());
      if (!copy) {
        copy = llvm::Function::Create(function->getFunctionType(), llvm::GlobalValue::ExternalLinkage,
                                      function->getName(), module_);
        copy->copyAttributesFrom(function);
      }
      if (!function->isDeclaration() && copy->isDeclaration()) pending_.push_back(copy);
      return copy;
    }
    if (auto* table = llvm::dyn_cast<llvm::GlobalVariable>(value)) {
      llvm::GlobalVariable* copy = module_.getNamedGlobal(table->getName());
      if (!copy)
        copy = new llvm::GlobalVariable(module_, table->getValueType(), table->isConstant(),
                                        llvm::GlobalValue::InternalLinkage, table->getInitializer(),
                                        table->getName());
      copy->setAlignment(table->getAlign());
      return copy;
    }
    return nullptr;
  }

 private:
  llvm::Module& module_;
  std::vector<llvm::Function*>& pending_;
};

// Bodies ask whether the host has AVX-512, as numeric/rows.h does: of the two ways that
// they have the other one goes, which may have instructions that the host lacks.
void answer_for_host(llvm::Function& function, bool has_masks) {
  std::vector<llvm::CallInst*> questions;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& instruction : block)
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction))
        if (call->getCalledFunction() && call->getCalledFunction()->getName() == "lockstep_host_has_masks")
          questions.push_back(call);
  if (questions.empty()) return;
  for (llvm::CallInst* call : questions) {
    call->replaceAllUsesWith(llvm::ConstantInt::getBool(call->getType(), has_masks));
    call->eraseFromParent();
  }
  for (llvm::BasicBlock& block : function) llvm::ConstantFoldTerminator(&block, true);
  llvm::removeUnreachableBlocks(function);
}

}  // namespace

// Those that no session has.
struct BodySession::Idle {
  std::mutex mutex;
  std::vector<std::unique_ptr<Library>> libraries;

  // Never destroyed: threads may still translate when the process ends.
  static Idle& instance() {
    static Idle& idle = *new Idle;
    return idle;
  }
};

BodySession::BodySession() {
  {
    Idle& idle = Idle::instance();
    std::lock_guard lock(idle.mutex);
    if (!idle.libraries.empty()) {
      library_ = std::move(idle.libraries.back());
      idle.libraries.pop_back();
    }
  }
  if (!library_) library_ = std::make_unique<Library>();
}

BodySession::~BodySession() {
  Idle& idle = Idle::instance();
  std::lock_guard lock(idle.mutex);
  idle.libraries.push_back(std::move(library_));
}

llvm::LLVMContext& BodySession::context() {
  return library_->context;
}

void BodySession::import(llvm::Module& module, bool has_masks) {
  llvm::Module& bodies = *library_->bodies;
  const auto body_of = [&](const llvm::Function& function) {
    llvm::StringRef name = function.getName();
    name.consume_back(kOfOneLane);
    return bodies.getFunction(name);
  };
  std::vector<llvm::Function*> pending;
  for (llvm::Function& function : module) {
    const llvm::Function* body = body_of(function);
    if (function.isDeclaration() && body && !body->isDeclaration()) pending.push_back(&function);
  }
  Referenced referenced(module, pending);
  while (!pending.empty()) {
    llvm::Function& function = *pending.back();
    pending.pop_back();
    if (!function.isDeclaration()) continue;
    llvm::Function& body = *body_of(function);
    materialise(body);
    llvm::ValueToValueMapTy values;
    for (unsigned i = 0; i < body.arg_size(); ++i) values[body.getArg(i)] = function.getArg(i);
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    llvm::CloneFunctionInto(&function, &body, values, llvm::CloneFunctionChangeType::DifferentModule, returns,
                            "", nullptr, nullptr, &referenced);
    answer_for_host(function, has_masks);
    if (function.getName().ends_with(kOfOneLane)) compute_one_lane(function);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    // What clang left out of line inside bodies stays so.
    if (function.getName().starts_with("lockstep_")) function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace lockstep::translator
