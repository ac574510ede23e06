// Writes the LLVM function of a routine. State of the wave is in the Wave structure at entry and on leaving;
// between, VGPRs are two <16 x i32> values each, scalars i32, SCC i32 (0 or 1).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/liveness.h"
#include "engine/translator/routine.h"

namespace lockstep::translator {

inline constexpr unsigned kHalves = 2;  // of a wave32, 16 lanes each

class Emitter {
 public:
  Emitter(llvm::Module& module, const Routine& routine, const Facts& facts);
  // Returns the function `name`; its entries are the blocks of entry_blocks() in order.
  llvm::Function* emit(const std::string& name);

 private:
  using Value = llvm::Value;
  using HalfValues = std::array<Value*, kHalves>;

  // Values of registers at a point inside a block; null: not touched yet in this block, so in the slot or the
  // Wave.
  struct Locals {
    std::array<HalfValues, kVgprs> vgpr{};
    // The lanes that are off keep this value, if it is not null: a merge that waits until EXEC changes.
    std::array<HalfValues, kVgprs> off_lanes{};
    std::array<Value*, kRegisters - kFirstScalar> scalar{};
    RegisterSet held, dirty;
  };

  // Where a wave can leave in mid-block: state and position before an instruction.
  struct Snapshot {
    Locals locals;
    unsigned node = 0;
  };

  // A mask of 16 lanes as a vector instruction made it. `raw` says nothing of lanes that are off, which is
  // good enough for other vector instructions; `bits` has them 0. As i16, because i1 vectors are slow to
  // combine on AVX2.
  struct LaneMask {
    Value* raw = nullptr;   // <16 x i1>, or null: take the bits
    Value* bits = nullptr;  // i16
  };

  // A run of vector instructions is emitted for lanes 0..15 and then for lanes 16..31.
  struct Run {
    std::vector<unsigned> nodes;
    // Mask registers written inside: known by halves until the run ends.
    std::map<unsigned, std::array<LaneMask, kHalves>> masks;
    // What the first pass read from scalar registers, for the second: key is node, position of the read.
    std::vector<Value*> scalar_reads;
    size_t next_read = 0;
    bool casts_doubt = false;
    bool loads_lds = false, stores_lds = false;
    RegisterSet writes;
  };

  // emitter.cpp: structure, registers, leaving
  void make_function(const std::string& name);
  void emit_entries();
  void emit_block(unsigned index);
  void flush_locals();
  Value* vgpr(unsigned number, unsigned half);
  void set_vgpr(unsigned number, unsigned half, Value* value);
  Value* scalar(unsigned number);
  void set_scalar(unsigned number, Value* value);
  void hold(unsigned number);
  llvm::AllocaInst* slot(unsigned number, unsigned half = 0);
  Value* wave_address(unsigned number, unsigned half = 0);
  void store_to_wave(const Locals& locals, RegisterSet which);
  Snapshot snapshot(unsigned node) const { return {locals_, node}; }
  // A new block in which the wave goes to the interpreter at the snapshot's instruction.
  llvm::BasicBlock* leave_to_interpreter(const Snapshot& at);
  void leave(Value* offset, Value* budget, unsigned state, unsigned how);
  llvm::BasicBlock* new_block(const char* name);
  Value* half_bits(Value* word, unsigned half);
  // i1 that is almost never true
  void branch_unlikely(Value* condition, llvm::BasicBlock* unlikely, llvm::BasicBlock* likely);
  llvm::FunctionCallee runtime(const char* name, llvm::Type* result, std::vector<llvm::Type*> parameters);

