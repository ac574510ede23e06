// Where results of interest went: which registers, LDS and memory hold values that depend on them.
//
// Approximations, all of which err on the side of reporting too much, but the last:
// - A VGPR is one piece, whatever the lane; LDS, GDS and memory are followed in lines of 64 bytes, scratch as
//   one piece a wave.
// - Memory and LDS stay marked when they are overwritten.
// - What depends on a branch alone (values that are computed only if it is taken, lanes that EXEC turns off)
//   is not followed. The branch is reported.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "engine/listener.h"
#include "isa/effects.h"

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

  // Nothing in them comes from anywhere yet.
  void begin(const Wave& wave) { registers_[&wave] = {}; }
  void begin(const WorkGroup& group) { lds_[&group] = {}; }
  // Follows an instruction that is about to be executed. `own` are the sources that its own result is one
  // of; for VOPD, those of the X and of the Y half.
  Use follow(const Event& event, Sources own, Sources own_y);

 private:
  static constexpr unsigned kScalars = 128;  // SGPRs, VCC, M0, EXEC under their operand codes
  struct Registers {
    std::array<Sources, kMaxVgprs> vgpr{};
    std::array<Sources, kScalars> scalar{};
    Sources scc = 0, scratch = 0;

    Sources* at(unsigned number);  // null: a constant
    Sources read(const isa::RegisterUse& use);
    void write(const isa::RegisterUse& use, bool partly, Sources sources);
  };
  struct Lines {
    std::unordered_map<uint64_t, Sources> lines;
    Sources all = 0;  // of every line
    Sources read(uint64_t address, uint64_t bytes) const;
    void write(uint64_t address, uint64_t bytes, Sources sources);
  };

  // Where an access goes; of scratch the wave's one piece.
  Sources read(const Event& event, Registers& registers, const MemoryAccess& access);
  void write(const Event& event, Registers& registers, const MemoryAccess& access, Sources sources);
  Use follow_memory(const Event& event, Registers& registers, Sources own);
  Use follow_computation(const Event& event, Registers& registers, Sources own, Sources own_y);

  // A wave's storage serves many waves, one after the other.
  std::unordered_map<const Wave*, Registers> registers_;
  std::unordered_map<const WorkGroup*, Lines> lds_;
  Lines memory_, gds_;
};

}  // namespace lockstep::observe
