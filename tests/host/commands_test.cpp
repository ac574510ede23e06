// Commands by the render node (DRM_IOCTL_AMDGPU_CS), as programs of libdrm give them: indirect buffers of the
// compute and the copy engines, what they wait for, how their ends are told, and what is refused.
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "tests/host/commands_fixture.h"

namespace lockstep::host {
namespace {

// Adds 1 to what its argument points to, once for each wave:
// s_load_b64 s[0:1], s[0:1], null; s_mov_b32 exec_lo, 1; v_mov_b32 v0, 0; v_mov_b32 v1, 1;
// s_waitcnt lgkmcnt(0); global_atomic_add_u32 v0, v1, s[0:1]; s_endpgm
constexpr uint32_t kAdding[] = {0xf4040000, 0xf8000000, 0xbefe0081, 0x7e000280, 0x7e020281,
                                0xbf89fc07, 0xdcd60000, 0x00000100, 0xbfb00000};

void set_registers(Words& words, uint32_t first, std::initializer_list<uint32_t> values) {
  words.push_back(pm4::header(pm4::kSetShReg, static_cast<uint32_t>(values.size()) + 1));
  words.push_back(first - pm4::kShBase);
  words.insert(words.end(), values);
}

// Of that kernel in so many groups of one wave, which adds to memory[kData].
Words dispatch_of_adding(RenderNodeCommands& test, uint32_t groups) {
  for (size_t i = 0; i < std::size(kAdding); ++i) test.memory[kCode + i] = kAdding[i];
  const uint64_t data = test.address + 4 * kData;
  test.memory[kArguments] = low(data);
  test.memory[kArguments + 1] = high(data);
  EXPECT_EQ((test.address + 4 * kCode) % 256, 0u);
  const uint64_t code = (test.address + 4 * kCode) >> 8, arguments = test.address + 4 * kArguments;
  Words words;
  set_registers(words, pm4::kPgmLo, {low(code), high(code)});
  set_registers(words, pm4::kPgmRsrc1, {1 | 0xc0 << 12 | 1 << 29 | 1 << 30, 2 << 1 | 1 << 7});
  set_registers(words, pm4::kUserData0, {low(arguments), high(arguments)});
  set_registers(words, pm4::kStartX, {0, 0, 0, 32, 1, 1});
  add(words, pm4::kDispatchDirect,
      {groups, 1, 1, pm4::kComputeShaderEnable | pm4::kStartAtZero | pm4::kWave32});
  return words;
}

TEST_F(RenderNodeCommands, AKernelRunsAndItsEndIsTold) {
  const drm_amdgpu_cs_chunk_ib buffer = put(dispatch_of_adding(*this, 5));
  const drm_amdgpu_cs_chunk_fence fence = {object, 4 * (kData + 2)};
  const uint32_t list = make_list({object});
  for (uint64_t times = 1; times <= 3; ++times) {
    uint64_t number = 0, status = 1;
    ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_IB, buffer),
                      chunk(AMDGPU_CHUNK_ID_FENCE, fence)},
                     number, list),
              0);
    EXPECT_EQ(number, times);
    ASSERT_EQ(wait(number, status), 0);
    EXPECT_EQ(status, 0u);
    EXPECT_EQ(memory[kData], 10 * times) << "both buffers ran before the end was told";
    EXPECT_EQ(memory[kData + 2], times) << "where the program looks for the number";
    EXPECT_FALSE(is_busy(object));
  }
}

