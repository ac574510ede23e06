// Sequences of random numbers as their authors define them, computed without any of rocRAND's or Lockstep's
// code.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace lockstep::rocrand {

// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Marsaglia's XORWOW (2003) with rocRAND's seeding. Subsequences are 2^67 numbers apart.
class Xorwow {
 public:
  explicit Xorwow(uint64_t seed);
  uint32_t next();
  // On by 2^67 numbers, by the transition matrix over GF(2).
  void skip_subsequence();

 private:
  std::array<uint32_t, 5> x_;
  uint32_t d_;
};

// The first dimension of Sobol's sequence in Gray-code order: the van der Corput numbers.
uint32_t sobol(uint32_t index);

}  // namespace lockstep::rocrand
