// Halting, stepping and conditional debugging, seen from programs (guide 3.4.1, 5.1, 5.2.1, 16.5).
#include <gtest/gtest.h>

#include "tests/engine/precise/trap_dispatch.h"
#include "tests/machine/controlled_dispatch.h"

namespace lockstep::machine {
namespace {

using namespace status_bit;
using precise::HaltCause;

// ---- s_sethalt (16.5)

TEST(Sethalt, HaltsTheWaveBehindItUntilItIsResumed) {  // 5.1, 16.5: SIMM16[0] outside the handler
  Dispatch d("s_mov_b32 s5, 7\ns_sethalt 1\ns_mov_b32 s5, 9\n" + kStoreS5, 1, 32);
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::sethalt);
  EXPECT_EQ(session.dword(wave), 2u);
  EXPECT_EQ(session.sgpr(wave.id, 5), 7u);
  EXPECT_EQ(session.status(wave.id) & (kHalt | kFatalHalt), kHalt);  // 3.4.1, bit 13
  EXPECT_EQ(d.buffer[0], 0u);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 9u);
}

TEST(Sethalt, Simm2ChoosesTheFatalBit) {  // 16.5; 3.4.1, bit 23
  Dispatch d("s_sethalt 5\ns_getreg_b32 s5, hwreg(HW_REG_STATUS)\n" + kStoreS5, 1, 32);
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::fatal);
  EXPECT_EQ(session.status(wave.id) & (kHalt | kFatalHalt), kFatalHalt);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0] & (kHalt | kFatalHalt), 0u);
  EXPECT_TRUE(d.buffer[0] & kValid);
}

TEST(Sethalt, ClearingHaltsNobody) {  // 16.5: value 0 of either bit
  Dispatch d("s_sethalt 0\ns_sethalt 4\ns_sethalt 2\ns_mov_b32 s5, 3\n" + kStoreS5, 1, 32);
  Session session(d);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 3u);
  EXPECT_FALSE(session.control.wait(std::chrono::nanoseconds(0)));
}

TEST(Sethalt, AsLastInstructionOfABarrierGroup) {  // 5.5: who is halted has not arrived
  Dispatch d(kWaveNumber +
                 "s_mov_b32 s5, 1\ns_cmp_eq_u32 s3, 0\ns_cbranch_scc0 meet\ns_sethalt 1\nmeet: s_barrier\n" +
                 kStoreS5PerWave,
             1, 64);
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.wave, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(d.buffer[1], 0u);  // wave 1 waits
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 1u);
  EXPECT_EQ(d.buffer[1], 1u);
}

// ---- s_sendmsghalt (5.3, 16.5)

TEST(Sendmsghalt, SendsAndThenHalts) {
  struct Sink : MessageSink {
    std::atomic<uint32_t> payload = 0;
    void on_interrupt(const Wave&, uint32_t value) override { payload = value; }
  } sink;
  Dispatch d("s_mov_b32 m0, 0x1234\ns_sendmsghalt sendmsg(MSG_INTERRUPT)\ns_mov_b32 s5, 5\n" + kStoreS5, 1,
             32);
  d.launch.messages = &sink;
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::sendmsghalt);
  EXPECT_EQ(sink.payload, 0x1234u);
  EXPECT_EQ(d.buffer[0], 0u);
  EXPECT_TRUE(session.status(wave.id) & kHalt);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 5u);
}

TEST(Sendmsghalt, GivesVgprsBackWithMessage3) {  // table 15
  Dispatch d("s_sendmsghalt sendmsg(MSG_DEALLOC_VGPRS)\ns_nop 0", 1, 32);
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_TRUE(session.status(wave.id) & kNoVgprs);
  EXPECT_THROW(session.control.read(wave.id, {RegisterKind::vgpr, 0, 0}), std::invalid_argument);
  session.control.resume(wave.id);
  session.finish_well();
}

// ---- HALT in the trap handler (3.4.1, 16.5)

TEST(HaltInHandler, TakesEffectWhenTheHandlerIsLeft) {
  TrapDispatch d("s_nop 0\ns_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 "s_sethalt 1\n" + kNote + return_behind(4));
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::sethalt);
  EXPECT_EQ(session.dword(wave), 2u);                         // behind the s_trap, not in the handler
  EXPECT_NE(d.buffer[TrapDispatch::kLog / 4], 0u);            // which went on behind its s_sethalt
  EXPECT_TRUE(d.buffer[TrapDispatch::kLog / 4 + 2] & kHalt);  // and read the bit
  EXPECT_FALSE(session.status(wave.id) & kPrivileged);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 77u);
}

TEST(HaltInHandler, AHandlerMayTakeItBack) {  // 16.5: "if HALT is still set at that time"
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 "s_sethalt 1\n" + kNote + "s_sethalt 0\n" + return_behind(4));
  Session session(d);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 77u);
}

TEST(HaltInHandler, AWriteOfStatusHaltsToo) {  // 3.4.1: HALT is writable in the handler
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 kNote + "s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 13, 1), 1\n" + return_behind(4));
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(session.dword(wave), 1u);
  session.control.resume(wave.id);
  session.finish_well();
}

TEST(HaltInHandler, TheFatalOneStopsItThere) {  // 3.4.1: FATAL_HALT stops waves even when PRIV is 1
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 "s_nop 0\ns_sethalt 5\n" + kNote + return_behind(4));
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::fatal);
  EXPECT_EQ(wave.pc, d.traps().handler + 8);
  EXPECT_TRUE(session.status(wave.id) & kPrivileged);
  EXPECT_EQ(session.control.read(wave.id, {RegisterKind::ttmp, 0}), static_cast<uint32_t>(d.pc(0)));
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 77u);
}

TEST(HaltInHandler, OfTheHostWaitsForItsEndToo) {  // 3.4.1: ignored while PRIV is 1
  // The handler waits for word 1 of the log.
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 "s_sendmsg_rtn_b64 ttmp[4:5], sendmsg(MSG_RTN_GET_TMA)\ns_waitcnt lgkmcnt(0)\n"
                 "v_mov_b32 v240, 1\nv_mov_b32 v241, 0\nglobal_store_b32 v241, v240, ttmp[4:5]\n"
                 "spin: global_load_b32 v242, v241, ttmp[4:5] offset:4 glc\ns_waitcnt vmcnt(0)\n"
                 "v_readfirstlane_b32 ttmp6, v242\ns_cmp_eq_u32 ttmp6, 0\ns_cbranch_scc1 spin\n" +
                     return_behind(4));
  std::atomic_ref<uint32_t> inside(d.buffer[TrapDispatch::kLog / 4]),
      go_on(d.buffer[TrapDispatch::kLog / 4 + 1]);
  Session session(d);
  while (inside.load() == 0) std::this_thread::yield();
  session.control.halt(kAllWaves);
  EXPECT_FALSE(session.control.wait(std::chrono::milliseconds(50)));
  go_on = 1;
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::command);
  EXPECT_EQ(session.dword(wave), 1u);
  session.control.resume(wave.id);
  session.finish_well();
}

TEST(HaltInHandler, WithoutAHostLeavingItFaults) {  // nobody could resume the wave
  TrapDispatch d("s_nop 0\ns_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5,
                 "s_sethalt 1\n" + kNote + return_behind(4));
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::trap);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(2));
  EXPECT_NE(outcome.fault->fault.message.find("STATUS.HALT"), std::string::npos);
  EXPECT_EQ(d.buffer[0], 0u);
}

// ---- Requests for the trap handler reach waves that are halted: HALT is ignored then (3.4.1)

