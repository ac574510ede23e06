// Accesses of LDS whose lanes are at constant distances from the lowest one, in any order: eight dwords at a
// time are loaded, or put back with what is stored, and permuted. A work-group's LDS is one host thread's.
// For hosts without masked gathers.
#include <algorithm>

#include "engine/translator/emitter.h"
#include "engine/translator/lane_moves.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::Value;

namespace {

constexpr unsigned kHalf = 8;  // lanes, and dwords, of a host's register
// Eight lanes from more registers than that are no faster than eight loads.
constexpr unsigned kMostRegisters = 3;
// How much the first one of two addresses is loaded with.
constexpr uint32_t kMostBytesTogether = 512;

// Dwords of eight lanes, by the register of eight that they are in.
std::map<unsigned, std::vector<std::pair<unsigned, unsigned>>> by_register(const OffsetsOfLanes& offsets,
                                                                           unsigned half, unsigned first) {
  std::map<unsigned, std::vector<std::pair<unsigned, unsigned>>> result;  // lanes and places
  for (unsigned lane = 0; lane < kHalf; ++lane) {
    const unsigned dword = offsets[half * kHalf + lane] / 4 + first;
    result[dword / kHalf].emplace_back(lane, dword % kHalf);
  }
  return result;
}

unsigned most_registers(const OffsetsOfLanes& offsets, unsigned dwords) {
  size_t most = 0;
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned word = 0; word < dwords; ++word)
      most = std::max(most, by_register(offsets, half, word).size());
  return static_cast<unsigned>(most);
}

uint32_t end_of(const OffsetsOfLanes& offsets, unsigned bytes) {
  return *std::ranges::max_element(offsets) + bytes;
}

}  // namespace

// Where the guess of a stride says the same, that is less work.
bool Emitter::has_lds_offsets(unsigned index) const {
  const NodeFacts& facts = facts_.nodes[index];
  if (has_masked_gathers_ || !facts.lds_offsets) return false;
  if (!facts.lds_stride) return true;
  for (unsigned lane = 0; lane < 16; ++lane)
    if ((*facts.lds_offsets)[lane] != lane * *facts.lds_stride) return true;
  return false;
}

// Whole registers of dwords: behind the last lane's there may be some.
uint32_t Emitter::bytes_at_lds_offsets(unsigned index) const {
  const AccessShape shape = isa::access_shape(routine_.nodes[index].instruction.row->opcode);
  constexpr uint32_t kBytes = 4 * kHalf;
  const uint32_t end = end_of(*facts_.nodes[index].lds_offsets, shape.bytes);
  uint32_t bytes = 0;
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  for (const LdsAccess& access : accesses) {
    const uint32_t from = accesses.front().offset;
    const bool is_together = access.offset >= from && access.offset - from <= kMostBytesTogether;
    const uint32_t begin = is_together ? from : access.offset;
    bytes = std::max(bytes, begin + (access.offset - begin + end + kBytes - 1) / kBytes * kBytes);
  }
  return bytes;
}

llvm::Constant* Emitter::constant_lanes(const OffsetsOfLanes& offsets) {
  std::vector<llvm::Constant*> each;
  for (uint32_t offset : offsets) each.push_back(ir_.getInt32(offset));
  return llvm::ConstantVector::get(each);
}

// i1: whether all lanes are where they are expected.
Value* Emitter::has_offsets(Value* addresses, const OffsetsOfLanes& offsets) {
  Value* lowest = lowest_address(addresses, offsets);
  Value* expected = ir_.CreateAdd(ir_.CreateVectorSplat(16, lowest), constant_lanes(offsets));
  Value* wrong = ir_.CreateBitCast(ir_.CreateICmpNE(addresses, expected), i16_);
  return ir_.CreateICmpEQ(wrong, ir_.getInt16(0));
}

