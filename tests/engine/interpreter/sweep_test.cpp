// Every row of isa/ on a wave: it runs or faults with its name, and what must not matter does not.
#include <map>
#include <set>

#include "semantics/engine_handled.h"
#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

using isa::Encoding;
using isa::Opcode;

constexpr uint32_t kEndProgram = 0xbfb00000;

std::string text_of(const isa::Instruction& instruction, unsigned wave_size) {
  char text[isa::kMaxText];
  return {text, isa::disassemble(instruction, wave_size, text, sizeof text)};
}

std::string label(const isa::Row& row) {
  return std::string(row.name) + " (" + std::string(name(row.encoding)) + ")";
}

// Registers that make most addresses good ones and give arithmetic something to do.
void prepare(TestWave& w, Random& random) {
  static constexpr uint32_t kSpecial[] = {
      0,           1,           0x8000'0000, 0x7fff'ffff, ~0u,         0x3f80'0000, 0xbf80'0000, 0x7f80'0000,
      0xff80'0000, 0x7fc0'0001, 0x7f80'0001, 0x0000'0001, 0x0080'0000, 0x3c00'3c00, 0x7c00'fc00, 0x0001'8001};
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    for (unsigned lane = 0; lane < w.size(); ++lane) {
      const uint64_t bits = random();
      w.v(number, lane) = bits % 3 ? static_cast<uint32_t>(bits >> 32) : kSpecial[bits >> 60];
    }
  for (unsigned i = 0; i < 108; ++i) w.s(i) = static_cast<uint32_t>(random());
  w.s(125) = static_cast<uint32_t>(random() % 8);
  w.s(253) = static_cast<uint32_t>(random() % 2);
}

bool stops_the_wave_elsewhere(const isa::Row& row) {
  return row.flags & (isa::kBranch | isa::kEndsWave);
}

TEST(Sweep, EveryRowRunsOrFaultsWithItsName) {
  std::set<std::string> not_encoded;
  for_each_wave([&](TestWave& w) {
    Random random(1);
    std::set<std::string> wrongly_unsupported, silently_run, odd;
    size_t ended = 0;
    for (const isa::Row& row : isa::rows()) {
      bool any = false;
      for (unsigned i = 0; i < 4; ++i) {
        std::optional<Encoded> encoded = random_instruction(row, w.size(), random, i < 2);
        if (!encoded) continue;
        any = true;
        const std::string text = text_of(encoded->instruction, w.size());
        prepare(w, random);
        w.set_exec(i == 0 ? 0 : random());
        std::vector<uint32_t> code = encoded->words;
        code.push_back(kEndProgram);
        const TestWave::State before = w.save();
        w.execute(code, 1000);
        const Fault& fault = w.wave().fault;
        const bool faulted = w.wave().state == WaveState::faulted;
        ended += w.wave().state == WaveState::ended;
        const bool documented = semantics::find_unsupported(row) != nullptr;
        if (documented && !(faulted && fault.kind == FaultKind::unsupported)) silently_run.insert(label(row));
        if (!documented && faulted && fault.kind == FaultKind::unsupported) {
          // Messages and hardware registers are a matter of their number.
          const bool by_number = row.opcode == Opcode::s_sendmsg || row.opcode == Opcode::s_sendmsghalt ||
                                 row.opcode == Opcode::s_sendmsg_rtn_b32 ||
                                 row.opcode == Opcode::s_sendmsg_rtn_b64 ||
                                 row.opcode == Opcode::s_getreg_b32 || row.opcode == Opcode::s_setreg_b32 ||
                                 row.opcode == Opcode::s_setreg_imm32_b32;
          if (!by_number) wrongly_unsupported.insert(label(row) + ": " + fault.message);
        }
        if (faulted && fault.message.empty()) odd.insert(label(row) + " faults without a message");
        if (!faulted && w.wave().state != WaveState::ended && !stops_the_wave_elsewhere(row) &&
            row.opcode != Opcode::s_barrier && w.wave().state != WaveState::blocked)
          odd.insert(label(row) + " neither ends nor faults");
        if (!faulted && !stops_the_wave_elsewhere(row))
          if (const std::string problem = w.violation(encoded->instruction, before); !problem.empty())
            odd.insert(problem);
        if (faulted && fault.kind == FaultKind::bad_pc && !stops_the_wave_elsewhere(row) &&
            !(row.implicit_writes & isa::kPc))
          odd.insert(text + " lost its way: " + fault.message);
        w.restore(before);
      }
      if (!any) not_encoded.insert(label(row));
    }
    for (const std::string& line : wrongly_unsupported) ADD_FAILURE() << "unsupported: " << line;
    for (const std::string& line : silently_run) ADD_FAILURE() << "should fault as unsupported: " << line;
    for (const std::string& line : odd) ADD_FAILURE() << line;
    EXPECT_GT(ended, isa::rows().size() * 2);
  });
  for (const std::string& line : not_encoded) ADD_FAILURE() << "no instance found: " << line;
}

