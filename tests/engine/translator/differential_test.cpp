// Random instructions on both engines: the same registers, LDS and memory afterwards, bit for bit.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::Random;
using Code = EnginePair::Code;

// What only faults is of no use in a program, and branches have tests of their own.
bool is_compared(const isa::Row& row) {
  using isa::Opcode;
  if (row.encoding == isa::Encoding::mimg || row.encoding == isa::Encoding::exp) return false;
  return !(row.flags & isa::kBranch);
}

class Rows : public testing::TestWithParam<unsigned> {};

// Every row with all its fields at random.
TEST_P(Rows, OneByOne) {
  const unsigned wave_size = GetParam();
  Random random(wave_size);
  EnginePair pairs[] = {EnginePair({wave_size, 256, ~uint64_t{0}, random()}),
                        EnginePair({wave_size, 48, 0x5a5a'0ff3'8421'f00f, random()})};
  unsigned failures = 0, number = 0;
  for (const isa::Row& row : isa::rows()) {
    if (!is_compared(row)) continue;
    const auto encoded = interpreter::random_instruction(row, wave_size, random, random() % 3 == 0);
    // What the device shares stays from run to run.
    if (!encoded || encoded->instruction.gds) continue;
    const std::string difference = pairs[++number % 2].run(encoded->words);
    if (difference.empty()) continue;
    ADD_FAILURE() << difference;
    if (++failures == 20) return;
  }
}

// Programs of many instructions: registers go from one to the next inside translated code.
TEST_P(Rows, Programs) {
  const unsigned wave_size = GetParam();
  std::vector<const isa::Row*> rows;
  for (const isa::Row& row : isa::rows())
    if (is_compared(row) && !(row.flags & isa::kEndsWave)) rows.push_back(&row);
  unsigned failures = 0;
  const char* more = std::getenv("LOCKSTEP_DIFFERENTIAL_PROGRAMS");
  const uint64_t programs = more ? std::strtoull(more, nullptr, 10) : 40;
  for (uint64_t seed = 1; seed <= programs; ++seed) {
    Random random(seed * 2 + wave_size);
    EnginePair pair({wave_size, random() % 2 ? 256u : 24u + static_cast<unsigned>(random() % 64),
                     random() % 2 ? ~uint64_t{0} : random(), seed});
    Code code;
    for (unsigned i = 0; i < 32; ++i) {
      const auto encoded = interpreter::random_instruction(*rows[random() % rows.size()], wave_size, random,
                                                           random() % 4 != 0);
      if (!encoded || encoded->instruction.gds) continue;
      Code longer = code;
      longer.insert(longer.end(), encoded->words.begin(), encoded->words.end());
      if (pair.runs_through(longer)) code = std::move(longer);
    }
    const std::string difference = pair.run(code);
    if (difference.empty()) continue;
    ADD_FAILURE() << "seed " << seed << ": " << difference;
    if (++failures == 10) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, Rows, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator
