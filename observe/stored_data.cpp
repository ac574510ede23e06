#include "observe/stored_data.h"

#include <algorithm>
#include <cstring>

#include "isa/memory_shape.h"

namespace lockstep::observe {

bool find_store_source(const Event& event, size_t access, StoreSource& source) {
  const isa::Instruction& instruction = event.instruction;
  const isa::AccessShape& shape = isa::access_shape(instruction.row->opcode);
  if (shape.kind != isa::AccessShape::Kind::store || shape.format_components != 0) return false;
  // The accesses of a lane stand side by side: its two addresses, or the parts of its element in a buffer.
  size_t first = access;
  while (first > 0 && event.accesses[first - 1].lane == event.accesses[access].lane) --first;
  const bool has_two = shape.addresses == 2;
  const isa::Operand* operand =
      instruction.find(has_two && access != first ? isa::Role::data2 : isa::Role::data);
  if (!operand || !operand->is_vgpr()) return false;
  source.vgpr = operand->vgpr();
  source.skip = shape.part == isa::RegisterPart::high_half ? 2 : 0;
  if (!has_two)
    for (size_t i = first; i < access; ++i) source.skip += event.accesses[i].bytes;
  const unsigned end = source.vgpr + (source.skip + event.accesses[access].bytes + 3) / 4;
  return end <= event.wave.vgpr_count;
}

std::byte stored_byte(const Event& event, size_t access, const StoreSource& source, uint64_t offset) {
  const uint64_t at = source.skip + offset;
  const std::byte* const registers =
      event.wave.vgprs + (source.vgpr + at / 4) * size_t{event.wave.register_bytes};
  return registers[4 * static_cast<size_t>(event.accesses[access].lane) + at % 4];
}

bool store_the_same(const Event& event, size_t one, size_t other) {
  StoreSource of_one, of_other;
  if (!find_store_source(event, one, of_one) || !find_store_source(event, other, of_other)) return false;
  const MemoryAccess &a = event.accesses[one], &b = event.accesses[other];
  const uint64_t begin = std::max(a.address, b.address),
                 end = std::min(a.address + a.bytes, b.address + b.bytes);
  for (uint64_t at = begin; at < end; ++at)
    if (stored_byte(event, one, of_one, at - a.address) !=
        stored_byte(event, other, of_other, at - b.address))
      return false;
  return true;
}

}  // namespace lockstep::observe
