// What is said of code without running it, and what must not be said.
#include "observe/code/code_checker.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::observe {
namespace {

constexpr uint64_t kAddress = 0x1000;

// The findings of a kernel, a line each: dword of the code, severity if it is a note, rule.
std::string told(std::string_view text, const CodeChecks& checks = {}, unsigned wave_size = 32,
                 std::vector<size_t> functions = {}, size_t padding = 64) {
  std::vector<uint32_t> words = interpreter::assembled(text, wave_size);
  words.resize(words.size() + padding, 0xbf9f0000);  // s_code_end
  Code code;
  code.bytes = std::as_bytes(std::span(words));
  code.address = kAddress;
  code.mapped_end = code.end();
  code.function_begins = {kAddress};
  std::vector<Root> roots = {{kAddress, wave_size, true}};
  for (const size_t dword : functions) {
    code.function_begins.insert(kAddress + 4 * dword);
    roots.push_back({kAddress + 4 * dword, wave_size});
  }
  std::string all;
  for (const Finding& finding : check_code(code, roots, checks)) {
    EXPECT_EQ(finding.count, 0u);
    all += std::to_string((finding.pc - kAddress) / 4) +
           (finding.detail.severity == Severity::note ? " note: " : ": ") + finding.rule + "\n";
  }
  return all;
}

std::string waits(std::string_view text, std::vector<size_t> functions = {}) {
  return told(text, {.waits = true, .legality = false}, 32, std::move(functions));
}
std::string legality(std::string_view text, unsigned wave_size = 32, size_t padding = 64) {
  return told(text, {.waits = false, .legality = true}, wave_size, {}, padding);
}

TEST(CodeChecker, AWaitMustBeOnEveryPath) {
  const std::string begin = "s_load_b64 s[4:5], s[0:1], 0x0\ns_cbranch_scc0 skip\n", end = "skip:\n";
  const std::string use = "s_mov_b64 s[6:7], s[4:5]\ns_endpgm\n";
  EXPECT_EQ(waits(begin + "s_waitcnt lgkmcnt(0)\n" + end + use),
            "4: s_mov_b64 reads s4 before s_load_b64 (0x10 bytes before it in the code) is known to have "
            "written it (guide 5.6): put s_waitcnt lgkmcnt(0) between them\n");
  EXPECT_EQ(waits(begin + end + "s_waitcnt lgkmcnt(0)\n" + use), "");
  // The other path ends before the use.
  EXPECT_EQ(waits("s_load_b64 s[4:5], s[0:1], 0x0\ns_cbranch_scc0 wait\ns_endpgm\nwait:\n"
                  "s_waitcnt lgkmcnt(0)\n" +
                  use),
            "");
}

TEST(CodeChecker, WhatCompletesInOrderNeedsNoZero) {
  const std::string loads = "global_load_b32 v1, v0, s[0:1]\nglobal_load_b32 v2, v0, s[0:1] offset:4\n";
  EXPECT_EQ(waits(loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v3, v1\ns_endpgm\n"), "");
  EXPECT_EQ(waits(loads + "s_waitcnt vmcnt(1)\nv_mov_b32 v3, v2\ns_endpgm\n").substr(0, 24),
            "5: v_mov_b32 reads v2 be");
  // Scalar loads come in any order.
  EXPECT_NE(waits("s_load_b32 s4, s[0:1], 0x0\ns_load_b32 s5, s[0:1], 0x4\ns_waitcnt lgkmcnt(1)\n"
                  "s_mov_b32 s6, s4\ns_endpgm\n"),
            "");
  EXPECT_NE(waits(loads + "v_mov_b32 v1, 0\ns_endpgm\n").find("overwrites v1"), std::string::npos);
}

// One path issues another load behind the first one, for which vmcnt(1) is enough; the other does not.
TEST(CodeChecker, TheShortestPathCounts) {
  const auto text = [](unsigned limit) {
    return "global_load_b32 v1, v0, s[0:1]\ns_cbranch_scc0 skip\n"
           "global_load_b32 v2, v0, s[0:1] offset:4\nskip:\ns_waitcnt vmcnt(" +
           std::to_string(limit) + ")\nv_mov_b32 v3, v1\ns_waitcnt vmcnt(0)\ns_endpgm\n";
  };
  EXPECT_EQ(waits(text(0)), "");
  const std::string found = waits(text(1));
  EXPECT_EQ(found.substr(0, found.find(" before")), "6: v_mov_b32 reads v1");
  EXPECT_NE(found.find("vmcnt(0)"), std::string::npos);
}

TEST(CodeChecker, LoopsComeBackWithWhatIsUnderWay) {
  const auto text = [](std::string_view wait) {
    return "v_mov_b32 v1, 0\nagain:\n" + std::string(wait) +
           "v_add_nc_u32 v2, v1, v2\nglobal_load_b32 v1, v0, s[0:1]\ns_cbranch_scc1 again\ns_endpgm\n";
  };
  EXPECT_EQ(waits(text("")),
            "1: v_add_nc_u32 reads v1 before global_load_b32 (0x4 bytes behind it in the code) is known to "
            "have written it (guide 5.6): put s_waitcnt vmcnt(0) between them\n");
  EXPECT_EQ(waits(text("s_waitcnt vmcnt(0)\n")), "");
}

// A limit in a register may be zero.
TEST(CodeChecker, LimitsThatOnlyARunKnowsMakeSure) {
  const std::string load = "global_load_b32 v1, v0, s[0:1]\n", use = "v_mov_b32 v2, v1\ns_endpgm\n";
  EXPECT_EQ(waits(load + ".long 0xbc83003f\n" + use), "");
  EXPECT_NE(waits(load + "s_waitcnt_vmcnt null, 0x3f\n" + use), "");
}

// FLAT loads raise two counters, and who knows that the address is not in LDS waits for one.
TEST(CodeChecker, FlatLoadsNeedOneOfTheirWaits) {
  const std::string load = "flat_load_b32 v1, v[2:3]\n", use = "v_mov_b32 v2, v1\ns_endpgm\n";
  EXPECT_NE(waits(load + use), "");
  EXPECT_EQ(waits(load + "s_waitcnt vmcnt(0)\n" + use), "");
  EXPECT_EQ(waits(load + "s_waitcnt lgkmcnt(0)\n" + use), "");
}

// Its dwords: the load, at 2 s_getpc_b64, at 6 the call, at 9 the callee.
std::string call(std::string_view use_in_callee) {
  return "s_load_b64 s[4:5], s[2:3], 0x0\ns_getpc_b64 s[0:1]\nnext:\ns_add_u32 s0, s0, callee-next\n"
         "s_addc_u32 s1, s1, 0\ns_swappc_b64 s[30:31], s[0:1]\ns_mov_b32 s6, s4\ns_endpgm\ncallee:\n" +
         std::string(use_in_callee) + "s_setpc_b64 s[30:31]\n";
}

TEST(CodeChecker, CallsAreFollowedWhereTheCodeNamesTheirTarget) {
  const std::string found = waits(call("s_mov_b32 s7, s5\n"), {9});
  EXPECT_EQ(found.substr(0, found.find(" before")), "9: s_mov_b32 reads s5");
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1);
  EXPECT_EQ(waits(call("s_waitcnt lgkmcnt(0)\n"), {9}), "");
}

TEST(CodeChecker, WhereItCannotFollowItSaysSo) {
  EXPECT_EQ(
      waits("s_swappc_b64 s[30:31], s[0:1]\ns_endpgm\n"),
      "0 note: a call to an address that only a run knows: what is called is looked at by itself, if it "
      "is a function of this code\n");
  EXPECT_EQ(waits("s_setpc_b64 s[0:1]\n"),
            "0 note: a jump to an address that only a run knows: what stands there is not looked at\n");
  EXPECT_EQ(waits("s_endpgm\ns_setpc_b64 s[30:31]\n", {1}), "");
}

TEST(CodeChecker, RulesOfClausesHintsPairsAndOperands) {
  EXPECT_EQ(legality("s_nop 0\ns_endpgm\n"), "");
  EXPECT_NE(legality("s_clause 0x1\nglobal_load_b32 v1, v0, s[0:1]\nv_mov_b32 v2, 0\ns_endpgm\n")
                .find("3: v_mov_b32 inside a buffer, global or scratch load clause"),
            std::string::npos);
  EXPECT_NE(legality("s_delay_alu 8\nv_mov_b32 v1, v0\ns_endpgm\n").find("0: s_delay_alu with a reserved"),
            std::string::npos);
  EXPECT_NE(legality("v_cmpx_eq_u32 v0, v1\ns_nop 0\nv_permlane16_b32 v0, v1, s0, s1\ns_endpgm\n")
                .find("2: v_permlane16_b32 behind v_cmpx"),
            std::string::npos);
  EXPECT_NE(legality("s_waitcnt_depctr 0xffff\ns_endpgm\n").find("waits for nothing"), std::string::npos);
  EXPECT_NE(legality("s_nop 0\n.long 0xffffffff\n").find("bytes that are no instruction"), std::string::npos);
}

TEST(CodeChecker, CodeNeedsPaddingBehindIt) {
  EXPECT_NE(legality("s_endpgm\n", 32, 10).find("0: the program ends less than 256 bytes before"),
            std::string::npos);
}

// A wave that comes from elsewhere has no clause: what stands before its target in memory was not executed.
TEST(CodeChecker, WhatIsNotExecutedBeforeDoesNotCount) {
  EXPECT_EQ(legality("s_branch next\ns_clause 0x1\nnext:\nv_mov_b32 v1, 0\ns_endpgm\n"), "");
  EXPECT_EQ(legality("s_cbranch_scc0 next\ns_endpgm\n.long 0xffffffff\nnext:\ns_endpgm\n"), "");
}

}  // namespace
}  // namespace lockstep::observe
