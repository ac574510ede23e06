#include "text/visible.h"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Visible, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(visible("_Z5scalePf"), "_Z5scalePf");
  EXPECT_EQ(visible("\x1b[2J\x1b]0;title\a"), "\\x1b[2J\\x1b]0;title\\x07");
  EXPECT_EQ(visible("a\nerror: b\r\t\x7f"), "a\\x0aerror: b\\x0d\\x09\\x7f");
  EXPECT_EQ(visible(std::string_view("a\0b", 3)), "a\\x00b");
  // C1 controls are escape sequences of one character, in UTF-8 too; U+202E turns the line round.
  EXPECT_EQ(visible("\u009b2J"), "\\xc2\\x9b2J");
  EXPECT_EQ(visible("x\u202ey"), "x\\xe2\\x80\\xaey");
}

TEST(Visible, LeavesLettersOfAllLanguages) {
  EXPECT_EQ(visible("größe Δt 核 🙂"), "größe Δt 核 🙂");
}

TEST(Visible, BytesThatAreNoUtf8) {
  for (const char* bad : {"\x80", "\xc0\xaf", "\xc3", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"})
    EXPECT_TRUE(visible(bad).starts_with("\\x")) << visible(bad);
  EXPECT_EQ(visible("\xc3("), "\\xc3(");
}

TEST(Visible, LongNamesAreCutBetweenCharacters) {
  EXPECT_EQ(visible(std::string(kShownName, 'a')), std::string(kShownName, 'a'));
  EXPECT_EQ(visible(std::string(1 << 20, 'a')), std::string(kShownName, 'a') + "...");
  EXPECT_EQ(visible("ab\u00e4c", 3), "ab...");
}

TEST(Visible, LinesStay) {
  EXPECT_EQ(visible_lines("a:\n\tb \x1b[m\r\n"), "a:\n\tb \\x1b[m\\x0d\n");
  EXPECT_EQ(visible_lines(std::string(10000, 'a')).size(), 10000u);
}

}  // namespace
}  // namespace lockstep
