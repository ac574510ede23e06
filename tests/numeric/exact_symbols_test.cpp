#include <gtest/gtest.h>

#include <set>
#include <string>

#include "numeric/exact.h"
#include "tests/numeric/oracle.h"

namespace lockstep::numeric {
namespace {

TEST(ExactSymbols, AreCompleteAndDistinct) {
  std::set<std::string> names;
  std::set<void*> addresses;
  for (const auto& symbol : exact_symbols()) {
    EXPECT_EQ(std::string(symbol.name).rfind("lockstep_", 0), 0u) << symbol.name;
    EXPECT_NE(symbol.address, nullptr) << symbol.name;
    EXPECT_TRUE(names.insert(symbol.name).second) << symbol.name;
    EXPECT_TRUE(addresses.insert(symbol.address).second) << symbol.name;
  }
  // Three formats of seven operations, six conversions, five functions that complete results, two forms of
  // div_fmas, trig_preop, two forms of quotients, two of ratios and of roots.
  EXPECT_EQ(names.size(), 3u * 7 + 6 + 5 + 2 + 1 + 2 + 2 + 2);
}

// What generated code does: look a function up by its name and call it through its address.
TEST(ExactSymbols, CanBeCalled) {
  for (const auto& symbol : exact_symbols()) {
    if (std::string(symbol.name) != "lockstep_exact_add_f32") continue;
    const auto add = reinterpret_cast<void (*)(const F32*, const F32*, uint32_t, F32*)>(symbol.address);
    const F32 a = F32(1.0f);
    const F32 b = F32(0x1p-24f);
    F32 result;
    add(&a, &b, kDefaultFloatMode | static_cast<uint32_t>(Round::plus_infinity), &result);
    EXPECT_EQ(result[7], 1.0f + 0x1p-23f);
    return;
  }
  FAIL() << "no lockstep_exact_add_f32";
}

}  // namespace
}  // namespace lockstep::numeric
