// Synchronisation objects of the render node (DRM_IOCTL_SYNCOBJ_*), by themselves and in commands.
#include <fcntl.h>
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <thread>

#include "tests/host/commands_fixture.h"

namespace lockstep::host {
namespace {

constexpr uint32_t kAll = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL,
                   kForSubmit = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT,
                   kAvailable = DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE;

int descriptors() {
  int count = 0;
  for (int number = 0; number < 4096; ++number) count += fcntl(number, F_GETFD) >= 0;
  return count;
}

// An export needs a third one for a moment.
bool leave_two_numbers() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  int number = 0;
  for (int unused = 0; unused < 2; ++number) unused += fcntl(number, F_GETFD) < 0;
  limit.rlim_cur = static_cast<rlim_t>(number);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// From here on nobody of this process learns what a descriptor is.
bool forbid_fstat() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fstat, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

struct SyncObjectsTest : RenderNodeCommands {
  uint32_t make(uint32_t flags = 0) {
    drm_syncobj_create args = {0, flags};
    EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_CREATE, args), 0);
    return args.handle;
  }
  int destroy(uint32_t handle) {
    drm_syncobj_destroy args = {handle, 0};
    return node(DRM_IOCTL_SYNCOBJ_DESTROY, args);
  }
  int wait_for(std::vector<uint32_t> handles, uint32_t flags = 0, int64_t deadline = 0) {
    drm_syncobj_wait args = {};
    args.handles = reinterpret_cast<uint64_t>(handles.data());
    args.count_handles = static_cast<uint32_t>(handles.size());
    args.flags = flags;
    args.timeout_nsec = deadline;
    const int error = node(DRM_IOCTL_SYNCOBJ_WAIT, args);
    first = args.first_signaled;
    return error;
  }
  int wait_for_point(uint32_t handle, uint64_t point, uint32_t flags = 0, int64_t deadline = 0) {
    drm_syncobj_timeline_wait args = {};
    args.handles = reinterpret_cast<uint64_t>(&handle);
    args.points = reinterpret_cast<uint64_t>(&point);
    args.count_handles = 1;
    args.flags = flags;
    args.timeout_nsec = deadline;
    return node(DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT, args);
  }
  int on(unsigned long request, uint32_t handle) {
    drm_syncobj_array args = {reinterpret_cast<uint64_t>(&handle), 1, 0};
    return node(request, args);
  }
  int signal_point(uint32_t handle, uint64_t point) {
    drm_syncobj_timeline_array args = {reinterpret_cast<uint64_t>(&handle),
                                       reinterpret_cast<uint64_t>(&point), 1, 0};
    return node(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, args);
  }
  uint64_t point_of(uint32_t handle, uint32_t flags = 0) {
    uint64_t point = 99;
    drm_syncobj_timeline_array args = {reinterpret_cast<uint64_t>(&handle),
                                       reinterpret_cast<uint64_t>(&point), 1, flags};
    EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_QUERY, args), 0);
    return point;
  }
  int transfer(uint32_t to, uint64_t to_point, uint32_t from, uint64_t from_point) {
    drm_syncobj_transfer args = {from, to, from_point, to_point, 0, 0};
    return node(DRM_IOCTL_SYNCOBJ_TRANSFER, args);
  }
  // Commands that are held until let_go(), with other chunks.
  uint64_t hold(std::vector<drm_amdgpu_cs_chunk> chunks) {
    const auto buffer = put(held());
    chunks.insert(chunks.begin(), chunk(AMDGPU_CHUNK_ID_IB, buffer));
    uint64_t number = 0;
    EXPECT_EQ(submit(chunks, number), 0);
    return number;
  }
  // A copy that stores 7, with other chunks.
  int copy(std::vector<drm_amdgpu_cs_chunk> chunks) {
    const auto buffer = put(fill(kData, 7), AMDGPU_HW_IP_DMA, kCode);
    chunks.insert(chunks.begin(), chunk(AMDGPU_CHUNK_ID_IB, buffer));
    uint64_t number = 0;
    return submit(chunks, number);
  }

  uint32_t first = 0;
};

