// Encodings of the memory families (LDSDIR, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP) to compare
// with LLVM, and the written list of those that the hardware takes and LLVM refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string_view>

#include "isa/instruction.h"

namespace lockstep::test {

bool is_memory_family(isa::Encoding encoding);

// Calls `visit` with the dwords of variants of the row: each field through its telling values with the others
// at rest, then `combinations` random mixtures.
void visit_memory_variants(const isa::Row& row, unsigned combinations, std::mt19937& random,
                           const std::function<void(std::span<const uint32_t>)>& visit);

// Why LLVM refuses an encoding that we decode, or nothing if there is no reason.
std::string_view why_llvm_refuses(std::span<const uint32_t> words, const isa::Instruction& instruction);

// LLVM 19 itself crashes on ray intersections with NSA whose register groups end beyond v255.
bool crashes_llvm(std::span<const uint32_t> words);

}  // namespace lockstep::test
