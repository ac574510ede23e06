// Pairs of vector ALU operations that compilers put one behind the other, each pair in one handler. What the
// first one computes for the second stays in the host's registers: the way through memory takes it three
// times as long as the arithmetic, which is what programs wait for whose instructions need each other's
// results. Of wave32, all lanes on, without need for exact arithmetic; all else is left to the first one's
// own handler, before anything is written.
#include <bit>

#include "engine/interpreter/common.h"
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"
#include "semantics/vop2_float.h"
#include "semantics/vop2_integer.h"
#include "semantics/vop3_float.h"
#include "semantics/vop3_integer.h"
#include "semantics/vopc.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

// An operation as the handlers of plain_of_wave32 know it.
template <class Body_, Opcode opcode_, Kind... kinds>
struct Part {
  using Body = Body_;
  static constexpr bool compares = std::is_same_v<typename Shape<Body, DefaultFloatMode>::Result, Mask>;
  using Mode = std::conditional_t<TakesMode<Body, DefaultFloatMode> && !compares, DeferringFloatMode,
                                  DefaultFloatMode>;
  static constexpr Opcode opcode = opcode_;
  static constexpr unsigned arity = sizeof...(kinds);
  static constexpr unsigned scalars = [] {
    unsigned bits = 0, i = 0;
    ((bits |= (kinds == Kind::scalar ? 1u : 0u) << i++), ...);
    return bits;
  }();
  static constexpr unsigned vgprs = ((1u << arity) - 1) & ~scalars;

  template <class From>
  static LOCKSTEP_INLINE auto evaluate(const Operation* op, Wave* wave, const From& from, unsigned chunk,
                                       I32& doubt) {
    Mode mode{};
    if constexpr (std::is_same_v<Mode, DeferringFloatMode>) mode.doubt = &doubt;
    const auto result = interpreter::evaluate<Body, Mode, false, kinds...>(op, wave, from, chunk, mode);
    if constexpr (compares)
      return result;
    else
      return bits_as<U32>(result);
  }
  // Not inlined into every pair.
  [[gnu::noinline]] static void alone(const Operation* op, Wave* wave, int64_t budget) {
    [[clang::musttail]] return valu_of_wave32<Body, Mode, kinds...>(op, wave, budget);
  }
  static Handler registered(const HandlerTable& table) {
    return table.valu[static_cast<size_t>(opcode)].plain_of_wave32[scalars];
  }
};

template <unsigned forwarded_>
struct PlacesOfSecond : PlacesOfWave32<false> {
  static constexpr unsigned forwarded = forwarded_;
  U32 forwarded_value[2];
  LOCKSTEP_INLINE PlacesOfSecond(const Operation* op, Wave* wave, U32 low, U32 high)
      : PlacesOfWave32<false>(op, wave), forwarded_value{low, high} {}
};

template <class First, class Second, unsigned forwarded>
void valu_pair(const Operation* op, Wave* wave, int64_t budget) {
  if (wave->scalar[kScalarExec] != ~0u) [[clang::musttail]]
    return First::alone(op, wave, budget);
  const Operation* const second = next_of(op);
  I32 low_doubt(0), high_doubt(0);
  if constexpr (First::scalars != 0) copy_literal(op, wave);
  const PlacesOfWave32<false> places(op, wave);
  const U32 low = First::evaluate(op, wave, places, 0, low_doubt),
            high = First::evaluate(op, wave, places, 1, high_doubt);
  if constexpr (Second::scalars != 0) copy_literal(second, wave);
  const PlacesOfSecond<forwarded> places_of_second(second, wave, low, high);
  const auto second_low = Second::evaluate(second, wave, places_of_second, 0, low_doubt),
             second_high = Second::evaluate(second, wave, places_of_second, 1, high_doubt);
  if (__builtin_expect(any(mask_of(low_doubt | high_doubt)), false)) [[clang::musttail]]
    return First::alone(op, wave, budget);
  // Its accumulator is what the second one writes.
  if constexpr (!(Second::opcode == Opcode::v_fmac_f32 && forwarded == 0b100)) {
    *register_chunk(places, places.destination(), 0) = low;
    *register_chunk(places, places.destination(), 1) = high;
  }
  if constexpr (Second::compares) {
    scalar_at(wave, second->dst) = bits_of_both(second_low, second_high);
  } else {
    *register_chunk(places_of_second, places_of_second.destination(), 0) = second_low;
    *register_chunk(places_of_second, places_of_second.destination(), 1) = second_high;
  }
  budget -= op->cost;
  op = second;
  LOCKSTEP_NEXT();
}

