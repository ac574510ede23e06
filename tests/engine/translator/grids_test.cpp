// Random grids on both engines: the same memory afterwards, bit for bit, and as many wave-instructions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "machine/launch.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/engine/translator/random_grid.h"
#include "tests/sweep.h"

namespace lockstep::translator {
namespace {

using Words = std::vector<uint32_t>;

class GridPair {
 public:
  explicit GridPair(uint64_t seed) : input_(RandomGrid::kInputBytes / 4), seed_(seed) {
    std::mt19937_64 random(seed);
    for (uint32_t& word : input_) {
      word = static_cast<uint32_t>(random());
      // Numbers of usual size, small integers, and now and then what is neither.
      if (random() % 4 == 0) word = 0x3e000000 + word % 0x03000000;
      if (random() % 4 == 0) word %= 1024;
      // And NaNs, in the middle of what waves do.
      if (seed % 8 == 3 && random() % 64 == 0) word |= 0x7f800000;
    }
  }

  // Empty, or what differs.
  std::string run(const RandomGrid& grid) {
    const Words code = interpreter::assembled(grid.text(), grid.wave_size);
    output_.assign(grid.output_bytes() / 4, 0);
    machine::Launch launch;
    launch.wave_size = grid.wave_size;
    launch.grid = grid.grid;
    launch.group = grid.group;
    launch.rsrc1 = grid.float_mode << 12 | 1u << 21 | 1u << 23;
    launch.rsrc2 = 1u << 7 | 1u << 8 | 1u << 11;  // work-group ids x and y, work-item ids x and y
    launch.lds_bytes = grid.is_plain ? 0 : 32768;
    launch.scratch_bytes = grid.is_plain ? 0 : 256;
    launch.vgpr_count = 64;
    launch.entry = reinterpret_cast<uint64_t>(code.data());
    launch.code = {{launch.entry, launch.entry + 4 * code.size()}};
    const auto in = reinterpret_cast<uint64_t>(input_.data()),
               out = reinterpret_cast<uint64_t>(output_.data());
    launch.user_data = {static_cast<uint32_t>(in),
                        static_cast<uint32_t>(in >> 32),
                        static_cast<uint32_t>(out),
                        static_cast<uint32_t>(out >> 32),
                        grid.grid[0],
                        0,
                        0,
                        grid.rounds};
    // Now and then the input ends before what some items read.
    const size_t readable = seed_ % 10 == 9 ? RandomGrid::kBufferBytes : 4 * input_.size();
    std::vector<Range> ranges = {{in, in + readable, kRead, "buffer 'in'"},
                                 {out, out + 4 * output_.size(), kReadWrite, "buffer 'out'"}};
    std::ranges::sort(ranges, {}, &Range::begin);
    launch.memory = std::make_shared<const RangeSet>(ranges);
    const auto outcome_on = [&](machine::EngineKind engine, unsigned threads) {
      std::ranges::fill(output_, 0x01010101u);
      machine::RunOptions options;
      options.engine = engine;
      options.threads = threads;
      // Limits keep groups from running in rows; the translator has no need of one behind the interpreter.
      if (engine == machine::EngineKind::interpreter) options.instruction_limit = 20'000'000;
      return std::pair(machine::run(launch, options), output_);
    };
    const auto [expected, expected_output] = outcome_on(machine::EngineKind::interpreter, 1);
    if (expected.limit_exceeded) return "a program without end\n";
    // Groups beside each other on one thread, and on several.
    const auto [found, found_output] = outcome_on(machine::EngineKind::translator, 1 + seed_ % 2);
    if (expected.fault || found.fault)
      return fault_difference(expected.fault, found.fault, grid.group[0] * grid.group[1] <= grid.wave_size);
    const uint64_t executed = expected.totals.instructions;
    interpreted_share_ = static_cast<double>(std::min(found.translation.interpreted, executed)) /
                         static_cast<double>(executed);
    std::string text;
    char line[160];
    if (expected.totals.instructions != found.totals.instructions) {
      std::snprintf(line, sizeof line, "%llu wave-instructions on the interpreter, %llu on the translator\n",
                    static_cast<unsigned long long>(expected.totals.instructions),
                    static_cast<unsigned long long>(found.totals.instructions));
      text += line;
    }
    unsigned told = 0;
    for (size_t i = 0; i < output_.size() && told < 16; ++i) {
      if (expected_output[i] == found_output[i]) continue;
      ++told;
      std::snprintf(line, sizeof line, "byte %zu: before 0x01010101, interpreter 0x%08x, translator 0x%08x\n",
                    4 * i, expected_output[i], found_output[i]);
      text += line;
    }
    return text;
  }

