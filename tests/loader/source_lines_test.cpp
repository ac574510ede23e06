#include "loader/source_lines.h"

#include <gtest/gtest.h>

#include "tests/loader/fixtures.h"

namespace lockstep::loader {
namespace {

class DebugInformation : public testing::TestWithParam<const char*> {};

TEST_P(DebugInformation, NamesFunctionFileAndLine) {
  Result<CodeObject> o = CodeObject::parse(read_fixture(GetParam()), "debug");
  ASSERT_TRUE(o) << o.error().message();
  SourceLines lines(*o);
  ASSERT_TRUE(lines.has_debug_info());
  const Kernel* k = o->find_kernel("scaled");
  ASSERT_NE(k, nullptr);
  bool body_seen = false;
  for (uint64_t pc = k->entry_address; pc < k->entry_address + k->code_size; pc += 4) {
    std::optional<SourceLocation> found = lines.find(pc);
    ASSERT_TRUE(found) << pc;
    EXPECT_EQ(found->function, "scaled");
    EXPECT_TRUE(found->file.starts_with("/") && found->file.ends_with("/kernels.cl")) << found->file;
    if (found->line == 0) continue;
    EXPECT_GE(found->line, 12u);
    EXPECT_LE(found->line, 17u);
    body_seen |= found->line == 16;
  }
  EXPECT_TRUE(body_seen);
  EXPECT_FALSE(lines.find(0xffffffff));
  EXPECT_FALSE(lines.find(0));
}

INSTANTIATE_TEST_SUITE_P(SourceLines, DebugInformation,
                         testing::Values("kernels_debug.co", "kernels_debug_zlib.co", "kernels_debug_zstd.co",
                                         "kernels_debug_v4.co"));

TEST(SourceLines, CodeWithoutDebugInformationHasNone) {
  Result<CodeObject> o = CodeObject::parse(read_fixture("kernels_v5.co"), "plain");
  ASSERT_TRUE(o);
  SourceLines lines(*o);
  EXPECT_FALSE(lines.has_debug_info());
  EXPECT_FALSE(lines.find(o->kernels()[0].entry_address));
}

}  // namespace
}  // namespace lockstep::loader
