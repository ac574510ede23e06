// Entering and leaving the trap handler (guide 3.4.9, 5.1, 16.2 s_rfe, 16.5 s_trap), privileged registers
// (3.3.1.4, 3.4), and who sends a wave there.
#include <thread>

#include "tests/engine/precise/trap_dispatch.h"

namespace lockstep::machine {
namespace {

using namespace status_bit;
namespace ts = trapsts_bit;

// ---- s_trap

TEST(Trap, UserTrapLeavesIdAndItsOwnPcInTheTtmps) {  // 3.4.9: {TTMP1, TTMP0}; 16.5: PC of s_trap itself
  TrapDispatch d("s_nop 0\ns_trap 0x2a\ns_mov_b32 s5, 77\n" + kStoreS5, kNote + return_behind(4));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(d.dword(log[0]), 1u);
  EXPECT_EQ(log[0].id, 0x2au);
  EXPECT_FALSE(log[0].from_host);
  EXPECT_TRUE(log[0].status & kPrivileged);  // 16.5: PRIV is 1 in the handler
  EXPECT_TRUE(log[0].status & kTrapEnabled);
  EXPECT_EQ(log[0].trapsts, 0u);
  EXPECT_EQ(d.buffer[31], 77u);
}

TEST(Trap, OnlyEightBitsAreItsNumber) {  // 16.5, s_trap: SIMM16[7:0]
  TrapDispatch d("s_trap 0x12a", kNote + return_behind(4));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].id, 0x2au);
  EXPECT_FALSE(log[0].from_host);
}

TEST(Trap, WithoutHandlerTheHardwareSkipsIt) {  // 3.4.9: TRAP_EN 0 makes s_trap an s_nop
  Dispatch d("s_trap 2\ns_trap 9\ns_getreg_b32 s5, hwreg(HW_REG_STATUS)\n" + kStoreS5, 1, 32);
  d.options.precise.traps.without_handler = precise::TrapWithoutHandler::skip;
  EXPECT_FALSE(d.run().fault);
  EXPECT_FALSE(d.buffer[0] & kTrapEnabled);
  EXPECT_TRUE(d.buffer[0] & kValid);
}

// The bit and the instruction agree: ROCm's handler is there, in the machine's person.
TEST(Trap, WithoutHandlerTheBitIsSetWhereItIsReported) {
  Dispatch d("s_getreg_b32 s5, hwreg(HW_REG_STATUS)\n" + kStoreS5, 1, 32);
  EXPECT_FALSE(d.run().fault);
  EXPECT_TRUE(d.buffer[0] & kTrapEnabled);
}

TEST(Trap, WithoutHandlerTheDefaultReportsItAsTheRuntimeDoes) {
  Dispatch d("s_trap 3\ns_trap 2", 1, 32);
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::trap);
  EXPECT_EQ(outcome.fault->fault.pc, d.pc(1));
}

// 5.1, s_trap: what is under way comes to its end first; the handler needs no wait.
TEST(Trap, TheWayInWaitsForWhatIsUnderWay) {
  for (const char* entry : {"s_trap 1\n", "s_nop 0\n"}) {
    TrapDispatch d("v_mov_b32 v1, 7\nv_mov_b32 v4, 0\nglobal_load_b32 v1, v4, s[0:1] offset:256\n" +
                       std::string(entry) + "global_store_b32 v4, v3, s[0:1]",
                   "v_mov_b32 v3, v1\n" + (entry[2] == 't' ? return_behind(4) : kReturn));
    d.buffer[64] = 1005;
    d.options.precise.results = precise::Results::late;
    if (entry[2] != 't') d.traps().scheduled = {{3, {1, false}}};
    EXPECT_FALSE(d.run().fault);
    EXPECT_EQ(d.buffer[0], 1005u) << entry;
  }
}

TEST(Trap, AHandlerThatIsNotEnabledTakesNone) {  // 3.4.9, STATUS.TRAP_EN
  TrapDispatch d("s_getreg_b32 s5, hwreg(HW_REG_STATUS)\ns_trap 7\n" + kStoreS5 +
                     "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)\nv_mov_b32 v10, s5\n"
                     "global_store_b32 v11, v10, s[0:1] offset:256",
                 kNote + return_behind(4));
  d.traps().enabled = false;
  d.traps().without_handler = precise::TrapWithoutHandler::skip;
  d.traps().on_start = true;
  d.traps().scheduled = {{0, {5, false}}, {0, {0, true}}};
  EXPECT_TRUE(d.trapped().empty());
  EXPECT_FALSE(d.buffer[0] & kTrapEnabled);
  EXPECT_EQ(d.buffer[64], 0u);  // neither was noted
}

