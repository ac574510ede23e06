// DS with the GDS bit (guide 12.6, 13.4): one wave and a device of its own.
#include <gtest/gtest.h>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

uint32_t gds_word(TestWave& w, unsigned index) {
  DeviceState::Access device(w.device());
  uint32_t value;
  std::memcpy(&value, device.gds() + 4 * index, 4);
  return value;
}

void set_gds_word(TestWave& w, unsigned index, uint32_t value) {
  DeviceState::Access device(w.device());
  std::memcpy(device.gds() + 4 * index, &value, 4);
}

uint64_t register_of(TestWave& w, unsigned index) {
  return DeviceState::Access(w.device()).stream_out()[index];
}

GlobalWaveSync::Resource resource_of(TestWave& w, unsigned id) {
  return DeviceState::Access(w.device()).gws().resource(id);
}

// M0: base in [31:16], size in [15:0] (12.6).
constexpr uint32_t m0(uint32_t base, uint32_t size) {
  return base << 16 | size;
}

// 12.6: only the first active lane stores, loads and is written to.
TEST(GlobalDataShare, OneLane) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(0, 4096);
    w.set_exec(0x58);
    w.fill(1, [](unsigned lane) { return 16 * lane; });
    w.fill(2, [](unsigned lane) { return 100 + lane; });
    const uint32_t untouched = w.v(3, 4);
    w.run("ds_store_b32 v1, v2 offset:4 gds\ns_waitcnt lgkmcnt(0)\nds_load_b32 v3, v1 offset:4 gds");
    EXPECT_EQ(gds_word(w, 4 * 3 + 1), 103u);
    EXPECT_EQ(gds_word(w, 4 * 4 + 1), 0u);
    EXPECT_EQ(w.v(3, 3), 103u);
    EXPECT_EQ(w.v(3, 4), untouched);
    w.set_exec(0);
    w.run("ds_store_b32 v1, v2 offset:8 gds\ns_waitcnt lgkmcnt(0)\nds_load_b32 v3, v1 offset:4 gds");
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(gds_word(w, 2 + 4 * i), 0u);
    EXPECT_EQ(w.v(3, 0), 0x7000'3000u);
  });
}

// 12.6: M0 gives base and size in bytes; 3.3.4.1: beyond it loads give zero and stores are dropped.
TEST(GlobalDataShare, BaseAndSize) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(256, 16);
    w.fill(1, [](unsigned) { return 12; });
    w.fill(2, [](unsigned) { return 77; });
    w.run(
        "ds_store_b32 v1, v2 gds\nds_load_b32 v3, v1 gds\nds_store_b32 v1, v2 offset:4 gds\n"
        "ds_load_b32 v4, v1 offset:4 gds\nds_load_b64 v[5:6], v1 gds");
    EXPECT_EQ(gds_word(w, 64 + 3), 77u);
    EXPECT_EQ(gds_word(w, 64 + 4), 0u);
    EXPECT_EQ(w.v(3, 0), 77u);
    EXPECT_EQ(w.v(4, 0), 0u);
    EXPECT_EQ(w.v64(5, 0), 0u);
  });
}

// 1.2.2.2: there are 4 kB; no base and no VMID reaches further.
TEST(GlobalDataShare, FourKilobytesAndVmids) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(4092, 64);
    w.fill(1, [](unsigned) { return 0; });
    w.fill(2, [](unsigned) { return 9; });
    w.run("ds_add_rtn_u32 v3, v1, v2 gds\nds_add_rtn_u32 v4, v1, v2 offset:4 gds");
    EXPECT_EQ(gds_word(w, 1023), 9u);
    EXPECT_EQ(w.v(4, 0), 0u);
    DeviceState::Access(w.device()).vmid(3) = {.gds_base = 1024, .gds_bytes = 8};
    w.dispatch().vmid = 3;
    w.s(125) = m0(4, 64);
    w.run("ds_add_rtn_u32 v3, v1, v2 gds\nds_add_rtn_u32 v4, v1, v2 offset:4 gds");
    EXPECT_EQ(gds_word(w, 257), 9u);
    EXPECT_EQ(gds_word(w, 258), 0u);
    // A range that a driver has set beyond the end.
    DeviceState::Access(w.device()).vmid(3) = {.gds_base = 4092, .gds_bytes = 64};
    w.s(125) = m0(0, 64);
    w.run(
        "ds_store_b32 v1, v2 gds\nds_load_b32 v4, v1 gds\nds_add_rtn_u32 v5, v1, v2 offset:4 gds\n"
        "ds_add_rtn_u32 v6, v1, v2 offset:4 gds");
    EXPECT_EQ(w.v(4, 0), 9u);
    EXPECT_EQ(w.v(5, 0), 0u);
    EXPECT_EQ(w.v(6, 0), 0u);
  });
}

