// What a compute wave finds when it starts: guide 3.5 (initial wave state), 3.4 (state registers) and LLVM's
// AMDGPU usage guide, "Initial Kernel Execution State" and "Kernel Descriptor".
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "machine/kernel.h"
#include "machine/placement.h"
#include "machine/reuse.h"
#include "machine/scratch_ring.h"
#include "state/trap_status.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

constexpr uint32_t kGroupIdX = 1u << 7, kGroupInfo = 1u << 10;  // of COMPUTE_PGM_RSRC2

// `read` leaves values in s20 and up; each wave stores the first `count` of them in its row of the buffer. It
// learns its number from the work-group info in s2.
std::string noting(const std::string& read, unsigned count) {
  std::string text = read + "\ns_mov_b64 exec, 1\ns_bfe_u32 s60, s2, 0x50014\ns_mul_i32 s60, s60, " +
                     std::to_string(count * 4) + "\nv_mov_b32 v200, s60\n";
  for (unsigned i = 0; i < count; ++i)
    text += "v_mov_b32 v201, s" + std::to_string(20 + i) +
            "\nglobal_store_b32 v200, v201, s[0:1] offset:" + std::to_string(4 * i) + "\n";
  return text;
}

struct Noted : Dispatch {
  const unsigned count;
  Noted(const std::string& read, unsigned count_, uint32_t items, unsigned wave_size = 32)
      : Dispatch(noting(read, count_), 1, items, wave_size), count(count_) {
    launch.rsrc2 = kGroupInfo;
  }
  uint32_t at(unsigned wave, unsigned value) const { return buffer[wave * count + value]; }
  void run_well() {
    const Outcome outcome = run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
  }
};

// The value of one hardware register in a wave of the only group.
uint32_t hardware_register(const char* name, const std::function<void(Launch&)>& change = {},
                           uint32_t items = 32) {
  Noted d(std::string("s_getreg_b32 s20, hwreg(") + name + ")", 1, items);
  if (change) change(d.launch);
  d.run_well();
  return d.at(0, 0);
}

// A card's registers, LDS and scratch hold what was there before.
TEST(InitialState, WhatNothingHasWrittenHoldsTheInitialByte) {
  for (const uint8_t byte : {0, 0x5a}) {
    Noted d(
        "s_mov_b32 s20, s9\nv_readfirstlane_b32 s21, v7\ns_mov_b32 s22, vcc_lo\nv_mov_b32 v1, 0\n"
        "ds_load_b32 v2, v1\nscratch_load_b32 v3, off, off offset:4\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
        "v_readfirstlane_b32 s23, v2\nv_readfirstlane_b32 s24, v3\nv_readfirstlane_b32 s25, v0",
        6, 32);
    d.launch.scratch_bytes = 64;
    d.launch.initial_byte = byte;
    d.run_well();
    for (unsigned value = 0; value < 5; ++value) EXPECT_EQ(d.at(0, value), 0x01010101u * byte) << value;
    EXPECT_EQ(d.at(0, 5), 0u);  // the first work-item's number
  }
}

// Guide 3.5.1: EXEC has the work-items that the wave has. M0, VCC, SCC: the guide names no value; zero here.
TEST(InitialState, ExecOfFullAndPartialWaves) {
  for (const unsigned wave_size : {32u, 64u}) {
    Noted d(
        "s_cselect_b32 s25, 1, 0\ns_mov_b32 s20, exec_lo\ns_mov_b32 s21, exec_hi\ns_mov_b32 s22, vcc_lo\n"
        "s_mov_b32 s23, vcc_hi\ns_mov_b32 s24, m0",
        6, wave_size + wave_size / 2 + 5, wave_size);
    d.run_well();
    EXPECT_EQ(d.at(0, 0), ~0u);
    EXPECT_EQ(d.at(0, 1), wave_size == 64 ? ~0u : 0u);
    EXPECT_EQ(d.at(1, 0), wave_size == 64 ? ~0u : (1u << 21) - 1);
    EXPECT_EQ(d.at(1, 1), wave_size == 64 ? (1u << 5) - 1 : 0u);
    for (unsigned wave = 0; wave < 2; ++wave)
      for (unsigned value = 2; value < 6; ++value) EXPECT_EQ(d.at(wave, value), 0u);
  }
}

