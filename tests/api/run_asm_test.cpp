// run_asm as tinygrad's mock driver calls it, with fifteen arguments and with nine.
#include "api/run_asm.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "api/lockstep.hpp"

namespace {

// The instructions of a listing, out of the code object that it assembles to.
std::vector<uint32_t> assemble(const std::string& text) {
  auto code = lockstep::CodeObject::compile(LOCKSTEP_ASSEMBLY, text, "test.s");
  std::vector<uint32_t> words;
  lockstep::check(lockstep_code_object_disassemble(
      code.get(), nullptr,
      [](void* user, const lockstep_listing_line* l) {
        auto* out = static_cast<std::vector<uint32_t>*>(user);
        size_t at = out->size();
        out->resize(at + l->size / 4);
        std::memcpy(out->data() + at, l->bytes, l->size);
        return std::strcmp(l->text, "s_endpgm") == 0 ? 1 : 0;
      },
      &words));
  return words;
}

// out[group * 32 + lane] = group * 100 + lane, with the group's number in `group_sgpr`.
std::vector<uint32_t> store_kernel(const std::string& group_sgpr) {
  return assemble(
      "s_load_b64 s[4:5], s[0:1], 0x0\n"
      "v_and_b32 v0, 0x3ff, v0\n"
      "s_mul_i32 s6, " +
      group_sgpr +
      ", 100\n"
      "v_add_nc_u32 v1, s6, v0\n"
      "s_lshl_b32 s7, " +
      group_sgpr +
      ", 5\n"
      "v_add_nc_u32 v2, s7, v0\n"
      "v_lshlrev_b32 v2, 2, v2\n"
      "s_waitcnt lgkmcnt(0)\n"
      "global_store_b32 v2, v1, s[4:5]\n"
      "s_endpgm\n");
}

class RunAsm : public testing::Test {
 protected:
  void TearDown() override { run_asm_set_mem_ranges(nullptr, 0); }

  void expect_result() {
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i / 32 * 100 + i % 32) << i;
  }

  std::vector<uint32_t> out = std::vector<uint32_t>(96);
  uint64_t arguments[1] = {reinterpret_cast<uint64_t>(out.data())};
};

constexpr uint32_t kRsrc1 = 0xc0u << 12;
constexpr uint32_t kGroupIdX = 1u << 7;

TEST_F(RunAsm, FifteenArguments) {
  std::vector<uint32_t> code = store_kernel("s2");
  EXPECT_EQ(run_asm(code.data(), code.size() * 4, 3, 1, 1, 32, 1, 1, arguments, 2u << 1 | kGroupIdX, 0,
                    kRsrc1, "rdna3", nullptr, 0),
            0);
  expect_result();
}

TEST_F(RunAsm, UserDataInPlaceOfArguments) {
  std::vector<uint32_t> code = store_kernel("s4");
  code[0] = assemble("s_load_b64 s[4:5], s[2:3], 0x0\ns_endpgm")[0];
  uint64_t at = reinterpret_cast<uint64_t>(arguments);
  uint32_t user_data[4] = {1, 2, static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32)};
  // s4 is overwritten by the load; the group's number moves first.
  std::vector<uint32_t> move = assemble("s_mov_b32 s8, s4\ns_endpgm");
  std::vector<uint32_t> rest = store_kernel("s8");
  rest[0] = code[0];
  std::vector<uint32_t> all(move.begin(), move.end() - 1);
  all.insert(all.end(), rest.begin(), rest.end());
  EXPECT_EQ(run_asm(all.data(), all.size() * 4, 3, 1, 1, 32, 1, 1, nullptr, 4u << 1 | kGroupIdX, 0, kRsrc1,
                    "rdna3", user_data, 4),
            0);
  expect_result();
}

TEST_F(RunAsm, NineArguments) {
  // What a caller of the short form does: the other six are whatever its stack holds.
  std::vector<uint32_t> code = store_kernel("s15");
  auto call = [&](const char* garbage) {
    return run_asm(code.data(), code.size() * 4, 3, 1, 1, 32, 1, 1, arguments, 0xdeadbeef, 0xffffffff,
                   0x12345678, garbage, reinterpret_cast<const uint32_t*>(8), 77);
  };
  EXPECT_EQ(call(nullptr), 0);
  expect_result();
  std::fill(out.begin(), out.end(), 0);
  EXPECT_EQ(call(reinterpret_cast<const char*>(0x123456)), 0);
  expect_result();
  std::fill(out.begin(), out.end(), 0);
  EXPECT_EQ(call("something"), 0);
  expect_result();
}

TEST_F(RunAsm, RangesAreChecked) {
  std::vector<uint32_t> code = store_kernel("s2");
  auto call = [&] {
    return run_asm(code.data(), code.size() * 4, 3, 1, 1, 32, 1, 1, arguments, 2u << 1 | kGroupIdX, 0, kRsrc1,
                   "rdna3", nullptr, 0);
  };
  uint64_t pairs[4] = {reinterpret_cast<uint64_t>(arguments), sizeof arguments, arguments[0], out.size() * 4};
  run_asm_set_mem_ranges(pairs, 2);
  EXPECT_EQ(call(), 0);
  pairs[3] -= 4;
  run_asm_set_mem_ranges(pairs, 2);
  testing::internal::CaptureStderr();
  EXPECT_NE(call(), 0);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("work-group (2, 0, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("global_store_b32"), std::string::npos) << text;
}

TEST_F(RunAsm, BadCallsSayWhy) {
  std::vector<uint32_t> code = store_kernel("s2");
  auto message = [&](const void* at, uint32_t bytes, uint32_t gx, uint32_t lx) {
    testing::internal::CaptureStderr();
    EXPECT_NE(run_asm(at, bytes, gx, 1, 1, lx, 1, 1, arguments, 2u << 1, 0, kRsrc1, "rdna3", nullptr, 0), 0);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(message(nullptr, 4, 1, 1).find("null"), std::string::npos);
  EXPECT_NE(message(code.data(), 0, 1, 1).find("4 bytes"), std::string::npos);
  EXPECT_NE(message(code.data(), 4, 0, 1).find("is 0"), std::string::npos);
  EXPECT_NE(message(code.data(), 4, 1, 2000).find("1024"), std::string::npos);
  const uint32_t nonsense[] = {0xffffffff, 0xffffffff};
  EXPECT_FALSE(message(nonsense, 8, 1, 32).empty());
}

}  // namespace
