// The host commands waves while a dispatch runs (guide 3.4.1: "wave-control messages").
#include <time.h>

#include <random>

#include "machine/device.h"
#include "state/dispatch_state.h"
#include "tests/machine/controlled_dispatch.h"

namespace lockstep::machine {
namespace {

using precise::HaltCause;

// Runs until somebody makes s5, 0 at launch, another value.
const std::string kSpin = "spin: s_cmp_eq_u32 s5, 0\ns_cbranch_scc1 spin\n";

// Waves meet at a barrier and store 8; the one of that number comes when it is let out.
std::string meeting_without(unsigned wave) {
  return kWaveNumber + "s_cmp_eq_u32 s3, " + std::to_string(wave) + "\ns_cbranch_scc0 meet\n" + kSpin +
         "meet: s_mov_b32 s5, 8\ns_barrier\n" + kStoreS5PerWave;
}

void let_out(Session& session, WaveId id, uint32_t value) {
  session.control.write(id, {RegisterKind::sgpr, 5}, value);
  session.control.resume(id);
}

// Two waves, of which the first waits and the second one spins.
struct OneWaits {
  Dispatch dispatch;
  Session session{dispatch};
  std::vector<WaveDescription> waves;

  OneWaits(Dispatch given, WaveState state)
      : dispatch(std::move(given)), waves(session.waves_when(2, 0, state)) {}
  void halt_both() {
    session.control.halt(kAllWaves);
    session.halted();
    session.halted();
  }
};
struct OneWaitsAtABarrier : OneWaits {
  OneWaitsAtABarrier() : OneWaits({meeting_without(1), 1, 64}, WaveState::at_barrier) {}
};

TEST(WaveControl, ListsTheResidentWaves) {
  Dispatch d(kWaveNumber + "s_mov_b32 s5, 1\n" + kStoreS5PerWave, 3, 64);
  Session session(d, {.start_halted = true});
  for (unsigned i = 0; i < 6; ++i) session.halted();
  const auto waves = session.control.waves();
  ASSERT_EQ(waves.size(), 6u);
  unsigned seen = 0;
  for (const WaveDescription& wave : waves) {
    EXPECT_EQ(wave.state, WaveState::held);
    EXPECT_EQ(wave.cause, HaltCause::start);
    EXPECT_EQ(wave.pc, d.launch.entry);
    EXPECT_EQ(wave.wave_size, 32u);
    EXPECT_NE(wave.id, kAllWaves);
    seen |= 1u << (wave.group[0] * 2 + wave.wave);
    // What the launch put into the registers, before the first instruction.
    EXPECT_EQ(session.sgpr(wave.id, 0), static_cast<uint32_t>(d.address()));
    EXPECT_EQ(session.sgpr(wave.id, 2), wave.group[0]);
    EXPECT_EQ(session.control.read(wave.id, {RegisterKind::vgpr, 0, 31}), wave.wave * 32 + 31);
  }
  EXPECT_EQ(seen, 63u);
  session.control.resume(kAllWaves);
  session.finish_well();
  EXPECT_TRUE(session.control.waves().empty());
  for (unsigned group = 0; group < 3; ++group)
    for (unsigned wave = 0; wave < 2; ++wave) EXPECT_EQ(d.buffer[4 * group + wave], 1u);
}

TEST(WaveControl, HaltsAWaveThatRuns) {
  Dispatch d(kSpin + kStoreS5PerWave, 1, 32);
  Session session(d);
  while (session.control.waves().empty()) std::this_thread::yield();
  const WaveId id = session.control.waves()[0].id;
  session.control.halt(id);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.id, id);
  EXPECT_EQ(wave.cause, HaltCause::command);
  EXPECT_TRUE(session.status(id) & status_bit::kHalt);
  EXPECT_LE(session.dword(wave), 3u);
  session.control.halt(id);  // it is, already
  EXPECT_FALSE(session.control.wait(std::chrono::milliseconds(1)));
  let_out(session, id, 42);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 42u);
}

