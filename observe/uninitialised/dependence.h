// Which bits of an instruction's results depend on bits that have no value: it is executed on a wave of its
// own, several times, with other values for them. What comes out differently depends on them. So nothing is
// ever said to depend that does not, and every instruction is followed by what it does, not by a rule of its
// own.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/interpreter/interpreter.h"
#include "observe/uninitialised/shadow.h"

namespace lockstep::observe {

class Dependence {
 public:
  Dependence(unsigned wave_size, unsigned vgpr_count);
  ~Dependence();
  Dependence(const Dependence&) = delete;
  Dependence& operator=(const Dependence&) = delete;

  // Executes the instruction as `wave` would, and leaves the bits of what it writes in `shadow`. Not for
  // memory, nor for what changes the PC. False if it cannot be told; nothing is written then.
  bool follow(const Event& event, const isa::RegisterEffects& effects, WaveShadow& shadow);

 private:
  static constexpr size_t kCodeDwords = size_t{1} << 16;
  static constexpr unsigned kFillings = 8;
  // Of them, so many show all that depends, where bits go to other places and no more.
  static constexpr unsigned kOppositeFillings = 2;

  // Of a sum of f32 numbers one of which has no value, in any of the lanes that lack it, while the rest of
  // the sum is not great: whatever bit of the result is asked for, numbers can be found that differ in it.
  // False if it is another instruction, or may be otherwise; nothing is written then.
  bool follow_sum(const Event& event, const isa::RegisterEffects& effects, WaveShadow& shadow) const;
  // Where a copy of the instruction stands, with an end behind it; 0: there is no room any more.
  uint64_t place_of(const Event& event);
  // Those of a register's lanes; or of all of them.
  struct Values {
    const uint32_t* lanes = nullptr;
    uint32_t all = 0;
    uint32_t of(unsigned lane) const { return lanes ? lanes[lane] : all; }
  };
  // A register that the instruction uses: what is known of its lanes, and the bits that are not.
  struct Register {
    unsigned number = 0;
    bool is_open = false;     // whether there are such bits
    bool is_written = false;  // by the instruction
    Values partner;           // what the other operand has
    std::array<uint32_t, 64> known, open;
  };
  Values partner_of(const Event& event, const isa::RegisterUse& use, unsigned word) const;
  void prepare(const Event& event, const isa::RegisterUse& use, bool is_written, const WaveShadow& shadow);
  // Puts the registers into the wave of its own, and something into what has no value.
  void fill(const Event& event, const WaveShadow& shadow, unsigned filling);

  const unsigned wave_size_, vgpr_count_;
  std::unique_ptr<uint32_t, decltype(&std::free)> code_;  // of which few pages are ever touched
  size_t used_ = 0;
  std::unordered_map<const isa::Instruction*, uint64_t> places_;
  std::unique_ptr<interpreter::Interpreter> engine_;
  std::unique_ptr<std::byte, decltype(&std::free)> registers_;
  std::unique_ptr<Wave> wave_;
  std::vector<Register> registers_used_;  // by the instruction, in the order in which they are filled
  // Of what is written: the first results, and the bits that ever differ.
  std::vector<uint32_t> first_, differs_;
};

}  // namespace lockstep::observe
