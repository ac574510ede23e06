// How programs must end, and how far ahead they may have instructions fetched (guide 2.4, 5.1, 16.5).
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

std::vector<Finding> findings_of(const std::string& text, bool processor_mode = false) {
  Dispatch d(text, 1, 32);
  d.launch.rsrc1 |= (processor_mode ? 1u : 0u) << 29;
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << text << ": " << outcome.fault->fault.message;
  return outcome.findings;
}

void expect_broken(const std::string& text, const std::string& words, bool processor_mode = false) {
  const auto findings = findings_of(text, processor_mode);
  ASSERT_EQ(findings.size(), 1u) << text;
  EXPECT_NE(findings[0].rule.find(words), std::string::npos) << findings[0].rule;
  EXPECT_NE(findings[0].rule.find("guide "), std::string::npos) << findings[0].rule;
}

TEST(ProgramRules, PrefetchDistance) {  // 16.5: modes 1 to 3, no other bit
  for (const char* good : {"1", "2", "3"})
    EXPECT_TRUE(findings_of("s_set_inst_prefetch_distance " + std::string(good)).empty()) << good;
  expect_broken("s_set_inst_prefetch_distance 0", "which is reserved");
  expect_broken("s_set_inst_prefetch_distance 4", "must be zero");
  expect_broken("s_set_inst_prefetch_distance 0x8001", "must be zero");
}

TEST(ProgramRules, Version) {  // 5.1, 16.2: in the first 16 bytes, and nothing above its eight bits
  for (unsigned before = 0; before < 4; ++before) {
    std::string text;
    for (unsigned i = 0; i < before; ++i) text += "s_nop 0\n";
    EXPECT_TRUE(findings_of(text + "s_version UC_VERSION_GFX11").empty()) << before;
  }
  expect_broken("s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\ns_version 6", "beyond the first 16 bytes");
  expect_broken("s_version UC_VERSION_GFX10", "for other hardware");
  expect_broken("s_version UC_VERSION_GFX11|UC_VERSION_W32_BIT", "must be zero");
}

TEST(ProgramRules, VersionOfTheTrapHandler) {  // 16.2: there it should be the second instruction
  for (const bool is_late : {false, true}) {
    TrapDispatch d("s_trap 5\ns_endpgm", std::string("s_branch on\n") +
                                             (is_late ? "s_nop 0\ns_nop 0\ns_nop 0\n" : "") +
                                             "on: s_version 6\n" + kNote + return_behind(4));
    d.options.precise.rules = precise::Rules::warn;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault);
    size_t versions = 0;
    for (const Finding& finding : outcome.findings)
      versions += finding.rule.find("s_version") != std::string::npos;
    EXPECT_EQ(versions, is_late ? 1u : 0u);
  }
}

TEST(ProgramRules, DirectLoadsNeedCuMode) {  // 2.3
  const std::string text = "s_mov_b32 m0, 0x20000\nlds_direct_load v1 wait_vdst:0\ns_waitcnt expcnt(0)";
  EXPECT_TRUE(findings_of(text).empty());
  expect_broken(text, "CU mode alone", true);
  EXPECT_TRUE(findings_of("s_nop 0", true).empty());
}

TEST(ProgramRules, EndsOfProgramsForOthers) {  // 5.1, 16.5
  EXPECT_TRUE(findings_of("s_nop 0\ns_endpgm").empty());
  expect_broken("s_nop 0\ns_endpgm_saved", "outside of a trap handler");
  Dispatch d("s_nop 0\n.long 0xbfb20000", 1, 32);  // s_endpgm_ordered_ps_done, which LLVM 19 lacks
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);  // whether rules are checked or not
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::unsupported);
  EXPECT_NE(outcome.fault->fault.message.find("pixel shader"), std::string::npos);
}

TEST(ProgramRules, AfterTheVgprsOnlyTheEnd) {  // 5.3, table 15
  const std::string free = "s_nop 0\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
  EXPECT_TRUE(findings_of(free + "s_endpgm").empty());
  EXPECT_TRUE(findings_of("s_sendmsg sendmsg(MSG_INTERRUPT)\ns_nop 0\ns_endpgm").empty());
  expect_broken(free + "s_nop 0\ns_endpgm", "must be s_endpgm");
  expect_broken(free + "s_waitcnt_vscnt null, 0x0\ns_nop 0\ns_endpgm", "must be s_endpgm");
}

TEST(ProgramRules, ASavedWaveEndsInTheHandler) {
  TrapDispatch d("s_trap 5\ns_endpgm", "s_endpgm_saved\n.fill 64, 4, 0xbf9f0000");
  d.options.precise.rules = precise::Rules::warn;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  EXPECT_TRUE(outcome.findings.empty()) << outcome.findings[0].rule;
}

// A program at the end of a page, so many dwords before the end of it; the page behind is mapped for the
// guest or not.
Outcome run_before_page_end(uint64_t dwords, bool next_is_mapped) {
  constexpr uint64_t kPage = 4096;
  void* pages = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint64_t begin = reinterpret_cast<uint64_t>(pages), end = begin + kPage;
  const uint32_t code[] = {0xbf800000, 0xbfb00000};  // s_nop 0, s_endpgm
  Dispatch d("s_nop 0", 1, 32);
  d.options.precise.rules = precise::Rules::fault;
  d.run();  // has the padding of the listing counted, which is not wanted here
  d.launch.entry = end - 4 * dwords - sizeof code;
  std::memcpy(reinterpret_cast<void*>(d.launch.entry), code, sizeof code);
  d.launch.code = {{d.launch.entry, d.launch.entry + sizeof code}};
  std::vector<Range> ranges = d.launch.memory->ranges();
  if (next_is_mapped) ranges.push_back({end, end + 8, kReadWrite, "data of the same file"});
  std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  d.launch.memory = std::make_shared<const RangeSet>(std::move(ranges));
  Outcome outcome = d.run();
  munmap(pages, 2 * kPage);
  return outcome;
}

TEST(ProgramRules, MemoryBehindTheEnd) {  // 2.4: 64 dwords
  for (const uint64_t dwords : {0, 1, 63}) {
    const Outcome outcome = run_before_page_end(dwords, false);
    ASSERT_TRUE(outcome.fault) << dwords;
    EXPECT_EQ(outcome.fault->fault.kind, FaultKind::broken_rule);
    EXPECT_NE(outcome.fault->fault.message.find("guide 2.4"), std::string::npos);
    EXPECT_FALSE(run_before_page_end(dwords, true).fault) << dwords;
  }
  EXPECT_FALSE(run_before_page_end(64, false).fault);
}

TEST(ProgramRules, WithoutLimitsOfMemoryNothingIsKnownOfIt) {
  Dispatch d("s_nop 0", 1, 32);
  d.options.precise.rules = precise::Rules::warn;
  d.launch.memory = nullptr;
  EXPECT_TRUE(d.run().findings.empty());
}

}  // namespace
}  // namespace lockstep::machine