// Guide table 11: user data, then the work-group ids that are enabled, then the work-group info, packed
// without gaps.
TEST(InitialState, WorkGroupIdsAndInfoFollowTheUserData) {
  for (uint32_t enabled = 0; enabled < 16; ++enabled) {
    SCOPED_TRACE(enabled);
    Dispatch d(
        "v_mov_b32 v1, s2\nv_mov_b32 v2, s3\nv_mov_b32 v3, s4\nv_mov_b32 v4, s5\nv_mov_b32 v5, 0\n"
        "global_store_b128 v5, v[1:4], s[0:1]",
        1, 32);
    d.launch.first_group = {50, 60, 70};
    d.launch.rsrc2 = enabled << 7;
    ASSERT_FALSE(d.run().fault);
    std::vector<uint32_t> expected;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (enabled >> axis & 1) expected.push_back(50 + 10 * axis);
    if (enabled & 8) expected.push_back(1u << 31 | 1);
    expected.resize(4);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(d.buffer[i], expected[i]);
  }
}

// Guide table 11: {first wave, 6 zeros, wave of the group, 2 zeros, ordered append term, waves of the group}.
TEST(InitialState, WorkGroupInfo) {
  for (const bool ordered : {false, true}) {
    Noted d("s_mov_b32 s20, s2", 1, 32 * 20);
    d.launch.ordered_append = ordered;
    d.run_well();
    for (unsigned wave = 0; wave < 20; ++wave)
      EXPECT_EQ(d.at(wave, 0), (wave == 0 ? 1u << 31 : 0) | wave << 20 | (ordered ? wave << 6 : 0) | 20u);
  }
}

// LLVM, initial VGPRs of gfx11: v0 has the work-item ids in ten bits each, as many as TIDIG_COMP_CNT enables;
// x runs fastest, and a partial group counts its own items.
TEST(InitialState, WorkItemIdsArePackedInVgpr0) {
  for (const unsigned components : {0u, 1u, 2u}) {
    Dispatch d(
        "v_mbcnt_lo_u32_b32 v2, -1, 0\nv_lshlrev_b32 v2, 2, v2\nv_lshl_add_u32 v2, s2, 8, v2\n"
        "v_or_b32 v1, v0, v1\nv_or_b32 v1, 0x80000000, v1\nglobal_store_b32 v2, v1, s[0:1]",
        1, 1);
    d.launch.group = {3, 2, 4};
    d.launch.grid = {5, 2, 4};
    d.launch.rsrc2 = kGroupIdX | components << 11;
    ASSERT_FALSE(d.run().fault);
    for (unsigned group = 0; group < 2; ++group) {
      unsigned lane = 0;
      for (unsigned z = 0; z < 4; ++z)
        for (unsigned y = 0; y < 2; ++y)
          for (unsigned x = 0; x < (group == 0 ? 3u : 2u); ++x, ++lane)
            EXPECT_EQ(d.buffer[group * 64 + lane],
                      1u << 31 | x | (components >= 1 ? y << 10 : 0) | (components >= 2 ? z << 20 : 0));
      EXPECT_EQ(d.buffer[group * 64 + lane], 0u) << "more lanes than items";
    }
  }
}