TEST_F(RenderNodeCommands, EnginesWaitForEachOther) {
  const uint32_t list = make_list({object}), second = make_context();
  const auto first_buffer = put(held());
  uint64_t first = 0, copy = 0, last = 0, status = 0;
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, first_buffer)}, first, list), 0);
  // Another context's copy behind it, and a compute ring of its own behind the copy.
  const auto copy_buffer = put(fill(kData, 7), AMDGPU_HW_IP_DMA, kCode);
  const drm_amdgpu_cs_chunk_dep behind_first = {AMDGPU_HW_IP_COMPUTE, 0, 0, context, first};
  ASSERT_EQ(
      submit({chunk(AMDGPU_CHUNK_ID_IB, copy_buffer), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind_first)},
             copy, 0, second),
      0);
  const uint64_t from = address + 4 * kData, to = from + 8;
  Words words;
  add(words, pm4::kCopyData, {1 | 1 << 8, low(from), high(from), low(to), high(to)});
  auto last_buffer = put(words, AMDGPU_HW_IP_COMPUTE, kArguments);
  last_buffer.ring = 1;
  const drm_amdgpu_cs_chunk_dep behind_copy = {AMDGPU_HW_IP_DMA, 0, 0, second, copy};
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind_copy), chunk(AMDGPU_CHUNK_ID_IB, last_buffer)},
                   last, 0, second),
            0);
  ASSERT_EQ(wait(first, status, 0), 0);
  EXPECT_EQ(status, 1u) << "busy";
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t soon = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec + 20'000'000;
  ASSERT_EQ(wait(copy, status, soon, AMDGPU_HW_IP_DMA, second), 0);
  EXPECT_EQ(status, 1u);
  EXPECT_TRUE(is_busy(object)) << "it was listed";
  EXPECT_FALSE(is_busy(other));
  EXPECT_EQ(memory[kData], 0u);
  const drm_amdgpu_fence fences[] = {{second, AMDGPU_HW_IP_COMPUTE, 0, 1, kLast},
                                     {context, AMDGPU_HW_IP_DMA, 0, 0, 0}};
  drm_amdgpu_wait_fences both = {};
  both.in.fences = reinterpret_cast<uint64_t>(fences);
  both.in.fence_count = 2;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, both), 0);
  EXPECT_EQ(both.out.status, 1u);
  EXPECT_EQ(both.out.first_signaled, 1u) << "before the first of all numbers nothing is to be waited for";
  both = {};
  both.in.fences = reinterpret_cast<uint64_t>(fences);
  both.in.fence_count = 2;
  both.in.wait_all = 1;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, both), 0);
  EXPECT_EQ(both.out.status, 0u);
  // Commands go on when their context is gone.
  drm_amdgpu_ctx args;
  EXPECT_EQ(on_context(AMDGPU_CTX_OP_FREE_CTX, args, context), 0);
  EXPECT_EQ(on_context(AMDGPU_CTX_OP_FREE_CTX, args, context), EINVAL);
  EXPECT_TRUE(is_busy(object));
  let_go();
  both.in.fences = reinterpret_cast<uint64_t>(fences);
  both.in.fence_count = 1;
  both.in.wait_all = 1;
  both.in.timeout_ns = kForEver;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, both), 0);
  EXPECT_EQ(both.out.status, 1u);
  EXPECT_EQ(memory[kData], 7u);
  EXPECT_EQ(memory[kData + 2], 7u) << "the compute ring waited for the copy";
  EXPECT_FALSE(is_busy(object));
}

TEST_F(RenderNodeCommands, CodeIsReadAgainWhereTheProgramSaysSo) {
  // The kernel is replaced by one that ends at once.
  auto buffer = put(dispatch_of_adding(*this, 1));
  uint64_t status = 1;
  ASSERT_EQ(submit(buffer), 0);
  ASSERT_EQ(wait(kLast, status), 0);
  EXPECT_EQ(memory[kData], 1u);
  memory[kCode] = 0xbfb00000;
  buffer.flags = AMDGPU_IB_FLAG_EMIT_MEM_SYNC;
  ASSERT_EQ(submit(buffer), 0);
  ASSERT_EQ(wait(kLast, status), 0);
  EXPECT_EQ(memory[kData], 1u);
}

TEST_F(RenderNodeCommands, WhatFailsEndsItsContextAlone) {
  const uint32_t second = make_context();
  auto lost = put({pm4::header(pm4::kNop, 1), 0});
  lost.va_start = 0x10000;
  uint64_t number = 0, status = 0;
  testing::internal::CaptureStderr();
  ASSERT_EQ(submit(lost), 0);
  EXPECT_EQ(wait(1, status), ECANCELED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("ib_base: "), std::string::npos);
  EXPECT_EQ(submit(put({pm4::header(pm4::kNop, 1), 0})), ECANCELED);
  EXPECT_EQ(submit(put(fill(kData, 9), AMDGPU_HW_IP_DMA)), ECANCELED) << "its other rings, too";
  drm_amdgpu_ctx args;
  ASSERT_EQ(on_context(AMDGPU_CTX_OP_QUERY_STATE, args, context), 0);
  EXPECT_EQ(args.out.state.reset_status, uint32_t{AMDGPU_CTX_GUILTY_RESET});
  ASSERT_EQ(on_context(AMDGPU_CTX_OP_QUERY_STATE, args, context), 0);
  EXPECT_EQ(args.out.state.reset_status, uint32_t{AMDGPU_CTX_NO_RESET}) << "since the last query";
  ASSERT_EQ(on_context(AMDGPU_CTX_OP_QUERY_STATE2, args, context), 0);
  EXPECT_EQ(args.out.state.flags, AMDGPU_CTX_QUERY2_FLAGS_RESET | AMDGPU_CTX_QUERY2_FLAGS_GUILTY);
  ASSERT_EQ(on_context(AMDGPU_CTX_OP_QUERY_STATE2, args, second), 0);
  EXPECT_EQ(args.out.state.flags, 0u);
  // Others go on, also behind what has failed.
  const auto buffer = put(fill(kData, 9), AMDGPU_HW_IP_DMA);
  const drm_amdgpu_cs_chunk_dep behind = {AMDGPU_HW_IP_COMPUTE, 0, 0, context, 1};
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind)}, number,
                   0, second),
            0);
  ASSERT_EQ(wait(number, status, kForEver, AMDGPU_HW_IP_DMA, second), 0);
  EXPECT_EQ(memory[kData], 9u);
}

