#include "toolchain/worker_retarget.h"

#include <llvm-c/Target.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "toolchain/worker_bitcode.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr char kDeviceTriple[] = "amdgcn-amd-amdhsa";

// Private, constant and generic have other numbers (SPIR 2.0 provisional specification, 2.2; LLVM's
// AMDGPUUsage, Address Spaces). Global and local have the same.
unsigned amdgcn_space(unsigned spir_space) {
  switch (spir_space) {
    case 0:
      return 5;
    case 2:
      return 4;
    case 4:
      return 0;
    default:
      return spir_space;
  }
}

// Types with their pointers in amdgcn's address spaces.
class AmdgcnTypes final : public llvm::ValueMapTypeRemapper {
 public:
  llvm::Type* remapType(llvm::Type* type) override {
    if (const auto known = known_.find(type); known != known_.end()) return known->second;
    llvm::Type* const made = make(type);
    known_[type] = made;
    return made;
  }

  // Whether a structure has a pointer to private memory in it: its size is another one, and copies of the
  // structure say how many bytes they copy.
  bool structures_shrink() const { return structures_shrink_; }

 private:
  llvm::Type* make(llvm::Type* type) {
    if (const auto* pointer = llvm::dyn_cast<llvm::PointerType>(type))
      return llvm::PointerType::get(type->getContext(), amdgcn_space(pointer->getAddressSpace()));
    if (const auto* array = llvm::dyn_cast<llvm::ArrayType>(type))
      return llvm::ArrayType::get(remapType(array->getElementType()), array->getNumElements());
    if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
      return llvm::VectorType::get(remapType(vector->getElementType()), vector->getElementCount());
    if (const auto* function = llvm::dyn_cast<llvm::FunctionType>(type)) {
      std::vector<llvm::Type*> parameters;
      for (llvm::Type* parameter : function->params()) parameters.push_back(remapType(parameter));
      return llvm::FunctionType::get(remapType(function->getReturnType()), parameters, function->isVarArg());
    }
    auto* structure = llvm::dyn_cast<llvm::StructType>(type);
    if (!structure || structure->isOpaque()) return type;
    std::vector<llvm::Type*> elements;
    for (llvm::Type* element : structure->elements()) {
      elements.push_back(remapType(element));
      const auto* pointer = llvm::dyn_cast<llvm::PointerType>(element);
      structures_shrink_ |= pointer && pointer->getAddressSpace() == 0;
    }
    if (structure->elements() == llvm::ArrayRef<llvm::Type*>(elements)) return type;
    return structure->isLiteral() ? llvm::StructType::get(type->getContext(), elements, structure->isPacked())
                                  : llvm::StructType::create(type->getContext(), elements,
                                                             structure->getName(), structure->isPacked());
  }

  std::map<llvm::Type*, llvm::Type*> known_;
  bool structures_shrink_ = false;
};

// The name of a function of OpenCL whose pointers' address spaces stand in it: PU3AS4f, generic, is PU3AS0f
// in ROCm's library, Pf, private, is PU3AS5f.
std::string amdgcn_name(llvm::StringRef name) {
  if (!name.consume_front("_Z")) return name.str();
  std::string out = "_Z";
  const auto copy = [&](size_t count) {
    out += name.take_front(count);
    name = name.drop_front(std::min(count, name.size()));
  };
  while (!name.empty()) {
    size_t length = 0;
    if (!name.consumeInteger(10, length)) {  // a name, with its length before
      out += std::to_string(length);
      copy(length);
    } else if (name.consume_front("P")) {
      unsigned space = 0;
      if (name.consume_front("U3AS") && !name.empty()) {
        space = unsigned(name.front() - '0');
        name = name.drop_front();
      }
      out += "PU3AS" + std::to_string(amdgcn_space(space));
    } else if (name.starts_with("Dv") || name.starts_with("S")) {  // a vector; a type that was there before
      copy(std::min(name.find('_'), name.size()) + 1);
    } else {
      copy(1);
    }
  }
  return out;
}

class Retargeting {
 public:
  Retargeting(llvm::Module& from, llvm::Module& to) : from_(from), to_(to) {}

