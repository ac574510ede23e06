// One driver for all vector bodies: runs a body on chunks filled with edge and random values in every
// combination, and compares each lane with a scalar oracle that sees the operands as plain bits.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "semantics/body.h"
#include "tests/sweep.h"

namespace lockstep::semantics::testing {

// Operands of one lane, in the order of the body's parameters, zero-extended bits.
using Operands = const uint64_t*;

struct Expected {
  uint64_t value;
  bool mask = false;
  template <class T>
    requires std::is_integral_v<T> || std::is_same_v<T, __int128> || std::is_same_v<T, unsigned __int128>
  Expected(T bits) : value(static_cast<uint64_t>(bits)) {}
  template <class T>
  Expected(T bits, bool flag) : value(static_cast<uint64_t>(bits)), mask(flag) {}
};
using Oracle = std::function<Expected(Operands)>;

template <class T>
struct Lane {
  using Element = std::remove_reference_t<decltype(std::declval<T>()[0])>;
  static constexpr unsigned bits = sizeof(T) / 16 * 8;
  using Bits = std::conditional_t<bits == 64, uint64_t, std::conditional_t<bits == 32, uint32_t, uint16_t>>;
  using Array = std::array<Bits, kLanesPerChunk>;
  static T from(const uint64_t* lanes) {
    Array array;
    for (unsigned i = 0; i < kLanesPerChunk; ++i) array[i] = static_cast<Bits>(lanes[i]);
    return __builtin_bit_cast(T, array);
  }
  static uint64_t get(const T& value, unsigned lane) { return __builtin_bit_cast(Array, value)[lane]; }
};
template <>
struct Lane<Mask> {
  static constexpr unsigned bits = 1;
  static Mask from(const uint64_t* lanes) {
    uint16_t mask = 0;
    for (unsigned i = 0; i < kLanesPerChunk; ++i) mask |= (lanes[i] & 1) << i;
    return mask_from_bits(mask);
  }
  static uint64_t get(const Mask& value, unsigned lane) { return bits_from_mask(value) >> lane & 1; }
};

// A mode parameter is an operand too: the same MODE bits in every lane. Oracles find it after the other
// operands.
inline std::vector<uint64_t>& mode_values() {
  static std::vector<uint64_t> only = {kDefaultFloatMode};
  return only;
}
template <>
struct Lane<RuntimeFloatMode> {
  static RuntimeFloatMode from(const uint64_t* lanes) { return {static_cast<uint32_t>(lanes[0])}; }
};
template <>
struct Lane<DefaultFloatMode> {
  static DefaultFloatMode from(const uint64_t*) { return {}; }
};

inline const std::vector<uint64_t>& integer_values(unsigned bits) {
  static const auto make = [](unsigned width) {
    const uint64_t all = width == 64 ? ~0ull : (1ull << width) - 1;
    const uint64_t top = 1ull << (width - 1);
    std::vector<uint64_t> v = {0,          1,          2,        3,        7,          15,         16,
                               31,         32,         33,       0x7f,     0x80,       0xff,       all,
                               all - 1,    top,        top - 1,  top + 1,  top >> 1,   0x7fff,     0x8000,
                               0xffff,     0x800000,   0x7fffff, 0xffffff, 0x01020304, 0x0c0d0908, 0x0b0a0705,
                               0x80808080, 0x00ff00ff, all / 3,  all / 5};
    std::mt19937_64 random(width);
    for (int i = 0; i < 14; ++i) v.push_back(random());
    for (int i = 0; i < 4; ++i) v.push_back(random() & random() & random());
    for (uint64_t& value : v) value &= all;
    return v;
  };
  static const std::vector<uint64_t> mask = {0, 1}, half = make(16), word = make(32), pair = make(64);
  return bits == 1 ? mask : bits == 16 ? half : bits == 32 ? word : pair;
}

// Float encodings: zeros, denormals, ends of the normal range, ones, halves, infinities, quiet and signalling
// NaNs, integers at the ends of the conversion ranges, random bits and random values near one.
inline const std::vector<uint64_t>& float_values(unsigned bits) {
  static const auto make = [](unsigned width, unsigned mantissa) {
    const uint64_t one = 1, sign = one << (width - 1), infinity = sign - (one << mantissa);
    const uint64_t unit = (infinity >> 1) & ~((one << mantissa) - 1);  // exponent of 1.0
    const uint64_t quiet = one << (mantissa - 1), ulp = 1, step = one << mantissa;
    std::vector<uint64_t> v = {0,
                               ulp,
                               step - 1,
                               step,
                               step + ulp,
                               unit - step,
                               unit - ulp,
                               unit,
                               unit + ulp,
                               unit + quiet,
                               unit + step,
                               unit + step + (quiet >> 1),
                               unit + 8 * step - ulp,
                               unit + 15 * step,
                               unit + 4 * step + 5 * (quiet >> 4),
                               infinity - ulp,
                               infinity - step,
                               infinity,
                               infinity + ulp,
                               infinity + quiet,
                               infinity + quiet + 5};
    if (width > 16)
      for (unsigned exponent : {22, 23, 24, 30, 31, 32, 63, 64}) v.push_back(unit + exponent * step);
    const size_t positive = v.size();
    for (size_t i = 0; i < positive; ++i) v.push_back(v[i] | sign);
    std::mt19937_64 random(width + 1);
    for (int i = 0; i < 12; ++i) v.push_back(random() & (sign | (sign - 1)));
    for (int i = 0; i < 12; ++i)
      v.push_back((unit - 2 * step + random() % (6 * step)) | (random() & 1 ? sign : 0));
    return v;
  };
  static const std::vector<uint64_t> half = make(16, 10), word = make(32, 23), pair = make(64, 52);
  return bits == 16 ? half : bits == 32 ? word : pair;
}

template <class T>
inline constexpr bool is_float_vector =
    std::is_same_v<T, F16> || std::is_same_v<T, F32> || std::is_same_v<T, F64>;

template <class T>
const std::vector<uint64_t>& values_of() {
  if constexpr (std::is_same_v<T, RuntimeFloatMode> || std::is_same_v<T, DefaultFloatMode>)
    return mode_values();
  else if constexpr (is_float_vector<T>)
    return float_values(Lane<T>::bits);
  else
    return integer_values(Lane<T>::bits);
}

// Calls `run` with 16 lanes of every operand until each combination of the lists has been used.
inline void for_each_chunk(
    const std::vector<const std::vector<uint64_t>*>& lists,
    const std::function<bool(const std::vector<std::array<uint64_t, kLanesPerChunk>>&)>& run) {
  std::vector<size_t> index(lists.size(), 0);
  std::vector<std::array<uint64_t, kLanesPerChunk>> lanes(lists.size());
  for (bool more = true; more;) {
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      for (size_t i = 0; i < lists.size(); ++i) lanes[i][lane] = (*lists[i])[index[i]];
      size_t digit = 0;
      while (digit < lists.size() && ++index[digit] == lists[digit]->size()) index[digit++] = 0;
      if (digit == lists.size()) more = false;  // the last chunk is filled up from the beginning
    }
    if (!run(lanes)) return;
  }
}

