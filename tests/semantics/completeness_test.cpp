// Every row of isa/ has a meaning: a body, an entry of the memory tables, the engine, or a stated reason why
// not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isa/row.h"
#include "semantics/cross_lane.h"
#include "semantics/dot_float.h"
#include "semantics/engine_handled.h"
#include "semantics/memory_shape.h"
#include "semantics/sop1.h"
#include "semantics/sop2.h"
#include "semantics/sopc.h"
#include "semantics/sopk.h"
#include "semantics/vector_alu.h"
#include "semantics/vop3p_float.h"
#include "semantics/vop3p_integer.h"
#include "semantics/wmma.h"

namespace lockstep::semantics {

// A body of each name, declared; whether it is defined too decides.
#define LOCKSTEP_OPCODE(mnemonic) struct mnemonic;
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE

namespace {

template <class Body>
concept Defined = requires { sizeof(Body); };

bool has_body(isa::Opcode opcode) {
  static constexpr bool kDefined[] = {
#define LOCKSTEP_OPCODE(mnemonic) Defined<mnemonic>,
#include "isa/opcodes.inc"
#undef LOCKSTEP_OPCODE
  };
  return kDefined[static_cast<unsigned>(opcode)];
}

TEST(Completeness, EveryRowHasExactlyOneMeaning) {
  std::vector<std::string> missing, twice;
  for (const isa::Row& row : isa::rows()) {
    const isa::Opcode opcode = row.base;  // a half of VOPD means what its base does
    // The shape of image atomics is known before images are.
    const bool in_tables =
        row.encoding != isa::Encoding::mimg && (isa::access_shape(opcode) || atomic_shape(opcode));
    const int meanings = has_body(opcode) + (find_engine_handled(opcode) != nullptr) + in_tables +
                         (find_unsupported(row) != nullptr);
    if (meanings == 0) missing.emplace_back(row.name);
    if (meanings > 1) twice.emplace_back(row.name);
  }
  EXPECT_EQ(missing, std::vector<std::string>{});
  EXPECT_EQ(twice, std::vector<std::string>{});
}

}  // namespace
}  // namespace lockstep::semantics
