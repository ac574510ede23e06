// The same code on the interpreter and on the translator, from the same state of a wave.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/translator/quotients.h"
#include "engine/translator/translator.h"
#include "numeric/float_mode.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {

// What both runs start from.
struct Start {
  unsigned wave_size = 32;
  unsigned vgpr_count = kMaxVgprs;  // asked for
  uint64_t exec = ~uint64_t{0};
  uint64_t seed = 0;  // of what is in registers, memory and LDS
  uint32_t mode = kDefaultFloatMode;
  bool selects_nans = false;  // the version of the code that does
};

// The routine that begins with this text's first instruction.
Routine routine_of(std::string_view text, unsigned wave_size = 32, const LaunchShape& launch = {});

// The patterns of several operations in the text's first block, as if that were one run.
Quotients quotients_of(std::string_view text, unsigned wave_size = 32, const RegisterSet& live = {});

class EnginePair {
 public:
  using Code = std::vector<uint32_t>;

  explicit EnginePair(const Start& start);

  // Runs the code to where it stops or runs off its end, which leaves all registers in the wave. `prepare`
  // changes the state before. Empty if both engines end alike: all registers that the wave has, memory, LDS,
  // scratch, the fault; else what differs, with the listing.
  std::string run(const Code& code, const std::function<void(interpreter::TestWave&)>& prepare = {});

  // The same, and if the engines differ the state before and both states after: of all that the code names,
  // in the lanes that differ or the first one.
  std::string report(const Code& code, const std::function<void(interpreter::TestWave&)>& prepare = {});

  // For run(): other numbers in registers, and another EXEC.
  static std::function<void(interpreter::TestWave&)> another_state(uint64_t seed);

  // Whether the interpreter runs off the end of the code, without a fault before.
  bool runs_through(const Code& code);

  // Instructions of the last run that had no translation.
  const std::vector<InterpretedInstruction>& interpreted() const { return interpreted_; }
  // How often the last run left translated code.
  uint64_t exits(Leave how) const;

 private:
  void fill();
  void forget_earlier_run();

  Start start_;
  interpreter::TestWave wave_;
  interpreter::TestWave::State state_;
  std::array<interpreter::TestWave::State, 3> states_;  // of the last run: before, behind both engines
  std::vector<InterpretedInstruction> interpreted_;
  std::vector<Exit> exits_;
};

std::string repeated(const std::string& text, unsigned times);

// Behind other code it makes a long routine of it (routine.h). It is jumped over, and writes but SCC.
std::string what_makes_it_long();

// The text with its first `from` replaced; fails the test if there is none.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

// Two runs of this text, off its end, from two states, of all lanes and of some.
void expect_same_runs(const std::string& text, unsigned wave_size = 32);

// One run of this text, off its end, so that all registers are compared; empty if both engines end alike.
std::string compare(std::string_view text, const Start& start = {});

}  // namespace lockstep::translator