// Guide 3.4.2 and LLVM, COMPUTE_PGM_RSRC1 and 2: the bits of MODE come from those of the registers.
TEST(InitialState, Mode) {
  const struct {
    uint32_t rsrc1, rsrc2, mode;
  } cases[] = {{0, 0, 0},
               {3u << 12, 0, 3},              // FLOAT_ROUND_MODE_32
               {3u << 14, 0, 3 << 2},         // FLOAT_ROUND_MODE_16_64
               {3u << 16, 0, 3 << 4},         // FLOAT_DENORM_MODE_32
               {3u << 18, 0, 3 << 6},         // FLOAT_DENORM_MODE_16_64
               {1u << 21, 0, 1 << 8},         // ENABLE_DX10_CLAMP
               {1u << 23, 0, 1 << 9},         // ENABLE_IEEE_MODE
               {1u << 26, 0, 1 << 23},        // FP16_OVFL
               {0, 1u << 24, 1 << 12},        // invalid operation
               {0, 1u << 25, 1 << 13},        // input denormal
               {0, 1u << 26, 1 << 14},        // division by zero
               {0, 1u << 27, 1 << 15},        // overflow
               {0, 1u << 28, 1 << 16},        // underflow
               {0, 1u << 29, 1 << 17},        // inexact
               {0, 1u << 30, 1 << 18},        // integer division by zero
               {0, 1u << 13, 1 << 19},        // address watch
               {1u << 29 | 1u << 30, 0, 0}};  // WGP_MODE and MEM_ORDERED are none of MODE's
  for (const auto& test : cases) {
    SCOPED_TRACE(test.rsrc1 | uint64_t{test.rsrc2} << 32);
    EXPECT_EQ(hardware_register("HW_REG_MODE",
                                [&](Launch& launch) {
                                  launch.rsrc1 = test.rsrc1;
                                  launch.rsrc2 |= test.rsrc2;
                                }),
              test.mode);
  }
}

// Guide 3.4.1, and what of it COMPUTE_PGM_RSRC1 sets (LLVM: PRIORITY, CDBG_USER).
TEST(InitialState, Status) {
  using namespace status_bit;
  // The machine stands in for the trap handler that ROCm's runtime installs.
  constexpr uint32_t kAlways = kValid | kVccZero | kTrapEnabled;
  const auto status = [](const std::function<void(Launch&)>& change = {}, uint32_t items = 32) {
    return hardware_register("HW_REG_STATUS", change, items);
  };
  EXPECT_EQ(status(), kAlways);
  EXPECT_EQ(status({}, 33), kAlways | kInWorkGroup);
  EXPECT_EQ(status([](Launch& launch) { launch.rsrc1 |= 2u << 10; }), kAlways | 2 << kSystemPriorityShift);
  EXPECT_EQ(status([](Launch& launch) { launch.rsrc1 |= 1u << 25; }), kAlways | kConditionDebugUser);
  EXPECT_EQ(status([](Launch& launch) { launch.scratch_bytes = 4; }), kAlways | kScratchEnabled);
  EXPECT_EQ(hardware_register("HW_REG_TRAPSTS"), 0u);
}

// Guide 3.3.1.4: outside the trap handler TTMPs read as zero. SGPRs that nothing initializes are zero here.
TEST(InitialState, TrapTemporariesAndTheOtherSgprs) {
  std::string read;
  for (unsigned i = 0; i < 16; ++i) read += "s_or_b32 s20, s20, ttmp" + std::to_string(i) + "\n";
  for (unsigned i = 3; i < 106; ++i)
    if (i != 20) read += "s_or_b32 s20, s20, s" + std::to_string(i) + "\n";
  Noted d(read, 1, 32);
  d.run_well();
  EXPECT_EQ(d.at(0, 0), 0u);
}

