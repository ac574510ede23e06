// Caches that are not coherent (guide 1.2.3, 4.1.1, 9.1): stale values, and what makes them fresh.
#include "engine/precise/caches.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "hardware/hardware.h"
#include "machine/placement.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// Group 0 is a reader, group 1 a writer on another array; or one group in WGP mode whose two waves are on the
// two compute units of a processor. The reader reads dword 0 (0 there), tells so by dword 64, waits by GLC
// loads until dword 128 is set, and reads dword 0 again `in_between` later, into dword 256. The writer stores
// 1 to dword 0. Dword 512 is in another line of 128 bytes than each of these.
enum class Who { two_arrays, two_units, one_unit };

uint32_t second_read(const std::string& in_between, const std::string& load, Who who,
                     precise::Caches caches = precise::Caches::incoherent,
                     const std::string& write = "global_store_b32 v4, v1, s[0:1]",
                     const precise::CacheLayout& layout = {}) {
  const std::string reader_if =
      who == Who::two_arrays ? "s_cmp_eq_u32 s2, 0\n" : "v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\n";
  Dispatch d(reader_if +
                 "s_mov_b32 exec_lo, 1\nv_mov_b32 v1, 1\nv_mov_b32 v4, 0\ns_cbranch_scc0 writer\n"
                 "s_load_b32 s5, s[0:1], 0x0\nglobal_load_b32 v2, v4, s[0:1]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n"
                 "global_store_b32 v4, v1, s[0:1] offset:256\n"
                 "again: global_load_b32 v3, v4, s[0:1] offset:512 glc\ns_waitcnt vmcnt(0)\n"
                 "v_cmp_ne_u32 vcc_lo, 1, v3\ns_cbranch_vccnz again\n" +
                 in_between + "\n" + load +
                 "\ns_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_b32 v4, v2, s[0:1] offset:1024\ns_endpgm\n"
                 "writer: global_load_b32 v3, v4, s[0:1] offset:256 glc\ns_waitcnt vmcnt(0)\n"
                 "v_cmp_ne_u32 vcc_lo, 1, v3\ns_cbranch_vccnz writer\n" +
                 write + "\ns_waitcnt_vscnt null, 0x0\nglobal_store_b32 v4, v1, s[0:1] offset:512",
             who == Who::two_arrays ? 2 : 1, who == Who::two_arrays ? 32 : 64);
  d.launch.rsrc1 |= (who == Who::two_units ? 1u : 0u) << 29;
  d.options.precise.caches = caches;
  d.launch.caches = layout;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  return d.buffer[256];
}

const char* const kLoad = "global_load_b32 v2, v4, s[0:1]";

TEST(Caches, CoherentByDefault) {
  for (Who who : {Who::two_arrays, Who::two_units, Who::one_unit})
    EXPECT_EQ(second_read("", kLoad, who, precise::Caches::coherent), 1u);
}

TEST(Caches, StaleUntilInvalidated) {
  EXPECT_EQ(second_read("", kLoad, Who::two_arrays), 0u);
  EXPECT_EQ(second_read("buffer_gl0_inv", kLoad, Who::two_arrays), 0u);  // L1 has it still
  EXPECT_EQ(second_read("buffer_gl1_inv", kLoad, Who::two_arrays), 0u);  // L0 has it still
  EXPECT_EQ(second_read("buffer_gl1_inv\nbuffer_gl0_inv", kLoad, Who::two_arrays), 1u);
}

TEST(Caches, TwoUnitsOfAProcessorShareL1) {
  EXPECT_EQ(second_read("", kLoad, Who::two_units), 0u);
  EXPECT_EQ(second_read("buffer_gl0_inv", kLoad, Who::two_units), 1u);
  EXPECT_EQ(second_read("", kLoad, Who::one_unit), 1u);  // one L0: the store renewed its line
}

TEST(Caches, GlcGoesToL2) {
  EXPECT_EQ(second_read("", "global_load_b32 v2, v4, s[0:1] glc", Who::two_arrays), 1u);
  // It takes the lines with it: the plain load behind it fetches anew.
  EXPECT_EQ(second_read("global_load_b32 v5, v4, s[0:1] glc", kLoad, Who::two_arrays), 1u);
  EXPECT_EQ(second_read("", "global_load_b32 v2, v4, s[0:1] slc", Who::two_arrays), 0u);
  EXPECT_EQ(second_read("", "global_load_b32 v2, v4, s[0:1] dlc", Who::two_arrays), 0u);
}

// Guide 4.1.1, table of load policies: L0 keeps what an SLC load finds, L1 gives it up.
TEST(Caches, SlcTakesTheLineOutOfL1) {
  const std::string load = "global_load_b32 v5, v4, s[0:1] slc\ns_waitcnt vmcnt(0)\n";
  const std::string invalidate = "buffer_gl0_inv\n";
  EXPECT_EQ(second_read(invalidate, "global_load_b32 v2, v4, s[0:1] slc", Who::two_arrays), 0u);
  EXPECT_EQ(second_read(invalidate + load + invalidate, kLoad, Who::two_arrays), 1u);
  // A load that finds its line in L0 does not get to L1.
  EXPECT_EQ(second_read(load + invalidate, kLoad, Who::two_arrays), 0u);
  // A line that it brought from L2 is in L0 alone.
  EXPECT_EQ(second_read("buffer_gl1_inv\n" + invalidate + load, kLoad, Who::two_arrays), 1u);
}

