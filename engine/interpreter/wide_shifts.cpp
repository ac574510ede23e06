// Shifts of 64 bits by a scalar, as addresses of elements are computed, over vop3.cpp's handlers: where the
// count is one for all lanes, the words of a pair need not be put together in the host's registers.
#include "engine/interpreter/common.h"
#include "engine/interpreter/registration.h"
#include "engine/interpreter/valu.h"

namespace lockstep::interpreter {
namespace {

using isa::Opcode;

struct WordPair {
  U32 low, high;
};

// Counts are below 64. What comes over from the other word is shifted in two steps, since by 32 is none.
LOCKSTEP_INLINE WordPair shifted(std::integral_constant<Opcode, Opcode::v_lshlrev_b64>, WordPair value,
                                 uint32_t count) {
  if (count >= 32) return {U32(0u), value.low << (count - 32)};
  return {value.low << count, value.high << count | value.low >> 1 >> (31 - count)};
}
LOCKSTEP_INLINE WordPair shifted(std::integral_constant<Opcode, Opcode::v_lshrrev_b64>, WordPair value,
                                 uint32_t count) {
  if (count >= 32) return {value.high >> (count - 32), U32(0u)};
  return {value.low >> count | value.high << 1 << (31 - count), value.high >> count};
}
LOCKSTEP_INLINE WordPair shifted(std::integral_constant<Opcode, Opcode::v_ashrrev_i64>, WordPair value,
                                 uint32_t count) {
  const I32 high = bits_as<I32>(value.high);
  const auto signed_count = static_cast<int32_t>(count);
  if (count >= 32) return {bits_as<U32>(high >> (signed_count - 32)), bits_as<U32>(high >> 31)};
  return {value.low >> count | value.high << 1 << (31 - count), bits_as<U32>(high >> signed_count)};
}

template <Opcode opcode>
void shift_by_scalar_of_wave32(const Operation* op, Wave* wave, int64_t budget) {
  copy_literal(op, wave);
  const PlacesOfWave32<false> places(op, wave);
  const uint32_t count = scalar_at(wave, places.source(0)) & 63;
  const auto word = [&](uint32_t byte_offset, unsigned number, unsigned chunk)
                        __attribute__((always_inline)) -> U32& {
    return *register_chunk(places, byte_offset + number * places.register_bytes(), chunk);
  };
  const auto result_of = [&](unsigned chunk) __attribute__((always_inline)) {
    return shifted(std::integral_constant<Opcode, opcode>(),
                   {word(places.source(1), 0, chunk), word(places.source(1), 1, chunk)}, count);
  };
  const WordPair results[2] = {result_of(0), result_of(1)};
  const auto write_both = [&](auto low_lanes, auto high_lanes) __attribute__((always_inline)) {
    merge(&word(places.destination(), 0, 0), results[0].low, low_lanes);
    merge(&word(places.destination(), 0, 1), results[1].low, high_lanes);
    merge(&word(places.destination(), 1, 0), results[0].high, low_lanes);
    merge(&word(places.destination(), 1, 1), results[1].high, high_lanes);
  };
  const uint32_t exec = wave->scalar[kScalarExec];
  if (__builtin_expect(exec == ~0u, true))
    write_both(AllLanes{}, AllLanes{});
  else
    write_both(SomeLanes<kHasMaskRegisters>(exec, 0), SomeLanes<kHasMaskRegisters>(exec, 1));
  LOCKSTEP_NEXT();
}

}  // namespace

void LOCKSTEP_REGISTER(wide_shifts)(HandlerTable& table) {
  const auto set = [&](Opcode opcode, Handler handler) {
    table.valu[static_cast<size_t>(opcode)].plain_of_wave32[0b001] = handler;
  };
  set(Opcode::v_lshlrev_b64, &shift_by_scalar_of_wave32<Opcode::v_lshlrev_b64>);
  set(Opcode::v_lshrrev_b64, &shift_by_scalar_of_wave32<Opcode::v_lshrrev_b64>);
  set(Opcode::v_ashrrev_i64, &shift_by_scalar_of_wave32<Opcode::v_ashrrev_i64>);
}

}  // namespace lockstep::interpreter
