// Writes the LLVM function of a piece of a routine. State of the wave is in the Wave structure at entry and
// on leaving; between, VGPRs are a <16 x i32> value for each chunk of 16 lanes, scalars i32, SCC i32 (0 or
// 1).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "engine/translator/address_plan.h"
#include "engine/translator/body_signature.h"
#include "engine/translator/classify.h"
#include "engine/translator/compact_loops.h"
#include "engine/translator/divergent_loops.h"
#include "engine/translator/exchange_loops.h"
#include "engine/translator/exits.h"
#include "engine/translator/lane_loops.h"
#include "engine/translator/linear.h"
#include "engine/translator/liveness.h"
#include "engine/translator/loop_accesses.h"
#include "engine/translator/mask_algebra.h"
#include "engine/translator/quotients.h"
#include "engine/translator/routine.h"
#include "isa/memory_shape.h"
#include "semantics/atomic.h"

namespace lockstep::translator {

inline constexpr unsigned kMaxChunks = 4;  // of 16 lanes each, in wave64

class Emitter {
 public:
  // `first_slot`: number of the first Context::last_range that is the piece's own.
  // What it is to write: the TranslatedFunction of a piece, or the RowFunction of a routine of one piece.
  enum class Shape : uint8_t { wave, row };
  struct Host {
    bool has_masked_gathers = false;
    bool sees_streams = false;  // through the code of a wave, and fetches by itself what comes next
  };
  Emitter(llvm::Module& module, const Routine& routine, const Facts& facts, unsigned piece,
          unsigned first_slot, const Host& host, Shape shape = Shape::wave);
  // The function `name`; entries of one for waves are the blocks of entry_blocks() in order.
  void emit(const std::string& name);

 private:
  using Value = llvm::Value;
  using ChunkValues = std::array<Value*, kMaxChunks>;

  // Values of registers at a point inside a block; null: not touched yet in this block, so in the slot or the
  // Wave.
  struct Locals {
    std::array<ChunkValues, kVgprs> vgpr{};
    // The lanes that are off keep this value, if it is not null: a merge that waits until EXEC changes.
    std::array<ChunkValues, kVgprs> off_lanes{};
    std::array<Value*, kRegisters - kFirstScalar> scalar{};
    // VGPRs known as first and stride; without a value in `vgpr` that is all there is of them.
    std::map<unsigned, std::array<std::optional<Linear>, kMaxChunks>> linear;
    // Of these, those whose lanes that are off may hold something else.
    RegisterSet linear_in_lanes_on;
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
    // Bits are `compared` in the lanes that this word of EXEC has on; null: they are made otherwise.
    Value *compared = nullptr, *exec = nullptr;
  };

  struct SameInAllLanes {
    std::vector<Value*> sources, results;  // numbers; chunks
    Value* doubt = nullptr;                // a chunk; null: there can be none
  };

  struct WideReciprocal {
    Value *value = nullptr, *is_zero = nullptr, *error = nullptr;
  };

  // A run of vector instructions is emitted for lanes 0..15, then for lanes 16..31, and so on.
  struct Run {
    std::vector<unsigned> nodes;
    // Mask registers written inside, by their first register: known by chunks until the run ends.
    std::map<unsigned, std::array<LaneMask, kMaxChunks>> masks;
    // What the first pass read from scalar registers, in order, for the others.
    std::vector<Value*> scalar_reads;
    size_t next_read = 0;
    bool casts_doubt = false;
    bool loads_lds = false, stores_lds = false;
    std::vector<std::function<void()>> second_stores;
    RegisterSet writes;
    std::set<unsigned> mask_algebra;  // scalar instructions that combine masks of the run
    // By the first operand of the instruction, or of the half, what was made of sources that all lanes have.
    std::map<const isa::Operand*, SameInAllLanes> same_in_all_lanes;
    std::set<Value*> numbers;  // results of these
    bool may_be_rolled = true;
    int open_quotients = 0;
    size_t may_reach = 0;  // instructions, for the sake of quotients of integers
    Quotients quotients;
    // Of the chunk in work, by the node where they are computed: quotients and rests, roots.
    std::map<unsigned, std::array<Value*, 4>> earlier_results;
    // And operands of ratios and the reciprocals of denominators there, by the node that takes them apart.
    std::map<unsigned, Value*> ratio_operands, reciprocals;
    std::map<unsigned, std::array<Value*, 2>> wide_estimates;
    std::map<unsigned, Value*> taken_words;
    // Of divisors that all lanes have.
    std::map<unsigned, WideReciprocal> wide_reciprocals;
  };

  // emitter.cpp: structure, registers
  void make_function(const std::string& name, llvm::Type* result, std::vector<llvm::Type*> parameters);
  void load_wave_fields();
  Value* wave();
  Value* vgprs();
  void load_launched(Value* number);
  void store_launched_x();
  void emit_wave(const std::string& name);
  void emit_row(const std::string& name);
  llvm::BasicBlock* make_row_loop();
  void emit_entries();
  void emit_block(unsigned index);
  void emit_nodes(unsigned index);
  void emit_node(unsigned node);
  void flush_locals(const Locals& locals, const RegisterSet& but = {});
  Value* vgpr(unsigned number, unsigned chunk);
  void set_vgpr(unsigned number, unsigned chunk, Value* value);
  Value* scalar(unsigned number);
  void set_scalar(unsigned number, Value* value);
  void hold(unsigned number);
  llvm::AllocaInst* slot(unsigned number, unsigned chunk = 0);
  Value* wave_address(unsigned number, unsigned chunk = 0);
  Snapshot snapshot(unsigned node) const { return {locals_, node}; }
  llvm::BasicBlock* new_block(const char* name);
  // Bits of a chunk's lanes in the mask word that has them.
  Value* half_bits(Value* word, unsigned chunk);
  unsigned mask_words() const { return routine_.wave_size / 32; }
  // A mask of all lanes of the wave as one number: i32 in wave32, i64 in wave64.
  Value* whole_mask(unsigned number);
  // Whether the mask has all lanes that there are.
  Value* are_all(Value* mask);
  // i1 that is almost never true
  void branch_unlikely(Value* condition, llvm::BasicBlock* unlikely, llvm::BasicBlock* likely);
  llvm::FunctionCallee runtime(const char* name, llvm::Type* result, std::vector<llvm::Type*> parameters);

