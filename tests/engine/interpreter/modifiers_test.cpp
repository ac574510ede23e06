// Every vector row with every modifier, against the same instruction without it: on sources that were changed
// by hand, or with a result that is (modifier_rules.h). What the guide gives to an instruction must decode,
// too.
#include <functional>
#include <set>

#include "tests/engine/interpreter/modifier_rules.h"
#include "tests/engine/interpreter/random_instruction.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

using isa::Encoding;
using isa::Role;
using Kind = Value::Kind;

constexpr uint32_t kEndProgram = 0xbfb00000;
// Where operands stand: groups of up to eight VGPRs, masks in SGPR pairs.
constexpr unsigned kSourceVgpr[] = {0, 10, 20}, kDestinationVgpr = 40, kWords = 8, kMaskSource = 20,
                   kMaskDestination = 30;

struct Modifiers {
  unsigned abs = 0, neg = 0, neg_hi = 0, omod = 0, op_sel = 0, op_sel_hi = 7;
  bool clamp = false;
  uint32_t halves = 0;  // short encodings: bit 7 of the sources' and (bit 3) of the destination's number
  uint32_t dpp = 0;     // 250, 233 or 234 as SRC0, with this dword behind the instruction
  uint32_t dpp_word = 0;
};

bool is_long(Encoding encoding) {
  return encoding == Encoding::vop3 || encoding == Encoding::vop3sd || encoding == Encoding::vop3p ||
         encoding == Encoding::vinterp;
}

bool has_scalar_operand(const isa::Row& row, Role role) {
  for (const isa::OperandSpec& operand : row.operands)
    if (operand.role == role) return operand.field == isa::Field::sdst7 || operand.field == isa::Field::ssrc8;
  return false;
}

std::vector<uint32_t> encode(const isa::Row& row, const Form& form, const Modifiers& modifiers) {
  uint32_t sources[3] = {};
  for (unsigned i = 0; i < form.sources.size(); ++i)
    sources[i] = form.sources[i].kind == Kind::mask ? kMaskSource : 256 + kSourceVgpr[i];
  if (modifiers.dpp) sources[0] = modifiers.dpp;
  const bool is_long_compare = is_long(row.encoding) && form.result.kind == Kind::mask;
  const uint32_t destination =
      has_scalar_operand(row, Role::dst) || is_long_compare ? kMaskDestination : kDestinationVgpr;
  const uint32_t number = row.number, clamp = modifiers.clamp ? 0x8000u : 0;
  const uint32_t all_sources = sources[0] | sources[1] << 9 | sources[2] << 18;
  const uint32_t high[] = {(modifiers.halves & 1) << 7, (modifiers.halves >> 1 & 1) << 7,
                           (modifiers.halves >> 3 & 1) << 7};
  std::vector<uint32_t> words;
  switch (row.encoding) {
    case Encoding::vop1:
      words = {0x7e000000 | (destination | high[2]) << 17 | number << 9 | (sources[0] | high[0])};
      break;
    case Encoding::vop2:
      words = {number << 25 | (destination | high[2]) << 17 | ((sources[1] & 0xff) | high[1]) << 9 |
               (sources[0] | high[0])};
      break;
    case Encoding::vopc:
      words = {0x7c000000 | number << 17 | ((sources[1] & 0xff) | high[1]) << 9 | (sources[0] | high[0])};
      break;
    case Encoding::vop3:
      words = {0xd4000000 | number << 16 | clamp | modifiers.op_sel << 11 | modifiers.abs << 8 | destination,
               modifiers.neg << 29 | modifiers.omod << 27 | all_sources};
      break;
    case Encoding::vop3sd:
      words = {0xd4000000 | number << 16 | clamp | kMaskDestination << 8 | destination,
               modifiers.neg << 29 | modifiers.omod << 27 | all_sources};
      break;
    case Encoding::vop3p:
      words = {0xcc000000 | number << 16 | clamp | (modifiers.op_sel_hi >> 2) << 14 | modifiers.op_sel << 11 |
                   modifiers.neg_hi << 8 | destination,
               modifiers.neg << 29 | (modifiers.op_sel_hi & 3) << 27 | all_sources};
      break;
    default:
      words = {0xcd000000 | number << 16 | clamp | modifiers.op_sel << 11 | 7 << 8 | destination,
               modifiers.neg << 29 | all_sources};
      break;
  }
  if (modifiers.dpp) words.push_back(modifiers.dpp_word);
  return words;
}

bool decodes(const std::vector<uint32_t>& words, unsigned wave_size) {
  isa::Instruction instruction;
  return isa::decode(std::as_bytes(std::span(words)), wave_size, instruction) == isa::DecodeError::none &&
         instruction.size == 4 * words.size();
}

// The registers that the instructions of this test may touch.
struct Registers {
  std::array<std::array<std::vector<uint32_t>, kWords>, 3> source;
  std::array<std::vector<uint32_t>, kWords> destination;
  uint64_t vcc = 0, mask_source = 0, exec = 0, mask_destination = 0;

  bool operator==(const Registers&) const = default;
};

uint64_t value_at(const std::array<std::vector<uint32_t>, kWords>& group, unsigned lane, unsigned bits) {
  return bits == 64 ? group[0][lane] | uint64_t{group[1][lane]} << 32 : group[0][lane];
}
void set_value(std::array<std::vector<uint32_t>, kWords>& group, unsigned lane, unsigned bits,
               uint64_t value) {
  group[0][lane] = static_cast<uint32_t>(value);
  if (bits == 64) group[1][lane] = static_cast<uint32_t>(value >> 32);
}
uint32_t swapped(uint32_t word) {
  return word << 16 | word >> 16;
}

class Bench {
 public:
  Bench(TestWave& wave, const isa::Row& row) : w_(wave), row_(row), form_(form_of(row)) {}

  const Form& form() const { return form_; }
  TestWave& wave() { return w_; }

  Registers random_registers(Random& random, bool calm) {
    Registers r;
    for (unsigned i = 0; i < 3; ++i)
      for (auto& word : r.source[i]) word.resize(w_.size());
    for (auto& word : r.destination) word.resize(w_.size());
    const auto fill = [&](auto& group, unsigned bits) {
      for (auto& word : group)
        for (uint32_t& lane : word) lane = static_cast<uint32_t>(random());
      for (unsigned lane = 0; lane < w_.size(); ++lane)
        set_value(group, lane, bits, interesting(random, bits, calm));
    };
    for (unsigned i = 0; i < 3; ++i) {
      const Value value = i < form_.sources.size() ? form_.sources[i] : Value{};
      fill(r.source[i], value.bits);
    }
    fill(r.destination, form_.result.bits);
    const uint64_t lanes = w_.is_wave64() ? ~uint64_t{0} : 0xffffffffu;
    r.vcc = random() & lanes, r.mask_source = random() & lanes, r.mask_destination = random() & lanes;
    r.exec = random() & lanes;
    return r;
  }

