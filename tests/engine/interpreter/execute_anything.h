// Any bytes as code on one wave. For the fuzzer and for the test that needs no fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lockstep::interpreter {

// The first byte chooses wave size, VGPR allocation and float mode, the others are instructions. Memory, LDS
// and scratch have guards behind them; aborts if one was written to, or a wave runs on beyond its budget.
void execute_bytes(std::span<const std::byte> bytes);

// A program of `count` instructions that all decode, made from the seed, as bytes for the above.
std::vector<std::byte> valid_program(uint64_t seed, unsigned count);

}  // namespace lockstep::interpreter