  // emit_leave.cpp: what waves take along when they leave
  // A register of which the Wave does not have the value.
  struct Unstored {
    unsigned number = 0, chunk = 0;
    Value* value = nullptr;          // null: what its slot has
    Value* off_lanes = nullptr;      // of lanes that are off, if not null
    Value* exec = nullptr;           // where `off_lanes` is not null; null: what the slot has
    std::optional<Linear> linear{};  // from `value`
    bool operator==(const Unstored& other) const {
      const auto shape = [](const Unstored& each) {
        return each.linear ? std::pair(int64_t{each.linear->stride}, each.linear->is_high)
                           : std::pair(INT64_MIN, false);
      };
      return number == other.number && chunk == other.chunk && value == other.value &&
             off_lanes == other.off_lanes && exec == other.exec && shape(*this) == shape(other);
    }
  };
  struct PendingLeave {
    llvm::BasicBlock* block = nullptr;  // still empty
    Leave how = Leave::access;
    unsigned node = 0;
    std::vector<Unstored> unstored;
  };
  // Which is the same at the leaves [first, last).
  struct UnstoredSpan {
    size_t first = 0, last = 0;
    Unstored unstored;
  };
  std::vector<Unstored> unstored(const Locals& locals, RegisterSet which) const;
  void store_to_wave(const Unstored& unstored);
  void store_to_wave(const Locals& locals, const RegisterSet& which);
  void begin_leave(Value* counted_from);
  void leave(Value* offset, Value* budget, WaveState state, Value* how);
  void leave(Value* offset, Value* budget, WaveState state, Leave how);
  // A new block in which the wave goes to the interpreter at the snapshot's instruction. It is empty before
  // emit_leaves(), at the end of the guest's block.
  llvm::BasicBlock* leave_to_interpreter(const Snapshot& at, Leave how = Leave::access);
  void emit_leaves();
  void emit_leaves(size_t first, size_t last, const std::vector<UnstoredSpan>& spans,
                   llvm::BasicBlock* parent);

  // emit_mask_algebra.cpp: masks that scalar instructions of a run combine
  bool is_read_by_lanes(unsigned node, unsigned mask) const;
  bool computes_run_mask(unsigned node) const;
  LaneMask mask_operand(const isa::Operand& operand, const isa::Instruction& instruction);
  Value* combined(MaskOperation operation, Value* a, Value* b);
  void emit_mask_algebra(unsigned node);

  // emit_run.cpp: vector runs
  bool joins_run(unsigned node) const;
  void add_to_run(unsigned node);
  void end_run();
  LiveSets live_behind(unsigned node) const;
  void find_run_quotients();
  void check_opposites(const Snapshot& start);
  bool is_quotient_step(unsigned node) const;
  // Whether anybody reads the mask that the vector instruction writes to the register. Where nobody does, as
  // of a quotient's scaling, the register may be given a number in the same run.
  bool is_mask_read(unsigned node, unsigned number) const;
  // All chunks; then the masks are whole again.
  void emit_run(bool regular_lds);
  void emit_pass(bool regular_lds);
  // Whether all LDS accesses of the run that there are guesses of are as guessed and inside the LDS: i1. Null
  // if there are none.
  Value* lds_is_regular();
  // The same registers come from two ways: phis for those that differ.
  void join_locals(const Locals& before, const Locals& first, llvm::BasicBlock* first_end,
                   const Locals& second, llvm::BasicBlock* second_end);
  void check_doubt(const Snapshot& start, const ChunkValues& exec_at_start);
  Value* mask_of_register(unsigned number, unsigned chunk);
  Value* exec_mask(unsigned chunk) { return mask_of_register(kExec, chunk); }
  Value* lanes_from_bits(Value* bits);
  // `word`: the scalar register that they are from, null where they are known by chunks.
  Value* bits_of_register(unsigned number, unsigned chunk, Value** word = nullptr);
  Value* word_of_masks(const LaneMask& low, const LaneMask& high);
  // Does the merges that wait, for the EXEC that is about to change or to be forgotten.
  void merge_waiting(unsigned chunk);
  Value* run_scalar(unsigned number);
  void write_lanes(const NodeFacts& facts, unsigned number, unsigned chunk, Value* value);
  // The register with what its lanes hold that are off.
  Value* all_lanes(unsigned number, unsigned chunk);

