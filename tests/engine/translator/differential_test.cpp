// Random instructions on both engines: the same registers, LDS and memory afterwards, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "engine/translator/body_signature.h"
#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/translator/engine_pair.h"
#include "tests/sweep.h"

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

Code joined(const std::vector<Code>& instructions) {
  Code code;
  for (const Code& words : instructions) code.insert(code.end(), words.begin(), words.end());
  return code;
}

using Prepare = std::function<void(interpreter::TestWave&)>;

// Without the instructions that the difference does not need.
std::vector<Code> shrunk(EnginePair& pair, std::vector<Code> program, const Prepare& prepare) {
  for (size_t i = program.size(); i-- > 0 && program.size() > 1;) {
    std::vector<Code> shorter = program;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    if (!pair.run(joined(shorter), prepare).empty()) program = std::move(shorter);
  }
  return program;
}

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
    if (single_.empty()) return;
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
  FewAtOnce states[] = {
      FewAtOnce({wave_size, 256, ~uint64_t{0}, random()}),
      FewAtOnce({wave_size, 48, 0x5a5a'0ff3'8421'f00f, random()}),
      FewAtOnce({wave_size, 256, ~uint64_t{0}, random(), static_cast<uint32_t>(random()) & kFloatModeMask}),
      FewAtOnce({.wave_size = wave_size, .seed = random(), .selects_nans = true}),
      FewAtOnce({.wave_size = wave_size,
                 .seed = random(),
                 .mode = static_cast<uint32_t>(random()) & kFloatModeMask,
                 .selects_nans = true})};
  unsigned number = 0, turn = wave_size / 32;
  for (const isa::Row& row : isa::rows()) {
    // In the share each row has one wave size.
    if (!is_compared(row) || !test::is_in_share(++turn, 2)) continue;
    const auto encoded = interpreter::random_instruction(row, wave_size, random, random() % 3 == 0);
    // What the device shares stays from run to run.
    if (!encoded || encoded->instruction.gds) continue;
    FewAtOnce& state = states[++number % std::size(states)];
    state.add(*encoded);
    if (state.has_failed_often()) return;
  }
  for (FewAtOnce& state : states) state.finish();
}

// Host instructions of a row on AVX-512, by its name, as the files of host_code_test.cpp have them.
std::map<std::string, double> row_costs() {
  std::map<std::string, std::pair<double, unsigned>> sums;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_HOST_CODE)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const size_t gap = line.find("  ");
      if (line.starts_with('#') || line.starts_with("wave64 ") || gap == std::string::npos) continue;
      std::string name = line.substr(0, line.find(' '));
      for (const char* suffix : {"_e32", "_e64", "_dpp"})
        if (name.ends_with(suffix)) name.resize(name.size() - 4);
      auto& [sum, count] = sums[name];
      sum += std::strtod(line.c_str() + gap, nullptr);
      ++count;
    }
  }
  std::map<std::string, double> costs;
  for (const auto& [name, sum] : sums) costs[name] = sum.first / sum.second;
  return costs;
}

// Draws rows. Those whose host code is long come more seldom, by as much: else most of the time would go into
// sines and scaled divisions. Each comes often in some thousand programs.
class RowUrn {
 public:
  RowUrn() {
    const std::map<std::string, double> costs = row_costs();
    double sum = 0;
    for (const isa::Row& row : isa::rows()) {
      if (!is_compared(row) || row.flags & isa::kEndsWave) continue;
      constexpr double kUsual = 20;
      const auto cost = costs.find(std::string(row.name));
      sum += cost == costs.end() ? 1 : std::min(1.0, kUsual / cost->second);
      rows_.push_back(&row);
      upto_.push_back(sum);
    }
  }
  const isa::Row& draw(Random& random) const {
    const double at = upto_.back() * static_cast<double>(random() % (1u << 24)) / (1u << 24);
    return *rows_[static_cast<size_t>(std::ranges::upper_bound(upto_, at) - upto_.begin())];
  }

 private:
  std::vector<const isa::Row*> rows_;
  std::vector<double> upto_;
};

