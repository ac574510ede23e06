// A wave that faults in translated code reports what the interpreter would.
#include <gtest/gtest.h>

#include "tests/engine/translator/test_kernel.h"

namespace lockstep::translator {
namespace {

constexpr const char* kSource = R"(
__kernel void shifted_store(__global uint* out, uint shift) { out[get_global_id(0) + shift] = 1; }
__kernel void shifted_load(__global uint* out, __global const uint* in, uint shift) {
  out[get_global_id(0)] = in[get_global_id(0) + shift];
}
__kernel void scattered_load(__global uint* out, __global const uint* in, uint stride) {
  uint i = get_global_id(0);
  if (i % 3 == 1) out[i] = in[i * stride];
}
__kernel void stores_before(__global uint* out, __global const uint* in, uint shift) {
  uint i = get_global_id(0);
  out[i] += 1;
  out[i] += in[i];
  out[i] += in[i + shift];
}
__kernel void scalar_load(__global uint* out, __global const uint* in, uint at) { out[get_global_id(0)] = in[at]; }
)";

const Bytes& code() {
  static const Bytes bytes = compile(kSource);
  return bytes;
}

void expect_same_fault(const TestDispatch& dispatch, const std::vector<Bytes>& buffers) {
  const TestResult expected = run(code(), {dispatch}, buffers, machine::EngineKind::interpreter);
  const TestResult result = run(code(), {dispatch}, buffers, machine::EngineKind::translator);
  EXPECT_EQ(result.outcome.note, "");
  ASSERT_TRUE(expected.outcome.fault);
  ASSERT_TRUE(result.outcome.fault);
  const machine::WaveFault &a = *expected.outcome.fault, &b = *result.outcome.fault;
  EXPECT_EQ(a.fault.kind, b.fault.kind);
  EXPECT_EQ(a.fault.pc - expected.code_base, b.fault.pc - result.code_base);
  EXPECT_EQ(a.fault.lane, b.fault.lane);
  EXPECT_EQ(a.fault.bytes, b.fault.bytes);
  // The buffers lie elsewhere in the second run.
  EXPECT_EQ(a.fault.address - expected.buffer_addresses.back(),
            b.fault.address - result.buffer_addresses.back());
  EXPECT_EQ(a.group, b.group);
  EXPECT_EQ(a.wave, b.wave);
  EXPECT_EQ(a.instruction, b.instruction);
  for (size_t i = 0; i < buffers.size(); ++i) EXPECT_TRUE(expected.buffers[i] == result.buffers[i]);
}

TEST(Faults, StoreBehindTheEnd) {
  for (const uint32_t shift : {1u, 17u, 60u, 1u << 20})
    expect_same_fault({"shifted_store", {64, 1, 1}, {64, 1, 1}, {buffer(0), value(shift)}, 0},
                      {Bytes(64 * 4)});
}
// Threads claim many groups at once: those behind the fault have not started.
TEST(Faults, StoreOfALateGroup) {
  for (const uint32_t group : {1u, 100u, 300u, 699u})
    expect_same_fault({"shifted_store", {64 * 700 + 3, 1, 1}, {64, 1, 1}, {buffer(0), value(0u)}, 0},
                      {Bytes(group * 64 * 4 + group % 2 * 128)});
}
TEST(Faults, LoadBehindTheEnd) {
  for (const uint32_t shift : {1u, 33u})
    expect_same_fault({"shifted_load", {64, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(shift)}, 0},
                      {Bytes(64 * 4), Bytes(64 * 4)});
}
TEST(Faults, LoadBehindStores) {
  for (const uint32_t shift : {1u, 33u, 64u, 1u << 30})
    expect_same_fault({"stores_before", {64, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(shift)}, 0},
                      {Bytes(64 * 4), Bytes(64 * 4)});
}
TEST(Faults, ScatteredLoad) {
  expect_same_fault({"scattered_load", {64, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(5u)}, 0},
                    {Bytes(64 * 4), Bytes(64 * 4)});
}
TEST(Faults, ScalarLoad) {
  expect_same_fault({"scalar_load", {64, 1, 1}, {64, 1, 1}, {buffer(0), buffer(1), value(0x10000000u)}, 0},
                    {Bytes(64 * 4), Bytes(64 * 4)});
}

}  // namespace
}  // namespace lockstep::translator