TEST_F(SyncObjectsTest, AnObjectComesWithItsCommands) {
  const drm_amdgpu_cs_chunk_sem object = {make()}, copied = {make()};
  EXPECT_EQ(wait_for({object.handle}), EINVAL) << "nobody has said what it stands for";
  hold({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, object)});
  EXPECT_EQ(wait_for({object.handle}), ETIME);
  ASSERT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_IN, object), chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, copied)}), 0);
  EXPECT_EQ(wait_for({copied.handle}), ETIME);
  EXPECT_EQ(memory[kData], 0u);
  let_go();
  EXPECT_EQ(wait_for({object.handle, copied.handle}, kAll, INT64_MAX), 0);
  EXPECT_EQ(memory[kData], 7u);
  EXPECT_EQ(destroy(object.handle), 0);
  EXPECT_EQ(destroy(object.handle), EINVAL);
}

TEST_F(SyncObjectsTest, OneIsSignaledAndResetByTheProgram) {
  const uint32_t signaled = make(DRM_SYNCOBJ_CREATE_SIGNALED), object = make();
  EXPECT_EQ(wait_for({signaled}), 0);
  EXPECT_EQ(wait_for({object, signaled}, kForSubmit), 0);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(wait_for({object, signaled}, kForSubmit | kAll), ETIME);
  EXPECT_EQ(on(DRM_IOCTL_SYNCOBJ_SIGNAL, object), 0);
  EXPECT_EQ(wait_for({object, signaled}, kAll), 0);
  EXPECT_EQ(on(DRM_IOCTL_SYNCOBJ_RESET, signaled), 0);
  EXPECT_EQ(wait_for({signaled}), EINVAL);
  EXPECT_EQ(wait_for({object, signaled}), EINVAL);
}

TEST_F(SyncObjectsTest, WhoWaitsIsWokenByCommandsThatAreYetToCome) {
  const drm_amdgpu_cs_chunk_sem object = {make()};
  std::atomic<int> error = -1;
  std::thread waiter([&] { error = wait_for({object.handle}, kForSubmit, INT64_MAX); });
  std::thread available([&] { EXPECT_EQ(wait_for_point(object.handle, 0, kAvailable, INT64_MAX), 0); });
  hold({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, object)});
  available.join();
  EXPECT_EQ(error, -1) << "they have not ended";
  let_go();
  waiter.join();
  EXPECT_EQ(error, 0);
}

// Nothing else is told meanwhile.
TEST_F(SyncObjectsTest, WhoWaitsIsWokenByTheProgram) {
  for (const bool by_point : {false, true}) {
    const uint32_t object = make();
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t deadline = (now.tv_sec + 20) * 1'000'000'000L;
    int error = -1;
    std::thread waiter([&] { error = wait_for_point(object, by_point, kForSubmit, deadline); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(by_point ? signal_point(object, 1) : on(DRM_IOCTL_SYNCOBJ_SIGNAL, object), 0);
    waiter.join();
    EXPECT_EQ(error, 0);
  }
}

TEST_F(SyncObjectsTest, APointOfATimelineComesBehindThoseBefore) {
  const uint32_t object = make();
  const drm_amdgpu_cs_chunk_syncobj fifth = {object, 0, 5}, third = {object, 0, 3};
  EXPECT_EQ(wait_for_point(object, 1), EINVAL);
  EXPECT_EQ(wait_for_point(object, 1, kForSubmit), ETIME);
  hold({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, fifth)});
  EXPECT_EQ(signal_point(object, 8), 0);
  EXPECT_EQ(point_of(object), 0u);
  EXPECT_EQ(point_of(object, DRM_SYNCOBJ_QUERY_FLAGS_LAST_SUBMITTED), 8u);
  EXPECT_EQ(wait_for_point(object, 3), ETIME);
  EXPECT_EQ(wait_for_point(object, 8), ETIME) << "the fifth has not come";
  EXPECT_EQ(wait_for_point(object, 8, kAvailable), 0);
  EXPECT_EQ(wait_for_point(object, 9), EINVAL);
  ASSERT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_WAIT, third)}), 0);
  EXPECT_EQ(memory[kData], 0u);
  let_go();
  EXPECT_EQ(wait_for_point(object, 8, 0, INT64_MAX), 0);
  EXPECT_EQ(point_of(object), 8u);
  EXPECT_EQ(wait_for({object}), 0) << "all of it";
  // One that comes too late is as late as the last one.
  EXPECT_EQ(signal_point(object, 2), 0);
  EXPECT_EQ(point_of(object), 8u);
  while (memory[kData] != 7) std::this_thread::yield();
}

