// What a message says of bytes that are no instruction.
#include "isa/explain.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::isa {
namespace {

std::span<const std::byte> bytes_of(const std::vector<uint32_t>& words) {
  return std::as_bytes(std::span(words));
}

struct Case {
  std::vector<uint32_t> words;
  const char* shown;
  const char* reason;
};

// An operand or a field by its name in guide chapter 15, its value, and what is wrong with it.
TEST(Explain, NamesTheOperandOrField) {
  const Case cases[] = {
      {{0x7e0402d2},
       ".long 0x7e0402d2 (v_mov_b32)",
       "SRC0 of v_mov_b32 is 210, which is reserved (guide 6.2 and 7.2, tables 20 and 26)"},
      {{0x8004d204}, ".long 0x8004d204 (s_add_u32)", "SSRC1 of s_add_u32 is 210, which is reserved"},
      {{0x7e0804fa, 0},
       ".long 0x7e0804fa (v_readfirstlane_b32)",
       "SRC0 of v_readfirstlane_b32 is 250, which asks for DPP"},
      {{0x7e080404},
       ".long 0x7e080404 (v_readfirstlane_b32)",
       "SRC0 of v_readfirstlane_b32 is 4 (s4), which must be a VGPR"},
      {{0x7f900501},
       ".long 0x7f900501 (v_readfirstlane_b32)",
       "VDST of v_readfirstlane_b32 is 200, which must be a scalar register"},
      {{0xf4001fc0, 0xf8000000},
       ".long 0xf4001fc0, 0xf8000000 (s_load_b32)",
       "SDATA of s_load_b32 is 127 (exec_hi), which may not be loaded from memory (guide 8.1)"},
      {{0xd5030002, 0x04060501},
       ".long 0xd5030002, 0x04060501 (v_add_f32)",
       "SRC2 of v_add_f32 is 257, which must be zero: the instruction has no such source"},
      {{0xbfb40001}, ".long 0xbfb40001 (s_wakeup)", "SIMM16 of s_wakeup is 1, which must be zero"},
      {{0xffffffff}, ".long 0xffffffff", "unknown opcode"},
      {{0xd6550002}, ".long 0xd6550002", "the bytes end inside the instruction: 4 are left"},
  };
  for (const Case& test : cases) {
    const std::string reason = explain(bytes_of(test.words), 32);
    EXPECT_EQ(show_bytes(bytes_of(test.words), 32), test.shown);
    EXPECT_EQ(reason.substr(0, std::strlen(test.reason)), test.reason);
  }
}

TEST(Explain, TheHalfOfAPair) {  // v_dual_add_f32 twice, SRCY0 reserved
  const std::vector<uint32_t> words = {0xc9080b04, 0x02020ed2};
  EXPECT_NE(explain(bytes_of(words), 32).find("SRC0 of v_dual_add_f32 is 210"), std::string::npos)
      << explain(bytes_of(words), 32);
}

// It says something of everything that decode() refuses, and nothing of what it takes; a field is named
// unless there is no such opcode.
TEST(Explain, AgreesWithDecode) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 300000; ++i) {
    std::vector<uint32_t> words(5);
    for (uint32_t& word : words) word = random();
    for (const unsigned wave_size : {32u, 64u}) {
      Instruction instruction;
      const DecodeError error = decode(bytes_of(words), wave_size, instruction);
      const std::string text = explain(bytes_of(words), wave_size);
      EXPECT_EQ(text.empty(), error == DecodeError::none);
      if (error == DecodeError::illegal_operand || error == DecodeError::reserved_field)
        EXPECT_NE(text.find(", which "), std::string::npos) << text << " " << words[0] << " " << words[1];
    }
  }
}

}  // namespace
}  // namespace lockstep::isa
