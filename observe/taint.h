// Where results of interest went: which registers, LDS and memory hold values that depend on them.
//
// Approximations, all of which err on the side of reporting too much, but the last:
// - A VGPR is one piece, whatever the lane; LDS and memory are followed in lines of 64 bytes, scratch as one
//   piece a wave, accesses whose addresses are not plain (M0 bases, parameter loads) as the whole LDS.
// - Memory and LDS stay marked when they are overwritten.
// - What depends on a branch alone (values that are computed only if it is taken, lanes that EXEC turns off)
//   is not followed. The branch is reported.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "isa/instruction.h"
#include "state/wave.h"

namespace lockstep::observe {

// A bit for each source of interest.
using Sources = uint64_t;

class Taint {
 public:
  // What an instruction took up, by use.
  struct Use {
    Sources address = 0;  // of a memory access, resource and offset included
    Sources branch = 0;   // a condition, an EXEC mask, a target
    Sources memory = 0;   // stored to global memory
  };

  // Follows an instruction that is about to be executed. `own` are the sources that its own result is one
  // of; for VOPD, those of the X and of the Y half.
  Use follow(const Wave& wave, const isa::Instruction& instruction, Sources own, Sources own_y);

 private:
  static constexpr unsigned kScalars = 128;  // SGPRs, VCC, M0, EXEC under their operand codes
  struct Registers {
    uint64_t group = ~uint64_t{0};  // number of the wave's work-group
    std::array<Sources, kMaxVgprs> vgpr;
    std::array<Sources, kScalars> scalar;
    Sources scc, scratch;
  };
  struct Lines {
    std::unordered_map<uint64_t, Sources> lines;
    Sources all = 0;         // of every line
    Sources everywhere = 0;  // stored at an address that is not known
    Sources read(uint64_t address, uint64_t bytes) const;
    void write(uint64_t address, uint64_t bytes, Sources sources);
  };
  struct Lds : Lines {
    uint64_t group = ~uint64_t{0};
  };

  Registers& registers_of(const Wave& wave);
  Lds& lds_of(const Wave& wave);
  Sources read(const Registers& registers, const isa::Operand& operand, unsigned shift) const;
  void write(Registers& registers, const isa::Operand& operand, unsigned shift, bool partly, Sources sources);
  Use follow_memory(const Wave& wave, Registers& registers, const isa::Instruction& instruction, Sources own);
  Use follow_computation(const Wave& wave, Registers& registers, const isa::Instruction& instruction,
                         Sources own, Sources own_y);

  // A wave's storage serves many waves, one after the other.
  std::unordered_map<const Wave*, Registers> registers_;
  std::unordered_map<const WorkGroup*, Lds> lds_;
  Lines memory_;
};

}  // namespace lockstep::observe
