// Which of the host's instructions move two or four dwords that a wave loads or stores as one: memory that
// lets one instruction of the host through at a time, and holds something else for the next. What tears only
// if a thread rests between two instructions is seen so every time.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {
namespace {

class SteppedMemory {
 public:
  static constexpr size_t kBytes = 1 << 16;

  SteppedMemory() : bytes_(mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (bytes_ == MAP_FAILED) throw std::runtime_error("no memory to step through");
    current = this;
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_access;
    sigaction(SIGSEGV, &action, &access_before_);
    action.sa_sigaction = behind_access;
    sigaction(SIGTRAP, &action, &trap_before_);
  }
  ~SteppedMemory() {
    sigaction(SIGSEGV, &access_before_, nullptr);
    sigaction(SIGTRAP, &trap_before_, nullptr);
    munmap(bytes_, kBytes);
    current = nullptr;
  }
  SteppedMemory(const SteppedMemory&) = delete;
  SteppedMemory& operator=(const SteppedMemory&) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_); }
  unsigned accesses() const { return accesses_; }
  // Aligned elements of which a dword was behind another instruction than the first one.
  unsigned torn_stores() const { return torn_stores_; }
  // Elements of so many dwords are looked at from now on, in memory of zeros.
  void begin(unsigned dwords) {
    element_ = dwords;
    mprotect(bytes_, kBytes, PROT_READ | PROT_WRITE);
    std::memset(bytes_, 0, kBytes);
    mprotect(bytes_, kBytes, PROT_NONE);
  }
  // Each instruction finds another number in all dwords; else they are left to those that store.
  void change_for_each_instruction() { is_changing_ = true; }

 private:
  static constexpr greg_t kTrapFlag = 0x100;
  static inline SteppedMemory* current = nullptr;

  std::span<uint32_t> dwords() const { return {static_cast<uint32_t*>(bytes_), kBytes / 4}; }

  static void on_access(int, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
    if (!current || address - current->address() >= kBytes) {
      signal(SIGSEGV, SIG_DFL);
      return;
    }
    mprotect(current->bytes_, kBytes, PROT_READ | PROT_WRITE);
    ++current->accesses_;
    if (current->is_changing_)
      for (uint32_t& dword : current->dwords()) dword = current->accesses_;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= kTrapFlag;
  }
  static void behind_access(int, siginfo_t*, void* context) {
    const auto dwords = current->dwords();
    for (size_t i = 0; i < dwords.size(); ++i)
      current->torn_stores_ += dwords[i] != dwords[i / current->element_ * current->element_];
    mprotect(current->bytes_, kBytes, PROT_NONE);
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
  }

  void* bytes_;
  struct sigaction access_before_{}, trap_before_{};
  unsigned accesses_ = 0, torn_stores_ = 0, element_ = 2;
  bool is_changing_ = false;
};

struct Lanes {
  const char* name;
  const char* setup;  // makes v5 of the lane's number, and EXEC
};
constexpr Lanes kLanes[] = {
    {"64 bits apart", "v_lshlrev_b32 v5, 3, v0\n"},
    {"128 bits apart", "v_lshlrev_b32 v5, 4, v0\n"},
    {"at one place", "v_mov_b32 v5, 64\n"},
    {"far apart", "v_lshlrev_b32 v5, 8, v0\n"},
    {"scattered", "v_xor_b32 v5, 5, v0\nv_lshlrev_b32 v5, 4, v5\n"},
    {"turned round", "v_sub_nc_u32 v5, 63, v0\nv_lshlrev_b32 v5, 4, v5\n"},
    {"some of them, 64 bits apart",
     "v_lshlrev_b32 v5, 3, v0\ns_mov_b32 exec_lo, 0x0ff7fe30\ns_mov_b32 exec_hi, 0x0f007ff1\n"},
    {"some of them, 128 bits apart",
     "v_lshlrev_b32 v5, 4, v0\ns_mov_b32 exec_lo, 0x0ff7fe30\ns_mov_b32 exec_hi, 0x0f007ff1\n"},
    {"some of them, scattered",
     "v_xor_b32 v5, 5, v0\nv_lshlrev_b32 v5, 4, v5\ns_mov_b32 exec_lo, 0x7007ff30\ns_mov_b32 exec_hi, "
     "0x0f007ff1\n"},
};

// Of one instruction, by which registers it names its address: v5 is the distance from s[2:3], v[10:11] the
// sum, s[12:15] a buffer's descriptor.
struct Form {
  const char *encoding, *address, *behind;
};
constexpr Form kGlobal{"global", "v5", "s[2:3]"}, kFlat{"flat", "v[10:11]", ""},
    kBuffer{"buffer", "v5", "s[12:15], 0 offen"};

