#include "hardware/hardware.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "hardware/models.h"

namespace lockstep::hardware {
namespace {

TEST(Hardware, EveryModelIsComplete) {
  ASSERT_GE(models().size(), 4u);
  EXPECT_EQ(models()[0].name, "navi31");
  EXPECT_EQ(models()[0].target, "gfx1100");
  EXPECT_EQ(models()[0].compute_units(), 96u);
  EXPECT_EQ(models()[1].compute_units(), 60u);
  EXPECT_EQ(models()[2].compute_units(), 32u);
  EXPECT_EQ(models()[3].compute_units(), 12u);
}

// Waves a SIMD by VGPRs: guide 3.3.2.1, and what llc 19 prints as the occupancy of kernels that use so many,
// for gfx1100 and gfx1101 (blocks of 24 and 12 of 1536 registers), gfx1102 and gfx1103 (16 and 8 of 1024).
TEST(Hardware, RegistersLimitWaves) {
  const struct {
    uint32_t vgprs, wave32[2], wave64[2];
  } cases[] = {{24, {16, 16}, {16, 16}}, {40, {16, 16}, {16, 12}}, {97, {12, 9}, {7, 4}},
               {112, {12, 9}, {6, 4}},   {128, {10, 8}, {5, 4}},   {193, {7, 4}, {3, 2}},
               {256, {5, 4}, {2, 2}}};
  for (const Description& device : models()) {
    const bool small = device.target == "gfx1102" || device.target == "gfx1103";
    for (const auto& test : cases) {
      SCOPED_TRACE(device.name + " " + std::to_string(test.vgprs));
      EXPECT_EQ(waves_per_simd(device, {32, test.vgprs, 32, 0}), test.wave32[small]);
      EXPECT_EQ(waves_per_simd(device, {64, test.vgprs, 64, 0}), test.wave64[small]);
    }
  }
}

// Guide 2.3: in CU mode a group has the waves and the LDS of one compute unit.
TEST(Hardware, CuModeKeepsGroupsOnAComputeUnit) {
  const Description& navi31 = models()[0];
  EXPECT_EQ(resident_work_groups(navi31, {32, 24, 1024, 0, true}), 2u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 24, 1024, 0, false}), 2u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 256, 544, 0, true}), 1u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 256, 544, 0, false}), 0u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 24, 32, 40'000, true}), 3u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 24, 32, 40'000, false}), 2u);
}

TEST(Hardware, LdsAndSizeLimitWorkGroups) {
  const Description& navi31 = models()[0];
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 256, 65536}), 2u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 256, 1}), 8u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 256, 65537}), 0u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 1025, 0}), 0u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 1024, 0}), 2u);
  EXPECT_EQ(waves_per_simd(navi31, {32, 32, 1024, 0}), 16u);
}

std::string error_of(const std::string& text) {
  try {
    parse(text, "test.toml");
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "";
}

TEST(Hardware, BadFilesAreRefusedWithAReason) {
  const std::string good(model_texts()[0].text);
  EXPECT_EQ(error_of(good), "");
  EXPECT_NE(error_of(good + "warp_size = 32\n").find("unknown key 'warp_size'"), std::string::npos);
  EXPECT_NE(error_of("= 3").find("line 1"), std::string::npos);
  EXPECT_NE(error_of("").find("missing"), std::string::npos);
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return error_of(text.replace(at, from.size(), to));
  };
  EXPECT_NE(replaced("value = 1536", "value = -1").find("positive"), std::string::npos);
  EXPECT_NE(replaced("value = 1536", "value = \"x\"").find("an integer"), std::string::npos);
  EXPECT_NE(replaced("source = \"guide 2.3\"", "source = \"\"").find("no source"), std::string::npos);
  EXPECT_NE(replaced("value = 24", "value = 20").find("no multiple of 8"), std::string::npos);
  EXPECT_NE(replaced("lds_granule_bytes = { value = 1024", "lds_granule_bytes = { value = 100").find("256"),
            std::string::npos);
  EXPECT_NE(replaced("value = 32, source = \"guide 2.3;", "value = 33, source = \"guide 2.3;").find("HW_ID2"),
            std::string::npos);
  EXPECT_NE(replaced("sure = \"A\"", "sure = \"Z\"").find("sure"), std::string::npos);
}

TEST(Hardware, EveryKeyMustBeThere) {
  for (const ModelText& model : model_texts()) {
    const std::string text(model.text);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin) + 1;
      if (text[begin] != '#') {
        const std::string key = text.substr(begin, text.find(' ', begin) - begin);
        const std::string error = error_of(text.substr(0, begin) + text.substr(end));
        EXPECT_NE(error.find("'" + key + "' is missing"), std::string::npos) << model.name << ": " << error;
      }
      begin = end;
    }
  }
}

}  // namespace
}  // namespace lockstep::hardware
