#include <gtest/gtest.h>

#include <thread>

#include "tests/toolchain/object_file.h"
#include "toolchain/compile.h"

namespace lockstep::toolchain {
namespace {

using llvm::amdhsa::kernel_descriptor_t;

// Instruction words of a symbol.
std::vector<uint32_t> words(const ObjectFile& file, const char* symbol) {
  const std::optional<std::string> bytes = file.bytes_of(symbol);
  if (!bytes || bytes->empty()) return {};
  std::vector<uint32_t> result(bytes->size() / 4);
  std::memcpy(result.data(), bytes->data(), result.size() * 4);
  return result;
}

TEST(Assemble, ListingWithoutDirectivesBecomesAKernel) {
  const Result result = assemble("v_add_f32 v0, v1, v2\nglobal_store_b32 v0, v1, s[0:1]\n", "listing.s");
  ASSERT_TRUE(result) << result.diagnostics;
  EXPECT_EQ(result.diagnostics, "");
  const ObjectFile file(result.code_object);
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(file.type(), llvm::ELF::ET_DYN);
  EXPECT_EQ(file.flags() & llvm::ELF::EF_AMDGPU_MACH, llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100);
  EXPECT_EQ(file.abi_version(), 3u);

  const std::vector<uint32_t> code = words(file, "main");
  ASSERT_GE(code.size(), 5u);
  EXPECT_EQ(code[0], 0x06000501u);      // v_add_f32_e32 v0, v1, v2
  EXPECT_EQ(code[3], 0xbfb00000u);      // s_endpgm, added
  EXPECT_EQ(code.back(), 0xbf9f0000u);  // s_code_end

  const std::optional<kernel_descriptor_t> kernel = file.descriptor("main");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->group_segment_fixed_size, 65536u);
  EXPECT_EQ(kernel->private_segment_fixed_size, 16384u);
  EXPECT_EQ(kernel->kernarg_size, 1024u);
  EXPECT_EQ((kernel->compute_pgm_rsrc1 & 63), 31u);           // 256 VGPRs in units of 8
  EXPECT_EQ((kernel->compute_pgm_rsrc2 >> 1) & 31, 2u);       // user SGPRs
  EXPECT_EQ((kernel->compute_pgm_rsrc2 >> 7) & 7, 7u);        // work-group ids x, y, z
  EXPECT_EQ((kernel->compute_pgm_rsrc2 >> 11) & 3, 2u);       // work-item ids x, y, z
  EXPECT_EQ((kernel->kernel_code_properties >> 3) & 1, 1u);   // kernarg pointer
  EXPECT_EQ((kernel->kernel_code_properties >> 10) & 1, 1u);  // wave32
}

// What arguments a listing takes is not known: a list of none would be a lie that a runner believes.
TEST(Assemble, ListingHasNoMetadata) {
  EXPECT_FALSE(ObjectFile(assemble("s_nop 0", "listing.s").code_object).has_section(".note"));
}

TEST(Assemble, ListingKernelFollowsTheOptions) {
  Options options;
  options.wave_size = 64;
  options.code_object_version = 4;
  options.listing = {
      .name = "probe", .vgprs = 24, .lds_bytes = 512, .scratch_bytes_per_lane = 0, .kernarg_bytes = 16};
  const Result result = assemble("v_cmp_eq_u32 s[4:5], v0, v1", "listing.s", options);
  ASSERT_TRUE(result) << result.diagnostics;
  const ObjectFile file(result.code_object);
  EXPECT_EQ(file.abi_version(), 2u);
  const std::optional<kernel_descriptor_t> kernel = file.descriptor("probe");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->group_segment_fixed_size, 512u);
  EXPECT_EQ(kernel->private_segment_fixed_size, 0u);
  EXPECT_EQ(kernel->compute_pgm_rsrc1 & 63, 5u);              // 24 VGPRs in units of 4
  EXPECT_EQ(kernel->compute_pgm_rsrc2 & 1, 0u);               // no scratch
  EXPECT_EQ((kernel->kernel_code_properties >> 10) & 1, 0u);  // wave64
}

TEST(Assemble, SourceWithItsOwnKernelIsLeftAlone) {
  const char text[] =
      ".text\n.globl own\n.p2align 8\n.type own,@function\nown:\n s_endpgm\n.rodata\n.p2align 6\n"
      ".amdhsa_kernel own\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 4\n.end_amdhsa_kernel\n";
  const Result result = assemble(text, "own.s");
  ASSERT_TRUE(result) << result.diagnostics;
  const ObjectFile file(result.code_object);
  EXPECT_EQ(words(file, "own"), std::vector<uint32_t>());  // no .size: nothing was added behind it
  EXPECT_TRUE(file.descriptor("own"));
  EXPECT_FALSE(file.descriptor("main"));
}

