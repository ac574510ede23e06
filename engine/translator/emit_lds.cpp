// Accesses of LDS whose lanes are at constant distances from the lowest one, in any order: a host's register
// of dwords at a time is loaded, or put back with what is stored, and permuted. A work-group's LDS is one
// host thread's.
#include <algorithm>

#include "engine/translator/emitter.h"
#include "engine/translator/lane_moves.h"
#include "isa/memory_shape.h"

namespace lockstep::translator {

using isa::AccessShape;
using llvm::Value;

namespace {

constexpr unsigned kLanes = 16;  // of a chunk
// Lanes from more registers than that are no faster than as many loads.
constexpr unsigned kMostRegisters = 3;
// How much the first one of two addresses is loaded with.
constexpr uint32_t kMostBytesTogether = 512;

// Dwords of the lanes of a part of a chunk, by the host's register of `width` dwords that they are in.
std::map<unsigned, std::vector<std::pair<unsigned, unsigned>>> by_register(const OffsetsOfLanes& offsets,
                                                                           unsigned width, unsigned part,
                                                                           unsigned first) {
  std::map<unsigned, std::vector<std::pair<unsigned, unsigned>>> result;  // lanes and places
  for (unsigned lane = 0; lane < width; ++lane) {
    const unsigned dword = offsets[part * width + lane] / 4 + first;
    result[dword / width].emplace_back(lane, dword % width);
  }
  return result;
}

unsigned most_registers(const OffsetsOfLanes& offsets, unsigned width, unsigned dwords) {
  size_t most = 0;
  for (unsigned part = 0; part < kLanes / width; ++part)
    for (unsigned word = 0; word < dwords; ++word)
      most = std::max(most, by_register(offsets, width, part, word).size());
  return static_cast<unsigned>(most);
}

uint32_t end_of(const OffsetsOfLanes& offsets, unsigned bytes) {
  return *std::ranges::max_element(offsets) + bytes;
}

}  // namespace

// Of the host: 16 with AVX-512, 8 else.
unsigned Emitter::lanes_of_register() const {
  return has_masked_gathers_ ? kLanes : kLanes / 2;
}

// Where the guess of a stride says the same, that is less work.
bool Emitter::has_lds_offsets(unsigned index) const {
  const NodeFacts& facts = facts_.nodes[index];
  if (!facts.lds_offsets) return false;
  if (!facts.lds_stride) return true;
  for (unsigned lane = 0; lane < 16; ++lane)
    if ((*facts.lds_offsets)[lane] != lane * *facts.lds_stride) return true;
  return false;
}

// Whole registers of dwords: behind the last lane's there may be some.
uint32_t Emitter::bytes_at_lds_offsets(unsigned index) const {
  const AccessShape shape = isa::access_shape(routine_.nodes[index].instruction.row->opcode);
  const uint32_t register_bytes = 4 * lanes_of_register();
  const uint32_t end = end_of(*facts_.nodes[index].lds_offsets, shape.bytes);
  uint32_t bytes = 0;
  const std::vector<LdsAccess> accesses = lds_accesses(routine_.nodes[index]);
  for (const LdsAccess& access : accesses) {
    const uint32_t from = accesses.front().offset;
    const bool is_together = access.offset >= from && access.offset - from <= kMostBytesTogether;
    const uint32_t begin = is_together ? from : access.offset;
    bytes = std::max(
        bytes, begin + (access.offset - begin + end + register_bytes - 1) / register_bytes * register_bytes);
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

Value* Emitter::lanes_of_part(Value* lanes, unsigned part) {
  const unsigned width = lanes_of_register();
  if (width == kLanes) return lanes;
  std::vector<int> indices;
  for (unsigned i = 0; i < width; ++i) indices.push_back(static_cast<int>(part * width + i));
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
  const unsigned dwords = shape.registers(), width = lanes_of_register();
  if (most_registers(offsets, width, dwords) > kMostRegisters) {
    Value* from = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, first);
    return gather(shape, ir_.CreateGEP(ir_.getInt8Ty(), from, constant_lanes(offsets)),
                  llvm::Constant::getAllOnesValue(lane_mask_), nullptr);
  }
  auto* type = llvm::FixedVectorType::get(i32_, width);
  std::vector<int> both;
  for (unsigned i = 0; i < kLanes; ++i) both.push_back(static_cast<int>(i));
  std::vector<Value*> words;
  for (unsigned word = 0; word < dwords; ++word) {
    std::array<Value*, 2> parts{};
    for (unsigned part = 0; part < kLanes / width; ++part) {
      for (const auto& [number, lanes] : by_register(offsets, width, part, first + word)) {
        Value*& loaded = registers[number];
        if (!loaded)
          loaded = ir_.CreateAlignedLoad(type, ir_.CreateConstInBoundsGEP1_64(i32_, pointer, number * width),
                                         llvm::Align(1));
        parts[part] = put(parts[part], loaded, lanes);
      }
    }
    words.push_back(width == kLanes ? parts[0] : ir_.CreateShuffleVector(parts[0], parts[1], both));
  }
  return words;
}

// A host's register of dwords with others in some places: those are numbers of the result and of `from`.
// Permutes one register, then blends two: LLVM makes something long of both at once. Without `into` the other
// places are anything.
Value* Emitter::put(Value* into, Value* from, const std::vector<std::pair<unsigned, unsigned>>& places) {
  const unsigned width = lanes_of_register();
  std::vector<int> order(width, -1), blend;
  for (const auto& [to, at] : places) order[to] = static_cast<int>(at);
  Value* permuted = ir_.CreateShuffleVector(from, order);
  if (!into) return permuted;
  for (unsigned i = 0; i < width; ++i) blend.push_back(static_cast<int>(order[i] < 0 ? i : i + width));
  return ir_.CreateShuffleVector(into, permuted, blend);
}

// Of all lanes, or those that `exec` (i16) has. What is between them, and the others', is put back as it was.
void Emitter::store_at_offsets(const AccessShape& shape, const std::vector<Value*>& words,
                               const OffsetsOfLanes& offsets, Value* pointer, Value* exec) {
  const auto dwords = static_cast<unsigned>(words.size());
  const unsigned width = lanes_of_register();
  if (most_registers(offsets, width, dwords) > kMostRegisters) {
    Value* lanes = exec ? ir_.CreateBitCast(exec, lane_mask_) : llvm::Constant::getAllOnesValue(lane_mask_);
    Value* places = ir_.CreateGEP(ir_.getInt8Ty(), pointer, constant_lanes(offsets));
    return scatter_apart(shape, words, places, lanes);
  }
  auto* type = llvm::FixedVectorType::get(i32_, width);
  Value* on = exec ? lanes_as_words(ir_, exec) : nullptr;
  struct Part {
    Value *words = nullptr, *on = nullptr;
    unsigned places = 0;
  };
  std::map<unsigned, Part> registers;
  for (unsigned word = 0; word < dwords; ++word)
    for (unsigned part = 0; part < kLanes / width; ++part)
      for (const auto& [number, lanes] : by_register(offsets, width, part, word)) {
        Part& into = registers[number];
        std::vector<std::pair<unsigned, unsigned>> places;
        for (const auto& [lane, place] : lanes) {
          places.emplace_back(place, lane);
          into.places |= 1u << place;
        }
        into.words = put(into.words, lanes_of_part(words[word], part), places);
        if (!on) continue;
        if (!into.on) into.on = llvm::Constant::getNullValue(type);
        into.on = put(into.on, lanes_of_part(on, part), places);
      }
  for (auto& [number, part] : registers) {
    Value* place = ir_.CreateConstInBoundsGEP1_64(i32_, pointer, number * width);
    if (on || part.places != (1u << width) - 1) {
      Value* before = ir_.CreateAlignedLoad(type, place, llvm::Align(1));
      if (on) {
        part.words = ir_.CreateSelect(ir_.CreateIsNeg(part.on), part.words, before);
      } else {
        std::vector<int> blend;
        for (unsigned i = 0; i < width; ++i)
          blend.push_back(static_cast<int>(part.places >> i & 1 ? i + width : i));
        part.words = ir_.CreateShuffleVector(before, part.words, blend);
      }
    }
    ir_.CreateAlignedStore(part.words, place, llvm::Align(1));
  }
}

}  // namespace lockstep::translator
