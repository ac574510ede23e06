// How translated code calls the bodies of semantics/: functions whose parameters are all in memory as
// registers (16 lanes each), mask bits and scalars, so that the translator needs none of the C++ types. Once
// inlined and promoted to registers nothing of this memory is left. The header is compiled twice: by clang to
// bitcode for the translator, and natively by the test that compares the two.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/translator/body_signature.h"
#include "numeric/convert.h"
#include "numeric/deferring_float_mode.h"
#include "numeric/lanes.h"
#include "numeric/output.h"
#include "semantics/body.h"

namespace lockstep::translator {

template <class T>
constexpr bool is_one_of_words = std::is_same_v<T, U32> || std::is_same_v<T, I32> || std::is_same_v<T, F32>;
template <class T>
constexpr bool is_one_of_pairs = std::is_same_v<T, U64> || std::is_same_v<T, I64> || std::is_same_v<T, F64>;
template <class T>
constexpr bool is_one_of_halves = std::is_same_v<T, U16> || std::is_same_v<T, I16> || std::is_same_v<T, F16>;
template <class T>
concept TwoHalves = requires(T t) {
  t.low;
  t.high;
};
template <class T>
concept RegisterGroup = requires(T t) { t.word[0]; };

template <class T>
constexpr bool is_mode =
    std::is_same_v<T, DeferringFloatMode> || std::is_same_v<T, DeferringRuntimeFloatMode> ||
    std::is_same_v<T, NanFloatMode> || std::is_same_v<T, NanRuntimeFloatMode>;

template <class T>
constexpr Operand operand_of() {
  if constexpr (is_mode<T>)
    return {Operand::Kind::mode, 0};
  else if constexpr (std::is_same_v<T, Mask>)
    return {Operand::Kind::mask, 0};
  else if constexpr (std::is_same_v<T, semantics::Lanes>)
    return {Operand::Kind::lane_numbers, 1};
  else if constexpr (std::is_same_v<T, semantics::Mix>)
    return {Operand::Kind::mix, 1};
  else if constexpr (std::is_same_v<T, semantics::SignBits>)
    return {Operand::Kind::sign_bits, 0};
  else if constexpr (is_one_of_words<T>)
    return {Operand::Kind::word, 1, std::is_same_v<T, F32>};
  else if constexpr (is_one_of_pairs<T>)
    return {Operand::Kind::pair, 2, std::is_same_v<T, F64>};
  else if constexpr (is_one_of_halves<T>)
    return {Operand::Kind::half, 1, std::is_same_v<T, F16>};
  else if constexpr (TwoHalves<T>)
    return {Operand::Kind::two_halves, 2, std::is_same_v<T, semantics::PairF16>};
  else
    return {Operand::Kind::words, static_cast<uint8_t>(sizeof(T) / sizeof(U32))};
}

// ---- From words to the body's types and back
// ---------------------------------------------------------------------

template <class T>
LOCKSTEP_INLINE T half_from(U32 word) {
  return bits_as<T>(convert<U16>(word));
}
template <class T>
LOCKSTEP_INLINE U32 word_from(T half) {
  return convert<U32>(bits_as<U16>(half));
}

template <class T>
LOCKSTEP_INLINE T argument_from(const U32* word) {
  if constexpr (is_one_of_words<T>)
    return bits_as<T>(word[0]);
  else if constexpr (is_one_of_pairs<T>)
    return bits_as<T>(join(word[0], word[1]));
  else if constexpr (is_one_of_halves<T>)
    return half_from<T>(word[0]);
  else if constexpr (std::is_same_v<T, semantics::Lanes>)
    return {word[0]};
  else if constexpr (std::is_same_v<T, semantics::Mix>)
    return {bits_as<F32>(word[0])};
  else if constexpr (TwoHalves<T>)
    return {half_from<decltype(T::low)>(word[0]), half_from<decltype(T::high)>(word[1])};
  else {
    T group;
    for (unsigned i = 0; i < sizeof(T) / sizeof(U32); ++i) group.word[i] = word[i];
    return group;
  }
}

template <class T>
constexpr unsigned result_words() {
  if constexpr (is_one_of_pairs<T>)
    return 2;
  else if constexpr (RegisterGroup<T>)
    return sizeof(T) / sizeof(U32);
  else
    return 1;
}

template <class T>
LOCKSTEP_INLINE void store_result(T value, U32* words) {
  if constexpr (is_one_of_words<T>) {
    words[0] = bits_as<U32>(value);
  } else if constexpr (is_one_of_pairs<T>) {
    words[0] = low_half(bits_as<U64>(value));
    words[1] = high_half(bits_as<U64>(value));
  } else if constexpr (is_one_of_halves<T>) {
    words[0] = word_from(value);
  } else if constexpr (TwoHalves<T>) {
    words[0] = word_from(value.low) | word_from(value.high) << 16;
  } else {
    for (unsigned i = 0; i < sizeof(T) / sizeof(U32); ++i) words[i] = value.word[i];
  }
}

template <class T>
constexpr bool has_mask = false;
template <class T>
constexpr bool has_mask<semantics::WithMask<T>> = true;
template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<semantics::WithMask<T>> {
  using Type = T;
};

// ---- The shape of a body
// -----------------------------------------------------------------------------------------

template <class Body>
concept TakesMode = requires { &Body::template eval<DeferringFloatMode>; };
template <class Body>
concept Plain = requires { &Body::eval; };
template <class Body>
concept Saturates = requires { &Body::saturated; };

template <class Body, class Mode = DeferringFloatMode>
constexpr auto eval_of() {
  if constexpr (TakesMode<Body>)
    return &Body::template eval<Mode>;
  else
    return &Body::eval;
}

template <class Function>
struct Shape;
template <class R, class... A>
struct Shape<R (*)(A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
};
template <class Body, class Mode = DeferringFloatMode>
using ShapeOf = Shape<decltype(eval_of<Body, Mode>())>;

// Bodies over one chunk of lanes, and scalar ones; not those over whole waves, nor the register swaps.
template <class T>
constexpr bool is_vector_type = is_one_of_words<T> || is_one_of_pairs<T> || is_one_of_halves<T> ||
                                TwoHalves<T> || RegisterGroup<T> || std::is_same_v<T, Mask>;
template <class T>
constexpr bool is_vector_type<semantics::WithMask<T>> = is_vector_type<T>;
template <class Body, bool = TakesMode<Body> || Plain<Body>>
constexpr bool is_vector_body = false;
template <class Body>
constexpr bool is_vector_body<Body, true> = is_vector_type<typename ShapeOf<Body>::Result>;

template <class T>
constexpr bool is_scalar_result = std::is_integral_v<T> || requires(T t) { t.scc; };
template <class Args>
constexpr bool all_scalar = false;
template <class... A>
constexpr bool all_scalar<std::tuple<A...>> = (std::is_integral_v<A> && ...);
template <class Body, bool = Plain<Body>>
constexpr bool is_scalar_body = false;
template <class Body>
constexpr bool is_scalar_body<Body, true> =
    is_scalar_result<typename ShapeOf<Body>::Result> && all_scalar<typename ShapeOf<Body>::Args>;

// ---- Calls
// --------------------------------------------------------------------------------------------------------

template <class T, class Mode>
LOCKSTEP_INLINE T take_argument(const U32*& words, const uint16_t*& masks, const Mode& mode) {
  constexpr Operand operand = operand_of<T>();
  if constexpr (operand.kind == Operand::Kind::mode) {
    return mode;
  } else if constexpr (operand.kind == Operand::Kind::mask) {
    return mask_from_bits(*masks++);
  } else if constexpr (operand.kind == Operand::Kind::sign_bits) {
    const uint16_t bits = *masks++;
    return {(bits & 1) != 0, (bits & 2) != 0};
  } else {
    const T value = argument_from<T>(words);
    words += operand.words;
    return value;
  }
}

// `words`: the registers of all parameters in order; `masks`: all masks and sign bits in order. Lanes whose
// result may be wrong (NaNs and the like, if the meaning depends on the float mode) are ORed into `doubt`.
using VectorFunction = void (*)(const U32* words, const uint16_t* masks, U32* result_words,
                                uint16_t* result_mask, I32* doubt);
// In any float mode, of which `mode` has the bits of the MODE register: a constant where it is called, so
// that only what this mode needs is left of the body.
using ModedFunction = void (*)(const U32* words, const uint16_t* masks, U32* result_words,
                               uint16_t* result_mask, I32* doubt, uint32_t mode);

template <class Mode = DeferringFloatMode>
LOCKSTEP_INLINE Mode default_mode(I32* doubt) {
  Mode mode;
  mode.doubt = doubt;
  return mode;
}
template <class Mode = DeferringRuntimeFloatMode>
LOCKSTEP_INLINE Mode runtime_mode(I32* doubt, uint32_t bits) {
  Mode mode;
  mode.mode = bits;
  mode.doubt = doubt;
  return mode;
}

template <class Body, bool saturate, class Mode>
LOCKSTEP_INLINE void call_vector(const U32* words, const uint16_t* masks, U32* result_words,
                                 uint16_t* result_mask, const Mode& mode) {
  using Args = typename ShapeOf<Body, Mode>::Args;
  using Result = typename ShapeOf<Body, Mode>::Result;
  // Braces: arguments are taken from left to right.
  const auto arguments = [&]<class... A>(std::tuple<A...>*) __attribute__((always_inline)) {
    return std::tuple<A...>{take_argument<A>(words, masks, mode)...};
  }(static_cast<Args*>(nullptr));
  // Not std::apply, which clang may leave out of line.
  const Result result = [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    if constexpr (saturate)
      return Body::saturated(std::get<i>(arguments)...);
    else
      return Body::eval(std::get<i>(arguments)...);
  }(std::make_index_sequence<std::tuple_size_v<Args>>{});
  if constexpr (std::is_same_v<Result, Mask>) {
    *result_mask = bits_from_mask(result);
  } else if constexpr (has_mask<Result>) {
    store_result(result.value, result_words);
    *result_mask = bits_from_mask(result.mask);
  } else {
    store_result(result, result_words);
  }
}

// OMOD and CLAMP on a result, as masks[0] = omod | clamp << 2 | flushes_always << 3.
template <class T, class Mode>
LOCKSTEP_INLINE void call_output(const U32* words, const uint16_t* masks, U32* result_words,
                                 const Mode& mode) {
  const unsigned omod = masks[0] & 3;
  const auto modify = [&](auto value) __attribute__((always_inline)) {
    if constexpr (std::is_same_v<decltype(value), F32>) {
      if (omod && masks[0] & 8) value = numeric::omod_dx9(value, omod, mode);
      if (omod && !(masks[0] & 8)) value = numeric::omod(value, omod, mode);
    } else {
      if (omod) value = numeric::omod(value, omod, mode);
    }
    if (masks[0] & 4) value = numeric::clamp(value, mode);
    return value;
  };
  if constexpr (TwoHalves<T>) {
    store_result(T{modify(half_from<F16>(words[0])), modify(half_from<F16>(words[0] >> 16))}, result_words);
  } else {
    store_result(modify(argument_from<T>(words)), result_words);
  }
}

// Scalars widened to 64 bits; SCC as 0 or 1.
struct ScalarResult {
  uint64_t value, exec, scc;
};
using ScalarFunction = void (*)(const uint64_t* arguments, ScalarResult* result);

template <class Body>
LOCKSTEP_INLINE void call_scalar(const uint64_t* arguments, ScalarResult* result) {
  const auto value = [&]<class R, class... A>(R (*)(A...)) __attribute__((always_inline)) {
    const std::tuple<A...> values{static_cast<A>(*arguments++)...};
    return std::apply([](auto... each) __attribute__((always_inline)) { return Body::eval(each...); },
                      values);
  }(&Body::eval);
  if constexpr (requires { value.value; })
    result->value = static_cast<uint64_t>(value.value);
  else if constexpr (requires { value + 0; })
    result->value = static_cast<uint64_t>(value);
  if constexpr (requires { value.exec; }) result->exec = value.exec;
  if constexpr (requires { value.scc; }) result->scc = value.scc;
}

}  // namespace lockstep::translator