  Registers run(const std::vector<uint32_t>& words, const Registers& before, uint32_t mode) {
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned k = 0; k < kWords; ++k) store(kSourceVgpr[i] + k, before.source[i][k]);
    for (unsigned k = 0; k < kWords; ++k) store(kDestinationVgpr + k, before.destination[k]);
    w_.set_s64(106, before.vcc), w_.set_s64(kMaskSource, before.mask_source);
    w_.set_s64(kMaskDestination, before.mask_destination);
    w_.set_exec(before.exec);
    w_.s(125) = 0;
    w_.wave().mode = mode;
    std::vector<uint32_t> code = words;
    code.push_back(kEndProgram);
    w_.execute(code, 100);
    EXPECT_EQ(w_.wave().state, WaveState::ended) << row_.name << ": " << w_.wave().fault.message;
    Registers after = before;
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned k = 0; k < kWords; ++k) load(kSourceVgpr[i] + k, after.source[i][k]);
    for (unsigned k = 0; k < kWords; ++k) load(kDestinationVgpr + k, after.destination[k]);
    const uint64_t lanes = w_.is_wave64() ? ~uint64_t{0} : 0xffffffffu;
    after.vcc = w_.s64(106) & lanes, after.mask_source = w_.s64(kMaskSource) & lanes;
    after.mask_destination = w_.s64(kMaskDestination) & lanes, after.exec = w_.exec();
    return after;
  }

 private:
  // `calm`: numbers whose conversions to wider formats are exact and not a matter of MODE.
  uint64_t interesting(Random& random, unsigned bits, bool calm) {
    static constexpr uint64_t kHalves[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7bff, 0xfbff,
                                           0x0400, 0x8400, 0x0001, 0x83ff, 0x7e01, 0x7d01, 0x3800, 0x4200};
    static constexpr uint64_t kSingles[] = {
        0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7f7fffff, 0xff7fffff,
        0x00800000, 0x80800000, 0x00000001, 0x807fffff, 0x7fc00001, 0x7f800001, 0x3f000000, 0x40400000};
    const unsigned choice = static_cast<unsigned>(random() % 48);
    if (calm) {
      // Both halves of a word: small multiples of a half.
      const auto half = [&] { return uint64_t{0x3800} + (random() % 64) * 0x80 + (random() % 2) * 0x8000; };
      return half() | half() << 16;
    }
    if (choice < 16) {
      if (bits == 16) return kHalves[choice] | kHalves[random() % 16] << 16;
      if (bits == 64) {
        const uint64_t single = kSingles[choice];
        const uint64_t sign = single >> 31 << 63, exponent = single >> 23 & 0xff,
                       fraction = single & 0x7fffff;
        const uint64_t wide = exponent == 0xff ? 0x7ff
                              : exponent == 0  ? 0
                              : exponent == 1  ? 1
                                               : exponent + 896;
        return sign | (exponent == 0xfe ? 0x7fe : wide) << 52 | fraction << 29;
      }
      return kSingles[choice];
    }
    // Around one, where results are ordinary.
    if (choice < 40) {
      if (bits == 16) {
        const auto half = [&] { return (random() & 0x83ff) | (12 + random() % 7) << 10; };
        return half() | half() << 16;
      }
      if (bits == 64) return (random() & 0x800f'ffff'ffff'ffffull) | (1019 + random() % 9) << 52;
      return (random() & 0x807f'ffff) | (123 + random() % 9) << 23;
    }
    return random();
  }

  void store(unsigned number, const std::vector<uint32_t>& lanes) {
    for (unsigned lane = 0; lane < w_.size(); ++lane) w_.v(number, lane) = lanes[lane];
  }
  void load(unsigned number, std::vector<uint32_t>& lanes) {
    for (unsigned lane = 0; lane < w_.size(); ++lane) lanes[lane] = w_.v(number, lane);
  }

  TestWave& w_;
  const isa::Row& row_;
  Form form_;
};

// Arithmetic that reads no other lane, unless DPP tells it to.
bool is_tested(const isa::Row& row) {
  if (!isa::is_vector_alu(row.encoding) || row.encoding == Encoding::vopd || row.operands.empty())
    return false;
  if (row.flags & isa::kMatrix) return false;
  // Lane selects and swaps have tests of their own (cross_lane_test.cpp); VINTERP reads quads and is tested
  // here.
  return !(row.flags & isa::kCrossLane && row.encoding != Encoding::vinterp) &&
         !row.name.starts_with("v_swap") && !row.name.starts_with("v_fmamk") &&
         !row.name.starts_with("v_fmaak") && row.opcode != isa::Opcode::v_illegal;
}

constexpr uint32_t kModes[] = {
    0x3f0,     // the default
    0x000,     // everything flushed, IEEE and DX10_CLAMP off
    0x1f5,     // denormals kept, IEEE off, toward plus infinity
    0x80000fu  // flushed, toward zero, FP16_OVFL
};

std::string difference(const Registers& got, const Registers& expected) {
  for (unsigned k = 0; k < kWords; ++k)
    for (unsigned lane = 0; lane < got.destination[k].size(); ++lane)
      if (got.destination[k][lane] != expected.destination[k][lane]) {
        char text[120];
        std::snprintf(text, sizeof text, "word %u of lane %u: got 0x%x, expected 0x%x", k, lane,
                      got.destination[k][lane], expected.destination[k][lane]);
        return text;
      }
  if (got.vcc != expected.vcc) return "VCC";
  if (got.mask_destination != expected.mask_destination) return "mask";
  if (got.exec != expected.exec) return "EXEC";
  return "";
}

// Lists what fails, once a row and modifier.
class Findings {
 public:
  void add(const isa::Row& row, const std::string& what) {
    found_.insert(std::string(row.name) + " (" + std::string(isa::name(row.encoding)) + "), " + what);
  }
  ~Findings() {
    for (const std::string& finding : found_) ADD_FAILURE() << finding;
  }

 private:
  std::set<std::string> found_;
};

void for_each_row(const std::function<void(Bench&, const isa::Row&, Random&)>& body) {
  for_each_wave([&](TestWave& w) {
    Random random(11);
    for (const isa::Row& row : isa::rows()) {
      if (!is_tested(row)) continue;
      Bench bench(w, row);
      body(bench, row, random);
    }
  });
}

// Runs the modified instruction and the plain one and compares them after `prepare` has changed the plain
// one's registers and `finish` its results.
using Change = std::function<void(Registers&)>;
void compare(Findings& findings, Bench& bench, const isa::Row& row, const Modifiers& modifiers,
             const std::string& what, Random& random, const Change& prepare,
             const std::function<void(Registers&, const Registers& before, uint32_t mode)>& finish = {},
             bool calm = false, const Modifiers& reference = {}) {
  const std::vector<uint32_t> words = encode(row, bench.form(), modifiers),
                              plain = encode(row, bench.form(), reference);
  if (!decodes(words, bench.wave().size())) return findings.add(row, what + ": refused");
  ASSERT_TRUE(decodes(plain, bench.wave().size())) << row.name;
  for (uint32_t mode : kModes) {
    const Registers before = bench.random_registers(random, calm);
    Registers prepared = before;
    if (prepare) prepare(prepared);
    Registers expected = bench.run(plain, prepared, mode);
    if (finish) finish(expected, before, mode);
    const Registers got = bench.run(words, before, mode);
    if (const std::string text = difference(got, expected); !text.empty()) {
      char where[32];
      std::snprintf(where, sizeof where, " in MODE 0x%x: ", mode);
      return findings.add(row, what + where + text);
    }
  }
}

bool lane_is_on(const Registers& registers, unsigned lane) {
  return registers.exec >> lane & 1;
}

// ABS and NEG (guide 7.2.2.1, 7.5, 7.7.1). Sign changes of source `i` in every lane.
void change_sign(Registers& registers, const Value& value, unsigned i, bool abs, bool neg, bool neg_hi) {
  auto& group = registers.source[i];
  for (unsigned lane = 0; lane < group[0].size(); ++lane) {
    uint64_t bits = value_at(group, lane, value.bits);
    if (value.is_packed || value.bits == 16) {
      // A half in either half of the register.
      const uint64_t low = with_sign(bits & 0xffff, 16, abs, neg),
                     high = with_sign(bits >> 16 & 0xffff, 16, abs, neg_hi);
      bits = low | high << 16;
    } else {
      bits = with_sign(bits, value.bits, abs, neg);
    }
    set_value(group, lane, value.bits, bits);
  }
}

TEST(EveryModifier, AbsAndNeg) {
  Findings findings;
  size_t compared = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    for (unsigned i = 0; i < bench.form().sources.size(); ++i) {
      const Value value = bench.form().sources[i];
      if (!value.takes_sign()) continue;
      const bool is_mix = row.name.starts_with("v_fma_mix");
      const bool has_abs = row.encoding == Encoding::vop3, is_packed_form = row.encoding == Encoding::vop3p;
      for (unsigned choice = 1; choice < 4; ++choice) {
        const bool abs = choice & 1, neg = choice & 2;
        Modifiers modifiers;
        const std::string what =
            std::string(abs ? "ABS" : "") + (neg ? "NEG" : "") + " of source " + std::to_string(i);
        bool neg_hi = neg;
        if (is_packed_form) {
          // NEG_HI is ABS to MIX; to a source of 32 bits it is nothing.
          if (abs && !is_mix && !value.is_packed) continue;
          modifiers.neg = neg ? 1u << i : 0, modifiers.neg_hi = abs ? 1u << i : 0;
          if (is_mix) modifiers.op_sel_hi = 0;
          if (!is_mix) neg_hi = abs;
        } else if (is_long(row.encoding)) {
          if (abs && !has_abs) continue;
          modifiers.neg = neg ? 1u << i : 0, modifiers.abs = abs ? 1u << i : 0;
        } else {
          if (!takes_dpp(row) || i > 1) continue;
          // quad_perm [0,1,2,3], all rows and banks.
          modifiers.dpp = 250;
          modifiers.dpp_word =
              0xff00e400u | kSourceVgpr[0] | unsigned{neg} << (20 + 2 * i) | unsigned{abs} << (21 + 2 * i);
        }
        Modifiers reference;
        if (is_mix) reference.op_sel_hi = 0;
        const bool takes_abs = abs && (!is_packed_form || is_mix);
        // Lanes that are off give their values to themselves alone, and those get no result.
        compare(
            findings, bench, row, modifiers, what, random,
            [&](Registers& r) { change_sign(r, value, i, takes_abs, neg, neg_hi); }, {}, false, reference);
        ++compared;
      }
    }
  });
  EXPECT_GT(compared, 2000u);
}