// ---- What must not matter to vector arithmetic

std::vector<std::pair<const isa::Row*, Encoded>> plain_vector_instructions(unsigned wave_size,
                                                                           Random& random) {
  std::vector<std::pair<const isa::Row*, Encoded>> all;
  for (const isa::Row& row : isa::rows()) {
    if (!isa::is_vector_alu(row.encoding) || row.encoding == Encoding::vopd ||
        row.encoding == Encoding::vinterp || row.flags & (isa::kCrossLane | isa::kMatrix) ||
        row.operands.empty())
      continue;
    if (semantics::find_engine_handled(row.opcode)) continue;
    if (auto encoded = random_instruction(row, wave_size, random, true)) all.emplace_back(&row, *encoded);
  }
  EXPECT_GT(all.size(), 600u);
  return all;
}

void execute(TestWave& w, std::vector<uint32_t> words) {
  words.push_back(kEndProgram);
  w.execute(words, 100);
  EXPECT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
}

// Compares everything but the scalars that `ignored` says.
std::string difference(TestWave& w, const TestWave::State& expected, const std::set<unsigned>& ignored = {}) {
  for (unsigned i = 0; i < 128; ++i)
    if (!ignored.contains(i) && w.s(i) != expected.scalar[i]) return "scalar " + std::to_string(i);
  if (w.s(253) != expected.scalar[253]) return "SCC";
  for (unsigned number = 0; number < kMaxVgprs; ++number)
    for (unsigned lane = 0; w.differs(expected, number) && lane < w.size(); ++lane)
      if (w.v(number, lane) != w.before(expected, number, lane))
        return "v" + std::to_string(number) + " lane " + std::to_string(lane);
  return "";
}

bool is_written_mask(const isa::Operand& operand) {
  return operand.written && operand.type == isa::Type::mask;
}