  // Of the wave-instructions of the last run, if no fault ended it.
  std::optional<double> interpreted_share() const { return interpreted_share_; }

 private:
  // Which wave of a group is the first depends on when each of them had its turn.
  static std::string fault_difference(const std::optional<machine::WaveFault>& expected,
                                      const std::optional<machine::WaveFault>& found, bool is_one_wave) {
    if (!found) return "a fault of the interpreter alone: " + expected->fault.message + "\n";
    if (!expected) return "a fault of the translator alone: " + found->fault.message + "\n";
    const bool is_same = expected->fault.kind == found->fault.kind && expected->group == found->group &&
                         (!is_one_wave || (expected->fault.pc == found->fault.pc &&
                                           expected->fault.address == found->fault.address));
    if (is_same) return {};
    return "faults: " + expected->instruction + ": " + expected->fault.message + " / " + found->instruction +
           ": " + found->fault.message + "\n";
  }

  Words input_, output_;
  const uint64_t seed_;
  std::optional<double> interpreted_share_;
};

// Without the statements that the difference does not need, and with one group if that is enough.
RandomGrid shrunk(GridPair& pair, RandomGrid grid) {
  for (size_t i = grid.statements.size(); i-- > 0;) {
    RandomGrid shorter = grid;
    shorter.statements.erase(shorter.statements.begin() + static_cast<std::ptrdiff_t>(i));
    if (!pair.run(shorter).empty()) grid = std::move(shorter);
  }
  return grid;
}

class Grids : public testing::TestWithParam<unsigned> {};

uint64_t number_asked(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// LOCKSTEP_GRIDS_FIRST, LOCKSTEP_GRIDS: other seeds, and how many.
TEST_P(Grids, AreTheSame) {
  const uint64_t first = number_asked("LOCKSTEP_GRIDS_FIRST", 1);
  const uint64_t count = number_asked("LOCKSTEP_GRIDS", test::of_sweep<uint64_t>(600, 10));
  unsigned failures = 0;
  double interpreted = 0;
  unsigned ended = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomGrid grid = random_grid(seed, GetParam());
    GridPair pair(seed);
    const std::string difference = pair.run(grid);
    if (const auto share = pair.interpreted_share()) {
      interpreted += *share;
      ++ended;
    }
    if (difference.empty()) continue;
    const RandomGrid small = shrunk(pair, grid);
    ADD_FAILURE() << "seed " << seed << ", grid " << grid.grid[0] << " x " << grid.grid[1] << ", groups "
                  << grid.group[0] << " x " << grid.group[1] << ", float mode " << grid.float_mode
                  << ", slots at 0, columns at " << grid.columns_at() << ", waves at " << grid.waves_at()
                  << ", rows of " << grid.row_bytes << " at " << grid.rows_at() << ", counters at "
                  << grid.shared_at() << "\n"
                  << pair.run(small) << small.text();
    if (++failures == 5) return;
  }
  // Else both would be the interpreter. Each program counts once: a long loop over NaNs that is not yet worth
  // a second version is as long as a hundred others.
  EXPECT_LE(interpreted, 0.1 * ended) << "of " << ended << " programs without a fault";
}

INSTANTIATE_TEST_SUITE_P(Wave, Grids, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator
