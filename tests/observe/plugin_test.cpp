// Plug-ins: what they are told, that they change nothing, and what is said of those that are none.
#include <gtest/gtest.h>

#include "observe/checks/checks.h"
#include "observe/plugin/plugin_listener.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::observe {
namespace {

const std::string kSample = LOCKSTEP_PLUGIN_SAMPLES "/libplugin_sample.so";

// Two waves a group; each work-item stores its number.
constexpr std::string_view kStore =
    "v_lshlrev_b32 v1, 2, v0\ns_barrier\nglobal_store_b32 v1, v0, s[0:1]\ns_endpgm\n";

std::string problem_of(const std::string& text) {
  try {
    const Checks checks({}, {}, nullptr, {text});
  } catch (const PluginError& error) {
    return error.what();
  }
  return "it began";
}

TEST(Plugin, IsToldOfGroupsBarriersInstructionsAndAccesses) {
  machine::Dispatch plain(kStore, 3, 64), watched(kStore, 3, 64);
  EXPECT_FALSE(plain.run().fault);
  Checks checks({}, {}, nullptr, {kSample});
  checks.prepare(watched.options.precise);
  EXPECT_FALSE(watched.run().fault);
  EXPECT_EQ(watched.buffer, plain.buffer);
  const std::vector<lockstep::Finding> found = checks.findings({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_STREQ(found[0].checker, "sample");
  EXPECT_EQ(found[0].rule, "what it was told");
  EXPECT_EQ(found[0].pc, watched.pc(2));
  EXPECT_EQ(found[0].count, 3u);
  EXPECT_EQ(found[0].detail.severity, Severity::warning);
  EXPECT_EQ(found[0].detail.text,
            "192 items; groups 3, 3; barriers 3; before 12, after 12, faulted 0; stored 192, refused 0; "
            "v0 of lane 5 37, s2 2; global_store_b32 v1, v0, s[0:1]; buffer 'out'");
}

TEST(Plugin, IsToldOfFaults) {
  machine::Dispatch dispatch("v_mov_b32 v1, 0x10000\nglobal_store_b32 v1, v0, s[0:1]\ns_endpgm\n", 1, 64);
  Checks checks({}, {}, nullptr, {kSample});
  checks.prepare(dispatch.options.precise);
  EXPECT_TRUE(dispatch.run().fault);
  const std::vector<lockstep::Finding> found = checks.findings({});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].pc, dispatch.pc(2));
  EXPECT_NE(found[0].detail.text.find("after 0, faulted 1; stored 0, refused 32"), std::string::npos)
      << found[0].detail.text;
}

TEST(Plugin, WhatIsNoneIsRefused) {
  EXPECT_NE(problem_of("/nowhere/plugin.so").find("'/nowhere/plugin.so': it cannot be loaded"),
            std::string::npos);
  EXPECT_NE(problem_of("").find("names no file"), std::string::npos);
  EXPECT_NE(problem_of(":mix").find("names no file"), std::string::npos);
  EXPECT_NE(problem_of(LOCKSTEP_PLUGIN_SAMPLES "/libplugin_sample_newer.so")
                .find("it was built for version 2 of the plug-in interface, and this is version 1"),
            std::string::npos);
  EXPECT_NE(problem_of(LOCKSTEP_PLUGIN_SAMPLES "/libplugin_sample_without_begin.so")
                .find("does not export lockstep_plugin_begin"),
            std::string::npos);
  EXPECT_NE(problem_of(kSample + ":fail").find("libplugin_sample.so': it was told to fail"),
            std::string::npos);
  EXPECT_NE(problem_of(kSample + ":bad-name").find("its name is 'Sample!'"), std::string::npos);
  EXPECT_NE(problem_of(kSample + ":checkers-name").find("that of a checker"), std::string::npos);
  EXPECT_EQ(problem_of(kSample + ":anything"), "it began");
}

}  // namespace
}  // namespace lockstep::observe
