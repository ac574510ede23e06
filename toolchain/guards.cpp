// lockstep-guards.so: a pass that clang runs last, before it makes code. LLVM 19 makes wrong code of some
// constructs (docs/kernel-fuzzing.md has what comes out); here they get a form that it does not recognise.
// Most of it is an empty piece of assembly round a value: no instruction, but nothing is known of the value
// behind it.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include <vector>

namespace {

using llvm::Value;

// Of integers up to 64 bits and vectors of them.
bool can_be_hidden(const llvm::Type* type) {
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) type = vector->getElementType();
  return !llvm::isa<llvm::ScalableVectorType>(type) && type->isIntegerTy() &&
         type->getIntegerBitWidth() <= 64;
}

Value* hidden_scalar(llvm::IRBuilder<>& builder, Value* value) {
  llvm::Type* type = value->getType();
  llvm::Type* held = builder.getIntNTy(type->getIntegerBitWidth() <= 32 ? 32 : 64);
  auto* nothing = llvm::InlineAsm::get(llvm::FunctionType::get(held, {held}, false), "", "=v,0",
                                       /*hasSideEffects=*/false);
  Value* wide = builder.CreateZExt(value, held);
  return builder.CreateTrunc(builder.CreateCall(nothing, {wide}), type);
}

// The same value before `place`, of which nothing is known.
Value* hidden(llvm::Instruction* place, Value* value) {
  llvm::IRBuilder<> builder(place);
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (!vector) return hidden_scalar(builder, value);
  Value* result = llvm::PoisonValue::get(value->getType());
  for (unsigned i = 0; i < vector->getNumElements(); ++i)
    result = builder.CreateInsertElement(result,
                                         hidden_scalar(builder, builder.CreateExtractElement(value, i)), i);
  return result;
}

void hide_operand(llvm::Instruction& instruction, unsigned index) {
  instruction.setOperand(index, hidden(&instruction, instruction.getOperand(index)));
}

// Unsigned division: operands whose upper bits are copies of the sign count as numbers of fewer bits, and if
// both have 24 or 32 the quotient is made of so many, although a number with all of them set is a large one.
bool guard_division(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  if (instruction.getOpcode() != llvm::Instruction::UDiv &&
      instruction.getOpcode() != llvm::Instruction::URem)
    return false;
  const unsigned bits = instruction.getType()->getScalarSizeInBits();
  if (!can_be_hidden(instruction.getType()) || bits < 32) return false;
  // A quotient by a constant of 32 bits is a product.
  if (bits == 32 && llvm::isa<llvm::Constant>(instruction.getOperand(1))) return false;
  constexpr unsigned kFewestCopies = 9;  // a number of 24 bits with its sign, in 32
  bool changed = false;
  for (const unsigned index : {0u, 1u}) {
    const Value* operand = instruction.getOperand(index);
    if (llvm::ComputeNumSignBits(operand, layout) < kFewestCopies ||
        llvm::isKnownNonNegative(operand, llvm::SimplifyQuery(layout)))
      continue;
    hide_operand(instruction, index);
    changed = true;
  }
  return changed;
}

// The inverse of 64 bits of which one half is known: its OR with something loses that half.
bool guard_inverse(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  if (instruction.getOpcode() != llvm::Instruction::Xor ||
      instruction.getType()->getScalarSizeInBits() != 64 || !can_be_hidden(instruction.getType()) ||
      !llvm::isa<llvm::Constant>(instruction.getOperand(1)))
    return false;
  const llvm::KnownBits known = llvm::computeKnownBits(instruction.getOperand(0), layout);
  const llvm::APInt bits = known.Zero | known.One;
  if (!bits.extractBits(32, 32).isAllOnes() && !bits.extractBits(32, 0).isAllOnes()) return false;
  hide_operand(instruction, 0);
  return true;
}

const Value* without_casts(const Value* value) {
  for (;;) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (!instruction) return value;
    const bool masks = instruction->getOpcode() == llvm::Instruction::And &&
                       llvm::isa<llvm::Constant>(instruction->getOperand(1));
    if (!masks && !llvm::isa<llvm::ZExtInst, llvm::SExtInst, llvm::TruncInst>(instruction)) return value;
    value = instruction->getOperand(0);
  }
}

bool is_opcode(const Value* value, unsigned opcode) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  return instruction && instruction->getOpcode() == opcode;
}

bool is_product(const Value* value) {
  return is_opcode(without_casts(value), llvm::Instruction::Mul);
}

