// A trap handler that saves a wave's whole context to memory, destroys it, brings it back and returns (guide
// 3.4.9, SAVECTX): the wave never notices, wherever it is interrupted.
#include "tests/engine/precise/context_handler.h"
#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

void interrupt_everywhere(unsigned wave_size, precise::Results results) {
  const std::string program = context_program(wave_size), handler = context_handler(wave_size);
  const auto run = [&](std::vector<precise::ScheduledRequest> requests, uint64_t* instructions) {
    TrapDispatch d(program, handler, wave_size, wave_size);
    d.buffer.resize(40000);
    const auto address = reinterpret_cast<uint64_t>(d.buffer.data());
    d.launch.user_data = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)};
    d.launch.memory = std::make_shared<const RangeSet>(
        std::vector<Range>{{address, address + 4 * d.buffer.size(), kReadWrite, "buffer 'out'"}});
    d.launch.lds_bytes = kContextLdsBytes;
    d.traps().memory = address + TrapDispatch::kLog;
    d.traps().scheduled = std::move(requests);
    d.options.precise.results = results;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->instruction << ": " << outcome.fault->fault.message;
    if (instructions) *instructions = outcome.totals.instructions;
    const bool saved = d.buffer[TrapDispatch::kLog / 4 + 1] != 0;  // v0 of lane 1
    EXPECT_EQ(saved, !d.traps().scheduled.empty());
    return std::vector<uint32_t>(d.buffer.begin(), d.buffer.begin() + 512);
  };
  uint64_t instructions = 0;
  const auto expected = run({}, &instructions);
  ASSERT_GT(instructions, 60u);
  EXPECT_NE(expected[8 * 64 - wave_size * 2], 0u);
  for (uint64_t at = 0; at < instructions; ++at)
    ASSERT_EQ(run({{at, {0, true}}}, nullptr), expected) << "interrupted after " << at << " instructions";
}

TEST(Trap, AContextSavedAndRestoredAnywhere32) {
  interrupt_everywhere(32, precise::Results::now);
}
TEST(Trap, AContextSavedAndRestoredAnywhere64) {
  interrupt_everywhere(64, precise::Results::now);
}
TEST(Trap, AContextSavedAndRestoredWhileResultsAreLate) {  // 16.5: s_trap waits for what is outstanding
  interrupt_everywhere(32, precise::Results::late);
}

}  // namespace
}  // namespace lockstep::machine
