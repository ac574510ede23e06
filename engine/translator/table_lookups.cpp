#include "engine/translator/table_lookups.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Support/KnownBits.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

namespace lockstep::translator {
namespace {

namespace match = llvm::PatternMatch;
using llvm::Value;

constexpr const char* kMark = "lockstep.lds";
constexpr unsigned kLanes = 16;

// Where a gather's lanes may be.
struct Table {
  Value* base = nullptr;
  Value* index = nullptr;  // bytes behind `first`, for each lane
  uint64_t first = 0;      // of the table, behind the base
  uint64_t bytes = 0;
  unsigned in_dword = 0;  // the bits of the index that say where in a dword the value begins
};

// How many of a dword's lowest bytes all users want.
unsigned bytes_used(const llvm::Instruction& dwords) {
  unsigned bytes = 1;
  for (const llvm::User* user : dwords.users()) {
    const llvm::APInt* by = nullptr;
    if (!match::match(user, match::m_Shl(match::m_Specific(&dwords), match::m_APInt(by)))) return 4;
    bytes =
        std::max<unsigned>(bytes, 4 - static_cast<unsigned>(std::min<uint64_t>(by->getZExtValue() / 8, 3)));
  }
  return bytes;
}

std::optional<Table> table_of(llvm::IntrinsicInst& gather, const llvm::DataLayout& layout) {
  const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(gather.getType());
  auto* places = llvm::dyn_cast<llvm::GetElementPtrInst>(gather.getArgOperand(0));
  if (!type || type->getNumElements() != kLanes || !type->getElementType()->isIntegerTy(32)) return {};
  if (!places || places->getNumIndices() != 1 || !places->getSourceElementType()->isIntegerTy(8) ||
      !places->getPointerOperandType()->isPointerTy())
    return {};
  Table table{places->getPointerOperand(), places->getOperand(1)};
  if (table.index->getType() != type) return {};
  const llvm::APInt* offset = nullptr;
  Value* inner = nullptr;
  if (match::match(table.index, match::m_Add(match::m_Value(inner), match::m_APInt(offset)))) {
    table.index = inner;
    table.first = offset->getZExtValue();
  }
  const llvm::KnownBits bits = llvm::computeKnownBits(table.index, layout);
  table.bytes = (bits.getMaxValue().getZExtValue() & ~uint64_t{3}) + 4;
  const unsigned aligned = std::min(bits.countMinTrailingZeros(), 2u);
  table.in_dword = 3u & ~((1u << aligned) - 1);
  if (table.bytes > kMostBytesOfTable || table.first % 4 != 0 ||
      table.first + kMostBytesOfTable > kReadableLdsBytes)
    return {};
  if (bytes_used(gather) > 1u << aligned) return {};
  return table;
}

class Lookups {
 public:
  explicit Lookups(llvm::Function& function) : ir_(function.getContext()) {
    rows_ = llvm::FixedVectorType::get(ir_.getInt32Ty(), kLanes);
  }

  void run(llvm::BasicBlock& block, const llvm::DataLayout& layout) {
    known_rows_.clear();
    last_ = nullptr;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
      auto* gather = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      const bool is_marked =
          gather && gather->getIntrinsicID() == llvm::Intrinsic::masked_gather && gather->getMetadata(kMark);
      const auto table = is_marked ? table_of(*gather, layout) : std::nullopt;
      if (!table) {
        if (instruction.mayWriteToMemory()) known_rows_.clear();
        continue;
      }
      ir_.SetInsertPoint(gather);
      Value* words = look_up(*table);
      gather->replaceAllUsesWith(ir_.CreateSelect(gather->getArgOperand(2), words, gather->getArgOperand(3)));
      gather->eraseFromParent();
    }
  }

 private:
  Value* splat(uint32_t number) { return ir_.CreateVectorSplat(kLanes, ir_.getInt32(number)); }

  Value* row(const Table& table, uint64_t number) {
    const uint64_t offset = table.first + number * kBytesOfTableRow;
    Value*& known = known_rows_[{table.base, offset}];
    if (!known)
      known = ir_.CreateAlignedLoad(
          rows_, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), table.base, offset), llvm::Align(4));
    return known;
  }

  // LLVM would make a permutation of one row for all lookups of a block, then one of the next row, with all
  // that is between in memory. Nothing, for which it believes that the last lookup is needed, keeps them in
  // order.
  Value* after_last_lookup(Value* index) {
    if (!last_) return index;
    auto* type = llvm::FunctionType::get(rows_, {rows_, rows_}, false);
    return ir_.CreateCall(llvm::InlineAsm::get(type, "", "=v,0,v", false), {index, last_});
  }

  Value* look_up(Table table) {
    table.index = after_last_lookup(table.index);
    std::vector<Value*> rows;
    for (uint64_t i = 0; i * kBytesOfTableRow < table.bytes; ++i) rows.push_back(row(table, i));
    Value* words = last_ = pick_dwords(ir_, rows, table.index);
    if (table.in_dword == 0) return words;
    return ir_.CreateLShr(words, ir_.CreateShl(ir_.CreateAnd(table.index, splat(table.in_dword)), splat(3)));
  }

  llvm::IRBuilder<> ir_;
  llvm::FixedVectorType* rows_ = nullptr;
  Value* last_ = nullptr;  // words of this block's last lookup
  // Rows of tables that were loaded since the last write to memory.
  std::map<std::pair<Value*, uint64_t>, Value*> known_rows_;
};

}  // namespace

Value* pick_dwords(llvm::IRBuilder<>& ir, const std::vector<Value*>& rows, Value* index) {
  const auto splat = [&](uint64_t number) {
    return ir.CreateVectorSplat(kLanes, ir.getInt32(static_cast<uint32_t>(number)));
  };
  Value* place = ir.CreateLShr(index, splat(2));
  std::vector<Value*> words;
  for (size_t i = 0; i < rows.size(); i += 2)
    words.push_back(i + 1 < rows.size() ? ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {},
                                                             {rows[i], place, rows[i + 1]})
                                        : ir.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_si_512, {},
                                                             {rows[i], place}));
  // Each bit of the index above those of a permutation halves what is left.
  for (uint64_t bit = 2 * kBytesOfTableRow; words.size() > 1; bit *= 2) {
    Value* is_upper = ir.CreateICmpNE(ir.CreateAnd(index, splat(bit)), splat(0));
    std::vector<Value*> left;
    for (size_t i = 0; i < words.size(); i += 2)
      left.push_back(i + 1 < words.size() ? ir.CreateSelect(is_upper, words[i + 1], words[i]) : words[i]);
    words = std::move(left);
  }
  return words[0];
}

void mark_lds_gather(llvm::Instruction& gather) {
  gather.setMetadata(kMark, llvm::MDNode::get(gather.getContext(), {}));
}

void permute_tables(llvm::Function& function) {
  Lookups lookups(function);
  for (llvm::BasicBlock& block : function) lookups.run(block, function.getParent()->getDataLayout());
}

}  // namespace lockstep::translator
