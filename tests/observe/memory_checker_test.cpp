// Accesses that the machine lets pass, but that the kernel was not given.
#include "observe/memory/memory_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "hardware/hardware.h"
#include "machine/placement.h"
#include "machine/scratch_ring.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::observe {
namespace {

struct Checked {
  Findings findings;
  Blocks blocks;
  MemoryChecker checker;
  machine::Dispatch dispatch;
  machine::Outcome outcome;
  std::vector<Finding> all;

  explicit Checked(std::string_view text, size_t words = 64, uint32_t lds = 100,
                   std::vector<Range> freed = {}, uint64_t handed_out = 0)
      : checker(findings, std::move(freed), &blocks), dispatch(text, 1, 32, 32, words) {
    dispatch.launch.lds_bytes = lds;
    blocks.add(dispatch.address(), handed_out);
    dispatch.options.precise.listener = &checker;
    outcome = dispatch.run();
    all = findings.all();
  }
};

TEST(MemoryChecker, GoodAccessesAreNoFinding) {
  Checked c(
      "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 96\nds_load_b32 v3, v2\nglobal_store_b32 v1, v3, s[0:1]\n"
      "s_load_b64 s[4:5], s[0:1], 0\n");
  EXPECT_TRUE(c.all.empty());
}

TEST(MemoryChecker, BytesBehindABuffer) {
  // Of 30 dwords, the last two lanes read what fills up the block of 16 bytes.
  Checked c("v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\n", 30);
  ASSERT_EQ(c.all.size(), 1u);
  const Finding& finding = c.all[0];
  EXPECT_STREQ(finding.checker, "memory");
  EXPECT_EQ(finding.pc, c.dispatch.pc(1));
  EXPECT_EQ(finding.detail.lanes, 3u << 30);
  EXPECT_EQ(finding.detail.address, c.dispatch.address() + 120);
  EXPECT_EQ(finding.detail.text, "0 bytes behind the end of buffer 'out' of 120 bytes");
}

TEST(MemoryChecker, AtomicsThatAreNotAligned) {
  Checked c("v_mov_b32 v1, 4\nglobal_atomic_add_u64 v1, v[2:3], s[0:1]\n");
  ASSERT_EQ(c.all.size(), 1u);
  EXPECT_EQ(c.all[0].rule, "global_atomic_add_u64 has an address that the machine does not take");
  EXPECT_EQ(c.all[0].detail.address, c.dispatch.address() + 4);
  EXPECT_EQ(c.all[0].detail.lanes, 1u);
}

// Compilers widen scalar loads to what is aligned.
TEST(MemoryChecker, ScalarLoadsMayReadTheRestOfABlock) {
  Checked c("s_load_b128 s[4:7], s[0:1], 0x70\n", 30);
  EXPECT_FALSE(c.outcome.fault);
  EXPECT_TRUE(c.all.empty());
}

TEST(Blocks, AreFoundByTheirPages) {
  Blocks blocks;
  blocks.add(0x10000, 100);
  blocks.add(0x12000, 4097);
  EXPECT_EQ(blocks.at(0x10000 + 4095)->begin, 0x10000u);
  EXPECT_FALSE(blocks.at(0xffff));
  EXPECT_FALSE(blocks.at(0x11000));
  EXPECT_EQ(blocks.at(0x13fff)->end(), 0x13001u);
  blocks.remove(0x12004);  // no block begins there
  blocks.remove(0x12000);
  EXPECT_FALSE(blocks.at(0x12000));
  EXPECT_EQ(blocks.freed_at(0x13fff)->bytes, 4097u);
  EXPECT_FALSE(blocks.freed_at(0x14000));
  // What was freed without a word gives way.
  blocks.add(0xf000, 0x2000);
  EXPECT_EQ(blocks.at(0x10000)->begin, 0xf000u);
  blocks.add(0x10800, 8);
  EXPECT_FALSE(blocks.at(0xf000));
  blocks.add(0x20000, 0);
  blocks.add(~uint64_t{0}, 8);
  EXPECT_FALSE(blocks.at(0x20000));
  EXPECT_FALSE(blocks.at(~uint64_t{0}));
}

// Of a range of 4096 bytes the program's runtime has handed out 120.
TEST(MemoryChecker, BytesBehindABlock) {
  const std::string_view text =
      "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\ns_load_b32 s4, s[0:1], 0x78\n"
      "s_load_b128 s[4:7], s[0:1], 0x70\n";
  EXPECT_TRUE(Checked(text, 1024).all.empty());
  Checked c(text, 1024, 100, {}, 120);
  EXPECT_FALSE(c.outcome.fault);
  ASSERT_EQ(c.all.size(), 2u);
  EXPECT_EQ(c.all[0].pc, c.dispatch.pc(1));
  EXPECT_EQ(c.all[0].detail.lanes, 3u << 30);
  EXPECT_EQ(c.all[0].detail.text, "0 bytes behind the end of an allocation of 120 bytes");
  EXPECT_EQ(c.all[1].pc, c.dispatch.pc(3));
}

TEST(MemoryChecker, LdsBeyondWhatWasAskedFor) {
  Checked block("v_mov_b32 v1, 100\nds_load_b32 v2, v1\n");
  ASSERT_EQ(block.all.size(), 1u);
  EXPECT_NE(block.all[0].rule.find("beyond what the kernel asked for"), std::string::npos);
  EXPECT_EQ(block.all[0].detail.text,
            "the kernel asked for 100 bytes of LDS, and offset 0x64 is 0 bytes behind them");
  Checked nothing("v_mov_b32 v1, 0x8000\nds_store_b32 v1, v2\n");
  ASSERT_EQ(nothing.all.size(), 1u);
  EXPECT_NE(nothing.all[0].rule.find("that the work-group does not have"), std::string::npos);
}

// Of a ring in guest memory loads read what others have there, in the order of issue and when results are
// late.
TEST(MemoryChecker, ScratchBeyondTheWorkItems) {
  const hardware::Description& navi31 = hardware::models().front();
  for (const precise::Results results : {precise::Results::now, precise::Results::late}) {
    Findings findings;
    MemoryChecker checker(findings, {});
    machine::Dispatch d(
        "scratch_load_b32 v2, off, off offset:4\nscratch_load_b64 v[2:3], off, off offset:4\n"
        "s_waitcnt vmcnt(0)\nv_lshlrev_b32 v1, 2, v0\nglobal_store_b32 v1, v3, s[0:1]",
        1, 32, 32, 4096);
    std::fill(d.buffer.begin() + 64, d.buffer.end(), 77);
    d.launch.scratch_bytes = 8;
    d.launch.placement = std::make_shared<machine::Placement>(navi31);
    d.launch.scratch = std::make_shared<machine::ScratchRing>((d.address() + 256 + 255) / 256 * 256, 256,
                                                              navi31.shader_engines, 2);
    d.options.precise.listener = &checker;
    d.options.precise.results = results;
    const machine::Outcome outcome = d.run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d.buffer[lane], 77u);
    ASSERT_EQ(findings.all().size(), 1u);
    const Finding finding = findings.all()[0];
    EXPECT_EQ(finding.pc, d.pc(2));
    EXPECT_EQ(finding.detail.lanes, 0xffffffffu);
    EXPECT_EQ(finding.detail.text,
              "the work-item has 8 bytes of scratch, and the access at 0x4 goes on to 0xc");
  }
}