TEST_F(SyncObjectsTest, PointsGoFromOneToAnother) {
  const uint32_t timeline = make(), binary = make(), other = make();
  const drm_amdgpu_cs_chunk_syncobj fifth = {timeline, 0, 5};
  EXPECT_EQ(transfer(binary, 0, timeline, 5), EINVAL);
  hold({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_TIMELINE_SIGNAL, fifth)});
  ASSERT_EQ(signal_point(timeline, 9), 0);
  ASSERT_EQ(transfer(binary, 0, timeline, 9), 0);
  ASSERT_EQ(transfer(other, 2, binary, 0), 0);
  EXPECT_EQ(on(DRM_IOCTL_SYNCOBJ_RESET, timeline), 0);
  EXPECT_EQ(wait_for({binary}), ETIME) << "the ninth is behind the fifth";
  EXPECT_EQ(wait_for_point(other, 2), ETIME);
  let_go();
  EXPECT_EQ(wait_for({binary}, 0, INT64_MAX), 0);
  EXPECT_EQ(wait_for_point(other, 2), 0);
  EXPECT_EQ(transfer(other, 2, 999, 0), ENOENT);
  EXPECT_EQ(transfer(999, 2, other, 0), ENOENT);
}

TEST_F(SyncObjectsTest, CommandsEndsHaveNamesAndNamesDescriptors) {
  drm_amdgpu_fence_to_handle name = {};
  name.in.fence = {context, AMDGPU_HW_IP_COMPUTE, 0, 0, hold({})};
  const auto in = name.in;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, name), 0);
  const uint32_t object = name.out.handle;
  name.in = in;
  name.in.what = AMDGPU_FENCE_TO_HANDLE_GET_SYNCOBJ_FD;
  ASSERT_EQ(node(DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, name), 0);
  drm_syncobj_handle from_commands = {0, 0, static_cast<int>(name.out.handle), 0},
                     exported = {object, 0, -1, 0};
  ASSERT_EQ(node(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, from_commands), 0);
  ASSERT_EQ(node(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, exported), 0);
  EXPECT_EQ(destroy(object), 0);
  // A copy of the descriptor is as good.
  const int copy = dup(exported.fd);
  close(exported.fd);
  drm_syncobj_handle imported = {0, 0, copy, 0};
  ASSERT_EQ(node(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, imported), 0);
  for (const uint32_t handle : {from_commands.handle, imported.handle}) EXPECT_EQ(wait_for({handle}), ETIME);
  let_go();
  for (const uint32_t handle : {from_commands.handle, imported.handle})
    EXPECT_EQ(wait_for({handle}, 0, INT64_MAX), 0);
  // Imported, both are the same object.
  drm_syncobj_handle again = {0, 0, copy, 0};
  ASSERT_EQ(node(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, again), 0);
  EXPECT_EQ(on(DRM_IOCTL_SYNCOBJ_RESET, again.handle), 0);
  EXPECT_EQ(wait_for({imported.handle}), EINVAL);
  close(copy);
  close(from_commands.fd);
  testing::internal::CaptureStderr();
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  drm_syncobj_handle none = {0, 0, pipes[0], 0};
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE, none), EINVAL);
  drm_syncobj_handle file = {imported.handle, DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, -1, 0};
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, file), EINVAL);
  close(pipes[0]);
  close(pipes[1]);
  name.in = in;
  name.in.what = AMDGPU_FENCE_TO_HANDLE_GET_SYNC_FILE_FD;
  EXPECT_EQ(node(DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE, name), EINVAL);
  const std::string told = testing::internal::GetCapturedStderr();
  for (const char* request : {"DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", "DRM_IOCTL_AMDGPU_FENCE_TO_HANDLE"})
    EXPECT_NE(told.find(request), std::string::npos) << told;
}