TEST(HostTrap, IsTakenByAHaltedWave) {
  for (const bool save_context : {false, true}) {
    TrapDispatch d("s_nop 0\ns_sethalt 1\ns_mov_b32 s5, 77\n" + kStoreS5, kNote + kClearTrapsts + kReturn);
    precise::HostTraps host;
    d.traps().host = &host;
    std::atomic_ref<uint32_t> noted(d.buffer[TrapDispatch::kLog / 4 + 3]);
    Session session(d);
    const WaveDescription before = session.halted();
    EXPECT_EQ(noted.load(), 0u);
    host.request({5, save_context});
    const WaveDescription wave = session.halted();  // again, behind the handler
    EXPECT_EQ(noted.load(), save_context ? trapsts_bit::kSaveContext : trapsts_bit::kHostTrap);
    EXPECT_EQ(wave.id, before.id);
    EXPECT_EQ(wave.cause, HaltCause::sethalt);
    EXPECT_EQ(session.dword(wave), 2u);
    EXPECT_EQ(d.buffer[TrapDispatch::kLog / 4], static_cast<uint32_t>(d.pc(2)));
    session.control.resume(wave.id);
    session.finish_well();
    EXPECT_EQ(d.buffer[0], 77u);
  }
}

TEST(HostTrap, IsTakenByAWaveThatHaltedAtABarrier) {
  TrapDispatch d(kWaveNumber +
                     "s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 meet\ns_sethalt 1\nmeet: s_barrier\n"
                     "s_mov_b32 s5, 77\n" +
                     kStoreS5,
                 kNote + kClearTrapsts + kReturn, 64);
  precise::HostTraps host;
  d.traps().host = &host;
  Session session(d);
  EXPECT_EQ(session.halted().wave, 1u);
  const auto waves = session.waves_when(2, 0, WaveState::at_barrier);
  session.control.halt(waves[0].id);
  EXPECT_EQ(session.halted().wave, 0u);
  EXPECT_TRUE(session.status(waves[0].id) & kInBarrier);
  EXPECT_TRUE(session.status(waves[0].id) & kIdle);
  EXPECT_FALSE(session.status(waves[1].id) & kInBarrier);
  host.request({5, false});
  session.halted();
  session.halted();
  EXPECT_FALSE(session.status(waves[0].id) & kInBarrier);  // it has gone back before it
  EXPECT_TRUE(session.status(waves[0].id) & kIdle);
  session.control.resume(kAllWaves);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 77u);
  EXPECT_EQ(d.buffer[32], 77u);
}

TEST(HostTrap, WaitsForAWaveThatHaltedFatally) {  // 3.4.1: FATAL_HALT stops the handler, too
  TrapDispatch d("s_sethalt 5\ns_mov_b32 s5, 77\n" + kStoreS5, kNote + kClearTrapsts + kReturn);
  precise::HostTraps host;
  d.traps().host = &host;
  std::atomic_ref<uint32_t> noted(d.buffer[TrapDispatch::kLog / 4 + 3]);
  Session session(d);
  const WaveDescription wave = session.halted();
  host.request({5, false});
  EXPECT_FALSE(session.control.wait(std::chrono::milliseconds(20)));
  EXPECT_EQ(noted.load(), 0u);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(noted.load(), trapsts_bit::kHostTrap);
  EXPECT_EQ(d.buffer[0], 77u);
}

// ---- Single step (5.2.1, 3.4.1)

TEST(SingleStep, ThroughABranchAndOverItsTarget) {
  Dispatch d(
      "s_mov_b32 s5, 2\n"
      "loop: s_sub_u32 s5, s5, 1\n"
      "s_cmp_lg_u32 s5, 0\n"
      "s_cbranch_scc1 loop\n"
      "s_branch there\n"
      "s_trap 2\n"
      "there: s_mov_b32 s5, 41\n" +
          kStoreS5,
      1, 32);
  Session session(d, {.start_halted = true});
  WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::start);
  EXPECT_EQ(session.dword(wave), 0u);
  for (size_t next : {1, 2, 3, 1, 2, 3, 4, 6, 7}) {
    session.control.step(wave.id, 1);
    wave = session.halted();
    EXPECT_EQ(wave.cause, HaltCause::step);
    EXPECT_EQ(session.dword(wave), next);
  }
  EXPECT_EQ(session.sgpr(wave.id, 5), 41u);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 41u);
}

