// Text that makes LLVM's assembler crash, loop or take all memory, and text that reads what it should not.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "toolchain/compile.h"
#include "toolchain/confinement.h"
#include "toolchain/inlined_frames.h"
#include "toolchain/process.h"
#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {
namespace {

namespace fs = std::filesystem;

std::string repeated(const std::string& text, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) out += text;
  return out;
}

bool kernel_has_landlock() {
  bool confined = false;
  std::thread([&confined] {
    std::string error;
    confined = confine_files({.read_everything = true, .readable = {}, .writable = {}}, error);
  }).join();
  return confined;
}

// Little time and memory, so that what has no end is stopped soon.
Options small_limits() {
  Options options;
  options.limits = {.seconds = 1, .megabytes = 512};
  return options;
}

void expect_refused(const std::string& text, const std::string& message) {
  SCOPED_TRACE(text.substr(0, 80));
  const Result result = assemble(text, "bad.s", small_limits());
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("bad.s"), std::string::npos) << result.diagnostics;
  EXPECT_NE(result.diagnostics.find(message), std::string::npos) << result.diagnostics;
  EXPECT_LT(result.diagnostics.size(), size_t{4} << 20);
  EXPECT_TRUE(assemble("s_nop 0", "good.s"));
}

TEST(HostileAssembly, CrashesAreMessagesWithTheLine) {
  expect_refused("s_nop 0\n.file 4294967295 \"x\"\n", "error: LLVM's assembler");
  expect_refused(".amdhsa_code_object_version 7\n", "Unsupported AMDHSA Code Object Version 7");
  expect_refused("s_nop 0\n.quad 0x8000000000000000 / -1\n", "bad.s:2: error: LLVM's assembler crashed here");
  expect_refused("\n\n.quad " + repeated("(", 2'000'000) + "1" + repeated(")", 2'000'000) + "\n",
                 "bad.s:3: error: LLVM's assembler crashed here");
  expect_refused("s_nop 0\n.quad " + repeated("-", 4'000'000) + "1\n",
                 "bad.s:2: error: LLVM's assembler crashed here");
}

// They are an error or they are not; the process lives.
TEST(HostileAssembly, DeepNestingIsSurvived) {
  assemble(".quad " + repeated("(", 20'000) + "1" + repeated(")", 20'000) + "\n", "deep.s", small_limits());
  assemble(repeated(".if 1\n", 100'000), "deep.s", small_limits());
  assemble(repeated(".macro a\n", 100'000), "deep.s", small_limits());
  assemble("s_mov_b32 s0, " + repeated("[", 100'000) + "\n", "deep.s", small_limits());
  assemble("x = " + repeated("x+", 100'000) + "1\n", "deep.s", small_limits());
  std::string chain = "a0 = 1\n";
  for (int i = 1; i < 100'000; ++i)
    chain += "a" + std::to_string(i) + " = a" + std::to_string(i - 1) + " + b\n";
  assemble(chain + ".quad a99999\n", "deep.s", small_limits());
  EXPECT_TRUE(assemble("s_nop 0", "good.s"));
}

TEST(HostileAssembly, MemoryIsBounded) {
  expect_refused(".space 0x7fffffffffffffff\n", "error: ");
  expect_refused("s_nop 0\n.rept 1000000000\n.quad 1\n.endr\n", "here: ");
  expect_refused(".fill 0x7fffffff, 8, 1\n", "error: ");
  expect_refused(".p2align 62\n s_nop 0\n", "error: ");
  expect_refused(".org 0x7fffffffffff\ns_nop 0\n", "error: ");
}

TEST(HostileAssembly, MacrosThatCallThemselvesEnd) {
  expect_refused(".macro again\nagain\nagain\n.endm\nagain\n", "error: ");
  expect_refused(".macro double a:vararg\ndouble \\a, \\a\n.endm\ndouble 1\n", "error: ");
  expect_refused(".macro a x\n.rept 10000\n.irp y, 1, 2, 3, 4, 5, 6, 7, 8, 9\n.endr\n.endr\n.endm\n" +
                     repeated("a\n", 100'000),
                 "s of processor time are its limit (LOCKSTEP_COMPILE_SECONDS");
}

TEST(HostileAssembly, MessagesAreBounded) {
  expect_refused(".rept 1000000\n.error \"" + repeated("x", 1000) + "\"\n.endr\n", "error: ");
}

class AssemblyFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lockstep-test-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    root_ = pattern;
    fs::create_directories(root_ / "source/parts");
    fs::create_directories(root_ / "other");
    std::ofstream(root_ / "secret.inc") << "s_mov_b32 s0, 1\n";
    std::ofstream(root_ / "other/other.inc") << "s_mov_b32 s0, 2\n";
    std::ofstream(root_ / "source/parts/near.inc") << "s_mov_b32 s0, 3\n";
    fs::create_symlink(root_ / "secret.inc", root_ / "source/link.inc");
  }
  void TearDown() override { fs::remove_all(root_); }

  Result assemble_source(const std::string& text, const Options& options = small_limits()) {
    std::ofstream(root_ / "source/kernel.s") << text;
    return compile_file(Language::assembly, root_ / "source/kernel.s", options);
  }

  fs::path root_;
};

TEST_F(AssemblyFiles, IncludesLieBelowTheSourceOrANamedFolder) {
  if (!kernel_has_landlock()) GTEST_SKIP() << "this kernel has no Landlock: nothing is included at all";
  for (const char* directive : {".include", ".incbin"}) {
    EXPECT_TRUE(assemble_source(std::string(directive) + " \"parts/near.inc\"\n"));
    for (const std::string& path :
         {std::string("../secret.inc"), std::string("link.inc"), (root_ / "secret.inc").string(),
          (root_ / "other/other.inc").string(), std::string("/dev/zero"), std::string("/proc/self/environ"),
          std::string("/etc/passwd")}) {
      const Result result = assemble_source("\n" + std::string(directive) + " \"" + path + "\"\n");
      EXPECT_FALSE(result) << path;
      EXPECT_NE(result.diagnostics.find("kernel.s:2:"), std::string::npos) << result.diagnostics;
      EXPECT_NE(result.diagnostics.find("ould not find"), std::string::npos) << result.diagnostics;
    }
    Options options = small_limits();
    options.include_directories = {root_ / "other"};
    EXPECT_TRUE(assemble_source(std::string(directive) + " \"other.inc\"\n", options));
    options.include_directories.clear();
    options.extra_flags = {"-I", root_ / "other"};
    EXPECT_TRUE(assemble_source(std::string(directive) + " \"other.inc\"\n", options));
  }
}

TEST_F(AssemblyFiles, TextWithoutAFileIncludesNothing) {
  const Result result = assemble(".incbin \"" + (root_ / "secret.inc").string() + "\"\n", "text");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("Could not find"), std::string::npos) << result.diagnostics;
}

TEST_F(AssemblyFiles, NothingIsLeftBehindAndNothingRemoved) {
  // lld removes a file with the name of its output.
  std::ofstream(root_ / "source/-") << "mine";
  EXPECT_TRUE(assemble_source("s_nop 0\n"));
  EXPECT_TRUE(fs::exists(root_ / "source/-"));
}

TEST(AssemblyFlags, OthersThanIncludeFoldersAreRefused) {
  Options options;
  options.extra_flags = {"-ffast-math"};
  EXPECT_EQ(assemble("s_nop 0", "a.s", options).diagnostics,
            "a.s: error: the flag -ffast-math means nothing to the assembler (of clang's flags it knows -I "
            "DIRECTORY)\n");
  options.extra_flags = {"-I"};
  EXPECT_FALSE(assemble("s_nop 0", "a.s", options));
}

TEST(Limits, OfTheEnvironmentAreChecked) {
  for (const char* bad : {"x", "-1", "0", "1 ", "99999999999999999999"}) {
    setenv("LOCKSTEP_COMPILE_SECONDS", bad, 1);
    EXPECT_NE(assemble("s_nop 0", "a.s").diagnostics.find("LOCKSTEP_COMPILE_SECONDS is a number from 1"),
              std::string::npos)
        << bad;
  }
  setenv("LOCKSTEP_COMPILE_SECONDS", "100", 1);
  EXPECT_TRUE(assemble("s_nop 0", "a.s"));
  unsetenv("LOCKSTEP_COMPILE_SECONDS");
}

TEST(Worker, MissingOrForeignOnesAreNamed) {
  // In processes of their own: this one has a worker already.
  const std::string self = fs::canonical("/proc/self/exe");
  const auto output_with = [&self](const std::string& worker) {
    return run_process({"/usr/bin/env", "LOCKSTEP_WORKER=" + worker, self,
                        "--gtest_filter=DISABLED_WorkerChild.Assembles", "--gtest_also_run_disabled_tests"},
                       {})
        .output;
  };
  EXPECT_NE(output_with("/nonexistent/worker").find("cannot start /nonexistent/worker: No such file"),
            std::string::npos);
  EXPECT_NE(output_with("/bin/false").find("it ended with code 1"), std::string::npos);
  EXPECT_NE(output_with("/bin/true").find("ended at once"), std::string::npos);
}

TEST(DISABLED_WorkerChild, Assembles) {
  const Result result = assemble("s_nop 0", "a.s");
  EXPECT_TRUE(result) << result.diagnostics;
}

TEST(Worker, IsNoChildOfTheHost) {
  ASSERT_TRUE(assemble("s_nop 0", "a.s"));
  int status;
  EXPECT_EQ(waitpid(-1, &status, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Worker, ServesForksOfTheHost) {
  ASSERT_TRUE(assemble("s_nop 0", "a.s"));
  const pid_t child = fork();
  if (child == 0) _exit(assemble("s_nop 1", "b.s") ? 0 : 1);
  EXPECT_TRUE(assemble("s_nop 2", "c.s"));
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Worker, AsksInParallelWhileOneHasNoEnd) {
  std::atomic<bool> endless_ended = false;
  std::thread endless([&] {
    const Result result = assemble(".macro a\n.rept 1000000\n.endr\n.endm\n" + repeated("a\n", 1'000'000),
                                   "endless.s", small_limits());
    EXPECT_FALSE(result);
    endless_ended = true;
  });
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&good] {
      for (int n = 0; n < 8; ++n) good += bool(assemble("v_mov_b32 v0, 0", "a.s"));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
  endless.join();
}

TEST(Worker, RefusesWhatIsNoRequest) {
  const WorkerAnswer answer = ask_worker("no request", 60);
  EXPECT_NE(answer.error.find("ended with code"), std::string::npos) << answer.error;
  EXPECT_TRUE(assemble("s_nop 0", "a.s"));
}

TEST(Protocol, DamagedMessagesAreRefused) {
  AssemblyRequest request{
      .text = "s_nop 0", .name = "a.s", .folder = "/x", .compilation_directory = "/y", .options = {}};
  request.options.include_directories = {"/a", "/b"};
  const std::string bytes = encode(request);
  ASSERT_TRUE(decode_request(bytes));
  EXPECT_EQ(decode_request(bytes)->options.include_directories.size(), 2u);
  EXPECT_FALSE(decode_request(bytes + "x"));
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_request(bytes.substr(0, size)));
  EXPECT_FALSE(decode_answer(std::string(16, '\xff')));
  EXPECT_FALSE(decode_answer("x"));

  const std::string question = encode(FramesRequest{"code", {7, 9}});
  ASSERT_TRUE(decode_frames_request(question));
  EXPECT_FALSE(decode_request(question));
  EXPECT_FALSE(decode_frames_request(bytes));
  const std::string frames =
      encode(std::vector<std::vector<Frame>>{{{"inner", "a.cl", 2}, {"outer", "a.cl", 9}}});
  ASSERT_EQ(decode_frames(frames)->size(), 1u);
  ASSERT_EQ(decode_frames(frames)->at(0).size(), 2u);
  ASSERT_EQ(decode_frames_request(question)->addresses, (std::vector<uint64_t>{7, 9}));
  for (size_t size = 0; size < question.size() - 2 * sizeof(uint64_t); ++size)
    EXPECT_FALSE(decode_frames_request(question.substr(0, size)));
  EXPECT_FALSE(decode_frames_request(question + "x"));
  for (size_t size = 1; size < frames.size(); ++size) EXPECT_FALSE(decode_frames(frames.substr(0, size)));
}

// Debug information of which any byte may be wrong ends nothing but the answer.
TEST(Frames, OfDamagedCodeEndNothing) {
  Options options;
  options.debug_info = true;
  const Result code = assemble("s_nop 0", "a.s", options);
  ASSERT_TRUE(code) << code.diagnostics;
  std::mt19937 random(1);
  for (unsigned round = 0; round < 60; ++round) {
    std::vector<std::byte> damaged = code.code_object;
    for (unsigned i = 0; i < 1 + round; ++i)
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    const uint64_t addresses[] = {random() % damaged.size(), 0};
    const std::vector<std::vector<Frame>> frames = inlined_frames(damaged, addresses);
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_LE(frames[0].size(), 64u);
  }
  const uint64_t begin[] = {0};
  EXPECT_TRUE(inlined_frames({}, begin)[0].empty());
  EXPECT_TRUE(inlined_frames(std::vector<std::byte>(100, std::byte{1}), begin)[0].empty());
  EXPECT_TRUE(inlined_frames({}, {}).empty());
  EXPECT_TRUE(assemble("s_nop 0", "good.s"));
}

// A child of ours that writes where it should not, and one that has no end.
TEST(Process, ConfinedOnesWriteOnlyWhereTheyMay) {
  if (!kernel_has_landlock()) GTEST_SKIP() << "this kernel has no Landlock";
  std::string pattern = (fs::temp_directory_path() / "lockstep-test-XXXXXX").string();
  ASSERT_TRUE(mkdtemp(pattern.data()));
  const fs::path root = pattern;
  fs::create_directories(root / "mine");
  const Confinement confinement{.limits = {.seconds = 100, .megabytes = 1000}, .writable = root / "mine"};
  EXPECT_EQ(run_process({"touch", root / "mine/file"}, {}, confinement).exit_code, 0);
  EXPECT_NE(run_process({"touch", root / "file"}, {}, confinement).exit_code, 0);
  EXPECT_FALSE(fs::exists(root / "file"));
  // This thread is as free as before.
  std::ofstream(root / "free") << "x";
  EXPECT_TRUE(fs::exists(root / "free"));
  fs::remove_all(root);
}

TEST(Process, EndlessOnesAreStopped) {
  const ProcessResult result = run_process({"sh", "-c", "while :; do :; done"}, {},
                                           {.limits = {.seconds = 1, .megabytes = 1000}, .writable = {}});
  EXPECT_EQ(result.exit_code, 128 + SIGXCPU);
  EXPECT_TRUE(result.out_of_time);
}

TEST(HostileSource, CompilersAreStopped) {
  Options options;
  options.limits = {.seconds = 1, .megabytes = 8192};
  // Expands to 2^40 numbers.
  std::string text = "#define A0 1,\n";
  for (int i = 1; i <= 40; ++i)
    text +=
        "#define A" + std::to_string(i) + " A" + std::to_string(i - 1) + " A" + std::to_string(i - 1) + "\n";
  const Result endless = compile_text(
      Language::opencl, text + "__constant int x[] = {A40};\n__kernel void f() {}\n", "bad.cl", options);
  EXPECT_FALSE(endless);
  EXPECT_NE(endless.diagnostics.find("LOCKSTEP_COMPILE_SECONDS"), std::string::npos)
      << endless.diagnostics.substr(0, 2000);
  options.limits = {.seconds = 100, .megabytes = 350};
  const Result hungry = compile_text(
      Language::opencl, text + "__constant int x[] = {A40};\n__kernel void f() {}\n", "bad.cl", options);
  EXPECT_FALSE(hungry);
  EXPECT_NE(hungry.diagnostics.find("LOCKSTEP_COMPILE_MEGABYTES"), std::string::npos)
      << hungry.diagnostics.substr(0, 2000);
}

}  // namespace
}  // namespace lockstep::toolchain
