// Compiled to bitcode (see CMakeLists.txt) and embedded in the library: the bodies of semantics/ as functions
// that the translator inlines. A test compiles the file natively too and compares the two.
#include "engine/translator/body_abi.h"
#include "engine/translator/body_headers.h"
#include "numeric/integer_quotient.h"
#include "numeric/quotient.h"
#include "numeric/ratio.h"
#include "numeric/square_root.h"
#include "numeric/wide_conversion.h"
#include "numeric/wide_quotient.h"

#define LOCKSTEP_EXPORT extern "C" __attribute__((visibility("default"), nothrow))

namespace lockstep::translator {
namespace {

template <class Body>
LOCKSTEP_INLINE void vector_body(const U32* words, const uint16_t* masks, U32* result_words,
                                 uint16_t* result_mask, I32* doubt) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_vector_body<Body>)
      call_vector<Body, false>(words, masks, result_words, result_mask, default_mode(doubt));
}
template <class Body>
LOCKSTEP_INLINE void moded_body(const U32* words, const uint16_t* masks, U32* result_words,
                                uint16_t* result_mask, I32* doubt, uint32_t mode) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_vector_body<Body>)
      if constexpr (TakesMode<Body>)
        call_vector<Body, false>(words, masks, result_words, result_mask, runtime_mode(doubt, mode));
}
// Where many results are NaNs (numeric/deferring_float_mode.h).
template <class Body>
LOCKSTEP_INLINE void nan_body(const U32* words, const uint16_t* masks, U32* result_words,
                              uint16_t* result_mask, I32* doubt) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_vector_body<Body>)
      if constexpr (TakesMode<Body>)
        call_vector<Body, false>(words, masks, result_words, result_mask, default_mode<NanFloatMode>(doubt));
}
template <class Body>
LOCKSTEP_INLINE void moded_nan_body(const U32* words, const uint16_t* masks, U32* result_words,
                                    uint16_t* result_mask, I32* doubt, uint32_t mode) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_vector_body<Body>)
      if constexpr (TakesMode<Body>)
        call_vector<Body, false>(words, masks, result_words, result_mask,
                                 runtime_mode<NanRuntimeFloatMode>(doubt, mode));
}
template <class Body>
LOCKSTEP_INLINE void saturated_body(const U32* words, const uint16_t* masks, U32* result_words,
                                    uint16_t* result_mask, I32* doubt) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_vector_body<Body> && Saturates<Body>)
      call_vector<Body, true>(words, masks, result_words, result_mask, default_mode(doubt));
}
template <class Body>
LOCKSTEP_INLINE void scalar_body(const uint64_t* arguments, ScalarResult* result) {
  if constexpr (semantics::has_body<Body>)
    if constexpr (is_scalar_body<Body>) call_scalar<Body>(arguments, result);
}

}  // namespace

// Instructions without a body of the kind become empty functions that nobody calls. A body that saturates is
// one over integers.
#define LOCKSTEP_OPCODE(mnemonic)                                                                            \
  LOCKSTEP_EXPORT void lockstep_body_##mnemonic(const U32* words, const uint16_t* masks, U32* result_words,  \
                                                uint16_t* result_mask, I32* doubt) {                         \
    vector_body<semantics::mnemonic>(words, masks, result_words, result_mask, doubt);                        \
  }                                                                                                          \
  LOCKSTEP_EXPORT void lockstep_moded_##mnemonic(const U32* words, const uint16_t* masks, U32* result_words, \
                                                 uint16_t* result_mask, I32* doubt, uint32_t mode) {         \
    moded_body<semantics::mnemonic>(words, masks, result_words, result_mask, doubt, mode);                   \
  }                                                                                                          \
  LOCKSTEP_EXPORT void lockstep_nan_##mnemonic(const U32* words, const uint16_t* masks, U32* result_words,   \
                                               uint16_t* result_mask, I32* doubt) {                          \
    nan_body<semantics::mnemonic>(words, masks, result_words, result_mask, doubt);                           \
  }                                                                                                          \
  LOCKSTEP_EXPORT void lockstep_moded_nan_##mnemonic(const U32* words, const uint16_t* masks,                \
                                                     U32* result_words, uint16_t* result_mask, I32* doubt,   \
                                                     uint32_t mode) {                                        \
    moded_nan_body<semantics::mnemonic>(words, masks, result_words, result_mask, doubt, mode);               \
  }                                                                                                          \
  LOCKSTEP_EXPORT void lockstep_saturated_##mnemonic(const U32* words, const uint16_t* masks,                \
                                                     U32* result_words, uint16_t* result_mask, I32* doubt) { \
    saturated_body<semantics::mnemonic>(words, masks, result_words, result_mask, doubt);                     \
  }                                                                                                          \
  LOCKSTEP_EXPORT void lockstep_scalar_##mnemonic(const uint64_t* arguments, ScalarResult* result) {         \
    scalar_body<semantics::mnemonic>(arguments, result);                                                     \
  }
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE

#define LOCKSTEP_OUTPUT(name, type)                                                                       \
  LOCKSTEP_EXPORT void lockstep_body_output_##name(const U32* words, const uint16_t* masks,               \
                                                   U32* result_words, uint16_t*, I32* doubt) {            \
    call_output<type>(words, masks, result_words, default_mode(doubt));                                   \
  }                                                                                                       \
  LOCKSTEP_EXPORT void lockstep_moded_output_##name(                                                      \
      const U32* words, const uint16_t* masks, U32* result_words, uint16_t*, I32* doubt, uint32_t mode) { \
    call_output<type>(words, masks, result_words, runtime_mode(doubt, mode));                             \
  }                                                                                                       \
  LOCKSTEP_EXPORT void lockstep_nan_output_##name(const U32* words, const uint16_t* masks,                \
                                                  U32* result_words, uint16_t*, I32* doubt) {             \
    call_output<type>(words, masks, result_words, default_mode<NanFloatMode>(doubt));                     \
  }                                                                                                       \
  LOCKSTEP_EXPORT void lockstep_moded_nan_output_##name(                                                  \
      const U32* words, const uint16_t* masks, U32* result_words, uint16_t*, I32* doubt, uint32_t mode) { \
    call_output<type>(words, masks, result_words, runtime_mode<NanRuntimeFloatMode>(doubt, mode));        \
  }
LOCKSTEP_OUTPUT(f16, F16)
LOCKSTEP_OUTPUT(f32, F32)
LOCKSTEP_OUTPUT(f64, F64)
LOCKSTEP_OUTPUT(pk_f16, semantics::PairF16)
#undef LOCKSTEP_OUTPUT

// What quotients.h finds: of the denominator and the numerator, as the last of the instructions has them.
#define LOCKSTEP_QUOTIENT(name, type)                                                                      \
  LOCKSTEP_EXPORT void lockstep_body_quotient_##name(const U32* words, const uint16_t*, U32* result_words, \
                                                     uint16_t*, I32*) {                                    \
    const type denominator = argument_from<type>(words),                                                   \
               numerator = argument_from<type>(words + sizeof(type) / sizeof(U32));                        \
    store_result(numeric::quotient(numerator, denominator), result_words);                                 \
  }
LOCKSTEP_QUOTIENT(f32, F32)
LOCKSTEP_QUOTIENT(f64, F64)
#undef LOCKSTEP_QUOTIENT
// Of numerator, denominator and its reciprocal.
#define LOCKSTEP_RATIO(name, reciprocal_first)                                                               \
  LOCKSTEP_EXPORT void lockstep_body_##name(const U32* words, const uint16_t*, U32* result_words, uint16_t*, \
                                            I32*) {                                                          \
    store_result(numeric::ratio<reciprocal_first>(argument_from<F32>(words), argument_from<F32>(words + 1),  \
                                                  argument_from<F32>(words + 2)),                            \
                 result_words);                                                                              \
  }