std::string access(const Form& form, bool is_load, bool is_wide) {
  const std::string data = is_wide ? "v[1:4]" : "v[1:2]", bits = is_wide ? "128" : "64";
  const std::string behind = *form.behind ? std::string(", ") + form.behind : "";
  const bool data_first = is_load || std::string_view(form.encoding) == "buffer";
  return std::string(form.encoding) + (is_load ? "_load_b" : "_store_b") + bits + " " +
         (data_first ? data + ", " + form.address : form.address + std::string(", ") + data) + behind + "\n";
}

struct Case {
  Lanes lanes;
  Form form;
  bool is_load, is_wide;
  // Of 128 bits that are aligned to 64 the halves are by themselves.
  bool are_four() const { return is_wide && !std::string_view(lanes.name).ends_with("64 bits apart"); }
  unsigned step, wave_size;
  EngineKind engine;

  std::string name() const {
    return std::string(lanes.name) + ", " + form.encoding + (is_wide ? ", 128" : ", 64") + " bits, " +
           std::to_string(step) + " bytes a round, wave" + std::to_string(wave_size) + ", engine " +
           std::to_string(static_cast<int>(engine));
  }
  // Three rounds, each by so many bytes further; v7 is what the lane has seen that does not belong together.
  std::string program() const {
    const std::string carry = wave_size == 64 ? "vcc" : "vcc_lo";
    std::string text =
        std::string("v_mov_b32 v6, v0\nv_mov_b32 v7, 0\ns_mov_b32 s12, s2\ns_mov_b32 s13, s3\n") +
        "s_mov_b32 s14, 0x10000\ns_mov_b32 s15, 0x31027fac\ns_mov_b32 s8, 0\n" + lanes.setup +
        "round:\nv_add_co_u32 v10, " + carry + ", s2, v5\nv_mov_b32 v11, s3\nv_add_co_ci_u32 v11, " + carry +
        ", 0, v11, " + carry + "\ns_add_u32 s8, s8, 1\n";
    if (!is_load)
      for (const char* word : {"v1", "v2", "v3", "v4"}) text += std::string("v_mov_b32 ") + word + ", s8\n";
    text += access(form, is_load, is_wide) + "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
    if (is_load) {
      text += "v_xor_b32 v8, v1, v2\nv_or_b32 v7, v7, v8\n";
      if (is_wide) text += "v_xor_b32 v8, v3, v4\nv_or_b32 v7, v7, v8\n";
      if (are_four()) text += "v_xor_b32 v8, v1, v3\nv_or_b32 v7, v7, v8\n";
    }
    return text + "v_add_nc_u32 v5, " + std::to_string(step) +
           ", v5\ns_cmp_lt_u32 s8, 3\ns_cbranch_scc1 round\nv_lshlrev_b32 v6, 2, v6\n"
           "global_store_b32 v6, v7, s[0:1]\ns_endpgm\n";
  }
};

void try_case(const Case& tried, SteppedMemory& memory) {
  SCOPED_TRACE(tried.name());
  Dispatch d(tried.program(), 1, tried.wave_size, tried.wave_size);
  d.options.engine = tried.engine;
  d.options.threads = 1;
  d.launch.user_data.push_back(static_cast<uint32_t>(memory.address()));
  d.launch.user_data.push_back(static_cast<uint32_t>(memory.address() >> 32));
  d.launch.memory = std::make_shared<const RangeSet>(std::vector<Range>{
      {d.address(), d.address() + 4 * d.buffer.size(), kReadWrite, "buffer"},
      {memory.address(), memory.address() + SteppedMemory::kBytes, kReadWrite, "stepped memory"}});
  memory.begin(tried.are_four() ? 4 : 2);
  const unsigned accesses_before = memory.accesses(), torn_before = memory.torn_stores();
  const Outcome outcome = d.run();
  ASSERT_FALSE(outcome.fault) << outcome.fault->fault.message;
  EXPECT_GT(memory.accesses(), accesses_before);
  EXPECT_EQ(memory.torn_stores(), torn_before);
  for (unsigned lane = 0; lane < tried.wave_size; ++lane) EXPECT_EQ(d.buffer[lane], 0u) << "lane " << lane;
}

void try_all(bool is_load) {
  SteppedMemory memory;
  if (is_load) memory.change_for_each_instruction();
  const EngineKind engine = engine_under_test();
  for (const Lanes& lanes : kLanes)
    for (const bool is_wide : {false, true}) {
      for (const Form& form : {kGlobal, kBuffer})
        try_case({lanes, form, is_load, is_wide, 4096, 32, engine}, memory);
      for (const Form& form : {kGlobal, kFlat})
        try_case({lanes, form, is_load, is_wide, 0, 64, engine}, memory);
    }
}

TEST(PairsStepped, AreLoadedByOneInstruction) {
  try_all(true);
}
TEST(PairsStepped, AreStoredByOneInstruction) {
  try_all(false);
}

}  // namespace
}  // namespace lockstep::machine