// Each of them would have another descriptor.
TEST_F(SyncObjectsTest, WhatIsClosedIsForgotten) {
  const uint32_t object = make();
  const auto export_and_close = [&] {
    drm_syncobj_handle exported = {object, 0, -1, 0};
    ASSERT_EQ(node(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, exported), 0);
    close(exported.fd);
  };
  export_and_close();
  const int before = descriptors();
  for (int i = 0; i < 20; ++i) export_and_close();
  EXPECT_EQ(descriptors(), before);
}

TEST_F(SyncObjectsTest, ExportsThatFailLeaveNoDescriptor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const uint32_t object = make();
  const auto fails = [&](bool is_prepared, int with) {
    const int before = descriptors();
    drm_syncobj_handle exported = {object, 0, -1, 0};
    if (!is_prepared || node(DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, exported) != with) _exit(2);
    _exit(descriptors() == before ? 0 : 1);
  };
  EXPECT_EXIT(fails(leave_two_numbers(), EMFILE), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(fails(forbid_fstat(), ENOMEM), testing::ExitedWithCode(0), "");
}

TEST_F(SyncObjectsTest, WhatIsWrongIsRefused) {
  const uint32_t object = make();
  drm_syncobj_create create = {0, 2};
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_CREATE, create), EINVAL);
  EXPECT_EQ(wait_for({}), EINVAL);
  EXPECT_EQ(wait_for({999}), ENOENT);
  EXPECT_EQ(wait_for({object}, kAvailable), EINVAL) << "of timelines";
  EXPECT_EQ(wait_for_point(object, 0, 8), EINVAL);
  drm_syncobj_array nowhere = {8, 1, 0};
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_SIGNAL, nowhere), EFAULT);
  drm_syncobj_timeline_array points = {reinterpret_cast<uint64_t>(&object), 8, 1, 0};
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, points), EFAULT);
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_QUERY, points), EFAULT);
  points.count_handles = UINT32_MAX;
  EXPECT_EQ(node(DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL, points), EINVAL);
  const drm_amdgpu_cs_chunk_sem known = {object}, unknown = {999};
  EXPECT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_IN, unknown)}), ENOENT);
  EXPECT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_IN, known)}), EINVAL) << "it stands for nothing";
  EXPECT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, unknown)}), EINVAL);
  EXPECT_EQ(copy({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, known), chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, known)}),
            EINVAL);
  EXPECT_EQ(wait_for({object}), EINVAL) << "it stands for nothing still";
}

// A context that is gone, and one whose commands fail: what waits for them goes on.
TEST_F(SyncObjectsTest, CommandsThatFailOrLoseTheirContextHaveAnEnd) {
  const drm_amdgpu_cs_chunk_sem object = {make()};
  hold({chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, object)});
  drm_amdgpu_ctx args;
  EXPECT_EQ(on_context(AMDGPU_CTX_OP_FREE_CTX, args, context), 0);
  EXPECT_EQ(wait_for({object.handle}), ETIME);
  let_go();
  EXPECT_EQ(wait_for({object.handle}, 0, INT64_MAX), 0);
  context = make_context();
  const auto bad = put({0x12345678});
  uint64_t number = 0;
  testing::internal::CaptureStderr();
  ASSERT_EQ(submit({chunk(AMDGPU_CHUNK_ID_IB, bad), chunk(AMDGPU_CHUNK_ID_SYNCOBJ_OUT, object)}, number), 0);
  EXPECT_EQ(wait_for({object.handle}, 0, INT64_MAX), 0);
  EXPECT_NE(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace lockstep::host