  // emit_regular.cpp: blocks whose accesses have linear addresses are there twice. The first version computes
  // these addresses as scalars and does nothing that could not be done again until it knows that they are
  // what the instructions would have made; if they are not, the second version takes over, at the begin of
  // the block or behind the last instruction that changed memory.
  void begin_regular(unsigned block);
  bool roots_may_be_merged(unsigned block) const;
  std::map<unsigned, llvm::Value*> firsts_of_lanes_on(unsigned part);
  // For the blocks behind it.
  void keep_linear(unsigned block);
  // Of a loop whose rounds leave its roots linear: they are looked at before the first one only.
  void take_over_round(unsigned block);
  void begin_round(unsigned block, Value* wrong);
  void set_linear(unsigned number, unsigned chunk, const Linear& value);
  void end_round(unsigned block);
  // What the first lane holds; of high halves what the last one holds, too, where nothing says that it is
  // the same.
  struct Ends {
    Value *first = nullptr, *last = nullptr;
  };
  Ends ends_of(const Linear& value);
  bool is_only_kept(unsigned block, unsigned number) const;
  void keep_nothing(unsigned block);
  void set_kept(unsigned block, bool holds);
  unsigned flag_of(unsigned block) const;
  llvm::AllocaInst* is_kept(unsigned number);
  // Of waves that come to this block from a loop that was not its own code.
  void forget_kept(unsigned block);
  llvm::AllocaInst* kept_first(unsigned block, unsigned number, unsigned chunk);
  void begin_section();
  // From here on all that was computed must be right.
  void settle();
  llvm::BasicBlock* irregular();
  Linear first_item(Linear id, unsigned chunk);
  struct ComputedRegisters {
    std::vector<std::pair<unsigned, Linear>> registers;
    bool is_all = true;       // that the instruction writes
    size_t scalar_reads = 0;  // of the run, by it
  };
  ComputedRegisters compute(unsigned node, unsigned chunk);
  // Of lanes that are on, all or none.
  LaneMask alike_mask(Value* has_lanes, unsigned chunk);
  Value* number_in_all_lanes(const isa::Operand& operand, const isa::Instruction& instruction,
                             unsigned chunk);
  bool are_lanes_wanted(unsigned comparison) const;
  Value* lanes_up_to_bound(const Node& node, const Half& part,
                           const std::vector<const isa::Operand*>& sources, unsigned chunk);
  void emit_computed(unsigned node, unsigned chunk);
  bool is_linear_in_wave() const {
    return shape_ == Shape::row && routine_.launch.counting_lanes == routine_.wave_size;
  }
  // Of so many parts each has a first lane that the others are linear from.
  unsigned linear_parts() const { return is_linear_in_wave() ? 1 : chunks_; }
  // What has rows of lanes in memory has them of all.
  unsigned chunks_of_wave() const { return routine_.wave_size / kLanesPerChunk; }
  // emit_regular_access.cpp
  void emit_regular_global(unsigned node);
  // Goes on in `access` if the bytes at all places are in the slot's range, else looks for another one.
  void test_range(unsigned slot, bool is_load, const ChunkValues& places, unsigned looks, uint64_t bytes,
                  llvm::BasicBlock* look_up, llvm::BasicBlock* access);
  // Of rows: where so many bytes are allowed. i64: the first place, and how many there are from that on.
  struct RowRange {
    llvm::AllocaInst *begin = nullptr, *places = nullptr;
  };
  RowRange& row_range(unsigned slot, bool is_load, uint64_t bytes);
  void set_row_range(const RowRange& range, std::pair<Value*, Value*> found, uint64_t bytes);
  void test_row_range(unsigned slot, bool is_load, const ChunkValues& places, unsigned looks, uint64_t bytes,
                      llvm::BasicBlock* look_up, llvm::BasicBlock* access);
  Value* distance_ahead(unsigned node, Value* place);
  bool has_irregular_loads() const;
  Value* distance_to_next_group(Value* place);
  void prefetch(Value* pointer, Value* distance, bool for_write = false);
  void store_regular(const isa::AccessShape& shape, int32_t step, const ChunkValues& places,
                     const std::array<std::vector<llvm::Value*>, kMaxChunks>& words);
  llvm::Value* element_lanes(const isa::AccessShape& shape, llvm::Value* word);
  llvm::FixedVectorType* elements_of(const isa::AccessShape& shape);
  std::vector<Value*> load_side_by_side(const isa::AccessShape& shape, Value* pointer);
  struct LoadedParts {
    Value* all = nullptr;
    unsigned last_begin = 0;  // of the last part
  };
  LoadedParts load_parts(llvm::Type* element, unsigned count, Value* pointer, bool has_pairs);
  Value* each_of(const LoadedParts& parts, unsigned first, unsigned step);
  std::vector<Value*> load_strided(const isa::AccessShape& shape, uint32_t stride, Value* pointer);
  void store_strided(const isa::AccessShape& shape, const std::vector<Value*>& words, uint32_t stride,
                     Value* pointer);
  std::vector<Value*> load_uniform(const isa::AccessShape& shape, Value* pointer);
  bool is_computed(unsigned node) const {
    return is_regular_version_ && plan_.is_computed[node - block_first_];
  }
  const Linear& linear(unsigned number, unsigned chunk) const { return *locals_.linear.at(number)[chunk]; }
  Value* lanes_of(const Linear& linear);
  // Of a register that is known as such and has no value yet; else null.
  Value* unfolded(const Locals& locals, unsigned number, unsigned chunk);

