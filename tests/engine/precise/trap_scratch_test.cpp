// FLAT_SCRATCH as a trap handler leaves it (guide 3.4.7): what scratch is then, and what it may not be.
#include <sys/mman.h>

#include <algorithm>

#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

// A handler that sets FLAT_SCRATCH to s[6:7].
const std::string kMoveScratch =
    "s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s6\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s7\n";

const std::string kReturnBehindTrap =
    "s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\ns_rfe_b64 ttmp[0:1]\n";

void set_s6(Dispatch& d, uint64_t value) {
  d.launch.user_data.resize(8);
  d.launch.user_data[6] = static_cast<uint32_t>(value);
  d.launch.user_data[7] = static_cast<uint32_t>(value >> 32);
  d.launch.rsrc2 = 0;
}

TEST(TrapScratch, AHandlerMovesScratchInGuestMemory) {
  for (const precise::Results results : {precise::Results::now, precise::Results::late}) {
    TrapDispatch d(
        "v_add_nc_u32 v1, 100, v0\nscratch_store_b32 off, v1, off offset:4\ns_trap 1\n"
        "v_add_nc_u32 v2, 200, v0\nscratch_store_b32 off, v2, off offset:4\n"
        "scratch_load_b32 v3, off, off offset:4\ns_waitcnt vmcnt(0)\n"
        "v_lshlrev_b32 v4, 2, v0\nglobal_store_b32 v4, v3, s[0:1]",
        kMoveScratch + kReturnBehindTrap);
    d.options.precise.results = results;
    d.launch.scratch_bytes = 16;
    const uint64_t base = (d.address() + 1024 + 255) / 256 * 256;
    set_s6(d, base);
    const Outcome outcome = d.run();
    ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
    for (unsigned lane = 0; lane < 32; ++lane) {
      EXPECT_EQ(d.buffer[lane], 200 + lane);
      EXPECT_EQ(d.buffer[(base - d.address()) / 4 + 32 + lane], 200 + lane) << "dword 1 of all lanes";
    }
  }
}

// A wave without scratch, and one with: what the handler sets is never taken on trust.
TEST(TrapScratch, AHandlerCannotReachTheHost) {
  const std::vector<uint32_t> secret(65536, 0x5ec2e7);
  const uint64_t bases[] = {(reinterpret_cast<uint64_t>(secret.data()) + 255) & ~uint64_t{255},
                            reinterpret_cast<uint64_t>(&machine::run) & ~uint64_t{255}, 0x100};
  for (const char* access :
       {"scratch_load_b32 v3, off, off offset:4", "scratch_store_b32 off, v0, off offset:4",
        "v_mov_b32 v2, 4\nv_mov_b32 v3, s9\nflat_load_b32 v3, v[2:3]",
        "v_mov_b32 v2, 4\nv_mov_b32 v3, s9\nflat_store_b32 v[2:3], v0",
        "v_mov_b32 v2, 4\nv_mov_b32 v3, s9\nflat_atomic_add_u32 v3, v[2:3], v0 glc"}) {
    for (const uint64_t base : bases) {
      for (const uint32_t bytes : {0u, 64u}) {
        for (const precise::Results results : {precise::Results::now, precise::Results::late}) {
          SCOPED_TRACE(access);
          TrapDispatch d(
              "s_mov_b64 s[8:9], src_private_base\ns_trap 1\n" + std::string(access) +
                  "\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_lshlrev_b32 v4, 2, v0\n"
                  "global_store_b32 v4, v3, s[0:1]\ns_endpgm",
              // The second time it is the memory violation: the wave ends.
              "s_getreg_b32 ttmp6, hwreg(HW_REG_TRAPSTS, 8, 1)\ns_cmp_eq_u32 ttmp6, 1\ns_cbranch_scc1 "
              "done\n" +
                  kMoveScratch + kReturnBehindTrap +
                  "done:\nv_mov_b32 v4, 1\nv_mov_b32 v5, 0\nglobal_store_b32 v5, v4, s[0:1] offset:512\n"
                  "v_lshlrev_b32 v4, 2, v0\nglobal_store_b32 v4, v3, s[0:1] offset:1024\ns_endpgm");
          d.options.precise.results = results;
          d.launch.scratch_bytes = bytes;
          set_s6(d, base);
          const Outcome outcome = d.run();
          ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
          EXPECT_EQ(d.buffer[128], 1u) << "the handler was not told";
          // Loads of lanes with bad addresses read zero (guide 11.3).
          if (std::string(access).find("load") != std::string::npos)
            for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(d.buffer[256 + lane], 0u);
        }
      }
    }
  }
  EXPECT_TRUE(std::all_of(secret.begin(), secret.end(), [](uint32_t word) { return word == 0x5ec2e7; }));
}

