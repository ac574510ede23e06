// Scalar ALU: SOP1, SOP2, SOPC and the arithmetic of SOPK, from the bodies of semantics/.
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/interpreter/registration.h"
#include "semantics/missing.h"
#include "semantics/sop1.h"
#include "semantics/sop2.h"
#include "semantics/sopc.h"
#include "semantics/sopk.h"

namespace lockstep::interpreter {
namespace {

template <class R, class... A>
auto arguments_of(R (*)(A...)) -> std::tuple<A...>;
template <class R, class... A>
auto result_of(R (*)(A...)) -> R;

template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
constexpr bool is_exec_result = requires(T r) { r.exec; };

template <class T>
LOCKSTEP_INLINE T source(const Operation* op, Wave* wave, unsigned i) {
  if constexpr (std::is_same_v<T, bool>)
    return wave->scc() != 0;
  else if constexpr (sizeof(T) == 8)
    return static_cast<T>(scalar_at(wave, op->source[i]) | uint64_t{scalar_at(wave, op->source[i] + 4)}
                                                               << 32);
  else
    return static_cast<T>(scalar_at(wave, op->source[i]));
}

// Exec-writing bodies take (source, EXEC): the second parameter is not an operand.
template <class Body, size_t i, class T>
LOCKSTEP_INLINE T parameter(const Operation* op, Wave* wave) {
  using Result = decltype(result_of(&Body::eval));
  if constexpr (is_exec_result<Result> && i == 1)
    return static_cast<T>(wave->scalar64(126));
  else
    return source<T>(op, wave, i);
}

template <class T>
LOCKSTEP_INLINE void write_value(const Operation* op, Wave* wave, T value) {
  scalar_at(wave, op->dst) = static_cast<uint32_t>(value);
  if constexpr (sizeof(T) == 8)
    scalar_at(wave, op->dst + 4) = static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32);
}

template <class Body, bool literal>
void scalar(const Operation* op, Wave* wave, int64_t budget) {
  if constexpr (literal) __builtin_memcpy(&wave->scalar[kScalarLiteral], &op->literal, 8);
  using Args = decltype(arguments_of(&Body::eval));
  auto result = [&]<size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    return Body::eval(parameter<Body, i, std::tuple_element_t<i, Args>>(op, wave)...);
  }(std::make_index_sequence<std::tuple_size_v<Args>>{});
  using Result = decltype(result);
  if constexpr (requires { result.value; })
    write_value(op, wave, result.value);
  else if constexpr (is_integer<Result>)
    write_value(op, wave, result);
  if constexpr (is_exec_result<Result>) {
    wave->scalar[kScalarExec] = static_cast<uint32_t>(result.exec);
    if constexpr (sizeof(result.exec) == 8)
      wave->scalar[kScalarExec + 1] = static_cast<uint32_t>(uint64_t{result.exec} >> 32);
  }
  if constexpr (is_exec_result<Result>)
    if (op->flags & kKeepsScc) LOCKSTEP_NEXT();
  if constexpr (requires { result.scc; }) wave->scc() = result.scc;
  LOCKSTEP_NEXT();
}

template <class Body>
void add_scalar(HandlerTable& table, isa::Opcode opcode) {
  table.other[static_cast<size_t>(opcode)] = &scalar<Body, false>;
  table.other_literal[static_cast<size_t>(opcode)] = &scalar<Body, true>;
}

}  // namespace

void LOCKSTEP_REGISTER(scalar)(HandlerTable& table) {
#define LOCKSTEP_OPCODE(mnemonic)                         \
  if constexpr (semantics::has_body<semantics::mnemonic>) \
    add_scalar<semantics::mnemonic>(table, isa::Opcode::mnemonic);
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
}

}  // namespace lockstep::interpreter
