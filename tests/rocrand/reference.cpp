#include "tests/rocrand/reference.h"

namespace lockstep::rocrand {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xd2511f53} * counter[0], second = uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

namespace {

using State = std::array<uint32_t, 5>;

State step(State x) {
  const uint32_t t = x[0] ^ (x[0] >> 2);
  return {x[1], x[2], x[3], x[4], (x[4] ^ (x[4] << 4)) ^ (t ^ (t << 1))};
}

// Column i: what becomes of bit i.
using Matrix = std::vector<State>;

State apply(const Matrix& matrix, const State& x) {
  State result{};
  for (unsigned bit = 0; bit < 160; ++bit)
    if (x[bit / 32] >> (bit % 32) & 1)
      for (unsigned word = 0; word < 5; ++word) result[word] ^= matrix[bit][word];
  return result;
}

const Matrix& subsequence_step() {
  static const Matrix matrix = [] {
    Matrix result;
    for (unsigned bit = 0; bit < 160; ++bit) {
      State x{};
      x[bit / 32] = 1u << (bit % 32);
      result.push_back(step(x));
    }
    for (int square = 0; square < 67; ++square) {
      Matrix twice;
      for (const State& column : result) twice.push_back(apply(result, column));
      result = std::move(twice);
    }
    return result;
  }();
  return matrix;
}

}  // namespace

Xorwow::Xorwow(uint64_t seed) {
  const uint32_t a = 1228688033u * (static_cast<uint32_t>(seed) ^ 0x2c7f967fu);
  const uint32_t b = 2073658381u * (static_cast<uint32_t>(seed >> 32) ^ 0xa03697cbu);
  x_ = {123456789u + a, 362436069u ^ a, 521288629u + b, 88675123u ^ b, 5783321u + a};
  d_ = 6615241u + a + b;
}

uint32_t Xorwow::next() {
  x_ = step(x_);
  d_ += 362437;
  return d_ + x_[4];
}

void Xorwow::skip_subsequence() {
  x_ = apply(subsequence_step(), x_);  // d_ moves by a multiple of 2^67, so not at all
}

uint32_t sobol(uint32_t index) {
  uint32_t gray = index ^ (index >> 1), result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) result |= (gray >> bit & 1) << (31 - bit);
  return result;
}

}  // namespace lockstep::rocrand
