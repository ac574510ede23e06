#include "loader/source_lines.h"

#include <gtest/gtest.h>

#include "tests/loader/fixtures.h"

namespace lockstep::loader {
namespace {

TEST(SourceLines, NamesFunctionFileAndLine) {
  Result<CodeObject> o = CodeObject::parse(read_fixture("kernels_debug.co"), "debug");
  ASSERT_TRUE(o) << o.error().message();
  SourceLines lines(*o);
  ASSERT_TRUE(lines.has_debug_info());
  const Kernel* k = o->find_kernel("scaled");
  ASSERT_NE(k, nullptr);
  std::vector<SourceLocation> found = lines.find(k->entry_address);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].function, "scaled");
  EXPECT_TRUE(found[0].file.ends_with("kernels.cl")) << found[0].file;
  EXPECT_GE(found[0].line, 12u);
  EXPECT_LE(found[0].line, 18u);
  EXPECT_TRUE(lines.find(0xffffffff).empty());
}

TEST(SourceLines, CodeWithoutDebugInformationHasNone) {
  Result<CodeObject> o = CodeObject::parse(read_fixture("kernels_v5.co"), "plain");
  ASSERT_TRUE(o);
  SourceLines lines(*o);
  EXPECT_FALSE(lines.has_debug_info());
  EXPECT_TRUE(lines.find(o->kernels()[0].entry_address).empty());
}

}  // namespace
}  // namespace lockstep::loader