TEST(WaveControl, AHaltedWaveHoldsUpNobodyElse) {
  Dispatch d("s_mov_b32 s5, 1\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc0 on\ns_sethalt 1\non: " + kStoreS5PerWave,
             100, 32);
  d.options.threads = 1;
  Session session(d);
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.group[0], 0u);
  while (session.control.waves().size() > 1 || std::atomic_ref<uint32_t>(d.buffer[4 * 99]).load() == 0)
    std::this_thread::yield();
  EXPECT_EQ(d.buffer[0], 0u);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 1u);
}

// Both while all are halted and while one waits for a halted one.
TEST(WaveControl, HaltedWavesCostNoTime) {
  Dispatch d(kWaveNumber + "s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 meet\ns_sethalt 1\nmeet: s_barrier\n", 64, 64);
  d.options.threads = 4;
  Session session(d);
  for (unsigned i = 0; i < 64; ++i) session.halted();
  const auto spent = [] {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double before = spent();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(spent() - before, 0.1);
  session.control.resume(kAllWaves);
  session.finish_well();
}

// ---- Kill: as s_endpgm (5.1, s_setkill), and nobody waits for the wave any more (5.5)

TEST(Kill, OthersAtABarrierDoNotWaitForIt) {
  Dispatch d(meeting_without(2), 1, 128);
  Session session(d);
  const auto waves = session.waves_when(4, 3, WaveState::at_barrier);
  session.control.kill(waves[2].id);
  EXPECT_EQ(session.ended().wave, 2u);
  session.finish_well();
  EXPECT_EQ(std::vector<uint32_t>(d.buffer.begin(), d.buffer.begin() + 4),
            (std::vector<uint32_t>{8, 8, 0, 8}));
}

TEST(Kill, OfAWaveAtABarrier) {
  OneWaitsAtABarrier both;
  auto& [d, session, waves] = static_cast<OneWaits&>(both);
  session.control.kill(waves[0].id);
  EXPECT_EQ(session.ended().wave, 0u);
  session.control.halt(waves[1].id);
  EXPECT_EQ(session.halted().wave, 1u);
  let_out(session, waves[1].id, 1);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 0u);
  EXPECT_EQ(d.buffer[1], 8u);
}

TEST(Kill, OfAHaltedWaveAndOfAll) {
  Dispatch d("s_mov_b32 s5, 1\n" + kStoreS5PerWave, 8, 32);
  Session session(d, {.start_halted = true});
  std::vector<WaveId> ids;
  for (unsigned i = 0; i < 8; ++i) ids.push_back(session.halted().id);
  session.control.kill(ids[3]);
  EXPECT_EQ(session.ended().id, ids[3]);
  EXPECT_THROW(session.control.kill(ids[3]), NoSuchWave);
  EXPECT_EQ(session.control.waves().size(), 7u);
  session.control.kill(kAllWaves);
  session.finish_well();
  for (unsigned group = 0; group < 8; ++group) EXPECT_EQ(d.buffer[4 * group], 0u);
}

TEST(Kill, OfAWaveInItsTrapHandler) {  // at once, privileged or not
  Dispatch d("s_trap 1\n", 1, 32);
  const auto handler = interpreter::assembled("spin: s_branch spin", 32);
  d.options.precise.traps.handler = reinterpret_cast<uint64_t>(handler.data());
  d.options.precise.traps.code = {d.options.precise.traps.handler,
                                  d.options.precise.traps.handler + 4 * handler.size()};
  Session session(d);
  while (session.control.waves().empty() || session.control.waves()[0].pc != d.options.precise.traps.handler)
    std::this_thread::yield();
  session.control.kill(kAllWaves);
  session.ended();
  session.finish_well();
}

// ---- Waves that wait

TEST(Halt, OfAWaveAtABarrierThatTheOthersReachMeanwhile) {
  OneWaitsAtABarrier both;
  both.halt_both();
  auto& [d, session, waves] = static_cast<OneWaits&>(both);
  EXPECT_EQ(session.sgpr(waves[0].id, 5), 8u);
  session.control.write(waves[0].id, {RegisterKind::sgpr, 5}, 9);
  let_out(session, waves[1].id, 1);
  while (session.control.waves().size() == 2) std::this_thread::yield();
  EXPECT_EQ(d.buffer[0], 0u);
  EXPECT_EQ(d.buffer[1], 8u);  // the halted wave had arrived (5.5)
  session.control.resume(waves[0].id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 9u);
}