// ABS and NEG of integers are undefined (guide 7.2.2.1): an instruction is refused, or does not care.
TEST(EveryModifier, AbsAndNegOfIntegersDoNothing) {
  Findings findings;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    if (row.encoding != Encoding::vop3 && row.encoding != Encoding::vop3sd) return;
    for (unsigned i = 0; i < bench.form().sources.size(); ++i) {
      if (bench.form().sources[i].takes_sign()) continue;
      Modifiers modifiers;
      modifiers.neg = 1u << i;
      if (!decodes(encode(row, bench.form(), modifiers), bench.wave().size())) continue;
      compare(findings, bench, row, modifiers, "NEG of integer source " + std::to_string(i), random, {});
    }
  });
}

// OMOD (guide 7.2.3.1): float results alone; not with IEEE, not with denormal results.
TEST(EveryModifier, Omod) {
  Findings findings;
  size_t scaled_rows = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    if (row.encoding != Encoding::vop3 && row.encoding != Encoding::vop3sd) return;
    const Value result = bench.form().result;
    const bool is_scaled =
        result.kind == Kind::floating && !result.is_packed && !row.name.starts_with("v_dot2");
    // Measured for the fused ones; the guide speaks of a few that force denormal results off.
    const bool forces_flush =
        row.name.find("dx9_zero") != std::string_view::npos || row.name == "v_mullit_f32";
    for (unsigned omod = 1; omod < 4; ++omod) {
      Modifiers modifiers;
      modifiers.omod = omod;
      // Integer and packed results ignore the field, if it is there.
      if (!is_scaled && !decodes(encode(row, bench.form(), modifiers), bench.wave().size())) continue;
      scaled_rows += is_scaled;
      compare(findings, bench, row, modifiers, "OMOD " + std::to_string(omod), random, {},
              [&](Registers& r, const Registers& before, uint32_t mode) {
                if (!is_scaled) return;
                for (unsigned lane = 0; lane < bench.wave().size(); ++lane) {
                  if (!lane_is_on(before, lane)) continue;
                  uint64_t bits = value_at(r.destination, lane, result.bits);
                  const uint64_t rest = result.bits == 16 ? bits & 0xffff0000u : 0;
                  bits = scaled(bits - rest, result.bits, omod, mode, forces_flush);
                  set_value(r.destination, lane, result.bits, bits | rest);
                }
              });
    }
  });
  EXPECT_GT(scaled_rows, 500u);
}

