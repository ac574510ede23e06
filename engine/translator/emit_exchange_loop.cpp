// Loops around a compare-and-swap (exchange_loops.h): each lane exchanges once, behind those before it at its
// place, instead of in each round of the wave until it is its turn.
#include <algorithm>
#include <utility>

#include "engine/translator/lane_by_lane.h"
#include "engine/translator/operands.h"
#include "engine/translator/pair_folding.h"

namespace lockstep::translator {

using isa::Opcode;
using isa::Role;
using llvm::BasicBlock;
using llvm::Value;

namespace {

// Where the lowest lane is alone at its place, or with fewer of those that are on, the wave goes through
// another round: most lanes leave in that.
constexpr uint64_t kMostPlaces = 8;

}  // namespace

// LaneByLane gives the lowest lane of those at a place; all of these are done then.
class Emitter::ExchangeLoopCode final : public LaneByLane {
 public:
  ExchangeLoopCode(Emitter& emitter, unsigned header)
      : LaneByLane(emitter, header, emitter.exchange_loops_.at(header).touched),
        loop_(e_.exchange_loops_.at(header)),
        block_(e_.routine_.blocks[header]),
        atomic_(e_.routine_.nodes[loop_.atomic].instruction),
        needed_(e_.facts_.blocks[static_cast<unsigned>(block_.next)].live_in.all()) {}

 private:
  void emit_test() override;
  void emit_begin() override;
  void emit_lane() override;
  void emit_ended() override;

  Value* lanes_with_offset(Value* offset);
  Value* offset_of_lane();
  Value* has_changed();
  void begin_lane(Value* found);
  void set_words(unsigned first, Value* number);
  Value* number_in(unsigned first);
  Value* emit_nodes(Value* found, BasicBlock* changed, llvm::AllocaInst* other);
  bool is_result(unsigned number) const {
    return is_vgpr(number) && loop_.written[number] && needed_[number];
  }
  unsigned words() const { return access_.bytes / 4; }

  const ExchangeLoop& loop_;
  const Block& block_;
  const isa::Instruction& atomic_;
  const RegisterSet needed_;  // behind the loop
  const unsigned wave_chunks_ = e_.chunks_;
  AtomicAccess access_;
  llvm::Type* type_ = nullptr;  // of what is exchanged
  Value *pointer_ = nullptr, *size_ = nullptr, *budget_ = nullptr;
  std::vector<unsigned> numbers_;  // scalar registers that lanes read
  std::map<unsigned, Value*> numbers_before_;
  llvm::AllocaInst* longest_ = nullptr;
};

void Emitter::emit_exchange_loop(unsigned header) {
  ExchangeLoopCode(*this, header).emit();
}

// Of the wave's lanes, whether on or off, by the first row of the buffer.
Value* Emitter::ExchangeLoopCode::lanes_with_offset(Value* offset) {
  Value* lanes = number_of(0);
  for (unsigned chunk = 0; chunk < wave_chunks_; ++chunk) {
    Value* offsets = ir_.CreateLoad(e_.lanes_, e_.buffer_row(0, chunk));
    Value* same = ir_.CreateICmpEQ(offsets, ir_.CreateVectorSplat(16, offset));
    Value* bits = ir_.CreateZExt(ir_.CreateBitCast(same, e_.i16_), mask_type_);
    lanes = ir_.CreateOr(lanes, ir_.CreateShl(bits, 16 * chunk));
  }
  return lanes;
}

Value* Emitter::ExchangeLoopCode::offset_of_lane() {
  return ir_.CreateLoad(e_.i32_, ir_.CreateGEP(e_.i32_, e_.buffer_row(0, 0), wide_lane_));
}

// Whether a lane expects something else than there is: i1. It would come behind others then.
Value* Emitter::ExchangeLoopCode::has_changed() {
  const isa::AccessShape& shape =
      isa::access_shape(words() == 2 ? Opcode::global_load_b64 : Opcode::global_load_b32);
  Value* changed = ir_.getInt16(0);
  for (unsigned chunk = 0; chunk < wave_chunks_; ++chunk) {
    Value* on = e_.half_bits(e_.scalar(kExec + chunk / 2), chunk);
    Value* offsets = ir_.CreateLoad(e_.lanes_, e_.buffer_row(0, chunk));
    const std::vector<Value*> there =
        e_.gather(shape, ir_.CreateGEP(ir_.getInt8Ty(), pointer_, offsets), e_.lanes_from_bits(on), nullptr);
    for (unsigned word = 0; word < words(); ++word) {
      Value* differs = ir_.CreateICmpNE(there[word], e_.vgpr(*loop_.found + word, chunk));
      changed = ir_.CreateOr(changed, ir_.CreateAnd(ir_.CreateBitCast(differs, e_.i16_), on));
    }
  }
  return ir_.CreateICmpNE(changed, ir_.getInt16(0));
}

void Emitter::ExchangeLoopCode::emit_test() {
  BasicBlock* const header = e_.blocks_[header_];
  size_ = ir_.getInt64(block_.last - block_.first);
  budget_ = ir_.CreateLoad(e_.i64_, e_.budget_);
  // No lane takes more rounds than there are lanes.
  Value* most = ir_.CreateMul(size_, ir_.getInt64(e_.routine_.wave_size));
  Value* is_possible = ir_.CreateAnd(ir_.CreateICmpNE(exec_, number_of(0)), ir_.CreateICmpSGT(budget_, most));
  if (loop_.left) {
    Value* left = ir_.CreateAnd(e_.whole_mask(*loop_.left), exec_);
    is_possible = ir_.CreateAnd(is_possible, ir_.CreateICmpEQ(left, number_of(0)));
  }
  BasicBlock *on = e_.new_block("exchange_lanes"), *shared = e_.new_block("shared_place");
  ir_.CreateCondBr(is_possible, on, header);
  ir_.SetInsertPoint(on);
  access_ = e_.atomic_access(loop_.atomic);
  access_.slot = e_.atomic_slots_.at(loop_.atomic);
  type_ = access_.bytes == 8 ? e_.i64_ : e_.i32_;
  e_.store_row(0, access_.low);
  wide_lane_ =
      ir_.CreateZExt(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, exec_, ir_.getTrue()), e_.i64_);
  Value* beside = ir_.CreateAnd(lanes_with_offset(offset_of_lane()), exec_);
  const auto count = [&](Value* lanes) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes); };
  Value* are_many = ir_.CreateAnd(
      ir_.CreateICmpUGE(ir_.CreateMul(count(beside), number_of(kMostPlaces)), count(exec_)),
      ir_.CreateICmpNE(ir_.CreateAnd(beside, ir_.CreateSub(beside, number_of(1))), number_of(0)));
  ir_.CreateCondBr(are_many, shared, header);
  ir_.SetInsertPoint(shared);
  const AtomicPlaces places = e_.atomic_places(access_, header);
  pointer_ = places.pointer;
  e_.store_row(0, places.offsets);
  if (loop_.found)
    ir_.CreateCondBr(has_changed(), header, begin_);
  else
    ir_.CreateBr(begin_);
  // No lane is given up.
  ir_.SetInsertPoint(failed_);
  ir_.CreateUnreachable();
}

