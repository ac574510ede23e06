// What the account of effects does not name (isa/effects.h) does not matter to an instruction: checkers take
// its word for what is read, and translated code stores nothing else before the interpreter does a step.
#include <array>
#include <cstring>
#include <string>

#include "isa/effects.h"
#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/sweep.h"

namespace lockstep::interpreter {
namespace {

constexpr uint32_t kEndProgram = 0xbfb00000;
constexpr unsigned kScc = isa::code::kScc, kLastScalar = 127;

class Named {
 public:
  void add(const isa::RegisterUse& use) {
    for (unsigned i = 0; i < use.count; ++i) {
      if (use.is_vgpr())
        vgprs[use.first - isa::code::kVgpr0 + i] = true;
      else
        scalars[use.first + i] = true;
    }
  }

  std::array<bool, kScc + 1> scalars{};
  std::array<bool, kMaxVgprs> vgprs{};
};

// Or kept in part.
Named read_by(const isa::RegisterEffects& effects) {
  Named named;
  for (const isa::RegisterUse& use : effects.reads) named.add(use);
  for (const isa::RegisterUse& use : effects.writes)
    if (use.is_partial) named.add(use);
  return named;
}
Named written_by(const isa::RegisterEffects& effects) {
  Named named;
  for (const isa::RegisterUse& use : effects.writes) named.add(use);
  return named;
}

// Addresses in the first registers, which instructions with plain fields name.
void prepare(TestWave& w, Random& random) {
  for (unsigned i = 0; i < 108; ++i) w.s(i) = static_cast<uint32_t>(random());
  for (unsigned i = 0; i < 16; i += 2) w.set_s64(i, w.memory_address() + 64 * i);
  w.s(isa::code::kM0) = static_cast<uint32_t>(random() % 24);
  w.s(kScc) = random() & 1;
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    w.fill(number,
           [&](unsigned lane) { return number % 3 == 0 ? 4 * lane : static_cast<uint32_t>(random()); });
  for (unsigned number = 4; number < 16; number += 4)
    w.fill64(number, [&](unsigned lane) { return w.memory_address() + 64 * number + 8 * lane; });
  for (unsigned i = 0; i < TestWave::kMemoryBytes / 4; ++i) w.word(i) = static_cast<uint32_t>(random());
  for (unsigned i = 0; i < TestWave::kLdsBytes / 4; ++i) w.lds_word(i) = static_cast<uint32_t>(random());
  w.set_exec(random());
}

void change_all_but(TestWave& w, const Named& named, Random& random) {
  for (unsigned i = 0; i <= kLastScalar; ++i)
    if (!named.scalars[i] && i != isa::code::kNull) w.s(i) = static_cast<uint32_t>(random());
  if (!named.scalars[kScc]) w.s(kScc) ^= 1;
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    if (!named.vgprs[number]) w.fill(number, [&](unsigned) { return static_cast<uint32_t>(random()); });
}

// Of the wave's registers.
class Words {
 public:
  Words(const TestWave::State& state, unsigned lanes) : state_(state), lanes_(lanes) {}

  uint32_t scalar(unsigned number) const { return state_.scalar[number]; }
  uint32_t vgpr(unsigned number, unsigned lane) const {
    uint32_t bits;
    std::memcpy(&bits, &state_.vgprs[4 * (size_t{number} * lanes_ + lane)], sizeof bits);
    return bits;
  }

  // The first register of which one of the two says so, by its number and lane; empty if there is none.
  template <class Scalar, class Vector>
  static std::string find(unsigned lanes, Scalar scalar, Vector vector) {
    for (unsigned i = 0; i <= kScc; i = i == kLastScalar ? kScc : i + 1)
      if (scalar(i)) return "scalar register " + std::to_string(i);
    for (unsigned number = 0; number < kMaxVgprs; ++number)
      for (unsigned lane = 0; lane < lanes; ++lane)
        if (vector(number, lane)) return "v" + std::to_string(number) + " in lane " + std::to_string(lane);
    return "";
  }