  // emit_vector.cpp: vector ALU
  // A pair of SGPRs and a pair of VGPRs, low words first, that were added up to a pair of VGPRs: most
  // addresses.
  struct AddressSum {
    std::array<Value*, 2> base{}, offset{};
  };
  // Its low half; the high half adds this carry.
  struct LowHalf {
    Value *carry = nullptr, *base = nullptr, *offset = nullptr, *sum = nullptr;
  };
  void emit_noting_sums(unsigned node, unsigned chunk);
  static bool adds_half_of_base(const isa::Instruction& instruction);
  struct PendingWrites {
    std::vector<std::pair<unsigned, Value*>> registers;
    std::vector<std::pair<unsigned, LaneMask>> masks;
  };
  void emit_vector(unsigned node, unsigned chunk);
  void emit_quotient(unsigned node, unsigned chunk);
  void take_ratio_operand(unsigned node, bool is_denominator, unsigned chunk);
  void emit_ratio(unsigned node, unsigned chunk);
  void emit_integer_division(unsigned node, const IntegerDivision& division, unsigned chunk);
  void emit_root(unsigned node, unsigned chunk);
  void keep_results(unsigned node, unsigned words);
  void emit_wide_division(unsigned node, const WideDivision& division, unsigned chunk);
  Value* wide_reciprocal(unsigned index, const std::array<Value*, 2>& divisor_words, unsigned chunk);
  void take_wide_estimates(unsigned chunk);
  void take_word(unsigned index, unsigned chunk);
  void emit_number_of_words(unsigned index, unsigned chunk);
  void emit_words_of_number(unsigned index, unsigned chunk);
  void check_expected(const ExpectedWord& expected, unsigned chunk);
  void emit_earlier_root(unsigned node, unsigned chunk);
  void emit_vector_half(const Node& node, const Half& part, unsigned chunk, PendingWrites& writes);
  // What DPP makes of a source register, and the lanes that the instruction may write (i16).
  struct DppSource {
    Value* value = nullptr;
    Value* written = nullptr;
  };
  DppSource dpp_source(const isa::Instruction& instruction, unsigned number, unsigned chunk);
  // Computes with the words and masks that were stored. The suffix is a body's.
  using BodyCalls = std::function<void(Value* doubt, const std::string& suffix)>;
  // Results of what all lanes have the same sources, and so the same arguments, for.
  const std::vector<Value*>& in_all_lanes(const isa::Operand& key, const std::vector<Value*>& sources,
                                          const std::vector<Value*>& arguments, unsigned words,
                                          unsigned chunk, bool takes_mode, const BodyCalls& compute);
  // Of one lane: i32 results and, behind them, the doubt, of as many i32 arguments.
  llvm::Function* function_of_one_lane(unsigned arguments, unsigned words, const BodyCalls& compute);
  Value* widened_half(Value* half, unsigned chunk, uint32_t float_mode);
  Value* source_word(const isa::Operand& operand, const isa::Instruction& instruction, unsigned word,
                     unsigned chunk);
  Value* source_word(const Source& source, unsigned word, unsigned chunk);
  // An element of arguments or results.
  Value* place_in(llvm::AllocaInst* array, unsigned index);
  void call(const std::string& function, const std::vector<Value*>& arguments);
  // Of a vector instruction, with the words and masks that were stored.
  void call_body(const std::string& name, Value* doubt, uint32_t float_mode, bool takes_mode);

  // emit_matrix.cpp
  void emit_matrix(unsigned node);

  // emit_lanes.cpp: lanes that read and write others
  void emit_lane_access(unsigned node);
  void emit_call(unsigned node);
  void forget(const RegisterSet& registers);
  void let_go_of_all(const RegisterSet& changed);
  void emit_indexed(unsigned node);
  Value* permuted(std::span<Value* const> from, Value* indices);
  void emit_half_permute(unsigned node);
  void emit_push(unsigned node);
  void emit_row_permute(unsigned node);
  Value* uniform_source(const isa::Operand& operand, const isa::Instruction& instruction);
  Value* buffer_row(unsigned row, unsigned chunk);

  // emit_scalar.cpp: scalar ALU, scalar loads, ends of blocks
  void emit_scalar(unsigned node);
  void emit_scalar_load(unsigned node);
  void emit_scalar_buffer_load(unsigned node);
  // Loads from one base are allowed all at once, which one test says, or else one by one.
  struct ScalarLoads {
    std::array<Value*, 2> base{};
    int64_t begin = 0, end = 0;
    Value* are_allowed = nullptr;  // i1
  };
  ScalarLoads scalar_loads_from(unsigned node);
  void emit_get_pc(unsigned node);
  void emit_mode_write(unsigned node);
  // Of a row: loads at constant places behind a pair of SGPRs as the launch left it, mostly the kernel's
  // arguments. They are made once, before the first wave, and again when the row has written there.
  struct Arguments {
    std::vector<unsigned> nodes;
    unsigned slot = 0;
    Value* range_begin = nullptr;
  };
  void plan_arguments();
  bool is_as_launched(unsigned number, unsigned node) const;
  // i1: whether all of them may be read.
  Value* load_arguments(Value* x_offset);
  // The wave is about to write there, or who knows where.
  void note_write(std::pair<Value*, Value*> range);
  void note_write_of_arguments(Value* range_begin);
  void note_writes();
  Value* scalar_source(const isa::Operand& operand, const isa::Instruction& instruction, unsigned bits);
  void emit_end(unsigned block);
  void emit_jump(unsigned block, Value* budget);
  void go_to(int to, Value* budget, bool backward);
  void hold_all(const RegisterSet& registers);
  Value* entry_address();
  Value* branch_condition(const Node& node);

  // emit_atomic.cpp
  struct AtomicAccess {
    unsigned bytes = 0, slot = 0;
    bool in_lds = false, is_wide = false;
    // `base` is one for all lanes. Else it is an offset to addresses of 64 bits.
    bool has_base = false;
    Value* base = nullptr;
    ChunkValues low{}, high{};
    uint32_t low_bits = ~0u;  // which `low` may have, in lanes that are on
  };
  void emit_atomic(unsigned node);
  AtomicAccess atomic_access(unsigned node);
  struct AtomicPlaces {
    Value* pointer = nullptr;
    ChunkValues offsets{};
  };
  AtomicPlaces atomic_places(const AtomicAccess& access, llvm::BasicBlock* elsewhere);
  void store_row(unsigned row, const ChunkValues& lanes);  // of the buffer
  // What an instruction has for one lane, i32 or i64.
  struct AtomicNumbers {
    Value *data = nullptr, *compared = nullptr;
  };
  Value* exchange_in_lds(const AtomicAccess& access, semantics::AtomicOperation operation, Value* at,
                         const AtomicNumbers& numbers);
  void exchange_one_number(const AtomicAccess& access, semantics::AtomicOperation operation,
                           const AtomicPlaces& places, Value* exec, const ChunkValues& data,
                           llvm::BasicBlock* done);
  void exchange_lanes(const AtomicAccess& access, semantics::AtomicOperation operation, Value* pointer,
                      Value* exec, bool is_returned);

