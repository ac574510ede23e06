// Code whose shape is hard on a compiler: what LLVM does with it must end, in linear time and stack, and the
// wave runs on whatever was not translated.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <random>

#include "engine/translator/liveness.h"
#include "engine/translator/translator.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {
namespace {

using Code = std::vector<uint32_t>;

// Instructions as the guide's chapter 15 encodes them.
constexpr uint32_t kEndProgram = 0xbfb00000, kCountDown = 0x80808100 /* s_sub_u32 s0, s0, 1 */,
                   kIsLeft = 0xbf078000 /* s_cmp_lg_u32 s0, 0 */,
                   kSetCounter = 0xbe800082 /* s_mov_b32 s0, 2 */;
constexpr uint32_t vector_add(unsigned destination) {
  return 0x4a000300 | destination << 17;  // v_add_nc_u32 vN, v0, v1
}
uint32_t branch(unsigned opcode, size_t at, size_t target) {
  const auto dwords = static_cast<int32_t>(target) - static_cast<int32_t>(at) - 1;
  return 0xbf800000 | opcode << 16 | (static_cast<uint32_t>(dwords) & 0xffff);
}
uint32_t always(size_t at, size_t target) {
  return branch(32, at, target);
}
uint32_t if_scc(size_t at, size_t target) {
  return branch(34, at, target);
}

Code loops_in_a_row(unsigned count) {
  Code code;
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(kSetCounter);
    const size_t head = code.size();
    code.push_back(vector_add(2 + i % 8));
    code.push_back(kCountDown);
    code.push_back(kIsLeft);
    code.push_back(if_scc(code.size(), head));
  }
  return code;
}
// The counter is zero inside all of them.
Code loops_in_loops(unsigned count) {
  Code code{0xbe800080 /* s_mov_b32 s0, 0 */};
  for (unsigned i = 0; i < count; ++i) code.push_back(vector_add(2 + i % 8));
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(kIsLeft);
    code.push_back(if_scc(code.size(), count - i));
  }
  return code;
}
Code straight_line(unsigned count) {
  Code code;
  for (unsigned i = 0; i < count; ++i) code.push_back(vector_add(2 + i % 8));
  return code;
}
// One value through all of it.
Code chain(unsigned count) {
  return Code(count, 0x06000101);  // v_add_f32 v0, v1, v0
}
Code diamonds(unsigned count) {
  Code code;
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(kIsLeft);
    code.push_back(if_scc(code.size(), code.size() + 2));
    code.push_back(vector_add(2 + i % 8));
  }
  return code;
}
// As many blocks that all go to the last one.
Code ways_out(unsigned count) {
  Code code;
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(kIsLeft);
    code.push_back(if_scc(code.size(), 3 * count));
    code.push_back(kCountDown);
  }
  return code;
}
// Each block goes to the one before it in memory.
Code backwards(unsigned count) {
  Code code{always(0, 2 * count - 1)};
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(vector_add(2 + i % 8));
    const size_t at = code.size();
    code.push_back(i == 0 ? always(at, 2 * count + 1) : always(at, 2 * i - 1));
  }
  return code;
}
// Any block to any other; the wave's way through it ends when its turn does.
Code tangle(unsigned count) {
  std::mt19937 random(count);
  Code code;
  for (unsigned i = 0; i < count; ++i) {
    code.push_back(vector_add(2 + i % 8));
    code.push_back(0xbf070000 | random() % 16);  // s_cmp_lg_u32 sN, s0
    code.push_back(if_scc(code.size(), 3 * (random() % count)));
  }
  return code;
}

struct Shape {
  const char* name;
  Code (*make)(unsigned);
  unsigned count;
};
void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.name;
}

class Limits : public testing::TestWithParam<Shape> {};

// A thread with as little stack as some threads have that run waves.
void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{512} << 10);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