TEST(SingleStep, SeveralAtOnceAndPastTheEnd) {
  Dispatch d("s_mov_b32 s5, 1\ns_add_u32 s5, s5, 1\ns_add_u32 s5, s5, 1\ns_add_u32 s5, s5, 1", 1, 32);
  Session session(d, {.start_halted = true});
  const WaveDescription first = session.halted();
  session.control.step(first.id, 3);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(session.dword(wave), 3u);
  EXPECT_EQ(session.sgpr(wave.id, 5), 3u);
  session.control.step(wave.id, 10);
  EXPECT_EQ(session.ended().id, first.id);
  EXPECT_THROW(session.control.resume(first.id), NoSuchWave);
  session.finish_well();
}

TEST(SingleStep, ATrapHandlerIsOneWithItsTrap) {  // the wave cannot halt in it: 3.4.1
  TrapDispatch d("s_nop 0\ns_trap 1\ns_mov_b32 s5, 1\ns_mov_b32 s5, 2\n" + kStoreS5,
                 kNote + return_behind(4));
  Session session(d, {.start_halted = true});
  WaveDescription wave = session.halted();
  for (size_t next : {1, 2, 3}) {
    session.control.step(wave.id, 1);
    wave = session.halted();
    EXPECT_EQ(session.dword(wave), next);
    EXPECT_EQ(wave.cause, HaltCause::step);
  }
  EXPECT_NE(d.buffer[TrapDispatch::kLog / 4], 0u);
  session.control.resume(wave.id);
  session.finish_well();
}

TEST(SingleStep, InstructionsOfAHandlerAreNoSteps) {
  TrapDispatch d("s_nop 0\ns_trap 1\ns_mov_b32 s5, 1\ns_mov_b32 s5, 2\n" + kStoreS5,
                 kNote + return_behind(4));
  Session session(d, {.start_halted = true});
  const WaveDescription wave = session.halted();
  session.control.step(wave.id, 3);
  EXPECT_EQ(session.dword(session.halted()), 3u);
  session.control.resume(wave.id);
  session.finish_well();
}

TEST(SingleStep, IntoABarrierHaltsThere) {  // 5.5: it has arrived all the same
  Dispatch d(kWaveNumber + "s_mov_b32 s5, 1\ns_barrier\n" + kStoreS5PerWave, 1, 64);
  Session session(d, {.start_halted = true});
  const WaveDescription first = session.halted(), second = session.halted();
  session.control.step(first.id, 5);
  const WaveDescription arrived = session.halted();
  EXPECT_EQ(arrived.id, first.id);
  EXPECT_EQ(session.dword(arrived), 5u);
  session.control.resume(second.id);
  while (session.control.waves().size() == 2) std::this_thread::yield();
  EXPECT_EQ(d.buffer[second.wave], 1u);  // it found the other one there
  EXPECT_EQ(d.buffer[first.wave], 0u);
  session.control.resume(first.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[first.wave], 1u);
}

// ---- Clauses (5.2.1)

// An instruction that must not stand in a clause, at its third place.
const char* const kBadClause =
    "s_clause 3\nv_mov_b32 v1, 1\nv_mov_b32 v2, 2\ns_mov_b32 s5, 3\nv_mov_b32 v3, 3\nv_mov_b32 v4, 4";

size_t findings_when_halted_after(uint64_t steps) {
  Dispatch d(kBadClause, 1, 32);
  d.options.precise.rules = precise::Rules::warn;
  Session session(d, {.start_halted = true});
  const WaveDescription wave = session.halted();
  if (steps != 0) {
    session.control.step(wave.id, steps);
    session.halted();
  }
  session.control.resume(wave.id);
  return session.finish().findings.size();
}