  // emit_memory.cpp
  struct AddressFacts {
    Value* first = nullptr;                 // of lane 0, as i32
    std::map<uint32_t, Value*> has_stride;  // by bytes from lane to lane: i1
  };
  // A load or store of all lanes, each at a place of its own: base + low, or base + (high : low) if it is
  // wide.
  struct MemoryAccess {
    isa::AccessShape shape;
    unsigned data = 0, slot = 0;  // the first VGPR of the data
    bool wide = false;
    bool has_base = true;  // that all lanes count from: high halves are mostly 0
    Value* base = nullptr;
    ChunkValues low{}, high{};
    // Which go to memory, as one and by chunk (i16): those of EXEC, or fewer; others of EXEC load zeros.
    Value* lanes = nullptr;
    ChunkValues lane_bits{};
    Value* is_unusual = nullptr;  // i1: by_lanes() in any case; null if it never is
    ChunkValues second_row{};     // of what by_lanes() finds, if it has one
    // Calls the function of the runtime with the rows of the buffer on the stack: addresses, the second row,
    // data. Gives back whether all lanes were allowed, i1.
    std::function<Value*()> by_lanes;
  };
  void emit_global(unsigned node);
  void emit_called_access(unsigned node);
  void emit_buffer(unsigned node);
  // What instructions through a buffer resource have in common.
  struct BufferOperands {
    std::array<Value*, 4> resource{};
    Value* sgpr_offset = nullptr;  // i64
    Value* low = nullptr;          // as functions of the runtime take them: two words of the resource
    Value* high = nullptr;         // the others
    Value* both_offsets = nullptr;
  };
  BufferOperands buffer_operands(const isa::Instruction& instruction);
  Value* store_buffer_address(const isa::Instruction& instruction);
  void emit_buffer_format(unsigned node);
  void emit_buffer_atomic(unsigned node);
  // emit_memory_access.cpp
  void emit_memory_access(unsigned node, const MemoryAccess& access);
  class MemoryAccessCode;
  bool replace_by_addends(Value*& base, ChunkValues& low, ChunkValues& high);
  void emit_scratch(unsigned node);
  void emit_scratch_part(unsigned node);
  struct LdsAccess {
    uint32_t offset;
    unsigned data;  // first VGPR
    bool is_second;
  };
  std::vector<LdsAccess> lds_accesses(const Node& node) const;
  void emit_regular_lds(unsigned node, unsigned chunk);
  void emit_lds_by_lanes(unsigned node, unsigned chunk);
  void store_in_order(bool is_second, std::function<void()> store);
  bool has_launch_exec(unsigned node) const;
  void store_under(Value* exec, Value* word, Value* pointer);
  llvm::Constant* lane_multiples(int32_t factor);
  AddressFacts& address_facts(Value* addresses);
  // i1, of a chunk.
  Value* has_stride(Value* addresses, uint32_t bytes);
  // Whether [address, address + bytes) is inside.
  Value* in_range(std::pair<Value*, Value*> range, Value* address, uint64_t bytes);
  // The range that the instruction hit last, as begin and end.
  std::pair<Value*, Value*> last_range(unsigned slot);
  // i1: whether memory allows it; the slot holds its range then.
  Value* look_range_up(unsigned slot, Value* address, uint64_t bytes, uint8_t access);
  // Whether an access is made lane by lane in generated code, if its addresses are not consecutive.
  bool is_gathered(const isa::AccessShape& shape) const;
  // One element for each lane that `on` has, at [pointer + index]; zeros elsewhere. `before`: what the
  // register holds, for loads of a part of it. `behind`: so many bytes behind the places the elements are, if
  // not null.
  std::vector<Value*> gather(const isa::AccessShape& shape, Value* places, Value* on, Value* before,
                             Value* behind = nullptr);
  // Dwords of lanes that lie side by side, though not all lanes are on, and those that are off may be
  // anywhere: goes on where they do not. `on` for each chunk; what loads give is in `words`, what stores
  // store is from there. The block where it ends has no branch yet.
  llvm::BasicBlock* emit_side_by_side(bool is_load, Value* lanes, Value* pointer, const ChunkValues& offsets,
                                      const ChunkValues& on, ChunkValues& words);

