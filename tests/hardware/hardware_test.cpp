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

// Waves a SIMD by VGPRs, as LLVM's occupancy table for gfx1100 has it.
TEST(Hardware, RegistersLimitWaves) {
  const Description& navi31 = models()[0];
  auto waves = [&](uint32_t wave_size, uint32_t vgprs) {
    return waves_per_simd(navi31, {wave_size, vgprs, wave_size, 0});
  };
  EXPECT_EQ(waves(32, 24), 16u);
  EXPECT_EQ(waves(32, 96), 16u);
  EXPECT_EQ(waves(32, 97), 12u);
  EXPECT_EQ(waves(32, 192), 8u);
  EXPECT_EQ(waves(32, 256), 5u);
  EXPECT_EQ(waves(64, 48), 16u);
  EXPECT_EQ(waves(64, 49), 12u);
  EXPECT_EQ(waves(64, 256), 2u);
  EXPECT_EQ(waves_per_simd(models()[2], {32, 256, 32, 0}), 4u);
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
  EXPECT_NE(replaced("source = \"guide 3.3.2\"", "source = \"\"").find("no source"), std::string::npos);
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
