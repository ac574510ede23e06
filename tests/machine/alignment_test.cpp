// Alignment modes and out-of-range reports of LDS (guide 3.3.3, 3.3.4.1, 9.5, 11.3, 12.7).
#include <optional>

#include "machine/reuse.h"
#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

using memory::AlignmentMode;

constexpr AlignmentMode kModes[] = {AlignmentMode::dword, AlignmentMode::dword_strict, AlignmentMode::strict,
                                    AlignmentMode::unaligned};

enum class Where { memory, lds, scratch };

// Which address an access of `bytes` at `at` has, as the guide says; none: it is a memory violation.
std::optional<uint32_t> effective(AlignmentMode mode, Where where, uint32_t bytes, uint32_t at) {
  const uint32_t natural = bytes == 12 ? 16 : bytes, dword = std::min(bytes, 4u);
  const auto down = [&](uint32_t unit) { return at / unit * unit; };
  switch (mode) {
    case AlignmentMode::unaligned:
      return at;
    case AlignmentMode::dword:  // 9.5: to a dword at most; 3.3.4.1: LDS to what is natural
      return down(where == Where::lds ? natural : dword);
    case AlignmentMode::dword_strict:
    case AlignmentMode::strict: {
      if (where == Where::scratch) return at;  // 11.3: scratch accesses may be misaligned
      const uint32_t unit = where == Where::lds || mode == AlignmentMode::strict ? natural : dword;
      return down(unit) == at ? std::optional(at) : std::nullopt;
    }
  }
  return std::nullopt;
}

// The first 128 bytes of LDS, of each lane's scratch and of the buffer hold their own numbers. Lane 0 makes
// one access at s4; then 128 bytes of the place go to byte 1024 of the buffer, and v[8:11] to byte 2048.
struct Accessing : Dispatch {
  static constexpr uint32_t kAreaBytes = 128;

  Accessing(const std::string& access, Where where)
      : Dispatch(
            "v_lshlrev_b32 v4, 2, v0\nv_mul_lo_u32 v5, v4, 0x1010101\nv_add_nc_u32 v5, 0x3020100, v5\n"
            "ds_store_b32 v4, v5\n" +
                (where == Where::scratch ? fill_scratch() : "") +
                "s_waitcnt lgkmcnt(0)\ns_mov_b32 exec_lo, 1\nv_mov_b32 v2, s4\n"
                "s_mov_b64 s[6:7], src_shared_base\ns_mov_b64 s[8:9], src_private_base\n"
                "s_mov_b32 s12, s0\ns_mov_b32 s13, s1\ns_movk_i32 s14, 0x400\ns_mov_b32 s15, 0x30020000\n"
                "v_mov_b32 v8, 0xa3a2a1a0\nv_mov_b32 v9, 0xa7a6a5a4\nv_mov_b32 v10, 0xabaaa9a8\n"
                "v_mov_b32 v11, 0xafaeadac\n" +
                access + "\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n" +
                "global_store_b128 v1, v[8:11], s[0:1] offset:2048\ns_mov_b32 exec_lo, -1\n" +
                (where == Where::memory ? "global_load_b32 v5, v4, s[0:1]\n"
                 : where == Where::lds  ? "ds_load_b32 v5, v4\n"
                                        : read_scratch()) +
                "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_b32 v4, v5, s[0:1] offset:1024",
            1, 32) {
    launch.scratch_bytes = kAreaBytes;
    launch.user_data.resize(5);
    launch.rsrc2 = 0;
  }
  // Of lane 0: dword i is i times 4 times 0x1010101 plus 0x3020100.
  static std::string fill_scratch() {
    std::string text;
    for (uint32_t at = 0; at < kAreaBytes; at += 4)
      text += "v_mov_b32 v6, " + std::to_string(at * 0x1010101u + 0x3020100u) +
              "\nscratch_store_b32 off, v6, off offset:" + std::to_string(at) + "\n";
    return text;
  }
  // To lane i, dword i of lane 0.
  static std::string read_scratch() {
    std::string text;
    for (uint32_t i = 0; i < kAreaBytes / 4; ++i)
      text += "scratch_load_b32 v6, off, off offset:" + std::to_string(4 * i) +
              "\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s5, v6\nv_writelane_b32 v5, s5, " +
              std::to_string(i) + "\n";
    return text;
  }
  Outcome run_at(uint32_t at, const memory::AccessModes& modes) {
    auto* bytes = reinterpret_cast<uint8_t*>(buffer.data());
    for (uint32_t i = 0; i < 4096; ++i) bytes[i] = i < kAreaBytes ? static_cast<uint8_t>(i) : 0;
    launch.user_data[4] = at;
    launch.access_modes = modes;
    return run();
  }
  uint8_t after(uint32_t at) const { return reinterpret_cast<const uint8_t*>(buffer.data())[1024 + at]; }
  uint8_t loaded(uint32_t at) const { return reinterpret_cast<const uint8_t*>(buffer.data())[2048 + at]; }
};

