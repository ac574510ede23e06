// Registers and inline constants as operands of a list, put together at compile time. Internal to isa/.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "isa/detail.h"

namespace lockstep::isa::detail {

// Characters in an array that is copied whole; the last byte is how many count.
struct ShortText {
  char text[16] = {};

  constexpr unsigned size() const { return static_cast<unsigned char>(text[15]); }
  constexpr void put(char character) { text[static_cast<unsigned>(text[15]++)] = character; }
  constexpr void put(std::string_view characters) {
    for (char character : characters) put(character);
  }
  constexpr void put(unsigned number) {
    if (number >= 10) put(number / 10);
    put(static_cast<char>('0' + number % 10));
  }
};

inline constexpr std::string_view kInlineFloats[] = {"0.5", "-0.5", "1.0", "-1.0",
                                                     "2.0", "-2.0", "4.0", "-4.0"};

constexpr std::string_view special_name(unsigned code, unsigned words) {
  switch (code) {
    case code::kVccLo:
      return words == 1 ? "vcc_lo" : "vcc";
    case code::kVccHi:
      return "vcc_hi";
    case code::kNull:
      return "null";
    case code::kM0:
      return "m0";
    case code::kExecLo:
      return words == 1 ? "exec_lo" : "exec";
    case code::kExecHi:
      return "exec_hi";
    default:
      return {};
  }
}

constexpr void put_numbered(ShortText& text, std::string_view prefix, unsigned first, unsigned words) {
  text.put(prefix);
  if (words == 1) return text.put(first);
  text.put('[');
  text.put(first);
  text.put(':');
  text.put(first + words - 1);
  text.put(']');
}

// An operand with a comma and a blank behind it; empty: the code alone does not say it, or it is too long.
constexpr ShortText operand_text(unsigned code, unsigned words) {
  ShortText text;
  if (code >= code::kVgpr0) {
    put_numbered(text, "v", code - code::kVgpr0, words);
  } else if (code < code::kVccLo) {
    put_numbered(text, "s", code, words);
  } else if (code >= code::kTtmp0 && code < code::kNull) {
    put_numbered(text, "ttmp", code - code::kTtmp0, words);
  } else if (code < code::kInt0) {
    text.put(special_name(code, words));
  } else if (code <= code::kIntPositiveLast) {
    text.put(code - code::kInt0);
  } else if (code <= code::kIntNegativeLast) {
    text.put('-');
    text.put(code - code::kIntPositiveLast);
  } else if (code >= code::kFloatHalf && code <= code::kFloatMinusFour) {
    text.put(kInlineFloats[code - code::kFloatHalf]);
  } else {
    return text;
  }
  text.put(", ");
  return text;
}

// Of one and of two registers, by number of registers and code.
inline constexpr unsigned kMaxKnownWords = 2;
inline constexpr auto kOperandTexts = [] {
  std::array<std::array<ShortText, 512>, kMaxKnownWords + 1> texts{};
  for (unsigned code = 0; code < 512; ++code) {
    for (unsigned words = 1; words <= kMaxKnownWords; ++words) texts[words][code] = operand_text(code, words);
    texts[0][code] = texts[1][code];  // no operand has none; nothing goes wrong if one had
  }
  return texts;
}();

// A register of a list.
inline void put_register_operand(Writer& writer, unsigned code, unsigned words) {
  if (words <= kMaxKnownWords) {
    const ShortText& text = kOperandTexts[words][code];
    return writer.put_from(text.text, text.size());
  }
  writer = put_register_group(writer, code, words);
}

// An operand of a list. What the table has not, and all that is 16 bits wide, is for put_source().
inline void put_operand(Writer& writer, const Instruction& instruction, const Operand& operand) {
  if (operand.words <= kMaxKnownWords) {
    const ShortText& text = kOperandTexts[operand.words][operand.code];
    if (text.size()) return writer.put_from(text.text, text.size());
  }
  writer = put_other_operand(writer, instruction, operand);
}

}  // namespace lockstep::isa::detail
