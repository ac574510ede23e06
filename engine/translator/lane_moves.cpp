#include "engine/translator/lane_moves.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <array>
#include <string>
#include <vector>

#include "engine/translator/lane_values.h"

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::BasicBlock;
using llvm::Value;

constexpr unsigned kLanes = 16;
constexpr const char *kWideStore = "lockstep.store", *kSeldom = "lockstep.seldom";
using Each = std::array<Value*, kLanes>;

// Where the lanes of an access are.
struct Places {
  Value* pointer = nullptr;    // from which all count; else null
  llvm::Type* unit = nullptr;  // of the offsets
  Value* offsets = nullptr;    // <16 x i32> or <16 x i64>; <16 x ptr> without a pointer
};

// Words of ones for those of the bits in `each` that the number has.
Value* lanes_having(llvm::IRBuilder<>& ir, Value* bits, Value* each) {
  Value* all = ir.CreateVectorSplat(kLanes, ir.CreateZExt(bits, ir.getInt32Ty()));
  return ir.CreateSExt(ir.CreateICmpEQ(ir.CreateAnd(all, each), each), each->getType());
}

// LLVM 19 takes what it knows of some elements for true of their neighbours (of a choice between the lanes'
// numbers and those of the lanes before, seen two by two), and leaves out that the upper half of a pair is no
// part of an index: the host read from anywhere. Behind nothing at all, an empty inline assembly, it knows
// nothing.
Value* unknown(llvm::IRBuilder<>& ir, Value* pair) {
  auto* type = llvm::FunctionType::get(pair->getType(), {pair->getType()}, false);
  return ir.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", false), {pair});
}

// Of 32 bits, two by two, as it takes fewest instructions.
Each elements_in_pairs(llvm::IRBuilder<>& ir, Value* all, bool are_unknown) {
  Each result{};
  Value* pairs = ir.CreateBitCast(all, llvm::FixedVectorType::get(ir.getInt64Ty(), kLanes / 2));
  for (unsigned lane = 0; lane < kLanes; lane += 2) {
    Value* pair = ir.CreateExtractElement(pairs, uint64_t{lane / 2});
    if (are_unknown) pair = unknown(ir, pair);
    result[lane] = ir.CreateTrunc(pair, ir.getInt32Ty());
    result[lane + 1] = ir.CreateTrunc(ir.CreateLShr(pair, 32), ir.getInt32Ty());
  }
  return result;
}

class LaneMoves {
 public:
  LaneMoves(llvm::Function& function, Value* readable)
      : function_(function), readable_(readable), ir_(function.getContext()) {
    words_ = llvm::FixedVectorType::get(ir_.getInt32Ty(), kLanes);
    numbers_ = llvm::FixedVectorType::get(ir_.getInt64Ty(), kLanes);
  }

  // Gathers of all lanes from wherever they are.
  void run_gathers() {
    move_each([this](llvm::CallInst& call) {
      return is_gather(call) && !call.hasMetadata(kSeldom) && is_full(call.getArgOperand(2)) &&
             !llvm::isa<llvm::Constant>(places_of(call.getArgOperand(0)).offsets);
    });
  }

  // Scatters of elements that hosts with moves under a mask have no instruction for.
  void run_scatters() {
    move_each([](llvm::CallInst& call) {
      return is_wide_store(call) || (is_scatter(call) && is_part_of_dword(*call.getArgOperand(0)));
    });
  }

  void run() {
    const std::vector<llvm::CallInst*> side_by_side = calls_that([](llvm::CallInst& call) {
      return call.getIntrinsicID() == llvm::Intrinsic::masked_load ||
             call.getIntrinsicID() == llvm::Intrinsic::masked_store;
    });
    move_each(
        [](llvm::CallInst& call) { return is_gather(call) || is_scatter(call) || is_wide_store(call); });
    for (llvm::CallInst* move : side_by_side) {
      ir_.SetInsertPoint(move);
      mask_by_words(*move);
    }
  }