// Guide 3.4 and 6.9: SH_MEM_BASES holds the high 16 bits of the private and the shared aperture.
TEST(InitialState, ApertureBases) {
  Noted d(
      "s_getreg_b32 s20, hwreg(HW_REG_SH_MEM_BASES)\ns_mov_b64 s[22:23], src_private_base\n"
      "s_mov_b64 s[24:25], src_private_limit\ns_mov_b64 s[26:27], src_shared_base\n"
      "s_mov_b64 s[28:29], src_shared_limit",
      10, 32);
  d.run_well();
  const uint32_t private_base = (d.at(0, 0) & 0xffff) << 16, shared_base = d.at(0, 0) & 0xffff0000;
  EXPECT_NE(private_base, 0u);
  EXPECT_NE(shared_base, 0u);
  EXPECT_NE(private_base, shared_base);
  const uint32_t expected[] = {0, private_base, ~0u, private_base, 0, shared_base, ~0u, shared_base};
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(d.at(0, 2 + i), expected[i]) << i;
}

// Guide 3.4.7 and 3.5.2: FLAT_SCRATCH is zero without scratch, else a multiple of 256, another for each wave.
TEST(InitialState, FlatScratch) {
  for (const uint32_t bytes : {0u, 20u}) {
    Noted d("s_getreg_b32 s20, hwreg(HW_REG_FLAT_SCR_LO)\ns_getreg_b32 s21, hwreg(HW_REG_FLAT_SCR_HI)", 2,
            64);
    d.launch.scratch_bytes = bytes;
    d.run_well();
    const auto base = [&](unsigned wave) { return d.at(wave, 0) | uint64_t{d.at(wave, 1)} << 32; };
    EXPECT_EQ(base(0) != 0, bytes != 0);
    EXPECT_EQ(base(0) % 256, 0u);
    EXPECT_EQ(base(0) != base(1), bytes != 0);
  }
}

// Guide 3.4.7: on a device each wave's scratch is an entry of the ring, its own while it is resident, and
// free again after that.
TEST(InitialState, FlatScratchIsAnEntryOfTheRing) {
  const hardware::Description& navi31 = hardware::models().front();
  constexpr uint32_t kWaveBytes = 5 * 256;
  std::vector<uint32_t> memory(6 * 2 * kWaveBytes / 4 + 64);
  const uint64_t ring_base = (reinterpret_cast<uint64_t>(memory.data()) + 255) / 256 * 256;
  const auto ring = std::make_shared<ScratchRing>(ring_base, kWaveBytes, navi31.shader_engines, 2);
  const auto placement = std::make_shared<Placement>(navi31);
  Reuse reuse;
  for (unsigned round = 0; round < 14; ++round) {
    SCOPED_TRACE(round);
    const bool with_scratch = round != 13;
    Noted d("s_getreg_b32 s20, hwreg(HW_REG_FLAT_SCR_LO)\ns_getreg_b32 s21, hwreg(HW_REG_FLAT_SCR_HI)", 2,
            64);
    d.launch.rsrc1 |= 1u << 29;
    d.launch.placement = placement;
    d.options.reuse = &reuse;
    if (with_scratch) {
      d.launch.scratch_bytes = 33;
      d.launch.scratch = ring;
    }
    d.run_well();
    for (unsigned wave = 0; wave < 2; ++wave) {
      const uint64_t seen = d.at(wave, 0) | uint64_t{d.at(wave, 1)} << 32;
      const unsigned engine = round % 6;
      EXPECT_EQ(seen, with_scratch ? ring_base + (wave * 6 + engine) * kWaveBytes : 0) << wave;
    }
  }
  Dispatch large("s_nop 0", 1, 96);
  large.launch.placement = placement;
  large.launch.scratch_bytes = 4;
  large.launch.scratch = ring;
  EXPECT_THROW(large.run(), std::invalid_argument) << "three waves, but two entries a shader engine";
  large.launch.group[0] = 64;
  large.launch.scratch_bytes = 41;
  EXPECT_THROW(large.run(), std::invalid_argument) << "more bytes than an entry has";
}

