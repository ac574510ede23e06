// What a register may make an instruction touch: scratch that a trap handler has moved, LDS and GDS accesses
// of which a part is out of range.
#include <bit>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

constexpr uint64_t kSomeLanes = 0x8001'00f0'1234'5671ull;

uint32_t word_at(const std::byte* memory, size_t offset) {
  uint32_t word;
  std::memcpy(&word, memory + offset, 4);
  return word;
}

// Scratch offset `offset` of a lane, from FLAT_SCRATCH on (guide 11.2, scratch addressing equation).
size_t swizzled(const TestWave& w, uint32_t offset, unsigned lane) {
  return size_t{offset / 4} * 4 * w.size() + offset % 4 + lane * 4;
}

const std::vector<std::string> kScratchAccesses{
    "scratch_load_b32 v10, off, off offset:8",
    "scratch_load_b128 v[10:13], off, off offset:8",
    "scratch_load_u8 v10, v0, off offset:3",
    "scratch_load_b64 v[10:11], v0, s4 offset:2",
    "scratch_store_b32 off, v1, off offset:8",
    "scratch_store_b128 off, v[4:7], off offset:8",
    "scratch_store_b8 v0, v1, off offset:3",
    "scratch_store_b64 v0, v[4:5], s4 offset:2",
    "flat_load_b32 v10, v[2:3]",
    "flat_load_b96 v[10:12], v[2:3] offset:2",
    "flat_store_b32 v[2:3], v1",
    "flat_store_d16_hi_b16 v[2:3], v1 offset:2",
    "flat_atomic_add_u32 v[2:3], v1",
    "flat_atomic_cmpswap_b32 v10, v[2:3], v[6:7] glc",
};

void set_scratch_operands(TestWave& w) {
  w.set_exec(kSomeLanes);
  w.s(4) = 4;
  w.fill(0, [](unsigned lane) { return 4 * (lane % 4); });
  w.fill64(2, [](unsigned lane) { return kPrivateApertureBase + 8 * (lane % 4); });
}

// Guide 3.4.7: a trap handler may write FLAT_SCRATCH. Scratch is guest memory there, wherever that is: the
// results are those of scratch that the machine gave.
TEST(MovedScratch, IsGuestMemory) {
  for_each_wave([](TestWave& w) {
    for (const std::string& access : kScratchAccesses) {
      SCOPED_TRACE(access);
      const std::vector<uint32_t>& code = assembled(access, w.size());
      set_scratch_operands(w);
      const size_t bytes = size_t{TestWave::kScratchBytes} * w.size();
      std::byte* given = reinterpret_cast<std::byte*>(w.wave().given_scratch_base);
      // The memory is smaller than the scratch given, but holds all that is touched.
      const size_t half = std::min<size_t>(bytes, TestWave::kMemoryBytes);
      for (size_t i = 0; i < half; ++i) given[i] = w.memory()[i] = static_cast<std::byte>(i * 7);
      const TestWave::State before = w.save();
      w.execute(code);
      ASSERT_EQ(w.wave().state, WaveState::ended);
      const TestWave::State expected = w.save();
      w.restore(before);
      set_flat_scratch(w.wave(), w.memory_address());
      w.execute(code);
      ASSERT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
      EXPECT_TRUE(std::equal(w.memory(), w.memory() + half, expected.scratch.begin()));
      EXPECT_TRUE(std::equal(expected.vgprs.begin(), expected.vgprs.end(), w.save().vgprs.begin()));
      EXPECT_TRUE(
          std::equal(before.scratch.begin(), before.scratch.begin() + static_cast<long>(half), given));
      set_flat_scratch(w.wave(), w.wave().given_scratch_base);
    }
  });
}