TEST(Halt, AtABarrierItStillWaitsWhenResumed) {
  OneWaitsAtABarrier both;
  both.halt_both();
  auto& [d, session, waves] = static_cast<OneWaits&>(both);
  session.control.resume(waves[0].id);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(d.buffer[0], 0u);
  let_out(session, waves[1].id, 1);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 8u);
}

// Two waves meet at a GWS barrier (13.4.4); the one that waits is halted, or killed.
const std::string kGwsMeeting =
    "v_mov_b32 v1, 1\ns_mov_b32 m0, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 meet\n" + kSpin +
    "meet: ds_gws_barrier v1 offset:5 gds\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, 3\n" + kStoreS5PerWave;

// With resource 5 set up for two waves.
std::shared_ptr<DeviceState> device_for_two() {
  auto device = std::make_shared<DeviceState>();
  Dispatch init("v_mov_b32 v2, 2\ns_mov_b32 m0, 0\nds_gws_init v2 offset:5 gds\ns_waitcnt lgkmcnt(0)", 1, 32);
  init.launch.device = device;
  EXPECT_FALSE(init.run().fault);
  return device;
}

struct OneWaitsInGlobalWaveSync : OneWaits {
  OneWaitsInGlobalWaveSync() : OneWaits(meeting(), WaveState::blocked) {}
  static Dispatch meeting() {
    Dispatch d(kGwsMeeting, 2, 32);
    d.launch.device = device_for_two();
    d.options.threads = 1;  // group 0 is launched first
    return d;
  }
};

TEST(Halt, OfAWaveThatWaitsInGlobalWaveSync) {
  OneWaitsInGlobalWaveSync both;
  both.halt_both();
  auto& [d, session, waves] = static_cast<OneWaits&>(both);
  // It waits on, and the list says what for.
  EXPECT_NE(
      session.control.waves()[0].message.find("waits at the barrier in global wave sync resource 5: 1 more"),
      std::string::npos);
  // It would leave its place in the queue.
  EXPECT_THROW(session.control.write(waves[0].id, {RegisterKind::pc}, waves[0].pc), std::invalid_argument);
  let_out(session, waves[1].id, 1);
  while (session.control.waves().size() == 2) std::this_thread::yield();
  EXPECT_EQ(d.buffer[0], 0u);
  EXPECT_EQ(d.buffer[4], 3u);
  session.control.resume(waves[0].id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 3u);
}

TEST(Kill, OfAWaveThatWaitsInGlobalWaveSync) {
  OneWaitsInGlobalWaveSync both;
  auto& [d, session, waves] = static_cast<OneWaits&>(both);
  EXPECT_NE(waves[0].message.find("waits at the barrier in global wave sync resource 5: 1 more"),
            std::string::npos)
      << waves[0].message;
  EXPECT_EQ(waves[1].message, "");
  session.control.kill(waves[0].id);
  EXPECT_EQ(session.ended().id, waves[0].id);
  session.control.kill(waves[1].id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 0u);
}

TEST(Halt, ByANackIsResumedWhenTheMachineMayTakeIt) {  // 13.4.4: the wave rewinds its PC and halts
  auto device = std::make_shared<DeviceState>();
  DeviceState::Access(*device).vmid(3) = {.gws_base = 8, .gws_size = 2};
  Dispatch d(
      "v_mov_b32 v1, 1\ns_mov_b32 m0, 0\nds_gws_init v1 offset:2 gds\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, "
      "6\n" +
          kStoreS5PerWave,
      1, 32);
  d.launch.device = device;
  d.launch.vmid = 3;
  Session session(d);
  WaveDescription wave = session.halted();
  EXPECT_EQ(wave.cause, HaltCause::refused);
  EXPECT_EQ(session.dword(wave), 2u);
  EXPECT_NE(wave.message.find("NACK"), std::string::npos);
  session.control.resume(wave.id);
  wave = session.halted();  // still refused
  EXPECT_EQ(wave.cause, HaltCause::refused);
  DeviceState::Access(*device).vmid(3).gws_size = 4;
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 6u);
}