template <class Result>
Expected lane_of(const Result& result, unsigned lane) {
  if constexpr (std::is_same_v<Result, Mask>)
    return {0, Lane<Mask>::get(result, lane) != 0};
  else
    return {Lane<Result>::get(result, lane)};
}
template <class T>
Expected lane_of(const WithMask<T>& result, unsigned lane) {
  return {Lane<T>::get(result.value, lane), Lane<Mask>::get(result.mask, lane) != 0};
}
template <class Result>
struct ResultBits {
  static constexpr unsigned bits = Lane<Result>::bits;
};
template <>
struct ResultBits<Mask> {
  static constexpr unsigned bits = 1;
};
template <class T>
struct ResultBits<WithMask<T>> {
  static constexpr unsigned bits = Lane<T>::bits;
};

inline std::string describe(const Expected& value) {
  char text[40];
  snprintf(text, sizeof text, "0x%llx mask %d", static_cast<unsigned long long>(value.value), value.mask);
  return text;
}

inline bool same(Expected got, Expected expected, unsigned bits) {
  const uint64_t all = bits == 64 ? ~0ull : bits == 1 ? 0 : (1ull << bits) - 1;
  return ((got.value ^ expected.value) & all) == 0 && got.mask == expected.mask;
}

// The body against the oracle, over every combination of values. Stops at the first difference.
template <class Result, class... Parameters>
void verify(const char* name, Result (*body)(Parameters...), const Oracle& oracle) {
  std::vector<const std::vector<uint64_t>*> lists = {&values_of<Parameters>()...};
  // Three floats: every third value, in the share every seventh, is enough for the last one, and keeps the
  // number of combinations small.
  std::vector<uint64_t> fewer;
  constexpr size_t floats = (0 + ... + is_float_vector<Parameters>);
  if (floats == 3) {
    for (size_t i = 0; i < lists[2]->size(); i += test::of_sweep<size_t>(3, 7))
      fewer.push_back((*lists[2])[i]);
    lists[2] = &fewer;
  }
  for_each_chunk(lists, [&](const auto& lanes) {
    size_t next = 0;
    // Braces: the operands are converted in order.
    const std::tuple<Parameters...> operands{Lane<Parameters>::from(lanes[next++].data())...};
    const Result result = std::apply(body, operands);
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      uint64_t scalar[5] = {};
      for (size_t i = 0; i < lanes.size(); ++i) scalar[i] = lanes[i][lane];
      const Expected got = lane_of(result, lane), expected = oracle(scalar);
      if (same(got, expected, ResultBits<Result>::bits)) continue;
      char text[120];
      snprintf(text, sizeof text, "(0x%llx, 0x%llx, 0x%llx, 0x%llx)",
               static_cast<unsigned long long>(scalar[0]), static_cast<unsigned long long>(scalar[1]),
               static_cast<unsigned long long>(scalar[2]), static_cast<unsigned long long>(scalar[3]));
      ADD_FAILURE() << name << text << " lane " << lane << ": got " << describe(got) << ", expected "
                    << describe(expected);
      return false;
    }
    return true;
  });
}

}  // namespace lockstep::semantics::testing
