// Why bytes are no instruction, for messages. Slow: decode() says whether they are one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lockstep::isa {

// What stands there: the dwords, and the instruction that they would be if its fields were good, such as
// ".long 0x7e0002d2 (v_mov_b32)".
std::string show_bytes(std::span<const std::byte> bytes, unsigned wave_size);
// Which operand or field decode() refuses, and why; empty if it takes the bytes.
std::string explain(std::span<const std::byte> bytes, unsigned wave_size);
// Which operand is a misaligned group of scalar registers (guide 3.3.1.3), and what decode() makes of it,
// such as "s[3:4], which counts as s[2:3]"; empty if there is none.
std::string misaligned_registers(std::span<const std::byte> bytes, unsigned wave_size);

}  // namespace lockstep::isa