  // emit_short_rows.cpp: groups whose rows are shorter than a chunk
  using ChunkWords = std::array<std::vector<Value*>, kMaxChunks>;
  // A way of an access, which goes nowhere yet, and what it loads.
  struct Moved {
    llvm::BasicBlock* end = nullptr;
    ChunkWords words;
  };
  bool has_short_rows(unsigned node, const isa::AccessShape& shape) const;
  // Goes on where lanes of a row are not side by side.
  std::vector<Moved> emit_short_rows(bool is_load, Value* lanes, Value* pointer, const ChunkValues& offsets,
                                     const ChunkValues& on, const ChunkWords& words, unsigned dwords);
  llvm::Constant* multiples_in_rows(unsigned bytes);
  Value* first_in_rows(Value* lanes);
  Value* greatest_in_rows(Value* lanes, Value* on);
  Value* joined_parts(std::vector<Value*> parts);
  std::vector<Value*> load_fours(Value* pointer, Value* offsets);
  Value* with_part(const isa::AccessShape& shape, Value* word, Value* before);
  Value* next_word(Value* places, unsigned word);
  void scatter(const isa::AccessShape& shape, const std::vector<Value*>& words, Value* places, Value* on);
  void scatter_apart(const isa::AccessShape& shape, const std::vector<Value*>& words, Value* places,
                     Value* on);
  Value* first_of(Value* lanes, Value* on);
  Value* bits_of(Value* a, Value* b);
  Value* lanes_inside(Value* at, unsigned bytes);
  void emit_gathered_lds(unsigned node, unsigned chunk);
  std::vector<Value*> load_consecutive(Value* pointer, unsigned dwords);
  Value* load_once(llvm::Type* type, Value* pointer, bool has_pairs);
  bool is_shared(Value* pointer) const;  // with waves on other threads
  void store_consecutive(Value* pointer, const std::vector<Value*>& words);
  // Four dwords of each lane, so many bytes apart, each lane's by one store.
  void store_fours(Value* pointer, const std::vector<Value*>& words, uint64_t stride);
  // Elements one behind the other, and each of their dwords for all lanes.
  std::vector<Value*> taken_apart(Value* all, unsigned dwords);
  Value* put_together(const std::vector<Value*>& words);

  // emit_lds.cpp: lanes at constant distances from each other
  bool has_lds_offsets(unsigned node) const;
  uint32_t bytes_at_lds_offsets(unsigned node) const;
  Value* lds_is_at_offsets(unsigned node);
  Value* has_offsets(Value* addresses, const OffsetsOfLanes& offsets);
  Value* lowest_address(Value* addresses, const OffsetsOfLanes& offsets);
  unsigned lanes_of_register() const;
  Value* lanes_of_part(Value* lanes, unsigned part);
  void emit_lds_at_offsets(unsigned node, unsigned chunk);
  std::vector<Value*> load_at_offsets(const isa::AccessShape& shape, const OffsetsOfLanes& offsets,
                                      Value* pointer, unsigned first, std::map<unsigned, Value*>& registers);
  Value* put(Value* into, Value* from, const std::vector<std::pair<unsigned, unsigned>>& places);
  void store_at_offsets(const isa::AccessShape& shape, const std::vector<Value*>& words,
                        const OffsetsOfLanes& offsets, Value* pointer, Value* exec);
  llvm::Constant* constant_lanes(const OffsetsOfLanes& offsets);

  // emit_walk.cpp: loads whose lanes each walk through memory
  struct Walk {
    // Where each lane is expected next: the low half with the base in it, and the high half of the offset.
    std::array<llvm::AllocaInst*, kMaxChunks> low{}, high{};
    // What was loaded ahead; how much of it is left, and from which base, range and for which lanes.
    llvm::AllocaInst *rows = nullptr, *rows_left = nullptr, *base = nullptr, *begin = nullptr, *end = nullptr,
                     *lanes = nullptr;
    llvm::AllocaInst* is_long = nullptr;  // more is loaded ahead the next time
    llvm::AllocaInst* wasted = nullptr;   // how often rows were forgotten that were not used up
    // That all lanes are where they are expected needs no look. It has rows, rows_left and is_long only; the
    // loop that is this block begins without rows.
    bool is_certain = false;
    unsigned block = 0;
  };
  void plan_walks(std::span<const LoopAccess> accesses);
  void begin_walks();
  void begin_walk_anew(const Walk& walk);
  void forget_walks();
  void forget_certain_walks(unsigned block);
  void forget_walks_in(std::pair<Value*, Value*> range);
  Moved emit_walk(unsigned node, const isa::AccessShape& shape, unsigned slot, Value* base,
                  const ChunkValues& low, const ChunkValues& high, bool has_base);
  std::vector<Value*> load_rows(Value* pointer, Value* offsets, unsigned count);

  // emit_walking_store.cpp: stores whose lanes each walk through memory
  struct StoreWalk {
    unsigned block = 0, dwords = 0;
    // What is to be stored, as rows of lanes, and how many rounds it is of; where the first round's are, as
    // offsets from the begin of their range.
    llvm::AllocaInst *rows = nullptr, *rounds = nullptr, *offsets = nullptr, *begin = nullptr;
    llvm::AllocaInst* is_long = nullptr;  // more is kept this time
  };
  void plan_store_walks();
  // Goes on where the lanes store as any others do. The result goes nowhere yet.
  llvm::BasicBlock* emit_store_walk(unsigned node, const MemoryAccess& access,
                                    const std::array<std::vector<Value*>, kMaxChunks>& words);
  Value* are_rows_apart(const ChunkValues& offsets, Value* bytes);
  void store_rows(Value* pointer, const ChunkValues& offsets, const StoreWalk& walk, unsigned count);
  void begin_walk_anew(const StoreWalk& walk);
  // What a loop that is this block has not stored yet, or any loop.
  void store_kept_rows(unsigned block);
  void store_all_kept_rows();
  void store_kept_rows(const StoreWalk& walk);

