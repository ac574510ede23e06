// libFuzzer target: any bytes as instructions, in both wave sizes, and their text.
#include <cstddef>
#include <cstdint>

#include "isa/instruction.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::isa;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  for (unsigned wave_size : {32u, 64u}) {
    Instruction instruction;
    for (size_t at = 0; at < size; at += instruction.size) {
      const DecodeError error = decode(bytes.subspan(at), wave_size, instruction);
      if (instruction.size == 0 || at + instruction.size > size) __builtin_trap();
      if (error != DecodeError::none) continue;
      char text[kMaxText];
      if (disassemble(instruction, wave_size, text, sizeof text) >= sizeof text) __builtin_trap();
      char brief[8];
      if (disassemble(instruction, wave_size, brief, sizeof brief) > sizeof brief) __builtin_trap();
    }
  }
  return 0;
}
