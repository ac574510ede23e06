#include "tests/engine/precise/trap_anything.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "machine/reuse.h"
#include "machine/scheduler.h"
#include "tests/engine/interpreter/execute_anything.h"
#include "tests/engine/interpreter/random_instruction.h"

namespace lockstep::precise {

namespace {

using interpreter::Random;
using Words = std::vector<uint32_t>;

constexpr size_t kPage = 4096;

// A page of the guest's between two that nobody may touch.
class Pages {
 public:
  Pages()
      : begin_(static_cast<std::byte*>(
            mmap(nullptr, 3 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    mprotect(begin_ + kPage, kPage, PROT_READ | PROT_WRITE);
  }
  ~Pages() { munmap(begin_, 3 * kPage); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint64_t guest() const { return reinterpret_cast<uint64_t>(begin_) + kPage; }
  uint64_t forbidden() const { return reinterpret_cast<uint64_t>(begin_) + 2 * kPage; }

 private:
  std::byte* begin_;
};

enum Sgpr : uint32_t { kGuest = 0, kForbidden = 2, kMiddle = 4, kPrivate = 12 };

uint32_t v_mov_b32(uint32_t vgpr, uint32_t sgpr) {
  return 0x7e000200 | vgpr << 17 | sgpr;
}
constexpr uint32_t kTrap = 0xbf900000;  // s_trap, with its number below
constexpr uint32_t kSetFlatScratchLow = 0xb900f814, kSetFlatScratchHigh = 0xb900f815;  // from SGPR << 16
constexpr uint32_t kEnd = 0xbfb00000;                                                  // s_endpgm
// v[2:3]: forbidden; v[4:5]: the guest's, a lane's own; v[6:7]: a lane's scratch.
const Words kSetUp{v_mov_b32(2, kForbidden),
                   v_mov_b32(3, kForbidden + 1),
                   0x30080083,  // v_lshlrev_b32 v4, 3, v0
                   0x4a080800,  // v_add_nc_u32 v4, s0, v4
                   v_mov_b32(5, kGuest + 1),
                   v_mov_b32(6, kPrivate),
                   v_mov_b32(7, kPrivate + 1)};
const Words kReturn{0x806c846c,   // s_add_u32 ttmp0, ttmp0, 4
                    0x826d806d,   // s_addc_u32 ttmp1, ttmp1, 0
                    0xbe804a6c};  // s_rfe_b64 ttmp[0:1]

Words instructions(Random& random, unsigned wave_size, unsigned count, bool in_handler) {
  Words words;
  for (unsigned i = 0; i < count; ++i) {
    const uint32_t kind = random() % 8;
    if (kind == 0 && in_handler) {
      const auto sgpr = static_cast<uint32_t>(random() % 8 * 2);
      words.push_back(kSetFlatScratchLow | sgpr << 16);
      words.push_back(kSetFlatScratchHigh | (sgpr + 1) << 16);
    } else if (kind == 0) {
      words.push_back(kTrap | static_cast<uint32_t>(random() % 256));
    } else {
      // Accesses to scratch come as often as everything else.
      const auto rows = isa::rows();
      const isa::Row* row = &rows[random() % rows.size()];
      for (unsigned tries = 0; kind < 4 && tries < 400; ++tries) {
        if (row->encoding == isa::Encoding::scratch || row->encoding == isa::Encoding::flat) break;
        row = &rows[random() % rows.size()];
      }
      if (row->encoding == isa::Encoding::mimg || row->flags & isa::kEndsWave) continue;
      if (const auto made = interpreter::random_instruction(*row, wave_size, random, random() % 2 == 0))
        words.insert(words.end(), made->words.begin(), made->words.end());
    }
  }
  return words;
}

struct Code {
  unsigned wave_size = 32;
  uint32_t choices = 0;
  Words program = kSetUp, handler;
};

Code code_of(std::span<const std::byte> bytes) {
  constexpr size_t kSeedBytes = 16;
  Code code;
  if (bytes.size() <= kSeedBytes) {
    Random random(std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    code.wave_size = random() % 2 ? 64 : 32;
    code.choices = static_cast<uint32_t>(random());
    const Words program = instructions(random, code.wave_size, 1 + random() % 24, false);
    code.program.insert(code.program.end(), program.begin(), program.end());
    code.handler = instructions(random, code.wave_size, 1 + random() % 12, true);
  } else {
    std::memcpy(&code.choices, bytes.data(), 4);
    code.wave_size = code.choices >> 31 ? 64 : 32;
    Words words((bytes.size() - 4) / 4);
    std::memcpy(words.data(), bytes.data() + 4, words.size() * 4);
    const auto middle = words.begin() + static_cast<std::ptrdiff_t>(words.size() / 2);
    code.program.insert(code.program.end(), words.begin(), middle);
    code.handler.assign(middle, words.end());
  }
  code.program.push_back(kEnd);
  code.handler.insert(code.handler.end(), kReturn.begin(), kReturn.end());
  return code;
}

void set_pair(Words& words, uint32_t at, uint64_t value) {
  words[at] = static_cast<uint32_t>(value);
  words[at + 1] = static_cast<uint32_t>(value >> 32);
}

}  // namespace

void trap_anything(std::span<const std::byte> bytes) {
  const Code code = code_of(bytes);
  const uint32_t choices = code.choices;
  const Pages memory, neighbours;
  machine::Launch launch;
  launch.wave_size = code.wave_size;
  launch.grid = launch.group = {32, 1, 1};
  launch.rsrc1 = 0xf0u << 12 | 1u << 23;
  launch.lds_bytes = 512;
  launch.scratch_bytes = choices & 1 ? 0 : 64;
  launch.vgpr_count = 64;
  launch.entry = reinterpret_cast<uint64_t>(code.program.data());
  launch.code = {{launch.entry, launch.entry + 4 * code.program.size()}};
  launch.user_data.resize(16);
  set_pair(launch.user_data, kGuest, memory.guest());
  set_pair(launch.user_data, kForbidden, neighbours.forbidden());
  set_pair(launch.user_data, kMiddle, memory.guest() + kPage / 2);
  set_pair(launch.user_data, kPrivate, kPrivateApertureBase + (choices >> 24) % 64);
  // s[8:11]: a buffer resource that ends in the pages behind.
  set_pair(launch.user_data, 8, (memory.guest() + kPage / 2) | uint64_t{4} << 48);
  set_pair(launch.user_data, 10, kPage | uint64_t{0x3002'0fac} << 32);
  launch.memory = std::make_shared<const RangeSet>(
      std::vector<Range>{{memory.guest(), memory.guest() + kPage, kReadWrite, "memory"}});

  machine::RunOptions options;
  TrapSettings& traps = options.precise.traps;
  traps.handler = reinterpret_cast<uint64_t>(code.handler.data());
  traps.code = {traps.handler, traps.handler + 4 * code.handler.size()};
  traps.memory = memory.guest();
  traps.on_start = choices & 2;
  traps.on_end = choices & 4;
  traps.after_instruction = (choices & 0x38) == 0x38;
  if (choices & 0x40) traps.scheduled = {{3, {5, false}}, {9, {0, true}}};
  if (choices & 0x80) traps.watches[0] = {memory.guest() + 64, memory.guest() + 128};
  options.precise.exceptions = choices & 0x100;
  options.precise.results = static_cast<Results>((choices >> 9 & 3) % 3);
  options.precise.caches = choices & 0x800 ? Caches::incoherent : Caches::coherent;
  options.precise.seed = choices;

  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  machine::Reuse reuse;
  Findings findings;
  machine::PreparedEngine prepared = machine::make_engine(launch, options, findings);
  machine::Outcome outcome;
  {
    constexpr int64_t kMostInstructions = 2'000;
    constexpr unsigned kMostSteps = 100;
    machine::Scheduler scheduler(launch, options, *prepared.engine, reuse);
    uint64_t executed = 0;
    for (unsigned steps = 0; executed < kMostInstructions && steps < kMostSteps; ++steps)
      if (scheduler.step(kMostInstructions, executed) == machine::Scheduler::Step::finished) break;
    cancel = true;
    scheduler.report(outcome);
  }
  if (outcome.fault && outcome.fault->fault.message.empty()) {
    std::fprintf(stderr, "trap_anything: a fault without a message\n");
    std::abort();
  }
}

}  // namespace lockstep::precise
