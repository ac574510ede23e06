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

  // Where a copy of the instruction stands, with an end behind it; 0: there is no room any more.
  uint64_t place_of(const Event& event);
  // Fills what is read and has no value.
  void fill(const Event& event, const isa::RegisterEffects& effects, const WaveShadow& shadow,
            unsigned filling);
  void fill(const Event& event, const isa::RegisterUse& use, const WaveShadow& shadow, unsigned filling);
  uint32_t partner_value(const Event& event, const isa::RegisterUse& use, unsigned word, unsigned lane) const;

  const unsigned wave_size_, vgpr_count_;
  std::unique_ptr<uint32_t, decltype(&std::free)> code_;  // of which few pages are ever touched
  size_t used_ = 0;
  std::unordered_map<const isa::Instruction*, uint64_t> places_;
  std::unique_ptr<interpreter::Interpreter> engine_;
  std::unique_ptr<std::byte, decltype(&std::free)> registers_;
  std::unique_ptr<Wave> wave_;
  // Of what is written: the first results, those of another filling, and the bits that ever differ.
  std::vector<uint32_t> first_, other_, differs_;
};

}  // namespace lockstep::observe
