// Kernels without Landlock: what is held back there by other means, and what is said of the rest
// (docs/security.md). A filter on system calls makes this process, its threads and its children see such a
// kernel; so the tests have a program of their own.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>

#include "toolchain/compile.h"
#include "toolchain/confinement.h"
#include "toolchain/process.h"

namespace lockstep::toolchain {
namespace {

namespace fs = std::filesystem;

class WithoutLandlock : public testing::Test {
 protected:
  // Before any thread or worker is there.
  static void SetUpTestSuite() {
    static sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof program / sizeof *program, program};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
  }

  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lockstep-test-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  Result assemble_source(const std::string& text) {
    std::ofstream(root_ / "kernel.s") << text;
    return compile_file(Language::assembly, root_ / "kernel.s", {});
  }

  fs::path root_;
};

TEST_F(WithoutLandlock, ConfiningSaysWhyNot) {
  std::string error;
  EXPECT_FALSE(confine_files({.read_everything = true, .readable = {}, .writable = {}}, error));
  EXPECT_NE(error.find("no Landlock"), std::string::npos) << error;
}

// Nothing is opened at all, and who misses it is told why.
TEST_F(WithoutLandlock, TheAssemblerReadsNoFiles) {
  EXPECT_TRUE(assemble_source("s_nop 0\n")) << assemble_source("s_nop 0\n").diagnostics;
  std::ofstream(root_ / "near.inc") << "s_mov_b32 s0, 3\n";
  for (const std::string& path :
       {std::string("near.inc"), (root_ / "near.inc").string(), std::string("/etc/passwd")}) {
    for (const char* directive : {".include", ".incbin"}) {
      const Result result = assemble_source(std::string(directive) + " \"" + path + "\"\n");
      EXPECT_FALSE(result) << directive << " " << path;
      EXPECT_NE(
          result.diagnostics.find("note: .include and .incbin read nothing: this kernel has no Landlock"),
          std::string::npos)
          << result.diagnostics;
      EXPECT_EQ(result.diagnostics.find("root:"), std::string::npos) << result.diagnostics;
    }
  }
  EXPECT_TRUE(assemble_source("s_nop 0\n")) << assemble_source("s_nop 0\n").diagnostics;
}

// The linker opens no libraries that the text names, either.
TEST_F(WithoutLandlock, TheLinkerReadsNoFiles) {
  std::ofstream(root_ / "near.inc") << "s_mov_b32 s0, 3\n";
  const Result result =
      assemble_source("s_nop 0\n.section .deplibs,\"MS\",@llvm_dependent_libraries,1\n.asciz \"" +
                      (root_ / "near.inc").string() + "\"\n");
  EXPECT_TRUE(result) << result.diagnostics;
}

// The compiler runs, with the limits that the kernel has.
TEST_F(WithoutLandlock, CompilersKeepTheirOtherLimits) {
  const Confinement confinement{.limits = {.seconds = 1, .megabytes = 1000}, .writable = root_};
  EXPECT_EQ(run_process({"touch", root_ / "file"}, {}, confinement).exit_code, 0);
  const ProcessResult endless = run_process({"sh", "-c", "while :; do :; done"}, {}, confinement);
  EXPECT_EQ(endless.exit_code, 128 + SIGXCPU);
  EXPECT_TRUE(endless.out_of_time);
  const Result compiled =
      compile_text(Language::opencl, "__kernel void f(__global int* x) { x[0] = 1; }", "f.cl", {});
  EXPECT_TRUE(compiled) << compiled.diagnostics;
}

}  // namespace
}  // namespace lockstep::toolchain
