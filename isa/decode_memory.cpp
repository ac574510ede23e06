// LDSDIR, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.
#include "isa/detail.h"

namespace lockstep::isa::detail {

DecodeError decode_ldsdir(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_ds(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_flat(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_mubuf(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_mtbuf(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_mimg(DecodeContext&) {
  return DecodeError::unknown_opcode;
}
DecodeError decode_exp(DecodeContext&) {
  return DecodeError::unknown_opcode;
}

}  // namespace lockstep::isa::detail