// The device's description says how much each of them keeps.
TEST(Caches, SizesAreTheDevices) {
  const std::string other_line = "global_load_b32 v5, v4, s[0:1] offset:768\ns_waitcnt vmcnt(0)";
  precise::CacheLayout layout;
  auto read = [&] {
    return second_read(other_line, kLoad, Who::two_arrays, precise::Caches::incoherent,
                       "global_store_b32 v4, v1, s[0:1]", layout);
  };
  EXPECT_EQ(read(), 0u);
  layout.l0_bytes = 128;
  EXPECT_EQ(read(), 0u);  // L1 has it still
  layout.l1_bytes = 128;
  EXPECT_EQ(read(), 1u);
  layout.l0_bytes = 256;
  EXPECT_EQ(read(), 0u);
}

// Guide 1.2.3: an L0 for each compute unit, a scalar cache for each work-group processor, an L1 for each
// array, as many as the device has.
TEST(Caches, EveryPartOfADeviceHasItsOwn) {
  for (const hardware::Description& device : hardware::models()) {
    Launch launch;
    set_hardware(launch, device);
    precise::DeviceCaches caches(launch.caches);
    std::set<const void*> vector, scalar, array;
    const auto wave = std::make_unique<Wave>();
    wave->gpr_alloc = 1;
    Placement placement(device);
    while (const auto group = placement.allocate({1, 32, 24, 0, true})) {
      wave->hw_id1 = hardware_id1(*group, 0);
      const precise::Place place = caches.place_of(*wave, true);
      vector.insert(&caches.vector(place));
      scalar.insert(&caches.scalar(place));
      array.insert(&caches.array(place));
    }
    EXPECT_EQ(vector.size(), device.compute_units()) << device.name;
    EXPECT_EQ(scalar.size(), device.work_group_processors()) << device.name;
    EXPECT_EQ(array.size(), device.shader_engines * device.arrays_per_shader_engine) << device.name;
  }
}

TEST(Caches, AtomicsActAtL2) {
  EXPECT_EQ(second_read("", "v_mov_b32 v5, 0\nglobal_atomic_or_b32 v2, v4, v5, s[0:1] glc", Who::two_arrays),
            1u);
  EXPECT_EQ(second_read("v_mov_b32 v5, 0\nglobal_atomic_or_b32 v4, v5, s[0:1]\ns_waitcnt_vscnt null, 0x0",
                        kLoad, Who::two_arrays),
            1u);
  EXPECT_EQ(second_read("", kLoad, Who::two_arrays, precise::Caches::incoherent,
                        "global_atomic_add_u32 v4, v1, s[0:1]"),
            0u);
}

TEST(Caches, ScalarCache) {
  const std::string load = "s_load_b32 s5, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v2, s5";
  EXPECT_EQ(second_read("", load, Who::two_arrays), 0u);
  EXPECT_EQ(second_read("", load, Who::one_unit), 0u);  // stores do not pass it
  EXPECT_EQ(second_read("s_dcache_inv\ns_waitcnt lgkmcnt(0)", load, Who::one_unit), 1u);
  EXPECT_EQ(second_read("s_dcache_inv\ns_waitcnt lgkmcnt(0)", load, Who::two_arrays), 0u);
  EXPECT_EQ(second_read("s_dcache_inv\ns_gl1_inv\ns_waitcnt lgkmcnt(0)", load, Who::two_arrays), 1u);
}

TEST(Caches, BytesOfOthersInALineOfOnesOwn) {
  // The reader stores to its own dword of the line: that one is new, the others stay stale.
  EXPECT_EQ(second_read("global_store_b32 v4, v1, s[0:1] offset:4", kLoad, Who::two_arrays), 0u);
  EXPECT_EQ(second_read("v_mov_b32 v5, 7\nglobal_store_b32 v4, v5, s[0:1]", kLoad, Who::two_arrays), 7u);
}

TEST(Caches, BufferLoadsPassThemToo) {
  const std::string resource =
      "s_mov_b64 s[8:9], s[0:1]\ns_movk_i32 s10, 0x4000\ns_mov_b32 s11, 0x31016000\n";
  EXPECT_EQ(second_read(resource, "buffer_load_b32 v2, v4, s[8:11], 0 offen", Who::two_arrays), 0u);
  EXPECT_EQ(second_read(resource + "buffer_gl1_inv\nbuffer_gl0_inv",
                        "buffer_load_b32 v2, v4, s[8:11], 0 offen", Who::two_arrays),
            1u);
}

TEST(Caches, LineAtTheEndOfABuffer) {
  // A buffer that begins and ends in the middle of lines; the loads of 16 lanes cross from one to the next.
  Dispatch d(
      "v_lshlrev_b32 v0, 2, v0\nglobal_load_b32 v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_add_nc_u32 v1, 1, v1\n"
      "global_store_b32 v0, v1, s[0:1]",
      1, 32);
  const uint64_t begin = d.address() + 4 * 13;
  for (uint32_t i = 0; i < 64; ++i) d.buffer[i] = i;
  d.launch.user_data = {static_cast<uint32_t>(begin), static_cast<uint32_t>(begin >> 32)};
  d.launch.memory =
      std::make_shared<const RangeSet>(std::vector<Range>{{begin, begin + 128, kReadWrite, "a part"}});
  d.options.precise.caches = precise::Caches::incoherent;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(d.buffer[i], i + (i >= 13 && i < 45));
}

}  // namespace
}  // namespace lockstep::machine