TEST(Assemble, BranchesLabelsAndSymbolsAreLinked) {
  const Result result = assemble(
      "s_cbranch_scc0 end\ns_getpc_b64 s[4:5]\ns_add_u32 s4, s4, table@rel32@lo+4\n"
      "s_addc_u32 s5, s5, table@rel32@hi+12\nend:\ns_endpgm\n.rodata\ntable: .long 42\n",
      "labels.s");
  ASSERT_TRUE(result) << result.diagnostics;
  const ObjectFile file(result.code_object);
  const std::vector<uint32_t> code = words(file, "main");
  ASSERT_GE(code.size(), 7u);
  EXPECT_EQ(code[0] & 0xffff, 5u);
  EXPECT_NE(code[3], 0u);  // the relocated distance to the table
}

TEST(Assemble, ErrorsCarryThePlaceInTheSource) {
  const Result result = assemble("v_add_f32 v0, v1, v2\n\tv_foo v1\n v_add_f32 v300, v1, v2\n", "bad.s");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("bad.s:2:2: error: invalid instruction\n\tv_foo v1\n\t^\n"),
            std::string::npos)
      << result.diagnostics;
  EXPECT_NE(result.diagnostics.find("bad.s:3:12: error: register index is out of range"), std::string::npos)
      << result.diagnostics;
}

TEST(Assemble, UndefinedLabelIsFoundWithItsLine) {
  const Result result = assemble("s_nop 0\n s_branch nowhere\n", "bad.s");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("bad.s:2:2: error: undefined label 'nowhere'"), std::string::npos)
      << result.diagnostics;
}

TEST(Assemble, UndefinedSymbolIsALinkError) {
  const Result result = assemble("s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, missing@rel32@lo+4\n", "bad.s");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("undefined symbol: missing"), std::string::npos) << result.diagnostics;
  // lld keeps global state: the next link must still work.
  EXPECT_TRUE(assemble("s_nop 0", "good.s"));
}

TEST(Assemble, ErrorBehindTheSourceNamesTheFileOnly) {
  const Result result = assemble(".if 1\ns_nop 0\n", "bad.s");
  EXPECT_FALSE(result);
  EXPECT_EQ(result.diagnostics.find("bad.s: error: unmatched .ifs"), 0u) << result.diagnostics;
}

TEST(Assemble, OpenStringsAndCommentsAreRefusedAtOnce) {
  // LLVM's own parser would not come back from these.
  EXPECT_EQ(assemble("s_nop 0\n a, \"x\ns_nop 0\n", "bad.s").diagnostics,
            "bad.s:2:5: error: the string that begins here does not end\n a, \"x\n    ^\n");
  EXPECT_EQ(assemble("a, /* b", "bad.s").diagnostics,
            "bad.s:1:4: error: the comment that begins here does not end\na, /* b\n   ^\n");
  // None of these is open.
  EXPECT_TRUE(assemble("; it\"s\n# it\"s\n// /* \"\ns_nop 0 /* \" */\ns_mov_b32 s0, '\"'\n", "good.s"));
  EXPECT_TRUE(assemble(".ascii \"a\\\"b ; // /*\"\ns_nop 0\n", "good.s"));
}

TEST(Assemble, BadOptionsAndBytesAreRefused) {
  Options options;
  options.wave_size = 16;
  EXPECT_NE(assemble("s_nop 0", "a.s", options).diagnostics.find("wave size is 32 or 64, not 16"),
            std::string::npos);
  options = {};
  options.processor = "gfx900";
  EXPECT_NE(assemble("s_nop 0", "a.s", options).diagnostics.find("not gfx900"), std::string::npos);
  EXPECT_NE(assemble(std::string_view("s_nop\0", 6), "a.s").diagnostics.find("zero byte"), std::string::npos);
}

TEST(Assemble, DebugInfoIsMadeOnRequest) {
  Options options;
  EXPECT_FALSE(ObjectFile(assemble("s_nop 0", "a.s", options).code_object).has_section(".debug_line"));
  options.debug_info = true;
  EXPECT_TRUE(ObjectFile(assemble("s_nop 0", "a.s", options).code_object).has_section(".debug_line"));
}

TEST(Assemble, WorksFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&good] {
      for (int n = 0; n < 8; ++n) good += bool(assemble("v_mov_b32 v0, 0", "a.s"));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 32);
}

}  // namespace
}  // namespace lockstep::toolchain
