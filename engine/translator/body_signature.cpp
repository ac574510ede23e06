#include "engine/translator/body_signature.h"

#include "engine/translator/body_abi.h"
#include "engine/translator/body_headers.h"

namespace lockstep::translator {
namespace {

constexpr size_t kOpcodes = static_cast<size_t>(isa::Opcode::count);

struct Tables {
  std::array<VectorSignature, kOpcodes> vector;
  std::array<ScalarSignature, kOpcodes> scalar;
};

template <class T>
constexpr ScalarSignature::Parameter scalar_parameter() {
  if constexpr (std::is_same_v<T, bool>)
    return ScalarSignature::Parameter::scc;
  else if constexpr (std::is_integral_v<T>)
    return sizeof(T) == 8 ? ScalarSignature::Parameter::pair : ScalarSignature::Parameter::word;
  else
    return ScalarSignature::Parameter::none;
}

template <class R, class... A>
constexpr ScalarSignature scalar_signature_of(R (*)(A...)) {
  ScalarSignature signature;
  signature.callable = true;
  ((signature.parameters[signature.count++] = scalar_parameter<A>()), ...);
  if constexpr (requires(R r) { r.value; })
    signature.result = scalar_parameter<decltype(R::value)>();
  else
    signature.result = scalar_parameter<R>();
  signature.writes_exec = requires(R r) { r.exec; };
  if constexpr (requires(R r) { r.exec; }) signature.exec_is_pair = sizeof(R::exec) == 8;
  signature.writes_scc = requires(R r) { r.scc; };
  return signature;
}

template <class R, class... A>
constexpr VectorSignature vector_signature_of(R (*)(A...)) {
  VectorSignature signature;
  signature.callable = true;
  ((signature.parameters[signature.count++] = operand_of<A>()), ...);
  signature.takes_mode = (std::is_same_v<A, DeferringFloatMode> || ...);
  signature.has_mask = std::is_same_v<R, Mask> || has_mask<R>;
  if constexpr (!std::is_same_v<R, Mask>) {
    using Value = typename ValueOf<R>::Type;
    signature.result = operand_of<Value>();
    // Two halves are passed as two words, but come back as one register.
    signature.result.words = result_words<Value>();
  }
  return signature;
}

template <class Body>
void add(Tables& tables, isa::Opcode opcode) {
  const size_t index = static_cast<size_t>(opcode);
  if constexpr (is_vector_body<Body>) {
    tables.vector[index] = vector_signature_of(eval_of<Body>());
    tables.vector[index].saturates = Saturates<Body>;
    tables.vector[index].flushes_always = semantics::flushes_always<Body>;
  } else if constexpr (is_scalar_body<Body>) {
    tables.scalar[index] = scalar_signature_of(&Body::eval);
  }
}

const Tables& tables() {
  static const Tables all = [] {
    Tables result;
#define LOCKSTEP_OPCODE(mnemonic)                         \
  if constexpr (semantics::has_body<semantics::mnemonic>) \
    add<semantics::mnemonic>(result, isa::Opcode::mnemonic);
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
    return result;
  }();
  return all;
}

}  // namespace

const VectorSignature& vector_signature(isa::Opcode opcode) {
  return tables().vector[static_cast<size_t>(opcode)];
}
const ScalarSignature& scalar_signature(isa::Opcode opcode) {
  return tables().scalar[static_cast<size_t>(opcode)];
}

}  // namespace lockstep::translator
