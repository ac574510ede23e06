#include "engine/translator/operands.h"

#include "engine/translator/registers.h"
#include "state/wave.h"

namespace lockstep::translator {
namespace {

using isa::Type;
namespace code = isa::code;

bool is_64_bit(Type type) {
  return type == Type::b64 || type == Type::u64 || type == Type::i64 || type == Type::f64 ||
         type == Type::address;
}

// Inline constants have one home: the slots that state/ fills in every wave.
const Wave& constants() {
  static const Wave wave = [] {
    Wave result;
    initialise_wave(result, 32, nullptr);
    return result;
  }();
  return wave;
}

Source constant(uint64_t value) {
  return {.is_constant = true, .value = value};
}

uint64_t literal_for(uint32_t literal, Type type) {
  if (type == Type::f64) return uint64_t{literal} << 32;
  if (type == Type::i64) return static_cast<uint64_t>(int64_t{static_cast<int32_t>(literal)});
  return literal;
}

}  // namespace

std::optional<Source> source_of(const isa::Operand& operand, const isa::Instruction& instruction) {
  const unsigned number = operand.code;
  if (operand.is_literal()) return constant(literal_for(instruction.literal, operand.type));
  if (operand.role == isa::Role::simm) return constant(static_cast<uint64_t>(operand.value));
  if (operand.is_vgpr()) return Source{.first = operand.vgpr()};
  const bool wide = is_64_bit(operand.type);
  if (number == code::kNull) return constant(0);
  if (number < code::kInt0) return Source{.first = scalar_register(wide ? number & ~1u : number)};
  const bool is_integer = number <= code::kIntNegativeLast;
  const bool is_float = number >= code::kFloatHalf && number <= code::kInverseTwoPi;
  const bool is_aperture = number >= code::kSharedBase && number <= code::kPrivateLimit;
  if (number == code::kScc && !wide) return Source{.first = kScc};
  if (!is_integer && !is_float && !is_aperture) return std::nullopt;
  const Wave& wave = constants();
  if (wide) {
    if (is_integer) return constant(wave.scalar64(kScalarWideInteger + 2 * (number - code::kInt0)));
    if (is_aperture) return constant(wave.scalar64(kScalarAperture + 2 * (number - code::kSharedBase)));
    return constant(wave.scalar64(kScalarDouble + 2 * (number - code::kFloatHalf)));
  }
  if (is_float && (operand.type == Type::f16 || operand.type == Type::pk_f16))
    return constant(wave.scalar[kScalarHalf + number - code::kFloatHalf]);
  return constant(wave.scalar[number]);
}

bool is_trap_temporary(const isa::Operand& operand) {
  return operand.code >= code::kTtmp0 && operand.code < code::kNull;
}

std::optional<unsigned> scalar_destination(const isa::Operand& operand) {
  if (is_trap_temporary(operand) || operand.code == code::kNull) return std::nullopt;
  return scalar_register(operand.code);
}

}  // namespace lockstep::translator
