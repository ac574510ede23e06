// Names of instructions and encodings, and the search by name.
#include <cstddef>
#include <iterator>

#include "isa/row.h"

namespace lockstep::isa {
namespace {

constexpr std::string_view kOpcodeNames[] = {
#define LOCKSTEP_OPCODE(mnemonic) #mnemonic,
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
};
static_assert(std::size(kOpcodeNames) == static_cast<size_t>(Opcode::count));

constexpr std::string_view kEncodingNames[] = {"SOP2",    "SOPK",    "SOP1",   "SOPC", "SOPP",   "SMEM",
                                               "VOP1",    "VOP2",    "VOPC",   "VOP3", "VOP3SD", "VOP3P",
                                               "VOPD",    "VINTERP", "LDSDIR", "DS",   "FLAT",   "GLOBAL",
                                               "SCRATCH", "MUBUF",   "MTBUF",  "MIMG", "EXP"};
static_assert(std::size(kEncodingNames) == static_cast<size_t>(Encoding::exp) + 1);

}  // namespace

std::string_view name(Opcode opcode) {
  const size_t index = static_cast<size_t>(opcode);
  return index < std::size(kOpcodeNames) ? kOpcodeNames[index] : std::string_view();
}

std::string_view name(Encoding encoding) {
  const size_t index = static_cast<size_t>(encoding);
  return index < std::size(kEncodingNames) ? kEncodingNames[index] : std::string_view();
}

const Row* find_row(std::string_view name) {
  for (size_t i = 0; i < std::size(kOpcodeNames); ++i)
    if (kOpcodeNames[i] == name) return find_row(static_cast<Opcode>(i));
  return nullptr;
}

}  // namespace lockstep::isa