// 3.4.9: the bit alone decides, whatever is wanted where there is no handler.
TEST(Trap, AHandlerThatIsNotEnabledMakesItANop) {
  TrapDispatch d("s_trap 7\ns_mov_b32 s5, 77\n" + kStoreS5, kNote + return_behind(4));
  d.traps().enabled = false;
  EXPECT_TRUE(d.trapped().empty());
  EXPECT_EQ(d.buffer[0], 77u);
}

TEST(Trap, Number0IsTheHardwares) {  // 5.1, 16.5: reported, and executed like others
  const auto findings_of = [](Dispatch& d) {
    d.options.precise.rules = precise::Rules::warn;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
    size_t count = 0;
    for (const Finding& finding : outcome.findings)
      count += finding.rule.find("s_trap 0") != std::string::npos &&
               finding.rule.find("guide 5.1, 16.5") != std::string::npos;
    return count;
  };
  const std::string program = "s_trap 0x100\ns_mov_b32 s5, 77\n" + kStoreS5;
  TrapDispatch with_handler(program, kNote + return_behind(4)), disabled(program, kNote + return_behind(4)),
      good("s_trap 1", kNote + return_behind(4));
  disabled.traps().enabled = false;
  Dispatch without(program, 1, 32);
  EXPECT_EQ(findings_of(with_handler), 1u);
  EXPECT_EQ(with_handler.buffer[TrapDispatch::kLog / 4 + 1] >> 16, 0u);
  EXPECT_EQ(findings_of(disabled), 1u);
  EXPECT_EQ(findings_of(without), 1u);
  EXPECT_EQ(findings_of(good), 0u);
  for (const Dispatch* d : std::initializer_list<const Dispatch*>{&with_handler, &disabled, &without})
    EXPECT_EQ(d->buffer[0], 77u);
}

TEST(Trap, RfeClearsPrivAndIgnoresWhatIsAboveThePc) {  // 16.2, s_rfe_b64
  TrapDispatch d("s_trap 0xff\ns_getreg_b32 s5, hwreg(HW_REG_STATUS)\n" + kStoreS5, kNote + return_behind(4));
  ASSERT_EQ(d.trapped().size(), 1u);
  EXPECT_FALSE(d.buffer[0] & kPrivileged);
  EXPECT_TRUE(d.buffer[0] & kTrapEnabled);
  EXPECT_TRUE(d.buffer[0] & kValid);
}

TEST(Trap, RfeOutsideTheHandlerIsIllegal) {  // 16.2: only within a trap handler
  TrapDispatch d("s_mov_b64 s[4:5], 0\ns_rfe_b64 s[4:5]\ns_mov_b32 s5, 77\n" + kStoreS5,
                 kNote + kClearTrapsts + return_behind(4));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].trapsts, ts::kIllegalInstruction);
  EXPECT_EQ(d.dword(log[0]), 1u);
  EXPECT_EQ(d.buffer[0], 77u);

  Dispatch without("s_rfe_b64 s[0:1]", 1, 32);
  const Outcome outcome = without.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::illegal_instruction);
}

TEST(Trap, SccSurvivesThroughStatus) {  // 3.4.1: SCC is bit 0 and writable when privileged
  TrapDispatch d("s_cmp_eq_u32 0, 0\ns_trap 1\ns_cselect_b32 s5, 11, 22\n" + kStoreS5,
                 kNote + "s_cmp_eq_u32 0, 1\n" + return_behind(4));
  ASSERT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0], 11u);
}

TEST(Trap, SaveWaveIsTheHandlersMessage) {  // 5.3, table 16
  // In the handler there is an answer, asked to save or not; outside it is the illegal message.
  TrapDispatch d("s_trap 1\ns_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_SAVE_WAVE)\n",
                 "s_mov_b32 ttmp12, 1\ns_mov_b32 ttmp13, 1\n"
                 "s_sendmsg_rtn_b64 ttmp[12:13], sendmsg(MSG_RTN_SAVE_WAVE)\ns_waitcnt lgkmcnt(0)\n" +
                     kNote + "s_or_b32 ttmp12, ttmp12, ttmp13\ns_cbranch_scc0 zero\ns_endpgm\nzero:\n" +
                     kClearTrapsts + return_behind(4));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].id, 1u);
  EXPECT_EQ(log[0].trapsts, 0u);
  EXPECT_EQ(d.dword(log[1]), 1u);
  EXPECT_EQ(log[1].trapsts, ts::kIllegalInstruction);
}