TEST(Clause, AHaltBreaksIt) {  // 5.2.1, 2: so does single step (16.5)
  EXPECT_EQ(findings_when_halted_after(0), 1u);
  EXPECT_EQ(findings_when_halted_after(1), 0u);
  EXPECT_EQ(findings_when_halted_after(2), 0u);
  EXPECT_EQ(findings_when_halted_after(3), 0u);
  EXPECT_EQ(findings_when_halted_after(4), 1u);
}

// Wave 1 sleeps in a clause with a bad instruction at its end; wave 0 counts, which is the time that wave 1
// sleeps, until it is told to stop.
size_t findings_with_command_to_the_other(bool command) {
  std::string clause = "s_clause 62\nv_mov_b32 v1, 1\nv_mov_b32 v2, 2\n";
  for (unsigned i = 0; i < 58; ++i) clause += "s_sleep 127\n";
  clause += "s_mov_b32 s5, 3\nv_mov_b32 v3, 3\nv_mov_b32 v4, 4\n";
  Dispatch d(
      kWaveNumber +
          "s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 sleeper\n"
          "loop: s_add_u32 s6, s6, 1\ns_cbranch_cdbguser out\ns_branch loop\nout: s_endpgm\nsleeper: " +
          clause,
      1, 64);
  d.options.precise.rules = precise::Rules::warn;
  Session session(d, {.condition_debug_user = !command});
  if (command) {
    std::vector<WaveDescription> waves;
    while (waves.empty() || (waves.size() == 2 && waves[1].state != WaveState::sleeping)) {
      std::this_thread::yield();
      waves = session.control.waves();
    }
    session.control.set_conditions(waves[0].id, true, std::nullopt);
  }
  return session.finish().findings.size();
}

TEST(Clause, ACommandToAnotherWaveOfTheGroupBreaksIt) {  // 5.2.1, 2: "all active clauses"
  EXPECT_EQ(findings_with_command_to_the_other(false), 1u);
  // The clause lasts for some milliseconds, in which this thread may sleep.
  size_t findings = 1;
  for (unsigned attempt = 0; attempt < 20 && findings != 0; ++attempt)
    findings = findings_with_command_to_the_other(true);
  EXPECT_EQ(findings, 0u);
}

// ---- Results under way land before a wave stands still (3.4.1, IDLE)

TEST(Results, LandBeforeTheHostLooks) {
  for (const auto results : {precise::Results::late, precise::Results::random}) {
    Dispatch d(
        "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v3, 8\nglobal_store_b32 v1, v3, s[0:1] offset:128\n"
        "global_load_b32 v2, v1, s[0:1]\ns_sethalt 1\ns_nop 0\ns_waitcnt vmcnt(0)\n"
        "global_store_b32 v1, v2, s[0:1] offset:256",
        1, 32);
    d.buffer[5] = 1234;
    d.options.precise.results = results;
    Session session(d);
    const WaveDescription wave = session.halted();
    EXPECT_EQ(session.control.read(wave.id, {RegisterKind::vgpr, 2, 5}), 1234u);
    EXPECT_EQ(d.buffer[32 + 5], 8u);
    session.control.write(wave.id, {RegisterKind::vgpr, 2, 5}, 4321);
    session.control.resume(wave.id);
    session.finish_well();
    EXPECT_EQ(d.buffer[64 + 5], 4321u);
  }
}

// It comes to no next instruction, and nobody in its group goes on, so that nothing lands for being overdue.
TEST(Results, LandBeforeAWaveAtABarrierStandsStill) {
  Dispatch d("v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1]\ns_barrier\ns_nop 0", 1, 64);
  d.buffer[5] = 1234;
  d.options.precise.results = precise::Results::late;
  Session session(d, {.start_halted = true});
  session.halted();
  session.halted();
  const WaveId first = session.control.waves()[0].id;
  session.control.step(first, 3);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.wave, 0u);
  EXPECT_EQ(session.dword(wave), 4u);
  EXPECT_EQ(session.control.read(first, {RegisterKind::vgpr, 2, 5}), 1234u);
  session.control.resume(kAllWaves);
  session.finish_well();
}