// 12.5, 12.6: loads and stores of every width work as on LDS.
TEST(GlobalDataShare, WidthsAndPairs) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(0, 4096);
    w.fill(1, [](unsigned) { return 64; });
    w.fill(2, [](unsigned) { return 0x8001'90f0u; });
    w.fill(3, [](unsigned) { return 0x1122'3344u; });
    w.fill(10, [](unsigned) { return 0xaaaa'bbbbu; });
    w.fill(11, [](unsigned) { return 0xaaaa'bbbbu; });
    w.run(
        "ds_store_2addr_b32 v1, v2, v3 offset0:1 offset1:3 gds\nds_load_2addr_b32 v[4:5], v1 offset0:1 "
        "offset1:3 gds\n"
        "ds_load_i8 v6, v1 offset:4 gds\nds_load_u16 v7, v1 offset:4 gds\nds_load_i16 v8, v1 offset:6 gds\n"
        "ds_store_b16_d16_hi v1, v2 offset:32 gds\nds_load_b32 v9, v1 offset:32 gds\n"
        "ds_load_u16_d16_hi v10, v1 offset:4 gds\nds_load_i8_d16 v11, v1 offset:4 gds\n"
        "ds_load_b128 v[12:15], v1 gds");
    EXPECT_EQ(w.v(4, 0), 0x8001'90f0u);
    EXPECT_EQ(w.v(5, 0), 0x1122'3344u);
    EXPECT_EQ(w.v(6, 0), 0xffff'fff0u);
    EXPECT_EQ(w.v(7, 0), 0x90f0u);
    EXPECT_EQ(w.v(8, 0), 0xffff'8001u);
    EXPECT_EQ(w.v(9, 0), 0x8001u);
    EXPECT_EQ(w.v(10, 0), 0x90f0'bbbbu);
    EXPECT_EQ(w.v(11, 0), 0xaaaa'fff0u);
    EXPECT_EQ(w.v(13, 0), 0x8001'90f0u);
    EXPECT_EQ(w.v(15, 0), 0x1122'3344u);
  });
}

// 12.5.1, 12.6: atomics return the value before, also those of 64 bits, with two operands, at two addresses.
TEST(GlobalDataShare, Atomics) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(0, 4096);
    set_gds_word(w, 0, 40);
    w.fill(1, [](unsigned) { return 0; });
    w.fill(2, [](unsigned) { return 2; });
    w.fill(3, [](unsigned) { return 42; });
    w.fill64(6, [](unsigned) { return 0x1'0000'0001ull; });
    w.run(
        "ds_add_rtn_u32 v4, v1, v2 gds\nds_cmpstore_rtn_b32 v5, v1, v2, v3 gds\n"
        "ds_add_u64 v1, v[6:7] offset:8 gds\nds_add_rtn_u64 v[8:9], v1, v[6:7] offset:8 gds\n"
        "ds_storexchg_2addr_rtn_b32 v[10:11], v1, v2, v3 offset0:2 offset1:3 gds");
    EXPECT_EQ(w.v(4, 0), 40u);
    EXPECT_EQ(w.v(5, 0), 42u);
    EXPECT_EQ(gds_word(w, 0), 2u);
    EXPECT_EQ(w.v64(8, 0), 0x1'0000'0001u);
    EXPECT_EQ(w.v(10, 0), 2u);
    EXPECT_EQ(w.v(11, 0), 2u);
    EXPECT_EQ(gds_word(w, 2), 2u);
    EXPECT_EQ(gds_word(w, 3), 42u);
  });
}

// 12.7: misaligned atomics are a memory violation; 12.5, table 60: some forms are for LDS only.
TEST(GlobalDataShare, Faults) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(0, 4096);
    w.fill(1, [](unsigned) { return 4; });
    EXPECT_EQ(w.run_to_fault("ds_add_u64 v1, v[2:3] gds").kind, FaultKind::misaligned);
    w.s(125) = m0(2, 4096);
    EXPECT_EQ(w.run_to_fault("ds_append v1 gds").kind, FaultKind::misaligned);
    // The base counts: 2 + 4 is no multiple of 4, 4 + 4 is one of 8.
    EXPECT_EQ(w.run_to_fault("ds_add_u32 v1, v2 gds").kind, FaultKind::misaligned);
    w.s(125) = m0(4, 4092);
    w.run("ds_add_u64 v1, v[2:3] gds");
    // 13.4.2: without lanes nothing is sent.
    w.s(125) = m0(2, 4096);
    w.set_exec(0);
    w.run("ds_append v1 gds\nds_add_u32 v1, v2 gds");
    EXPECT_EQ(w.run_to_fault("ds_store_addtid_b32 v1 gds").kind, FaultKind::illegal_instruction);
    EXPECT_EQ(w.run_to_fault("ds_swizzle_b32 v1, v2 gds").kind, FaultKind::illegal_instruction);
  });
}

// 16.15 (append, consume) and 13.4.3: the whole of EXEC counts, all active lanes get the value before, and M0
// gives the base.
TEST(GlobalDataShare, AppendAndConsume) {
  for_each_wave([](TestWave& w) {
    w.s(125) = m0(512, 0);
    set_gds_word(w, 128, 1000);
    w.set_exec(0x0f0f'0001);
    w.run("ds_append v1 gds");
    w.expect_v(1, [](unsigned) { return 1000; });
    EXPECT_EQ(gds_word(w, 128), 1009u);
    w.set_exec(0x7);
    w.run("ds_consume v2 gds");
    w.expect_v(2, [](unsigned) { return 1009; });
    EXPECT_EQ(gds_word(w, 128), 1006u);
  });
}

// Table 61, 62: registers 0 to 7 have 32 bits, 8 to 15 have 64; the data is 32 bits of the first active lane.
TEST(StreamOut, AddAndSubtract) {
  for_each_wave([](TestWave& w) {
    {
      DeviceState::Access device(w.device());
      device.stream_out().set(7, 0xffff'ffffu);
      device.stream_out().set(8, 0xffff'ffffu);
    }
    w.set_exec(0x6);
    w.fill(1, [](unsigned lane) { return lane; });
    const uint32_t untouched = w.v(3, 1), other_lane = w.v(2, 2);
    w.run("ds_add_gs_reg_rtn v[2:3], v1 offset:28 gds\nds_add_gs_reg_rtn v[4:5], v1 offset:32 gds");
    EXPECT_EQ(w.v(2, 1), 0xffff'ffffu);
    EXPECT_EQ(w.v(2, 2), other_lane);
    EXPECT_EQ(w.v(3, 1), untouched);
    EXPECT_EQ(w.v64(4, 1), 0xffff'ffffu);
    EXPECT_EQ(register_of(w, 7), 0u);
    EXPECT_EQ(register_of(w, 8), 0x1'0000'0000u);
    w.run("ds_sub_gs_reg_rtn v[4:5], v1 offset:60 gds\nds_sub_gs_reg_rtn v[2:3], v1 gds");
    EXPECT_EQ(register_of(w, 15), ~uint64_t{0});
    EXPECT_EQ(register_of(w, 0), 0xffff'ffffu);
  });
}

// Table 63 and 13.4.4: resource id = VMID base + M0[21:16] + offset, modulo 64.
TEST(GlobalWaveSync, ResourceNumbers) {
  for_each_wave([](TestWave& w) {
    w.fill(1, [](unsigned) { return 17; });
    w.s(125) = 60u << 16;
    w.run("ds_gws_init v1 offset:10 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0");
    EXPECT_EQ(resource_of(w, 6).counter, 17u);
    DeviceState::Access(w.device()).vmid(2) = {.gws_base = 62, .gws_size = 8};
    w.dispatch().vmid = 2;
    w.s(125) = 4u << 16;
    w.run("ds_gws_init v1 offset:3 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0");
    EXPECT_EQ(resource_of(w, 5).counter, 17u);
  });
}

// 13.4.4: beyond the VMID's resources there is a NACK: the wave halts with its PC at the instruction, nothing
// is done.
TEST(GlobalWaveSync, Nack) {
  for_each_wave([](TestWave& w) {
    DeviceState::Access(w.device()).vmid(2) = {.gws_base = 8, .gws_size = 4};
    w.dispatch().vmid = 2;
    w.fill(1, [](unsigned) { return 17; });
    w.s(125) = 1u << 16;
    const auto& code = assembled("s_nop 0\nds_gws_init v1 offset:3 gds\ns_waitcnt lgkmcnt(0)", w.size());
    w.execute(code);
    EXPECT_EQ(w.wave().state, WaveState::halted);
    EXPECT_EQ(w.wave().pc, reinterpret_cast<uint64_t>(code.data()) + 4);
    EXPECT_EQ(w.wave().fault.kind, FaultKind::refused);
    for (unsigned id = 0; id < 64; ++id) EXPECT_EQ(resource_of(w, id).counter, 0u);
  });
}

// Table 63: the semaphore's counter, which has 12 bits; the operand is that of the first active lane.
TEST(GlobalWaveSync, SemaphoreCounts) {
  for_each_wave([](TestWave& w) {
    w.s(125) = 0;
    w.set_exec(0xc);
    w.fill(1, [](unsigned lane) { return lane; });
    w.run(
        "ds_gws_sema_v offset:1 gds\nds_gws_sema_br v1 offset:1 gds\nds_gws_sema_p offset:1 gds\n"
        "s_waitcnt lgkmcnt(0)\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).counter, 2u);
    EXPECT_EQ(resource_of(w, 1).type, GlobalWaveSync::Type::semaphore);
    // Twelve bits: what init and sema_br give beyond them is lost.
    w.fill(3, [](unsigned) { return 0x1ffe; });
    w.fill(4, [](unsigned) { return 3; });
    w.run("ds_gws_init v3 offset:3 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 3).counter, 0xffeu);
    w.run("ds_gws_sema_br v4 offset:3 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 3).counter, 1u);
    w.run("ds_gws_sema_release_all offset:1 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).counter, 2u);
    w.execute(assembled("ds_gws_sema_p offset:2 gds\ns_waitcnt lgkmcnt(0)\ns_nop 0", w.size()));
    EXPECT_EQ(w.wave().state, WaveState::blocked);
  });
}

// 13.4.2: without active lanes, init, sema_br and barrier act as for lane 0; the others do nothing.
TEST(GlobalWaveSync, WithoutLanes) {
  for_each_wave([](TestWave& w) {
    w.s(125) = 0;
    w.set_exec(0);
    w.fill(1, [](unsigned lane) { return 5 + lane; });
    w.run("ds_gws_init v1 offset:1 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).counter, 5u);
    w.run("ds_gws_sema_br v1 offset:1 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).counter, 10u);
    w.run("ds_gws_sema_v offset:1 gds\nds_gws_sema_p offset:2 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).counter, 10u);
    w.execute(assembled("ds_gws_barrier v1 offset:1 gds\ns_nop 0", w.size()));
    EXPECT_EQ(w.wave().state, WaveState::blocked);
    EXPECT_EQ(resource_of(w, 1).type, GlobalWaveSync::Type::barrier);
    // With a lane a semaphore operation makes it a semaphore again.
    w.set_exec(1);
    w.run("ds_gws_sema_v offset:1 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 1).type, GlobalWaveSync::Type::semaphore);
  });
}

// Table 63: a barrier's last wave sets the count of the next one, which the operand gives minus one.
TEST(GlobalWaveSync, BarrierReload) {
  for_each_wave([](TestWave& w) {
    w.s(125) = 0;
    w.fill(1, [](unsigned) { return 1; });
    w.fill(2, [](unsigned) { return 30; });
    w.run("ds_gws_init v1 offset:9 gds\nds_gws_barrier v2 offset:9 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 9).counter, 31u);
    EXPECT_TRUE(resource_of(w, 9).flag);
    // As LLVM documents ds_gws_init, if the device is set so.
    DeviceState::Access(w.device()).init_operand() = DeviceState::InitOperand::waves_minus_one;
    w.run("ds_gws_init v2 offset:9 gds\ns_nop 0");
    EXPECT_EQ(resource_of(w, 9).counter, 31u);
    EXPECT_FALSE(resource_of(w, 9).flag);
  });
}

// offset0: the index times 4; offset1: [0] wave_release, [1] wave_done, [5:4] the operation (13.4.3).
std::string ordered(unsigned index, unsigned operation, unsigned release_done = 3, unsigned destination = 2) {
  return "ds_ordered_count v" + std::to_string(destination) +
         ", v1 offset:" + std::to_string(index * 4 | release_done << 8 | operation << 12) + " gds\n";
}

// 13.4.3: add, exchange and wrap, in the registers of table 61; the value before comes back to the first
// active lane.
TEST(OrderedCount, Operations) {
  for_each_wave([](TestWave& w) {
    w.set_exec(0x30);
    w.fill(1, [](unsigned lane) { return lane; });
    {
      DeviceState::Access device(w.device());
      device.stream_out().set(5, 100);
      device.stream_out().set(9, 0xffff'ffffu);
      device.stream_out().ring_size[2] = 50;
      device.stream_out().set(2, 6);
    }
    const uint32_t other_lane = w.v(2, 5);
    w.run(ordered(5, 0) + "s_nop 0");
    EXPECT_EQ(w.v(2, 4), 100u);
    EXPECT_EQ(w.v(2, 5), other_lane);
    EXPECT_EQ(register_of(w, 5), 104u);
    w.run(ordered(5, 1) + "s_nop 0");
    EXPECT_EQ(w.v(2, 4), 104u);
    EXPECT_EQ(register_of(w, 5), 4u);
    w.run(ordered(9, 0) + "s_nop 0");
    EXPECT_EQ(register_of(w, 9), 0x1'0000'0003u);
    // 16.15, ds_wrap_rtn_b32: down by the operand while that fits, else up by the size of the ring.
    w.run(ordered(2, 3, 0) + ordered(2, 3) + "s_nop 0");
    EXPECT_EQ(w.v(2, 4), 2u);
    EXPECT_EQ(register_of(w, 2), 52u);
  });
}

// 13.4.3, 16.15: without active lanes it is issued all the same, adds zero and passes the turn on; 3.3.3: so
// it is with a destination that the wave does not have.
TEST(OrderedCount, WithoutLanes) {
  for_each_wave([](TestWave& w) {
    DeviceState::Access(w.device()).stream_out().set(1, 12);
    w.set_exec(0);
    w.run(ordered(1, 0) + "s_nop 0");
    EXPECT_EQ(register_of(w, 1), 12u);
    EXPECT_EQ(w.v(2, 0), 12u);
    EXPECT_EQ(w.dispatch().ordered.turn(), 1u);
    w.set_exec(1);
    w.allocate_vgprs(24);
    w.run(ordered(1, 0, 3, 200) + "s_nop 0");
    EXPECT_EQ(register_of(w, 1), 12u);
    EXPECT_EQ(w.dispatch().ordered.turn(), 1u);
  });
}

// 13.4.3: the turn stays with the wave until wave_release; a wave that comes too early waits at the
// instruction.
TEST(OrderedCount, Turns) {
  for_each_wave([](TestWave& w) {
    w.run(ordered(0, 0, 0) + "s_nop 0");
    EXPECT_EQ(w.dispatch().ordered.turn(), 0u);
    w.run(ordered(0, 0, 1) + "s_nop 0");
    EXPECT_EQ(w.dispatch().ordered.turn(), 1u);
    w.wave().creation_index = 4;
    w.execute(assembled(ordered(0, 0) + "s_nop 0", w.size()));
    EXPECT_EQ(w.wave().state, WaveState::blocked);
  });
}

// 13.4.3: what is forbidden faults and says so.
TEST(OrderedCount, Rules) {
  const struct {
    std::string text;
    const char* reason;
  } cases[] = {
      {"ds_ordered_count v2, v1 offset:0x302 gds", "multiple of 4"},
      {ordered(0, 2), "reserved"},
      {ordered(8, 3), "64 bits"},
      {ordered(9, 1), "64 bits"},
      {ordered(3, 1), "targets 4 to 7"},
      {ordered(0, 0, 2), "wave_done without wave_release"},
      {ordered(0, 0, 1) + ordered(0, 0, 3), "passed its turn on"},
      {ordered(0, 0, 0) + ordered(0, 0, 0) + ordered(0, 0, 0) + ordered(0, 0, 0) + ordered(0, 0, 3), "fifth"},
  };
  for_each_wave([&](TestWave& w) {
    for (const auto& test : cases) {
      const Fault fault = w.run_to_fault(test.text);
      EXPECT_EQ(fault.kind, FaultKind::illegal_instruction);
      EXPECT_NE(fault.message.find(test.reason), std::string::npos) << fault.message;
    }
  });
}

}  // namespace
}  // namespace lockstep::interpreter