// Anywhere else is a memory violation: a base that is the emulator's own memory, wraps around, or lies next
// to what the guest has.
TEST(MovedScratch, IsCheckedEverywhere) {
  std::vector<std::byte> secret(1 << 17, std::byte{0x5a});
  const uint64_t outside = (reinterpret_cast<uint64_t>(secret.data()) + 255) & ~uint64_t{255};
  for_each_wave([&](TestWave& w) {
    const uint64_t bases[] = {outside,
                              0,
                              ~uint64_t{255},
                              w.memory_address() - 0x10000,
                              w.memory_address() + TestWave::kMemoryBytes,
                              w.wave().given_scratch_base + 256,
                              w.wave().given_scratch_base - 256,
                              reinterpret_cast<uint64_t>(w.lds()) & ~uint64_t{255}};
    for (const std::string& access : kScratchAccesses) {
      const std::vector<uint32_t>& code = assembled(access, w.size());
      for (const uint64_t base : bases) {
        SCOPED_TRACE(access + " with FLAT_SCRATCH " + std::to_string(base));
        set_scratch_operands(w);
        set_flat_scratch(w.wave(), base);
        const TestWave::State before = w.save();
        w.execute(code);
        EXPECT_EQ(w.wave().state, WaveState::faulted);
        EXPECT_EQ(w.wave().fault.kind, FaultKind::memory_violation);
        const TestWave::State after = w.save();
        EXPECT_EQ(before.vgprs, after.vgprs);
        EXPECT_EQ(before.lds, after.lds);
        EXPECT_EQ(before.memory, after.memory);
        EXPECT_EQ(before.scratch, after.scratch);
      }
      // Set back, it is what the machine gave.
      set_flat_scratch(w.wave(), w.wave().given_scratch_base);
      w.execute(code);
      EXPECT_EQ(w.wave().state, WaveState::ended);
    }
  });
  EXPECT_TRUE(std::all_of(secret.begin(), secret.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
}

// The fault names the address that the offset comes to.
TEST(MovedScratch, FaultsSayWhere) {
  TestWave w({32, HostTarget::x86_64_v3});
  set_flat_scratch(w.wave(), w.memory_address() + TestWave::kMemoryBytes - 256);
  w.set_exec(4);
  const Fault fault = w.run_to_fault("scratch_load_b64 v[10:11], off, off offset:4");
  EXPECT_EQ(fault.lane, 2);
  EXPECT_EQ(fault.address, w.memory_address() + TestWave::kMemoryBytes + 8);
  EXPECT_NE(fault.message.find("the trap handler set FLAT_SCRATCH to 0x"), std::string::npos)
      << fault.message;
  EXPECT_NE(fault.message.find("behind the end of buffer 'test'"), std::string::npos) << fault.message;
}

// A lane whose element is not all there stores nothing (guide 11.3).
TEST(MovedScratch, NoPartOfABadElementIsStored) {
  for_each_wave([](TestWave& w) {
    set_flat_scratch(w.wave(), w.memory_address() + TestWave::kMemoryBytes - 256);
    w.set_exec(1);
    const TestWave::State before = w.save();
    w.execute(assembled("scratch_store_b128 off, v[4:7], off offset:0", w.size()));
    EXPECT_EQ(w.wave().state, WaveState::faulted);
    EXPECT_EQ(before.memory, w.save().memory);
  });
}

// Guide 11.1.1: FLAT atomics of 4 bytes work in scratch, those of 8 bytes are memory violations.
TEST(Scratch, FlatAtomicsOfFourBytes) {
  for_each_wave([](TestWave& w) {
    w.set_exec(kSomeLanes);
    w.fill64(2, [](unsigned lane) { return kPrivateApertureBase + 8 * (lane % 4); });
    w.fill(5, [](unsigned lane) { return 100 + lane; });
    auto* scratch = reinterpret_cast<std::byte*>(w.wave().scratch_base);
    const auto at = [&](unsigned lane) { return scratch + swizzled(w, 8 * (lane % 4), lane); };
    for (unsigned lane = 0; lane < w.size(); ++lane) {
      const uint32_t value = 7 * lane;
      std::memcpy(at(lane), &value, 4);
    }
    w.execute(assembled("flat_atomic_add_u32 v10, v[2:3], v5 glc", w.size()));
    ASSERT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
    for (unsigned lane = 0; lane < w.size(); ++lane) {
      EXPECT_EQ(word_at(at(lane), 0), 7 * lane + (w.active(lane) ? 100 + lane : 0)) << lane;
      if (w.active(lane)) EXPECT_EQ(w.v(10, lane), 7 * lane);
    }
    const Fault wide = w.run_to_fault("flat_atomic_add_u64 v[2:3], v[4:5]");
    EXPECT_EQ(wide.kind, FaultKind::memory_violation);
    EXPECT_NE(wide.message.find("atomics of 4 bytes only"), std::string::npos) << wide.message;
    w.fill64(2, [](unsigned) { return kPrivateApertureBase + TestWave::kScratchBytes; });
    EXPECT_EQ(w.run_to_fault("flat_atomic_add_u32 v[2:3], v5").kind, FaultKind::memory_violation);
  });
}

// Each of two addresses is out of range by itself, of reads (zero) and of writes (left out): guide 3.3.4.1.
TEST(Lds, OneOfTwoAddressesOutOfRange) {
  for_each_wave([](TestWave& w) {
    for (size_t i = 0; i < TestWave::kLdsBytes / 4; ++i) w.lds_word(static_cast<unsigned>(i)) = 0x100 + i;
    // Odd lanes have the second address behind the end, every fourth the first; the others none.
    const auto base_of = [](unsigned lane) {
      return lane % 2 ? TestWave::kLdsBytes - 16 : lane % 4 ? ~15u : 64u;
    };
    w.fill(0, base_of);
    const std::vector<std::byte> lds(w.lds(), w.lds() + TestWave::kLdsBytes);
    // The dword behind the address of an element of `bytes`.
    const auto expected = [&](unsigned lane, uint32_t offset, uint32_t dword = 0, uint32_t bytes = 4) {
      const uint32_t at = base_of(lane) + offset;
      return uint64_t{at} + bytes > TestWave::kLdsBytes ? 0 : word_at(lds.data(), at + 4 * dword);
    };
    for (const uint64_t exec : {~uint64_t{0}, kSomeLanes}) {
      w.set_exec(exec);
      w.run(
          "ds_load_2addr_b32 v[10:11], v0 offset0:1 offset1:4\n"
          "ds_load_2addr_b64 v[12:15], v0 offset0:1 offset1:2\n"
          "ds_load_2addr_stride64_b32 v[16:17], v0 offset0:0 offset1:1\n"
          "ds_load_2addr_stride64_b64 v[18:21], v0 offset0:0 offset1:1\n"
          "v_mov_b32 v30, v0\nds_load_2addr_b32 v[30:31], v30 offset0:1 offset1:4");
      for (unsigned base : {10u, 30u}) {
        w.expect_v(base, [&](unsigned lane) { return expected(lane, 4); });
        w.expect_v(base + 1, [&](unsigned lane) { return expected(lane, 16); });
      }
      for (unsigned i = 0; i < 4; ++i) {
        w.expect_v(12 + i, [&](unsigned lane) { return expected(lane, i < 2 ? 8 : 16, i % 2, 8); });
        w.expect_v(18 + i, [&](unsigned lane) { return expected(lane, i < 2 ? 0 : 512, i % 2, 8); });
      }
      w.expect_v(16, [&](unsigned lane) { return expected(lane, 0); });
      w.expect_v(17, [&](unsigned lane) { return expected(lane, 256); });
    }
    w.set_exec(2);  // lane 1: the last 16 bytes
    w.v(4, 1) = 0xaaaa, w.v(5, 1) = 0xbbbb;
    w.run(
        "ds_storexchg_2addr_rtn_b32 v[10:11], v0, v4, v5 offset0:1 offset1:4\n"
        "ds_store_2addr_b32 v0, v4, v5 offset0:7 offset1:2");
    EXPECT_EQ(w.v(10, 1), 0x100u + (TestWave::kLdsBytes - 12) / 4);
    EXPECT_EQ(w.v(11, 1), 0u);
    EXPECT_EQ(word_at(w.lds(), TestWave::kLdsBytes - 12), 0xaaaau);
    EXPECT_EQ(word_at(w.lds(), TestWave::kLdsBytes - 8), 0xbbbbu);
    w.set_exec(4);  // lane 2: the first one is out of range
    w.v(4, 2) = 0xaaaa, w.v(5, 2) = 0xbbbb;
    w.run("ds_storexchg_2addr_rtn_b32 v[10:11], v0, v4, v5 offset0:1 offset1:4");
    EXPECT_EQ(w.v(10, 2), 0u);
    EXPECT_EQ(w.v(11, 2), 0x100u);
    EXPECT_EQ(word_at(w.lds(), 0), 0xbbbbu);
  });
}

TEST(Gds, OneOfTwoAddressesOutOfRange) {
  for_each_wave([](TestWave& w) {
    w.s(125) = 64;  // M0: from 0, 64 bytes
    w.set_exec(1);
    {
      DeviceState::Access device(w.device());
      for (unsigned i = 0; i < 32; ++i) {
        const uint32_t word = 0x100 + i;
        std::memcpy(device.gds() + 4 * i, &word, 4);
      }
    }
    w.v(0, 0) = 48;
    w.v(4, 0) = 0xaaaa, w.v(5, 0) = 0xbbbb;
    w.execute(
        assembled("ds_load_2addr_b32 v[10:11], v0 offset0:1 offset1:4 gds\n"
                  "ds_load_2addr_b32 v[12:13], v0 offset0:1 offset1:3 gds\n"
                  "ds_storexchg_2addr_rtn_b32 v[14:15], v0, v4, v5 offset0:2 offset1:5 gds\n"
                  "ds_load_2addr_b32 v[16:17], v0 offset0:2 offset1:1 gds",
                  w.size()));
    ASSERT_EQ(w.wave().state, WaveState::ended) << w.wave().fault.message;
    EXPECT_EQ(w.v(10, 0), 0x100u + 13);
    EXPECT_EQ(w.v(11, 0), 0u);
    EXPECT_EQ(w.v(12, 0), 0x100u + 13);
    EXPECT_EQ(w.v(13, 0), 0x100u + 15);
    EXPECT_EQ(w.v(14, 0), 0x100u + 14);
    EXPECT_EQ(w.v(15, 0), 0u);
    EXPECT_EQ(w.v(16, 0), 0xaaaau);
  });
}

}  // namespace
}  // namespace lockstep::interpreter