// CLAMP (guide 7.2.3.1): floats to [0, 1], integers to what the type holds.
TEST(EveryModifier, Clamp) {
  Findings findings;
  size_t floats = 0, integers = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    if (!is_long(row.encoding)) return;
    const Value result = bench.form().result;
    const bool is_ignored = ignores_clamp(row.name);
    // Sums of many differences: tests/semantics/valu_integer_test.cpp.
    if (row.name.starts_with("v_qsad") || row.name.starts_with("v_mqsad")) return;
    const bool is_clamped_float = result.kind == Kind::floating && !is_ignored;
    Modifiers modifiers;
    modifiers.clamp = true;
    const uint64_t none[3] = {};
    const bool is_saturated =
        !is_ignored && result.kind == Kind::integer && exact_integer(row.name, none, false, 0);
    if (!is_clamped_float && !is_saturated && !is_ignored &&
        !decodes(encode(row, bench.form(), modifiers), bench.wave().size()))
      return;
    const bool has_carry = row.name.find("_co_ci_") != std::string_view::npos;
    const bool is_dot = row.name.starts_with("v_dot");
    for (unsigned neg = 0;
         neg < (is_dot && is_saturated && row.name.find("iu") != std::string_view::npos ? 4u : 1u); ++neg) {
      modifiers.neg = neg;
      Modifiers reference;
      reference.neg = neg;
      floats += is_clamped_float, integers += is_saturated;
      compare(
          findings, bench, row, modifiers, "CLAMP", random, {},
          [&](Registers& r, const Registers& before, uint32_t mode) {
            for (unsigned lane = 0; lane < bench.wave().size(); ++lane) {
              if (!lane_is_on(before, lane) || (!is_clamped_float && !is_saturated)) continue;
              uint64_t bits = value_at(r.destination, lane, result.bits);
              if (is_saturated) {
                uint64_t sources[3] = {};
                for (unsigned i = 0; i < bench.form().sources.size(); ++i)
                  if (bench.form().sources[i].kind != Kind::mask)
                    sources[i] = value_at(before.source[i], lane, bench.form().sources[i].bits);
                const auto saturated = [&](const uint64_t(&values)[3]) {
                  const Exact exact =
                      *exact_integer(row.name, values, has_carry && (before.mask_source >> lane & 1), neg);
                  return static_cast<uint64_t>(std::min(std::max(exact.value, exact.least), exact.greatest));
                };
                if (result.is_packed) {
                  uint64_t low[3], high[3];
                  for (unsigned i = 0; i < 3; ++i)
                    low[i] = sources[i] & 0xffff, high[i] = sources[i] >> 16 & 0xffff;
                  bits = (saturated(low) & 0xffff) | (saturated(high) & 0xffff) << 16;
                } else if (result.bits == 16) {
                  for (uint64_t& source : sources)
                    source &= bench.form().sources[0].bits == 16 ? 0xffff : ~uint64_t{0};
                  bits = (bits & 0xffff0000u) | (saturated(sources) & 0xffff);
                } else {
                  bits = result.bits == 64 ? saturated(sources) : saturated(sources) & 0xffffffffu;
                }
              } else if (result.is_packed) {
                bits = clamped_float(bits & 0xffff, 16, mode) | clamped_float(bits >> 16, 16, mode) << 16;
              } else if (row.name == "v_fma_mixhi_f16") {
                bits = (bits & 0xffff) | clamped_float(bits >> 16, 16, mode) << 16;
              } else {
                const uint64_t rest = result.bits == 16 ? bits & 0xffff0000u : 0;
                bits = clamped_float(bits - rest, result.bits, mode) | rest;
              }
              set_value(r.destination, lane, result.bits, bits);
            }
          },
          false, reference);
    }
  });
  EXPECT_GT(floats, 110u * configurations().size());
  EXPECT_GT(integers, 70u);
}