// Guide 3.4.8: where the wave is. Groups go round the shader engines, then their arrays, then the processors.
TEST(InitialState, HardwareIds) {
  constexpr const char* kPlaceRegisters =
      "s_getreg_b32 s20, hwreg(HW_REG_HW_ID1)\ns_getreg_b32 s21, hwreg(HW_REG_HW_ID2)\n"
      "s_getreg_b32 s22, hwreg(HW_REG_GPR_ALLOC)\ns_getreg_b32 s23, hwreg(HW_REG_LDS_ALLOC)";
  const hardware::Description& navi31 = hardware::models().front();
  const struct {
    unsigned before, engine, array, processor;
  } cases[] = {{0, 0, 0, 0}, {1, 1, 0, 0}, {5, 5, 0, 0}, {6, 0, 1, 0}, {12, 0, 0, 1}, {47, 5, 1, 3}};
  for (const auto& test : cases) {
    Noted d(kPlaceRegisters, 4, 64);
    d.launch.placement = std::make_shared<Placement>(navi31);
    d.launch.rsrc1 |= 1u << 29;
    d.launch.vmid = 5;
    d.launch.lds_bytes = 1500;
    for (unsigned i = 0; i < test.before; ++i)
      ASSERT_TRUE(d.launch.placement->allocate({2, 32, 24, 0, true}));
    d.run_well();
    for (unsigned wave = 0; wave < 2; ++wave)
      EXPECT_EQ(d.at(wave, 0), wave << 8 | test.processor << 10 | test.array << 16 | test.engine << 18 |
                                   2u << 29);  // two double-precision lanes
    constexpr uint32_t kCompute = 1;           // ME_ID
    EXPECT_EQ(d.at(0, 1), kCompute << 8 | 5 << 24);
    EXPECT_EQ(d.at(0, 2), 63u << 12) << "256 VGPRs from register 0 of the SIMD";
    EXPECT_EQ(d.at(0, 3), 2048u / 256 << 12);
  }
  // Behind a group on the same processor: the next slot, registers and LDS behind its.
  Noted d(kPlaceRegisters, 4, 64);
  d.launch.placement = std::make_shared<Placement>(navi31);
  d.launch.rsrc1 |= 1u << 29;
  for (unsigned i = 0; i < 48; ++i) ASSERT_TRUE(d.launch.placement->allocate({4, 32, 48, 3000, true}));
  d.run_well();
  EXPECT_EQ(d.at(0, 0) & 0x1f, 1u) << "wave slot";
  EXPECT_EQ(d.at(0, 1) >> 16 & 0x1f, 1u) << "work-group slot";
  EXPECT_EQ(d.at(0, 2) & 0x1ff, 48u / 4) << "registers";
  EXPECT_EQ(d.at(0, 3) & 0x1ff, 3072u / 256) << "LDS";
}