// An access that is no good enters the handler where it is issued, however late its results are to land
// (guide 3.4.9, 11.3, 12.7): in scratch, directly and through its aperture, and in LDS.
TEST(TrapScratch, ViolationsEnterTheHandlerWhateverLandsLate) {
  struct Case {
    const char* access;
    unsigned bytes;  // of the instruction
  };
  const std::string aperture = "s_mov_b64 s[8:9], src_private_base\nv_mov_b32 v2, 0x1000\nv_mov_b32 v3, s9\n";
  for (const Case& bad :
       {Case{"scratch_load_b32 v4, off, off offset:64", 8},
        Case{"scratch_store_b32 off, v0, off offset:64", 8}, Case{"flat_load_b32 v4, v[2:3]", 8},
        Case{"flat_store_b32 v[2:3], v0", 8}, Case{"flat_atomic_add_u32 v4, v[2:3], v0 glc", 8},
        Case{"ds_add_u32 v5, v0", 8}, Case{"ds_load_b32 v4, v6", 8}, Case{"ds_store_b32 v6, v0", 8}}) {
    for (const precise::Results results :
         {precise::Results::now, precise::Results::late, precise::Results::random}) {
      SCOPED_TRACE(bad.access);
      TrapDispatch d(aperture + "v_mov_b32 v4, -1\nv_mov_b32 v5, 2\nv_mov_b32 v6, 0x10000\n" + bad.access +
                         "\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0",
                     kNote + kClearTrapsts + return_behind(bad.bytes));
      d.options.precise.results = results;
      d.launch.scratch_bytes = 64;
      d.launch.access_modes.reports_lds_out_of_range = true;
      const auto log = d.trapped();
      ASSERT_EQ(log.size(), 1u);
      EXPECT_TRUE(log[0].trapsts & trapsts_bit::kMemoryViolation);
    }
  }
}

// Trying an access out leaves LDS and scratch as they are: what lands late is not there before.
TEST(TrapScratch, TryingAnAccessChangesNothing) {
  TrapDispatch d(
      "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 1\nv_mov_b32 v3, 2\nds_store_b32 v1, v2\n"
      "scratch_store_b32 off, v2, off\ns_waitcnt lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
      "ds_add_rtn_u32 v4, v1, v3\nds_add_rtn_u32 v5, v1, v3\nscratch_store_b32 off, v3, off\n"
      "scratch_load_b32 v6, off, off\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n"
      "global_store_b32 v1, v4, s[0:1]\nglobal_store_b32 v1, v5, s[0:1] offset:128\n"
      "global_store_b32 v1, v6, s[0:1] offset:256",
      "s_rfe_b64 ttmp[0:1]");
  d.options.precise.results = precise::Results::late;
  d.launch.scratch_bytes = 16;
  const Outcome outcome = d.run();
  ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(d.buffer[lane], 1u);
    EXPECT_EQ(d.buffer[32 + lane], 3u);
    EXPECT_EQ(d.buffer[64 + lane], 2u);
  }
}