struct Instruction {
  std::string load, store;
  uint32_t bytes;
  Where where;
};

std::string registers(uint32_t bytes) {
  return bytes <= 4 ? "v8" : "v[8:" + std::to_string(7 + bytes / 4) + "]";
}

std::vector<Instruction> instructions() {
  std::vector<Instruction> list;
  for (const uint32_t bytes : {1u, 2u, 4u, 8u, 12u, 16u}) {
    const std::string load = bytes == 1 ? "u8" : bytes == 2 ? "u16" : "b" + std::to_string(8 * bytes);
    const std::string store = "b" + std::to_string(8 * bytes), data = registers(bytes);
    const std::string global =
        "v_add_co_u32 v2, vcc_lo, s0, v2\nv_mov_b32 v3, s1\n"
        "v_add_co_ci_u32 v3, vcc_lo, 0, v3, vcc_lo\n";
    list.push_back({"global_load_" + load + " " + data + ", v2, s[0:1]",
                    "global_store_" + store + " v2, " + data + ", s[0:1]", bytes, Where::memory});
    list.push_back({global + "flat_load_" + load + " " + data + ", v[2:3]",
                    global + "flat_store_" + store + " v[2:3], " + data, bytes, Where::memory});
    list.push_back({"buffer_load_" + load + " " + data + ", v2, s[12:15], 0 offen",
                    "buffer_store_" + store + " " + data + ", v2, s[12:15], 0 offen", bytes, Where::memory});
    list.push_back(
        {"ds_load_" + load + " " + data + ", v2", "ds_store_" + store + " v2, " + data, bytes, Where::lds});
    const std::string shared = "v_mov_b32 v3, s7\n", priv = "v_mov_b32 v3, s9\n";
    list.push_back({shared + "flat_load_" + load + " " + data + ", v[2:3]",
                    shared + "flat_store_" + store + " v[2:3], " + data, bytes, Where::lds});
    list.push_back({"scratch_load_" + load + " " + data + ", v2, off",
                    "scratch_store_" + store + " v2, " + data + ", off", bytes, Where::scratch});
    list.push_back({priv + "flat_load_" + load + " " + data + ", v[2:3]",
                    priv + "flat_store_" + store + " v[2:3], " + data, bytes, Where::scratch});
  }
  return list;
}

TEST(Alignment, LoadsInEveryMode) {
  for (const Instruction& instruction : instructions()) {
    Accessing d(instruction.load, instruction.where);
    for (const AlignmentMode mode : kModes) {
      for (uint32_t at = 32; at < 48; ++at) {
        SCOPED_TRACE(instruction.load + " at " + std::to_string(at) + ", " + memory::name_of(mode));
        const auto address = effective(mode, instruction.where, instruction.bytes, at);
        const Outcome outcome = d.run_at(at, {mode, false});
        ASSERT_EQ(outcome.fault.has_value(), !address)
            << (outcome.fault ? outcome.fault->fault.message : std::string());
        if (!address) {
          EXPECT_EQ(outcome.fault->fault.kind, FaultKind::misaligned);
          EXPECT_EQ(outcome.fault->fault.bytes, instruction.bytes);
          continue;
        }
        for (uint32_t i = 0; i < instruction.bytes; ++i) ASSERT_EQ(d.loaded(i), *address + i);
      }
    }
  }
}