bool is_product_of_bytes(const Value* value, const llvm::DataLayout& layout) {
  const auto* product = llvm::dyn_cast<llvm::Instruction>(without_casts(value));
  if (!product || product->getOpcode() != llvm::Instruction::Mul) return false;
  const unsigned bits = product->getType()->getScalarSizeInBits();
  for (const Value* factor : product->operands()) {
    const unsigned zeros = llvm::computeKnownBits(factor, layout).countMinLeadingZeros();
    if (bits > 8 + zeros && bits > 7 + llvm::ComputeNumSignBits(factor, layout)) return false;
  }
  return true;
}

// A product of bytes plus a function of a product becomes V_DOT4, as if the function were a sum.
bool guard_dot_product(llvm::Instruction& instruction, const llvm::DataLayout& layout) {
  if (instruction.getOpcode() != llvm::Instruction::Add || !can_be_hidden(instruction.getType()))
    return false;
  for (const unsigned index : {0u, 1u}) {
    const auto* other = llvm::dyn_cast<llvm::Instruction>(without_casts(instruction.getOperand(index)));
    if (!other || other->getOpcode() == llvm::Instruction::Add ||
        !is_product_of_bytes(instruction.getOperand(1 - index), layout))
      continue;
    if (llvm::none_of(other->operands(), [](const llvm::Use& use) { return is_product(use.get()); }))
      continue;
    hide_operand(instruction, index);
    return true;
  }
  return false;
}

// An element of a vector in memory by an index: the load becomes one of the element and is taken for uniform.
// FREEZE is no instruction either, and goes with any type.
bool guard_element(llvm::Instruction& instruction) {
  auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction);
  if (!extract || llvm::isa<llvm::ConstantInt>(extract->getIndexOperand())) return false;
  auto* load = llvm::dyn_cast<llvm::LoadInst>(extract->getVectorOperand());
  if (!load) return false;
  // A value that is known not to be undefined would not be frozen.
  load->dropUBImplyingAttrsAndMetadata();
  llvm::IRBuilder<> builder(extract);
  extract->setOperand(0, builder.CreateFreeze(load));
  return true;
}

bool is_negative_zero(const llvm::Constant* constant) {
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(constant);
  return number && number->isNegative() && number->isZero();
}

// The constant with hidden zeros for those that are -0; null if there are none.
Value* with_hidden_zeros(llvm::Instruction* place, Value* value) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant) return nullptr;
  llvm::IRBuilder<> builder(place);
  const auto zero = [&](llvm::Type* type) {
    return builder.CreateBitCast(hidden_scalar(builder, builder.getInt16(0x8000)), type);
  };
  if (is_negative_zero(constant)) return zero(constant->getType());
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
  Value* result = nullptr;
  for (unsigned i = 0; vector && i < vector->getNumElements(); ++i)
    if (is_negative_zero(constant->getAggregateElement(i)))
      result = builder.CreateInsertElement(result ? result : constant, zero(vector->getElementType()), i);
  return result;
}

// A vector of 16-bit floats that is put together from a variable and a -0, which is taken for 0.
bool guard_negative_zero(llvm::Instruction& instruction) {
  if (!llvm::isa<llvm::InsertElementInst, llvm::ShuffleVectorInst>(instruction) ||
      !instruction.getType()->getScalarType()->is16bitFPTy())
    return false;
  bool changed = false;
  for (const unsigned index : {0u, 1u}) {
    Value* value = with_hidden_zeros(&instruction, instruction.getOperand(index));
    if (!value) continue;
    instruction.setOperand(index, value);
    changed = true;
  }
  return changed;
}

struct Guards : llvm::PassInfoMixin<Guards> {
  static bool isRequired() { return true; }  // also without optimisation

  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    const llvm::DataLayout& layout = function.getParent()->getDataLayout();
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
    bool changed = false;
    for (llvm::Instruction* instruction : instructions)
      changed |= guard_division(*instruction, layout) || guard_inverse(*instruction, layout) ||
                 guard_dot_product(*instruction, layout) || guard_element(*instruction) ||
                 guard_negative_zero(*instruction);
    return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
  }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {
      LLVM_PLUGIN_API_VERSION, "lockstep-guards", LLVM_VERSION_STRING, [](llvm::PassBuilder& builder) {
        builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager& passes, llvm::OptimizationLevel) {
          passes.addPass(llvm::createModuleToFunctionPassAdaptor(Guards()));
        });
      }};
}