void swap_halves(std::vector<uint32_t>& lanes) {
  for (uint32_t& lane : lanes) lane = swapped(lane);
}

// The halves of 16-bit operands (guide 7.4): OPSEL of VOP3 and VINTERP, bit 7 of the numbers of the short
// encodings.
TEST(EveryModifier, HalvesOfSourcesAndDestinations) {
  Findings findings;
  size_t compared = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    const bool is_short = !is_long(row.encoding);
    if (!is_short && row.encoding != Encoding::vop3 && row.encoding != Encoding::vinterp) return;
    const Form& form = bench.form();
    const bool has_half_result = form.result.is_half() && form.result.kind != Kind::mask;
    for (unsigned choice = 1; choice < 16; ++choice) {
      bool possible = true;
      for (unsigned bit = 0; bit < 3; ++bit)
        if (choice >> bit & 1)
          possible &= bit < form.sources.size() && form.sources[bit].is_half() && !(is_short && bit > 1);
      if (choice & 8) possible &= has_half_result;
      if (!possible) continue;
      Modifiers modifiers;
      (is_short ? modifiers.halves : modifiers.op_sel) = choice;
      compare(
          findings, bench, row, modifiers, "halves " + std::to_string(choice), random,
          [&](Registers& r) {
            for (unsigned i = 0; i < 3; ++i)
              if (choice >> i & 1) swap_halves(r.source[i][0]);
            if (choice & 8) swap_halves(r.destination[0]);
          },
          [&](Registers& r, const Registers&, uint32_t) {
            if (choice & 8) swap_halves(r.destination[0]);
          });
      ++compared;
    }
  });
  EXPECT_GT(compared, 1500u);
}

