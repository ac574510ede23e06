// Conversions between doubles and the words of integers of 64 bits as a whole: what compilers make of
// V_LDEXP_F64, V_FLOOR_F64, V_FMA_F64 and conversions of words.
#pragma once

#include "numeric/lanes.h"

namespace lockstep::numeric {

// Both words are the low bits of doubles whose sums are exact but for the last one, which is the
// instructions' own.
LOCKSTEP_INLINE F64 number_of_words(U32 low, U32 high, bool is_signed) {
  constexpr uint64_t kTwoTo52 = 0x4330000000000000, kTwoTo84 = 0x4530000000000000;
  const U32 biased = is_signed ? high ^ 0x80000000u : high;
  const double bias = is_signed ? 0x1.00000801p84 : 0x1.00000001p84;  // 2^84 + 2^52, and 2^63
  const F64 upper = bits_as<F64>(convert<U64>(biased) | kTwoTo84) - bias;
  return upper + bits_as<F64>(convert<U64>(low) | kTwoTo52);
}

struct WordsOfNumber {
  U32 low, high, signed_high;
};

// The product with 2^-32 rounded down, as both kinds of integers, and what it leaves, which is not below 0
// but may be 2^32 where it is rounded. NaNs become 0.
LOCKSTEP_INLINE WordsOfNumber words_of_number(F64 number) {
  const auto word = [](F64 sum) { return convert<U32>(bits_as<U64>(sum)); };
  const auto unsigned_word = [&](F64 value) {
    const F64 least = value > 0 ? value : 0;
    return word(__builtin_elementwise_trunc(least < 0xffffffff ? least : 0xffffffff) + 0x1p52);
  };
  const F64 whole = __builtin_elementwise_floor(number * 0x1p-32);
  const F64 rest = __builtin_elementwise_fma(whole, F64(-0x1p32), number);
  const F64 least = whole > -0x1p31 ? whole : -0x1p31;
  const U64 is_number = bits_as<U64>(whole == whole);
  const F64 sum = (least < 0x1.fffffffcp30 ? least : 0x1.fffffffcp30) + 0x1.8p52;
  return {unsigned_word(rest), unsigned_word(whole), convert<U32>(bits_as<U64>(sum) & is_number)};
}

}  // namespace lockstep::numeric