void Emitter::ExchangeLoopCode::emit_begin() {
  std::vector<unsigned> registers;
  for (unsigned r = 0; r < kRegisters; ++r) {
    if (!loop_.touched[r]) continue;
    if (is_vgpr(r)) {
      if (facts_.live_in.all()[r] || is_result(r)) registers.push_back(r);
    } else if (!loop_.written[r] && !exec_registers(e_.routine_.wave_size)[r]) {
      numbers_.push_back(r);
      numbers_before_[r] = e_.scalar(r);
    }
  }
  rows_ = e_.rows_of(registers);
  longest_ = e_.alloca_of(e_.i64_);
  ir_.CreateStore(ir_.getInt64(0), longest_);
}

void Emitter::ExchangeLoopCode::set_words(unsigned first, Value* number) {
  if (words() == 2)
    set_pair(first, number);
  else
    e_.set_vgpr(first, 0, lane_of_element(number));
}

Value* Emitter::ExchangeLoopCode::number_in(unsigned first) {
  Value* low = element_of_lane(e_.vgpr(first, 0));
  return words() == 2 ? join_words(ir_, low, element_of_lane(e_.vgpr(first + 1, 0))) : low;
}

// Its registers at the round in which it leaves the loop.
void Emitter::ExchangeLoopCode::begin_lane(Value* found) {
  for (unsigned r = 0; r < kVgprs; ++r) {
    if (!loop_.touched[r]) continue;
    Value* value = llvm::Constant::getNullValue(e_.lanes_);
    if (rows_.contains(r)) value = lane_of_element(word_of(r));
    ir_.CreateStore(value, e_.slot(r));
  }
  for (unsigned number : numbers_) ir_.CreateStore(numbers_before_.at(number), e_.slot(number));
  begin_nodes(header_);
  e_.set_scalar(kExec, ir_.getInt32(1));
  if (loop_.found) set_words(*loop_.found, found);
}

