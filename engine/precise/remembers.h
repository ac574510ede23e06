// What a unit that looks after rules keeps from one instruction of a wave to the next, apart from those it
// works with: so that it can be compared with what another wave's unit keeps, and taken over.
#pragma once

namespace lockstep::precise {

template <class State>
class Remembers : protected State {
 public:
  const State& state() const { return *this; }
  void go_on_from(const State& state) { static_cast<State&>(*this) = state; }

 protected:
  Remembers() = default;
  ~Remembers() = default;
};

}  // namespace lockstep::precise