TEST(MemoryChecker, WhatABufferResourceDrops) {
  Checked c(
      "s_mov_b32 s2, 64\ns_mov_b32 s3, 0x31016000\nv_lshlrev_b32 v1, 2, v0\n"
      "buffer_load_b32 v2, v1, s[0:3], 0 offen\n");
  ASSERT_EQ(c.all.size(), 1u);
  EXPECT_EQ(c.all[0].detail.lanes, 0xffff0000u);
  EXPECT_EQ(c.all[0].count, 1u);
}

TEST(MemoryChecker, SaysOfAFaultThatTheBufferWasFreed) {
  static uint32_t gone[64];
  const auto address = reinterpret_cast<uint64_t>(gone);
  char text[200];
  std::snprintf(text, sizeof text,
                "s_mov_b32 s4, 0x%x\ns_mov_b32 s5, 0x%x\nv_mov_b32 v1, 8\nglobal_load_b32 v2, v1, s[4:5]\n",
                static_cast<unsigned>(address), static_cast<unsigned>(address >> 32));
  Checked c(text, 64, 100, {{address, address + sizeof gone, kReadWrite, "buffer 'gone'"}});
  ASSERT_TRUE(c.outcome.fault);
  ASSERT_EQ(c.all.size(), 1u);
  EXPECT_EQ(c.all[0].detail.text, "buffer 'gone' was there, which has been freed: 8 bytes into it");
}

}  // namespace
}  // namespace lockstep::observe
