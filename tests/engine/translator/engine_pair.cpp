#include "tests/engine/translator/engine_pair.h"

#include <cstdio>
#include <iterator>
#include <set>

#include "tests/engine/interpreter/random_instruction.h"

namespace lockstep::translator {

namespace {

using interpreter::Random;
using interpreter::TestWave;
using Code = EnginePair::Code;

constexpr int64_t kBudget = 2000;
const interpreter::HostTarget kHost = interpreter::best_host_target();

std::string listing(const Code& code, unsigned wave_size) {
  std::string text;
  for (size_t at = 0; at < code.size();) {
    isa::Instruction instruction;
    if (isa::decode(std::as_bytes(std::span(code)).subspan(4 * at), wave_size, instruction) !=
        isa::DecodeError::none)
      return text + "?";
    char line[isa::kMaxText];
    text.append(line, isa::disassemble(instruction, wave_size, line, sizeof line)) += "\n";
    at += instruction.size / 4;
  }
  return text;
}

// Numbers that are interesting to integer and floating-point instructions, and addresses.
uint32_t random_word(Random& random) {
  constexpr uint32_t kEdges[] = {0,          1,          0x80000000, 0x7fffffff, 0xffffffff,
                                 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x00800000,
                                 0x007fffff, 0x3f800000, 0x7bff7c00, 0x7e017c01};
  switch (random() % 4) {
    case 0:
      return kEdges[random() % std::size(kEdges)];
    case 1:
      return static_cast<uint32_t>(random() % 4096);
    case 2:
      return 0x3f000000 + static_cast<uint32_t>(random() % 0x02000000);
    default:
      return static_cast<uint32_t>(random());
  }
}

std::string difference(const char* what, uint64_t number, uint64_t expected, uint64_t found) {
  char text[160];
  std::snprintf(text, sizeof text, "%s %llu: interpreter 0x%llx, translator 0x%llx\n", what,
                static_cast<unsigned long long>(number), static_cast<unsigned long long>(expected),
                static_cast<unsigned long long>(found));
  return text;
}

std::string first_difference(TestWave& wave, const TestWave::State& expected, const TestWave::State& found,
                             bool with_registers) {
  if (expected.lds != found.lds) return "LDS differs\n";
  if (expected.memory != found.memory) return "memory differs\n";
  if (expected.scratch != found.scratch) return "scratch differs\n";
  if (!with_registers) return {};
  for (unsigned i = 0; i < 128; ++i)
    if (expected.scalar[i] != found.scalar[i])
      return difference("scalar register", i, expected.scalar[i], found.scalar[i]);
  if (expected.scalar[kScalarScc] != found.scalar[kScalarScc])
    return difference("SCC", 0, expected.scalar[kScalarScc], found.scalar[kScalarScc]);
  if (expected.mode != found.mode) return difference("MODE", 0, expected.mode, found.mode);
  for (unsigned number = 0; number < wave.wave().vgpr_count; ++number) {
    for (unsigned lane = 0; lane < wave.size(); ++lane) {
      const uint32_t a = wave.before(expected, number, lane), b = wave.before(found, number, lane);
      if (a != b) return difference(("lane " + std::to_string(lane) + " of v").c_str(), number, a, b);
    }
  }
  return {};
}

}  // namespace

Routine routine_of(std::string_view text, unsigned wave_size, const LaunchShape& launch) {
  const std::vector<uint32_t>& code = interpreter::assembled(text, wave_size);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  return find_routine(ranges, entry, wave_size, kMaxVgprs, kDefaultFloatMode, launch);
}

Quotients quotients_of(std::string_view text, unsigned wave_size, const RegisterSet& live) {
  const Routine routine = routine_of(text, wave_size);
  const Block& block = routine.blocks[routine.entry_block];
  std::vector<unsigned> nodes;
  for (unsigned n = block.first; n < block.last; ++n) nodes.push_back(n);
  return find_quotients(routine, analyse(routine), nodes, live);
}

EnginePair::EnginePair(const Start& start) : start_(start), wave_({start.wave_size, kHost}) {
  fill();
  state_ = wave_.save();
}

std::string EnginePair::run(const Code& code, const std::function<void(TestWave&)>& prepare) {
  wave_.restore(state_);
  if (prepare) prepare(wave_);
  const TestWave::State before = wave_.save();
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  Wave& wave = wave_.wave();
  interpreter::Interpreter by_interpreter(ranges, start_.wave_size, wave_.ranges(), kHost, wave.vgpr_count);
  forget_earlier_run();
  wave_.execute(by_interpreter, entry, kBudget);
  const TestWave::State expected = wave_.save();
  const WaveState expected_end = wave.state;
  const std::string expected_fault = wave.fault.message;
  const uint64_t expected_pc = wave.pc;

  // The same memory again, so that addresses in registers are the same.
  wave_.restore(before);
  Translator by_translator(ranges, start_.wave_size, wave_.ranges(), entry, wave.vgpr_count, {},
                           FirstTier::translator, wave.mode);
  if (start_.selects_nans) by_translator.translate_for_nans();
  interpreted_ = by_translator.statistics().interpreted;
  forget_earlier_run();
  wave_.execute(by_translator, entry, kBudget);
  exits_ = by_translator.exits_since({});
  states_ = {before, expected, wave_.save()};
  std::string text = by_translator.unsupported();
  if (text.empty() && expected_end != wave.state)
    text = difference("state", 0, static_cast<uint64_t>(expected_end), static_cast<uint64_t>(wave.state));
  if (text.empty() && expected_pc != wave.pc)
    text = difference("pc", 0, expected_pc - entry, wave.pc - entry);
  if (text.empty() && expected_fault != wave.fault.message)
    text = expected_fault + " / " + wave.fault.message + "\n";
  // Where a wave faults, registers that nothing would have read are not brought up to date.
  const bool is_at_end = expected_pc == entry + 4 * code.size();
  if (text.empty()) text = first_difference(wave_, expected, states_[2], is_at_end);
  return text.empty() ? text : text + listing(code, start_.wave_size);
}

uint64_t EnginePair::exits(Leave how) const {
  uint64_t times = 0;
  for (const Exit& exit : exits_) times += exit.how == how ? exit.times : 0;
  return times;
}

std::string EnginePair::report(const Code& code, const std::function<void(TestWave&)>& prepare) {
  std::string text = run(code, prepare);
  if (text.empty()) return text;
  const auto line = [&](const std::string& name, const auto& value) {
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, ": before 0x%08x, interpreter 0x%08x, translator 0x%08x\n",
                  value(states_[0]), value(states_[1]), value(states_[2]));
    text += name + numbers;
  };
  const auto scalar = [&](const std::string& name, unsigned number) {
    line(name, [&](const TestWave::State& state) { return state.scalar[number]; });
  };
  std::set<unsigned> scalars, vgprs;
  for (size_t at = 0; at < code.size();) {
    isa::Instruction instruction;
    if (isa::decode(std::as_bytes(std::span(code)).subspan(4 * at), start_.wave_size, instruction) !=
        isa::DecodeError::none)
      break;
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (operand.type == isa::Type::label || operand.type == isa::Type::imm) continue;
      for (unsigned word = 0; word < operand.words; ++word)
        if (operand.is_vgpr())
          vgprs.insert(operand.vgpr() + word);
        else if (operand.code < isa::code::kVccLo)
          scalars.insert(operand.code + word);
    }
    at += instruction.size / 4;
  }
  line("MODE", [](const TestWave::State& state) { return state.mode; });
  scalar("SCC", kScalarScc);
  scalar("EXEC_LO", isa::code::kExecLo);
  scalar("EXEC_HI", isa::code::kExecHi);
  scalar("VCC_LO", isa::code::kVccLo);
  scalar("VCC_HI", isa::code::kVccHi);
  scalar("M0", isa::code::kM0);
  for (const unsigned number : scalars) scalar("s" + std::to_string(number), number);
  std::set<unsigned> lanes;
  for (unsigned number = 0; number < wave_.wave().vgpr_count; ++number)
    for (unsigned lane = 0; lane < wave_.size() && lanes.size() < 4; ++lane)
      if (wave_.before(states_[1], number, lane) != wave_.before(states_[2], number, lane))
        lanes.insert(lane);
  if (lanes.empty()) lanes.insert(0);
  for (const unsigned lane : lanes)
    for (const unsigned number : vgprs)
      if (number < kMaxVgprs)
        line("lane " + std::to_string(lane) + " of v" + std::to_string(number),
             [&](const TestWave::State& state) { return wave_.before(state, number, lane); });
  const auto bytes = [&](const char* what, const std::vector<std::byte> TestWave::State::* part) {
    unsigned told = 0;
    for (size_t i = 0; i < (states_[1].*part).size() && told < 16; ++i) {
      if ((states_[1].*part)[i] == (states_[2].*part)[i]) continue;
      ++told;
      line(std::string(what) + " byte " + std::to_string(i),
           [&](const TestWave::State& state) { return static_cast<unsigned>((state.*part)[i]); });
    }
  };
  bytes("memory", &TestWave::State::memory);
  bytes("LDS", &TestWave::State::lds);
  bytes("scratch", &TestWave::State::scratch);
  return text;
}