TEST(Alignment, StoresInEveryMode) {
  for (const Instruction& instruction : instructions()) {
    Accessing d(instruction.store, instruction.where);
    for (const AlignmentMode mode : kModes) {
      for (uint32_t at = 32; at < 48; ++at) {
        SCOPED_TRACE(instruction.store + " at " + std::to_string(at) + ", " + memory::name_of(mode));
        const auto address = effective(mode, instruction.where, instruction.bytes, at);
        const Outcome outcome = d.run_at(at, {mode, false});
        ASSERT_EQ(outcome.fault.has_value(), !address);
        for (uint32_t i = 0; address && i < Accessing::kAreaBytes; ++i)
          ASSERT_EQ(d.after(i), i >= *address && i < *address + instruction.bytes ? 0xa0 + i - *address : i)
              << i;
      }
    }
  }
}

// The two addresses of an instruction are aligned each for itself.
TEST(Alignment, TwoLdsAddresses) {
  Accessing d("v_mov_b32 v8, 0\nv_mov_b32 v9, 0\nds_load_2addr_b32 v[8:9], v2 offset0:1 offset1:3",
              Where::lds);
  for (const AlignmentMode mode : kModes) {
    const Outcome outcome = d.run_at(34, {mode, false});
    ASSERT_EQ(outcome.fault.has_value(), memory::is_strict(mode));
    if (outcome.fault) continue;
    const uint32_t base = mode == AlignmentMode::dword ? 32 : 34;
    EXPECT_EQ(d.loaded(0), base + 4);
    EXPECT_EQ(d.loaded(4), base + 12);
  }
}

// 9.5: formats have 1, 2 or 4 bytes as their alignment, whatever the mode of the others is.
TEST(Alignment, FormattedAccesses) {
  const struct {
    const char* format;
    uint32_t alignment;
  } formats[] = {
      {"BUF_FMT_8_UINT", 1}, {"BUF_FMT_8_8_UINT", 2}, {"BUF_FMT_32_UINT", 4}, {"BUF_FMT_32_32_UINT", 4}};
  for (const auto& format : formats) {
    Accessing d(std::string("tbuffer_load_format_x v8, v2, s[12:15], 0 format:[") + format.format + "] offen",
                Where::memory);
    for (const AlignmentMode mode : kModes) {
      for (uint32_t at = 32; at < 36; ++at) {
        SCOPED_TRACE(format.format + std::string(" ") + memory::name_of(mode));
        const Outcome outcome = d.run_at(at, {mode, false});
        const bool aligned = at % format.alignment == 0;
        ASSERT_EQ(outcome.fault.has_value(), !aligned && memory::is_strict(mode));
        if (outcome.fault) continue;
        EXPECT_EQ(d.loaded(0),
                  mode == AlignmentMode::unaligned ? at : at / format.alignment * format.alignment);
      }
    }
  }
}

// Atomics must be aligned in every mode, scalar loads are in every mode (guide 3.3.3, 8.1.1).
TEST(Alignment, AtomicsAndScalarLoadsDoNotDependOnTheMode) {
  for (const AlignmentMode mode : kModes) {
    for (const char* atomic : {"global_atomic_add_u32 v2, v8, s[0:1]", "ds_add_u32 v2, v8",
                               "buffer_atomic_add_u32 v8, v2, s[12:15], 0 offen"}) {
      Accessing d(atomic, Where::memory);
      EXPECT_FALSE(d.run_at(36, {mode, false}).fault) << atomic;
      const Outcome outcome = d.run_at(34, {mode, false});
      ASSERT_TRUE(outcome.fault) << atomic;
      EXPECT_EQ(outcome.fault->fault.kind, FaultKind::misaligned);
    }
    Accessing scalar("s_load_b64 s[16:17], s[0:1], s4\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v8, s16",
                     Where::memory);
    EXPECT_FALSE(scalar.run_at(35, {mode, false}).fault);
    EXPECT_EQ(scalar.loaded(0), 32);
  }
}

