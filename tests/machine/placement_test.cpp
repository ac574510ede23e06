// Where waves are placed: CU and WGP mode, LDS sides, granules, and what the waves themselves see of it.
#include "machine/placement.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>

#include "machine/launch.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

const hardware::Description& navi31() {
  return hardware::models().front();
}

// Guide 2.3: up to 16 waves a SIMD, and all waves of a group on one work-group processor.
TEST(Placement, FillsEveryWaveSlotOfTheDevice) {
  Placement placement(navi31());
  std::map<std::pair<unsigned, unsigned>, std::set<unsigned>> slots;  // by processor and SIMD
  unsigned groups = 0;
  while (const auto group = placement.allocate({8, 32, 96, 0, true})) {
    ++groups;
    for (unsigned i = 0; i < group->waves; ++i)
      EXPECT_TRUE(slots[std::make_pair(group->processor, unsigned{group->wave[i].simd})]
                      .insert(group->wave[i].slot)
                      .second);
  }
  EXPECT_EQ(groups, 48u * 64 / 8);
  EXPECT_EQ(slots.size(), 192u);
  for (const auto& [simd, used] : slots) EXPECT_EQ(used.size(), 16u);
}

// Guide 3.3.2: granules of 24 registers of a wave32, of 12 of a wave64, in a file of 1536.
TEST(Placement, RegistersAreGivenInGranules) {
  const struct {
    unsigned wave_size, vgprs, waves;
  } cases[] = {{32, 24, 16}, {32, 96, 16}, {32, 120, 12}, {32, 192, 8},
               {32, 256, 5}, {64, 48, 16}, {64, 60, 12},  {64, 256, 2}};
  for (const auto& test : cases) {
    Placement placement(navi31());
    unsigned waves = 0;
    while (placement.allocate({1, test.wave_size, test.vgprs, 0, true})) ++waves;
    EXPECT_EQ(waves, 48 * 4 * test.waves) << test.wave_size << " " << test.vgprs;
  }
}

// Guide 2.3: a work-group processor holds 32 work-groups, those of a single wave not counted.
TEST(Placement, GroupsOfOneWaveTakeNoneOfTheProcessorsPlaces) {
  hardware::Description device = navi31();
  device.waves_per_simd = 20;
  unsigned groups = 0;
  for (Placement placement(device); placement.allocate({2, 32, 24, 0, true});) ++groups;
  EXPECT_EQ(groups, 48u * 32);
  groups = 0;
  for (Placement placement(device); placement.allocate({1, 32, 24, 0, true});) ++groups;
  EXPECT_EQ(groups, 48u * 4 * 20);
  // One on each processor leaves the 32 places to others.
  Placement placement(device);
  for (unsigned i = 0; i < 48; ++i) ASSERT_TRUE(placement.allocate({1, 32, 24, 0, true}));
  for (groups = 0; placement.allocate({2, 32, 24, 0, true});) ++groups;
  EXPECT_EQ(groups, 48u * 32);
}

