// SMEM: scalar loads (guide chapter 8).
#include "engine/interpreter/common.h"
#include "engine/interpreter/memory_access.h"
#include "engine/interpreter/registration.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

uint64_t pair_at(Wave* wave, uint32_t offset) {
  return scalar_at(wave, offset) | uint64_t{scalar_at(wave, offset + 4)} << 32;
}

template <unsigned dwords>
void s_load(const Operation* op, Wave* wave, int64_t budget) {
  // The two low bits of every component count as zero, before they are added (guide 8.1.1).
  const uint64_t address = (pair_at(wave, op->source[2]) & ~uint64_t{3}) +
                           (static_cast<uint64_t>(op->offset) & ~uint64_t{3}) +
                           (scalar_at(wave, op->dst2) & ~3u);
  const std::byte* memory = readable(op, wave, address, 4 * dwords);
  if (!memory) return raise_memory_violation(op, wave, budget, -1, address, 4 * dwords, kRead);
  uint32_t words[dwords];
  __builtin_memcpy(words, memory, sizeof words);
  __builtin_memcpy(&scalar_at(wave, op->dst), words, sizeof words);
  LOCKSTEP_NEXT();
}

template <unsigned dwords>
void s_buffer_load(const Operation* op, Wave* wave, int64_t budget) {
  const uint32_t* resource = &scalar_at(wave, op->source[2]);
  const uint64_t base = (resource[0] | uint64_t{resource[1] & 0xffffu} << 32) & ~uint64_t{3};
  const uint64_t stride = resource[1] >> 16 & 0x3fff;
  const uint64_t size = (stride == 0 ? 1 : stride) * uint64_t{resource[2]};
  const uint64_t offset = (static_cast<uint64_t>(op->offset) + scalar_at(wave, op->dst2)) & ~uint64_t{3};
  // Guide 8.1.2: a negative immediate is a violation, whatever the sum.
  if (op->offset < 0) return raise_memory_violation(op, wave, budget, -1, base + offset, 4 * dwords, kRead);
  uint32_t words[dwords] = {};
  for (unsigned i = 0; i < dwords; ++i) {
    // Each dword outside the buffer reads as zero (guide 8.4.1).
    if (offset + 4 * i >= size) continue;
    const uint64_t address = base + offset + 4 * i;
    const std::byte* memory = readable(op, wave, address, 4);
    if (!memory) return raise_memory_violation(op, wave, budget, -1, address, 4, kRead);
    __builtin_memcpy(&words[i], memory, 4);
  }
  __builtin_memcpy(&scalar_at(wave, op->dst), words, sizeof words);
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(scalar_memory)(HandlerTable& table) {
  auto set = [&](Opcode opcode, Handler handler) { table.other[static_cast<size_t>(opcode)] = handler; };
  set(Opcode::s_load_b32, &s_load<1>);
  set(Opcode::s_load_b64, &s_load<2>);
  set(Opcode::s_load_b128, &s_load<4>);
  set(Opcode::s_load_b256, &s_load<8>);
  set(Opcode::s_load_b512, &s_load<16>);
  set(Opcode::s_buffer_load_b32, &s_buffer_load<1>);
  set(Opcode::s_buffer_load_b64, &s_buffer_load<2>);
  set(Opcode::s_buffer_load_b128, &s_buffer_load<4>);
  set(Opcode::s_buffer_load_b256, &s_buffer_load<8>);
  set(Opcode::s_buffer_load_b512, &s_buffer_load<16>);
}

}  // namespace lockstep::interpreter
