// EXEC, and other masks of lanes, compared with the lanes that are on at one place of the code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/translator/effects.h"

namespace lockstep::translator {

class LaneFollower {
 public:
  // What is known of 32 bits of a mask of lanes. Of wave64 there are two halves that it is compared with.
  using Known = uint8_t;
  struct State {
    std::array<Known, kRegisters - kFirstScalar> registers{};
    bool reached = false;

    Known& at(unsigned number) { return registers[number - kFirstScalar]; }
    Known at(unsigned number) const { return registers[number - kFirstScalar]; }
    // What both know; whether that is less than before.
    bool join(const State& other);
  };

  explicit LaneFollower(unsigned wave_size) : words_(wave_size / 32) {}

  // Where EXEC has the lanes that masks are compared with.
  State at_begin() const;
  // Whether these are on, and no others.
  bool all_on(const State& state) const;
  // Whether no others are.
  bool is_inside(const State& state) const;
  void step(const Node& node, const Effects& effects, State& state) const;

 private:
  void complete(State& state) const;
  void set_exec(unsigned word, Known value, const State& before, std::optional<unsigned> also,
                State& state) const;
  void step_compare(const Node& node, const Effects& effects, const State& before, State& state) const;
  void step_scalar(const isa::Instruction& instruction, const State& before, State& state) const;
  void lose_exec(const isa::Instruction& instruction, const State& before, State& state) const;
  bool writes_exec(const Effects& effects) const { return translator::writes_exec(effects, 32 * words_); }

  const unsigned words_;
};

}  // namespace lockstep::translator
