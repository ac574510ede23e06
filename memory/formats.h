// The data formats of buffers (guide table 52, numbers 1 to 63) and the conversions between an element in
// memory and the components in VGPRs (guide 9.2, 9.3). An element is up to 16 bytes as four little-endian
// words, component 0 lowest.
//
// What the guide leaves open, and what holds here: values too large for an integer component are clamped;
// USCALED and SSCALED round to nearest even; a D16 integer load keeps the low 16 bits; components that the
// format does not have load as 0; components that a store does not supply are stored as 0.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lockstep::memory {

enum class NumericType : uint8_t { none, unorm, snorm, uscaled, sscaled, uint, sint, floating };

struct DataFormat {
  NumericType type = NumericType::none;  // none: not a format of buffers
  uint8_t components = 0;
  uint8_t bytes = 0;              // of an element
  std::array<uint8_t, 4> bits{};  // width of each component

  constexpr bool is_valid() const { return type != NumericType::none; }
  constexpr bool is_integer() const { return type == NumericType::uint || type == NumericType::sint; }
  constexpr unsigned alignment() const { return bytes < 4 ? bytes : 4; }
};

constexpr DataFormat data_format(unsigned number) {
  using enum NumericType;
  // The formats stand in groups of one layout; most list the types in the order of NumericType.
  struct Group {
    uint8_t first;
    std::array<uint8_t, 4> bits;
    std::array<NumericType, 7> types;
  };
  constexpr std::array<NumericType, 7> kIntegers = {unorm, snorm, uscaled, sscaled, uint, sint};
  constexpr std::array<NumericType, 7> kAll = {unorm, snorm, uscaled, sscaled, uint, sint, floating};
  constexpr std::array<NumericType, 7> kWide = {uint, sint, floating};
  constexpr Group kGroups[] = {
      {1, {8}, kIntegers},
      {7, {16}, kAll},
      {14, {8, 8}, kIntegers},
      {20, {32}, kWide},
      {23, {16, 16}, kAll},
      {30, {11, 11, 10}, {floating}},
      {31, {10, 11, 11}, {floating}},
      {32, {2, 10, 10, 10}, {unorm, snorm, uint, sint}},
      {36, {10, 10, 10, 2}, kIntegers},
      {42, {8, 8, 8, 8}, kIntegers},
      {48, {32, 32}, kWide},
      {51, {16, 16, 16, 16}, kAll},
      {58, {32, 32, 32}, kWide},
      {61, {32, 32, 32, 32}, kWide},
  };
  for (const Group& group : kGroups) {
    if (number < group.first || number >= group.first + group.types.size()) continue;
    const NumericType type = group.types[number - group.first];
    if (type == none) continue;
    DataFormat format{.type = type, .bits = group.bits};
    unsigned total = 0;
    for (const uint8_t width : group.bits) {
      total += width;
      format.components += width != 0;
    }
    format.bytes = static_cast<uint8_t>(total / 8);
    return format;
  }
  return {};
}

using Element = std::array<uint32_t, 4>;
using Components = std::array<uint32_t, 4>;  // as VGPRs hold them; in D16 form the low 16 bits of each
using Select = std::array<uint8_t, 4>;

// DST_SEL of instructions that do not take it from the resource: missing components are 0.
constexpr Select identity_select(const DataFormat& format) {
  Select select{};
  for (uint8_t i = 0; i < format.components; ++i) select[i] = 4 + i;
  return select;
}