// ---- The end of a dispatch

TEST(Cancel, EndsADispatchOfHaltedWaves) {
  for (unsigned threads : {1u, 4u}) {
    Dispatch d("s_nop 0", 16, 64);
    d.options.threads = threads;
    Session session(d, {.start_halted = true});
    WaveDescription wave;
    for (unsigned i = 0; i < 32; ++i) wave = session.halted();
    session.cancel = true;
    const Outcome outcome = session.finish();
    EXPECT_TRUE(outcome.cancelled);
    for (unsigned i = 0; i < 32; ++i) session.ended();  // who waits for them hears of it
    EXPECT_EQ(outcome.totals.groups_done, 0u);
    EXPECT_TRUE(session.control.waves().empty());
    EXPECT_THROW(session.control.resume(wave.id), NoSuchWave);
    EXPECT_THROW(session.control.read(wave.id, {RegisterKind::pc}), NoSuchWave);
    EXPECT_FALSE(session.control.wait(std::chrono::nanoseconds(0)));
  }
}

TEST(Fault, DropsHaltedWavesOfGroupsBehindIt) {
  Dispatch d("s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 fault\ns_sethalt 1\ns_endpgm\nfault: s_sethalt 1\ns_trap 2",
             8, 32);
  Session session(d);
  WaveId first = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const WaveDescription wave = session.halted();
    if (wave.group[0] == 0) first = wave.id;
  }
  session.control.resume(first);
  const Outcome outcome = session.finish();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->group[0], 0u);
  EXPECT_TRUE(session.control.waves().empty());
}

// The host looks at the first group while the last one faults.
TEST(Fault, EndsADispatchWhoseFirstGroupIsHalted) {
  for (unsigned threads : {1u, 4u}) {
    Dispatch d(
        "s_cmp_eq_u32 s2, 0\ns_cbranch_scc1 halt\ns_cmp_eq_u32 s2, 7\ns_cbranch_scc1 halt\ns_endpgm\n"
        "halt: s_sethalt 1\ns_trap 2",
        8, 32);
    d.options.threads = threads;
    Session session(d);
    WaveDescription first = session.halted(), last = session.halted();
    if (first.group[0] != 0) std::swap(first, last);
    session.control.resume(last.id);
    EXPECT_EQ(session.ended().id, first.id);
    const Outcome outcome = session.finish();
    ASSERT_TRUE(outcome.fault);
    EXPECT_EQ(outcome.fault->group[0], 7u);
    EXPECT_THROW(session.control.resume(first.id), NoSuchWave);
  }
}

// ---- Waves that halt where they fault (3.4.1, FATAL_HALT; 3.4.9, ILLEGAL_INST: an interrupt, and halt)