std::function<void(TestWave&)> EnginePair::another_state(uint64_t seed) {
  return [seed](TestWave& wave) {
    Random random(seed);
    const uint64_t lane = random() % 64;
    const uint64_t masks[] = {~uint64_t{0},
                              0,
                              uint64_t{1} << lane,
                              ~(uint64_t{1} << lane),
                              (uint64_t{1} << lane) - 1,
                              ~((uint64_t{1} << lane) - 1),
                              0x5555'5555'5555'5555,
                              0x0000'ffff'0000'ffff,
                              0xffff'0000'ffff'0000,
                              random(),
                              random() & random() & random(),
                              random() | random() | random()};
    wave.set_exec(masks[random() % std::size(masks)]);
    for (unsigned i = 36; i < 106; ++i) wave.s(i) = random_word(random);
    wave.s(106) = static_cast<uint32_t>(random());
    wave.s(107) = static_cast<uint32_t>(random());
    wave.s(kScalarScc) = random() & 1;
    // What was an address stays one.
    for (unsigned number = 6; number < 64; ++number)
      if (number % 3 != 0)
        for (unsigned i = 0; i < wave.size(); ++i) wave.v(number, i) = random_word(random);
  };
}

bool EnginePair::runs_through(const Code& code) {
  wave_.restore(state_);
  forget_earlier_run();
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  interpreter::Interpreter engine({{entry, entry + 4 * code.size()}}, start_.wave_size, wave_.ranges(), kHost,
                                  wave_.wave().vgpr_count);
  wave_.execute(engine, entry, kBudget);
  return wave_.wave().pc == entry + 4 * code.size();
}