TEST(Results, OfAKilledWaveLand) {  // as at s_endpgm (5.1)
  Dispatch d(
      "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v3, 8\nglobal_store_b32 v1, v3, s[0:1]\nspin: s_cmp_eq_u32 s5, 0\n"
      "s_cbranch_scc1 spin\nglobal_store_b32 v1, v3, s[0:1] offset:128",
      1, 32);
  d.options.precise.results = precise::Results::late;
  Session session(d, {.start_halted = true});
  const WaveDescription wave = session.halted();
  session.control.step(wave.id, 4);
  EXPECT_EQ(session.halted().id, wave.id);
  session.control.kill(wave.id);
  EXPECT_EQ(session.ended().id, wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 8u);
  EXPECT_EQ(d.buffer[32], 0u);
}

// ---- Conditional debugging (3.4.1, 5.4, 16.5)

const std::string kBranches =
    "s_mov_b32 s5, 0\n"
    "s_cbranch_cdbguser u\ns_branch 1f\nu: s_or_b32 s5, s5, 1\n"
    "1: s_cbranch_cdbgsys s\ns_branch 2f\ns: s_or_b32 s5, s5, 2\n"
    "2: s_cbranch_cdbgsys_or_user o\ns_branch 3f\no: s_or_b32 s5, s5, 4\n"
    "3: s_cbranch_cdbgsys_and_user a\ns_branch 4f\na: s_or_b32 s5, s5, 8\n"
    "4:\n";

uint32_t taken(bool user, bool system) {
  return (user ? 1u : 0) | (system ? 2u : 0) | (user || system ? 4u : 0) | (user && system ? 8u : 0);
}

TEST(Conditions, BranchesFollowWhatTheHostSaysAtLaunch) {
  for (const bool user : {false, true})
    for (const bool system : {false, true}) {
      Dispatch d(kBranches + kStoreS5, 1, 32);
      Session session(d, {.condition_debug_user = user, .condition_debug_system = system});
      session.finish_well();
      EXPECT_EQ(d.buffer[0], taken(user, system)) << user << system;
    }
}

TEST(Conditions, OfOneWaveThatIsHalted) {
  for (const bool user : {false, true})
    for (const bool system : {false, true}) {
      Dispatch d(kWaveNumber + kBranches + kStoreS5PerWave, 1, 64);
      Session session(d, {.start_halted = true, .condition_debug_user = !user});
      const WaveDescription first = session.halted(), second = session.halted();
      session.control.set_conditions(first.id, user, system);
      EXPECT_EQ(session.status(first.id) & (kConditionDebugUser | kConditionDebugSystem),
                (user ? kConditionDebugUser : 0) | (system ? kConditionDebugSystem : 0));
      session.control.resume(kAllWaves);
      session.finish_well();
      EXPECT_EQ(d.buffer[first.wave], taken(user, system));
      EXPECT_EQ(d.buffer[second.wave], taken(!user, false));  // keeps what it had
    }
}

TEST(Conditions, ReachWavesThatRun) {
  Dispatch d("loop: s_cbranch_cdbgsys_and_user out\ns_branch loop\nout: s_mov_b32 s5, 6\n" + kStoreS5, 4, 32);
  Session session(d);
  session.control.set_conditions(kAllWaves, true, std::nullopt);
  while (session.control.waves().size() < 4) std::this_thread::yield();
  session.control.set_conditions(kAllWaves, true, std::nullopt);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(d.buffer[0], 0u);
  session.control.set_conditions(kAllWaves, std::nullopt, true);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 6u);
}

}  // namespace
}  // namespace lockstep::machine