// Of a memory violation, an illegal instruction and s_trap, all at dword 3 of a wave with 5 in s5.
TEST(HaltOnFault, ShowsTheWaveAtItsInstruction) {
  struct Case {
    const char* instruction;
    FaultKind kind;
    uint32_t trapsts;
  };
  for (const Case& each :
       {Case{"global_load_b32 v1, v[2:3], off", FaultKind::memory_violation, 1u << 8},
        Case{".long 0", FaultKind::illegal_instruction, 1u << 11}, Case{"s_trap 2", FaultKind::trap, 0}})
    for (const bool is_killed : {false, true}) {
      SCOPED_TRACE(each.instruction);
      Dispatch d("s_mov_b32 s5, 5\nv_mov_b32 v2, 16\nv_mov_b32 v3, 0\n" + std::string(each.instruction) +
                     "\ns_mov_b32 s5, 6\n" + kStoreS5PerWave,
                 1, 32);
      Session session(d, {.halt_on_fault = true});
      const WaveDescription wave = session.halted();
      EXPECT_EQ(wave.cause, HaltCause::fault);
      EXPECT_EQ(wave.fault, each.kind);
      EXPECT_EQ(session.dword(wave), 3u);
      EXPECT_EQ(wave.fault_pc, wave.pc);
      EXPECT_NE(wave.message, "");
      EXPECT_EQ(session.sgpr(wave.id, 5), 5u);
      EXPECT_TRUE(session.status(wave.id) & status_bit::kFatalHalt);
      EXPECT_EQ(session.control.read(wave.id, {RegisterKind::trapsts}), each.trapsts);
      if (is_killed)
        session.control.kill(wave.id);
      else
        session.control.resume(wave.id);
      const Outcome outcome = session.finish();
      ASSERT_TRUE(outcome.fault);
      EXPECT_EQ(outcome.fault->fault.kind, each.kind);
      EXPECT_EQ(outcome.fault->fault.pc, d.pc(3));
      EXPECT_EQ(outcome.fault->fault.message, wave.message);
      EXPECT_EQ(d.buffer[0], 0u);
    }
}

TEST(HaltOnFault, AWriteOfThePcTakesItBack) {
  Dispatch d(
      "v_mov_b32 v2, 16\nv_mov_b32 v3, 0\nglobal_load_b32 v1, v[2:3], off\ns_waitcnt vmcnt(0)\n"
      ".long 0\nv_readfirstlane_b32 s5, v1\n" +
          kStoreS5PerWave,
      1, 32);
  d.buffer[9] = 1234;
  Session session(d, {.halt_on_fault = true});
  // Mended, and tried again.
  WaveDescription wave = session.halted();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const uint64_t address = d.address() + 36;
    session.control.write(wave.id, {RegisterKind::vgpr, 2, lane}, static_cast<uint32_t>(address));
    session.control.write(wave.id, {RegisterKind::vgpr, 3, lane}, address >> 32);
  }
  session.control.write(wave.id, {RegisterKind::pc}, wave.pc);
  session.control.resume(wave.id);
  // Passed over.
  wave = session.halted();
  EXPECT_EQ(wave.fault, FaultKind::illegal_instruction);
  session.control.write(wave.id, {RegisterKind::pc}, wave.pc + 4);
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 1234u);
}

// Accesses are tried at issue: the wave stands at the one that cannot be made.
TEST(HaltOnFault, OfAccessesWhoseResultsLandLate) {
  Dispatch d("v_mov_b32 v2, 16\nscratch_load_b32 v1, v2, off\ns_mov_b32 s5, 5\ns_waitcnt vmcnt(0)", 1, 32);
  d.options.precise.results = precise::Results::late;
  Session session(d, {.halt_on_fault = true});
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.fault_pc, d.pc(1));
  EXPECT_EQ(session.dword(wave), 1u);
  session.control.resume(wave.id);
  const Outcome outcome = session.finish();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(1));
}

TEST(HaltOnFault, InATrapHandlerToo) {  // 3.4.1: FATAL_HALT stops waves even when PRIV is 1
  Dispatch d("s_trap 1\n", 1, 32);
  const auto handler = interpreter::assembled("s_nop 0\n.long 0", 32);
  d.options.precise.traps.handler = reinterpret_cast<uint64_t>(handler.data());
  d.options.precise.traps.code = {d.options.precise.traps.handler,
                                  d.options.precise.traps.handler + 4 * handler.size()};
  Session session(d, {.halt_on_fault = true});
  const WaveDescription wave = session.halted();
  EXPECT_EQ(wave.pc, d.options.precise.traps.handler + 4);
  EXPECT_TRUE(session.status(wave.id) & status_bit::kPrivileged);
  EXPECT_EQ(session.control.read(wave.id, {RegisterKind::ttmp, 0}), static_cast<uint32_t>(d.launch.entry));
  session.control.resume(wave.id);
  EXPECT_TRUE(session.finish().fault);
}