LOCKSTEP_RATIO(ratio_f32, false)
LOCKSTEP_RATIO(ratio_of_reciprocal_f32, true)
#undef LOCKSTEP_RATIO
LOCKSTEP_EXPORT void lockstep_body_ratio_of_constant_f32(const U32* words, const uint16_t*, U32* result_words,
                                                         uint16_t*, I32*) {
  store_result(numeric::ratio_of_constant(argument_from<F32>(words), argument_from<F32>(words + 1)),
               result_words);
}
LOCKSTEP_EXPORT void lockstep_body_quotient_u32(const U32* words, const uint16_t*, U32* result_words,
                                                uint16_t*, I32*) {
  const numeric::IntegerQuotient result = numeric::integer_quotient(words[0], words[1]);
  result_words[0] = result.quotient;
  result_words[1] = result.rest;
}
LOCKSTEP_EXPORT void lockstep_body_quotient_u64(const U32* words, const uint16_t*, U32* result_words,
                                                uint16_t*, I32*) {
  const numeric::WideQuotient result =
      numeric::wide_quotient(argument_from<U64>(words), argument_from<U64>(words + 2));
  store_result(result.quotient, result_words);
  store_result(result.rest, result_words + 2);
}
// By a constant; what is behind it is its numeric::WideFactor.
LOCKSTEP_EXPORT void lockstep_body_quotient_u64_by(const U32* words, const uint16_t*, U32* result_words,
                                                   uint16_t*, I32*) {
  const auto word = [&](unsigned i) { return convert<U64>(words[i]); };
  const numeric::WideQuotient result = numeric::wide_quotient_by(
      argument_from<U64>(words), argument_from<U64>(words + 2), argument_from<U64>(words + 4), word(6),
      word(7), argument_from<U64>(words + 8));
  store_result(result.quotient, result_words);
  store_result(result.rest, result_words + 2);
}
// By a number that all lanes have; its reciprocal is behind it.
LOCKSTEP_EXPORT void lockstep_body_quotient_u64_with(const U32* words, const uint16_t*, U32* result_words,
                                                     uint16_t*, I32*) {
  const numeric::WideQuotient result = numeric::wide_quotient_with(
      argument_from<U64>(words), argument_from<U64>(words + 2), argument_from<U64>(words + 4));
  store_result(result.quotient, result_words);
  store_result(result.rest, result_words + 2);
}
#define LOCKSTEP_NUMBER_OF_WORDS(name, is_signed)                                                            \
  LOCKSTEP_EXPORT void lockstep_body_##name(const U32* words, const uint16_t*, U32* result_words, uint16_t*, \
                                            I32*) {                                                          \
    store_result(numeric::number_of_words(words[0], words[1], is_signed), result_words);                     \
  }
LOCKSTEP_NUMBER_OF_WORDS(f64_of_u64, false)
LOCKSTEP_NUMBER_OF_WORDS(f64_of_i64, true)
#undef LOCKSTEP_NUMBER_OF_WORDS
LOCKSTEP_EXPORT void lockstep_body_words_of_f64(const U32* words, const uint16_t*, U32* result_words,
                                                uint16_t*, I32*) {
  const numeric::WordsOfNumber result = numeric::words_of_number(argument_from<F64>(words));
  result_words[0] = result.low;
  result_words[1] = result.high;
  result_words[2] = result.signed_high;
}
#define LOCKSTEP_SQUARE_ROOT(name, type)                                                      \
  LOCKSTEP_EXPORT void lockstep_body_square_root_##name(const U32* words, const uint16_t*,    \
                                                        U32* result_words, uint16_t*, I32*) { \
    store_result(numeric::square_root(argument_from<type>(words)), result_words);             \
  }
LOCKSTEP_SQUARE_ROOT(f32, F32)
LOCKSTEP_SQUARE_ROOT(f64, F64)
#undef LOCKSTEP_SQUARE_ROOT
LOCKSTEP_EXPORT void lockstep_body_whole_square_root_f64(const U32* words, const uint16_t*, U32* result_words,
                                                         uint16_t*, I32*) {
  store_result(numeric::whole_square_root(argument_from<F64>(words)), result_words);
}

}  // namespace lockstep::translator
