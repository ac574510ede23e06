// SMEM: scalar loads (guide chapter 8).
#include "engine/interpreter/common.h"
#include "engine/interpreter/lane_address.h"
#include "engine/interpreter/registration.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

template <unsigned dwords>
void s_load(const Operation* op, Wave* wave, int64_t budget) {
  const uint64_t address = scalar_load_address(op, wave);
  const std::byte* memory = readable(op, wave, address, 4 * dwords);
  if (!memory) return raise_memory_violation(op, wave, budget, -1, address, 4 * dwords, kRead);
  uint32_t words[dwords];
  __builtin_memcpy(words, memory, sizeof words);
  __builtin_memcpy(&scalar_at(wave, op->dst), words, sizeof words);
  LOCKSTEP_NEXT();
}

template <unsigned dwords>
void s_buffer_load(const Operation* op, Wave* wave, int64_t budget) {
  const ScalarBufferAddress address(op, wave);
  // Guide 8.1.2: a negative immediate is a violation, whatever the sum.
  if (op->offset < 0)
    return raise_memory_violation(op, wave, budget, -1, address.of_dword(0), 4 * dwords, kRead);
  uint32_t words[dwords] = {};
  for (unsigned i = 0; i < dwords; ++i) {
    if (!address.has_dword(i)) continue;
    const std::byte* memory = readable(op, wave, address.of_dword(i), 4);
    if (!memory) return raise_memory_violation(op, wave, budget, -1, address.of_dword(i), 4, kRead);
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