TEST(HaltOnFault, OthersGoOnAndEachIsTold) {
  Dispatch d(kWaveNumber + "s_mov_b32 s5, 1\ns_cmp_eq_u32 s3, 0\ns_cbranch_scc0 store\n.long 0\nstore: " +
                 kStoreS5PerWave,
             4, 64);
  Session session(d, {.halt_on_fault = true});
  std::vector<WaveDescription> waves;
  for (unsigned i = 0; i < 4; ++i) waves.push_back(session.halted());
  while (session.control.waves().size() > 4) std::this_thread::yield();
  for (unsigned group = 0; group < 4; ++group) {
    EXPECT_EQ(d.buffer[4 * group], 0u);
    EXPECT_EQ(d.buffer[4 * group + 1], 1u);
  }
  session.control.resume(waves[2].id);
  const Outcome outcome = session.finish();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->group, waves[2].group);
  for (unsigned i = 0; i < 3; ++i) EXPECT_NE(session.ended().id, waves[2].id);
}

TEST(Deadlock, IsNotToldWhileAWaveIsHalted) {  // it may release the others when it goes on
  Dispatch d(
      "v_mov_b32 v1, 1\ns_mov_b32 m0, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 wait\ns_sethalt 1\n"
      "ds_gws_sema_v offset:4 gds\ns_waitcnt lgkmcnt(0)\ns_endpgm\n"
      "wait: ds_gws_sema_p offset:4 gds\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, 2\n" +
          kStoreS5PerWave,
      2, 32);
  Session session(d);
  const WaveDescription wave = session.halted();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  session.control.resume(wave.id);
  session.finish_well();
  EXPECT_EQ(d.buffer[0], 2u);
}

// ---- Waiting for events

TEST(Wait, EndsWithItsTimeOrAnInterrupt) {
  WaveControl control;
  EXPECT_FALSE(control.wait(std::chrono::milliseconds(5)));
  control.interrupt();  // before the wait
  EXPECT_FALSE(control.wait(std::nullopt));
  std::thread other([&] { control.interrupt(); });
  EXPECT_FALSE(control.wait(std::nullopt));
  other.join();
}

TEST(Wait, AHaltThatIsOverIsNotTold) {
  Dispatch d("s_sethalt 1\ns_sethalt 1", 1, 32);
  Session session(d);
  const auto waves = session.waves_when(1, 0, WaveState::held);
  session.control.resume(kAllWaves);
  EXPECT_EQ(session.dword(session.halted()), 2u);
  session.control.resume(kAllWaves);
  session.finish_well();
}

TEST(Commands, ThatCannotBeAreRefused) {
  Dispatch d(kSpin, 1, 32);
  Session session(d);
  while (session.control.waves().empty()) std::this_thread::yield();
  const WaveId id = session.control.waves()[0].id;
  EXPECT_THROW(session.control.step(id, 1), std::invalid_argument);  // it runs
  EXPECT_THROW(session.control.read(id, {RegisterKind::pc}), std::invalid_argument);
  EXPECT_THROW(session.control.write(id, {RegisterKind::pc}, 0), std::invalid_argument);
  EXPECT_THROW(session.control.halt(id + 1), NoSuchWave);
  session.control.halt(id);
  session.halted();
  EXPECT_THROW(session.control.step(id, 0), std::invalid_argument);
  EXPECT_THROW(session.control.step(kAllWaves, 1), std::invalid_argument);
  session.control.kill(id);
  session.finish_well();
}

// Who follows the waves is no hindrance to who commands them.
TEST(Commands, GoTogetherWithAListener) {
  struct : Listener {
    void before(const Event&) override { ++instructions; }
    std::atomic<uint64_t> instructions = 0;
  } listener;
  WaveControl control;
  Dispatch d("s_nop 0", 1, 32);
  d.options.precise.listener = &listener;
  d.options.control = &control;
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(listener.instructions, 2u);
}

// ---- Many groups, commands at random from another thread