TEST(Trap, HandlerEndsTheWave) {  // 5.1, s_endpgm_saved
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 77\n" + kStoreS5, kNote + "s_endpgm_saved\n");
  ASSERT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0], 0u);
}

TEST(Trap, TmaAndTbaAreReadByMessages) {  // 3.4.9, 5.4: Get TMA, Get TBA; bit 63 of TBA: present
  TrapDispatch d(
      "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_TMA)\ns_sendmsg_rtn_b64 s[6:7], "
      "sendmsg(MSG_RTN_GET_TBA)\ns_sendmsg_rtn_b32 s8, sendmsg(MSG_RTN_GET_TBA)\ns_waitcnt lgkmcnt(0)\n"
      "v_mov_b32 v1, s4\nv_mov_b32 v2, s5\nv_mov_b32 v3, s6\nv_mov_b32 v4, s7\nv_mov_b32 v5, s8\n"
      "v_mov_b32 v6, 0\nglobal_store_b128 v6, v[1:4], s[0:1]\nglobal_store_b32 v6, v5, s[0:1] offset:16",
      "s_rfe_b64 ttmp[0:1]", 1);
  EXPECT_TRUE(d.trapped().empty());
  EXPECT_EQ(d.buffer[0] | uint64_t{d.buffer[1]} << 32, d.traps().memory);
  EXPECT_EQ(d.buffer[2] | uint64_t{d.buffer[3]} << 32, d.traps().handler | uint64_t{1} << 63);
  EXPECT_EQ(d.buffer[4], static_cast<uint32_t>(d.traps().handler));
}

// ---- TTMPs and privileged registers

TEST(Privilege, TtmpsReadAsZeroAndKeepTheirValuesOutside) {  // 3.3.1.4
  // The handler counts in ttmp12; the program tries to write it, and reads it in every way it can.
  TrapDispatch d(
      "s_trap 1\ns_mov_b32 s5, ttmp12\ns_mov_b32 ttmp12, 5\nv_readfirstlane_b32 ttmp12, v0\n"
      "v_cmp_eq_u32 ttmp12, v0, v0\ns_load_b32 ttmp12, s[0:1], 0\ns_waitcnt lgkmcnt(0)\n"
      "v_mov_b32 v1, ttmp12\nv_readfirstlane_b32 s6, v1\ns_or_b32 s5, s5, s6\n"
      "s_getpc_b64 ttmp[12:13]\ns_or_b64 s[6:7], ttmp[12:13], 0\ns_or_b32 s5, s5, s6\ns_trap 2\n" +
          kStoreS5,
      "s_add_u32 ttmp12, ttmp12, 100\n" + kNote +
          "s_mov_b64 ttmp[8:9], exec\ns_mov_b64 exec, 1\nv_mov_b32 v250, 0\nv_mov_b32 v251, ttmp12\n"
          "global_store_b32 v250, v251, ttmp[4:5] offset:-8\ns_mov_b64 exec, ttmp[8:9]\n" +
          return_behind(4));
  EXPECT_EQ(d.trapped().size(), 2u);
  EXPECT_EQ(d.buffer[0], 0u);
  EXPECT_EQ(d.buffer[TrapDispatch::kLog / 4 - 2], 200u);
}

TEST(Privilege, AFailedWriteOfATtmpLeavesScc) {  // 3.3.1.4
  TrapDispatch d("s_cmp_eq_u32 0, 1\ns_add_u32 ttmp3, -1, -1\ns_cselect_b32 s5, 1, 2\n" + kStoreS5,
                 "s_rfe_b64 ttmp[0:1]");
  d.trapped();
  EXPECT_EQ(d.buffer[0], 2u);
}

TEST(Privilege, InTheHandlerAnAdditionIntoATtmpWritesScc) {
  TrapDispatch d("s_trap 1\ns_cselect_b32 s5, 1, 2\n" + kStoreS5,
                 kNote +
                     "s_add_u32 ttmp0, ttmp0, 4\ns_addc_u32 ttmp1, ttmp1, 0\ns_add_u32 ttmp3, -1, -1\n"
                     "s_rfe_b64 ttmp[0:1]");
  d.trapped();
  EXPECT_EQ(d.buffer[0], 1u);
}