  bool run(unsigned code_object_version, std::string& error) {
    for (llvm::GlobalVariable& variable : from_.globals()) declare(variable);
    for (llvm::Function& function : from_) declare(function);
    for (llvm::GlobalVariable& variable : from_.globals()) initialize(variable);
    for (llvm::Function& function : from_)
      if (!function.isDeclaration()) define(function);
    for (const llvm::NamedMDNode& node : from_.named_metadata()) {
      if (node.getName() == "llvm.dbg.cu") continue;  // comes with the functions
      llvm::NamedMDNode* const copy = to_.getOrInsertNamedMetadata(node.getName());
      for (const llvm::MDNode* operand : node.operands())
        copy->addOperand(llvm::MapMetadata(operand, values_, llvm::RF_None, &types_));
    }
    to_.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", code_object_version * 100);
    constexpr char kDebugVersion[] = "Debug Info Version";
    if (!to_.getModuleFlag(kDebugVersion))
      to_.addModuleFlag(llvm::Module::Warning, kDebugVersion, llvm::DEBUG_METADATA_VERSION);
    if (types_.structures_shrink())
      error =
          "a structure has a pointer to private memory in it, which has 4 bytes here and 8 in SPIR-V: give "
          "it "
          "an address space, or give the source";
    return error.empty();
  }

 private:
  static bool is_kernel(const llvm::Function& function) {
    return function.getCallingConv() == llvm::CallingConv::SPIR_KERNEL;
  }

  // A structure as argument of a kernel is in the kernel's arguments.
  static bool is_in_kernel_arguments(const llvm::Argument& argument) {
    return is_kernel(*argument.getParent()) && argument.hasByValAttr();
  }

  void declare(llvm::GlobalVariable& variable) {
    auto* copy = new llvm::GlobalVariable(
        to_, types_.remapType(variable.getValueType()), variable.isConstant(), variable.getLinkage(), nullptr,
        variable.getName(), nullptr, variable.getThreadLocalMode(), amdgcn_space(variable.getAddressSpace()));
    copy->copyAttributesFrom(&variable);
    if (!copy->hasLocalLinkage()) copy->setVisibility(llvm::GlobalValue::HiddenVisibility);
    values_[&variable] = copy;
  }

  void initialize(llvm::GlobalVariable& variable) {
    if (!variable.hasInitializer()) return;
    auto* copy = llvm::cast<llvm::GlobalVariable>(values_[&variable]);
    // LDS has no contents before the kernel writes it.
    copy->setInitializer(variable.getAddressSpace() == 3
                             ? llvm::PoisonValue::get(copy->getValueType())
                             : llvm::MapValue(variable.getInitializer(), values_, llvm::RF_None, &types_));
  }

  void declare(llvm::Function& function) {
    std::vector<llvm::Type*> parameters;
    for (const llvm::Argument& argument : function.args())
      parameters.push_back(is_in_kernel_arguments(argument) ? llvm::PointerType::get(to_.getContext(), 4)
                                                            : types_.remapType(argument.getType()));
    auto* type =
        llvm::FunctionType::get(types_.remapType(function.getReturnType()), parameters, function.isVarArg());
    const std::string name = function.isDeclaration() && !function.isIntrinsic()
                                 ? amdgcn_name(function.getName())
                                 : function.getName().str();
    llvm::Function* copy = llvm::Function::Create(type, function.getLinkage(), 0, name, &to_);
    copy->copyAttributesFrom(&function);
    adapt(function, *copy);
    // Address spaces are part of the names of intrinsics.
    if (function.isIntrinsic())
      if (const auto named = llvm::Intrinsic::remangleIntrinsicFunction(copy)) {
        copy->eraseFromParent();
        copy = *named;
      }
    values_[&function] = copy;
  }

  // The calling convention, attributes that hold a type, and how structures come to kernels.
  void adapt(const llvm::Function& function, llvm::Function& copy) {
    copy.setCallingConv(calling_convention(function.getCallingConv()));
    // Kernels are seen from outside, and nothing is put in the place of other functions.
    if (!copy.hasLocalLinkage())
      copy.setVisibility(is_kernel(function) ? llvm::GlobalValue::ProtectedVisibility
                                             : llvm::GlobalValue::HiddenVisibility);
    for (const llvm::Argument& argument : function.args()) {
      const unsigned number = argument.getArgNo();
      for (const llvm::Attribute::AttrKind kind :
           {llvm::Attribute::ByVal, llvm::Attribute::StructRet, llvm::Attribute::ByRef}) {
        if (!function.hasParamAttribute(number, kind)) continue;
        llvm::Type* const type = types_.remapType(function.getParamAttribute(number, kind).getValueAsType());
        const bool is_argument = is_in_kernel_arguments(argument);
        copy.removeParamAttr(number, kind);
        copy.addParamAttr(number, llvm::Attribute::get(to_.getContext(),
                                                       is_argument ? llvm::Attribute::ByRef : kind, type));
        if (!is_argument) continue;
        copy.removeParamAttr(number, llvm::Attribute::Alignment);
        copy.addParamAttr(number, llvm::Attribute::getWithAlignment(to_.getContext(),
                                                                    argument.getParamAlign().valueOrOne()));
      }
    }
  }