TEST(Sweep, ExecOnlyTurnsLanesOff) {
  for_each_wave([](TestWave& w) {
    Random random(2);
    for (const auto& [row, encoded] : plain_vector_instructions(w.size(), random)) {
      prepare(w, random);
      w.set_exec(~uint64_t{0});
      const TestWave::State start = w.save();
      execute(w, encoded.words);
      const TestWave::State full = w.save();
      for (uint64_t exec : {uint64_t{0}, uint64_t{1}, uint64_t{0xffff'0000'ffff'0000}, random(), random()}) {
        w.restore(start);
        w.set_exec(exec);
        exec = w.exec();
        execute(w, encoded.words);
        TestWave::State expected = start;
        expected.scalar = full.scalar;
        for (unsigned number = 0; number < kMaxVgprs; ++number)
          for (unsigned lane = 0; lane < w.size(); ++lane)
            if (exec >> lane & 1)
              std::memcpy(expected.vgprs.data() + (size_t{number} * w.size() + lane) * 4,
                          full.vgprs.data() + (size_t{number} * w.size() + lane) * 4, 4);
        // Masks hold nothing for lanes that are off (guide 7.2.5); EXEC is as set unless v_cmpx wrote it.
        expected.scalar[126] = static_cast<uint32_t>(exec), expected.scalar[127] = start.scalar[127];
        if (w.is_wave64()) expected.scalar[127] = static_cast<uint32_t>(exec >> 32);
        for (unsigned i = 0; i < encoded.instruction.operand_count; ++i) {
          const isa::Operand& operand = encoded.instruction.operands[i];
          if (!is_written_mask(operand) || operand.code == isa::code::kNull) continue;
          for (unsigned word = 0; word < w.size() / 32; ++word)
            expected.scalar[operand.code + word] =
                full.scalar[operand.code + word] & static_cast<uint32_t>(exec >> (32 * word));
        }
        const std::string problem = difference(w, expected);
        if (problem.empty()) continue;
        ADD_FAILURE() << text_of(encoded.instruction, w.size()) << " with EXEC " << std::hex << exec << ": "
                      << problem;
        break;
      }
    }
  });
}

TEST(Sweep, WaveSizeDoesNotMatter) {
  Random random(3);
  for (size_t i = 0; i + 1 < configurations().size(); i += 2) {
    TestWave narrow(configurations()[i]), wide(configurations()[i + 1]);
    for (const auto& [row, encoded] : plain_vector_instructions(32, random)) {
      isa::Instruction as_wave64;
      if (isa::decode(std::as_bytes(std::span(encoded.words)), 64, as_wave64) != isa::DecodeError::none)
        continue;
      prepare(narrow, random);
      narrow.set_exec(random());
      prepare(wide, random);
      wide.set_exec(narrow.exec() | random() << 32);
      for (unsigned number = 0; number < kMaxVgprs; ++number)
        for (unsigned lane = 0; lane < 32; ++lane) wide.v(number, lane) = narrow.v(number, lane);
      for (unsigned scalar = 0; scalar < 108; ++scalar) wide.s(scalar) = narrow.s(scalar);
      execute(narrow, encoded.words);
      execute(wide, encoded.words);
      for (unsigned number = 0; number < kMaxVgprs; ++number)
        for (unsigned lane = 0; lane < 32; ++lane)
          ASSERT_EQ(wide.v(number, lane), narrow.v(number, lane)) << text_of(encoded.instruction, 32);
      for (unsigned k = 0; k < encoded.instruction.operand_count; ++k) {
        const isa::Operand& operand = encoded.instruction.operands[k];
        if (is_written_mask(operand) && operand.code % 2 == 0) {  // else the pair begins one register earlier
          ASSERT_EQ(wide.s(operand.code), narrow.s(operand.code)) << text_of(encoded.instruction, 32);
        }
      }
    }
  }
}

bool is_short(const isa::Row& row) {
  return row.encoding == Encoding::vop1 || row.encoding == Encoding::vop2 || row.encoding == Encoding::vopc;
}

// What the words, another form of the instruction, do to the state that the wave has now.
void expect_same(TestWave& w, const Encoded& encoded, const std::vector<uint32_t>& words,
                 const isa::Instruction& changed) {
  const TestWave::State start = w.save();
  execute(w, encoded.words);
  const TestWave::State expected = w.save();
  w.restore(start);
  execute(w, words);
  if (const std::string problem = difference(w, expected); !problem.empty())
    ADD_FAILURE() << text_of(encoded.instruction, w.size()) << " against " << text_of(changed, w.size())
                  << ": " << problem;
}

// A scalar register, and a literal for what is not wider than 32 bits, give what a VGPR with that value
// gives.
TEST(Sweep, UniformSourcesMayBeScalar) {
  for_each_wave([](TestWave& w) {
    Random random(4);
    size_t compared = 0;
    for (const auto& [row, encoded] : plain_vector_instructions(w.size(), random)) {
      for (unsigned position = 0; position < (is_short(*row) ? 1u : 3u); ++position) {
        const isa::Role role = position == 0   ? isa::Role::src0
                               : position == 1 ? isa::Role::src1
                                               : isa::Role::src2;
        const isa::Operand* operand = encoded.instruction.find(role);
        if (!operand || !operand->is_vgpr()) continue;
        constexpr unsigned kScalar = 92;  // s92 to s95
        for (bool literal : {false, true}) {
          if (literal && (operand->words > 1 || encoded.instruction.has_literal)) continue;
          std::vector<uint32_t> words = encoded.words;
          const unsigned shift = 9 * position;
          uint32_t& word = words[is_short(*row) ? 0 : 1];
          word = (word & ~(0x1ffu << shift)) | (literal ? 255u : kScalar) << shift;
          prepare(w, random);
          w.set_exec(random());
          for (unsigned i = 0; i < operand->words; ++i) {
            const uint32_t value = w.s(kScalar + i);
            for (unsigned lane = 0; lane < w.size(); ++lane) w.v(operand->vgpr() + i, lane) = value;
          }
          if (literal) words.push_back(w.s(kScalar));
          isa::Instruction changed;
          if (isa::decode(std::as_bytes(std::span(words)), w.size(), changed) != isa::DecodeError::none)
            continue;
          // A register that is both this source and another one or the destination is another matter.
          bool shared = false;
          for (unsigned i = 0; i < encoded.instruction.operand_count; ++i) {
            const isa::Operand& other = encoded.instruction.operands[i];
            shared |= &other != operand && other.code < operand->code + operand->words &&
                      operand->code < other.code + other.words;
            shared |=
                !other.is_vgpr() && other.written && other.code + 2 > kScalar && other.code < kScalar + 4;
          }
          if (shared) continue;
          expect_same(w, encoded, words, changed);
          ++compared;
        }
      }
    }
    EXPECT_GT(compared, 1200u);
  });
}

// quad_perm [0,1,2,3] moves nothing.
TEST(Sweep, DppThatMovesNothingChangesNothing) {
  for_each_wave([](TestWave& w) {
    Random random(5);
    size_t compared = 0;
    for (const auto& [row, encoded] : plain_vector_instructions(w.size(), random)) {
      const isa::Operand* source = encoded.instruction.find(isa::Role::src0);
      if (!source || !source->is_vgpr() || encoded.instruction.has_literal) continue;
      const uint32_t number = source->vgpr();
      for (bool dpp8 : {false, true}) {
        std::vector<uint32_t> words = encoded.words;
        uint32_t& word = words[is_short(*row) ? 0 : 1];
        word = (word & ~0x1ffu) | (dpp8 ? 233u : 250u);
        words.push_back(dpp8 ? 0xfac68800u | number : 0xff00e400u | number);
        isa::Instruction changed;
        if (isa::decode(std::as_bytes(std::span(words)), w.size(), changed) != isa::DecodeError::none)
          continue;
        prepare(w, random);
        w.set_exec(random());
        expect_same(w, encoded, words, changed);
        ++compared;
      }
    }
    EXPECT_GT(compared, 500u);
  });
}

TEST(Sweep, ShortAndLongEncodingsAgree) {
  for_each_wave([](TestWave& w) {
    Random random(6);
    size_t compared = 0;
    for (const auto& [row, encoded] : plain_vector_instructions(w.size(), random)) {
      if (!is_short(*row)) continue;
      const isa::Row* longer = nullptr;
      for (const isa::Row& other : isa::rows())
        if (other.opcode == row->opcode &&
            (other.encoding == Encoding::vop3 || other.encoding == Encoding::vop3sd))
          longer = &other;
      if (!longer) continue;
      const isa::Instruction& instruction = encoded.instruction;
      const isa::Operand *destination = instruction.find(isa::Role::dst),
                         *first = instruction.find(isa::Role::src0),
                         *second = instruction.find(isa::Role::src1),
                         *third = instruction.find(isa::Role::src2);
      if (instruction.has_literal) continue;
      std::vector<uint32_t> words{0xd400'0000u | uint32_t{longer->number} << 16, 0};
      words[0] |= destination->is_vgpr() ? destination->vgpr() : destination->code;
      if (longer->encoding == Encoding::vop3sd) words[0] |= 106u << 8;
      words[1] = first->code | (second ? uint32_t{second->code} << 9 : 0) |
                 (third ? uint32_t{third->code} << 18 : 0);
      isa::Instruction changed;
      const isa::DecodeError error = isa::decode(std::as_bytes(std::span(words)), w.size(), changed);
      if (error != isa::DecodeError::none) {
        ADD_FAILURE() << text_of(instruction, w.size()) << ": " << describe(error);
        continue;
      }
      prepare(w, random);
      w.set_exec(random());
      expect_same(w, encoded, words, changed);
      ++compared;
    }
    EXPECT_GT(compared, 250u);
  });
}

}  // namespace
}  // namespace lockstep::interpreter