TEST_P(Limits, SameResult) {
  Code code = GetParam().make(GetParam().count);
  code.push_back(kEndProgram);
  on_small_stack([&] {
    interpreter::TestWave by_interpreter({32, interpreter::HostTarget::x86_64_v3}),
        by_translator({32, interpreter::HostTarget::x86_64_v3});
    constexpr int64_t kTurn = 100'000;
    by_interpreter.execute(code, kTurn);
    const auto entry = reinterpret_cast<uint64_t>(code.data());
    Translator engine({{entry, entry + 4 * code.size()}}, 32, by_translator.ranges(), entry, kMaxVgprs);
    EXPECT_EQ(engine.unsupported(), "");
    by_translator.execute(engine, entry, kTurn);
    EXPECT_EQ(by_interpreter.wave().state, by_translator.wave().state);
    EXPECT_EQ(by_interpreter.wave().fault.message, by_translator.wave().fault.message);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Limits,
                         testing::Values(Shape{"loops_in_a_row", loops_in_a_row, 1200},
                                         Shape{"loops_in_loops", loops_in_loops, 1000},
                                         Shape{"straight_line", straight_line, 3000},
                                         Shape{"chain", chain, 2000}, Shape{"diamonds", diamonds, 1000},
                                         Shape{"ways_out", ways_out, 1000},
                                         Shape{"backwards", backwards, 500}, Shape{"tangle", tangle, 500},
                                         Shape{"beyond_the_limit", straight_line, 21'000}),
                         [](const auto& info) { return std::string(info.param.name); });

// What one function of the host's has to hold does not grow with the code.
TEST(Pieces, AreOfBoundedSize) {
  for (const Shape& shape : {Shape{"", loops_in_a_row, 3000}, Shape{"", loops_in_loops, 3000},
                             Shape{"", straight_line, 15'000}, Shape{"", tangle, 3000}}) {
    Code code = shape.make(shape.count);
    code.push_back(kEndProgram);
    const auto entry = reinterpret_cast<uint64_t>(code.data());
    const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
    const Routine routine = find_routine(ranges, entry, 32, kMaxVgprs);
    EXPECT_LE(routine.nodes.size(), code.size());
    unsigned next = 0;
    for (const Piece& piece : routine.pieces) {
      EXPECT_EQ(piece.first, next);
      next = piece.last;
      EXPECT_LE(routine.blocks[piece.last - 1].last - routine.blocks[piece.first].first +
                    kBlockSize * (piece.last - piece.first),
                kMaxPieceSize);
    }
    EXPECT_EQ(next, routine.blocks.size());
    EXPECT_LE(routine.pieces.size(),
              3 * (routine.nodes.size() + kBlockSize * routine.blocks.size()) / kMaxPieceSize + 2);
  }
}

// A loop that fits into a piece is not cut, nor is a long one: it is a piece of its own.
void expect_whole_loop(unsigned length, bool in_another_loop = false) {
  Code code = straight_line(150);
  const size_t head = code.size();
  for (unsigned i = 0; i < length; ++i) {
    // Of short blocks, it may be cut anywhere.
    const bool ends_block = in_another_loop && i % 40 == 39;
    code.push_back(ends_block ? if_scc(code.size(), code.size() + 1) : i % 3 == 0 ? kIsLeft : vector_add(2));
  }
  code.push_back(if_scc(code.size(), head));
  if (in_another_loop) code.push_back(if_scc(code.size(), 50));
  code.push_back(kEndProgram);
  const auto entry = reinterpret_cast<uint64_t>(code.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
  const Routine routine = find_routine(ranges, entry, 32, kMaxVgprs);
  const int begin = routine.block_at(static_cast<int64_t>(4 * head)),
            end = routine.block_at(static_cast<int64_t>(4 * (code.size() - 1)));
  ASSERT_GE(begin, 0);
  ASSERT_GE(end, 1);
  // The block before the end of the program, and of the other loop, is the loop's last one.
  EXPECT_EQ(routine.blocks[static_cast<size_t>(begin)].piece,
            routine.blocks[static_cast<size_t>(end - (in_another_loop ? 2 : 1))].piece);
}
TEST(Pieces, KeepLoopsWhole) {
  expect_whole_loop(300);
  expect_whole_loop(kMaxLoopSize - 100);
  expect_whole_loop(480, true);
}

// Of code with loops, with branches back into lines, with a call whose target two instructions make together,
// and of code that is reached in two float modes: what is found does not depend on where a step ends.
TEST(RoutineSearch, StepsFindTheSame) {
  std::vector<Code> codes;
  for (const auto make : {loops_in_a_row, loops_in_loops, straight_line, tangle}) codes.push_back(make(40));
  for (Code& code : codes) code.push_back(kEndProgram);
  for (const char* text :
       {"s_getpc_b64 s[4:5]\nv_add_nc_u32 v1, v0, v0\ns_add_u32 s4, s4, there-here\nhere:\n"
        "s_addc_u32 s5, s5, 0\ns_swappc_b64 s[6:7], s[4:5]\ns_endpgm\nthere:\n"
        "v_add_nc_u32 v2, v0, v0\ns_setpc_b64 s[6:7]\n",
        "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 both\ns_denorm_mode 0\n"
        "both:\nv_add_f32 v1, v0, v0\ns_endpgm\n"})
    codes.push_back(interpreter::assembled(text, 32));
  for (const Code& code : codes) {
    const auto entry = reinterpret_cast<uint64_t>(code.data());
    const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.size()}};
    const Routine whole = find_routine(ranges, entry, 32, kMaxVgprs);
    for (const size_t step : {1, 2, 7}) {
      RoutineSearch search(ranges, entry, 32, kMaxVgprs, kDefaultFloatMode, {});
      size_t steps = 1;
      while (!search.decode(step)) ++steps;
      EXPECT_GE(steps * step, whole.nodes.size());
      EXPECT_GE(steps, whole.nodes.size() / step);
      const Routine found = std::move(search).routine();
      EXPECT_EQ(found.key, whole.key);
      ASSERT_EQ(found.blocks.size(), whole.blocks.size());
      for (size_t b = 0; b < whole.blocks.size(); ++b)
        EXPECT_EQ(found.blocks[b].jumps, whole.blocks[b].jumps);
    }
  }
}

}  // namespace
}  // namespace lockstep::translator
