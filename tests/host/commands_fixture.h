// Programs that give the render node commands (DRM_IOCTL_AMDGPU_CS): an object that is mapped, and a context.
#pragma once

#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>

#include <atomic>
#include <vector>

#include "command/pm4.h"
#include "command/sdma.h"
#include "tests/host/driver_fixture.h"

namespace lockstep::host {

namespace pm4 = command::pm4;
namespace sdma = command::sdma;
using Words = std::vector<uint32_t>;

inline constexpr uint64_t kForEver = UINT64_MAX, kLast = UINT64_MAX;
inline constexpr size_t kCommands = 256, kCode = 512, kArguments = 640, kData = 768;  // dwords of the object

inline void add(Words& words, uint32_t opcode, std::initializer_list<uint32_t> payload) {
  words.push_back(pm4::header(opcode, static_cast<uint32_t>(payload.size())));
  words.insert(words.end(), payload);
}
inline uint32_t low(uint64_t value) {
  return static_cast<uint32_t>(value);
}
inline uint32_t high(uint64_t value) {
  return static_cast<uint32_t>(value >> 32);
}

struct RenderNodeCommands : DriverTest {
  uint32_t object = 0, other = 0, context = 0;
  uint64_t address = 0;
  volatile uint32_t* memory = nullptr;

  void SetUp() override {
    object = create();
    other = create();
    address = reserve(kPage);
    drm_amdgpu_gem_va mapping = {};
    mapping.handle = object;
    mapping.operation = AMDGPU_VA_OP_MAP;
    mapping.flags = AMDGPU_VM_PAGE_READABLE | AMDGPU_VM_PAGE_WRITEABLE | AMDGPU_VM_PAGE_EXECUTABLE;
    mapping.va_address = address;
    mapping.map_size = kPage;
    ASSERT_EQ(node(DRM_IOCTL_AMDGPU_GEM_VA, mapping), 0);
    memory = reinterpret_cast<uint32_t*>(address);
    context = make_context();
  }
  template <class Args>
  int node(unsigned long request, Args& args) {
    return driver.render_ioctl(0, request, &args);
  }
  uint32_t create() {
    drm_amdgpu_gem_create args = {};
    args.in.bo_size = args.in.alignment = kPage;
    args.in.domains = AMDGPU_GEM_DOMAIN_GTT;
    EXPECT_EQ(node(DRM_IOCTL_AMDGPU_GEM_CREATE, args), 0);
    return args.out.handle;
  }
  int on_context(uint32_t operation, drm_amdgpu_ctx& args, uint32_t number) {
    args = {};
    args.in.op = operation;
    args.in.ctx_id = number;
    return node(DRM_IOCTL_AMDGPU_CTX, args);
  }
  uint32_t make_context() {
    drm_amdgpu_ctx args;
    EXPECT_EQ(on_context(AMDGPU_CTX_OP_ALLOC_CTX, args, 0), 0);
    return args.out.alloc.ctx_id;
  }
  uint32_t make_list(std::vector<uint32_t> handles, int expected = 0) {
    std::vector<drm_amdgpu_bo_list_entry> entries;
    for (const uint32_t handle : handles) entries.push_back({handle, 0});
    drm_amdgpu_bo_list args = {};
    args.in.operation = AMDGPU_BO_LIST_OP_CREATE;
    args.in.bo_number = static_cast<uint32_t>(entries.size());
    args.in.bo_info_size = sizeof entries[0];
    args.in.bo_info_ptr = reinterpret_cast<uint64_t>(entries.data());
    EXPECT_EQ(node(DRM_IOCTL_AMDGPU_BO_LIST, args), expected);
    return args.out.list_handle;
  }
  // Puts words into the object, as an indirect buffer of an engine.
  drm_amdgpu_cs_chunk_ib put(const Words& words, uint32_t engine = AMDGPU_HW_IP_COMPUTE,
                             size_t at = kCommands) {
    for (size_t i = 0; i < words.size(); ++i) memory[at + i] = words[i];
    drm_amdgpu_cs_chunk_ib buffer = {};
    buffer.va_start = address + 4 * at;
    buffer.ib_bytes = static_cast<uint32_t>(4 * words.size());
    buffer.ip_type = engine;
    return buffer;
  }
  template <class T>
  static drm_amdgpu_cs_chunk chunk(uint32_t kind, const T& data) {
    return {kind, sizeof(T) / 4, reinterpret_cast<uint64_t>(&data)};
  }
  int submit(std::vector<drm_amdgpu_cs_chunk> chunks, uint64_t& number, uint32_t list = 0,
             uint32_t from = 0) {
    std::vector<uint64_t> places;
    for (const auto& each : chunks) places.push_back(reinterpret_cast<uint64_t>(&each));
    drm_amdgpu_cs args = {};
    args.in.ctx_id = from ? from : context;
    args.in.bo_list_handle = list;
    args.in.num_chunks = static_cast<uint32_t>(places.size());
    args.in.chunks = reinterpret_cast<uint64_t>(places.data());
    const int error = node(DRM_IOCTL_AMDGPU_CS, args);
    number = args.out.handle;
    return error;
  }
  int submit(const drm_amdgpu_cs_chunk_ib& buffer) {
    uint64_t number;
    return submit({chunk(AMDGPU_CHUNK_ID_IB, buffer)}, number);
  }
  int wait(uint64_t number, uint64_t& status, uint64_t timeout = kForEver,
           uint32_t engine = AMDGPU_HW_IP_COMPUTE, uint32_t of = 0) {
    drm_amdgpu_wait_cs args = {};
    args.in.handle = number;
    args.in.timeout = timeout;
    args.in.ip_type = engine;
    args.in.ctx_id = of ? of : context;
    const int error = node(DRM_IOCTL_AMDGPU_WAIT_CS, args);
    status = args.out.status;
    return error;
  }
  bool is_busy(uint32_t handle) {
    drm_amdgpu_gem_wait_idle args = {};
    args.in.handle = handle;
    EXPECT_EQ(node(DRM_IOCTL_AMDGPU_GEM_WAIT_IDLE, args), 0);
    return args.out.status != 0;
  }
  // Commands that go on when the object's first dword is 1.
  Words held(Words behind = {}) const {
    Words words;
    add(words, pm4::kWaitRegMem, {3 | 1 << 4, low(address), high(address), 1, 0xffffffff, 4});
    words.insert(words.end(), behind.begin(), behind.end());
    return words;
  }
  void let_go() const { std::atomic_ref(*const_cast<uint32_t*>(memory)) = 1; }
  Words fill(size_t at, uint32_t value, uint32_t dwords = 1) const {
    const uint64_t to = address + 4 * at;
    return {sdma::kConstantFill | 2u << 30, low(to), high(to), value, 4 * dwords - 1};
  }
};

}  // namespace lockstep::host
