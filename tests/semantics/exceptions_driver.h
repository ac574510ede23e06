// Runs exceptions_of() over the edge values of the instruction tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "exceptions_oracle.h"
#include "isa/row.h"
#include "valu_driver.h"

namespace lockstep::semantics::testing {

// MODE without DX10_CLAMP, which would suppress every exception: rounding x denormals, then mixtures of
// fields.
inline const std::vector<uint32_t>& exception_modes() {
  static const auto modes = [] {
    std::vector<uint32_t> result;
    for (uint32_t round = 0; round < 4; ++round)
      for (uint32_t denormals = 0; denormals < 4; ++denormals)
        result.push_back(0x200 | round | round << 2 | denormals << 4 | denormals << 6);
    for (uint32_t mixture : {0x0c9u, 0x036u, 0x20fu, 0x8002f0u, 0x8000afu}) result.push_back(mixture);
    return result;
  }();
  return modes;
}
inline const std::vector<uint32_t>& few_exception_modes() {
  static const std::vector<uint32_t> modes = {0x2f0, 0x200, 0x2fa, 0x2a5, 0x25f, 0x0c9, 0x036};
  return modes;
}

// The edge values of the instruction tests, and factors whose product lies just below the smallest normal
// number or just around the largest.
inline const std::vector<uint64_t>& exception_floats(unsigned bits) {
  static const auto make = [](const Format& f) {
    std::vector<uint64_t> values = float_values(f.bits);
    const uint64_t step = f.least_normal(), unit = uint64_t(f.bias) << f.fraction;
    const unsigned middle = (f.fraction + 1) / 2 + 1;
    // (1 + 2^-m)(1 - 2^-m) = 1 - 2^-2m, less than half a unit in the last place below one.
    values.push_back(step + (uint64_t{1} << (f.fraction - middle)));
    values.push_back(unit - (uint64_t{1} << (f.fraction + 1 - middle)));
    values.push_back(unit - uint64_t(f.bias / 2) * step + 1);
    values.push_back(unit - uint64_t(f.bias - f.bias / 2) * step + 3);
    values.push_back(f.infinity() - (uint64_t{1} << (f.fraction - 1)));
    return values;
  };
  static const auto half = make(kHalf), single = make(kSingle), twice = make(kDouble);
  return bits == 16 ? half : bits == 32 ? single : twice;
}

// The nearest number of a format.
inline uint64_t encoding_of(const Format& f, double value) {
  static Number number, rounded;
  mpfr_set_d(number, value, MPFR_RNDN);
  mpfr_set_prec(rounded, f.fraction + 1);
  mpfr_set(rounded, number, MPFR_RNDN);
  if (mpfr_regular_p(rounded) && mpfr_get_exp(rounded) > f.bias + 1) return f.infinity();
  return encode(f, rounded);
}

// Where conversions to integers change their minds: around the ends of the integer types.
inline std::vector<uint64_t> values_around_integers(const Format& f) {
  std::vector<uint64_t> values;
  for (double end : {0.0, 1.0, 128.0, 255.0, 256.0, 32767.0, 32768.0, 65504.0, 65535.0, 65536.0, 2147483647.0,
                     2147483648.0, 4294967295.0, 4294967296.0})
    for (double offset : {0.0, 0.25, 0.5, 0.75, 1.0, -0.25, -0.5, -1.0})
      for (double sign : {1.0, -1.0}) {
        const uint64_t near = encoding_of(f, sign * (end + offset));
        for (uint64_t value : {near, near + 1, near - 1})
          values.push_back(value & (f.sign() | (f.sign() - 1)));
      }
  return values;
}

// Where functions have exact results or change their minds: integers, quarters, powers of two, squares, and
// their neighbours; of halves every third number, or 31st.
inline std::vector<uint64_t> values_for_functions(const Format& f) {
  std::vector<uint64_t> values;
  if (f.bits == 16)
    for (uint64_t x = 0; x < 0x10000; x += test::of_sweep<uint64_t>(3, 31)) values.push_back(x);
  for (int i = -160; i <= 160; ++i) {
    values.push_back(encoding_of(f, i));
    values.push_back(encoding_of(f, i / 4.0));
    values.push_back(encoding_of(f, i * i));
    values.push_back(encoding_of(f, i * i / 1024.0));
  }
  const uint64_t every = f.bits == 64 ? 7 : 1;
  for (uint64_t exponent = 0; exponent < f.infinity() >> f.fraction; exponent += every)
    for (uint64_t sign : {uint64_t{0}, f.sign()})
      for (int64_t offset : {0, 1, -1})
        values.push_back(sign |
                         (((exponent << f.fraction) + static_cast<uint64_t>(offset)) & (f.sign() - 1)));
  return values;
}

// The row of an instruction that has all modifiers, VOP3 if there is one.
inline const isa::Row& richest_row(isa::Opcode opcode) {
  const isa::Row* best = nullptr;
  for (const isa::Row& row : isa::rows())
    if (row.opcode == opcode && (!best || row.flags & isa::kCanClamp)) best = &row;
  return *best;
}

// As the decoder would leave it, with its operands in VGPRs.
inline isa::Instruction instruction_of(const isa::Row& row) {
  isa::Instruction instruction;
  instruction.row = &row;
  for (const isa::OperandSpec& spec : row.operands) {
    isa::Operand& operand = instruction.operands[instruction.operand_count++];
    operand.code = isa::code::kVgpr0;
    operand.role = spec.role;
    operand.type = spec.type;
    operand.words = spec.words;
    operand.read = spec.read;
    operand.written = spec.written;
    operand.high_hi = row.encoding == isa::Encoding::vop3p && spec.type == isa::Type::pk_f16;
  }
  return instruction;
}

// Sources in the order of the instruction's body: explicit ones, then the old destination.
inline uint32_t raised(isa::Instruction& instruction, const uint64_t* operands, uint32_t mode,
                       bool vcc = false) {
  LaneSources lane;
  lane.vcc = vcc;
  unsigned next = 0;
  for (bool destinations : {false, true})
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const isa::Operand& operand = instruction.operands[i];
      if (!operand.read || operand.written != destinations) continue;
      const uint64_t value = operands[next++];
      if (operand.role == isa::Role::simm)
        instruction.literal = static_cast<uint32_t>(value);
      else if (destinations)
        lane.old_destination = value;
      else
        lane.source[static_cast<unsigned>(operand.role) - static_cast<unsigned>(isa::Role::src0)] = value;
    }
  return exceptions_of(instruction, false, lane, mode);
}

