// Instructions a second that decode() and disassemble() take, on real code and on one core.
#include <benchmark/benchmark.h>

#include <span>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::isa {
namespace {

constexpr uint32_t kCode[] = {
#include "bench/isa_code.inc"
};

// Walks over the code once; what cannot be decoded (a kernel's cut end) counts as well.
template <bool kWithText>
size_t walk(std::span<const std::byte> code) {
  Instruction instruction;
  char text[kMaxText];
  size_t count = 0;
  for (size_t at = 0; at < code.size(); at += instruction.size) {
    const DecodeError error = decode(code.subspan(at), 32, instruction);
    benchmark::DoNotOptimize(instruction);
    if (kWithText && error == DecodeError::none) {
      benchmark::DoNotOptimize(disassemble(instruction, 32, text, sizeof text));
      benchmark::ClobberMemory();
    }
    ++count;
  }
  return count;
}

template <bool kWithText>
void run(benchmark::State& state) {
  const std::span<const std::byte> code = std::as_bytes(std::span(kCode));
  size_t instructions = 0;
  for (auto _ : state) instructions += walk<kWithText>(code);
  state.counters["instructions/s"] =
      benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

void decode_only(benchmark::State& state) {
  run<false>(state);
}
BENCHMARK(decode_only);

void decode_and_disassemble(benchmark::State& state) {
  run<true>(state);
}
BENCHMARK(decode_and_disassemble);

}  // namespace
}  // namespace lockstep::isa