// Whole waves, side by side, and what the translator would have run.
TEST(Alignment, WholeWavesOnEveryEngine) {
  for (const EngineKind engine : {EngineKind::interpreter, EngineKind::translator}) {
    Dispatch d(
        "v_lshlrev_b32 v1, 2, v0\nglobal_load_b32 v2, v1, s[0:1] offset:2\ns_waitcnt vmcnt(0)\n"
        "global_store_b32 v1, v2, s[0:1] offset:1024",
        1, 32);
    d.launch.access_modes.alignment = AlignmentMode::dword;
    d.options.engine = engine;
    for (uint32_t i = 0; i < 64; ++i) d.buffer[i] = 100 + i;
    const Outcome outcome = d.run();
    EXPECT_FALSE(outcome.fault);
    EXPECT_EQ(outcome.note.find("alignment mode") != std::string::npos, engine == EngineKind::translator);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(d.buffer[256 + i], 100 + i);
  }
}

// Code that was decoded for one mode is not what another one runs.
TEST(Alignment, ModesDoNotShareCode) {
  Reuse reuse;
  Accessing d("global_load_b32 v8, v2, s[0:1]", Where::memory);
  d.options.reuse = &reuse;
  for (unsigned round = 0; round < 2; ++round) {
    EXPECT_FALSE(d.run_at(34, {AlignmentMode::unaligned, false}).fault);
    EXPECT_EQ(d.loaded(0), 34);
    EXPECT_FALSE(d.run_at(34, {AlignmentMode::dword, false}).fault);
    EXPECT_EQ(d.loaded(0), 32);
    EXPECT_TRUE(d.run_at(34, {AlignmentMode::strict, false}).fault);
  }
}

// 3.3.4.1, 12.7: an LDS address out of range reads zero and writes nothing, or is a memory violation where
// the device reports it. The work-group has 1024 bytes.
TEST(LdsRange, IsReportedIfTheDeviceSaysSo) {
  for (const char* access :
       {"ds_load_b32 v8, v2", "ds_store_b32 v2, v8", "ds_load_b128 v[8:11], v2", "ds_load_u8 v8, v2",
        "ds_load_2addr_b32 v[8:9], v1 offset0:0 offset1:255\nds_load_2addr_b32 v[8:9], v2 offset0:0 "
        "offset1:1",
        "ds_store_2addr_b64 v2, v[8:9], v[10:11] offset0:0 offset1:1", "ds_add_u32 v2, v8",
        "ds_add_rtn_u32 v8, v2, v9", "ds_storexchg_2addr_rtn_b32 v[8:9], v2, v10, v11 offset0:0 offset1:1",
        "s_mov_b32 m0, s4\nds_append v8", "s_mov_b32 m0, s4\nds_load_addtid_b32 v8"}) {
    SCOPED_TRACE(access);
    Accessing d(access, Where::lds);
    for (const AlignmentMode mode : kModes) {
      EXPECT_FALSE(d.run_at(1008 - 16, {mode, true}).fault) << "in range";
      EXPECT_FALSE(d.run_at(1024, {mode, false}).fault) << "not reported";
      const Outcome outcome = d.run_at(1024, {mode, true});
      ASSERT_TRUE(outcome.fault);
      EXPECT_EQ(outcome.fault->fault.kind, FaultKind::memory_violation);
      EXPECT_NE(outcome.fault->fault.message.find("LDS"), std::string::npos) << outcome.fault->fault.message;
    }
  }
}

TEST(LdsRange, DirectLoads) {
  Accessing d("s_or_b32 m0, s4, 0x20000\nlds_direct_load v8", Where::lds);
  d.launch.rsrc1 &= ~(1u << 29);
  EXPECT_FALSE(d.run_at(1024, {AlignmentMode::unaligned, false}).fault);
  EXPECT_EQ(d.loaded(0), 0);
  EXPECT_TRUE(d.run_at(1024, {AlignmentMode::unaligned, true}).fault);
  EXPECT_FALSE(d.run_at(1020, {AlignmentMode::unaligned, true}).fault);
}

}  // namespace
}  // namespace lockstep::machine
