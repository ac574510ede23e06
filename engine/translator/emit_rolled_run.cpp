// Runs of vector instructions as a loop over the chunks of the wave: half as much code to translate, whose
// registers go through memory.
#include "engine/translator/emit_rolled_run.h"

#include <algorithm>

#include "engine/translator/operands.h"

namespace lockstep::translator {

using llvm::BasicBlock;
using llvm::Value;

namespace {

// Shorter runs have as much to load and to store as the loop saves.
constexpr size_t kLeastVectorInstructions = 8;

// What is emitted in the same way for each chunk: nothing that counts lanes or rows through the wave.
bool is_same_for_all_chunks(const isa::Instruction& instruction) {
  if (instruction.dpp != isa::Dpp::none) return false;
  for (const Half& half : halves_of(instruction)) {
    const VectorSignature& signature = vector_signature(half.row->base);
    if (std::any_of(signature.parameters.begin(), signature.parameters.begin() + signature.count,
                    [](const Operand& each) { return each.kind == Operand::Kind::lane_numbers; }))
      return false;
    for (unsigned i = half.first; i < half.last; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      const bool is_result = operand.role == isa::Role::dst || operand.role == isa::Role::dst2;
      if (operand.type != isa::Type::mask || (is_result && !operand.read)) continue;
      if (const auto source = source_of(operand, instruction); source && source->is_constant) return false;
    }
  }
  return true;
}

}  // namespace

bool Emitter::is_in_long_straight_code() const {
  return routine_.is_long() && !is_in_loop_ && !row_;
}

// Sums of a base and lanes are noted as values, which addresses behind the run are looked for among; a loop
// leaves nothing but what it has stored.
bool Emitter::may_be_rolled(unsigned index) const {
  const Node& node = routine_.nodes[index];
  if (has_masked_gathers_ || chunks_ == 1 || !is_in_long_straight_code() || !plan_.is_empty()) return false;
  if (node.kind == NodeKind::scalar_alu) return !run_.mask_algebra.contains(index);
  return (node.kind == NodeKind::vector_alu || node.kind == NodeKind::dual) &&
         is_same_for_all_chunks(node.instruction) && !adds_half_of_base(node.instruction);
}

bool Emitter::is_run_rolled() const {
  const auto is_vector = [&](unsigned n) { return routine_.nodes[n].kind != NodeKind::scalar_alu; };
  return run_.may_be_rolled &&
         static_cast<size_t>(std::ranges::count_if(run_.nodes, is_vector)) >= kLeastVectorInstructions;
}

void Emitter::emit_rolled_run(const Snapshot& start) {
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) merge_waiting(chunk);
  RolledRun rolled(*this);
  rolled_ = &rolled;
  rolled.begin();
  emit_pass(false);
  rolled.end();
  rolled_ = nullptr;
  rolled.leave(start);
}

Emitter::RolledRun::RolledRun(Emitter& emitter)
    : e_(emitter),
      mask_(e_.routine_.wave_size == 32 ? e_.i32_ : e_.i64_),
      live_(e_.live_behind(e_.run_.nodes.back()).all()) {}

void Emitter::RolledRun::begin() {
  before_ = e_.ir_.GetInsertBlock();
  body_ = e_.new_block("chunk");
  at_entry_ = e_.ir_.CreateBr(body_);
  outside_ = e_.locals_;
  e_.locals_.vgpr = {};
  e_.locals_.off_lanes = {};
  e_.locals_.linear.clear();
  forget();
  e_.ir_.SetInsertPoint(body_);
  chunk_ = e_.ir_.CreatePHI(e_.i32_, 2);
  chunk_->addIncoming(e_.ir_.getInt32(0), before_);
  shift_ = e_.ir_.CreateZExtOrTrunc(e_.ir_.CreateShl(chunk_, 4), mask_);
  for (const auto& [number, chunks] : e_.run_.masks) {
    bool is_live = false;
    for (unsigned word = 0; word < e_.mask_words(); ++word) is_live |= live_[number + word];
    if (!is_live) continue;
    llvm::PHINode*& whole = masks_[number];
    whole = e_.ir_.CreatePHI(mask_, 2);
    whole->addIncoming(llvm::ConstantInt::get(mask_, 0), before_);
    whole->moveBefore(&*body_->begin());
  }
  if (!e_.run_.casts_doubt) return;
  doubt_ = e_.ir_.CreatePHI(e_.i16_, 2);
  doubt_->addIncoming(e_.ir_.getInt16(0), before_);
  doubt_->moveBefore(&*body_->begin());
  exec_at_start_ = e_.bits_of_register(kExec, 0);
  e_.ir_.CreateStore(llvm::Constant::getNullValue(e_.lanes_), e_.doubt_[0]);
}

// What was found out of values of the loop is no good behind it, nor the other way round.
void Emitter::RolledRun::forget() {
  e_.half_masks_.clear();
  e_.expanded_masks_.clear();
  e_.address_facts_.clear();
  e_.low_halves_.clear();
}