// LLVM, initial kernel execution state of gfx11: the user SGPRs come in this order, those that the descriptor
// does not enable are left out; USER_SGPR_COUNT may ask for more.
TEST(InitialState, UserSgprsFollowTheDescriptor) {
  const KernelPointers pointers{0x1111'2222'3333'0001, 0x1111'2222'3333'0002, 0x1111'2222'3333'0003,
                                0x1111'2222'3333'0004};
  for (unsigned enabled = 0; enabled < 128; ++enabled) {
    SCOPED_TRACE(enabled);
    loader::KernelDescriptor descriptor;
    descriptor.properties.private_segment_buffer = enabled & 1;
    descriptor.properties.dispatch_pointer = enabled & 2;
    descriptor.properties.queue_pointer = enabled & 4;
    descriptor.properties.kernarg_segment_pointer = enabled & 8;
    descriptor.properties.dispatch_id = enabled & 16;
    descriptor.properties.flat_scratch_init = enabled & 32;
    descriptor.properties.private_segment_size = enabled & 64;
    descriptor.rsrc2.user_sgpr_count = 16;
    std::vector<uint32_t> expected;
    const auto push = [&](unsigned bit, uint64_t value) {
      if (!(enabled & bit)) return;
      expected.push_back(static_cast<uint32_t>(value));
      expected.push_back(static_cast<uint32_t>(value >> 32));
    };
    push(1, 0);  // gfx11 finds scratch through FLAT_SCRATCH
    push(1, 0);
    push(2, pointers.packet);
    push(4, pointers.queue);
    push(8, pointers.kernarg);
    push(16, pointers.dispatch_id);
    push(32, 0);
    if (enabled & 64) expected.push_back(0x1234);
    if (expected.size() < 16) expected.resize(16);
    Launch launch;
    launch.scratch_bytes = 0x1234;
    set_registers(launch, descriptor, pointers);
    EXPECT_EQ(launch.user_data, expected);
    // Fewer than are enabled: the hardware loads no more (table 11), and the ids follow these.
    for (uint8_t count = 0; count < 16; ++count) {
      descriptor.rsrc2.user_sgpr_count = count;
      set_registers(launch, descriptor, pointers);
      EXPECT_EQ(launch.user_data, std::vector<uint32_t>(expected.begin(), expected.begin() + count));
    }
  }
}

// Guide 3.5.1: null waves start with EXEC 0. Their vector instructions do nothing from the first one on
// (3.2.3), EXECZ is set (3.4.1), a lane read takes lane 0 and a compare gives no lane (16.6, 7.2).
TEST(InitialState, NullWavesStartWithoutLanes) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string vcc = wave_size == 64 ? "vcc" : "vcc_lo";
    Noted d(
        "v_mov_b32 v0, 77\nglobal_store_b32 v0, v0, s[0:1] offset:4000\ns_mov_b32 vcc_lo, -1\nv_cmp_eq_u32 " +
            vcc +
            ", 0, 0\nv_readfirstlane_b32 s20, v0\ns_mov_b32 s21, exec_lo\ns_mov_b32 s22, exec_hi\n"
            "s_mov_b32 s23, vcc_lo\ns_getreg_b32 s24, hwreg(HW_REG_STATUS)\ns_mov_b32 s25, 1\n"
            "s_cbranch_execz skip\ns_mov_b32 s25, 0\nskip:",
        6, wave_size, wave_size);
    d.launch.null_waves = 2;
    const Outcome outcome = d.run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    EXPECT_EQ(outcome.totals.waves, 3u);
    EXPECT_EQ(d.at(0, 0), 77u);
    EXPECT_EQ(d.at(0, 5), 0u);
    for (unsigned wave = 1; wave < 3; ++wave) {
      EXPECT_EQ(d.at(wave, 0), 0u) << "v0 stays as it was";
      EXPECT_EQ(d.at(wave, 1), 0u);
      EXPECT_EQ(d.at(wave, 2), 0u);
      EXPECT_EQ(d.at(wave, 3), 0u) << "no lane compares";
      EXPECT_EQ(d.at(wave, 4) & status_bit::kExecZero, status_bit::kExecZero);
      EXPECT_EQ(d.at(wave, 5), 1u) << "s_cbranch_execz";
    }
  }
}

// Guide 3.5.1: they exit at once, and who has ended is not waited for at a barrier (5.5).
TEST(InitialState, NullWavesThatEndHoldNobodyUp) {
  Dispatch d(
      "s_cbranch_execz done\ns_barrier\nv_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 1\n"
      "global_store_b32 v1, v2, s[0:1]\ndone:",
      4, 64);
  d.launch.null_waves = 3;
  d.launch.rsrc1 |= 1u << 29;
  d.launch.placement = std::make_shared<Placement>(hardware::models().front());
  const Outcome outcome = d.run();
  ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
  EXPECT_EQ(outcome.totals.waves, 4u * 5);
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(d.buffer[i], i < 64 ? 1u : 0u);
}

TEST(InitialState, NullWavesCountAmongTheWavesOfAGroup) {
  Dispatch d("s_nop 0", 1, 1024);
  d.launch.null_waves = 1;
  EXPECT_THROW(d.run(), std::invalid_argument);
}

}  // namespace
}  // namespace lockstep::machine