TEST(ManyGroups, ComeToTheirResultsWhateverTheHostDoes) {
  // Two waves of each group add up 0 to 199 in turns, with a barrier in each round.
  const std::string program = kWaveNumber +
                              "s_mov_b32 s4, 0\ns_mov_b32 s5, 0\n"
                              "loop: s_add_u32 s5, s5, s4\ns_barrier\ns_add_u32 s4, s4, 1\n"
                              "s_cmp_lt_u32 s4, 200\ns_cbranch_scc1 loop\n" +
                              kStoreS5PerWave;
  uint64_t halts = 0;
  for (const unsigned threads : {1u, 2u, 4u})
    for (const bool start_halted : {false, true}) {
      SCOPED_TRACE(threads);
      Dispatch d(program, 64, 64);
      d.options.threads = threads;
      std::atomic<bool> over = false;
      WaveControl control({.start_halted = start_halted});
      d.options.control = &control;
      std::thread host([&] {
        std::minstd_rand random(threads);
        while (!over) {
          const auto waves = control.waves();
          if (waves.empty()) continue;
          const WaveDescription& wave = waves[random() % waves.size()];
          try {
            switch (random() % 8) {
              case 0:
                control.halt(wave.id);
                break;
              case 1:
                control.halt(kAllWaves);
                break;
              case 2:
                control.resume(kAllWaves);
                break;
              case 3:
                if (wave.state == WaveState::held) control.step(wave.id, 1 + random() % 50);
                break;
              case 4:
                if (wave.state == WaveState::held)
                  control.write(wave.id, {RegisterKind::m0}, control.read(wave.id, {RegisterKind::sgpr, 5}));
                break;
              default:
                control.resume(wave.id);
            }
          } catch (const NoSuchWave&) {
          } catch (const std::invalid_argument&) {  // it was let go since
          }
          while (control.wait(std::chrono::nanoseconds(0))) ++halts;
        }
      });
      const Outcome outcome = d.run();
      over = true;
      host.join();
      EXPECT_FALSE(outcome.fault);
      for (unsigned group = 0; group < 64; ++group)
        for (unsigned wave = 0; wave < 2; ++wave) EXPECT_EQ(d.buffer[4 * group + wave], 199u * 200 / 2);
    }
  EXPECT_GT(halts, 0u);
}

// ---- Dispatches side by side on a device

TEST(OnADevice, DispatchesAreCommandedSideBySide) {
  WaveControl control({.start_halted = true});
  Device::Options options;
  options.hardware = hardware::models().front();
  options.threads = 2;
  options.control = &control;
  Dispatch a("s_mov_b32 s5, 1\n" + kStoreS5PerWave, 2, 32), b("s_mov_b32 s5, 2\n" + kStoreS5PerWave, 64, 32);
  {
    std::mutex mutex;
    std::condition_variable changed;
    unsigned done = 0, cancelled = 0;
    const auto count = [&](Outcome&& outcome) {
      std::lock_guard lock(mutex);
      ++done;
      cancelled += outcome.cancelled;
      changed.notify_all();
    };
    const auto wait_for = [&](unsigned number) {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, Session::kPatience, [&] { return done == number; });
    };
    Device device(std::move(options));  // goes first, and calls `count` then
    device.start(a.launch, 0, count);
    device.start(b.launch, 0, count);
    for (unsigned i = 0; i < 66; ++i) ASSERT_TRUE(control.wait(Session::kPatience));
    EXPECT_EQ(done, 0u);
    control.resume(kAllWaves);
    ASSERT_TRUE(wait_for(2));
    EXPECT_EQ(a.buffer[4], 1u);
    EXPECT_EQ(b.buffer[4 * 63], 2u);
    // One is cancelled while its waves stand still.
    auto third = device.start(b.launch, 0, count);
    for (unsigned i = 0; i < 64; ++i) ASSERT_TRUE(control.wait(Session::kPatience));
    device.cancel(*third);
    ASSERT_TRUE(wait_for(3));
    EXPECT_EQ(cancelled, 1u);
    EXPECT_TRUE(control.waves().empty());
    // And one when the device ends.
    device.start(b.launch, 0, count);
    ASSERT_TRUE(control.wait(Session::kPatience));
  }
  EXPECT_TRUE(control.waves().empty());
}

}  // namespace
}  // namespace lockstep::machine