  // emit_lane_loop.cpp: loops through which a wave goes lane by lane
  struct LaneEntry {
    llvm::BasicBlock* block = nullptr;
    llvm::AllocaInst* failures = nullptr;     // i32: how often lanes were given up
    llvm::AllocaInst* look_ups = nullptr;     // i32: how often they began again with another range
    llvm::AllocaInst* rounds_left = nullptr;  // i32: with few lanes, before a loop is made compact
  };
  // Chunks of VGPRs, one behind the other: what the lanes begin with, and then what they end with.
  struct LaneRows {
    std::map<unsigned, unsigned> places;  // by register
    unsigned chunks = 0;
    llvm::ArrayType* type = nullptr;
    llvm::AllocaInst* memory = nullptr;
    bool contains(unsigned number) const { return places.contains(number); }
  };
  LaneRows rows_of(const std::vector<unsigned>& registers);
  Value* row(const LaneRows& rows, unsigned number, unsigned chunk);
  Value* lane_in_row(const LaneRows& rows, unsigned number, Value* lane);  // i64
  llvm::AllocaInst* alloca_of(llvm::Type* type);
  // Of a wave that does not come from there.
  llvm::BasicBlock* way_into(unsigned block);
  LaneEntry& lane_entry(unsigned block);
  void forget_values();
  void emit_lane_loops();
  void emit_lane_loop(unsigned block);
  // lane_by_lane.h
  class LaneByLane;
  class LaneLoopCode;

  // emit_divergent_loop.cpp: such loops of several blocks
  void emit_divergent_loop(unsigned header);
  class DivergentLoopCode;

  // emit_exchange_loop.cpp: loops around a compare-and-swap, whose lanes come one after the other
  void emit_exchange_loop(unsigned block);
  class ExchangeLoopCode;

  // emit_rolled_run.cpp: long runs of code that waves go through once
  class RolledRun;
  bool is_in_long_straight_code() const;
  bool may_be_rolled(unsigned node) const;
  bool is_run_rolled() const;
  void emit_rolled_run(const Snapshot& start);

  // emit_compact_loop.cpp: loops that go on with the lanes that are left
  struct CompactWave {
    const CompactLoop* loop = nullptr;
    unsigned header = 0;
    Value* on = nullptr;       // the lanes that are there, as a mask of the wave
    unsigned most_lanes = 16;  // so many at most: a chunk, or half of one
    LaneRows rows{}, lanes{};  // VGPRs as the wave has them, and of the lanes that are there
    std::map<unsigned, llvm::BasicBlock*> blocks{};
    // By the block at which the wave is what it was, and whether the branch to it goes backward.
    std::map<std::pair<unsigned, bool>, llvm::BasicBlock*> ways_back{};
    // Of the block in work, where the wave may begin again, with the registers that are in the slots. By that
    // node, where it is not the block's begin: ways to the interpreter.
    unsigned restart = 0;
    std::map<std::pair<unsigned, Leave>, llvm::BasicBlock*> ways_out{};
    // Where that is so because few enough lanes are left for half a chunk, after so many rounds more: i32.
    llvm::BasicBlock* way_to_half = nullptr;
    llvm::AllocaInst* rounds_left = nullptr;
    std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots{};
  };
  void emit_compact_loop(unsigned header);
  uint32_t rounds_before_compact(const CompactLoop& loop) const;
  void emit_compact_version(unsigned header, llvm::BasicBlock* begin, Value* exec, unsigned most_lanes);
  bool has_half_version() const;
  llvm::BasicBlock* look_for_half();
  bool is_half() const { return compact_ && compact_->most_lanes == 8; }
  Value* lower_half(Value* lanes);
  Value* only_half(Value* lanes);
  Value* bits_of_lanes(Value* mask);
  void make_compact(CompactWave& compact);
  void emit_compact_block(unsigned block);
  void make_whole(const CompactWave& compact, const RegisterSet& changed,
                  const std::map<unsigned, BitsOfOthers>& changed_masks);
  void emit_way_back(const CompactWave& compact, unsigned to, bool is_backward, uint32_t rounds_left);
  void emit_way_out(const CompactWave& compact, unsigned node, Leave how);
  llvm::BasicBlock* leave_compact(Leave how);
  llvm::BasicBlock* way_back(unsigned block, bool is_backward);
  RegisterSet changed_at(const CompactLoop& loop, unsigned block) const;
  void begin_at(unsigned block);
  void for_each_lane(Value* on, const std::function<void(Value* lane, Value* place)>& body);
  // Of a mask's bits those of the lanes that are on, side by side; and back.
  Value* compressed(Value* mask, Value* on);
  Value* spread(Value* mask, Value* on);
  void set_whole_mask(unsigned number, Value* mask);
  unsigned first_of_mask(unsigned number) const;

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Routine& routine_;
  const Facts& facts_;
  const unsigned piece_;
  unsigned chunks_;  // that the wave's lanes may be on in; one, where a lane is emitted alone
  const bool has_masked_gathers_;
  bool host_sees_streams_;  // in this code
  const bool has_barriers_;
  unsigned foreseen_stores_ = 0;       // of this piece
  std::set<unsigned> accesses_again_;  // loop_accesses.h
  std::set<unsigned> uneven_steps_;    // accesses in loops that go on by what the loop has loaded
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  llvm::Type *i1_, *i16_, *i32_, *i64_;
  llvm::PointerType* pointer_;
  llvm::FixedVectorType *lanes_, *lane_mask_;
  Value *wave_ = nullptr, *dispatch_ = nullptr, *vgprs_ = nullptr, *lds_ = nullptr, *lds_bytes_ = nullptr,
        *scratch_base_ = nullptr, *scratch_bytes_ = nullptr, *slots_of_ranges_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  // Of a RowFunction: the GroupRow, its waves, the number of the one in work, and where waves go that have
  // ended.
  Value *row_ = nullptr, *waves_ = nullptr;
  llvm::AllocaInst *wave_number_ = nullptr, *group_x_ = nullptr;
  llvm::BasicBlock* ended_ = nullptr;
  // As its waves are launched: scalar registers, by number, and the work-item ids of each chunk's first lane.
  std::map<unsigned, Value*> launched_;
  ChunkValues first_items_{};
  llvm::BasicBlock* leave_ = nullptr;
  llvm::PHINode *leave_offset_, *leave_budget_, *leave_state_, *leave_how_;
  std::vector<PendingLeave> leaves_;  // of the block in work, in the order of the code
  llvm::AllocaInst *leave_place_ = nullptr, *leave_executed_ = nullptr, *leave_why_ = nullptr;
  std::map<unsigned, llvm::BasicBlock*> blocks_;
  std::map<std::pair<unsigned, unsigned>, llvm::AllocaInst*> slots_;
  llvm::AllocaInst *budget_, *words_, *masks_, *result_words_, *result_mask_, *arguments_, *scalar_result_,
      *buffer_;
  std::array<llvm::AllocaInst*, kMaxChunks> doubt_{};
  llvm::AllocaInst* doubt_in_all_lanes_ = nullptr;

