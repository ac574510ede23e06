#include "api/run_asm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/precise/exception_use.h"
#include "machine/launch.h"

namespace lockstep::api {
namespace {

std::mutex ranges_mutex;
std::shared_ptr<const RangeSet> allowed;  // null: all of the process's memory

// Callers may say that code reaches to the end of the mapped memory; no kernel is as long as this.
constexpr uint64_t kMaxCodeBytes = 16 << 20;
// What a caller of nine arguments cannot say.
constexpr uint32_t kScratchBytes = 16384, kLdsBytes = 65536;
// Round to nearest even; denormals kept in f16 and f64, flushed in f32 as HIP and OpenCL compile by default;
// DX10_CLAMP and IEEE_MODE on.
constexpr uint32_t kDefaultRsrc1 = 0xc0u << 12 | 1u << 21 | 1u << 23;

// Reads memory that may not be there: the kernel checks the address, not the processor.
bool readable(const void* address, void* out, size_t bytes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC)) return false;
  bool good = write(ends[1], address, bytes) == static_cast<ssize_t>(bytes) &&
              read(ends[0], out, bytes) == static_cast<ssize_t>(bytes);
  close(ends[0]);
  close(ends[1]);
  return good;
}

// The 13th argument of a full call is the string "rdna3"; in a call of nine arguments its place holds
// whatever the caller's stack has there.
bool is_full_call(const char* arch) {
  char text[6] = {};
  return arch && readable(arch, text, sizeof text) && std::memcmp(text, "rdna3", 6) == 0;
}

int32_t complain(const char* text) {
  std::fprintf(stderr, "run_asm: %s\n", text);
  return 1;
}

void report(const machine::WaveFault& w, uint64_t code) {
  const Fault& f = w.fault;
  std::fprintf(stderr, "run_asm: work-group (%u, %u, %u), wave %u", w.group[0], w.group[1], w.group[2],
               w.wave);
  if (f.lane >= 0) std::fprintf(stderr, ", lane %d", f.lane);
  std::fprintf(stderr, ", PC 0x%llx (code + 0x%llx): %s: %s", static_cast<unsigned long long>(f.pc),
               static_cast<unsigned long long>(f.pc - code), w.instruction.c_str(), f.message.c_str());
  if (f.kind == FaultKind::memory_violation || f.kind == FaultKind::misaligned)
    std::fprintf(stderr, " (address 0x%llx, %u bytes)", static_cast<unsigned long long>(f.address), f.bytes);
  std::fputc('\n', stderr);
}

constexpr uint32_t bits(uint32_t word, unsigned low, unsigned count) {
  return word >> low & ((1u << count) - 1);
}

}  // namespace
}  // namespace lockstep::api

int32_t run_asm(const void* code, uint32_t code_bytes, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t lx,
                uint32_t ly, uint32_t lz, const void* kernargs, uint32_t rsrc2,
                uint32_t scratch_bytes_per_lane, uint32_t rsrc1, const char* arch, const uint32_t* user_data,
                uint32_t n_user_data) {
  using namespace lockstep;
  using namespace lockstep::api;
  try {
    if (!code || reinterpret_cast<uint64_t>(code) % 4)
      return complain("the code is null or not aligned to 4 bytes");
    if (code_bytes < 4) return complain("the code has less than 4 bytes");
    if (!gx || !gy || !gz || !lx || !ly || !lz)
      return complain("a dimension of the grid or the work-group is 0");
    machine::Launch launch;
    launch.entry = reinterpret_cast<uint64_t>(code);
    launch.code = {
        {launch.entry, launch.entry + (std::min<uint64_t>(code_bytes, kMaxCodeBytes) & ~uint64_t{3})}};
    const uint32_t groups[3] = {gx, gy, gz}, local[3] = {lx, ly, lz};
    for (int i = 0; i < 3; ++i) {
      uint64_t items = uint64_t{groups[i]} * local[i];
      if (items > UINT32_MAX) return complain("a dimension of the grid has more than 2^32 - 1 work-items");
      launch.grid[i] = static_cast<uint32_t>(items);
      launch.group[i] = local[i];
    }
    const uint64_t arguments = reinterpret_cast<uint64_t>(kernargs);
    if (is_full_call(arch)) {
      launch.rsrc1 = rsrc1;
      launch.rsrc2 = rsrc2;
      launch.scratch_bytes = scratch_bytes_per_lane;
      launch.lds_bytes = bits(rsrc2, 15, 9) * 512;
      if (user_data && n_user_data) {
        if (n_user_data > 32) return complain("more than 32 words of user data");
        launch.user_data.assign(user_data, user_data + n_user_data);
      } else {
        launch.user_data = {static_cast<uint32_t>(arguments), static_cast<uint32_t>(arguments >> 32)};
      }
    } else {
      // gfx1100 needs 16 SGPRs preloaded at least (LLVM: UserSGPRInit16Bug), so that compilers put the
      // work-group id of the dimensions in use right below s16.
      const uint32_t dimensions = gz > 1 ? 3 : gy > 1 ? 2 : 1;
      launch.user_data.resize(16 - dimensions);
      launch.user_data[0] = static_cast<uint32_t>(arguments);
      launch.user_data[1] = static_cast<uint32_t>(arguments >> 32);
      launch.rsrc1 = kDefaultRsrc1;
      launch.rsrc2 = (16 - dimensions) << 1 | ((1u << dimensions) - 1) << 7 | 2u << 11;
      launch.scratch_bytes = kScratchBytes;
      launch.lds_bytes = kLdsBytes;
    }
    const size_t user_sgprs = bits(launch.rsrc2, 1, 5);
    if (launch.user_data.size() < user_sgprs) launch.user_data.resize(user_sgprs);
    {
      std::lock_guard lock(ranges_mutex);
      launch.memory = allowed;
    }
    launch.uses_exceptions = precise::uses_exceptions_until_end(launch.code[0], launch.wave_size);
    machine::Outcome outcome = machine::run(launch, {});
    if (!outcome.fault) return 0;
    report(*outcome.fault, launch.entry);
    return 1;
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}

void run_asm_set_mem_ranges(const uint64_t* pairs, uint32_t n) {
  using namespace lockstep;
  std::shared_ptr<const RangeSet> set;
  if (pairs && n) {
    std::vector<Range> ranges;
    for (uint32_t i = 0; i < n; ++i) {
      uint64_t begin = pairs[2 * i], bytes = pairs[2 * i + 1];
      if (bytes && begin + bytes > begin) ranges.push_back({begin, begin + bytes, kReadWrite, "GPU memory"});
    }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    // Neighbours and overlaps become one range, so that an access may cross from one to the next.
    std::vector<Range> merged;
    for (Range& r : ranges) {
      if (!merged.empty() && r.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, r.end);
      else
        merged.push_back(std::move(r));
    }
    set = std::make_shared<const RangeSet>(std::move(merged));
  }
  std::lock_guard lock(api::ranges_mutex);
  api::allowed = std::move(set);
}