  // emit_run.cpp: vector runs
  bool joins_run(unsigned node) const;
  void add_to_run(unsigned node);
  void end_run();
  // Both halves; then the masks are whole again.
  void emit_run(bool regular_lds);
  // Whether all LDS accesses of the run are as guessed and inside the LDS: i1.
  Value* lds_is_regular();
  // The same registers come from two ways: phis for those that differ.
  void join_locals(const Locals& before, const Locals& first, llvm::BasicBlock* first_end,
                   const Locals& second, llvm::BasicBlock* second_end);
  void check_doubt(const Snapshot& start, const HalfValues& exec_at_start);
  Value* mask_of_register(unsigned number, unsigned half);
  Value* exec_mask(unsigned half) { return mask_of_register(kExec, half); }
  Value* lanes_from_bits(Value* bits);
  Value* bits_of_register(unsigned number, unsigned half);
  // Does the merges that wait, for the EXEC that is about to change or to be forgotten.
  void merge_waiting(unsigned half);
  Value* run_scalar(unsigned number);
  void write_lanes(const NodeFacts& facts, unsigned number, unsigned half, Value* value);

  // emit_vector.cpp: vector ALU
  struct PendingWrites {
    std::vector<std::pair<unsigned, Value*>> registers;
    std::vector<std::pair<unsigned, LaneMask>> masks;
  };
  void emit_vector(unsigned node, unsigned half);
  void emit_vector_half(const isa::Instruction& instruction, const Half& part, unsigned half,
                        PendingWrites& writes);
  Value* source_word(const isa::Operand& operand, const isa::Instruction& instruction, unsigned word,
                     unsigned half);
  void call(const std::string& function, std::vector<Value*> arguments);
  llvm::Function* body_function(const std::string& name, bool scalar);

  // emit_scalar.cpp: scalar ALU, scalar loads, ends of blocks
  void emit_scalar(unsigned node);
  void emit_scalar_load(unsigned node);
  Value* scalar_source(const isa::Operand& operand, const isa::Instruction& instruction, unsigned bits);
  void emit_end(unsigned block);
  void go_to(unsigned from, int to, Value* budget, bool backward);
  Value* branch_condition(const Node& node);

  // emit_memory.cpp
  struct AddressFacts {
    Value* first = nullptr;      // of lane 0, as i32
    Value* consecutive[5] = {};  // by dwords an element: i1
    Value* uniform = nullptr;    // all lanes the same: i1
  };
  void emit_global(unsigned node);
  struct LdsAccess {
    uint32_t offset;
    unsigned data;  // first VGPR
  };
  std::vector<LdsAccess> lds_accesses(const Node& node) const;
  void emit_regular_lds(unsigned node, unsigned half);
  void emit_lds_by_lanes(unsigned node, unsigned half);
  AddressFacts& address_facts(Value* addresses);
  Value* is_consecutive(Value* addresses, unsigned dwords);
  Value* is_uniform(Value* addresses);
  Value* in_last_range(unsigned slot, Value* address, uint64_t bytes);
  std::vector<Value*> load_consecutive(Value* pointer, unsigned dwords);
  void store_consecutive(Value* pointer, const std::vector<Value*>& words);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Routine& routine_;
  const Facts& facts_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  llvm::Type *i1_, *i16_, *i32_, *i64_;
  llvm::PointerType* pointer_;
  llvm::FixedVectorType *lanes_, *lane_mask_;
  Value *wave_ = nullptr, *dispatch_ = nullptr, *vgprs_ = nullptr, *lds_ = nullptr, *lds_bytes_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::BasicBlock* leave_ = nullptr;
  llvm::PHINode *leave_offset_, *leave_budget_, *leave_state_, *leave_how_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots_;
  llvm::AllocaInst *budget_, *words_, *masks_, *result_words_, *result_mask_, *arguments_, *scalar_result_,
      *buffer_;
  std::array<llvm::AllocaInst*, kHalves> doubt_;

  Locals locals_;
  unsigned block_first_ = 0;  // first node of the block in work: what was executed counts from it
  Run run_;
  unsigned pass_ = 0;                                         // half in work
  std::map<std::pair<Value*, unsigned>, Value*> half_masks_;  // i32 register and half: i16
  std::map<Value*, Value*> expanded_masks_;                   // i16: <16 x i1>
  std::map<Value*, AddressFacts> address_facts_;
  unsigned memory_slots_ = 0;

 public:
  unsigned memory_slots() const { return memory_slots_; }
};

// Blocks where run() may start, in the order of the entry numbers.
std::vector<unsigned> entry_blocks(const Routine& routine);

}  // namespace lockstep::translator
