// Immediates the way LLVM prints them: the values of inline constants by value, all others in hexadecimal.
#include <iterator>

#include "isa/detail.h"

namespace lockstep::isa::detail {
namespace {

// Bit patterns of codes 240 to 248 in each format (guide 6.2).
constexpr std::string_view kFloatNames[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                            "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr unsigned kInverseTwoPiIndex = 8;
constexpr uint16_t kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint16_t kBrainFloats[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};
constexpr uint32_t kSingles[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                 0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint64_t kDoubles[] = {0x3fe0000000000000, 0xbfe0000000000000, 0x3ff0000000000000,
                                 0xbff0000000000000, 0x4000000000000000, 0xc000000000000000,
                                 0x4010000000000000, 0xc010000000000000, 0x3fc45f306dc9c882};

constexpr bool is_inline_integer(int64_t value) {
  return value >= -16 && value <= 64;
}

// Writes the value if it is one of the patterns.
template <typename Bits, size_t kCount>
bool put_float(Writer& writer, const Bits (&patterns)[kCount], Bits value) {
  static_assert(kCount == std::size(kFloatNames));
  for (size_t i = 0; i < kCount; ++i) {
    if (patterns[i] != value) continue;
    writer.put(sizeof(Bits) == 8 && i == kInverseTwoPiIndex ? "0.15915494309189532" : kFloatNames[i]);
    return true;
  }
  return false;
}

template <size_t kCount>
void put_half(Writer& writer, const uint16_t (&patterns)[kCount], uint16_t value, uint32_t otherwise) {
  const int16_t number = static_cast<int16_t>(value);
  if (is_inline_integer(number)) return writer.decimal(number);
  if (!put_float(writer, patterns, value)) writer.hex(otherwise);
}

template <size_t kCount>
void put_packed(Writer& writer, const uint16_t (&patterns)[kCount], uint32_t value) {
  const int32_t number = static_cast<int32_t>(value);
  if (is_inline_integer(number)) return writer.decimal(number);
  if (value > 0xffff || !put_float(writer, patterns, static_cast<uint16_t>(value))) writer.hex(value);
}

void put_immediate64(Writer& writer, uint64_t value, bool is_float) {
  const int64_t number = static_cast<int64_t>(value);
  if (is_inline_integer(number)) return writer.decimal(number);
  if (!put_float(writer, kDoubles, value)) writer.hex(is_float ? value >> 32 : value);
}

}  // namespace

void put_immediate32(Writer& writer, uint32_t value) {
  const int32_t number = static_cast<int32_t>(value);
  if (is_inline_integer(number)) return writer.decimal(number);
  if (!put_float(writer, kSingles, value)) writer.hex(value);
}

void put_inline_half(Writer& writer, unsigned code) {
  writer.hex(kHalves[code - code::kFloatHalf]);
}

void put_literal(Writer& writer, const Operand& operand, uint32_t literal, bool is_half) {
  const uint16_t half = static_cast<uint16_t>(literal);
  if (operand.role == Role::simm) return writer.hex(literal);
  // LLVM prints the C matrix of WMMA as a double in wave32, and as 32 bits in wave64.
  if (operand.words == 8) return put_immediate64(writer, uint64_t{literal} << 32, true);
  if (operand.words == 4) return put_immediate32(writer, literal);
  switch (operand.type) {
    case Type::f64:
      return put_immediate64(writer, uint64_t{literal} << 32, true);
    case Type::f16:
      return put_half(writer, kHalves, half, half);
    case Type::bf16:
      return put_half(writer, kBrainFloats, half, literal);
    case Type::pk_f16:
      return put_packed(writer, kHalves, literal);
    case Type::pk_bf16:
      return put_packed(writer, kBrainFloats, literal);
    default:
      break;
  }
  if (operand.words == 2) return put_immediate64(writer, literal, false);
  const int32_t number = static_cast<int32_t>(literal);
  if (is_inline_integer(number)) return writer.decimal(number);
  if (put_float(writer, kSingles, literal)) return;
  // LLVM looks at all 32 bits for an inline constant, and prints 16 of any other value.
  writer.hex(is_half ? half : literal);
}

}  // namespace lockstep::isa::detail