// A VGPR of the chunk in work.
Value* Emitter::RolledRun::load(unsigned number) {
  const bool is_with_wave = !outside_.held[number] && !outside_.vgpr[number][0];
  Value* all = nullptr;
  if (is_with_wave && !outside_.linear.contains(number)) {
    all = e_.wave_address(number);
  } else {
    all = row_of(number);
    const llvm::IRBuilderBase::InsertPointGuard guard(e_.ir_);
    e_.ir_.SetInsertPoint(at_entry_);
    std::swap(e_.locals_, outside_);
    e_.rolled_ = nullptr;
    for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk)
      e_.ir_.CreateStore(e_.vgpr(number, chunk), e_.ir_.CreateConstGEP1_32(e_.lanes_, all, chunk));
    e_.rolled_ = this;
    std::swap(e_.locals_, outside_);
  }
  loaded_[number] =
      e_.ir_.CreateAlignedLoad(e_.lanes_, e_.ir_.CreateGEP(e_.lanes_, all, chunk_), llvm::Align(4));
  return loaded_[number];
}

Value* Emitter::RolledRun::row_of(unsigned number) {
  llvm::AllocaInst*& row = e_.chunk_rows_[number];
  if (!row) row = e_.alloca_of(llvm::ArrayType::get(e_.lanes_, e_.chunks_));
  return row;
}

Value* Emitter::RolledRun::bits_of(std::span<Value* const> words) {
  Value* whole = e_.ir_.CreateZExt(words[0], mask_);
  if (words.size() == 2)
    whole = e_.ir_.CreateOr(whole, e_.ir_.CreateShl(e_.ir_.CreateZExt(words[1], mask_), 32));
  return e_.ir_.CreateTrunc(e_.ir_.CreateLShr(whole, shift_), e_.i16_);
}

void Emitter::RolledRun::end() {
  e_.merge_waiting(0);
  for (unsigned number = 0; number < kVgprs; ++number) {
    Value* value = e_.locals_.vgpr[number][0];
    const auto loaded = loaded_.find(number);
    if (!value || !live_[number] || (loaded != loaded_.end() && loaded->second == value)) continue;
    e_.ir_.CreateStore(value, e_.ir_.CreateGEP(e_.lanes_, row_of(number), chunk_));
    written_.push_back(number);
  }
  BasicBlock* last = e_.ir_.GetInsertBlock();
  for (const auto& [number, whole] : masks_) {
    Value* bits = e_.ir_.CreateShl(e_.ir_.CreateZExt(e_.run_.masks.at(number)[0].bits, mask_), shift_);
    Value* now = e_.ir_.CreateOr(whole, bits);
    whole->addIncoming(now, last);
    wholes_.emplace_back(number, now);
  }
  if (doubt_) {
    Value* doubted = e_.ir_.CreateICmpNE(e_.ir_.CreateLoad(e_.lanes_, e_.doubt_[0]),
                                         llvm::Constant::getNullValue(e_.lanes_));
    doubted_ =
        e_.ir_.CreateOr(doubt_, e_.ir_.CreateAnd(e_.ir_.CreateBitCast(doubted, e_.i16_), exec_at_start_));
    doubt_->addIncoming(doubted_, last);
  }
  Value* next = e_.ir_.CreateAdd(chunk_, e_.ir_.getInt32(1));
  chunk_->addIncoming(next, last);
  BasicBlock* done = e_.new_block("chunks_done");
  e_.ir_.CreateCondBr(e_.ir_.CreateICmpEQ(next, e_.ir_.getInt32(e_.chunks_)), done, body_);
  e_.ir_.SetInsertPoint(done);
}

void Emitter::RolledRun::leave(const Snapshot& start) {
  forget();
  // Scalars are the same in each round.
  outside_.scalar = e_.locals_.scalar;
  for (unsigned r = kFirstScalar; r < kRegisters; ++r) {
    outside_.held[r] = e_.locals_.held[r];
    outside_.dirty[r] = e_.locals_.dirty[r];
  }
  e_.locals_ = outside_;
  if (doubt_) {
    BasicBlock* certain = e_.new_block("certain");
    e_.branch_unlikely(e_.ir_.CreateICmpNE(doubted_, e_.ir_.getInt16(0)),
                       e_.leave_to_interpreter(start, Leave::doubt), certain);
    e_.ir_.SetInsertPoint(certain);
  }
  for (const unsigned number : written_)
    for (unsigned chunk = 0; chunk < e_.chunks_; ++chunk)
      e_.set_vgpr(number, chunk,
                  e_.ir_.CreateLoad(e_.lanes_, e_.ir_.CreateConstGEP1_32(e_.lanes_, row_of(number), chunk)));
  for (const auto& [number, whole] : wholes_) e_.set_whole_mask(number, whole);
}

}  // namespace lockstep::translator
