#include "engine/precise/m0_rules.h"

#include "text/hex.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

// Bits of M0 that must be zero, and why.
struct Reserved {
  uint32_t bits;
  const char* what;
};

std::string first_broken(const Step& step, std::initializer_list<Reserved> list) {
  const uint32_t m0 = step.wave.scalar[isa::code::kM0];
  for (const Reserved& reserved : list)
    if (m0 & reserved.bits)
      return std::string(step.instruction.row->name) + " with M0 = " + hex(m0) + ": " + reserved.what;
  return {};
}

}  // namespace

bool has_m0_rule(isa::Opcode opcode) {
  switch (opcode) {
    case Opcode::lds_param_load:
    case Opcode::lds_direct_load:
    case Opcode::ds_load_addtid_b32:
    case Opcode::ds_store_addtid_b32:
      return true;
    default:
      return false;
  }
}

std::string broken_m0_rule(const Step& step) {
  switch (step.instruction.row->opcode) {
    case Opcode::lds_param_load: {
      // New primitives are told of for quads 1 to 7 in wave32, to 15 in wave64: bit 16 is quad 1's.
      const Reserved no_quads =
          step.wave.wave_size == 32
              ? Reserved{0xff800000u,
                         "bits 31:23 must be zero in a wave of 32 (guide 3.4.3, table 7), whose "
                         "new_prim_mask "
                         "has 7 bits, of quads 1 to 7"}
              : Reserved{0x80000000u,
                         "bit 31 must be zero (guide 3.4.3, table 7): new_prim_mask has 15 bits"};
      return first_broken(
          step,
          {{0x7f, "bits 6:0 must be zero (guide 12.2.1): the parameters begin at a multiple of 128 bytes"},
           no_quads});
    }
    case Opcode::lds_direct_load:
      return first_broken(step,
                          {{0x3, "bits 1:0 must be zero (guide 12.4): the address in LDS is that of a dword"},
                           {0xfff80000u, "bits 31:19 must be zero (guide 3.4.3, table 7)"}});
    case Opcode::ds_load_addtid_b32:
    case Opcode::ds_store_addtid_b32:
      return first_broken(
          step, {{0x3, "bits 1:0 must be zero (guide 12.5): the offset must be dword-aligned"},
                 {0xffff0000u, "bits 31:16 must be zero (guide 3.4.3, table 7): the offset has 16 bits"}});
    default:
      return {};
  }
}

}  // namespace lockstep::precise