// i1: whether those of the instruction are so, inside of the LDS.
Value* Emitter::lds_is_at_offsets(unsigned index) {
  const isa::Instruction& instruction = routine_.nodes[index].instruction;
  const OffsetsOfLanes& offsets = *facts_.nodes[index].lds_offsets;
  Value* last = ir_.CreateSub(lds_bytes_, ir_.getInt64(bytes_at_lds_offsets(index)));
  Value* regular = ir_.getTrue();
  for (unsigned chunk = 0; chunk < chunks_; ++chunk) {
    Value* addresses = vgpr(instruction.find(isa::Role::addr)->vgpr(), chunk);
    Value* lowest = ir_.CreateZExt(lowest_address(addresses, offsets), i64_);
    regular = ir_.CreateAnd(regular, has_offsets(addresses, offsets));
    regular = ir_.CreateAnd(regular, ir_.CreateICmpSLE(lowest, last));
  }
  const bool is_load = isa::access_shape(instruction.row->opcode).kind == AccessShape::Kind::load;
  if (is_load || !has_launch_exec(index)) return regular;
  return ir_.CreateAnd(regular, are_all(whole_mask(kExec)));
}

Value* Emitter::lowest_address(Value* addresses, const OffsetsOfLanes& offsets) {
  return ir_.CreateSub(address_facts(addresses).first, ir_.getInt32(offsets[0]));
}

Value* Emitter::eight_of(Value* lanes, unsigned half) {
  std::vector<int> indices;
  for (unsigned i = 0; i < kHalf; ++i) indices.push_back(static_cast<int>(half * kHalf + i));
  return ir_.CreateShuffleVector(lanes, indices);
}

void Emitter::emit_lds_at_offsets(unsigned index, unsigned chunk) {
  const Node& node = routine_.nodes[index];
  const AccessShape shape = isa::access_shape(node.instruction.row->opcode);
  const bool is_load = shape.kind == AccessShape::Kind::load;
  const unsigned dwords = shape.registers();
  const OffsetsOfLanes& offsets = *facts_.nodes[index].lds_offsets;
  Value* addresses = vgpr(node.instruction.find(isa::Role::addr)->vgpr(), chunk);
  Value* lowest = ir_.CreateZExt(lowest_address(addresses, offsets), i64_);
  const auto pointer_to = [&](uint32_t offset) {
    return ir_.CreateGEP(ir_.getInt8Ty(), lds_, ir_.CreateAdd(lowest, ir_.getInt64(offset)));
  };
  const std::vector<LdsAccess> accesses = lds_accesses(node);
  if (!is_load) {
    Value* exec = has_launch_exec(index) ? nullptr : bits_of_register(kExec, chunk);
    for (const LdsAccess& access : accesses) {
      std::vector<Value*> words;
      for (unsigned word = 0; word < dwords; ++word) words.push_back(vgpr(access.data + word, chunk));
      Value* pointer = pointer_to(access.offset);
      store_in_order(access.is_second, [=, this] { store_at_offsets(shape, words, offsets, pointer, exec); });
    }
    return;
  }
  std::vector<std::pair<unsigned, Value*>> writes;
  std::map<unsigned, Value*> registers;
  Value* first = pointer_to(accesses.front().offset);
  for (const LdsAccess& access : accesses) {
    const uint32_t distance = access.offset - accesses.front().offset;
    const bool is_together =
        access.offset >= accesses.front().offset && distance <= kMostBytesTogether && distance % 4 == 0;
    Value* pointer = is_together ? first : pointer_to(access.offset);
    std::map<unsigned, Value*> own;
    const std::vector<Value*> words = load_at_offsets(shape, offsets, pointer, is_together ? distance / 4 : 0,
                                                      is_together ? registers : own);
    for (unsigned word = 0; word < dwords; ++word) writes.emplace_back(access.data + word, words[word]);
  }
  for (const auto& [number, value] : writes) write_lanes(facts_.nodes[index], number, chunk, value);
}

