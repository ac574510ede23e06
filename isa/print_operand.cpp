// Numbers, registers and source operands in LLVM's spelling.
#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "isa/detail.h"
#include "isa/operand_text.h"
#include "isa/shape.h"

namespace lockstep::isa::detail {
namespace {

// The decimal digits of the numbers below 1000.
constexpr auto kDigits = [] {
  std::array<ShortText, 1000> all{};
  for (unsigned number = 0; number < all.size(); ++number) all[number].put(number);
  return all;
}();

void put_number(Writer& writer, unsigned number) {
  writer.put_from(kDigits[number].text, kDigits[number].size());
}

// How many digits a number has without leading zeros.
unsigned hex_digits(uint32_t value) {
  return value ? (35 - static_cast<unsigned>(std::countl_zero(value))) / 4 : 1;
}

// The last digits of a number. All eight are put together at once, each a byte, the first one lowest.
void put_hex(Writer& writer, uint32_t value, unsigned digits) {
  uint64_t bytes = value;
  bytes = (bytes << 32 | bytes >> 16) & 0x0000ffff0000ffff;
  bytes = (bytes << 16 | bytes >> 8) & 0x00ff00ff00ff00ff;
  bytes = (bytes << 8 | bytes >> 4) & 0x0f0f0f0f0f0f0f0f;
  const uint64_t is_letter = ((bytes + 0x0606060606060606) >> 4) & 0x0101010101010101;
  bytes += 0x3030303030303030 + is_letter * ('a' - '0' - 10);
  bytes >>= 64 - 8 * digits;
  char text[8];
  std::memcpy(text, &bytes, sizeof text);
  writer.put_from(text, digits);
}

}  // namespace

void Writer::decimal(int64_t value) {
  if (value < 0) put('-');
  uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (rest < kDigits.size()) return put_number(*this, static_cast<unsigned>(rest));
  char digits[20];
  char* at = std::end(digits);
  do {
    *--at = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest);
  put(std::string_view(at, std::end(digits)));
}

void Writer::hex(uint64_t value) {
  put(std::string_view("0x"));
  const uint32_t high = static_cast<uint32_t>(value >> 32), low = static_cast<uint32_t>(value);
  if (!high) return put_hex(*this, low, hex_digits(low));
  put_hex(*this, high, hex_digits(high));
  put_hex(*this, low, 8);
}

void put_register(Writer& writer, unsigned code, unsigned words) {
  if (words <= kMaxKnownWords) {
    const ShortText& text = kOperandTexts[words][code];
    return writer.put_from(text.text, text.size() - 2);
  }
  const bool vgpr = code >= code::kVgpr0;
  if (!vgpr && code >= code::kVccLo) {
    const ShortText text = operand_text(code, words);
    return writer.put_from(text.text, text.size() - 2);
  }
  const unsigned first = vgpr ? code - code::kVgpr0 : code;
  writer.put(vgpr ? "v[" : "s[");
  put_number(writer, first);
  writer.put(':');
  put_number(writer, first + words - 1);
  writer.put(']');
}

void put_source(Writer& writer, const Instruction& instruction, const Operand& operand) {
  const unsigned code = operand.code;
  const bool is_half = is_16_bit(operand.type) && instruction.row->encoding >= Encoding::vop1;
  if (code >= code::kVgpr0 || code < code::kInt0) return put_register(writer, code, operand.words);
  if (code <= code::kIntPositiveLast) return writer.decimal(static_cast<int>(code) - code::kInt0);
  if (code <= code::kIntNegativeLast) return writer.decimal(code::kIntPositiveLast - static_cast<int>(code));
  if (code >= code::kFloatHalf && code <= code::kInverseTwoPi && is_half && !is_float(operand.type))
    return put_inline_half(writer, code);
  if (code >= code::kFloatHalf && code <= code::kFloatMinusFour)
    return writer.put(kInlineFloats[code - code::kFloatHalf]);
  switch (code) {
    case code::kSharedBase:
      return writer.put("src_shared_base");
    case code::kSharedLimit:
      return writer.put("src_shared_limit");
    case code::kPrivateBase:
      return writer.put("src_private_base");
    case code::kPrivateLimit:
      return writer.put("src_private_limit");
    case code::kPopsExitingWaveId:
      return writer.put("src_pops_exiting_wave_id");
    case code::kInverseTwoPi:
      return writer.put(operand.words == 2 || operand.words == 8 ? "0.15915494309189532" : "0.15915494");
    case code::kVccz:
      return writer.put("src_vccz");
    case code::kExecz:
      return writer.put("src_execz");
    case code::kScc:
      return writer.put("src_scc");
    case code::kLdsDirect:
      return writer.put("src_lds_direct");
    default:
      break;
  }
  put_literal(writer, operand, instruction.literal, is_half);
}

Writer put_register_group(Writer writer, unsigned code, unsigned words) {
  put_register(writer, code, words);
  put_separator(writer);
  return writer;
}

Writer put_other_operand(Writer writer, const Instruction& instruction, const Operand& operand) {
  if (operand.is_literal()) {
    put_literal(writer, operand, instruction.literal, false);
  } else {
    put_source(writer, instruction, operand);
  }
  put_separator(writer);
  return writer;
}

}  // namespace lockstep::isa::detail