 private:
  template <class Wanted>
  std::vector<llvm::CallInst*> calls_that(const Wanted& are_wanted) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && are_wanted(*call))
        calls.push_back(call);
    return calls;
  }

  template <class Wanted>
  void move_each(const Wanted& are_wanted) {
    for (llvm::CallInst* move : calls_that(are_wanted)) {
      ir_.SetInsertPoint(move);
      if (is_gather(*move))
        gather(*move);
      else
        scatter(*move);
    }
  }

  static bool is_gather(const llvm::CallInst& call) {
    return call.getIntrinsicID() == llvm::Intrinsic::masked_gather;
  }

  static bool is_scatter(const llvm::CallInst& call) {
    return call.getIntrinsicID() == llvm::Intrinsic::masked_scatter;
  }

  static bool is_wide_store(const llvm::CallInst& call) {
    const llvm::Function* callee = call.getCalledFunction();
    return callee && callee->getName().starts_with(kWideStore);
  }

  static bool is_part_of_dword(const Value& elements) {
    return elements.getType()->getScalarSizeInBits() < 32;
  }

  static bool is_full(const Value* on) {
    const auto* constant = llvm::dyn_cast<llvm::Constant>(on);
    return constant && constant->isAllOnesValue();
  }

  Places places_of(Value* pointers) {
    auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(pointers);
    if (address && address->getNumIndices() == 1 && address->getPointerOperandType()->isPointerTy()) {
      Value* offsets = address->getOperand(1);
      if (offsets->getType() == words_ || offsets->getType() == numbers_)
        return {address->getPointerOperand(), address->getSourceElementType(), offsets};
    }
    return {nullptr, nullptr, pointers};
  }

  // A mask of lanes as words of ones or zeros. LLVM takes vectors of i1 apart where they are combined with
  // bits of a number: here each part becomes words, and these are combined.
  Value* as_words(Value* on) {
    Value *a = nullptr, *b = nullptr;
    if (match::match(on, match::m_And(match::m_Value(a), match::m_Value(b))))
      return ir_.CreateAnd(as_words(a), as_words(b));
    if (Value* bit = llvm::getSplatValue(on))
      return ir_.CreateVectorSplat(kLanes, ir_.CreateSExt(bit, ir_.getInt32Ty()));
    if (match::match(on, match::m_BitCast(match::m_Value(a))) && a->getType()->isIntegerTy(kLanes))
      return lanes_as_words(ir_, a);
    return ir_.CreateSExt(on, words_);
  }

  // As lanes_as_words(), with the constants in memory: LLVM would have them in registers in front of all
  // loops, where these have values of their own to keep.
  Value* words_of_seldom(Value* bits) {
    llvm::Module& module = *function_.getParent();
    if (!each_bit_) {
      auto* bits_of_lanes =
          llvm::ConstantDataArray::get(function_.getContext(), llvm::ArrayRef(bits_of_each_lane()));
      each_bit_ = new llvm::GlobalVariable(module, bits_of_lanes->getType(), true,
                                           llvm::GlobalValue::PrivateLinkage, bits_of_lanes);
    }
    auto* type = llvm::FunctionType::get(ir_.getPtrTy(), {ir_.getPtrTy()}, false);
    Value* place = ir_.CreateCall(llvm::InlineAsm::get(type, "", "=r,0", true), {each_bit_});
    return lanes_having(ir_, bits, ir_.CreateAlignedLoad(words_, place, llvm::Align(4)));
  }

  static std::vector<uint32_t> bits_of_each_lane() {
    std::vector<uint32_t> bits;
    for (unsigned lane = 0; lane < kLanes; ++lane) bits.push_back(1u << lane);
    return bits;
  }

  // The host has moves of neighbours under a mask of words.
  void mask_by_words(llvm::CallInst& move) {
    const bool is_load = move.getIntrinsicID() == llvm::Intrinsic::masked_load;
    llvm::Use& mask = move.getArgOperandUse(is_load ? 2 : 3);
    if (llvm::isa<llvm::Constant>(mask)) return;
    const auto* some = llvm::dyn_cast<llvm::ShuffleVectorInst>(mask);
    Value* on = some ? some->getOperand(0) : mask.get();
    Value *bits = nullptr, *words = nullptr;
    if (match::match(on, match::m_BitCast(match::m_Value(bits))) && bits->getType()->isIntegerTy(kLanes))
      words = words_of_seldom(bits);
    else
      words = as_words(on);
    if (some) words = ir_.CreateShuffleVector(words, some->getShuffleMask());
    mask.set(ir_.CreateIsNeg(words));
  }

  // As the bits of a number.
  Value* as_bits(Value* on) {
    Value *a = nullptr, *b = nullptr;
    if (match::match(on, match::m_And(match::m_Value(a), match::m_Value(b))))
      return ir_.CreateAnd(as_bits(a), as_bits(b));
    if (Value* bit = llvm::getSplatValue(on)) return ir_.CreateSExt(bit, ir_.getInt16Ty());
    return ir_.CreateBitCast(on, ir_.getInt16Ty());
  }

  // Whether it is made of constants that differ between lanes, further back than LLVM looks for what it
  // knows.
  static bool is_of_lane_numbers(const Value* all) {
    constexpr size_t kMost = 64;
    llvm::SmallSetVector<const Value*, 16> made_of;
    made_of.insert(all);
    for (size_t i = 0; i < made_of.size(); ++i) {
      const Value* each = made_of[i];
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(each)) {
        if (constant->getType()->isVectorTy() && !constant->getSplatValue(true)) return true;
        continue;
      }
      const auto* instruction = llvm::dyn_cast<llvm::Instruction>(each);
      if (!instruction || llvm::isa<llvm::PHINode, llvm::LoadInst>(instruction)) continue;
      made_of.insert(instruction->value_op_begin(), instruction->value_op_end());
      if (made_of.size() > kMost) return true;
    }
    return false;
  }

  Each elements(Value* all) {
    if (all->getType() == words_ && !llvm::isa<llvm::Constant>(all))
      return elements_in_pairs(ir_, all, is_of_lane_numbers(all));
    Each result{};
    for (unsigned lane = 0; lane < kLanes; ++lane)
      result[lane] = ir_.CreateExtractElement(all, uint64_t{lane});
    return result;
  }

  Value* pointer_to(const Places& places, Value* offset) {
    if (!places.pointer) return offset;
    return ir_.CreateGEP(places.unit, places.pointer, ir_.CreateSExt(offset, ir_.getInt64Ty()));
  }

  // By the host's own instruction, which takes half as long again on Zen 3 (16 lanes in 6.2 ns), and is
  // short.
  void gather_shortly(llvm::CallInst& call) {
    Value *on = call.getArgOperand(2), *otherwise = call.getArgOperand(3);
    auto* type = llvm::cast<llvm::FixedVectorType>(call.getType());
    const bool is_wide = type->getScalarSizeInBits() == 64;
    const Places places = places_of(call.getArgOperand(0));
    const bool is_narrow = places.pointer && places.offsets->getType() == words_;
    Value *pointer = llvm::ConstantPointerNull::get(ir_.getPtrTy()), *offsets = nullptr;
    unsigned scale = 1;
    if (places.pointer) {
      pointer = places.pointer;
      offsets = places.offsets;
      scale = static_cast<unsigned>(places.unit->getPrimitiveSizeInBits().getFixedValue() / 8);
    } else {
      offsets = ir_.CreatePtrToInt(places.offsets, numbers_);
    }
    Value* lanes = is_full(on) ? static_cast<Value*>(llvm::Constant::getAllOnesValue(words_)) : as_words(on);
    const unsigned at_once = is_wide || !is_narrow ? 4 : 8;
    const llvm::Intrinsic::ID of_words =
        is_narrow ? llvm::Intrinsic::x86_avx2_gather_d_d_256 : llvm::Intrinsic::x86_avx2_gather_q_d_256;
    const llvm::Intrinsic::ID of_pairs =
        is_narrow ? llvm::Intrinsic::x86_avx2_gather_d_q_256 : llvm::Intrinsic::x86_avx2_gather_q_q_256;
    const llvm::Intrinsic::ID gathered = is_wide ? of_pairs : of_words;
    std::vector<Value*> parts;
    const auto part_of = [&](Value* all, unsigned first) {
      std::vector<int> indices;
      for (unsigned i = 0; i < at_once; ++i) indices.push_back(static_cast<int>(first + i));
      return ir_.CreateShuffleVector(all, indices);
    };
    for (unsigned first = 0; first < kLanes; first += at_once) {
      Value* mask = part_of(lanes, first);
      if (is_wide) mask = ir_.CreateSExt(mask, llvm::FixedVectorType::get(ir_.getInt64Ty(), at_once));
      parts.push_back(ir_.CreateIntrinsic(
          gathered, {},
          {part_of(otherwise, first), pointer, part_of(offsets, first), mask, ir_.getInt8(scale)}));
    }
    for (unsigned count = static_cast<unsigned>(parts.size()); count > 1; count /= 2)
      for (unsigned i = 0; i < count / 2; ++i) {
        std::vector<int> both;
        for (unsigned j = 0; j < 2 * kLanes / count; ++j) both.push_back(static_cast<int>(j));
        parts[i] = ir_.CreateShuffleVector(parts[2 * i], parts[2 * i + 1], both);
      }
    call.replaceAllUsesWith(parts[0]);
    call.eraseFromParent();
  }

  void gather(llvm::CallInst& call) {
    if (call.hasMetadata(kSeldom)) return gather_shortly(call);
    Value *on = call.getArgOperand(2), *otherwise = call.getArgOperand(3);
    auto* type = llvm::cast<llvm::FixedVectorType>(call.getType());
    const bool is_wide = type->getScalarSizeInBits() == 64;
    Places places = places_of(call.getArgOperand(0));
    Value* lanes = is_full(on) ? nullptr : as_words(on);
    if (lanes && places.pointer && places.offsets->getType() == words_) {
      places.offsets = ir_.CreateAnd(places.offsets, lanes);
    } else if (lanes) {
      places.offsets = ir_.CreateSelect(ir_.CreateIsNeg(lanes), call.getArgOperand(0),
                                        ir_.CreateVectorSplat(kLanes, readable_));
      places.pointer = nullptr;
    }
    Each loaded = elements(places.offsets);
    // Of two dwords volatile, else LLVM may make two loads of it.
    for (Value*& lane : loaded)
      lane = ir_.CreateAlignedLoad(type->getElementType(), pointer_to(places, lane), llvm::Align(1), is_wide);
    const bool is_zero_else =
        llvm::isa<llvm::Constant>(otherwise) && llvm::cast<llvm::Constant>(otherwise)->isNullValue();
    if (is_wide && is_zero_else) replace_words(call, loaded, lanes);
    if (!is_wide || !call.use_empty()) {
      Value* all = llvm::PoisonValue::get(type);
      for (unsigned lane = 0; lane < kLanes; ++lane)
        all = ir_.CreateInsertElement(all, loaded[lane], uint64_t{lane});
      if (lanes && is_zero_else)
        all = ir_.CreateAnd(all, ir_.CreateSExtOrTrunc(lanes, type));
      else if (lanes)
        all = ir_.CreateSelect(ir_.CreateIsNeg(lanes), all, otherwise);
      call.replaceAllUsesWith(all);
    }
    call.eraseFromParent();
  }

  // Of elements of two dwords mostly one dword and the other one is wanted. So they are put into registers
  // such that one shuffle inside of each half has the words of eight lanes.
  void replace_words(llvm::CallInst& call, const Each& loaded, Value* lanes) {
    std::vector<llvm::Instruction*> low, high;
    for (llvm::User* user : call.users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (user->getType() == words_ && match::match(user, match::m_Trunc(match::m_Specific(&call)))) {
        low.push_back(instruction);
      } else if (match::match(user, match::m_LShr(match::m_Specific(&call), match::m_SpecificInt(32)))) {
        for (llvm::User* shifted : user->users())
          if (shifted->getType() == words_ && llvm::isa<llvm::TruncInst>(shifted))
            high.push_back(llvm::cast<llvm::Instruction>(shifted));
      }
    }
    if (low.empty() && high.empty()) return;
    auto* four = llvm::FixedVectorType::get(ir_.getInt64Ty(), 4);
    auto* eight = llvm::FixedVectorType::get(ir_.getInt32Ty(), 8);
    std::array<Value*, 4> registers{};
    constexpr std::array<unsigned, 4> kFirst = {0, 1, 4, 5}, kSecond = {2, 3, 6, 7};
    for (unsigned i = 0; i < 4; ++i) {
      Value* all = llvm::PoisonValue::get(four);
      for (unsigned at = 0; at < 4; ++at)
        all = ir_.CreateInsertElement(all, loaded[i / 2 * 8 + (i % 2 == 0 ? kFirst : kSecond)[at]],
                                      uint64_t{at});
      registers[i] = ir_.CreateBitCast(all, eight);
    }
    for (const int word : {0, 1}) {
      const auto& users = word == 0 ? low : high;
      if (users.empty()) continue;
      std::array<Value*, 2> halves{};
      for (unsigned half = 0; half < 2; ++half)
        halves[half] = ir_.CreateShuffleVector(
            registers[2 * half], registers[2 * half + 1],
            {word, 2 + word, 8 + word, 10 + word, 4 + word, 6 + word, 12 + word, 14 + word});
      Value* all = ir_.CreateShuffleVector(halves[0], halves[1],
                                           {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
      if (lanes) all = ir_.CreateAnd(all, lanes);
      for (llvm::Instruction* user : users) {
        llvm::Value* shifted = word == 1 ? user->getOperand(0) : nullptr;
        user->replaceAllUsesWith(all);
        user->eraseFromParent();
        if (shifted && shifted->use_empty()) llvm::cast<llvm::Instruction>(shifted)->eraseFromParent();
      }
    }
  }

  // Of what is stored for a lane: so many of the lowest bits of a vector's element, or two or four words.
  struct Part {
    llvm::Type* type = nullptr;
    std::vector<Value*> words;
    unsigned offset = 0;  // in bytes
  };

  std::vector<Part> parts_of(llvm::CallInst& call) {
    if (!llvm::isa<llvm::IntrinsicInst>(call)) {
      const std::vector<Value*> words(call.arg_begin(), call.arg_end() - 2);
      if (words.size() == 4) return {{llvm::FixedVectorType::get(ir_.getInt32Ty(), 4), words}};
      std::vector<Part> parts;
      for (unsigned word = 0; word < words.size(); word += 2) {
        if (word + 1 < words.size())
          parts.push_back({ir_.getInt64Ty(), {words[word], words[word + 1]}, 4 * word});
        else
          parts.push_back({ir_.getInt32Ty(), {words[word]}, 4 * word});
      }
      return parts;
    }
    Value *all = call.getArgOperand(0), *low = nullptr, *high = nullptr;
    llvm::Type* type = all->getType()->getScalarType();
    const auto together =
        match::m_c_Or(match::m_ZExt(match::m_Value(low)),
                      match::m_Shl(match::m_ZExt(match::m_Value(high)), match::m_SpecificInt(32)));
    if (all->getType() == numbers_ && match::match(all, together) && low->getType() == words_ &&
        high->getType() == words_)
      return {{type, {low, high}}};
    if (match::match(all, match::m_Trunc(match::m_Value(low))) && low->getType() == words_)
      return {{type, {low}}};
    return {{type, {all}}};
  }

  Each elements(const Part& part) {
    Each result{};
    if (part.words.size() == 1) {
      result = elements(part.words[0]);
      for (Value*& element : result) element = ir_.CreateTrunc(element, part.type);
      return result;
    }
    if (part.words.size() == 4) {
      const auto lanes = lanes_in_quarters(ir_, {part.words[0], part.words[1], part.words[2], part.words[3]});
      for (unsigned lane = 0; lane < kLanes; ++lane) result[lane] = four_of_lane(ir_, lanes, lane);
      return result;
    }
    auto* pairs = llvm::FixedVectorType::get(ir_.getInt64Ty(), kLanes / 2);
    for (const unsigned upper : {0u, 2u}) {
      std::vector<int> order;
      for (unsigned lane = upper; lane < kLanes; lane += 4)
        for (const unsigned i : {0u, 1u})
          for (const unsigned word : {0u, kLanes}) order.push_back(static_cast<int>(lane + i + word));
      Value* both = ir_.CreateBitCast(ir_.CreateShuffleVector(part.words[0], part.words[1], order), pairs);
      for (unsigned i = 0; i < kLanes / 2; ++i)
        result[i / 2 * 4 + upper + i % 2] = ir_.CreateExtractElement(both, uint64_t{i});
    }
    return result;
  }

  void store(Value* element, Value* pointer, const Part& part) {
    // LLVM takes stores of vectors apart that are put together from words, unless they are volatile.
    ir_.CreateAlignedStore(element, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), pointer, part.offset),
                           llvm::Align(1), part.words.size() == 4);
  }

  void scatter(llvm::CallInst& call) {
    const std::vector<Part> parts = parts_of(call);
    const bool is_intrinsic = llvm::isa<llvm::IntrinsicInst>(call);
    const Places places = places_of(call.getArgOperand(is_intrinsic ? 1 : call.arg_size() - 2));
    Value* on = call.getArgOperand(call.arg_size() - 1);
    BasicBlock* done = nullptr;
    const bool is_seldom = call.hasMetadata(kSeldom);
    if (is_seldom || !is_full(on)) {
      Value* bits = as_bits(on);
      BasicBlock* before = call.getParent();
      done = before->splitBasicBlock(&call, "scattered");
      before->getTerminator()->eraseFromParent();
      ir_.SetInsertPoint(before);
      BasicBlock* all = nullptr;
      if (!is_seldom) {
        BasicBlock* some = new_block("some_lanes", done);
        all = new_block("all_lanes", some);
        ir_.CreateCondBr(ir_.CreateICmpEQ(bits, ir_.getInt16(0xffff)), all, some);
        ir_.SetInsertPoint(some);
      }
      store_some(places, parts, bits, done);
      if (is_seldom) {
        call.eraseFromParent();
        return;
      }
      ir_.SetInsertPoint(all);
    }
    const Each offsets = elements(places.offsets);
    std::vector<Each> stored;
    for (const Part& part : parts) stored.push_back(elements(part));
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Value* pointer = pointer_to(places, offsets[lane]);
      for (size_t i = 0; i < parts.size(); ++i) store(stored[i][lane], pointer, parts[i]);
    }
    if (done) ir_.CreateBr(done);
    call.eraseFromParent();
  }

  void store_some(const Places& places, const std::vector<Part>& parts, Value* bits, BasicBlock* done) {
    BasicBlock *before = ir_.GetInsertBlock(), *loop = new_block("lane", done);
    unsigned row = 0;
    const auto keep = [&](Value* all) {
      if (row == rows_.size())
        rows_.push_back(llvm::IRBuilder<>(&*function_.getEntryBlock().begin()).CreateAlloca(numbers_));
      ir_.CreateStore(all, rows_[row++]);
    };
    keep(places.offsets);
    for (const Part& part : parts)
      for (Value* word : part.words) keep(word);
    Value* none = ir_.getInt16(0);
    ir_.CreateCondBr(ir_.CreateICmpEQ(bits, none), done, loop);
    ir_.SetInsertPoint(loop);
    llvm::PHINode* left = ir_.CreatePHI(bits->getType(), 2);
    Value* lane = ir_.CreateZExt(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, ir_.getTrue()),
                                 ir_.getInt64Ty());
    row = 0;
    const auto element = [&](Value* all) -> Value* {
      llvm::Type* type = all->getType()->getScalarType();
      return ir_.CreateLoad(type, ir_.CreateGEP(type, rows_[row++], lane));
    };
    Value* pointer = pointer_to(places, element(places.offsets));
    for (const Part& part : parts) {
      if (part.words.size() == 4) {
        Value* four = llvm::PoisonValue::get(part.type);
        for (unsigned word = 0; word < 4; ++word)
          four = ir_.CreateInsertElement(four, element(part.words[word]), word);
        store(four, pointer, part);
        continue;
      }
      Value* stored = element(part.words[0]);
      if (part.words.size() == 2)
        stored = ir_.CreateOr(ir_.CreateZExt(stored, part.type),
                              ir_.CreateShl(ir_.CreateZExt(element(part.words[1]), part.type), 32));
      store(ir_.CreateTrunc(stored, part.type), pointer, part);
    }
    Value* rest = ir_.CreateAnd(left, ir_.CreateSub(left, ir_.getInt16(1)));
    left->addIncoming(bits, before);
    left->addIncoming(rest, loop);
    ir_.CreateCondBr(ir_.CreateICmpEQ(rest, none), done, loop);
  }

  BasicBlock* new_block(const char* name, BasicBlock* before) {
    return BasicBlock::Create(function_.getContext(), name, &function_, before);
  }

  llvm::Function& function_;
  Value* readable_;
  llvm::IRBuilder<> ir_;
  llvm::FixedVectorType *words_ = nullptr, *numbers_ = nullptr;
  llvm::GlobalVariable* each_bit_ = nullptr;
  // What loops over lanes read: offsets, and the words that are stored.
  std::vector<llvm::AllocaInst*> rows_;
};

}  // namespace