// OPSEL and OPSEL_HI of VOP3P (guide 7.5, 7.5.1).
TEST(EveryModifier, HalvesOfPackedSources) {
  Findings findings;
  size_t compared = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    if (row.encoding != Encoding::vop3p) return;
    const bool is_mix = row.name.starts_with("v_fma_mix");
    for (unsigned i = 0; i < bench.form().sources.size(); ++i) {
      if (!bench.form().sources[i].is_packed && !is_mix) continue;
      for (unsigned choice = 0; choice < 4; ++choice) {
        Modifiers modifiers, reference;
        if (is_mix) modifiers.op_sel_hi = reference.op_sel_hi = 0;
        const bool select = choice & 1, select_hi = choice & 2;
        if (select) modifiers.op_sel |= 1u << i;
        modifiers.op_sel_hi = (modifiers.op_sel_hi & ~(1u << i)) | unsigned{select_hi} << i;
        compare(
            findings, bench, row, modifiers,
            "OPSEL " + std::to_string(choice) + " of source " + std::to_string(i), random,
            [&](Registers& r) {
              for (uint32_t& word : r.source[i][0]) {
                const uint32_t low = select ? word >> 16 : word & 0xffff,
                               high = select_hi ? word >> 16 : word & 0xffff;
                if (!is_mix) {
                  word = low | high << 16;
                } else if (select_hi) {
                  // Of an ordinary half: OPSEL_HI says that it is one, OPSEL which.
                  word = (low & 0x8000) << 16 | ((low >> 10 & 31) + 112) << 23 | (low & 0x3ff) << 13;
                }
              }
            },
            {}, is_mix, reference);
        ++compared;
      }
    }
  });
  EXPECT_GT(compared, 150u);
}

// ---- DPP

struct DppCase {
  const char* name;
  uint32_t control;
  bool bound_control, fetch_inactive;
  unsigned row_mask, bank_mask;
};

