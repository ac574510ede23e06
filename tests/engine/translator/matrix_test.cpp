// Matrix instructions in the middle of translated code, which calls what computes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/translator/classify.h"
#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

struct Form {
  const char* name;
  unsigned operand_registers;  // of A and of B
  bool has_halves;             // C and D in halves of registers
  bool is_integer;
};
constexpr Form kForms[] = {{"f32_16x16x16_f16", 8, false, false}, {"f32_16x16x16_bf16", 8, false, false},
                           {"f16_16x16x16_f16", 8, true, false},  {"bf16_16x16x16_bf16", 8, true, false},
                           {"i32_16x16x16_iu8", 4, false, true},  {"i32_16x16x16_iu4", 2, false, true}};

std::string group(unsigned first, unsigned count) {
  return "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

// D, A, B and C from these registers on.
struct Places {
  unsigned d, a, b, c;
};
std::string matrix(const Form& form, const Places& places, unsigned wave_size,
                   const std::string& modifiers = "", const std::string& constant = "") {
  const unsigned sums = wave_size == 32 ? 8 : 4;
  return "v_wmma_" + std::string(form.name) + " " + group(places.d, sums) + ", " +
         group(places.a, form.operand_registers) + ", " + group(places.b, form.operand_registers) + ", " +
         (constant.empty() ? group(places.c, sums) : constant) + modifiers + "\n";
}

// Numbers of the usual size in v[16:63]: what registers begin with are bits of any kind.
std::string numbers() {
  std::string text = "s_mov_b32 s61, 0x3dff3dff\n";
  for (unsigned r = 16; r < 64; ++r)
    text += "v_and_b32 v" + std::to_string(r) + ", s61, v" + std::to_string(r) + "\n";
  return text;
}

void expect_equal(const std::string& text, const Start& start) {
  const Routine routine = routine_of(text, start.wave_size);
  EXPECT_TRUE(std::ranges::any_of(routine.nodes, [](const Node& node) {
    return node.kind == NodeKind::matrix;
  })) << text;
  for (const Node& node : routine.nodes)
    EXPECT_TRUE(node.kind != NodeKind::call && node.kind != NodeKind::step) << text << node.reason;
  EXPECT_EQ(compare(text, start), "") << text;
}

constexpr Places kApart{.d = 16, .a = 24, .b = 32, .c = 40};

TEST(Matrix, ComputesOnWhatTheCodeHoldsAndGivesItBack) {
  for (const unsigned wave_size : {32u, 64u})
    for (const Form& form : kForms)
      for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x00ff'0f0f'1234'0f0f}, uint64_t{0}}) {
        const std::string product = matrix(form, kApart, wave_size);
        expect_equal(numbers() + "s_mov_b32 s60, 3\nloop:\nv_xor_b32 v24, 1, v24\n" + product +
                         "v_and_b32 v40, 0x3fff3fff, v16\nv_add_nc_u32 v2, v16, v17\n"
                         "s_sub_u32 s60, s60, 1\ns_cmp_lg_u32 s60, 0\ns_cbranch_scc1 loop\n" +
                         "v_add_nc_u32 v3, v18, v19",
                     {.wave_size = wave_size, .exec = exec, .seed = 4});
      }
}

TEST(Matrix, OperandsMayBeTheSameRegisters) {
  for (const unsigned wave_size : {32u, 64u})
    for (const Form& form : kForms)
      for (const Places& places : {Places{16, 24, 24, 16}, Places{24, 24, 32, 40}, Places{32, 24, 32, 33},
                                   Places{40, 24, 32, 41}, Places{41, 24, 32, 40}})
        expect_equal(numbers() + "v_xor_b32 v25, 3, v25\n" + matrix(form, places, wave_size) +
                         "v_add_nc_u32 v2, v24, v41",
                     {.wave_size = wave_size, .seed = 5});
}

TEST(Matrix, Constants) {
  for (const unsigned wave_size : {32u, 64u})
    for (const Form& form : kForms)
      for (const char* constant : {"0", "1", "-16", "64", "0.5", "-4.0"})
        for (const char* half : {"", " op_sel:[0,0,1]"}) {
          if (*half && !form.has_halves) continue;
          expect_equal(
              numbers() + matrix(form, kApart, wave_size, half, constant) + "v_add_nc_u32 v2, v16, v17",
              {.wave_size = wave_size, .seed = 6});
        }
}

TEST(Matrix, Modifiers) {
  for (const unsigned wave_size : {32u, 64u})
    for (const Form& form : kForms) {
      std::vector<std::string> modifiers;
      if (form.is_integer) {
        for (const char* clamp : {"", " clamp"})
          for (const char* sign : {"", " neg_lo:[1,0,0]", " neg_lo:[0,1,0]", " neg_lo:[1,1,0]"})
            modifiers.push_back(std::string(sign) + clamp);
      } else {
        for (unsigned low = 0; low < 8; ++low)
          for (unsigned high = 0; high < 8; ++high) {
            const auto list = [](unsigned bits) {
              return "[" + std::to_string(bits & 1) + "," + std::to_string(bits >> 1 & 1) + "," +
                     std::to_string(bits >> 2) + "]";
            };
            modifiers.push_back(" neg_lo:" + list(low) + " neg_hi:" + list(high));
          }
        if (form.has_halves) modifiers.push_back(" op_sel:[0,0,1]");
      }
      // All results are in a sum. Integers are where it takes little to saturate them.
      std::string text = numbers();
      for (unsigned r = 40; form.is_integer && r < 48; ++r)
        text += "v_mov_b32 v" + std::to_string(r) + (r % 2 ? ", 0x7fffffff\n" : ", 0x80000000\n");
      for (const std::string& each : modifiers) {
        text += matrix(form, kApart, wave_size, each);
        for (unsigned r = 0; r < 4; ++r) {
          const std::string sum = "v" + std::to_string(r);
          text += "v_add3_u32 " + sum + ", " + sum + ", " + sum + ", v" + std::to_string(16 + r) + "\n";
        }
      }
      expect_equal(text, {.wave_size = wave_size, .seed = 7});
    }
}

// Bits of any kind are NaNs and denormals, too.
TEST(Matrix, AnyBitsInAnyMode) {
  for (const Form& form : kForms)
    for (const char* mode :
         {"s_denorm_mode 0\n", "s_denorm_mode 15\n", "s_round_mode 1\n", "s_round_mode 0xf\n"})
      expect_equal(
          mode + matrix(form, kApart, 32) + "v_add_nc_u32 v2, v16, v17\ns_denorm_mode 15\ns_round_mode 0",
          {.seed = 8});
}

}  // namespace
}  // namespace lockstep::translator