// A misaligned access that the device's mode does not allow is a memory violation: loads return zero, stores
// are discarded, the other lanes are served (guide 9.5, 11.3).
TEST(TrapAlignment, AMisalignedAccessEntersTheHandler) {
  for (const precise::Results results : {precise::Results::now, precise::Results::late}) {
    TrapDispatch d(
        "v_lshlrev_b32 v1, 2, v0\nv_cmp_eq_u32 vcc_lo, 3, v0\nv_cndmask_b32 v2, 0, 1, vcc_lo\n"
        "v_add_nc_u32 v2, v1, v2\nv_mov_b32 v3, -1\nglobal_load_b32 v3, v2, s[0:1] offset:512\n"
        "s_waitcnt vmcnt(0)\nglobal_store_b32 v1, v3, s[0:1]\ns_waitcnt_vscnt null, 0x0\n"
        "global_store_b32 v2, v0, s[0:1] offset:1024\ns_waitcnt_vscnt null, 0x0",
        kNote + kClearTrapsts + return_behind(8));
    d.launch.access_modes.alignment = memory::AlignmentMode::dword_strict;
    d.options.precise.results = results;
    for (uint32_t i = 0; i < 64; ++i) d.buffer[128 + i] = 100 + i, d.buffer[256 + i] = 7;
    const auto log = d.trapped();
    ASSERT_GE(log.size(), 2u);
    for (const Trapped& trapped : log) EXPECT_TRUE(trapped.trapsts & trapsts_bit::kMemoryViolation);
    for (uint32_t i = 0; i < 32; ++i) {
      EXPECT_EQ(d.buffer[i], i == 3 ? 0 : 100 + i);
      EXPECT_EQ(d.buffer[256 + i], i == 3 ? 7 : i);
    }
  }
}

// What a bad access did is found out from the instruction as it was executed: the guest may have written
// over it, and a longer one would reach behind the code.
TEST(TrapScratch, AStoreMayDestroyItsOwnInstruction) {
  // Lane 0 stores to the instruction itself, lane 1 to nowhere; it is the last thing in its page.
  TrapDispatch d("s_endpgm",
                 "v_mov_b32 v5, 0\nv_mov_b32 v4, 1\ns_mov_b64 exec, 1\n"
                 "global_store_b32 v5, v4, s[0:1]\ns_endpgm");
  const auto& store = interpreter::assembled("global_store_b64 v[2:3], v[6:7], off", 32);
  auto* pages = static_cast<std::byte*>(
      mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  munmap(pages + 4096, 4096);
  const auto& setup = interpreter::assembled(
      "v_mov_b32 v6, s8\nv_mov_b32 v7, s9\nv_mov_b32 v2, s6\nv_mov_b32 v3, s7\nv_cmp_eq_u32 vcc_lo, 0, v0\n"
      "v_cndmask_b32 v3, 0, v3, vcc_lo\ns_branch 0",
      32);
  std::vector<uint32_t> code(setup.begin(), setup.end() - 2);  // without the branch and s_endpgm
  std::byte* at = pages + 4096 - 8 - 4 * code.size();
  std::memcpy(at, code.data(), 4 * code.size());
  std::memcpy(pages + 4096 - 8, store.data(), 8);
  d.launch.entry = reinterpret_cast<uint64_t>(at);
  d.launch.code = {{d.launch.entry, reinterpret_cast<uint64_t>(pages) + 4096}};
  set_s6(d, reinterpret_cast<uint64_t>(pages) + 4096 - 8);
  // A VOP3 instruction whose literal would lie behind the page.
  const auto& wide = interpreter::assembled("v_add3_u32 v1, v2, v3, 0x12345678", 32);
  d.launch.user_data.resize(10);
  d.launch.user_data[8] = wide[0];
  d.launch.user_data[9] = wide[1];
  std::vector<Range> ranges = d.launch.memory->ranges();
  ranges.push_back({reinterpret_cast<uint64_t>(pages), reinterpret_cast<uint64_t>(pages) + 4096,
                    kReadWrite | kExecute, "code"});
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  d.launch.memory = std::make_shared<const RangeSet>(std::move(ranges));
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 1u) << "the handler did not run";
  munmap(pages, 4096);
}

}  // namespace
}  // namespace lockstep::machine
