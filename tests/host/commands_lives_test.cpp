// What programs do to their commands by the render node besides waiting for them: contexts that end first,
// threads, rings that wait for each other, limits, and addresses that are nobody's.
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/host/commands_fixture.h"

namespace lockstep::host {
namespace {

struct RenderNodeCommandsLives : RenderNodeCommands {
  const Words nop = {pm4::header(pm4::kNop, 1), 0};

  // Rings that the device still has.
  long rings() {
    return std::ranges::count(driver.gpus()[0]->memory.snapshot()->ranges(), "ends of commands",
                              &Range::name);
  }
  int free_context(uint32_t number) {
    drm_amdgpu_ctx args;
    return on_context(AMDGPU_CTX_OP_FREE_CTX, args, number);
  }
};

TEST_F(RenderNodeCommandsLives, TheProgramsFenceHas64Bits) {
  const drm_amdgpu_cs_chunk_fence fence = {object, 4 * (kData + 2)};
  for (const uint32_t engine : {AMDGPU_HW_IP_COMPUTE, AMDGPU_HW_IP_DMA}) {
    for (const size_t at : {kData + 2, kData + 3}) memory[at] = 0xffffffff;
    const auto buffer = put(engine == AMDGPU_HW_IP_DMA ? fill(kData, 1) : nop, engine);
    uint64_t number = 0, status = 1;
    ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_FENCE, fence)}, number), 0);
    ASSERT_EQ(wait(number, status, kForEver, engine), 0);
    EXPECT_EQ(memory[kData + 2], 1u);
    EXPECT_EQ(memory[kData + 3], 0u) << engine;
  }
}

TEST_F(RenderNodeCommandsLives, ManyNumbersOfOneRingAreOneWait) {
  // More packets than a ring has room for, if each had its own.
  const uint32_t second = make_context();
  uint64_t first = 0, number = 0, status = 1;
  const auto buffer = put(held());
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, first), 0);
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, first), 0);
  ASSERT_EQ(first, 2u);
  std::vector<drm_amdgpu_cs_chunk_dep> behind(4000, {AMDGPU_HW_IP_COMPUTE, 0, 0, context, 1});
  behind[2000].handle = first;
  const drm_amdgpu_cs_chunk all = {AMDGPU_CHUNK_ID_DEPENDENCIES,
                                   static_cast<uint32_t>(behind.size() * sizeof behind[0] / 4),
                                   reinterpret_cast<uint64_t>(behind.data())};
  const auto copy = put(fill(kData, 5), AMDGPU_HW_IP_DMA, kCode);
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, copy), all}, number, 0, second), 0);
  let_go();
  ASSERT_EQ(wait(number, status, kForEver, AMDGPU_HW_IP_DMA, second), 0);
  EXPECT_EQ(memory[kData], 5u);
  ASSERT_EQ(wait(first, status, 0), 0);
  EXPECT_EQ(status, 0u) << "the later of the numbers is what was waited for";
}

TEST_F(RenderNodeCommandsLives, RingsThatWaitedForEachOtherGoWithTheirContexts) {
  const uint32_t second = make_context();
  const auto buffer = put(held());
  uint64_t number = 0, last = 0, status = 1;
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number), 0);
  const drm_amdgpu_cs_chunk_dep behind_first = {AMDGPU_HW_IP_COMPUTE, 0, 0, context, number};
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind_first)},
                   number, 0, second),
            0);
  const drm_amdgpu_cs_chunk_dep behind_second = {AMDGPU_HW_IP_COMPUTE, 0, 0, second, number};
  ASSERT_EQ(
      submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_DEPENDENCIES, behind_second)}, last),
      0);
  EXPECT_EQ(rings(), 2);
  EXPECT_EQ(free_context(second), 0);
  make_context();
  EXPECT_EQ(rings(), 2) << "their commands have not ended";
  let_go();
  ASSERT_EQ(wait(last, status), 0);
  EXPECT_EQ(status, 0u);
  EXPECT_EQ(free_context(context), 0);
  make_context();
  EXPECT_EQ(rings(), 0);
}

TEST_F(RenderNodeCommandsLives, WhatWasTakenRunsAlsoIfAnotherThreadFreesTheContext) {
  constexpr unsigned kTimes = 100;
  const auto buffer = put(nop);
  unsigned taken = 0;
  for (unsigned i = 0; i < kTimes; ++i) {
    const uint32_t mine = make_context();
    const drm_amdgpu_cs_chunk_fence fence = {object, 4 * kData};
    memory[kData] = 0;
    std::atomic<int> ready = 0;
    std::thread other([&] {
      for (++ready; ready != 2;) {
      }
      EXPECT_EQ(free_context(mine), 0);
      free_context(make_context());  // rings that have ended go
    });
    for (++ready; ready != 2;) {
    }
    uint64_t number = 0;
    const int error =
        submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_FENCE, fence)}, number, 0, mine);
    other.join();
    if (error != 0) {
      EXPECT_EQ(error, EINVAL);
      continue;
    }
    ++taken;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (memory[kData] == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(memory[kData], 1u) << i;
  }
  RecordProperty("taken", static_cast<int>(taken));
  make_context();
  EXPECT_EQ(rings(), 0);
}

TEST_F(RenderNodeCommandsLives, ThreadsSubmitToOneRing) {
  constexpr unsigned kThreads = 4, kEach = 200;
  const auto buffer = put(nop);
  std::atomic<uint64_t> sum = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (unsigned n = 0; n < kEach; ++n) {
        uint64_t number = 0, status = 1;
        EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number), 0);
        EXPECT_EQ(wait(number, status), 0);
        EXPECT_EQ(status, 0u);
        sum += number;
      }
    });
  for (std::thread& thread : threads) thread.join();
  constexpr uint64_t kAll = kThreads * kEach;
  EXPECT_EQ(sum, kAll * (kAll + 1) / 2) << "each has a number of its own";
}

