#include "tests/engine/interpreter/execute_anything.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "engine/interpreter/interpreter.h"
#include "state/dispatch_state.h"
#include "state/work_group.h"
#include "tests/engine/interpreter/random_instruction.h"

namespace lockstep::interpreter {

namespace {

constexpr size_t kGuardBytes = 4096;
constexpr std::byte kGuard{0xa5};

// Storage of exactly the size that the machine gives (its own slack of 256 bytes included), between guards.
class Guarded {
 public:
  explicit Guarded(size_t bytes)
      : bytes_(bytes), memory_(static_cast<std::byte*>(std::aligned_alloc(4096, total()))) {
    std::memset(memory_.get(), static_cast<int>(kGuard), total());
    std::memset(data(), 0, bytes);
  }
  std::byte* data() { return memory_.get() + kGuardBytes; }
  uint64_t address() { return reinterpret_cast<uint64_t>(data()); }
  bool intact() const {
    auto is_guard = [](std::byte value) { return value == kGuard; };
    return std::all_of(memory_.get(), memory_.get() + kGuardBytes, is_guard) &&
           std::all_of(memory_.get() + kGuardBytes + bytes_, memory_.get() + total(), is_guard);
  }

 private:
  size_t total() const { return 2 * kGuardBytes + (bytes_ + 4095) / 4096 * 4096; }
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "execute_anything: %s\n", what);
  std::abort();
}

constexpr uint32_t kReadOnlyBytes = 4096, kWritableBytes = 4096, kLdsBytes = 2048, kScratchBytes = 128;

}  // namespace

void execute_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < 5) return;
  const auto options = static_cast<unsigned>(bytes[0]);
  const unsigned wave_size = options & 1 ? 64 : 32;
  const unsigned vgpr_count =
      options & 2 ? kMaxVgprs : allocated_vgprs(1 + (options >> 3 & 15) * 8, wave_size, 24);
  std::vector<uint32_t> code((bytes.size() - 1) / 4);
  std::memcpy(code.data(), bytes.data() + 1, code.size() * 4);

  Guarded vgprs(size_t{kMaxVgprs + kEngineVgprs} * wave_size * 4), readable(kReadOnlyBytes),
      writable(kWritableBytes), lds(kLdsBytes), scratch(size_t{kScratchBytes} * wave_size);
  auto ranges =
      std::vector<Range>{{readable.address(), readable.address() + kReadOnlyBytes, kRead, "read-only"},
                         {writable.address(), writable.address() + kWritableBytes, kReadWrite, "writable"}};
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  auto memory = std::make_shared<const RangeSet>(std::move(ranges));

  const auto begin = reinterpret_cast<uint64_t>(code.data());
  Interpreter engine({{begin, begin + 4 * code.size()}}, wave_size, memory, best_host_target(), vgpr_count);
  auto wave = std::make_unique<Wave>();
  DispatchState dispatch{std::make_shared<DeviceState>(), 0, {}};
  WorkGroup group;
  group.dispatch = &dispatch;
  group.wave_count = 1;
  group.lds = lds.data();
  group.lds_bytes = kLdsBytes;
  initialise_wave(*wave, wave_size, vgprs.data());
  reset_wave(*wave, vgpr_count);
  wave->group = &group;
  wave->lds = lds.data();
  wave->lds_bytes = kLdsBytes;
  give_scratch(*wave, scratch.address(), kScratchBytes);
  wave->mode = options & 4 ? 0x3f0 : (options * 0x9e3779b9u) & 0x8003ff;
  Random random(options);
  for (unsigned i = 0; i < 106; ++i) wave->scalar[i] = static_cast<uint32_t>(random());
  // Addresses and a buffer resource of the writable memory, so that memory instructions get somewhere.
  for (unsigned i = 0; i < 32; i += 4) wave->set_scalar64(i, writable.address() + 16 * i);
  wave->set_scalar64(32, writable.address() | uint64_t{4} << 48);
  wave->set_scalar64(34, kWritableBytes / 4 | uint64_t{0x3002'0fac} << 32);
  for (unsigned number = 0; number < vgpr_count; ++number)
    for (unsigned lane = 0; lane < wave_size; ++lane)
      wave->vgpr(number)[lane] = number % 3 == 0 ? 4 * lane : static_cast<uint32_t>(random());
  for (unsigned lane = 0; lane < wave_size; ++lane) {
    const uint64_t address = writable.address() + 8 * lane;
    wave->vgpr(4)[lane] = static_cast<uint32_t>(address);
    wave->vgpr(5)[lane] = static_cast<uint32_t>(address >> 32);
  }
  wave->set_exec(options & 128 ? ~uint64_t{0} : random());

  std::vector<uint32_t> constants(wave->scalar + 128, wave->scalar + 249);
  require(engine.enter(*wave, begin), "no code at the entry");
  constexpr int64_t kBudget = 20'000, kTurn = 500;
  for (int64_t left = kBudget;
       left > 0 && (wave->state == WaveState::ready || wave->state == WaveState::sleeping);) {
    wave->state = WaveState::ready;
    const int64_t executed = engine.run(*wave, kTurn);
    require(executed <= kTurn + static_cast<int64_t>(2 * code.size()) + 200, "a turn beyond its budget");
    left -= std::max<int64_t>(executed, 1);
    if (wave->state == WaveState::sleeping) wave->state = WaveState::ready;
  }
  require(wave->state != WaveState::faulted || !wave->fault.message.empty(), "a fault without a message");
  require(std::equal(constants.begin(), constants.end(), wave->scalar + 128),
          "an inline constant was changed");
  require(wave->scalar[124] == 0, "NULL was changed");
  require(std::all_of(wave->scalar + 108, wave->scalar + 124, [](uint32_t v) { return v == 0; }),
          "a trap temporary was changed");
  require(vgprs.intact() && lds.intact() && scratch.intact(), "a write outside the wave's storage");
  require(readable.intact() && writable.intact(), "a write outside the mapped memory");
  require(std::all_of(readable.data(), readable.data() + kReadOnlyBytes,
                      [](std::byte b) { return b == std::byte{}; }),
          "a write to read-only memory");
}

std::vector<std::byte> valid_program(uint64_t seed, unsigned count) {
  Random random(seed);
  std::vector<std::byte> bytes{static_cast<std::byte>(random())};
  const unsigned wave_size = static_cast<unsigned>(bytes[0]) & 1 ? 64 : 32;
  for (unsigned i = 0; i < count; ++i) {
    const isa::Row& row = isa::rows()[random() % isa::rows().size()];
    if (row.encoding == isa::Encoding::mimg || row.flags & isa::kEndsWave) continue;
    const std::optional<Encoded> encoded = random_instruction(row, wave_size, random, random() % 4 == 0);
    if (!encoded) continue;
    const auto words = std::as_bytes(std::span(encoded->words));
    bytes.insert(bytes.end(), words.begin(), words.end());
  }
  return bytes;
}

}  // namespace lockstep::interpreter