// Guide 3.3.4: blocks of 1 kB in one piece; in CU mode on the side of the wave's compute unit, in WGP mode
// anywhere, the middle included.
TEST(Placement, LdsLiesOnItsSideInCuModeAndAnywhereInWgpMode) {
  for (const bool wgp_mode : {false, true}) {
    Placement placement(navi31());
    unsigned groups = 0, across = 0;
    std::set<std::pair<unsigned, unsigned>> taken;
    while (const auto group = placement.allocate({1, 32, 24, 20'000, wgp_mode})) {
      EXPECT_EQ(group->lds_blocks, 20u);
      const unsigned end = group->lds_block + group->lds_blocks;
      EXPECT_LE(end, 128u);
      if (group->lds_block < 64 && end > 64) ++across;
      if (!wgp_mode) EXPECT_EQ(group->wave[0].simd / 2u, group->lds_block / 64);
      for (unsigned block = group->lds_block; block < end; ++block)
        EXPECT_TRUE(taken.insert({group->processor, block}).second);
      ++groups;
    }
    EXPECT_EQ(groups, 48u * 6);
    EXPECT_EQ(across, wgp_mode ? 48u : 0u);
  }
}

// What the occupancy of a kernel promises is what finds room, on every device.
TEST(Placement, AgreesWithOccupancyOnEveryDevice) {
  for (const hardware::Description& device : hardware::models())
    for (const unsigned wave_size : {32u, 64u})
      for (const unsigned vgprs : {1u, 24u, 40u, 97u, 128u, 193u, 256u})
        for (const unsigned waves : {1u, 2u, 3u, 8u, 16u})
          for (const uint32_t lds : {0u, 1u, 10'000u, 40'000u, 65'536u})
            for (const bool wgp_mode : {false, true}) {
              hardware::WorkGroupNeeds needs;
              needs.wave_size = wave_size;
              needs.vgprs = vgprs;
              needs.work_items = waves * wave_size;
              needs.lds_bytes = lds;
              needs.wgp_mode = wgp_mode;
              const uint32_t promised =
                  hardware::resident_work_groups(device, needs) * device.work_group_processors();
              Placement placement(device);
              const PlacementNeeds wanted{waves, wave_size,
                                          allocated_vgprs(vgprs, wave_size, device.vgpr_granule_wave32), lds,
                                          wgp_mode};
              EXPECT_EQ(placement.ever_fits(wanted), promised != 0);
              uint32_t found = 0;
              while (placement.allocate(wanted)) ++found;
              EXPECT_EQ(found, promised)
                  << device.name << ": " << waves << " waves of " << wave_size << ", " << vgprs << " VGPRs, "
                  << lds << " bytes of LDS, WGP mode " << wgp_mode;
            }
}

// A device whose LDS is smaller than what a group may have: such a group never finds room.
TEST(Placement, LdsOfTheDeviceLimitsWhatEverFits) {
  hardware::Description device = navi31();
  device.lds_bytes_per_work_group_processor = 5 * 1024 + 512;
  const Placement placement(device);
  EXPECT_TRUE(placement.ever_fits({1, 32, 24, 5 * 1024, true}));
  EXPECT_FALSE(placement.ever_fits({1, 32, 24, 5 * 1024 + 1, true}));
  EXPECT_TRUE(placement.ever_fits({1, 32, 24, 2 * 1024, false}));
  EXPECT_FALSE(placement.ever_fits({1, 32, 24, 2 * 1024 + 1, false}));
}

// What waves of a group no longer need others get, and it is released once.
TEST(Placement, WavesThatEndLeaveTheirGroupsPlace) {
  hardware::Description device = navi31();
  device.shader_engines = device.arrays_per_shader_engine = device.work_group_processors_per_array = 1;
  Placement placement(device);
  const auto room = [&](unsigned vgprs) {
    std::vector<GroupPlacement> groups;
    while (const auto group = placement.allocate({1, 32, vgprs, 0, true})) groups.push_back(*group);
    for (const GroupPlacement& group : groups) placement.release(group);
    return groups.size();
  };
  constexpr unsigned kLarge = 256, kSmall = 24;  // 5 or 16 waves on each of 4 SIMDs
  EXPECT_EQ(room(kLarge), 20u);
  std::optional<GroupPlacement> group = placement.allocate({20, 32, kLarge, 0, true});
  ASSERT_TRUE(group);
  EXPECT_EQ(room(kLarge), 0u);
  EXPECT_EQ(room(kSmall), 4 * 9u);  // registers are scarcer than slots
  placement.release_waves(*group, 0, 0b11);
  EXPECT_EQ(room(kLarge), 2u);
  EXPECT_EQ(room(kSmall), 2 * 9u + 2 * 11u);  // on two SIMDs slots are
  placement.release_waves(*group, 0b101, 0b11);
  EXPECT_EQ(room(kLarge), 3u);
  EXPECT_FALSE(group->is_whole());
  const auto other = placement.allocate({1, 32, kLarge, 0, true});
  ASSERT_TRUE(other);
  placement.release(*group);
  EXPECT_EQ(room(kLarge), 19u);
}

// Guide 5.3: the waves of the first groups give their VGPRs back, which the last group needs to start, and
// wait for it. A wave that has ended leaves them, too, though its group goes on.
TEST(Placement, VgprsThatAreGivenBackServeOtherGroups) {
  hardware::Description device = navi31();
  device.shader_engines = device.arrays_per_shader_engine = device.work_group_processors_per_array = 1;
  const std::string wait =
      "spin: s_load_b32 s6, s[0:1], 0x0 glc\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s6, 7\n"
      "s_cbranch_scc0 spin\ns_branch end\n";
  const std::string release = "go: v_mov_b32 v0, 0\nv_mov_b32 v1, 7\nglobal_store_b32 v0, v1, s[0:1]\nend:";
  for (EngineKind engine : {EngineKind::interpreter, EngineKind::translator})
    for (unsigned threads : {1u, 4u}) {
      SCOPED_TRACE(threads);
      const auto expect_end = [&](const std::string& text, unsigned groups, unsigned block, unsigned room) {
        device.vgprs_per_simd = room * 264;  // that many waves with 256, in granules of 24
        Dispatch d(text, groups, block);
        d.launch.rsrc1 |= 1u << 29 | 63;  // WGP mode, 256 VGPRs
        d.launch.placement = std::make_shared<Placement>(device);
        d.options.threads = threads;
        d.options.engine = engine;
        std::atomic<bool> cancel = false;
        d.options.cancel = &cancel;
        d.options.progress = [&](const Progress& progress) { cancel = progress.instructions > 50'000'000; };
        const Outcome outcome = d.run();
        EXPECT_FALSE(outcome.fault);
        EXPECT_FALSE(outcome.cancelled);
        EXPECT_EQ(d.buffer[0], 7u);
      };
      expect_end(
          "s_cmp_eq_u32 s2, 4\ns_cbranch_scc1 go\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n" + wait + release, 5,
          32, 1);
      // Two of the first group's five waves end, and leave room for five of eight.
      expect_end(
          "s_cmp_eq_u32 s2, 1\ns_cbranch_scc1 go\nv_readfirstlane_b32 s7, v0\ns_cmp_lt_u32 s7, 64\n"
          "s_cbranch_scc1 end\n" +
              wait + release,
          2, 160, 2);
    }
}

// Guide 2.3: in CU mode all waves of a group are on the SIMDs of one compute unit.
TEST(Placement, CuModeKeepsAGroupOnOneComputeUnit) {
  Placement placement(navi31());
  const auto cu = placement.allocate({8, 32, 24, 0, false});
  ASSERT_TRUE(cu);
  for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(cu->wave[i].simd / 2, cu->wave[0].simd / 2);
  const auto wgp = placement.allocate({8, 32, 24, 0, true});
  ASSERT_TRUE(wgp);
  std::set<unsigned> simds;
  for (unsigned i = 0; i < 8; ++i) simds.insert(wgp->wave[i].simd);
  EXPECT_EQ(simds.size(), 4u);
  EXPECT_TRUE(placement.ever_fits({17, 32, 256, 0, true}));
  EXPECT_FALSE(placement.ever_fits({17, 32, 256, 0, false}));
}

// Pairs of bits: a work-group processor of each engine in turn, then of the engines' other arrays (Linux,
// mqd_symmetrically_map_cu_mask).
TEST(Placement, UsersMasksAreSpreadOverTheEngines) {
  const hardware::Description& device = navi31();
  ASSERT_EQ(device.shader_engines, 6u);
  ASSERT_EQ(device.arrays_per_shader_engine, 2u);
  // Pairs 1, 6 and 12: engine 1; array 1 of engine 0; the second processor of engine 0.
  const uint32_t mask[] = {3u << 2 | 3u << 12 | 3u << 24, 0, 0};
  const ComputeUnits units = ComputeUnits::of_pairs(device, mask);
  const ComputeUnits::Words expected{3u << 16 | 3u << 2, 3};
  EXPECT_EQ(units.words(), expected);
  EXPECT_FALSE(units.has_all(device));
  const uint32_t all[] = {~0u, ~0u, ~0u};
  EXPECT_TRUE(ComputeUnits::of_pairs(device, all).has_all(device));
  // Groups go nowhere else, and the device is full when these are.
  Placement placement(device);
  PlacementNeeds needs{32, 32, 96, 0, true, &units};
  unsigned found = 0;
  while (const auto group = placement.allocate(needs)) {
    EXPECT_TRUE(units.of_processor(group->shader_engine, group->shader_array, group->processor_in_array));
    ++found;
  }
  needs.units = nullptr;
  unsigned others = 0;
  while (placement.allocate(needs)) ++others;
  EXPECT_EQ(found * 45, others * 3) << found;
}

TEST(Placement, GroupsGoToTheShaderEnginesInTurnAndComeBackToWhatIsFree) {
  Placement placement(navi31());
  std::vector<GroupPlacement> groups;
  for (unsigned i = 0; i < 48; ++i) {
    groups.push_back(*placement.allocate({32, 32, 96, 65536, true}));
    EXPECT_EQ(groups.back().shader_engine, i % 6);
    EXPECT_EQ(groups.back().shader_array, i / 6 % 2);
    EXPECT_EQ(groups.back().processor_in_array, i / 12);
    // Guide 3.4.8, HW_ID1: wave slot in 4:0, SIMD in 9:8, processor in 13:10, array in 16, engine in 20:18.
    for (unsigned wave = 0; wave < 32; ++wave) {
      const WavePlace& place = groups.back().wave[wave];
      const uint32_t id = hardware_id1(groups.back(), wave);
      EXPECT_EQ(id & 31, place.slot);
      EXPECT_EQ(id >> 8 & 3, place.simd);
      EXPECT_EQ(id >> 10 & 15, i / 12);
      EXPECT_EQ(id >> 16 & 1, i / 6 % 2);
      EXPECT_EQ(id >> 18 & 7, i % 6);
    }
  }
  for (unsigned i = 0; i < 48; ++i) groups.push_back(*placement.allocate({32, 32, 96, 65536, true}));
  EXPECT_FALSE(placement.allocate({1, 32, 24, 0, true}));
  placement.release(groups[17]);
  const auto again = placement.allocate({32, 32, 96, 65536, true});
  ASSERT_TRUE(again);
  EXPECT_EQ(again->processor, groups[17].processor);
}

// Guide 3.3.2.1 and 3.3.2.2: a wave that asks for 17 VGPRs has 24 where blocks are 24, and 32 where they are
// 16; a write beyond does nothing and a read there finds VGPR 0.
TEST(Placement, WavesHaveTheBlocksOfTheirDevice) {
  for (const hardware::Description& device : hardware::models()) {
    SCOPED_TRACE(device.name);
    Dispatch d(
        "s_getreg_b32 s4, hwreg(HW_REG_GPR_ALLOC, 12, 8)\nv_mov_b32 v30, 7\nv_mov_b32 v1, v30\nv_mov_b32 v2, "
        "s4\n"
        "v_lshlrev_b32 v3, 3, v0\nglobal_store_b64 v3, v[1:2], s[0:1]",
        1, 32);
    d.launch.vgpr_count = 17;
    d.launch.placement = std::make_shared<Placement>(device);
    set_hardware(d.launch, device);
    ASSERT_FALSE(d.run().fault);
    const bool small = device.target == "gfx1102" || device.target == "gfx1103";
    EXPECT_EQ(d.buffer[2 * 5], small ? 7u : 5u);
    EXPECT_EQ(d.buffer[1], small ? 32u / 4 - 1 : 24u / 4 - 1);
  }
}

// Guide 3.4.8, DP_RATE of HW_ID1: one more than the logarithm of the double-precision lanes of a SIMD.
TEST(Placement, WavesSeeTheRateOfDoublePrecision) {
  hardware::Description device = navi31();
  for (const auto& [lanes, rate] : {std::pair{2u, 2u}, {0u, 0u}, {1u, 1u}, {4u, 3u}, {32u, 6u}}) {
    device.double_precision_lanes_per_simd = lanes;
    Dispatch d(
        "s_getreg_b32 s4, hwreg(HW_REG_HW_ID1, 29, 3)\nv_mov_b32 v1, s4\nv_mov_b32 v2, 0\n"
        "global_store_b32 v2, v1, s[0:1]",
        1, 32);
    d.launch.placement = std::make_shared<Placement>(device);
    set_hardware(d.launch, device);
    ASSERT_FALSE(d.run().fault);
    EXPECT_EQ(d.buffer[0], rate);
  }
}

// What s_getreg tells of it (guide 3.4: HW_ID1, HW_ID2, GPR_ALLOC, LDS_ALLOC).
TEST(Placement, WavesSeeWhereTheyAre) {
  std::vector<uint32_t> buffer(4096);
  std::vector<uint32_t> code = interpreter::assembled(
      "s_getreg_b32 s4, hwreg(HW_REG_HW_ID1)\ns_getreg_b32 s5, hwreg(HW_REG_HW_ID2)\n"
      "s_getreg_b32 s6, hwreg(HW_REG_GPR_ALLOC)\ns_getreg_b32 s7, hwreg(HW_REG_LDS_ALLOC)\n"
      "v_mov_b32 v1, s4\nv_mov_b32 v2, s5\nv_mov_b32 v3, s6\nv_mov_b32 v4, s7\nv_lshrrev_b32 v0, 5, v0\n"
      "v_lshl_add_u32 v0, s2, 3, v0\nv_lshlrev_b32 v0, 4, v0\nglobal_store_b128 v0, v[1:4], s[0:1]",
      32);
  Launch launch;
  launch.entry = reinterpret_cast<uint64_t>(code.data());
  launch.code = {{launch.entry, launch.entry + 4 * code.size(), 0}};
  launch.grid = {64 * 256, 1, 1};
  launch.group = {256, 1, 1};
  launch.rsrc2 = 1u << 7;
  launch.vgpr_count = 32;  // two granules of 24
  launch.lds_bytes = 3000;
  const auto address = reinterpret_cast<uint64_t>(buffer.data());
  launch.user_data = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)};
  launch.memory = std::make_shared<const RangeSet>(
      std::vector<Range>{{address, address + 4 * buffer.size(), kReadWrite, "buffer 'out'", 1}});
  launch.placement = std::make_shared<Placement>(navi31());
  for (const bool wgp_mode : {false, true}) {
    launch.rsrc1 = 0xf0u << 12 | (wgp_mode ? 1u << 29 : 0);
    RunOptions options;
    options.threads = 2;
    const Outcome outcome = run(launch, options);
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    for (unsigned group = 0; group < 64; ++group) {
      std::set<uint32_t> places, units;
      for (unsigned wave = 0; wave < 8; ++wave) {
        const uint32_t* seen = &buffer[(group * 8 + wave) * 4];
        places.insert(seen[0]);
        units.insert(seen[0] >> 8 & 2);
        EXPECT_EQ(seen[0] >> 10, buffer[group * 32] >> 10) << "another work-group processor";
        EXPECT_LT(seen[0] >> 18 & 7, 6u);
        EXPECT_EQ(seen[0] >> 29, 2u) << "two double-precision lanes";
        EXPECT_LT(seen[0] >> 10 & 15, 4u);
        EXPECT_EQ(seen[1] >> 8 & 3, 1u) << "ME 1 is compute";
        EXPECT_EQ(seen[2] >> 12, 48u / 4 - 1) << "VGPRs in fours, less one";
        EXPECT_EQ((seen[2] & 0x1ff) % 6, 0u) << "whole granules of 24";
        EXPECT_EQ(seen[3] >> 12, 3072u / 256) << "LDS in 256 bytes, whole blocks of 1 kB";
        EXPECT_EQ((seen[3] & 0x1ff) % 4, 0u);
      }
      EXPECT_EQ(places.size(), 8u);
      EXPECT_EQ(units.size(), wgp_mode ? 2u : 1u);
    }
  }
  // The device is empty again.
  unsigned groups = 0;
  while (launch.placement->allocate({32, 32, 24, 0, true})) ++groups;
  EXPECT_EQ(groups, 96u);
}

}  // namespace
}  // namespace lockstep::machine
