// From a pure body (semantics/body.h) to interpreter handlers: operand fetch, modifiers, EXEC merge, result
// write. For each body a few variants exist: plain ones for the operand kinds that compilers use most, and
// one that reads the operand kinds and modifiers from the operation.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/interpreter/handlers.h"
#include "engine/interpreter/operation.h"
#include "engine/interpreter/valu_lanes.h"
#include "numeric/convert.h"
#include "numeric/deferring_float_mode.h"
#include "numeric/output.h"
#include "semantics/body.h"

namespace lockstep::interpreter {
// Unnamed, because each handler file is compiled for several host instruction sets: the copies must never be
// merged.
namespace {

using semantics::Lanes;
using semantics::Pair;
using semantics::WithMask;
using semantics::Words;

enum class Kind { vgpr, scalar, any };

// ---- The shape of a body
// -----------------------------------------------------------------------------------------

template <class Function>
struct FunctionTraits;
template <class R, class... A>
struct FunctionTraits<R (*)(A...)> {
  using Result = R;
  using Args = std::tuple<A...>;
};

template <class Body, class Mode>
concept TakesMode = requires { &Body::template eval<Mode>; };
template <class Body>
concept Saturates = requires { &Body::saturated; };

template <class Body, class Mode>
struct Shape {
  static auto pointer() {
    if constexpr (TakesMode<Body, Mode>)
      return &Body::template eval<Mode>;
    else
      return &Body::eval;
  }
  using Traits = FunctionTraits<decltype(pointer())>;
  using Result = typename Traits::Result;
  using Args = typename Traits::Args;
  static constexpr size_t arity = std::tuple_size_v<Args>;
};

template <class T>
constexpr bool is_float_mode = std::is_base_of_v<DefaultFloatMode, T> || std::is_same_v<T, RuntimeFloatMode>;
template <class T>
constexpr bool is_one_register = std::is_same_v<T, U32> || std::is_same_v<T, I32> || std::is_same_v<T, F32>;
template <class T>
constexpr bool is_register_pair = std::is_same_v<T, U64> || std::is_same_v<T, I64> || std::is_same_v<T, F64>;
template <class T>
constexpr bool is_half_register = std::is_same_v<T, U16> || std::is_same_v<T, I16> || std::is_same_v<T, F16>;
template <class T>
constexpr bool is_float = std::is_same_v<T, F16> || std::is_same_v<T, F32> || std::is_same_v<T, F64>;

// ---- Operand fetch
// -----------------------------------------------------------------------------------------------

// Where an instruction's operands are. Results may be stored over anything as far as the compiler knows, so
// that it reads the operation and the wave again for each chunk: handlers that have registers to spare keep
// copies.
template <bool copied>
struct Places;
template <>
struct Places<false> {
  static constexpr bool in_halves = false;
  const Operation* op;
  Wave* wave;

  LOCKSTEP_INLINE Places(const Operation* operation, Wave* of) : op(operation), wave(of) {}
  LOCKSTEP_INLINE std::byte* vgprs() const { return wave->vgprs; }
  LOCKSTEP_INLINE uint32_t source(unsigned i) const { return op->source[i]; }
  LOCKSTEP_INLINE uint32_t destination() const { return op->dst; }
  LOCKSTEP_INLINE uint32_t register_bytes() const { return wave->register_bytes; }
};
template <>
struct Places<true> {
  static constexpr bool in_halves = false;
  std::byte* vgprs_;
  uint32_t sources[3];
  uint32_t destination_;
  uint32_t register_bytes_;

