// LDSDIR, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF, MIMG, EXP.
#include "isa/detail.h"

namespace lockstep::isa::detail {

void print_ldsdir(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_ds(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_flat(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_mubuf(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_mtbuf(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_mimg(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}
void print_exp(Writer& writer, const Instruction& instruction, unsigned) {
  writer.put(instruction.row->name);
}

}  // namespace lockstep::isa::detail