// With every set of the second one's VGPRs that the first one may have written.
template <class First, class Second, unsigned forwarded = 0>
void add_pairs(HandlerTable& table) {
  if constexpr (forwarded < 1u << Second::arity) {
    if constexpr (!(forwarded & ~Second::vgprs) && (forwarded != 0 || !Second::compares) &&
                  std::popcount(forwarded) <= (Second::arity == 2 && !Second::compares ? 2 : 1))
      table.pairs.add(First::registered(table), Second::registered(table), Second::vgprs, forwarded,
                      &valu_pair<First, Second, forwarded>);
    add_pairs<First, Second, forwarded + 1>(table);
  }
}

template <class... Parts>
struct PartList {
  template <class First>
  static void add_as_seconds(HandlerTable& table) {
    (add_pairs<First, Parts>(table), ...);
  }
  template <class Seconds>
  static void add_as_firsts(HandlerTable& table) {
    (Seconds::template add_as_seconds<Parts>(table), ...);
  }
};

constexpr Kind V = Kind::vgpr, C = Kind::scalar;
#define LOCKSTEP_PART(mnemonic, ...) Part<semantics::mnemonic, Opcode::mnemonic, __VA_ARGS__>
#define LOCKSTEP_PARTS(mnemonic) LOCKSTEP_PART(mnemonic, V, V), LOCKSTEP_PART(mnemonic, C, V)
using FloatParts = PartList<LOCKSTEP_PARTS(v_add_f32), LOCKSTEP_PARTS(v_sub_f32), LOCKSTEP_PARTS(v_mul_f32),
                            LOCKSTEP_PART(v_fmac_f32, V, V, V), LOCKSTEP_PART(v_fma_f32, V, V, V)>;
using CompareParts =
    PartList<LOCKSTEP_PARTS(v_cmp_lt_f32), LOCKSTEP_PARTS(v_cmp_gt_f32), LOCKSTEP_PARTS(v_cmp_le_f32),
             LOCKSTEP_PARTS(v_cmp_ge_f32), LOCKSTEP_PARTS(v_cmp_nlt_f32), LOCKSTEP_PARTS(v_cmp_ngt_f32)>;
#undef LOCKSTEP_PARTS
#undef LOCKSTEP_PART

// A sum of 64 bits, as addresses are: the carry that the first one leaves is overwritten by the second one.
// By the kinds of both first sources.
template <Kind first, Kind second>
void add_of_two_words(const Operation* op, Wave* wave, int64_t budget) {
  const Operation* const behind = next_of(op);
  if (wave->scalar[kScalarExec] != ~0u) [[clang::musttail]]
    return valu_of_wave32<semantics::v_add_co_u32, DefaultFloatMode, first, Kind::vgpr>(op, wave, budget);
  WithMask<U32> low[2], high[2];
  if constexpr (first == Kind::scalar) copy_literal(op, wave);
  const PlacesOfWave32<false> places(op, wave);
  for (unsigned chunk = 0; chunk < 2; ++chunk)
    low[chunk] = semantics::v_add_co_u32::eval(fetch<U32, first, false>(op, wave, places, 0, chunk),
                                               fetch<U32, Kind::vgpr, false>(op, wave, places, 1, chunk));
  if constexpr (second == Kind::scalar) copy_literal(behind, wave);
  const PlacesOfWave32<false> places_behind(behind, wave);
  for (unsigned chunk = 0; chunk < 2; ++chunk)
    high[chunk] = semantics::v_add_co_ci_u32::eval(
        fetch<U32, second, false>(behind, wave, places_behind, 0, chunk),
        fetch<U32, Kind::vgpr, false>(behind, wave, places_behind, 1, chunk), low[chunk].mask);
  for (unsigned chunk = 0; chunk < 2; ++chunk) {
    *register_chunk(places, places.destination(), chunk) = low[chunk].value;
    *register_chunk(places_behind, places_behind.destination(), chunk) = high[chunk].value;
  }
  scalar_at(wave, behind->dst2) = bits_of_both(high[0].mask, high[1].mask);
  budget -= op->cost;
  op = behind;
  LOCKSTEP_NEXT();
}

template <Kind first, Kind second>
void add_sums(HandlerTable& table) {
  const auto handler = [&](Opcode opcode, Kind kind) {
    return table.valu[static_cast<size_t>(opcode)].plain_of_wave32[kind == Kind::scalar];
  };
  table.pairs.add_with_carry(handler(Opcode::v_add_co_u32, first), handler(Opcode::v_add_co_ci_u32, second),
                             second == Kind::scalar ? 0b010 : 0b011, &add_of_two_words<first, second>);
}

}  // namespace

void LOCKSTEP_REGISTER(pairs)(HandlerTable& table) {
  FloatParts::add_as_firsts<FloatParts>(table);
  FloatParts::add_as_firsts<CompareParts>(table);
  add_sums<V, V>(table);
  add_sums<V, C>(table);
  add_sums<C, V>(table);
  add_sums<C, C>(table);
}

}  // namespace lockstep::interpreter
