// Registers of halted waves, read and written by the host (guide chapter 3).
#include "tests/machine/controlled_dispatch.h"

namespace lockstep::machine {
namespace {

constexpr RegisterName kPc{RegisterKind::pc}, kVcc{RegisterKind::vcc}, kM0{RegisterKind::m0},
    kExec{RegisterKind::exec}, kScc{RegisterKind::scc}, kStatus{RegisterKind::status},
    kMode{RegisterKind::mode}, kTrapsts{RegisterKind::trapsts};

RegisterName sgpr(unsigned index) {
  return {RegisterKind::sgpr, index};
}
RegisterName vgpr(unsigned index, unsigned lane) {
  return {RegisterKind::vgpr, index, lane};
}

// What the program reads is what the host wrote.
TEST(Registers, WrittenOnesAreThoseThatTheProgramReads) {
  for (const unsigned wave_size : {32u, 64u}) {
    const std::string mask = wave_size == 32 ? "_lo" : "";
    Dispatch d(
        "s_nop 0\ns_sethalt 1\n"
        "s_mov_b64 s[10:11], exec\ns_mov_b32 s12, m0\ns_mov_b64 s[14:15], vcc\ns_cselect_b32 s13, 1, 0\n"
        "s_getreg_b32 s16, hwreg(HW_REG_MODE)\ns_getreg_b32 s17, hwreg(HW_REG_TRAPSTS)\n"
        "s_getreg_b32 s18, hwreg(HW_REG_STATUS)\nv_mov_b32 v6, v5\ns_sethalt 1\n",
        1, wave_size, wave_size);
    Session session(d);
    const WaveId id = session.halted().id;
    const unsigned last = wave_size - 1;
    const uint64_t exec = wave_size == 64 ? 0x80000000'00000005u : 0x80000005u;
    WaveControl& control = session.control;
    control.write(id, vgpr(5, last), 0xabcd);
    control.write(id, vgpr(5, 1), 0xdcba);
    control.write(id, kExec, exec);
    control.write(id, kM0, 77);
    control.write(id, kVcc, 0x123456789u);
    control.write(id, kScc, 1);
    const auto mode = static_cast<uint32_t>(control.read(id, kMode));
    control.write(id, kMode, mode ^ 0x3);  // rounds another way: another class of modes
    control.write(id, kTrapsts, ~0u);
    control.write(id, sgpr(105), 31);
    control.resume(id);
    EXPECT_EQ(session.halted().id, id);
    EXPECT_EQ(control.read(id, sgpr(10)) | control.read(id, sgpr(11)) << 32, exec);
    EXPECT_EQ(control.read(id, kExec), exec);
    EXPECT_EQ(control.read(id, sgpr(12)), 77u);
    EXPECT_EQ(control.read(id, sgpr(14)) | control.read(id, sgpr(15)) << 32, 0x123456789u);
    EXPECT_EQ(control.read(id, sgpr(13)), 1u);
    EXPECT_EQ(control.read(id, sgpr(16)), mode ^ 0x3);
    EXPECT_EQ(control.read(id, sgpr(17)), trapsts_bit::kDefined);
    EXPECT_EQ(control.read(id, sgpr(105)), 31u);
    EXPECT_EQ(control.read(id, vgpr(6, last)), 0xabcdu);
    EXPECT_EQ(control.read(id, vgpr(6, 1)), 0u);  // not in EXEC
    EXPECT_TRUE(control.read(id, sgpr(18)) & status_bit::kScc);
    control.resume(id);
    session.finish_well();
  }
}

// 3.4.1: EXECZ, VCCZ and SCC are read as they are; HALT is a command's, and other bits are the machine's.
TEST(Registers, OfStatusOnlySomeBitsAreTheHosts) {
  Dispatch d("s_sethalt 1\ns_cbranch_cdbguser out\ns_trap 2\nout: s_nop 0", 1, 64);
  Session session(d);
  const WaveId id = session.halted().id;
  session.halted();
  WaveControl& control = session.control;
  control.write(id, kExec, 0);
  control.write(id, kVcc, 0);
  const uint32_t before = session.status(id);
  using namespace status_bit;
  EXPECT_EQ(before & (kExecZero | kVccZero | kInWorkGroup | kHalt | kValid),
            kExecZero | kVccZero | kInWorkGroup | kHalt | kValid);
  control.write(
      id, kStatus,
      status_bit::kScc | kConditionDebugUser | kPrivileged | kFatalHalt | kUserPriority | kTrapEnabled);
  EXPECT_EQ(session.status(id) ^ before, status_bit::kScc | kConditionDebugUser);
  for (const WaveDescription& wave : control.waves()) control.write(wave.id, kStatus, kConditionDebugUser);
  control.resume(kAllWaves);
  session.finish_well();
}

// Another class of float modes is decoded anew: the rounding that the host chose holds.
TEST(Registers, ModeHoldsFromTheNextInstruction) {
  Dispatch d(
      "v_mov_b32 v1, 1.0\nv_mov_b32 v2, 0x30000000\ns_sethalt 1\nv_add_f32 v3, v1, v2\n"
      "v_lshlrev_b32 v4, 2, v0\nglobal_store_b32 v4, v3, s[0:1]",
      1, 32);
  Session session(d);
  const WaveId id = session.halted().id;
  session.control.write(id, kMode, session.control.read(id, kMode) | 1);  // towards plus infinity (3.4.2)
  session.control.resume(id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 0x3f800001u);
}

TEST(Registers, ThePcChoosesTheNextInstruction) {
  Dispatch d("s_sethalt 1\ns_trap 2\ns_trap 2\ns_mov_b32 s5, 4\n" + kStoreS5PerWave, 1, 32);
  Session session(d);
  const WaveId id = session.halted().id;
  EXPECT_EQ(session.control.read(id, kPc), d.pc(1));
  for (const uint64_t bad :
       {d.pc(1) + 2, d.launch.entry - 4, uint64_t{0}, d.launch.entry + 4 * d.code.size()})
    EXPECT_THROW(session.control.write(id, kPc, bad), std::invalid_argument);
  EXPECT_EQ(session.control.read(id, kPc), d.pc(1));
  session.control.write(id, kPc, d.pc(3));
  session.control.resume(id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 4u);
}

// A PC at an instruction that stalled half-way must not skip the rules for the new one.
TEST(Registers, ThePcOfAWaveThatWaitedForResults) {
  Dispatch d(
      "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\nglobal_load_b32 v3, v1, s[0:1] offset:128\n"
      "s_waitcnt vmcnt(0)\ns_mov_b32 s5, 1\ns_branch out\nagain: s_mov_b32 s5, 2\nout: " +
          kStoreS5PerWave,
      1, 32);
  d.options.precise.results = precise::Results::late;
  Session session(d, {.start_halted = true});
  const WaveId id = session.halted().id;
  session.control.step(id, 3);
  EXPECT_EQ(session.dword(session.halted()), 5u);
  session.control.write(id, kPc, d.pc(8));
  session.control.resume(id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 2u);
}

TEST(Registers, ThoseThatDoNotExistAreRefused) {
  Dispatch d("s_sethalt 1", 1, 32);
  d.launch.vgpr_count = 24;
  Session session(d);
  const WaveId id = session.halted().id;
  WaveControl& control = session.control;
  for (const RegisterName name :
       {sgpr(106), vgpr(24, 0), vgpr(0, 32), RegisterName{RegisterKind::ttmp, 16}}) {
    EXPECT_THROW(control.read(id, name), std::invalid_argument);
    EXPECT_THROW(control.write(id, name, 0), std::invalid_argument);
  }
  control.write(id, vgpr(23, 31), 1);
  EXPECT_EQ(control.read(id, vgpr(23, 31)), 1u);
  for (const RegisterName name : {sgpr(0), vgpr(0, 0), kM0, kMode, kStatus, kTrapsts, kExec})
    EXPECT_THROW(control.write(id, name, uint64_t{1} << 32), std::invalid_argument);
  EXPECT_THROW(control.write(id, kScc, 2), std::invalid_argument);
  control.resume(id);
  session.finish_well();
}

// 3.3.1.4: outside the trap handler no program sees them, the host does.
TEST(Registers, TtmpsAreThereOutsideTheHandlerToo) {
  Dispatch d("s_sethalt 1\ns_trap 1\ns_nop 0", 1, 32);
  const auto handler = interpreter::assembled(
      "v_mov_b32 v1, ttmp9\nv_lshlrev_b32 v2, 2, v0\nglobal_store_b32 v2, v1, s[0:1]\n"
      "s_mov_b32 ttmp9, 6\ns_add_u32 ttmp0, ttmp0, 4\ns_sethalt 1\ns_rfe_b64 ttmp[0:1]",
      32);
  d.options.precise.traps.handler = reinterpret_cast<uint64_t>(handler.data());
  d.options.precise.traps.code = {d.options.precise.traps.handler,
                                  d.options.precise.traps.handler + 4 * handler.size()};
  Session session(d);
  const WaveId id = session.halted().id;
  session.control.write(id, {RegisterKind::ttmp, 9}, 5);
  session.control.resume(id);
  session.halted();
  EXPECT_EQ(session.control.read(id, {RegisterKind::ttmp, 9}), 6u);
  session.control.resume(id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 5u);
}

}  // namespace
}  // namespace lockstep::machine