TEST_F(RenderNodeCommandsLives, DevicesHaveContextsOfTheirOwn) {
  drm_amdgpu_ctx args = {};
  args.in.op = AMDGPU_CTX_OP_FREE_CTX;
  args.in.ctx_id = context;
  EXPECT_EQ(driver.render_ioctl(1, DRM_IOCTL_AMDGPU_CTX, &args), EINVAL);
  args.in.op = AMDGPU_CTX_OP_ALLOC_CTX;
  ASSERT_EQ(driver.render_ioctl(1, DRM_IOCTL_AMDGPU_CTX, &args), 0);
  const uint32_t elsewhere = args.out.alloc.ctx_id;
  const auto buffer = put(nop);
  uint64_t number = 0;
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number, 0, elsewhere), EINVAL);
  // The object is mapped for the first device alone.
  const drm_amdgpu_cs_chunk wrong = chunk(AMDGPU_CHUNK_ID_IB, buffer);
  const auto places = reinterpret_cast<uint64_t>(&wrong);
  drm_amdgpu_cs commands = {};
  commands.in.ctx_id = elsewhere;
  commands.in.num_chunks = 1;
  commands.in.chunks = reinterpret_cast<uint64_t>(&places);
  testing::internal::CaptureStderr();
  ASSERT_EQ(driver.render_ioctl(1, DRM_IOCTL_AMDGPU_CS, &commands), 0);
  drm_amdgpu_wait_cs waiting = {};
  waiting.in = {1, kForEver, AMDGPU_HW_IP_COMPUTE, 0, 0, elsewhere};
  EXPECT_EQ(driver.render_ioctl(1, DRM_IOCTL_AMDGPU_WAIT_CS, &waiting), ECANCELED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("ib_base: "), std::string::npos);
  EXPECT_EQ(submit(buffer), 0) << "the other device goes on";
  uint64_t status = 1;
  EXPECT_EQ(wait(kLast, status), 0);
}

TEST_F(RenderNodeCommandsLives, AddressesThatAreNobodysEndTheirContextAlone) {
  testing::internal::CaptureStderr();
  for (const uint32_t engine : {AMDGPU_HW_IP_COMPUTE, AMDGPU_HW_IP_DMA})
    for (const uint64_t to : {uint64_t{0}, uint64_t{4}, uint64_t{1} << 47, uint64_t{1} << 48 | address,
                              ~uint64_t{0} << 47, ~uint64_t{3}, address + kPage - 4}) {
      const uint32_t mine = make_context();
      auto buffer = put(Words(4), engine);
      buffer.va_start = to;
      uint64_t number = 0, status = 1;
      ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number, 0, mine), 0);
      EXPECT_EQ(wait(number, status, kForEver, engine, mine), ECANCELED) << std::hex << to;
      EXPECT_EQ(free_context(mine), 0);
    }
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(told, '\n'), 14) << told;
  const auto buffer = put(nop);
  uint64_t status = 1;
  ASSERT_EQ(submit(buffer), 0);
  EXPECT_EQ(wait(kLast, status), 0);
}

TEST_F(RenderNodeCommandsLives, WhoWaitsAsLongAsCanBeSaidIsWoken) {
  const auto buffer = put(held());
  ASSERT_EQ(submit(buffer), 0);
  uint64_t status = 0;
  ASSERT_EQ(wait(kLast, status, 1), 0);
  EXPECT_EQ(status, 1u) << "that time is over";
  for (const uint64_t timeout : {uint64_t{INT64_MAX}, uint64_t{1} << 63}) {
    std::thread waits([&] {
      uint64_t is_busy = 1;
      EXPECT_EQ(wait(kLast, is_busy, timeout), 0);
      EXPECT_EQ(is_busy, 0u) << timeout;
    });
    if (timeout == INT64_MAX) let_go();
    waits.join();
  }
}

TEST_F(RenderNodeCommandsLives, LimitsOfListsAndFences) {
  const auto buffer = put(nop);
  const drm_amdgpu_bo_list_entry entry = {object, 0};
  const drm_amdgpu_bo_list_in list = {0, 0, 1, sizeof entry, reinterpret_cast<uint64_t>(&entry)};
  uint64_t number = 0;
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_BO_HANDLES, list)}, number), 0);
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_BO_HANDLES, list),
                    chunk(AMDGPU_CHUNK_ID_BO_HANDLES, list)},
                   number),
            EINVAL)
      << "one list is all";
  EXPECT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, buffer), chunk(AMDGPU_CHUNK_ID_BO_HANDLES, list)}, number,
                   make_list({object})),
            EINVAL);
  drm_amdgpu_bo_list args = {};
  args.in = {AMDGPU_BO_LIST_OP_CREATE, 0, 1 << 20, 4096, reinterpret_cast<uint64_t>(&entry)};
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_BO_LIST, args), EINVAL) << "no entry is that long";
  drm_amdgpu_wait_fences none = {};
  none.in.timeout_ns = kForEver;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, none), EINVAL) << "the first of none";
  none = {};
  none.in.wait_all = 1;
  none.in.timeout_ns = kForEver;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_WAIT_FENCES, none), 0);
  EXPECT_EQ(none.out.status, 1u) << "all of none";
}

}  // namespace
}  // namespace lockstep::host