 private:
  const TestWave::State& state_;
  const unsigned lanes_;
};

struct Run {
  TestWave::State before, after;
};

// Each word is the same after both runs, or as it was before each.
std::string find_difference(const Run& run, const Run& other, unsigned lanes) {
  if (run.after.lds != other.after.lds) return "LDS";
  if (run.after.memory != other.after.memory) return "memory";
  if (run.after.scratch != other.after.scratch) return "scratch";
  if (run.after.mode != other.after.mode) return "MODE";
  const Words before(run.before, lanes), after(run.after, lanes), other_before(other.before, lanes),
      other_after(other.after, lanes);
  const auto differs = [](uint32_t first, uint32_t last, uint32_t other_first, uint32_t other_last) {
    return last != other_last && (last != first || other_last != other_first);
  };
  return Words::find(
      lanes,
      [&](unsigned i) {
        return differs(before.scalar(i), after.scalar(i), other_before.scalar(i), other_after.scalar(i));
      },
      [&](unsigned number, unsigned lane) {
        return differs(before.vgpr(number, lane), after.vgpr(number, lane), other_before.vgpr(number, lane),
                       other_after.vgpr(number, lane));
      });
}
std::string find_change(const Run& run, const Named& written, unsigned lanes) {
  const Words before(run.before, lanes), after(run.after, lanes);
  return Words::find(
      lanes, [&](unsigned i) { return !written.scalars[i] && before.scalar(i) != after.scalar(i); },
      [&](unsigned number, unsigned lane) {
        return !written.vgprs[number] && before.vgpr(number, lane) != after.vgpr(number, lane);
      });
}

bool is_followed(const isa::Row& row) {
  return row.encoding != isa::Encoding::mimg && row.encoding != isa::Encoding::exp &&
         (row.flags & (isa::kBranch | isa::kEndsWave)) == 0;
}

// What an instruction says of itself and does not hold; empty if there is nothing, or if it does not run.
std::string find_mistake(TestWave& w, const Encoded& encoded, Random& random, unsigned& compared) {
  std::vector<uint32_t> code = encoded.words;
  code.push_back(kEndProgram);
  const auto runs = [&] {
    w.execute(code, 1000);
    return w.wave().state == WaveState::ended;
  };
  prepare(w, random);
  Run run{w.save(), {}};
  if (!runs()) {
    w.restore(run.before);
    return "";
  }
  run.after = w.save();
  w.restore(run.before);
  ++compared;
  const isa::RegisterEffects effects = isa::register_effects(
      encoded.instruction,
      {.wave_size = w.size(), .vgpr_count = w.wave().vgpr_count, .m0 = w.s(isa::code::kM0)});
  std::string mistake = find_change(run, written_by(effects), w.size());
  if (!mistake.empty()) return mistake + " is written";
  change_all_but(w, read_by(effects), random);
  Run other{w.save(), {}};
  if (!runs()) {
    mistake = w.wave().fault.message;
  } else {
    other.after = w.save();
    mistake = find_difference(run, other, w.size());
  }
  w.restore(run.before);
  return mistake.empty() ? "" : mistake + " depends on what is not named";
}

TEST(Reads, AreNamedInTheAccountOfEffects) {
  const unsigned rounds = test::of_sweep<unsigned>(64, 4);
  unsigned compared = 0, failures = 0;
  for (const unsigned wave_size : {32u, 64u}) {
    TestWave w({.wave_size = wave_size, .host = best_host_target()});
    Random random(wave_size);
    for (const isa::Row& row : isa::rows()) {
      if (!is_followed(row)) continue;
      for (unsigned round = 0; round < rounds && failures < 40; ++round) {
        const auto encoded = random_instruction(row, wave_size, random, round % 4 != 0);
        if (!encoded || encoded->instruction.gds) continue;
        w.allocate_vgprs(round % 3 == 0 ? 96 : kMaxVgprs);
        const std::string mistake = find_mistake(w, *encoded, random, compared);
        if (mistake.empty()) continue;
        char text[isa::kMaxText];
        ADD_FAILURE() << std::string(text,
                                     isa::disassemble(encoded->instruction, wave_size, text, sizeof text))
                      << ", " << w.wave().vgpr_count << " VGPRs: " << mistake;
        ++failures;
      }
    }
  }
  EXPECT_GT(compared, isa::rows().size());
}

}  // namespace
}  // namespace lockstep::interpreter