using ExceptionOracle = std::function<uint32_t(const uint64_t* s, RuntimeFloatMode m)>;

inline std::set<isa::Opcode>& opcodes_with_oracle() {
  static std::set<isa::Opcode> opcodes;
  return opcodes;
}

inline const std::vector<uint64_t>& values_for(isa::Type type) {
  using isa::Type;
  switch (type) {
    case Type::f16:
      return exception_floats(16);
    case Type::f32:
      return exception_floats(32);
    case Type::f64:
      return exception_floats(64);
    case Type::i16:
    case Type::u16:
      return integer_values(16);
    default:
      return integer_values(32);
  }
}

struct Variation {
  std::function<void(isa::Instruction&)> prepare;  // sets modifiers
  bool vcc = false;
  std::array<size_t, 3> steps = {
      1, 1, test::of_sweep<size_t>(3, 7)};  // of three operands: every how manyth value of each
  std::vector<uint64_t> more_values = {};   // for the first operand
};

// Every combination of values in every mode against the oracle; of three operands fewer, in fewer modes.
inline void verify_exceptions(isa::Opcode opcode, const ExceptionOracle& oracle,
                              const Variation& variation = {}) {
  const isa::Row& row = richest_row(opcode);
  isa::Instruction instruction = instruction_of(row);
  if (variation.prepare) variation.prepare(instruction);
  opcodes_with_oracle().insert(opcode);
  EXPECT_TRUE(raises_exceptions(row)) << row.name;

  std::vector<std::vector<uint64_t>> lists;
  for (bool destinations : {false, true})
    for (const isa::OperandSpec& spec : row.operands)
      if (spec.read && spec.written == destinations) lists.push_back(values_for(spec.type));
  lists[0].insert(lists[0].end(), variation.more_values.begin(), variation.more_values.end());
  const auto thin = [](std::vector<uint64_t>& list, size_t step) {
    std::vector<uint64_t> fewer;
    for (size_t i = 0; i < list.size(); i += step) fewer.push_back(list[i]);
    list = fewer;
  };
  if (lists.size() == 3)
    for (size_t i = 0; i < 3; ++i) thin(lists[i], variation.steps[i]);
  const bool few_modes = lists.size() == 3 || variation.more_values.size() > 1000;
  for (uint32_t mode : few_modes ? few_exception_modes() : exception_modes()) {
    std::vector<size_t> index(lists.size(), 0);
    for (bool more = true; more;) {
      uint64_t s[4] = {};
      for (size_t i = 0; i < lists.size(); ++i) s[i] = lists[i][index[i]];
      const uint32_t got = raised(instruction, s, mode, variation.vcc),
                     expected = oracle(s, RuntimeFloatMode{mode});
      ASSERT_EQ(got, expected) << row.name << std::hex << " (0x" << s[0] << ", 0x" << s[1] << ", 0x" << s[2]
                               << ") MODE 0x" << mode << ": TRAPSTS.EXCP";
      size_t digit = 0;
      while (digit < lists.size() && ++index[digit] == lists[digit].size()) index[digit++] = 0;
      more = digit < lists.size();
    }
  }
}

}  // namespace lockstep::semantics::testing
