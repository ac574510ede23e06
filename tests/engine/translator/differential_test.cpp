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

bool may_change_exec(const isa::Instruction& instruction) {
  if (instruction.row->implicit_writes & isa::kExec) return true;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const isa::Operand& operand = instruction.operands[i];
    if (operand.written && (operand.code == isa::code::kExecLo || operand.code == isa::code::kExecHi))
      return true;
  }
  return false;
}

// Runs instructions of one wave's state together, since translating costs more for each piece of code than
// for each instruction in it. One that faults, ends the wave or turns lanes off runs alone.
class FewAtOnce {
 public:
  explicit FewAtOnce(const Start& start) : pair_(start) {}

  void add(const interpreter::Encoded& encoded) {
    Code longer = together_;
    longer.insert(longer.end(), encoded.words.begin(), encoded.words.end());
    if (may_change_exec(encoded.instruction) || !pair_.runs_through(encoded.words) ||
        !pair_.runs_through(longer)) {
      expect_same(encoded.words);
      return;
    }
    together_ = std::move(longer);
    single_.push_back(encoded.words);
    if (single_.size() == kAtOnce) finish();
  }

  void finish() {
    if (const std::string difference = pair_.run(together_); !difference.empty()) {
      const unsigned before = failures_;
      for (const Code& code : single_) expect_same(code);
      if (failures_ == before) fail(difference);
    }
    together_.clear();
    single_.clear();
  }

  bool has_failed_often() const { return failures_ >= 20; }

 private:
  static constexpr size_t kAtOnce = 8;

  void expect_same(const Code& code) {
    if (const std::string difference = pair_.run(code); !difference.empty()) fail(difference);
  }
  void fail(const std::string& difference) {
    ADD_FAILURE() << difference;
    ++failures_;
  }

  EnginePair pair_;
  Code together_;
  std::vector<Code> single_;
  unsigned failures_ = 0;
};

// Every row with all its fields at random.
TEST_P(Rows, FewAtOnce) {
  const unsigned wave_size = GetParam();
  Random random(wave_size);
  FewAtOnce states[] = {FewAtOnce({wave_size, 256, ~uint64_t{0}, random()}),
                        FewAtOnce({wave_size, 48, 0x5a5a'0ff3'8421'f00f, random()})};
  unsigned number = 0;
  for (const isa::Row& row : isa::rows()) {
    if (!is_compared(row)) continue;
    const auto encoded = interpreter::random_instruction(row, wave_size, random, random() % 3 == 0);
    // What the device shares stays from run to run.
    if (!encoded || encoded->instruction.gds) continue;
    FewAtOnce& state = states[++number % 2];
    state.add(*encoded);
    if (state.has_failed_often()) return;
  }
  for (FewAtOnce& state : states) state.finish();
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