  void define(llvm::Function& function) {
    auto* copy = llvm::cast<llvm::Function>(values_[&function]);
    std::vector<std::pair<llvm::AllocaInst*, llvm::Argument*>> in_kernel_arguments;
    for (llvm::Argument& argument : function.args()) {
      llvm::Argument* const own = copy->getArg(argument.getArgNo());
      own->setName(argument.getName());
      values_[&argument] = own;
      if (!is_in_kernel_arguments(argument)) continue;
      auto* place =
          new llvm::AllocaInst(own->getParamByRefType(), 5, nullptr, own->getParamAlign().valueOrOne(), "");
      in_kernel_arguments.emplace_back(place, own);
      values_[&argument] = place;
    }
    llvm::SmallVector<llvm::ReturnInst*, 4> returns;
    llvm::CloneFunctionInto(copy, &function, values_, llvm::CloneFunctionChangeType::DifferentModule, returns,
                            "", nullptr, &types_);
    adapt(function, *copy);  // cloning has taken what the function has
    for (const auto& [place, argument] : in_kernel_arguments) {
      llvm::BasicBlock& entry = copy->getEntryBlock();
      place->insertInto(&entry, entry.begin());
      llvm::IRBuilder<> builder(&entry, std::next(place->getIterator()));
      builder.CreateMemCpy(place, place->getAlign(), argument, place->getAlign(),
                           to_.getDataLayout().getTypeAllocSize(place->getAllocatedType()));
    }
    for (llvm::BasicBlock& block : *copy)
      for (llvm::Instruction& instruction : block)
        if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
          call->setCallingConv(calling_convention(call->getCallingConv()));
  }

  static llvm::CallingConv::ID calling_convention(llvm::CallingConv::ID spir) {
    switch (spir) {
      case llvm::CallingConv::SPIR_KERNEL:
        return llvm::CallingConv::AMDGPU_KERNEL;
      case llvm::CallingConv::SPIR_FUNC:
        return llvm::CallingConv::C;
      default:
        return spir;
    }
  }

  llvm::Module& from_;
  llvm::Module& to_;
  llvm::ValueToValueMapTy values_;
  AmdgcnTypes types_;
};

bool set_data_layout(llvm::Module& module, std::string& error) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  const llvm::Target* const target = llvm::TargetRegistry::lookupTarget(kDeviceTriple, error);
  if (!target) return false;
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(kDeviceTriple, "gfx1100", "", {}, std::nullopt));
  module.setTargetTriple(kDeviceTriple);
  module.setDataLayout(machine->createDataLayout());
  return true;
}

}  // namespace

bool retarget_bitcode(const fs::path& from, const fs::path& to, const fs::path& printing,
                      unsigned code_object_version, std::string& error) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = read_module(from, context, error);
  if (!module) return false;
  if (!llvm::StringRef(module->getTargetTriple()).starts_with("spir")) {
    error = "is for " + module->getTargetTriple() + ", not for spir64";
    return false;
  }
  llvm::Module out(module->getName(), context);
  if (!set_data_layout(out, error)) return false;
  if (!Retargeting(*module, out).run(code_object_version, error)) return false;
  if (out.getFunction("printf")) {
    std::unique_ptr<llvm::Module> library = read_module(printing, context, error);
    if (!library) return false;
    if (llvm::Linker::linkModules(out, std::move(library))) {
      error = "printf cannot be linked with it";
      return false;
    }
  }
  llvm::raw_string_ostream problem(error);
  if (llvm::verifyModule(out, &problem)) return false;
  return write_module(out, to, error);
}

}  // namespace lockstep::toolchain