// `first`: so many dwords behind the pointer; `registers`: what has been loaded from there.
std::vector<Value*> Emitter::load_at_offsets(const AccessShape& shape, const OffsetsOfLanes& offsets,
                                             Value* pointer, unsigned first,
                                             std::map<unsigned, Value*>& registers) {
  const unsigned dwords = shape.registers();
  if (most_registers(offsets, dwords) > kMostRegisters) {
    Value* from = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, first);
    return gather(shape, ir_.CreateGEP(ir_.getInt8Ty(), from, constant_lanes(offsets)),
                  llvm::Constant::getAllOnesValue(lane_mask_), nullptr);
  }
  auto* eight = llvm::FixedVectorType::get(i32_, kHalf);
  std::vector<Value*> words;
  for (unsigned word = 0; word < dwords; ++word) {
    std::array<Value*, 2> halves{};
    for (unsigned half = 0; half < 2; ++half) {
      for (const auto& [number, lanes] : by_register(offsets, half, first + word)) {
        Value*& loaded = registers[number];
        if (!loaded)
          loaded = ir_.CreateAlignedLoad(eight, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, number * kHalf),
                                         llvm::Align(1));
        halves[half] = put(halves[half], loaded, lanes);
      }
    }
    std::vector<int> both;
    for (int i = 0; i < 16; ++i) both.push_back(i);
    words.push_back(ir_.CreateShuffleVector(halves[0], halves[1], both));
  }
  return words;
}

// Eight dwords with others in some places: those are numbers of the result and of `from`. Permutes one
// register, then blends two: LLVM makes something long of both at once. Without `into` the other places are
// anything.
Value* Emitter::put(Value* into, Value* from, const std::vector<std::pair<unsigned, unsigned>>& places) {
  std::vector<int> order(kHalf, -1), blend;
  for (const auto& [to, at] : places) order[to] = static_cast<int>(at);
  Value* permuted = ir_.CreateShuffleVector(from, order);
  if (!into) return permuted;
  for (unsigned i = 0; i < kHalf; ++i) blend.push_back(static_cast<int>(order[i] < 0 ? i : i + kHalf));
  return ir_.CreateShuffleVector(into, permuted, blend);
}

// Of all lanes, or those that `exec` (i16) has. What is between them, and the others', is put back as it was.
void Emitter::store_at_offsets(const AccessShape& shape, const std::vector<Value*>& words,
                               const OffsetsOfLanes& offsets, Value* pointer, Value* exec) {
  const auto dwords = static_cast<unsigned>(words.size());
  if (most_registers(offsets, dwords) > kMostRegisters) {
    Value* lanes = exec ? ir_.CreateBitCast(exec, lane_mask_) : llvm::Constant::getAllOnesValue(lane_mask_);
    return scatter(shape, words, ir_.CreateGEP(ir_.getInt8Ty(), pointer, constant_lanes(offsets)), lanes);
  }
  auto* eight = llvm::FixedVectorType::get(i32_, kHalf);
  std::array<Value*, 2> on{};
  if (exec) {
    Value* lanes = lanes_as_words(ir_, exec);
    for (unsigned half = 0; half < 2; ++half) on[half] = eight_of(lanes, half);
  }
  struct Part {
    Value *words = nullptr, *on = nullptr;
    unsigned places = 0;
  };
  std::map<unsigned, Part> registers;
  for (unsigned word = 0; word < dwords; ++word)
    for (unsigned half = 0; half < 2; ++half)
      for (const auto& [number, lanes] : by_register(offsets, half, word)) {
        Part& part = registers[number];
        std::vector<std::pair<unsigned, unsigned>> places;
        for (const auto& [lane, place] : lanes) {
          places.emplace_back(place, lane);
          part.places |= 1u << place;
        }
        part.words = put(part.words, eight_of(words[word], half), places);
        if (!exec) continue;
        if (!part.on) part.on = llvm::Constant::getNullValue(eight);
        part.on = put(part.on, on[half], places);
      }
  for (auto& [number, part] : registers) {
    Value* place = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, number * kHalf);
    if (exec || part.places != 0xff) {
      Value* before = ir_.CreateAlignedLoad(eight, place, llvm::Align(1));
      if (exec) {
        part.words = ir_.CreateSelect(ir_.CreateIsNeg(part.on), part.words, before);
      } else {
        std::vector<int> blend;
        for (unsigned i = 0; i < kHalf; ++i)
          blend.push_back(static_cast<int>(part.places >> i & 1 ? i + kHalf : i));
        part.words = ir_.CreateShuffleVector(before, part.words, blend);
      }
    }
    ir_.CreateAlignedStore(part.words, place, llvm::Align(1));
  }
}

}  // namespace lockstep::translator
