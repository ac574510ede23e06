// Loops through which a wave goes lane by lane: what both kinds of them are made of (emit_lane_loop.cpp,
// emit_divergent_loop.cpp).
#pragma once

#include <array>
#include <map>
#include <vector>

#include "engine/translator/emitter.h"

namespace lockstep::translator {

// Code for all lanes that are on at a loop's header, one after the other. A lane's registers are element 0 of
// a chunk and bit 0 of masks; scalar_lanes.h makes plain numbers of them. Nothing of the wave changes before
// the last lane is done: where one may fault, is in doubt or goes on for too long, all of this is forgotten
// and the wave goes through the loop as any other.
class Emitter::LaneByLane {
 public:
  LaneByLane(const LaneByLane&) = delete;
  LaneByLane& operator=(const LaneByLane&) = delete;
  void emit();

 protected:
  LaneByLane(Emitter& emitter, unsigned header, const RegisterSet& touched);
  ~LaneByLane() = default;

  // Goes to begin_ where lanes may go one by one, else to the loop, as from failed_.
  virtual void emit_test() = 0;
  // What is there for all lanes: rows_, ranges_ and what they leave behind.
  virtual void emit_begin() = 0;
  // One lane, from its registers at the header on. Ends at lane_ended_, or at failed_.
  virtual void emit_lane() = 0;
  // The wave as its lanes have left it.
  virtual void emit_ended() = 0;

  void empty_vector_registers();
  llvm::Value* number_of(uint64_t value) const { return llvm::ConstantInt::get(mask_type_, value); }
  Value* element_of_lane(Value* lanes);
  Value* bit_of_lane(Value* mask);
  Value* lane_of_element(Value* element);
  void set_pair(unsigned low, Value* number);
  // Of the lane at hand, in rows_.
  Value* word_of(unsigned number);
  void set_word(unsigned number);
  // Of the wave, from rows_.
  void set_lanes_of_wave(unsigned number);

  // i64: the places that a load may load from.
  struct LaneRange {
    unsigned slot = 0;
    llvm::AllocaInst *begin = nullptr, *span = nullptr;
  };
  void set_range(const LaneRange& range, unsigned load);
  // Where another range has been found: goes to `allowed` with it, or begins again.
  virtual void emit_found(const LaneRange& range, unsigned load, llvm::BasicBlock* allowed);
  std::map<unsigned, LaneRange> lane_ranges(const std::vector<unsigned>& loads);
  Value* rounds_of_walk(unsigned load, Value* pair, const LaneRange& range);

  // A block, as the lane's.
  void begin_nodes(unsigned block);
  // Whether it may cast doubt. `range`: of a load that has to be tested.
  bool emit_node(unsigned node, const LaneRange* range);
  void check_lane();

  Emitter& e_;
  llvm::IRBuilder<>& ir_ = e_.ir_;
  const unsigned header_;
  const BlockFacts& facts_;     // of the header
  const RegisterSet& touched_;  // by the loop
  llvm::Type* const mask_type_;

  llvm::BasicBlock *begin_, *next_lane_, *lane_ended_, *ended_, *failed_;
  LaneRows rows_;
  std::map<unsigned, LaneRange> ranges_;  // by load
  Value* exec_ = nullptr;                 // at the header
  // The lane at hand, as a number, and in 64 bits.
  Value *lane_ = nullptr, *wide_lane_ = nullptr;
  Value* lanes_done_ = nullptr;                    // behind emit_lane(), if these are more than that one
  std::map<uint32_t, llvm::AllocaInst*> scratch_;  // its dwords of scratch, by their first bytes
  llvm::AllocaInst* scratch_array_ = nullptr;      // or all of them

 private:
  void emit_next_lane(llvm::AllocaInst* left);
  void emit_vector(unsigned node);
  Value* test_range(unsigned load, Value* address, const LaneRange& range);
  Value* address_of(const isa::Instruction& instruction);
  std::vector<Value*> load_words(const isa::AccessShape& shape, Value* pointer);
  void emit_load(unsigned node, const LaneRange* range);
  void emit_scratch(unsigned node);
  Value* place_in_array(unsigned node, Value* is_on);

  // The low half of a sum of 64 bits, by the register with its carry.
  struct LaneSum {
    std::array<Value*, 2> addends{};
    unsigned result = 0;
    Value* sum = nullptr;
  };
  std::map<unsigned, LaneSum> sums_;
};

}  // namespace lockstep::translator