Value* lanes_as_words(llvm::IRBuilder<>& ir, Value* bits) {
  std::vector<llvm::Constant*> each_bit;
  for (unsigned lane = 0; lane < kLanes; ++lane) each_bit.push_back(ir.getInt32(1u << lane));
  auto* each = llvm::ConstantVector::get(each_bit);
  return lanes_having(ir, bits, each);
}

std::array<Value*, 16> offsets_of_lanes(llvm::IRBuilder<>& ir, Value* offsets) {
  return elements_in_pairs(ir, offsets, true);
}

void mark_seldom(llvm::Instruction& move) {
  move.setMetadata(kSeldom, llvm::MDNode::get(move.getContext(), {}));
}

llvm::CallInst* store_elements(llvm::IRBuilder<>& ir, llvm::ArrayRef<Value*> words, Value* places,
                               Value* on) {
  std::vector<Value*> arguments(words);
  arguments.insert(arguments.end(), {places, on});
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  return ir.CreateCall(module.getOrInsertFunction(kWideStore + std::to_string(words.size()),
                                                  llvm::FunctionType::get(ir.getVoidTy(), types, false)),
                       arguments);
}

void move_lane_by_lane(llvm::Function& function, Value* readable) {
  LaneMoves(function, readable).run();
}

void scatter_lane_by_lane(llvm::Function& function) {
  LaneMoves(function, nullptr).run_scatters();
}

void gather_lane_by_lane(llvm::Function& function) {
  LaneMoves(function, nullptr).run_gathers();
}

}  // namespace lockstep::translator