TEST_F(RenderNodeCommands, WhatIsWrongIsRefused) {
  const auto good = put({pm4::header(pm4::kNop, 1), 0});
  uint64_t number = 0, status = 0;
  auto buffer = good;
  testing::internal::CaptureStderr();
  buffer.ip_type = AMDGPU_HW_IP_GFX;
  EXPECT_EQ(submit(buffer), EINVAL);
  const drm_amdgpu_cs_chunk_fence unmapped = {other, 0}, unknown = {999, 0}, odd = {object, 4};
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good), chunk(AMDGPU_CHUNK_ID_FENCE, unmapped)}, number),
            EINVAL);
  const std::string told = testing::internal::GetCapturedStderr();
  for (const char* name : {"AMDGPU_HW_IP_GFX", "AMDGPU_CHUNK_ID_FENCE"})
    EXPECT_NE(told.find(name), std::string::npos) << told;
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good), chunk(AMDGPU_CHUNK_ID_FENCE, unknown)}, number), ENOENT);
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good), chunk(AMDGPU_CHUNK_ID_FENCE, odd)}, number), EINVAL);
  buffer = good;
  buffer.ring = 4;
  EXPECT_EQ(submit(buffer), EINVAL) << "there are four";
  buffer = good;
  buffer.ip_instance = 1;
  EXPECT_EQ(submit(buffer), EINVAL);
  buffer = good;
  buffer.ib_bytes = 6;
  EXPECT_EQ(submit(buffer), EINVAL);
  buffer = good;
  buffer.flags = AMDGPU_IB_FLAGS_SECURE;
  EXPECT_EQ(submit(buffer), EINVAL);
  buffer = good;
  buffer.ring = 1;
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good), chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number), EINVAL)
      << "one ring for all of them";
  EXPECT_EQ(submit(std::vector<drm_amdgpu_cs_chunk>{}, number), EINVAL);
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good)}, number, 0, 999), EINVAL);
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good)}, number, 999), ENOENT);
  EXPECT_EQ(submit({{AMDGPU_CHUNK_ID_IB, 8, 0x10}}, number), EFAULT);
  const drm_amdgpu_cs_chunk_dep future = {AMDGPU_HW_IP_COMPUTE, 0, 0, context, 1};
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, good), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, future)}, number),
            EINVAL);
  make_list({object, 999}, ENOENT);
  EXPECT_EQ(wait(1, status), EINVAL) << "nothing has been submitted";
  EXPECT_EQ(wait(0, status), 0);
  EXPECT_EQ(wait(0, status, kForEver, AMDGPU_HW_IP_GFX), EINVAL);
  EXPECT_EQ(wait(0, status, kForEver, AMDGPU_HW_IP_COMPUTE, 999), EINVAL);
  drm_amdgpu_wait_fences fences = {};
  fences.in.fences = 0x10;
  fences.in.fence_count = 1;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, fences), EFAULT);
}

TEST_F(RenderNodeCommands, ADriverEndsWithCommandsThatNeverWould) {
  uint64_t number = 0;
  const auto buffer = put(held());
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number), 0);
  const drm_amdgpu_cs_chunk_dep behind = {AMDGPU_HW_IP_COMPUTE, 0, 0, context, number};
  const auto copy = put(fill(kData, 1), AMDGPU_HW_IP_DMA, kCode);
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, copy), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind)}, number),
            0);
}

}  // namespace
}  // namespace lockstep::host