TEST(Privilege, RelativeIndexingStaysAmongTheTtmps) {  // 3.3.1.4, s_movrel
  // ttmp13 = ttmp12 through M0 = 2; indexing beyond TTMP15 reads S0 and writes nothing.
  TrapDispatch d("s_mov_b32 s5, 0\ns_trap 1\n" + kStoreS5,
                 kNote +
                     "s_mov_b32 ttmp12, 55\ns_mov_b32 m0, 2\ns_movrels_b32 ttmp13, ttmp10\n"
                     "s_mov_b32 s5, ttmp13\ns_mov_b32 m0, 1\ns_movreld_b32 ttmp13, ttmp12\n"
                     "s_add_u32 s5, s5, ttmp14\ns_mov_b32 m0, 9\ns_movreld_b32 ttmp15, ttmp12\n" +
                     return_behind(4));
  d.trapped();
  EXPECT_EQ(d.buffer[0], 110u);
}

TEST(Privilege, StatusIsWrittenByTheHandlerOnly) {  // 3.4, 3.4.1, 16.1 s_setreg: writable bits
  const std::string program =
      "s_mov_b32 s6, -1\ns_setreg_b32 hwreg(HW_REG_STATUS, 20, 2), s6\ns_mov_b32 s5, 1\n"
      "s_cbranch_cdbguser set\ns_mov_b32 s5, 2\nset:\ns_trap 1\ns_cbranch_cdbgsys also\ns_add_u32 s5, s5, "
      "10\n"
      "also:\n" +
      kStoreS5;
  TrapDispatch d(program, kNote + "s_mov_b32 ttmp10, -1\ns_setreg_b32 hwreg(HW_REG_STATUS, 21, 1), ttmp10\n" +
                              return_behind(4));
  EXPECT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0], 2u);  // not set by the program, set by the handler
}

TEST(Privilege, TheHandlerCannotWriteTheBitsThatAreTheHardwares) {  // 3.4.1, "Write when Priv"
  TrapDispatch d("s_trap 1\n" + kStoreS5,
                 kNote +
                     "s_getreg_b32 ttmp10, hwreg(HW_REG_STATUS)\ns_not_b32 ttmp11, ttmp10\n"
                     "s_setreg_b32 hwreg(HW_REG_STATUS), ttmp11\ns_getreg_b32 ttmp11, hwreg(HW_REG_STATUS)\n"
                     "s_xor_b32 s5, ttmp10, ttmp11\ns_setreg_b32 hwreg(HW_REG_STATUS), ttmp10\n" +
                     return_behind(4));
  d.trapped();
  // SCC is that of s_xor by then. Everything else that changed is what the guide lets a handler write.
  EXPECT_EQ(d.buffer[0] & ~kScc, kWritable & ~kScc);
}

TEST(Privilege, FlatScratchIsWrittenByTheHandlerOnly) {  // 3.4.7
  TrapDispatch d(
      "s_mov_b32 s6, 0x12345\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s6\n"
      "s_getreg_b32 s5, hwreg(HW_REG_FLAT_SCR_LO)\ns_trap 1\ns_getreg_b32 s6, hwreg(HW_REG_FLAT_SCR_LO)\n"
      "s_getreg_b32 s7, hwreg(HW_REG_FLAT_SCR_HI)\ns_add_u32 s5, s5, s6\ns_add_u32 s5, s5, s7\n" +
          kStoreS5,
      kNote +
          "s_mov_b32 ttmp10, 0x12345\ns_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), ttmp10\n"
          "s_setreg_imm32_b32 hwreg(HW_REG_FLAT_SCR_HI), 7\n" +
          return_behind(4));
  EXPECT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0], 0x12300u + 7);
}

TEST(Privilege, ExceptionsAreWrittenByAnyoneTheRestOfTrapstsByTheHandler) {  // 3.4.9, TRAPSTS
  TrapDispatch d(
      "s_mov_b32 s6, -1\ns_setreg_b32 hwreg(HW_REG_TRAPSTS), s6\n"
      "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)\ns_trap 1\ns_getreg_b32 s6, hwreg(HW_REG_TRAPSTS)\n"
      "s_lshr_b32 s6, s6, 16\ns_lshl_b32 s6, s6, 16\ns_or_b32 s5, s5, s6\n" +
          kStoreS5,
      kNote + "s_mov_b32 ttmp10, 0xfffffbff\ns_setreg_b32 hwreg(HW_REG_TRAPSTS), ttmp10\n" +
          return_behind(4));
  EXPECT_EQ(d.trapped().size(), 1u);
  EXPECT_EQ(d.buffer[0],
            ts::kExceptions | ts::kHostTrap | ts::kWaveStart | ts::kWaveEnd | ts::kTrapAfterInstruction);
}

TEST(Privilege, HardwareIdIsReadInTheHandler) {  // 3.4.8
  TrapDispatch d("s_trap 1\n" + kStoreS5,
                 kNote + "s_getreg_b32 s5, hwreg(HW_REG_HW_ID1)\n" + return_behind(4), 64);
  d.traps().memory = d.address();  // both waves log to one place; only the ids matter
  EXPECT_FALSE(d.run().fault);
  EXPECT_NE(d.buffer[8], d.buffer[40]);  // two waves have two places
}

// ---- Faults

TEST(Trap, AnIllegalInstructionAlwaysEntersTheHandler) {  // 3.4.9: cannot be masked off
  TrapDispatch d("s_nop 0\nv_illegal\ns_mov_b32 s5, 77\n" + kStoreS5,
                 kNote + kClearTrapsts + return_behind(4));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(d.dword(log[0]), 1u);
  EXPECT_EQ(log[0].id, 0u);  // 3.4.9: TRAP_ID is zero for exceptions
  EXPECT_EQ(log[0].trapsts, ts::kIllegalInstruction);
  EXPECT_EQ(d.buffer[0], 77u);
}

// Wherever the host stops to look at others: a wave alone runs 50,000 instructions at first.
TEST(Trap, AnIllegalInstructionAtTheEndOfATurn) {
  for (unsigned before = 49'990; before <= 50'010; ++before) {
    std::string text = "s_mov_b32 s6, " + std::to_string((before - 1) / 3) +
                       "\nloop: s_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 loop\n";
    for (unsigned i = 0; i < (before - 1) % 3; ++i) text += "s_nop 0\n";
    TrapDispatch d(text + "v_illegal", kNote + kClearTrapsts + return_behind(4));
    EXPECT_EQ(d.trapped().size(), 1u) << before;
  }
}

const std::string kRefused = ".long 0xbfff0000\ns_nop 0\n";  // an SOPP opcode that does not exist, 4.1

// What is refused when it is decoded faults at its own turn: the instruction before it is over by then.
TEST(Trap, AnIllegalInstructionBehindOneThatTraps) {
  TrapDispatch d("s_mov_b32 s5, 1\n" + kRefused + kStoreS5, kNote + kClearTrapsts +
                                                                "s_bitcmp1_b32 ttmp7, 11\n"  // ILLEGAL_INST
                                                                "s_cselect_b32 ttmp10, 8, 0\n"
                                                                "s_add_u32 ttmp0, ttmp0, ttmp10\n"
                                                                "s_addc_u32 ttmp1, ttmp1, 0\n" +
                                                                kReturn);
  d.traps().after_instruction = true;
  const auto log = d.trapped();
  ASSERT_GE(log.size(), 2u);
  EXPECT_EQ(d.dword(log[0]), 1u);
  EXPECT_EQ(log[0].trapsts, ts::kTrapAfterInstruction | ts::kIllegalInstruction);
  EXPECT_EQ(d.buffer[0], 1u);
}

TEST(Trap, AnIllegalInstructionInTheHandlerEndsTheDispatch) {  // 3.4.9, ILLEGAL_INST: "not in the handler"
  TrapDispatch d("s_trap 1\n", "s_nop 0\nv_illegal\n");
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::illegal_instruction);
  EXPECT_EQ(outcome.fault->fault.pc, d.traps().handler + 4);
  EXPECT_EQ(outcome.fault->instruction, "v_illegal");
}

// Lane n reads the word at v1[n]; lanes 3 and 20 have bad addresses.
const std::string kBadLanes =
    "v_lshlrev_b32 v1, 2, v0\nv_mov_b32 v2, 0\nv_add_co_u32 v1, vcc_lo, s0, v1\n"
    "v_add_co_ci_u32 v2, vcc_lo, s1, v2, vcc_lo\n"
    "v_cmp_eq_u32 vcc_lo, 3, v0\nv_cndmask_b32 v2, v2, 0, vcc_lo\n"
    "v_cmp_eq_u32 vcc_lo, 20, v0\nv_cndmask_b32 v2, v2, 0, vcc_lo\n";

TEST(Trap, AMemoryViolationServesTheOtherLanes) {  // 11.3: bad lanes read zero; 3.4.9: EXCP[8], always a trap
  TrapDispatch d(kBadLanes +
                     "v_mov_b32 v3, -1\nglobal_load_b32 v3, v[1:2], off offset:256\n"
                     "v_mov_b32 v4, -1\nglobal_load_d16_b16 v4, v[1:2], off offset:256\n"
                     "v_lshlrev_b32 v5, 2, v0\nglobal_store_b32 v5, v3, s[0:1] offset:512\n"
                     "global_store_b32 v5, v4, s[0:1] offset:1024",
                 kNote + kClearTrapsts + return_behind(8));
  for (unsigned i = 0; i < 32; ++i) d.buffer[64 + i] = 0x10001 * (i + 1);
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].trapsts, ts::kMemoryViolation);
  EXPECT_EQ(log[1].pc - log[0].pc, 12u);  // the faulting instructions
  for (unsigned i = 0; i < 32; ++i) {
    const bool bad = i == 3 || i == 20;
    EXPECT_EQ(d.buffer[128 + i], bad ? 0 : 0x10001 * (i + 1)) << i;
    EXPECT_EQ(d.buffer[256 + i], bad ? 0xffff0000u : 0xffff0000u | (i + 1)) << i;
  }
}

TEST(Trap, AMemoryViolationBeforeAnIllegalInstruction) {  // 3.4.9: each traps at its own instruction
  for (const precise::Results results : {precise::Results::now, precise::Results::late}) {
    // Lane 3 has a bad address.
    TrapDispatch d(
        "v_lshlrev_b32 v5, 2, v0\nv_add_co_u32 v1, vcc, s0, v5\nv_mov_b32 v2, s1\n"
        "v_add_co_ci_u32 v2, vcc, 0, v2, vcc\nv_cmp_eq_u32 vcc, 3, v0\n"
        "v_cndmask_b32 v2, v2, 0, vcc\nv_mov_b32 v3, -1\n"
        "global_load_b32 v3, v[1:2], off offset:256\n" +
            kRefused + "s_waitcnt vmcnt(0)\nglobal_store_b32 v5, v3, s[0:1] offset:512",
        kNote + kClearTrapsts + return_behind(8), 64, 64);
    d.options.precise.results = results;
    for (unsigned i = 0; i < 64; ++i) d.buffer[64 + i] = i + 1;
    const auto log = d.trapped();
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[0].trapsts, ts::kMemoryViolation);
    EXPECT_EQ(log[1].trapsts, ts::kIllegalInstruction);
    EXPECT_EQ(log[1].pc - log[0].pc, 8u);
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(d.buffer[128 + i], i == 3 ? 0 : i + 1) << i;
  }
}

TEST(Trap, AtomicsOfTheOtherLanesHappenOnce) {  // 11.3
  TrapDispatch d(kBadLanes +
                     "v_mov_b32 v3, 1\nv_mov_b32 v6, -1\n"
                     "global_atomic_add_u32 v6, v[1:2], v3, off offset:256 glc\n"
                     "v_lshlrev_b32 v5, 2, v0\nglobal_store_b32 v5, v6, s[0:1] offset:512",
                 kNote + kClearTrapsts + return_behind(8));
  for (unsigned i = 0; i < 32; ++i) d.buffer[64 + i] = 100 + i;
  ASSERT_EQ(d.trapped().size(), 1u);
  for (unsigned i = 0; i < 32; ++i) {
    const bool bad = i == 3 || i == 20;
    EXPECT_EQ(d.buffer[64 + i], 100 + i + !bad) << i;
    EXPECT_EQ(d.buffer[128 + i], bad ? 0 : 100 + i) << i;
  }
}

TEST(Trap, AMisalignedAtomicAndABadScalarLoadAreMemoryViolations) {  // 11.3, 8.1
  TrapDispatch d(
      "s_mov_b64 s[6:7], 0x1000\ns_mov_b32 s5, 9\ns_load_b32 s5, s[6:7], 0\ns_waitcnt lgkmcnt(0)\n" +
          kStoreS5 + "v_mov_b32 v3, 1\nv_mov_b32 v4, 2\nglobal_atomic_add_u32 v4, v3, s[0:1]",
      kNote + kClearTrapsts + return_behind(8));
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].trapsts, ts::kMemoryViolation);
  EXPECT_EQ(log[1].trapsts, ts::kMemoryViolation);
  EXPECT_EQ(d.buffer[0], 0u);
}

TEST(Trap, WithoutAHandlerAMemoryViolationIsAFault) {
  Dispatch d("v_mov_b32 v1, 0\nv_mov_b32 v2, 0\nglobal_load_b32 v3, v[1:2], off", 1, 32);
  d.options.precise.exceptions = true;
  const Outcome outcome = d.run();
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->fault.kind, FaultKind::memory_violation);
}

// ---- The host, the wave's ends, single instructions

TEST(Trap, HostTrapComesWithItsIdAndHt) {  // 3.4.9: HT, HOST_TRAP
  TrapDispatch d("s_mov_b32 s5, 1\ns_mov_b32 s5, 2\ns_mov_b32 s5, 3\n" + kStoreS5,
                 kNote + kClearTrapsts + kReturn);
  d.traps().scheduled = {{2, {0x33, false}}};
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(d.dword(log[0]), 2u);  // the next instruction, which has not been executed
  EXPECT_EQ(log[0].id, 0x33u);
  EXPECT_TRUE(log[0].from_host);
  EXPECT_EQ(log[0].trapsts, ts::kHostTrap);
  EXPECT_EQ(d.buffer[0], 3u);
}

TEST(Trap, AHostTrapInterruptsAWaveThatWouldNeverEnd) {
  TrapDispatch d(
      "loop: global_load_b32 v3, v2, s[0:1] offset:64 glc\ns_waitcnt vmcnt(0)\n"
      "v_readfirstlane_b32 s5, v3\ns_cmp_eq_u32 s5, 0\ns_cbranch_scc1 loop\n" +
          kStoreS5,
      kNote +
          "v_mov_b32 v245, 0\nv_mov_b32 v246, 9\n"
          "global_store_b32 v245, v246, ttmp[4:5] offset:-4032\n" +
          kClearTrapsts + kReturn,
      1);
  d.traps().memory = d.address() + 4096;
  precise::HostTraps host;
  d.traps().host = &host;
  std::atomic<bool> over = false;
  // A wave launched after a request does not see it, so ask until one hits.
  std::thread asking([&] {
    while (!over) {
      host.request({0x44, false});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  const auto log = d.trapped();
  over = true;
  asking.join();
  ASSERT_GE(log.size(), 1u);
  EXPECT_EQ(log[0].id, 0x44u);
  EXPECT_TRUE(log[0].from_host);
  EXPECT_EQ(d.buffer[0], 9u);
}

// 3.4.9, SAVECTX: what is saved of a wave that waits at a barrier is that it has not arrived there.
TEST(Trap, OfTheHostInterruptsAWaveAtABarrier) {
  for (const bool save_context : {false, true}) {
    // Wave 0 is at the barrier, dword 17, after four instructions; wave 1 has its log elsewhere and comes
    // late.
    TrapDispatch d(
        "v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 meet\n"
        "v_mov_b32 v244, 0x400\ns_movk_i32 s6, 100\nloop: s_sub_u32 s6, s6, 1\n"
        "s_cmp_lg_u32 s6, 0\ns_cbranch_scc1 loop\nv_mov_b32 v1, 0\nv_mov_b32 v2, 9\n"
        "global_store_b32 v1, v2, s[0:1] offset:512\ns_waitcnt_vscnt null, 0\n"
        "s_nop 0\ns_nop 0\nmeet: s_barrier\nv_mov_b32 v1, 0\n"
        "global_load_b32 v3, v1, s[0:1] offset:512\ns_waitcnt vmcnt(0)\n"
        "v_readfirstlane_b32 s5, v3\n" +
            kStoreS5,
        kNote + kClearTrapsts + kReturn, 64);
    d.traps().scheduled = {{4, {1, save_context}}};
    const auto log = d.trapped();
    ASSERT_EQ(log.size(), 1u);
    const size_t at = d.dword(log[0]);
    EXPECT_EQ(d.code[at], 0xbfbd0000u);  // s_barrier
    EXPECT_EQ(d.buffer[0], 9u);          // it waited again
    EXPECT_EQ(d.buffer[32], 9u);
  }
}

// Wave 1 waits for what the handler of wave 0, which is at the barrier, stores.
TEST(Trap, OfAnotherThreadInterruptsAWaveThatWaits) {
  TrapDispatch d(
      "v_readfirstlane_b32 s4, v0\nv_mov_b32 v2, 0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 meet\n"
      "loop: global_load_b32 v3, v2, s[0:1] offset:64 glc\ns_waitcnt vmcnt(0)\n"
      "v_readfirstlane_b32 s5, v3\ns_cmp_eq_u32 s5, 0\ns_cbranch_scc1 loop\nmeet: s_barrier",
      kNote +
          "s_cmp_eq_u32 s4, 0\ns_cbranch_scc0 back\nv_mov_b32 v245, 0\nv_mov_b32 v246, 9\n"
          "global_store_b32 v245, v246, ttmp[4:5] offset:-4032\nback: " +
          kClearTrapsts + kReturn,
      64);
  precise::HostTraps host;
  d.traps().host = &host;
  std::atomic<bool> over = false;
  std::thread asking([&] {
    while (!over) {
      host.request({0x44, false});
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  EXPECT_FALSE(d.run().fault);
  over = true;
  asking.join();
  EXPECT_EQ(d.buffer[16], 9u);
}

TEST(Trap, RequestsWaitUntilTheHandlerIsLeft) {  // 3.4.9: no trap inside the handler
  TrapDispatch d("s_trap 1\ns_mov_b32 s5, 3\n" + kStoreS5, kNote + return_behind(4));
  d.traps().scheduled = {{3, {0x33, false}}};  // the wave is in the handler then
  // The second visit is that of the host trap, whose PC must not be advanced.
  const std::string handler = kNote + kClearTrapsts + "s_bitcmp1_b32 ttmp7, 16\ns_cbranch_scc1 host\n" +
                              return_behind(4) + "host:\n" + kReturn;
  d.handler = interpreter::assembled(handler, 32);
  d.traps().handler = reinterpret_cast<uint64_t>(d.handler.data());
  d.traps().code = {d.traps().handler, d.traps().handler + 4 * d.handler.size()};
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].id, 1u);
  EXPECT_EQ(log[1].id, 0x33u);
  EXPECT_EQ(d.dword(log[1]), 1u);
  EXPECT_EQ(d.buffer[0], 3u);
}

TEST(Trap, SaveContextRequest) {  // 3.4.9: SAVECTX
  TrapDispatch d("s_mov_b32 s5, 1\ns_mov_b32 s5, 2\n" + kStoreS5,
                 kNote + "s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 10, 1), 0\n" + kReturn);
  d.traps().scheduled = {{1, {0, true}}};
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].trapsts, ts::kSaveContext);
  EXPECT_EQ(d.dword(log[0]), 1u);
  EXPECT_FALSE(log[0].from_host);
  EXPECT_EQ(d.buffer[0], 2u);
}

TEST(Trap, WaveStartAndEnd) {  // 3.4.9: WAVE_START, WAVE_END; 3.4.2: EXCP_EN[9], cleared on entry
  for (const bool by_register : {false, true}) {
    TrapDispatch d("s_getreg_b32 s5, hwreg(HW_REG_MODE)\n" + kStoreS5, kNote + kClearTrapsts + kReturn);
    if (by_register)
      d.launch.rsrc3 = 1u << 10 | 1u << 11;  // COMPUTE_PGM_RSRC3: TRAP_ON_START, TRAP_ON_END
    else
      d.traps().on_start = d.traps().on_end = true;
    const auto log = d.trapped();
    ASSERT_EQ(log.size(), 2u);
    EXPECT_EQ(log[0].trapsts, ts::kWaveStart);
    EXPECT_EQ(d.dword(log[0]), 0u);
    EXPECT_EQ(log[1].trapsts, ts::kWaveEnd);
    EXPECT_EQ(log[1].pc, d.pc(d.code.size() - Dispatch::kPaddingDwords -
                              1));  // the s_endpgm, which the handler returns to
    EXPECT_TRUE(d.buffer[0] & mode_bit::kTrapOnEnd);
  }
}

TEST(Trap, TheProgramAsksForATrapAtItsEnd) {
  TrapDispatch d("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 21, 1), 1", kNote + kReturn);
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 1u);
  EXPECT_EQ(log[0].trapsts, ts::kWaveEnd);
}

TEST(Trap, AfterEachInstruction) {  // 3.4.2: TRAP_AFTER_INST, but not after s_endpgm
  TrapDispatch d("s_mov_b32 s5, 2\ns_branch over\ns_nop 0\nover: s_mov_b32 s6, 1\ns_endpgm",
                 kNote + kClearTrapsts + kReturn);
  d.traps().after_instruction = true;
  const auto log = d.trapped();
  ASSERT_EQ(log.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(log[i].trapsts, ts::kTrapAfterInstruction);
    EXPECT_EQ(d.dword(log[i]), (std::array<size_t, 3>{1, 3, 4})[i]);
  }
}

TEST(Trap, AfterInstructionStartsAndEndsWithTheModeBit) {
  TrapDispatch d(
      "s_mov_b32 s5, 2\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 1\ns_mov_b32 s5, 3\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 0\ns_mov_b32 s5, 4",
      kNote + kClearTrapsts + kReturn);
  EXPECT_EQ(d.trapped().size(), 2u);
}

}  // namespace
}  // namespace lockstep::machine
