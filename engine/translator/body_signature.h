// What a body of semantics/ takes and returns, as far as the translator must know.
#pragma once

#include <array>
#include <cstdint>

#include "isa/row.h"

namespace lockstep::translator {

struct Operand {
  enum class Kind : uint8_t {
    none,
    word,          // one register
    pair,          // 64 bits in two registers
    half,          // 16 bits: the half that the encoding selects, in the low half of a word
    two_halves,    // a VOP3P source: low and high half, each in the low half of a word
    words,         // a group of registers
    mix,           // a source of v_fma_mix*, widened
    mask,          // one bit a lane
    lane_numbers,  // numbers of the lanes within the wave
    sign_bits,     // NEG of src0 and src1
    mode,
  };
  Kind kind = Kind::none;
  uint8_t words = 0;  // registers that stand for it in a call
  bool is_float = false;
};

struct VectorSignature {
  bool callable = false;
  bool saturates = false;   // has a second function for integer CLAMP
  bool takes_mode = false;  // can cast doubt on lanes
  bool has_mask = false;
  bool flushes_always = false;  // denormals of the result, whatever MODE says
  uint8_t count = 0;
  std::array<Operand, 8> parameters;
  Operand result;  // Kind::none if the mask is all
};

struct ScalarSignature {
  enum class Parameter : uint8_t { none, word, pair, scc };
  bool callable = false;
  uint8_t count = 0;
  std::array<Parameter, 3> parameters{};
  Parameter result = Parameter::none;
  bool writes_exec = false;  // and takes EXEC as its second parameter
  bool exec_is_pair = false;
  bool writes_scc = false;
};

const VectorSignature& vector_signature(isa::Opcode opcode);
const ScalarSignature& scalar_signature(isa::Opcode opcode);

}  // namespace lockstep::translator