// What a wave carries beside the state that is compared.
void EnginePair::forget_earlier_run() {
  wave_.wave().status = 0;
  wave_.wave().executed_before_turn = 0;
}

void EnginePair::fill() {
  Random random(start_.seed);
  wave_.allocate_vgprs(start_.vgpr_count);
  for (unsigned i = 0; i < 106; ++i) wave_.s(i) = random_word(random);
  for (unsigned i = 0; i < 32; i += 4) wave_.set_s64(i, wave_.memory_address() + 16 * i);
  // A buffer resource.
  wave_.set_s64(32, wave_.memory_address() | uint64_t{4} << 48);
  wave_.set_s64(34, TestWave::kMemoryBytes / 4 | uint64_t{0x3002'0fac} << 32);
  wave_.s(106) = static_cast<uint32_t>(random());
  wave_.s(107) = static_cast<uint32_t>(random());
  wave_.s(125) = static_cast<uint32_t>(random() % 64);
  wave_.s(kScalarScc) = random() & 1;
  // What lies beyond the allocation is what an earlier wave left there.
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    for (unsigned lane = 0; lane < wave_.size(); ++lane)
      wave_.v(number, lane) = number % 3 == 0 ? 4 * lane : random_word(random);
  wave_.fill64(4, [&](unsigned lane) { return wave_.memory_address() + 8 * lane; });
  for (unsigned i = 0; i < TestWave::kMemoryBytes / 4; ++i) wave_.word(i) = random_word(random);
  for (unsigned i = 0; i < TestWave::kLdsBytes / 4; ++i) wave_.lds_word(i) = random_word(random);
  wave_.set_exec(start_.exec);
  wave_.wave().mode = start_.mode;
}

std::string repeated(const std::string& text, unsigned times) {
  std::string all;
  for (unsigned i = 0; i < times; ++i) all += text;
  return all;
}

std::string what_makes_it_long() {
  return "s_cmp_eq_u32 s5, s5\ns_cbranch_scc1 behind\n" +
         repeated("s_mov_b32 s5, s5\n", kLeastLongPieces * kMaxPieceSize) + "behind:\n";
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const size_t at = result.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) result.replace(at, from.size(), to);
  return result;
}

void expect_same_runs(const std::string& text, unsigned wave_size) {
  for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x0f0f'33ff}}) {
    EnginePair pair({.wave_size = wave_size, .exec = exec});
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    EXPECT_EQ(pair.run(code), "") << text;
    EXPECT_EQ(pair.run(code, EnginePair::another_state(2)), "") << text;
  }
}

std::string compare(std::string_view text, const Start& start) {
  EnginePair pair(start);
  std::vector<uint32_t> code = interpreter::assembled(text, start.wave_size);
  code.pop_back();
  return pair.run(code);
}

}  // namespace lockstep::translator
