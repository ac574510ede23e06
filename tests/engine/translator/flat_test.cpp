// FLAT: lanes in memory, in scratch and in the LDS, all of a wave alike or each elsewhere.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::TestWave;

constexpr std::array kLoads{"u8",   "i8",     "u16",    "i16",       "b32",     "b64",       "b96",
                            "b128", "d16_u8", "d16_i8", "d16_hi_i8", "d16_b16", "d16_hi_b16"};
constexpr std::array kStores{"b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16"};

std::string registers(const std::string& form, unsigned first) {
  const unsigned count = form == "b64" ? 2 : form == "b96" ? 3 : form == "b128" ? 4 : 1;
  const std::string name = std::to_string(first);
  return count == 1 ? "v" + name : "v[" + name + ":" + std::to_string(first + count - 1) + "]";
}

using Addresses = std::function<uint64_t(const TestWave& wave, unsigned lane)>;
uint64_t in_scratch(uint32_t offset) {
  return kPrivateApertureBase + offset;
}
uint64_t in_lds(uint32_t offset) {
  return kSharedApertureBase + offset;
}
// By the lane: one of the three, at an offset that is a multiple of `unit`.
uint64_t anywhere(const TestWave& wave, unsigned lane, uint32_t unit) {
  const uint32_t offset = lane * 28 / unit * unit % 128;
  if (lane % 3 == 0) return in_scratch(offset);
  return lane % 3 == 1 ? in_lds(offset + 4 * lane) : wave.memory_address() + 40 * lane;
}

// Of all the forms; the range of memory is known the second time.
std::vector<uint32_t> every_form(unsigned wave_size) {
  std::string text;
  for (unsigned round = 0; round < 2; ++round) {
    unsigned next = 16;
    for (const std::string form : kLoads) {
      text += "flat_load_" + form + " " + registers(form, next) + ", v[12:13] offset:16\n";
      next += 4;
    }
    for (const std::string form : kStores)
      text += "flat_store_" + form + " v[12:13], " + registers(form, 20) + " offset:48\n";
  }
  std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
  code.pop_back();
  return code;
}

// Also gives the LDS and memory numbers, and scratch, which tests leave empty.
void prepare(TestWave& wave, const Addresses& addresses) {
  wave.fill64(12, [&](unsigned lane) { return addresses(wave, lane); });
  auto* scratch = reinterpret_cast<uint32_t*>(wave.wave().scratch_base);
  for (unsigned i = 0; i < TestWave::kScratchBytes / 4 * wave.size(); ++i) scratch[i] = i * 0x9e37'79b9;
}

class Flat : public testing::TestWithParam<unsigned> {
 protected:
  // Both engines alike, and the wave does not leave translated code.
  void expect_same(const std::vector<uint32_t>& code, const Addresses& addresses, uint64_t exits = 0) {
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'8f35}, uint64_t{0x8000}}) {
      EnginePair pair({.wave_size = GetParam(), .exec = exec, .seed = exec});
      EXPECT_EQ(pair.run(code, [&](TestWave& wave) { prepare(wave, addresses); }), "") << exec;
      EXPECT_EQ(pair.exits(Leave::access), exits) << exec;
      EXPECT_EQ(pair.exits(Leave::call), 0u) << exec;
    }
  }
};

TEST_P(Flat, AllLanesInOneAperture) {
  const auto code = every_form(GetParam());
  expect_same(code, [](const TestWave&, unsigned) { return in_scratch(32); });
  expect_same(code, [](const TestWave&, unsigned) { return in_scratch(33); });
  expect_same(code, [](const TestWave&, unsigned lane) { return in_scratch(lane % 7 * 5); });
  expect_same(code, [](const TestWave&, unsigned lane) { return in_lds(16 * lane); });
  expect_same(code, [](const TestWave&, unsigned lane) { return in_lds(4 * lane + 1); });
}