uint64_t number_asked(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// From several states, which cost little beside the translation. Fails with the report of the first that ends
// otherwise.
bool runs_alike(EnginePair& pair, const Code& code, uint64_t seed,
                const std::function<std::string(const Prepare&)>& report) {
  constexpr unsigned kStates = 6;
  for (unsigned state = 0; state < kStates; ++state) {
    const Prepare prepare = state == 0 ? Prepare() : EnginePair::another_state(seed * kStates + state);
    if (pair.run(code, prepare).empty()) continue;
    ADD_FAILURE() << "seed " << seed << ", state " << state << ": " << report(prepare);
    return false;
  }
  return true;
}

// Programs of many instructions: registers go from one to the next inside translated code.
TEST_P(Rows, Programs) {
  const unsigned wave_size = GetParam();
  const RowUrn urn;
  unsigned failures = 0;
  // LOCKSTEP_DIFFERENTIAL_FIRST: the seed of one that differed, to begin with.
  const uint64_t first = number_asked("LOCKSTEP_DIFFERENTIAL_FIRST", 1);
  const uint64_t programs =
      number_asked("LOCKSTEP_DIFFERENTIAL_PROGRAMS", test::of_sweep<uint64_t>(4000, 60));
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    Random random(seed * 2 + wave_size);
    EnginePair pair({wave_size, random() % 2 ? 256u : 24u + static_cast<unsigned>(random() % 64),
                     random() % 2 ? ~uint64_t{0} : random(), seed,
                     random() % 2 ? kDefaultFloatMode : static_cast<uint32_t>(random()) & kFloatModeMask,
                     seed % 3 == 0});
    std::vector<Code> program;
    for (unsigned i = 0; i < 32; ++i) {
      const auto encoded =
          interpreter::random_instruction(urn.draw(random), wave_size, random, random() % 4 != 0);
      if (!encoded || encoded->instruction.gds) continue;
      program.push_back(encoded->words);
      if (!pair.runs_through(joined(program))) program.pop_back();
    }
    const Code code = joined(program);
    const bool is_same = runs_alike(pair, code, seed, [&](const Prepare& prepare) {
      return pair.report(joined(shrunk(pair, program, prepare)), prepare);
    });
    if (!is_same && ++failures == 10) return;
  }
}

bool is_vector_alu(const isa::Row& row) {
  using isa::Encoding;
  switch (row.encoding) {
    case Encoding::vop1:
    case Encoding::vop2:
    case Encoding::vop3:
    case Encoding::vop3p:
    case Encoding::vopc:
    case Encoding::vopd:
    case Encoding::vinterp:
      return true;
    default:
      return false;
  }
}

bool casts_doubt(const isa::Row& row) {
  return row.encoding == isa::Encoding::vopd || vector_signature(row.base).takes_mode;
}

// Straight code of several pieces, mostly of vector instructions, which are loops over the chunks there. What
// makes it long says nothing.
TEST_P(Rows, LongPrograms) {
  const unsigned wave_size = GetParam();
  const RowUrn urn;
  unsigned failures = 0;
  const uint64_t first = number_asked("LOCKSTEP_DIFFERENTIAL_FIRST", 1);
  const uint64_t programs =
      number_asked("LOCKSTEP_DIFFERENTIAL_PROGRAMS", test::of_sweep<uint64_t>(1000, 20));
  Code behind = interpreter::assembled(what_makes_it_long(), wave_size);
  behind.pop_back();
  for (uint64_t seed = first; seed < first + programs; ++seed) {
    Random random(seed * 2 + wave_size);
    EnginePair pair(
        {wave_size, 256, random() % 2 ? ~uint64_t{0} : random(), seed, kDefaultFloatMode, seed % 3 == 0});
    std::vector<Code> program;
    const auto add = [&](unsigned count, bool all_kinds) {
      for (unsigned i = 0; i < count; ++i) {
        const isa::Row& row = urn.draw(random);
        if (!all_kinds && !is_vector_alu(row)) continue;
        // A NaN in any of them is doubt for all.
        if (seed % 2 == 0 && is_vector_alu(row) && casts_doubt(row)) continue;
        const auto encoded = interpreter::random_instruction(row, wave_size, random, random() % 4 != 0);
        if (!encoded || encoded->instruction.gds ||
            (!all_kinds && encoded->instruction.dpp != isa::Dpp::none))
          continue;
        program.push_back(encoded->words);
        if (!pair.runs_through(joined(program))) program.pop_back();
      }
    };
    for (unsigned part = 0; part < 3; ++part) {
      add(60, false);
      add(4, true);
    }
    Code code = joined(program);
    code.insert(code.end(), behind.begin(), behind.end());
    const bool is_same =
        runs_alike(pair, code, seed, [&](const Prepare& prepare) { return pair.report(code, prepare); });
    if (!is_same && ++failures == 10) return;
  }
}

// Lanes that are off when a register is written keep what they hold for those who read them nevertheless.
TEST_P(Rows, LanesThatAreOffAreRead) {
  const unsigned wave_size = GetParam();
  EnginePair pair({wave_size, 64, 0xeca8'eca8'eca8'eca8, 7});
  // Every third register has small numbers, which make no NaN.
  for (const char* reader :
       {"v_interp_p10_f32 v4, v6, v9, v3 wait_exp:7", "v_interp_p2_f32 v4, v3, v6, v9 wait_exp:7",
        "v_interp_p10_f16_f32 v4, v6, v9, v3 wait_exp:7",
        "v_mov_b32_dpp v4, v3 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf fi:1",
        "v_readlane_b32 s4, v3, 1", "v_permlane16_b32 v4, v3, s2, s3 op_sel:[1,0]",
        "v_permlanex16_b32 v4, v3, s2, s3 op_sel:[1,0]"}) {
    const std::string text = std::string("v_add_f32 v3, 1.0, v12\n") + reader;
    Code code = interpreter::assembled(text, wave_size);
    code.pop_back();  // s_endpgm: registers are compared at the end of the code
    EXPECT_TRUE(pair.runs_through(code)) << text;
    EXPECT_EQ(pair.run(code), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, Rows, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator
