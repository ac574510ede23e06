// What waves of a group do to each other and tell the machine (guide 5.1, 5.3, 5.5, and SOPP in 16.5).
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

// Each wave: s3 is its number in the group. A macro `mark` appends s3 to the buffer: word 0 counts, the marks
// begin at word 16.
std::string with_marks(const std::string& text) {
  return R"(
.macro mark
  s_mov_b32 exec_lo, 1
  v_mov_b32 v10, 0
  v_mov_b32 v11, 4
  global_atomic_add_u32 v12, v10, v11, s[0:1] glc
  s_waitcnt vmcnt(0)
  v_mov_b32 v13, s3
  global_store_b32 v12, v13, s[0:1] offset:64
.endm
v_readfirstlane_b32 s3, v0
s_lshr_b32 s3, s3, 5
)" + text;
}

std::vector<uint32_t> marks_of(const std::string& text, unsigned waves) {
  Dispatch d(with_marks(text), 1, 32 * waves);
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << outcome.fault->fault.message;
  return {d.buffer.begin() + 16, d.buffer.begin() + 16 + d.buffer[0] / 4};
}

using Waves = std::vector<uint32_t>;

// 5.1: SIMM16[6:0] in units of 64 clocks; the others run meanwhile, and wake times order the waves.
TEST(Sleep, LastsItsTime) {
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 zero\ns_cmp_eq_u32 s3, 1\ns_cbranch_scc1 one\n"
                     "s_cmp_eq_u32 s3, 2\ns_cbranch_scc1 two\nmark\ns_endpgm\n"
                     "zero: s_sleep 100\nmark\ns_endpgm\none: s_sleep 20\nmark\ns_endpgm\n"
                     "two: s_sleep 0xff82\nmark\ns_endpgm",  // only seven bits count: 2
                     4),
            (Waves{3, 2, 1, 0}));
}

// A wave that computes for long does not make the sleeping one oversleep: 10 units are 640 clocks.
TEST(Sleep, EndsInTheMiddleOfAnothersWork) {
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 work\ns_sleep 10\nmark\ns_endpgm\n"
                     "work: s_mov_b32 s4, 1000\nloop: s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\n"
                     "s_cbranch_scc1 loop\nmark",
                     2),
            (Waves{0, 1}));
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 work\ns_sleep 100\nmark\ns_endpgm\n"
                     "work: s_mov_b32 s4, 1000\nloop: s_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\n"
                     "s_cbranch_scc1 loop\nmark",
                     2),
            (Waves{1, 0}));
}

// 16.5: s_sleep 0 does not sleep: the wave keeps its turn.
TEST(Sleep, OfNothing) {
  EXPECT_EQ(marks_of("s_sleep 0\nmark", 3), (Waves{0, 1, 2}));
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 go\ns_sleep 0\ngo: mark", 3), (Waves{0, 1, 2}));
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 go\ns_sleep 1\ngo: mark", 3), (Waves{1, 2, 0}));
}

// 5.1: s_wakeup ends the sleep of the group's other waves, not of another group's; who does not sleep is not
// affected.
TEST(Sleep, WakeUp) {
  const std::string text =
      "s_cmp_eq_u32 s3, 2\ns_cbranch_scc1 waker\ns_sleep 127\nmark\ns_endpgm\n"
      "waker: WAKE\ns_sleep 20\nmark";
  auto with = [&](const char* wake) {
    std::string result = text;
    return result.replace(result.find("WAKE"), 4, wake);
  };
  EXPECT_EQ(marks_of(with("s_nop 0"), 3), (Waves{2, 0, 1}));
  EXPECT_EQ(marks_of(with("s_wakeup"), 3), (Waves{0, 1, 2}));
  // Wave 0 wakes nobody, because nobody sleeps yet; a group of one wave has nobody to wake (16.5: s_nop).
  EXPECT_EQ(
      marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 waker\ns_sleep 30\nmark\ns_endpgm\nwaker: s_wakeup\nmark",
               2),
      (Waves{0, 1}));
  EXPECT_EQ(marks_of("s_wakeup\ns_sleep 3\ns_wakeup\nmark", 1), (Waves{0}));
}

// 5.1 and 16.5: waves of higher user priority go first; SIMM16[1:0] is the priority.
TEST(Priority, DecidesWhoGoesFirst) {
  EXPECT_EQ(marks_of("s_barrier\nmark", 4), (Waves{0, 1, 2, 3}));
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 2\ns_cbranch_scc0 next\ns_setprio 3\n"
                     "next: s_cmp_eq_u32 s3, 3\ns_cbranch_scc0 go\ns_setprio 1\n"
                     "go: s_barrier\nmark",
                     4),
            (Waves{2, 3, 0, 1}));
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 2\ns_cbranch_scc0 go\ns_setprio 4\ngo: s_barrier\nmark", 3),
            (Waves{0, 1, 2}));
  // The priority can be read: STATUS.USER_PRIO is [4:3] (3.4.1). Only two bits of the constant count, and a
  // lower one replaces a higher one.
  for (const auto& [text, priority] :
       {std::pair{"s_setprio 2", 2u}, {"s_setprio 5", 1u}, {"s_setprio 3\ns_setprio 0", 0u}}) {
    Dispatch d(std::string(text) +
                   "\ns_getreg_b32 s4, hwreg(HW_REG_STATUS, 3, 3)\nv_mov_b32 v1, 0\nv_mov_b32 v2, s4\n"
                   "global_store_b32 v1, v2, s[0:1]",
               1, 32);
    d.buffer[0] = 99;
    d.run();
    EXPECT_EQ(d.buffer[0], priority) << text;
  }
}

// A spinning wave of the highest priority does not keep the others from running.
TEST(Priority, StarvesNobody) {
  Dispatch d(
      with_marks("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 other\ns_setprio 3\n"
                 "spin: s_load_b32 s5, s[0:1], 0x20 glc\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s5, 0\n"
                 "s_cbranch_scc1 spin\nmark\ns_endpgm\n"
                 "other: mark\nv_mov_b32 v1, 0\nv_mov_b32 v2, 1\nglobal_store_b32 v1, v2, s[0:1] offset:32"),
      1, 64);
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[16], 1u);
  EXPECT_EQ(d.buffer[17], 0u);
}

// 5.5: a wave at the barrier waits until all others have come, or ended.
TEST(Barriers, WaitForAll) {
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 2\ns_cbranch_scc0 wait\ns_sleep 50\nmark\nwait: s_barrier\n"
                     "s_cmp_eq_u32 s3, 2\ns_cbranch_scc1 done\nmark\ndone:",
                     3),
            (Waves{2, 0, 1}));
  // Wave 2 ends instead of coming; wave 1 comes late.
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 2\ns_cbranch_scc0 stay\ns_sleep 10\nmark\ns_endpgm\n"
                     "stay: s_cmp_eq_u32 s3, 1\ns_cbranch_scc0 wait\ns_sleep 50\nmark\nwait: s_barrier\nmark",
                     3),
            (Waves{2, 1, 0, 1}));
  // A killed wave counts as ended (16.5, s_setkill); s_setkill 0 does nothing.
  EXPECT_EQ(marks_of("s_setkill 0\ns_cmp_eq_u32 s3, 0\ns_cbranch_scc0 wait\ns_setkill 1\nmark\n"
                     "wait: s_barrier\nmark",
                     2),
            (Waves{1}));
}

// 5.5: a barrier that waves reach a different number of times still pairs arrivals, not instructions.
TEST(Barriers, AnyBarrierInstruction) {
  EXPECT_EQ(marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc0 other\ns_barrier\nmark\ns_barrier\ns_endpgm\n"
                     "other: mark\ns_barrier\ns_barrier\nmark",
                     2),
            (Waves{1, 0, 1}));
}

// 5.5: a work-group of one wave treats it as s_nop, a last group that is partial too.
TEST(Barriers, LoneWaves) {
  EXPECT_EQ(marks_of("s_barrier\ns_barrier\nmark", 1), (Waves{0}));
  Dispatch d(with_marks("s_barrier\nmark"), 1, 64);
  d.launch.grid = {32, 1, 1};  // of a group of two waves only one exists
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 4u);
  // STATUS.IN_WG (3.4.1) says which of both it is.
  for (uint32_t items : {32u, 64u}) {
    Dispatch status(
        "s_getreg_b32 s4, hwreg(HW_REG_STATUS, 11, 1)\nv_mov_b32 v1, 0\nv_mov_b32 v2, s4\n"
        "global_store_b32 v1, v2, s[0:1]",
        1, items);
    status.buffer[0] = 7;
    status.run();
    EXPECT_EQ(status.buffer[0], items == 64 ? 1u : 0u);
  }
}

struct Interrupt {
  uint32_t group, wave, data;
};
struct Recorder final : MessageSink {
  std::mutex mutex;
  std::vector<Interrupt> seen;
  void on_interrupt(const Wave& wave, uint32_t payload) override {
    std::lock_guard lock(mutex);
    seen.push_back({wave.group->id[0], wave.index_in_group, payload});
  }
};

// 5.3: message 1 carries M0[23:0] and who sent it, and the wave goes on.
TEST(Messages, Interrupt) {
  Dispatch d(with_marks("s_add_u32 m0, s3, 0xab120000\ns_sendmsg sendmsg(MSG_INTERRUPT)\nmark"), 2, 64);
  Recorder recorder;
  auto& seen = recorder.seen;
  d.launch.messages = &recorder;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(outcome.interrupts, 4u);
  EXPECT_EQ(d.buffer[0], 16u);
  ASSERT_EQ(seen.size(), 4u);
  std::sort(seen.begin(), seen.end(), [](const Interrupt& a, const Interrupt& b) {
    return std::pair(a.group, a.wave) < std::pair(b.group, b.wave);
  });
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(seen[i].group, i / 2);
    EXPECT_EQ(seen[i].wave, i % 2);
    EXPECT_EQ(seen[i].data, 0x120000u + i % 2);
  }
  // The translator has no way to the host: it leaves the kernel to the interpreter.
  d.options.engine = EngineKind::translator;
  seen.clear();
  EXPECT_EQ(d.run().interrupts, 4u);
  EXPECT_EQ(seen.size(), 4u);
}

Fault fault_of(Dispatch dispatch, EngineKind engine = EngineKind::interpreter) {
  dispatch.options.engine = engine;
  const Outcome outcome = dispatch.run();
  if (outcome.fault) return outcome.fault->fault;
  ADD_FAILURE() << "no fault";
  return {};
}
Fault fault_of(const std::string& text, EngineKind engine = EngineKind::interpreter,
               unsigned wave_size = 32) {
  SCOPED_TRACE(text);
  return fault_of(Dispatch(text, 1, 32, wave_size), engine);
}
Fault fault_of_word(uint32_t word) {
  return fault_of(Dispatch(std::vector{word, 0xbfb00000u}, 1, 32));
}

// 5.3: what is not listed is illegal, and so are messages of graphics stages in a compute wave.
TEST(Messages, IllegalOnes) {
  for (uint32_t instruction : {0xbfb60000u, 0xbfb70000u})  // s_sendmsg, s_sendmsghalt
    for (unsigned message = 0; message < 256; ++message) {
      if (message == 1 || message == 3) continue;
      const Fault fault = fault_of_word(instruction | message);
      EXPECT_EQ(fault.kind, FaultKind::illegal_instruction) << message;
      const char* words = message == 2 ? "hull shader" : message == 9 ? "geometry shader" : "is reserved";
      EXPECT_NE(fault.message.find(words), std::string::npos) << fault.message;
    }
  // The bits above SIMM16[7:0] say nothing.
  Dispatch d("s_sendmsg 0xff01", 1, 32);
  EXPECT_EQ(d.run().interrupts, 1u);
}

TEST(Messages, ReturnIllegalOnes) {
  for (unsigned message = 0x80; message < 0x100; ++message) {
    if (message <= 0x85 && message != 0x84) continue;
    const Fault fault = fault_of_word(0xbe844c00u | message);  // s_sendmsg_rtn_b32 s4
    EXPECT_EQ(fault.kind, FaultKind::illegal_instruction) << message;
    const char* words = message == 0x84   ? "only a trap handler"
                        : message == 0xff ? "illegal message"
                                          : "reserved";
    EXPECT_NE(fault.message.find(words), std::string::npos) << fault.message;
  }
}

// 5.3, table 16: the answers; 16.3: a 32-bit answer clears the upper half of a pair.
TEST(Messages, Return) {
  const char* text = R"(
  s_mov_b32 s5, -1
  s_mov_b32 s7, -1
  s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_DOORBELL)
  s_sendmsg_rtn_b32 s6, sendmsg(MSG_RTN_GET_DDID)
  s_sendmsg_rtn_b64 s[8:9], sendmsg(MSG_RTN_GET_TMA)
  s_sendmsg_rtn_b64 s[10:11], sendmsg(MSG_RTN_GET_TBA)
  s_sendmsg_rtn_b32 s12, sendmsg(MSG_RTN_GET_REALTIME)
  s_nop 0
  s_nop 0
  s_sendmsg_rtn_b64 s[14:15], sendmsg(MSG_RTN_GET_REALTIME)
  s_waitcnt lgkmcnt(0)
  s_cmp_gt_u32 s14, s12
  s_cselect_b32 s12, 1, 0
  v_mov_b32 v1, 0
)";
  std::string stores;
  for (unsigned i = 4; i < 16; ++i)
    stores += "v_mov_b32 v2, s" + std::to_string(i) +
              "\nglobal_store_b32 v1, v2, s[0:1] offset:" + std::to_string(4 * i) + "\n";
  Dispatch d(text + stores, 1, 1);
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[4], 0x0badu);  // no queue launched it
  EXPECT_EQ(d.buffer[5], 0u);
  EXPECT_EQ(d.buffer[6], 0u);
  EXPECT_EQ(d.buffer[7], ~0u);  // the 32-bit form writes one register
  for (unsigned i = 8; i < 12; ++i) EXPECT_EQ(d.buffer[i], 0u) << i;
  EXPECT_EQ(d.buffer[12], 1u) << "time does not go on";
  d.launch.doorbell_id = 0x1234;
  d.launch.dispatch_id = 77;
  d.run();
  EXPECT_EQ(d.buffer[4], 0x1234u);
  EXPECT_EQ(d.buffer[6], 77u);
}

// 5.3: after message 3 the wave has no VGPRs: STATUS.NO_VGPRS is set (3.4.1), and only instructions that name
// none may follow.
TEST(Messages, DeallocateVgprs) {
  const std::string free =
      "v_mov_b32 v1, 0\nv_mov_b32 v2, 5\nglobal_store_b32 v1, v2, s[0:1]\ns_nop 0\n"
      "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
  for (unsigned wave_size : {32u, 64u})
    for (EngineKind engine : {EngineKind::interpreter, EngineKind::translator}) {
      Dispatch d(free + "s_nop 0\ns_mov_b32 s4, 1\ns_round_mode 1\nv_nop\ns_endpgm", 3, 64, wave_size);
      d.options.engine = engine;
      EXPECT_FALSE(d.run().fault);
      EXPECT_EQ(d.buffer[0], 5u);
      for (const char* user :
           {"v_mov_b32 v2, 1", "v_readfirstlane_b32 s4, v1", "global_store_b32 v1, v2, s[0:1]",
            "ds_load_b32 v2, v1", "v_cmp_eq_u32 vcc, v1, v2"}) {
        const std::string line =
            wave_size == 32 && std::string(user).starts_with("v_cmp") ? "v_cmp_eq_u32 vcc_lo, v1, v2" : user;
        const Fault fault = fault_of(free + "s_nop 0\ns_mov_b32 s4, 1\n" + line, engine, wave_size);
        EXPECT_EQ(fault.kind, FaultKind::illegal_instruction);
        EXPECT_NE(fault.message.find("has given its VGPRs back"), std::string::npos) << fault.message;
      }
      // Behind a branch too, and only in the wave that sent the message.
      EXPECT_EQ(fault_of(free + "s_branch there\ns_nop 0\nthere: v_mov_b32 v2, 1", engine, wave_size).kind,
                FaultKind::illegal_instruction);
    }
  Dispatch d(
      "s_cmp_eq_u32 s2, 0\ns_cbranch_scc0 keep\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n"
      "s_getreg_b32 s4, hwreg(HW_REG_STATUS, 24, 1)\ns_cmp_eq_u32 s4, 1\ns_cbranch_scc1 good\ns_trap 2\n"
      "keep: v_mov_b32 v1, 0\nv_mov_b32 v2, 9\nglobal_store_b32 v1, v2, s[0:1]\ngood:",
      2, 32);
  EXPECT_FALSE(d.run().fault);
  EXPECT_EQ(d.buffer[0], 9u);
}

// 5.1: halting without anybody who could resume it is a fault that says so (16.5: SIMM16[2] is the fatal
// form); clearing the bit is not.
TEST(Halt, WithoutAHost) {
  EXPECT_NE(fault_of("s_sethalt 1").message.find("halted itself and no debugger"), std::string::npos);
  EXPECT_NE(fault_of("s_sethalt 5").message.find("halted itself fatally"), std::string::npos);
  EXPECT_NE(fault_of("s_sendmsghalt sendmsg(MSG_INTERRUPT)").message.find("sent a message, halted"),
            std::string::npos);
  Dispatch d("s_sethalt 0\ns_sethalt 4\ns_sethalt 2", 1, 32);
  EXPECT_FALSE(d.run().fault);
  // The message of s_sendmsghalt goes out first.
  Dispatch message("s_sendmsghalt sendmsg(MSG_INTERRUPT)", 1, 32);
  EXPECT_EQ(message.run().interrupts, 1u);
}

// 5.1: s_endpgm may stand anywhere and more than once; _saved ends the wave as well; s_code_end is illegal.
TEST(Ends, OfAProgram) {
  EXPECT_EQ(
      marks_of("s_cmp_eq_u32 s3, 0\ns_cbranch_scc1 first\nmark\ns_endpgm\nfirst: mark\ns_endpgm_saved\nmark",
               3),
      (Waves{0, 1, 2}));
  const Fault past = fault_of("s_nop 0\ns_code_end");
  EXPECT_EQ(past.kind, FaultKind::illegal_instruction);
  EXPECT_NE(past.message.find("past the end of the program"), std::string::npos);
  // s_endpgm_ordered_ps_done, which the assembler does not know for gfx11.
  const Fault ordered = fault_of(".long 0xbfb20000");
  EXPECT_EQ(ordered.kind, FaultKind::unsupported);
  EXPECT_NE(ordered.message.find("pixel shader"), std::string::npos);
}

// 5.1 and 16.5: no effect on any register.
TEST(Hints, HaveNoEffect) {
  Dispatch d(
      "s_mov_b32 s4, 3\ns_version 0x1234\ns_nop 15\ns_icache_inv\ns_set_inst_prefetch_distance 1\n"
      "s_ttracedata\ns_ttracedata_imm 5\ns_incperflevel 3\ns_decperflevel 3\ns_wait_event 1\ns_wait_idle\n"
      "v_mov_b32 v1, 0\nv_mov_b32 v2, s4\nglobal_store_b32 v1, v2, s[0:1]",
      1, 32);
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault);
  EXPECT_EQ(d.buffer[0], 3u);
  EXPECT_EQ(outcome.totals.instructions, 15u);  // each counts as a wave-instruction
}

}  // namespace
}  // namespace lockstep::machine