  Locals locals_;
  // The block in work, and its nodes. What was executed counts from the first.
  unsigned block_ = 0, block_first_ = 0, block_last_ = 0;
  Run run_;
  unsigned pass_ = 0;                                         // chunk in work
  std::map<std::pair<Value*, unsigned>, Value*> half_masks_;  // i32 register and chunk: i16
  std::map<Value*, Value*> expanded_masks_;                   // i16: <16 x i1>
  std::map<Value*, AddressFacts> address_facts_;
  std::map<std::pair<unsigned, unsigned>, LowHalf> low_halves_;   // by the register with the carry, and chunk
  std::map<std::pair<Value*, Value*>, AddressSum> address_sums_;  // by the halves of the sum
  unsigned next_slot_;

  // Of the block in work, if it has two versions.
  struct Section {
    llvm::BasicBlock* second = nullptr;     // where the second version begins
    llvm::BasicBlock* irregular = nullptr;  // the way there from the first one
    Locals locals;                          // of the first version, at the section's begin
  };
  ScalarLoads scalar_loads_;
  bool scratch_is_tested_ = false;  // as far as constant addresses of this block go
  AddressPlan plan_;
  llvm::BasicBlock* round_ = nullptr;  // where the first version goes on with the next one
  bool is_regular_version_ = false, is_in_loop_ = false;
  bool selects_nans_;       // as Routine::selects_nans, and where lanes exchange
  bool is_seldom_ = false;  // where waves are that were not as guessed, or once
  RolledRun* rolled_ = nullptr;
  std::map<unsigned, llvm::AllocaInst*> chunk_rows_;  // of VGPRs in rolled runs
  std::vector<Section> sections_;
  // What is linear is so in a chunk, or in a wave whose group is one of a row.
  const Shape shape_;
  LinearMath linear_math_;
  const std::vector<AddressPlan> plans_;  // by block
  // i32: whether the first version of a block came to its end, by flag_of(); and what the first lane of a
  // chunk held there, by block, register and chunk.
  std::map<unsigned, llvm::AllocaInst*> kept_flags_;
  std::map<std::tuple<unsigned, unsigned, unsigned>, llvm::AllocaInst*> kept_values_;
  std::map<unsigned, RegisterSet> kept_in_lanes_on_;  // by block: others may hold something else there
  // At the end of a first version: registers that only first versions behind it read, or that these put
  // there.
  RegisterSet without_slot_, without_slot_in_rounds_;
  // Of a wave: what emit_computed() wrote in the first chunk, by node.
  std::map<unsigned, ComputedRegisters> computed_;
  std::map<std::pair<unsigned, unsigned>, LowSum> low_sums_;  // by the register with the carry, and chunk
  // i1, by node and chunk: whether the mask that it writes has all lanes that are on, or none.
  std::map<std::pair<unsigned, unsigned>, Value*> alike_masks_;
  // i64, by node and the first chunk that it is of: the lanes before a bound, or the others.
  std::map<std::pair<unsigned, unsigned>, Value*> bounded_lanes_;
  // By the register with the base address, whether it is a load, and in rows so many bytes: the slot of all
  // such accesses.
  std::map<std::tuple<int, bool, uint64_t>, unsigned> base_slots_;
  std::map<unsigned, RowRange> row_ranges_;                     // by slot
  std::map<unsigned, std::pair<Value*, Value*>> known_ranges_;  // by slot, in this section
  std::map<unsigned, Walk> walks_;                              // by node
  std::map<unsigned, StoreWalk> store_walks_;                   // by node
  const std::map<unsigned, LaneLoop> lane_loops_;               // by block
  const std::map<unsigned, DivergentLoop> divergent_loops_;     // by header
  std::map<unsigned, ExchangeLoop> exchange_loops_;             // by block
  std::map<unsigned, unsigned> atomic_slots_;                   // by node, once that is emitted
  std::map<unsigned, CompactLoop> compact_loops_;               // by header, of others
  CompactWave* compact_ = nullptr;                              // in work
  std::map<unsigned, LaneEntry> lane_entries_;
  std::map<unsigned, Arguments> kernel_arguments_;          // by the first register of the pair
  std::map<unsigned, std::vector<Value*>> argument_words_;  // by node
  llvm::AllocaInst* most_executed_ = nullptr;               // i64; 0 once a wave has changed them
  llvm::Instruction* arguments_loaded_ = nullptr;           // behind the loads

 public:
  // Behind the last slot that the piece uses.
  unsigned next_slot() const { return next_slot_; }
};

// Blocks of a piece where run() may start, in the order of the entry numbers.
std::vector<unsigned> entry_blocks(const Routine& routine, unsigned piece);

}  // namespace lockstep::translator