namespace detail {

// Floats with 5 bits of exponent and `mantissa` bits: 10 the half, 6 and 5 the unsigned ones of 11 and 10
// bits.
inline uint32_t small_float_to_f32(uint32_t bits, unsigned mantissa) {
  const uint32_t fraction = bits & ((1u << mantissa) - 1);
  const uint32_t exponent = bits >> mantissa & 31;
  if (exponent == 31) return 0x7f800000 | fraction << (23 - mantissa);
  if (exponent != 0) return (exponent + 112) << 23 | fraction << (23 - mantissa);
  return std::bit_cast<uint32_t>(std::ldexp(static_cast<float>(fraction), -14 - static_cast<int>(mantissa)));
}
inline uint32_t half_to_f32(uint32_t half) {
  return (half & 0x8000) << 16 | small_float_to_f32(half & 0x7fff, 10);
}

// The magnitude of an F32, truncated: too large a number becomes the largest one, NaNs keep the top of their
// payload.
inline uint32_t f32_to_small_float(uint32_t f32, unsigned mantissa) {
  const uint32_t size = f32 & 0x7fffffff, fraction = size & 0x7fffff;
  const uint32_t infinity = 31u << mantissa;
  if (size > 0x7f800000) return infinity | (fraction >> (23 - mantissa) | 1u << (mantissa - 1));
  if (size == 0x7f800000) return infinity;
  const int exponent = static_cast<int>(size >> 23) - 112;
  if (exponent >= 31) return infinity - 1;
  if (exponent > 0) return static_cast<uint32_t>(exponent) << mantissa | fraction >> (23 - mantissa);
  const unsigned shift = 24 - mantissa + static_cast<unsigned>(-exponent);
  return shift > 31 ? 0 : (fraction | 0x800000) >> shift;
}
inline uint32_t f32_to_half(uint32_t f32) {
  return (f32 >> 16 & 0x8000) | f32_to_small_float(f32, 10);
}

inline uint32_t half_of(double value) {
  return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
}

constexpr uint32_t component_bits(const Element& element, unsigned offset, unsigned width) {
  const uint32_t word = element[offset / 32] >> offset % 32;
  return width == 32 ? word : word & ((1u << width) - 1);
}
constexpr int32_t sign_extended(uint32_t value, unsigned width) {
  return static_cast<int32_t>(value << (32 - width)) >> (32 - width);
}
constexpr uint32_t low_bits(uint32_t value, unsigned width) {
  return width == 32 ? value : value & ((1u << width) - 1);
}

// A memory component as a 32-bit VGPR value, or as its 16-bit form. F32 becomes F16 by truncation, the others
// are rounded to nearest even (guide 9.3.1).
inline uint32_t load_component(NumericType type, uint32_t bits, unsigned width, bool d16) {
  const int32_t value = sign_extended(bits, width);
  double number = 0;
  switch (type) {
    case NumericType::none:
      return 0;
    case NumericType::uint:
      return d16 ? bits & 0xffff : bits;
    case NumericType::sint:
      return d16 ? static_cast<uint32_t>(value) & 0xffff : static_cast<uint32_t>(value);
    case NumericType::floating: {
      if (width == 16) return d16 ? bits : half_to_f32(bits);
      const uint32_t f32 = width == 32 ? bits : small_float_to_f32(bits, width - 5);
      return d16 ? f32_to_half(f32) : f32;
    }
    case NumericType::unorm:
      number = static_cast<double>(bits) / ((1u << width) - 1);
      break;
    case NumericType::snorm:  // the most negative value and its neighbour are both -1
      number = std::fmax(static_cast<double>(value) / ((1u << (width - 1)) - 1), -1.0);
      break;
    case NumericType::uscaled:
      number = bits;
      break;
    case NumericType::sscaled:
      number = value;
      break;
  }
  return d16 ? half_of(number) : std::bit_cast<uint32_t>(static_cast<float>(number));
}

// The inverse. NaN becomes 0 where the component is not a float.
inline uint32_t store_component(NumericType type, uint32_t value, unsigned width, bool d16) {
  const auto clamped = [](double number, double least, double greatest) {
    if (number != number) return int64_t{0};
    return static_cast<int64_t>(std::nearbyint(std::fmin(std::fmax(number, least), greatest)));
  };
  const double unsigned_greatest = std::ldexp(1.0, static_cast<int>(width)) - 1;
  const double signed_greatest = std::ldexp(1.0, static_cast<int>(width) - 1) - 1;
  const uint32_t f32 = d16 ? half_to_f32(value & 0xffff) : value;
  const double number = std::bit_cast<float>(f32);
  int64_t result = 0;
  switch (type) {
    case NumericType::none:
      return 0;
    case NumericType::uint:
      result = clamped(d16 ? value & 0xffff : value, 0, unsigned_greatest);
      break;
    case NumericType::sint:
      result = clamped(d16 ? static_cast<int16_t>(value) : static_cast<int32_t>(value), -signed_greatest - 1,
                       signed_greatest);
      break;
    case NumericType::floating:
      if (width == 32) return f32;
      if (width == 16) return d16 ? value & 0xffff : f32_to_half(f32);
      // Negative numbers have no place in the unsigned formats; a NaN of either sign has.
      return f32 >> 31 && number == number ? 0 : f32_to_small_float(f32, width - 5);
    case NumericType::unorm:
      result = clamped(number * unsigned_greatest, 0, unsigned_greatest);
      break;
    case NumericType::snorm:
      result = clamped(number * signed_greatest, -signed_greatest, signed_greatest);
      break;
    case NumericType::uscaled:
      result = clamped(number, 0, unsigned_greatest);
      break;
    case NumericType::sscaled:
      result = clamped(number, -signed_greatest - 1, signed_greatest);
      break;
  }
  return low_bits(static_cast<uint32_t>(result), width);
}

}  // namespace detail

// What a selector of 1 loads: 1.0 or the integer 1.
inline uint32_t one_of(const DataFormat& format, bool d16) {
  return format.is_integer() ? 1 : d16 ? 0x3c00 : 0x3f800000;
}

// The components of an element, through DST_SEL.
inline Components load_element(const DataFormat& format, const Element& element, const Select& select,
                               bool d16) {
  Components memory{}, result{};
  for (unsigned i = 0, offset = 0; i < format.components; offset += format.bits[i++])
    memory[i] = detail::load_component(format.type, detail::component_bits(element, offset, format.bits[i]),
                                       format.bits[i], d16);
  for (unsigned i = 0; i < 4; ++i)
    result[i] = select[i] >= 4 ? memory[select[i] - 4] : select[i] == 1 ? one_of(format, d16) : 0;
  return result;
}

// What a load out of range gives: 0, but 1 where DST_SEL says so (guide 9.4.1).
inline Components out_of_range_element(const DataFormat& format, const Select& select, bool d16) {
  Components result{};
  for (unsigned i = 0; i < 4; ++i) result[i] = select[i] == 1 ? one_of(format, d16) : 0;
  return result;
}

// The element that a store of `count` components writes: each memory component takes the first VGPR component
// that selects it.
inline Element store_element(const DataFormat& format, const Components& values, unsigned count,
                             const Select& select, bool d16) {
  Element element{};
  for (unsigned i = 0, offset = 0; i < format.components; offset += format.bits[i++]) {
    uint32_t value = 0;
    for (unsigned from = 0; from < count; ++from)
      if (select[from] == 4 + i) {
        value = values[from];
        break;
      }
    const uint32_t bits = detail::store_component(format.type, value, format.bits[i], d16);
    element[offset / 32] |= bits << offset % 32;
  }
  return element;
}

}  // namespace lockstep::memory