// Gives what the lane leaves in memory. Where another thread has been faster: goes to `changed`, with what it
// has left in `other`.
Value* Emitter::ExchangeLoopCode::emit_nodes(Value* found, BasicBlock* changed, llvm::AllocaInst* other) {
  Value* made = nullptr;
  const bool selects_nans = std::exchange(e_.selects_nans_, true);
  for (unsigned n = block_.first; n < block_.last; ++n) {
    const NodeKind kind = e_.routine_.nodes[n].kind;
    if (kind == NodeKind::global || kind == NodeKind::lds) {
      set_words(*loop_.loaded, found);
    } else if (std::ranges::count(loop_.computed, n) != 0) {
      emit_node(n, nullptr);
    } else if (n == loop_.atomic) {
      made = number_in(atomic_.find(Role::data)->vgpr());
      if (!access_.in_lds) {
        Value* at = ir_.CreateGEP(ir_.getInt8Ty(), pointer_, ir_.CreateZExt(offset_of_lane(), e_.i64_));
        const auto order = llvm::AtomicOrdering::SequentiallyConsistent;
        Value* pair = ir_.CreateAtomicCmpXchg(at, found, made, llvm::Align(access_.bytes), order, order);
        BasicBlock* exchanged = e_.new_block("lane_exchanged");
        ir_.CreateStore(ir_.CreateExtractValue(pair, 0), other);
        e_.branch_unlikely(ir_.CreateNot(ir_.CreateExtractValue(pair, 1)), changed, exchanged);
        ir_.SetInsertPoint(exchanged);
      }
      set_words(atomic_.find(Role::dst)->vgpr(), found);
    }
  }
  e_.merge_waiting(0);
  e_.selects_nans_ = selects_nans;
  return made;
}

// And those behind it at its place. What is there goes from one to the next; a work-group's LDS has it at the
// end.
void Emitter::ExchangeLoopCode::emit_lane() {
  BasicBlock *each = e_.new_block("lane_at_place"), *behind = e_.new_block("behind_place");
  llvm::AllocaInst *lanes = e_.alloca_of(mask_type_), *there = e_.alloca_of(type_),
                   *rounds = e_.alloca_of(e_.i64_), *begins_round = e_.alloca_of(e_.i64_);
  Value* offset = offset_of_lane();
  lanes_done_ = ir_.CreateAnd(lanes_with_offset(offset), exec_);
  ir_.CreateStore(lanes_done_, lanes);
  Value* at = ir_.CreateGEP(ir_.getInt8Ty(), pointer_, ir_.CreateZExt(offset, e_.i64_));
  llvm::LoadInst* first = ir_.CreateAlignedLoad(type_, at, llvm::Align(access_.bytes));
  if (!access_.in_lds) first->setAtomic(llvm::AtomicOrdering::Monotonic);
  ir_.CreateStore(first, there);
  ir_.CreateStore(ir_.getInt64(0), rounds);
  ir_.CreateStore(ir_.getInt64(1), begins_round);
  ir_.CreateBr(each);

  ir_.SetInsertPoint(each);
  Value* left = ir_.CreateLoad(mask_type_, lanes);
  lane_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, ir_.getTrue());
  wide_lane_ = ir_.CreateZExt(lane_, e_.i64_);
  Value* found = ir_.CreateLoad(type_, there);
  begin_lane(found);
  Value* made = emit_nodes(found, each, there);
  for (const auto& [number, row] : rows_.places)
    if (is_result(number)) set_word(number);
  // The wave's round ends with the first lane that changes what is there.
  Value* round = ir_.CreateAdd(ir_.CreateLoad(e_.i64_, rounds), ir_.CreateLoad(e_.i64_, begins_round));
  ir_.CreateStore(round, rounds);
  ir_.CreateStore(ir_.CreateZExt(ir_.CreateICmpNE(made, found), e_.i64_), begins_round);
  ir_.CreateStore(made, there);
  Value* others = ir_.CreateAnd(left, ir_.CreateSub(left, number_of(1)));
  ir_.CreateStore(others, lanes);
  ir_.CreateCondBr(ir_.CreateICmpNE(others, number_of(0)), each, behind);

  ir_.SetInsertPoint(behind);
  if (access_.in_lds) ir_.CreateAlignedStore(made, at, llvm::Align(access_.bytes));
  Value* longest = ir_.CreateLoad(e_.i64_, longest_);
  ir_.CreateStore(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, longest, round), longest_);
  ir_.CreateBr(lane_ended_);
}

void Emitter::ExchangeLoopCode::emit_ended() {
  for (const auto& [number, row] : rows_.places)
    if (is_result(number)) set_lanes_of_wave(number);
  const auto set_mask = [&](unsigned number, Value* mask) {
    e_.set_scalar(number, ir_.CreateTrunc(mask, e_.i32_));
    if (e_.mask_words() == 2) e_.set_scalar(number + 1, ir_.CreateTrunc(ir_.CreateLShr(mask, 32), e_.i32_));
  };
  if (loop_.left) set_mask(*loop_.left, ir_.CreateOr(e_.whole_mask(*loop_.left), exec_));
  set_mask(kExec, number_of(0));
  if (loop_.invalidates_caches) e_.forget_walks();
  Value* budget_left = ir_.CreateSub(budget_, ir_.CreateMul(ir_.CreateLoad(e_.i64_, longest_), size_));
  ir_.CreateStore(budget_left, e_.budget_);
  const auto next = static_cast<unsigned>(block_.next);
  if (e_.routine_.blocks[next].piece == e_.piece_) e_.hold_all(e_.facts_.blocks[next].held);
  e_.flush_locals(e_.locals_);
  e_.forget_kept(next);
  e_.go_to(block_.next, budget_left, false);
}

}  // namespace lockstep::translator