  LOCKSTEP_INLINE Places(const Operation* op, Wave* wave)
      : vgprs_(wave->vgprs),
        sources{op->source[0], op->source[1], op->source[2]},
        destination_(op->dst),
        register_bytes_(wave->register_bytes) {}
  LOCKSTEP_INLINE std::byte* vgprs() const { return vgprs_; }
  LOCKSTEP_INLINE uint32_t source(unsigned i) const { return sources[i]; }
  LOCKSTEP_INLINE uint32_t destination() const { return destination_; }
  LOCKSTEP_INLINE uint32_t register_bytes() const { return register_bytes_; }
};
// `in_halves`: see join_pair().
template <bool in_halves_>
struct PlacesOfWave32 : Places<true> {
  static constexpr bool in_halves = in_halves_;
  using Places<true>::Places;
  LOCKSTEP_INLINE static constexpr uint32_t register_bytes() { return 32 * 4; }
};

template <class From>
LOCKSTEP_INLINE U32* register_chunk(const From& from, uint32_t byte_offset, unsigned chunk) {
  return reinterpret_cast<U32*>(from.vgprs() + byte_offset + chunk * sizeof(U32));
}

template <Kind kind>
LOCKSTEP_INLINE bool reads_scalar(const Operation* op, unsigned i) {
  if constexpr (kind == Kind::any)
    return source_flags(op, i) & kScalarSource;
  else
    return kind == Kind::scalar;
}

template <Kind kind, class From>
LOCKSTEP_INLINE U32 fetch_word(const Operation* op, Wave* wave, const From& from, unsigned i, unsigned chunk,
                               unsigned word) {
  if (reads_scalar<kind>(op, i)) return U32(scalar_at(wave, from.source(i) + 4 * word));
  if constexpr (requires { From::forwarded; }) {
    if (From::forwarded >> i & 1) return from.forwarded_value[chunk];
  }
  return *register_chunk(from, from.source(i) + word * from.register_bytes(), chunk);
}

LOCKSTEP_INLINE U32 modify32(U32 value, uint32_t flags) {
  if (!(flags & (kAbs | kNeg))) return value;
  const uint32_t kept = flags & kAbs ? 0x7fffffffu : ~0u, changed = flags & kNeg ? 0x80000000u : 0;
  return (value & kept) ^ changed;
}
LOCKSTEP_INLINE U16 modify16(U16 value, uint32_t flags) {
  if (flags & kAbs) value &= static_cast<uint16_t>(0x7fff);
  if (flags & kNeg) value ^= static_cast<uint16_t>(0x8000);
  return value;
}
LOCKSTEP_INLINE U16 half_of(U32 value, bool high) {
  return convert<U16>(high ? value >> 16 : value);
}
// OPSEL of an operand of 32 bits that is two halves to the instruction (kHalves).
LOCKSTEP_INLINE U32 chosen_halves(U32 value, uint32_t flags) {
  if (!(flags & kHalves)) return value;
  return (flags & kHigh ? value >> 16 : value & 0xffffu) |
         (flags & kHighHigh ? value & 0xffff0000u : value << 16);
}

// `raw`: NEG has another meaning for this body (SignBits), so source modifiers do not apply.
template <class T, Kind kind, bool raw, class From>
LOCKSTEP_INLINE T fetch(const Operation* op, Wave* wave, const From& from, unsigned i, unsigned chunk) {
  if constexpr (std::is_same_v<T, Mask>) {
    const uint32_t* word = &scalar_at(wave, from.source(i));
    return mask_from_word(word[chunk / 2], chunk);
  } else if constexpr (is_one_register<T>) {
    U32 value = fetch_word<kind>(op, wave, from, i, chunk, 0);
    if constexpr (kind == Kind::any) {
      const uint32_t flags = source_flags(op, i);
      if constexpr (!is_float<T>) value = chosen_halves(value, flags);
      if constexpr (!raw) value = modify32(value, flags);
    }
    return bits_as<T>(value);
  } else if constexpr (is_register_pair<T>) {
    U32 low = fetch_word<kind>(op, wave, from, i, chunk, 0),
        high = fetch_word<kind>(op, wave, from, i, chunk, 1);
    if constexpr (kind == Kind::any) high = modify32(high, source_flags(op, i));
    return bits_as<T>(join_pair<From::in_halves>(low, high));
  } else if constexpr (is_half_register<T>) {
    static_assert(kind == Kind::any);
    const uint32_t flags = source_flags(op, i);
    return bits_as<T>(modify16(half_of(fetch_word<kind>(op, wave, from, i, chunk, 0), flags & kHigh), flags));
  } else if constexpr (requires {
                         T::low;
                         T::high;
                       }) {
    static_assert(kind == Kind::any);
    const uint32_t flags = source_flags(op, i);
    const U32 value = fetch_word<kind>(op, wave, from, i, chunk, 0);
    using Half = decltype(T::low);
    const U16 low = modify16(half_of(value, flags & kHigh), flags & (kNeg | kAbs));
    const U16 high =
        modify16(half_of(value, flags & kHighHigh), (flags & kAbs) | (flags & kNegHigh ? kNeg : 0));
    return {bits_as<Half>(low), bits_as<Half>(high)};
  } else {
    T words;
    for (unsigned word = 0; word < sizeof(T) / sizeof(U32); ++word)
      words.word[word] = fetch_word<kind>(op, wave, from, i, chunk, word);
    return words;
  }
}

// ---- Result write
// ------------------------------------------------------------------------------------------------

// OMOD is for float results alone, not for packed ones; CLAMP is for both (guide 7.2.3.1). That of integers
// is the body's (Saturates).
template <class Body, class T, class Mode>
LOCKSTEP_INLINE T output_modifiers(T value, const Operation* op, Mode mode) {
  if constexpr (is_float<T>) {
    if (const unsigned omod = (op->flags & kOmodMask) >> kOmodShift) {
      if constexpr (semantics::flushes_always<Body>)
        value = numeric::omod_dx9(value, omod, mode);
      else
        value = numeric::omod(value, omod, mode);
    }
    if (op->flags & kClamp) value = numeric::clamp(value, mode);
  } else if constexpr (std::is_same_v<T, semantics::PairF16>) {
    if (op->flags & kClamp) {
      value.low = numeric::clamp(value.low, mode);
      value.high = numeric::clamp(value.high, mode);
    }
  }
  return value;
}

template <class T, class From, class WrittenLanes>
LOCKSTEP_INLINE void write(const Operation* op, const From& to, unsigned chunk, WrittenLanes lanes, T value) {
  if constexpr (is_one_register<T>) {
    merge(register_chunk(to, to.destination(), chunk), bits_as<U32>(value), lanes);
  } else if constexpr (is_register_pair<T>) {
    merge(register_chunk(to, to.destination(), chunk), low_of_pair<From::in_halves>(bits_as<U64>(value)),
          lanes);
    merge(register_chunk(to, to.destination() + to.register_bytes(), chunk),
          high_of_pair<From::in_halves>(bits_as<U64>(value)), lanes);
  } else if constexpr (is_half_register<T>) {
    U32* destination = register_chunk(to, to.destination(), chunk);
    const U32 half = convert<U32>(bits_as<U16>(value));
    merge(destination,
          op->flags & kDstHigh ? (*destination & 0xffffu) | half << 16 : (*destination & 0xffff0000u) | half,
          lanes);
  } else if constexpr (requires {
                         value.low;
                         value.high;
                       }) {
    merge(register_chunk(to, to.destination(), chunk),
          convert<U32>(bits_as<U16>(value.low)) | convert<U32>(bits_as<U16>(value.high)) << 16, lanes);
  } else {
    for (unsigned word = 0; word < sizeof(T) / sizeof(U32); ++word)
      merge(register_chunk(to, to.destination() + word * to.register_bytes(), chunk), value.word[word],
            lanes);
  }
}

// ---- Handlers
// ----------------------------------------------------------------------------------------------------

template <class Mode>
LOCKSTEP_INLINE Mode float_mode(const Wave* wave) {
  if constexpr (Mode::is_default)
    return {};
  else
    return {wave->mode};
}

template <class T, class... A>
constexpr bool contains(std::tuple<A...>*) {
  return (std::is_same_v<T, A> || ...);
}

template <class Args, size_t index, Kind kind, class Mode, class From,
          class T = std::tuple_element_t<index, Args>>
LOCKSTEP_INLINE T argument(const Operation* op, Wave* wave, const From& from, unsigned i, unsigned chunk,
                           Mode mode) {
  if constexpr (is_float_mode<T>) {
    return mode;
  } else if constexpr (std::is_same_v<T, Lanes>) {
    return Lanes{lane_numbers() + chunk * 16};
  } else if constexpr (std::is_same_v<T, semantics::Mix>) {
    // op_sel_hi says f16 instead of f32, op_sel which half; neg_hi stands for ABS (guide 7.5, MIX).
    static_assert(kind == Kind::any);
    const uint32_t flags = source_flags(op, index);
    const U32 value = fetch_word<kind>(op, wave, from, index, chunk, 0);
    const F32 wide = flags & kHighHigh
                         ? numeric::f16_to_f32(bits_as<F16>(half_of(value, flags & kHigh)), mode)
                         : bits_as<F32>(value);
    return {bits_as<F32>(modify32(bits_as<U32>(wide), (flags & kNeg) | (flags & kNegHigh ? kAbs : 0)))};
  } else if constexpr (std::is_same_v<T, semantics::SignBits>) {
    // neg of src0 and src1 say whether the integer elements are signed (guide 7.9 and V_DOT4_I32_IU8).
    return semantics::SignBits{(source_flags(op, 0) & kNeg) != 0, (source_flags(op, 1) & kNeg) != 0};
  } else {
    if constexpr (std::is_same_v<T, Mask>) {
      // The fourth operand can only be the implied VCC of v_div_fmas.
      if (i == 3) return mask_from_word((&wave->scalar[kScalarVcc])[chunk / 2], chunk);
    }
    return fetch<T, kind, contains<semantics::SignBits>(static_cast<Args*>(nullptr))>(op, wave, from, i,
                                                                                      chunk);
  }
}

// The body's result for a chunk.
template <class Body, class Mode, bool saturate, Kind... kinds, class From>
LOCKSTEP_INLINE auto evaluate(const Operation* op, Wave* wave, const From& from, unsigned chunk, Mode mode) {
  using BodyShape = Shape<Body, Mode>;
  constexpr Kind kind_of[] = {kinds...};
  return [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    using Args = typename BodyShape::Args;
    if constexpr (saturate)
      return Body::saturated(
          argument<Args, i, kind_of[i < sizeof...(kinds) ? i : 0]>(op, wave, from, i, chunk, mode)...);
    else
      return Body::eval(
          argument<Args, i, kind_of[i < sizeof...(kinds) ? i : 0]>(op, wave, from, i, chunk, mode)...);
  }(std::make_index_sequence<BodyShape::arity>{});
}

// With DeferringFloatMode the handler is a quick one: at a chunk that needs exact arithmetic it leaves the
// rest to the body's exact handler, which resumes there. So it makes no calls and needs no stack frame, which
// would take a third of its time.
template <class Body, class Mode, bool saturate, bool resumes, Kind... kinds>
void valu(const Operation* op, Wave* wave, int64_t budget) {
  constexpr bool quick = std::is_same_v<Mode, DeferringFloatMode>;
  using Result = typename Shape<Body, Mode>::Result;
  constexpr bool any_scalar = ((kinds != Kind::vgpr) || ...);
  constexpr bool generic = ((kinds == Kind::any) || ...);
  if constexpr (any_scalar) __builtin_memcpy(&wave->scalar[kScalarLiteral], &op->literal, 8);

  Mode mode = float_mode<Mode>(wave);
  uint64_t lanes = wave->exec();
  if constexpr (generic) {
    if (op->flags & kDppMask) lanes = wave->dpp_write_mask;
  }
  // Those of wider results and of carries have none to spare.
  const Places<!generic && is_one_register<Result>> places(op, wave);
  uint64_t mask_result = 0;
  const unsigned chunks = wave->chunks;
  const unsigned first = resumes ? wave->resume_chunk : 0;
  uint64_t lanes_left = lanes >> (16 * first);
  for (unsigned chunk = first; chunk < chunks; ++chunk, lanes_left >>= 16) {
    const auto chunk_lanes = static_cast<uint16_t>(lanes_left);
    if (chunk_lanes == 0) continue;
    I32 doubt(0);
    if constexpr (quick) mode.doubt = &doubt;
    auto result = evaluate<Body, Mode, saturate, kinds...>(op, wave, places, chunk, mode);
    if constexpr (quick) {
      if (__builtin_expect(any(mask_of(doubt)), false)) {
        wave->resume_chunk = chunk;
        [[clang::musttail]] return valu<Body, DefaultFloatMode, saturate, true, Kind::any, Kind::any,
                                        Kind::any>(op, wave, budget);
      }
    }
    if constexpr (std::is_same_v<Result, Mask>) {
      mask_result |= uint64_t{bits_from_mask(result)} << (16 * chunk);
    } else if constexpr (requires {
                           result.value;
                           result.mask;
                         }) {
      mask_result |= uint64_t{bits_from_mask(result.mask)} << (16 * chunk);
      if constexpr (generic) result.value = output_modifiers<Body>(result.value, op, mode);
      write(op, places, chunk, chunk_lanes, result.value);
    } else {
      if constexpr (generic && !saturate) result = output_modifiers<Body>(result, op, mode);
      write(op, places, chunk, chunk_lanes, result);
    }
  }
  if constexpr (std::is_same_v<Result, Mask> || requires(Result r) { r.mask; }) {
    // Lanes that are off read as 0 in a compare or carry mask (guide 7.2.5).
    uint32_t* destination = &scalar_at(wave, std::is_same_v<Result, Mask> ? op->dst : op->dst2);
    mask_result &= lanes;
    destination[0] = static_cast<uint32_t>(mask_result);
    if (chunks > 2) destination[1] = static_cast<uint32_t>(mask_result >> 32);
  }
  LOCKSTEP_NEXT();
}

// Whether pairs may be in the order of halves: if nothing else has an order of lanes.
template <class Args, Kind... kinds, size_t... i>
constexpr bool has_only_pairs(std::index_sequence<i...>) {
  constexpr Kind kind_of[] = {kinds...};
  return ((is_register_pair<std::tuple_element_t<i, Args>> || is_float_mode<std::tuple_element_t<i, Args>> ||
           (is_one_register<std::tuple_element_t<i, Args>> &&
            kind_of[i < sizeof...(kinds) ? i : 0] == Kind::scalar)) &&
          ...);
}

// The same for wave32, whose two chunks are computed side by side: a third of the host's instructions is the
// loop's otherwise. EXEC is read as 32 bits, since the host does not forward the store of one word to a load
// of two.
template <class Body, class Mode, Kind... kinds>
void valu_of_wave32(const Operation* op, Wave* wave, int64_t budget) {
  constexpr bool quick = std::is_same_v<Mode, DeferringFloatMode>;
  constexpr bool generic = ((kinds == Kind::any) || ...);
  using BodyShape = Shape<Body, Mode>;
  using Result = typename BodyShape::Result;
  constexpr bool has_mask = requires(Result r) { r.mask; };
  if constexpr (((kinds != Kind::vgpr) || ...))
    __builtin_memcpy(&wave->scalar[kScalarLiteral], &op->literal, 8);

  constexpr bool in_halves =
      !kHasMaskRegisters && is_register_pair<Result> &&
      has_only_pairs<typename BodyShape::Args, kinds...>(std::make_index_sequence<BodyShape::arity>());
  const PlacesOfWave32<in_halves> places(op, wave);
  uint32_t exec = wave->scalar[kScalarExec];
  if constexpr (generic) {
    if (op->flags & kDppMask) exec = static_cast<uint32_t>(wave->dpp_write_mask);
  }
  Mode mode = float_mode<Mode>(wave);
  I32 low_doubt(0), high_doubt(0);
  const auto result_of = [&](unsigned chunk, I32& doubt) __attribute__((always_inline)) {
    if constexpr (quick) mode.doubt = &doubt;
    auto result = evaluate<Body, Mode, false, kinds...>(op, wave, places, chunk, mode);
    if constexpr (generic && has_mask)
      result.value = output_modifiers<Body>(result.value, op, mode);
    else if constexpr (generic && !std::is_same_v<Result, Mask>)
      result = output_modifiers<Body>(result, op, mode);
    return result;
  };
  const auto low = result_of(0, low_doubt), high = result_of(1, high_doubt);
  if constexpr (std::is_same_v<Result, Mask>) {
    scalar_at(wave, op->dst) = bits_of_both(low, high) & exec;
  } else {
    const auto write_both = [&](auto low_lanes, auto high_lanes) __attribute__((always_inline)) {
      if constexpr (has_mask) {
        write(op, places, 0, low_lanes, low.value);
        write(op, places, 1, high_lanes, high.value);
        // Compilers' products of 64 bits have no use for the carry, which takes as long as the rest.
        if (!is_register_pair<decltype(low.value)> || op->dst2 != kScalarDiscard * 4)
          scalar_at(wave, op->dst2) = bits_of_both(low.mask, high.mask) & exec;
      } else {
        write(op, places, 0, low_lanes, low);
        write(op, places, 1, high_lanes, high);
      }
    };
    const bool all = exec == ~0u;
    if constexpr (quick) {
      constexpr auto kLanes = std::make_index_sequence<kLanesPerChunk>();
      const bool doubtful = __builtin_expect(all, true)
                                ? any(mask_of(low_doubt | high_doubt))
                                : any_on(in_order_of_lanes<in_halves>(low_doubt, kLanes),
                                         in_order_of_lanes<in_halves>(high_doubt, kLanes), exec);
      if (__builtin_expect(doubtful, false)) {
        wave->resume_chunk = 0;
        [[clang::musttail]] return valu<Body, DefaultFloatMode, false, true, Kind::any, Kind::any, Kind::any>(
            op, wave, budget);
      }
    }
    if (__builtin_expect(all, true))
      write_both(AllLanes{}, AllLanes{});
    else
      write_both(SomeLanes<kHasMaskRegisters>(exec, 0), SomeLanes<kHasMaskRegisters>(exec, 1));
  }
  LOCKSTEP_NEXT();
}

// Results that OMOD or CLAMP may change, which depends on MODE even where the body does not.
template <class T>
constexpr bool is_float_result = is_float<T> || std::is_same_v<T, semantics::PairF16>;
template <class T>
constexpr bool is_float_result<WithMask<T>> = is_float<T>;

template <class T>
constexpr bool is_value_operand = is_one_register<T> || is_register_pair<T>;

// How many leading parameters are operands of one or two registers: the ones whose kind has plain variants.
template <class Args, size_t... i>
constexpr bool all_plain(std::index_sequence<i...>) {
  return ((is_value_operand<std::tuple_element_t<i, Args>> ||
           std::is_same_v<std::tuple_element_t<i, Args>, Mask> ||
           is_float_mode<std::tuple_element_t<i, Args>>) &&
          ...);
}

template <class Body>
void add_valu(HandlerTable& table, isa::Opcode opcode) {
  using S = Shape<Body, DefaultFloatMode>;
  constexpr Kind V = Kind::vgpr, C = Kind::scalar, A = Kind::any;
  ValuHandlers& entry = table.valu[static_cast<size_t>(opcode)];
  using D = DefaultFloatMode;
  entry.any = &valu<Body, D, false, false, A, A, A>;
  entry.takes_mode = TakesMode<Body, RuntimeFloatMode>;
  if constexpr (TakesMode<Body, RuntimeFloatMode> || is_float_result<typename S::Result>)
    entry.any_runtime_mode = &valu<Body, RuntimeFloatMode, false, false, A, A, A>;
  else
    entry.any_runtime_mode = entry.any;
  if constexpr (Saturates<Body>) entry.saturated = &valu<Body, D, true, false, A, A, A>;
  // Bodies of operands that plain variants have. What writes a mask as well would have to hand over the part
  // that it has.
  constexpr bool has_plain =
      all_plain<typename S::Args>(std::make_index_sequence<S::arity>{}) &&
      (std::is_same_v<typename S::Result, Mask> || is_value_operand<typename S::Result> ||
       requires(typename S::Result r) { r.mask; });
  using P = std::conditional_t<has_plain && TakesMode<Body, D> && is_value_operand<typename S::Result>,
                               DeferringFloatMode, D>;
  entry.any_of_wave32 = &valu_of_wave32<Body, P, A, A, A>;
  if constexpr (has_plain) {
    constexpr size_t operands = S::arity - (TakesMode<Body, D> ? 1 : 0);
    const auto add = [&]<Kind... kinds>(size_t scalars) {
      entry.plain[scalars] = &valu<Body, P, false, false, kinds...>;
      entry.plain_of_wave32[scalars] = &valu_of_wave32<Body, P, kinds...>;
    };
    add.template operator()<V, V, V>(0b000);
    if constexpr (operands >= 1) add.template operator()<C, V, V>(0b001);
    if constexpr (operands >= 2) add.template operator()<V, C, V>(0b010);
    if constexpr (operands >= 3 && contains<Mask>(static_cast<typename S::Args*>(nullptr))) {
      // A choice of two constants.
      add.template operator()<C, C, V>(0b011);
    } else if constexpr (operands >= 3) {
      add.template operator()<V, V, C>(0b100);
      // a * x + b.
      add.template operator()<C, V, C>(0b101);
      add.template operator()<V, C, C>(0b110);
    }
  }
}

}  // namespace
}  // namespace lockstep::interpreter
