#include "numeric/transcendental.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>

#include "numeric/transcendental_reference.h"
#include "tests/numeric/oracle.h"

namespace lockstep::numeric {
namespace {

// The hash of the captures: FNV-1a's constants over whole words.
struct Digest {
  uint64_t value = 14695981039346656037u;
  void add(uint32_t word) { value = (value ^ word) * 1099511628211u; }
  void add(F32 chunk) {
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) add(bits_as<U32>(chunk)[lane]);
  }
};

const U32 kLane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr DefaultFloatMode kDefault;

F32 from_bits(uint32_t first) {
  return bits_as<F32>(kLane + first);
}

TEST(TranscendentalDigest, RcpOfOneToTwo) {
  Digest digest;
  for (uint32_t i = 0; i < 1u << 23; i += kLanesPerChunk)
    digest.add(rcp(from_bits(0x3f800000 + i), kDefault));
  EXPECT_EQ(digest.value, 0xd54ec24992572df9u);
}

TEST(TranscendentalDigest, RsqOfOneToFour) {
  Digest digest;
  for (uint32_t i = 0; i < 1u << 24; i += kLanesPerChunk)
    digest.add(rsq(from_bits(0x3f800000 + i), kDefault));
  EXPECT_EQ(digest.value, 0x010bc79eb6e48cafu);
}

uint64_t exp_digest(uint32_t count, float step) {
  Digest digest;
  for (uint32_t i = 0; i < count; i += kLanesPerChunk) {
    digest.add(exp2(convert<F32>(kLane + i) * step, kDefault));
  }
  return digest.value;
}

TEST(TranscendentalDigest, ExpOfFractions) {
  EXPECT_EQ(exp_digest(1u << 24, 0x1p-24f), 0x68959bb684f42e5fu);
  EXPECT_EQ(exp_digest(1u << 24, -0x1p-24f), 0x88b75684494db8d3u);
  EXPECT_EQ(exp_digest(1u << 23, 0x1p-23f), 0xef14981b949b3960u);
}

TEST(TranscendentalDigest, LogOfHalfToTwo) {
  Digest digest;
  for (uint32_t i = 0x3f000000; i < 0x40000000; i += kLanesPerChunk) digest.add(log2(from_bits(i), kDefault));
  EXPECT_EQ(digest.value, 0xc33a54efbae098beu);
  Digest upper;
  for (uint32_t i = 0x3f800000; i < 0x40000000; i += kLanesPerChunk) upper.add(log2(from_bits(i), kDefault));
  EXPECT_EQ(upper.value, 0xdcabe314d2964004u);
}

template <class Chunk, class Reference>
void check_range(const char* name, uint32_t first, uint64_t count, Chunk chunk, Reference reference,
                 uint32_t stride = 1) {
  int failures = 0;
  for (uint64_t i = 0; i < count; i += kLanesPerChunk) {
    const U32 bits = (kLane + static_cast<uint32_t>(i)) * stride + first;
    const U32 result = bits_as<U32>(chunk(bits_as<F32>(bits)));
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      const uint32_t expected = reference(bits[lane]);
      if (result[lane] == expected) continue;
      ADD_FAILURE() << name << std::hex << "(" << bits[lane] << ") = " << result[lane] << ", expected "
                    << expected;
      if (++failures == 5) return;
    }
  }
}

// All inputs with LOCKSTEP_EXHAUSTIVE set, else every 251st of them (a prime, so that all exponents and rows
// are met).
template <class Chunk, class Reference>
void check_all(const char* name, Chunk chunk, Reference reference) {
  const bool exhaustive = std::getenv("LOCKSTEP_EXHAUSTIVE") != nullptr;
  const uint32_t stride = exhaustive ? 1 : 251;
  check_range(name, 0, (uint64_t{1} << 32) / stride, chunk, reference, stride);
}

uint32_t quieted(uint32_t x, uint32_t result) {
  return (x & 0x7fffffff) > 0x7f800000 ? x | 0x00400000 : result;
}

#define LOCKSTEP_TEST_AGAINST_REFERENCE(name, function)                  \
  TEST(TranscendentalF32, name) {                                        \
    check_all(                                                           \
        #function, [](F32 x) { return numeric::function(x, kDefault); }, \
        [](uint32_t x) { return quieted(x, reference::function(x)); });  \
  }
LOCKSTEP_TEST_AGAINST_REFERENCE(Rcp, rcp)
LOCKSTEP_TEST_AGAINST_REFERENCE(Rsq, rsq)
LOCKSTEP_TEST_AGAINST_REFERENCE(Sqrt, sqrt)
LOCKSTEP_TEST_AGAINST_REFERENCE(Exp2, exp2)
LOCKSTEP_TEST_AGAINST_REFERENCE(Log2, log2)

TEST(TranscendentalF32, EverySignificandOfSqrt) {
  check_range("sqrt", 0x3f800000, 1u << 24, [](F32 x) { return sqrt(x, kDefault); }, reference::sqrt);
}

}  // namespace
}  // namespace lockstep::numeric
