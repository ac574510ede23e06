#include "hardware/hardware.h"

#include <gtest/gtest.h>

#include <algorithm>
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
  // A wave has at most 256 registers, whatever its descriptor asks for.
  EXPECT_EQ(resident_work_groups(navi31, {32, UINT32_MAX, 32, 0}),
            resident_work_groups(navi31, {32, 256, 32, 0}));
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, UINT32_MAX, 0}), 0u);
  EXPECT_EQ(resident_work_groups(navi31, {32, 32, 32, UINT32_MAX}), 0u);
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
  const auto lines = std::count(good.begin(), good.end(), '\n');
  EXPECT_NE(error_of(good + "warp_size = 32\n")
                .find("line " + std::to_string(lines + 1) + ": 'warp_size' is an unknown key"),
            std::string::npos);
  EXPECT_NE(error_of("= 3").find("line 1"), std::string::npos);
  EXPECT_NE(error_of("").find("missing"), std::string::npos);
  auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos);
    return error_of(text.replace(at, from.size(), to));
  };
  EXPECT_NE(replaced("value = 1536", "value = -1").find("line 15: 'vgprs_per_simd' must be 1 to 2048"),
            std::string::npos);
  EXPECT_NE(replaced("value = 1536", "value = \"x\"").find("an integer"), std::string::npos);
  EXPECT_NE(replaced("source = \"guide 2.3\"", "source = \"\"").find("no source"), std::string::npos);
  EXPECT_NE(replaced("value = 24", "value = 20").find("no multiple of 8"), std::string::npos);
  EXPECT_NE(replaced("lds_granule_bytes = { value = 1024", "lds_granule_bytes = { value = 100").find("256"),
            std::string::npos);
  EXPECT_NE(replaced("value = 32, source = \"guide 2.3;", "value = 33, source = \"guide 2.3;").find("HW_ID2"),
            std::string::npos);
  for (const char* target : {"gfx900", "gfx1104", "gfx1100x", "gfx11"})
    EXPECT_NE(
        replaced("\"gfx1100\"", '"' + std::string(target) + '"').find("line 3: 'target' must be gfx1100"),
        std::string::npos);
  EXPECT_NE(replaced("lanes_per_simd = { value = 2", "lanes_per_simd = { value = 3").find("power of two"),
            std::string::npos);
  EXPECT_NE(replaced("sure = \"A\"", "sure = \"Z\"").find("sure"), std::string::npos);
}

// Guide 3.4.8: HW_ID1 and HW_ID2 can tell of so many and no more; neither can GPR_ALLOC and LDS_ALLOC.
TEST(Hardware, NumbersStayWithinWhatRegistersCount) {
  auto error_with = [](const std::string& key, int64_t value) {
    std::string text(model_texts()[0].text);
    const size_t begin = text.find("value = ", text.find("\n" + key + " = ")) + 8;
    return error_of(text.replace(begin, text.find(',', begin) - begin, std::to_string(value)));
  };
  const struct {
    const char* key;
    int64_t least, most;
  } limits[] = {{"shader_engines", 1, 8},
                {"arrays_per_shader_engine", 1, 2},
                {"work_group_processors_per_array", 1, 16},
                {"compute_units_per_work_group_processor", 2, 2},
                {"simds_per_compute_unit", 2, 2},
                {"waves_per_simd", 1, 32},
                {"vgprs_per_simd", 24, 24 * 65 - 1},
                {"vgpr_granule_wave32", 24, 256},
                {"double_precision_lanes_per_simd", 0, 32},
                {"lds_bytes_per_work_group_processor", 1024, 131072},
                {"lds_bytes_per_work_group", 1, 65536},
                {"lds_granule_bytes", 1024, 65536},
                {"max_work_group_size", 1, 1024},
                {"work_groups_per_work_group_processor", 1, 32},
                {"scalar_cache_bytes", 128, UINT32_MAX},
                {"l0_bytes_per_compute_unit", 128, UINT32_MAX},
                {"l1_bytes_per_array", 128, UINT32_MAX},
                {"mall_bytes", 0, UINT32_MAX}};
  for (const auto& [key, least, most] : limits) {
    EXPECT_EQ(error_with(key, least), "");
    EXPECT_EQ(error_with(key, most), "");
    for (const int64_t bad : {least - 1, most + 1, int64_t{INT64_MAX}, int64_t{INT64_MIN}})
      EXPECT_NE(error_with(key, bad).find(std::string("'") + key + "'"), std::string::npos) << bad;
  }
  // More granules than can be given out.
  EXPECT_NE(error_with("vgpr_granule_wave32", 16).find("96 granules of 16"), std::string::npos);
  EXPECT_NE(error_with("lds_granule_bytes", 512).find("256 granules of 512"), std::string::npos);
}

// Texts that toml++ 3.3 asserts at, or that it takes for impossible.
TEST(Hardware, WhatIsNoTomlIsRefused) {
  for (const char* text : {"[[[[ # a]b\n", "a =[[[[[[[[ { value = 1, sure = [[[[}\n", "\xd1\xb4 = 1",
                           "a = \"\xff\"", "a = [", "[", "a = {", "a = '''", "\"", "a = 1_", "\r", "\x01"})
    EXPECT_TRUE(error_of(text).starts_with("test.toml")) << text << ": " << error_of(text);
  EXPECT_NE(error_of("# one\n# \xc2\xb5\n").find("line 2"), std::string::npos);
}

// Each dot and each bracket is a level that toml++ and its destructors descend.
TEST(Hardware, DeepTextsAreRefused) {
  auto repeated = [](const std::string& text, size_t count) {
    std::string out;
    for (size_t i = 0; i < count; ++i) out += text;
    return out;
  };
  EXPECT_NE(error_of(repeated("a.", 100'000) + "a = 1\n").find("larger than 64 kB"), std::string::npos);
  EXPECT_NE(error_of("x = 1\n" + repeated("a.", 30'000) + "a = 1\n").find("line 2: more than 64 dots"),
            std::string::npos);
  EXPECT_NE(error_of("[" + repeated("a.", 30'000) + "a]\n").find("line 1: more than 64 dots"),
            std::string::npos);
  EXPECT_NE(error_of(repeated("a.", 64) + "a = 1\n").find("'description' is missing"), std::string::npos);
  // Deeper by going on in the next line.
  const std::string dots = repeated("a.", 60) + "a";
  std::string nested = "a = ";
  for (int i = 0; i < 400; ++i) nested += "[\n{ " + dots + " = ";
  EXPECT_TRUE(error_of(nested).starts_with("test.toml"));
  for (const char* part : {"a.\n", "a.\r", "a.\r\n", "a.\f", "[a.a.a.a]\n", "[[a]]\n", "[[a.b]]\na.b.c=1\n",
                           "[[", "a = [\n", "a = {", "\"\".", "''.", "a = \"\"\"\n"})
    EXPECT_TRUE(error_of(repeated(part, 5'000)).starts_with("test.toml")) << part;
}

TEST(Hardware, FilesThatAreNoDescriptionsAreRefused) {
  auto error_of_file = [](const char* path) -> std::string {
    try {
      read_file(path);
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error_of_file("/"), "/: cannot be read");
  EXPECT_EQ(error_of_file("/nowhere.toml"), "/nowhere.toml: cannot be opened");
  EXPECT_NE(error_of_file("/dev/zero").find("larger than 64 kB"), std::string::npos);
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