TEST_P(Flat, LanesInMemoryLdsAndScratch) {
  const auto code = every_form(GetParam());
  expect_same(code, [](const TestWave& wave, unsigned lane) { return anywhere(wave, lane, 4); });
  expect_same(code, [](const TestWave& wave, unsigned lane) { return anywhere(wave, lane, 1); });
  // Others are off.
  expect_same(code, [](const TestWave& wave, unsigned lane) {
    return uint64_t{0x8000} >> lane & 1 ? in_lds(8) : wave.memory_address() + 4 * lane;
  });
}

TEST_P(Flat, AtomicsInMemoryLdsAndScratch) {
  std::string dwords, pairs;
  for (unsigned round = 0; round < 2; ++round) {
    for (const char* operation : {"add_u32", "swap_b32", "cmpswap_b32", "max_i32", "inc_u32", "add_f32"}) {
      const std::string data = std::string(operation).starts_with("cmp") ? ", v[20:21]" : ", v20";
      dwords += std::string("flat_atomic_") + operation + " v" + std::to_string(30 + round) + ", v[12:13]" +
                data + " offset:16 glc\nflat_atomic_" + operation + " v[12:13]" + data + "\n";
    }
    for (const char* operation : {"add_u64", "cmpswap_b64", "umin_u64"}) {
      const std::string name = operation == std::string("umin_u64") ? "min_u64" : operation;
      const std::string data = name.starts_with("cmp") ? ", v[20:23]" : ", v[20:21]";
      pairs += "flat_atomic_" + name + " v[32:33], v[12:13]" + data + " offset:16 glc\n";
    }
  }
  auto code = interpreter::assembled(dwords, GetParam());
  code.pop_back();
  expect_same(code, [](const TestWave& wave, unsigned lane) { return anywhere(wave, lane, 4); });
  // Lanes on top of each other, and some behind the end of the LDS.
  expect_same(code, [](const TestWave&, unsigned lane) { return in_lds(lane / 8 * 4); });
  expect_same(code,
              [](const TestWave&, unsigned lane) { return in_lds(TestWave::kLdsBytes - 64 + 4 * lane); });
  expect_same(code, [](const TestWave&, unsigned lane) { return in_scratch(lane % 4 * 4); });
  code = interpreter::assembled(pairs, GetParam());
  code.pop_back();
  expect_same(code, [](const TestWave& wave, unsigned lane) {
    return lane % 2 ? in_lds(8 * lane) : wave.memory_address() + 8 * lane;
  });
}

// Behind the end of scratch and LDS, a wide atomic in scratch, in memory that is nobody's: faults with
// nothing changed by lanes behind, as the interpreter has them.
TEST_P(Flat, FaultsAreTheInterpreters) {
  const auto expect = [&](const std::string& text, const Addresses& addresses) {
    auto code =
        interpreter::assembled("v_add_nc_u32 v1, v2, v3\n" + text + "\nv_add_nc_u32 v4, v20, v1", GetParam());
    code.pop_back();
    expect_same(code, addresses, 1);
  };
  for (const char* text : {"flat_load_b64 v[20:21], v[12:13]", "flat_store_b64 v[12:13], v[2:3]"}) {
    expect(text, [](const TestWave&, unsigned lane) { return in_scratch(lane < 15 ? 8 : 252); });
    expect(text,
           [](const TestWave&, unsigned lane) { return in_lds(TestWave::kLdsBytes - 8 * 15 + 8 * lane); });
    expect(text, [](const TestWave& wave, unsigned lane) {
      return lane < 15 ? anywhere(wave, lane, 8) : uint64_t{3} << 48;
    });
  }
  for (const char* text :
       {"flat_atomic_add_u64 v[12:13], v[2:3]", "flat_atomic_add_u64 v[20:21], v[12:13], v[2:3] glc"})
    expect(text,
           [](const TestWave&, unsigned lane) { return lane == 15 ? in_scratch(8) : in_lds(8 * lane); });
  expect("flat_atomic_add_u32 v[12:13], v2",
         [](const TestWave&, unsigned lane) { return in_lds(4 * lane + (lane == 15)); });
}

INSTANTIATE_TEST_SUITE_P(Wave, Flat, testing::Values(32u, 64u), testing::PrintToStringParamName());

}  // namespace
}  // namespace lockstep::translator
