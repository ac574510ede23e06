// What the process keeps of translations.
#include <gtest/gtest.h>

#include <string>

#include "engine/translator/translation.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {
namespace {

bool is_reused(unsigned number) {
  const std::vector<uint32_t>& code =
      interpreter::assembled("s_mov_b32 s0, " + std::to_string(1000 + number), 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  bool reused = false;
  EXPECT_TRUE(translation_of(find_routine(ranges, entry, 32, kMaxVgprs), reused));
  return reused;
}

TEST(TranslationCache, ForgetsWhatWasUsedLongestAgo) {
  EXPECT_FALSE(is_reused(0));
  EXPECT_TRUE(is_reused(0));
  for (unsigned i = 1; i < kMostTranslations; ++i) EXPECT_FALSE(is_reused(i));
  EXPECT_TRUE(is_reused(0));
  EXPECT_FALSE(is_reused(kMostTranslations));  // instead of 1
  EXPECT_TRUE(is_reused(0));
  EXPECT_FALSE(is_reused(1));
}

// Asked before each piece; what was made until then is dropped, so that the next one begins anew.
TEST(TranslationCache, ATranslationIsCancelledBetweenItsPieces) {
  std::string listing;
  for (unsigned i = 0; i < 4 * kMaxPieceSize; ++i) listing += "s_add_u32 s0, s0, " + std::to_string(i) + "\n";
  const std::vector<uint32_t>& code = interpreter::assembled(listing, 32);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  const Routine routine = find_routine(ranges, entry, 32, kMaxVgprs);
  ASSERT_GE(routine.pieces.size(), 4u);
  unsigned calls = 0;
  bool reused = true;
  EXPECT_THROW(translation_of(routine, reused, [&] { return ++calls == 3; }), Cancelled);
  EXPECT_EQ(calls, 3u);
  calls = 0;
  EXPECT_TRUE(translation_of(routine, reused, [&] { return ++calls == 0; }));
  EXPECT_FALSE(reused);
  EXPECT_EQ(calls, routine.pieces.size());
}

}  // namespace
}  // namespace lockstep::translator
