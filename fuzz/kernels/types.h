// The types of generated kernels, their names in the generated source, and the generator's random numbers.
#pragma once

#include <cstdint>
#include <string>

namespace lockstep::kernel_fuzz {

enum class Base : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f16, f32, f64 };
inline constexpr unsigned kBaseCount = 11;

struct Type {
  Base base = Base::u32;
  uint8_t lanes = 1;  // 1, 2, 4 or 8

  bool operator==(const Type&) const = default;
};

constexpr bool is_float(Base base) {
  return base >= Base::f16;
}
constexpr bool is_signed(Base base) {
  return !is_float(base) && (unsigned(base) & 1) == 0;
}
constexpr unsigned bits(Base base) {
  constexpr unsigned kBits[kBaseCount] = {8, 8, 16, 16, 32, 32, 64, 64, 16, 32, 64};
  return kBits[unsigned(base)];
}
constexpr unsigned bytes(Type type) {
  return bits(type.base) / 8 * type.lanes;
}
constexpr Base signed_of(unsigned width) {
  return width == 8 ? Base::i8 : width == 16 ? Base::i16 : width == 32 ? Base::i32 : Base::i64;
}
constexpr Base unsigned_of(unsigned width) {
  return Base(unsigned(signed_of(width)) + 1);
}

constexpr const char* kBaseNames[kBaseCount] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                                "i64", "u64", "f16", "f32", "f64"};
inline std::string name(Type type) {
  std::string text = kBaseNames[unsigned(type.base)];
  if (type.lanes > 1) text += "x" + std::to_string(type.lanes);
  return text;
}

// What a comparison gives: 0 or 1 for scalars, 0 or -1 in each lane for vectors.
constexpr Type condition_of(Type type) {
  return type.lanes == 1 ? Type{Base::u32, 1} : Type{signed_of(bits(type.base)), type.lanes};
}

// The same numbers on every host: kernels are named by their seeds.
class Random {
 public:
  // Mixed, as SplitMix64 of neighbouring multiples of its step would give one stream shifted by one number.
  explicit Random(uint64_t seed) : state_(mix(seed + 0x632be59bd9b4e019u)) {}

  uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15u); }  // SplitMix64
  unsigned below(unsigned limit) { return unsigned((next() >> 32) * limit >> 32); }
  unsigned between(unsigned low, unsigned high) { return low + below(high - low + 1); }
  bool percent(unsigned chance) { return below(100) < chance; }
  template <typename Container>
  const auto& pick(const Container& from) {
    return from[below(unsigned(std::size(from)))];
  }

 private:
  static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

// Often zero, one, an extreme, a power of two or one beside it: there bugs live.
uint64_t interesting_bits(Random& random, Base base);

}  // namespace lockstep::kernel_fuzz