TEST(EveryModifier, Dpp) {
  static constexpr DppCase kCases[] = {
      {"quad_perm", 0x4e, false, false, 15, 15},
      {"quad_perm with BOUND_CTRL", 0xb1, true, false, 15, 15},
      {"row_shl", 0x103, false, false, 15, 15},
      {"row_shr with BOUND_CTRL", 0x115, true, false, 15, 15},
      {"row_ror", 0x125, false, false, 15, 15},
      {"row_mirror with FI", 0x140, false, true, 15, 15},
      {"row_half_mirror", 0x141, false, false, 5, 15},
      {"row_share", 0x157, true, false, 15, 6},
      {"row_xmask", 0x16a, false, false, 15, 15},
  };
  Findings findings;
  size_t compared = 0;
  for_each_row([&](Bench& bench, const isa::Row& row, Random& random) {
    if (row.encoding == Encoding::vinterp) return;
    const unsigned lanes = bench.wave().size();
    const bool allowed = takes_dpp(row);
    const bool is_short = !is_long(row.encoding);
    Modifiers modifiers;
    const auto check = [&](const std::string& what, const std::function<DppLane(unsigned)>& lane_of,
                           bool bound_control, bool fetch_inactive, uint64_t enabled) {
      const std::vector<uint32_t> words = encode(row, bench.form(), modifiers),
                                  plain = encode(row, bench.form(), {});
      const bool valid = decodes(words, lanes);
      if (valid != allowed) return findings.add(row, what + (allowed ? ": refused" : ": taken"));
      if (!valid) return;
      const Registers before = bench.random_registers(random, false);
      Registers prepared = before;
      uint64_t written = before.exec & enabled;
      for (unsigned lane = 0; lane < lanes; ++lane) {
        const DppLane from = lane_of(lane);
        const bool is_off = !(before.exec >> from.source & 1) && !fetch_inactive;
        const bool is_valid = !from.is_out_of_range && !is_off;
        for (unsigned k = 0; k < kWords; ++k)
          prepared.source[0][k][lane] = is_valid ? before.source[0][k][from.source] : 0;
        if (!is_valid && !bound_control) written &= ~(uint64_t{1} << lane);
      }
      prepared.exec = written;
      Registers expected = bench.run(plain, prepared, kModes[0]);
      const Registers got = bench.run(words, before, kModes[0]);
      if (!row.name.starts_with("v_cmpx")) expected.exec = before.exec;
      if (const std::string text = difference(got, expected); !text.empty())
        findings.add(row, what + ": " + text);
      ++compared;
    };
    for (const DppCase& c : kCases) {
      modifiers.dpp = 250;
      modifiers.dpp_word = c.row_mask << 28 | c.bank_mask << 24 | uint32_t{c.bound_control} << 19 |
                           uint32_t{c.fetch_inactive} << 18 | c.control << 8 | kSourceVgpr[0];
      // Long encodings have signs of their own, and DPP's are ignored (guide 7.7.1).
      if (!is_short) modifiers.dpp_word |= 0xf << 20;
      uint64_t enabled = 0;
      for (unsigned lane = 0; lane < lanes; ++lane)
        if (c.row_mask >> lane / 16 & c.bank_mask >> (lane % 16) / 4 & 1) enabled |= uint64_t{1} << lane;
      check(
          c.name, [&](unsigned lane) { return dpp16_lane(c.control, lane); }, c.bound_control,
          c.fetch_inactive, enabled);
    }
    for (bool fetch_inactive : {false, true}) {
      constexpr unsigned kSelect[] = {3, 3, 7, 0, 1, 6, 2, 5};
      modifiers.dpp = fetch_inactive ? 234 : 233;
      modifiers.dpp_word = kSourceVgpr[0];
      for (unsigned i = 0; i < 8; ++i) modifiers.dpp_word |= kSelect[i] << (8 + 3 * i);
      check(
          fetch_inactive ? "DPP8 with FI" : "DPP8",
          [&](unsigned lane) { return DppLane{false, (lane & ~7u) | kSelect[lane & 7]}; }, true,
          fetch_inactive, ~uint64_t{0});
    }
  });
  EXPECT_GT(compared, 6000u);
}

}  // namespace
}  // namespace lockstep::interpreter
