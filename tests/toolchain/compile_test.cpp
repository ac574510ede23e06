#include "toolchain/compile.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "tests/sweep.h"
#include "tests/toolchain/object_file.h"
#include "toolchain/process.h"

namespace lockstep::toolchain {
namespace {

namespace fs = std::filesystem;

// A cache of its own for these tests: they must not depend on what an earlier run left behind.
class CompileTest : public testing::Test {
 public:
  static void SetUpTestSuite() {
    cache_ = fs::path(testing::TempDir()) / ("lockstep_cache_" + std::to_string(getpid()));
    fs::create_directories(cache_);
    setenv("XDG_CACHE_HOME", cache_.c_str(), 1);
  }
  static void TearDownTestSuite() { fs::remove_all(cache_); }

 protected:
  static inline fs::path cache_;
};

constexpr char kOpenCl[] =
    "__kernel void copy(__global const uint* restrict from, __global uint* restrict to) {\n"
    "  to[get_global_id(0)] = from[get_global_id(0)];\n"
    "}\n";
constexpr char kHip[] =
    "#include <hip/hip_runtime.h>\n"
    "extern \"C\" __global__ void scale(float* x, float by) { x[blockIdx.x * blockDim.x + threadIdx.x] *= "
    "sinf(by); }\n";

TEST_F(CompileTest, OpenClAtEveryLevelAndWaveSize) {
  for (const unsigned level : {0u, 1u, 2u, 3u})
    for (const unsigned wave_size : {32u, 64u}) {
      if (!test::is_in_share(level + wave_size / 32, 2)) continue;
      Options options;
      options.optimization = level;
      options.wave_size = wave_size;
      const Result result = compile_text(Language::opencl, kOpenCl, "copy.cl", options);
      ASSERT_TRUE(result) << result.diagnostics;
      EXPECT_EQ(result.diagnostics, "");
      const auto kernel = ObjectFile(result.code_object).descriptor("copy");
      ASSERT_TRUE(kernel);
      EXPECT_EQ((kernel->kernel_code_properties >> 10) & 1, wave_size == 32);
    }
}

TEST_F(CompileTest, EveryCodeObjectVersion) {
  for (const unsigned version : {4u, 5u, 6u}) {
    Options options;
    options.code_object_version = version;
    const Result result = compile_text(Language::opencl, kOpenCl, "copy.cl", options);
    ASSERT_TRUE(result) << result.diagnostics;
    EXPECT_EQ(ObjectFile(result.code_object).abi_version(), version - 2);
  }
}

TEST_F(CompileTest, EveryProcessor) {
  for (const char* processor : {"gfx1100", "gfx1101", "gfx1102", "gfx1103"}) {
    Options options;
    options.processor = processor;
    EXPECT_TRUE(compile_text(Language::opencl, kOpenCl, "copy.cl", options));
  }
  Options options;
  options.processor = "gfx1103";
  EXPECT_TRUE(compile_text(Language::hip, kHip, "scale.hip", options));
}

TEST_F(CompileTest, HipWithoutRocm) {
  for (const unsigned level : {0u, 3u}) {
    Options options;
    options.optimization = level;
    options.wave_size = level == 0 ? 32 : 64;
    const Result result = compile_text(Language::hip, kHip, "scale.hip", options);
    ASSERT_TRUE(result) << result.diagnostics;
    EXPECT_TRUE(ObjectFile(result.code_object).descriptor("scale"));
  }
}

// Every function that the HIP header offers is at least instantiated, in both wave sizes.
TEST_F(CompileTest, HipHeaderCompilesInFull) {
  constexpr char text[] = R"(
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__global__ __launch_bounds__(256) void all(float* f, double* d, unsigned* u, unsigned long long* ull, half2* h, int* s) {
  const int i = threadIdx.x + blockIdx.y * blockDim.z + gridDim.x;
  f[i] = sinf(f[i]) + cos(f[i]) + powf(f[i], 2.5f) + fmaxf(f[i], 1.0f) + table[i & 3] + __expf(f[i]) + fmaf(f[i], 2, 3);
  d[i] = sin(d[i]) + exp(d[i]) + fabs(d[i]) + pow(d[i], 3.0) + sqrt(d[i]) + fma(d[i], 2.0, 3.0);
  atomicAdd(&counter, 1); atomicAdd(f, 1.0f); atomicSub(u, 1); atomicMin(s, 1); atomicMax(u, 3); atomicAnd(u, 3);
  atomicOr(u, 3); atomicXor(u, 3); atomicExch(u, 3); atomicCAS(u, 1, 2); atomicInc(u, 7); atomicDec(u, 7);
  atomicAdd(ull, 1); atomicCAS(ull, 1, 2);
  u[i] = __popc(i) + __clz(i) + __ffs(i) + __brev(i) + __umulhi(i, i) + __any(i == 2) + __all(i == 3) + warpSize;
  ull[i] = __ballot(i > 3) + __activemask() + clock64() + wall_clock64() + __shfl_xor(ull[i], 1) + __popcll(ull[i]);
  f[i] += __shfl_down(f[i], u[i], u[1]) + __ffsll((unsigned long)u[i]);
  h[i] = {sinf(f[i]), cosf(f[i])};
  f[i] += __shfl(f[i], 3) + __shfl_up(f[i], 1) + __shfl_down(f[i], 2, 16);
  h[i] = __hfma2(h[i], h[i], __floats2half2_rn(1, 2)) + __hmul2(h[i], h[i]);
  s[i] = __mulhi(i, i) + __mul24(i, i) + __float_as_int(f[i]) + min(i, 3) + max(i, 4) + abs(i) + isnan(f[i]);
  const float4 four = make_float4(1, 2, 3, 4);
  f[i + 1] = four.x + four.w;
  const dim3 block = blockIdx;
  assert(block.x < 1000);
  __syncthreads(); __threadfence(); __threadfence_block(); __threadfence_system();
}
)";
  for (const unsigned wave_size : {32u, 64u}) {
    if (!test::is_in_share(wave_size / 32, 2)) continue;
    Options options;
    options.wave_size = wave_size;
    options.code_object_version = wave_size == 32 ? 5 : 4;
    const Result result = compile_text(Language::hip, text, "all.hip", options);
    EXPECT_TRUE(result) << result.diagnostics;
    EXPECT_EQ(result.diagnostics, "");
  }
}

// Kernels as programs have them: vectors with operators and addresses, half and bfloat16, complex numbers,
// cooperative groups, functions with masks, C++'s library without an include.
TEST_F(CompileTest, HipHeadersBesideTheFirst) {
  constexpr char text[] = R"(
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hiprtc.h>
namespace cg = cooperative_groups;
static_assert(sizeof(float3) == 12 && sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(char3) == 3);
template <class Group> __device__ int sum(Group group, int value) {
  for (int step = group.size() / 2; step > 0; step /= 2) value += group.shfl_down(value, step);
  return value;
}
__global__ void kernel(float3* a, float4* b, int* s, half2* h, __hip_bfloat16* f, hipFloatComplex* c) {
  const uint3 t = threadIdx;
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  cg::thread_group(cg::tiled_partition(block, 8)).sync();
  a[t.x] = a[t.x] * 2.0 + float3{1, 2, 3};
  atomicAdd(&a[0].y, std::fabs(b[0].y) + std::hypot(b[1].x, b[1].y));
  b[1] = -b[2] / b[3];
  s[block.thread_rank()] = sum(tile, s[0]) + tile.any(3) + cg::reduce(tile, s[1], cg::plus<int>()) + std::max(s[2], s[3]);
  s[1] = __syncthreads_count(t.x > 3) + __match_any_sync(~0ull, s[1]) + __byte_perm(1, 2, 0x3210) + __shfl_xor_sync(~0ull, s[2], 1);
  cg::this_grid().sync();
  h[0] = h[1] * h[2] + __hfma2(h[3], h[4], h[5]);
  h[1] = h2exp(h[2]);
  f[0] = f[1] * f[2] + __float2bfloat16(2.0f);
  f[3] = float(f[0] > f[1] ? f[2] : f[4]) * 2.0f;
  c[0] = hipCmulf(c[1], c[2]);
  if (s[3] > 3) s[9] = cg::coalesced_threads().shfl(s[3], 1);
}
)";
  for (const unsigned wave_size : {32u, 64u}) {
    if (!test::is_in_share(wave_size / 32 + 1, 2)) continue;
    Options options;
    options.wave_size = wave_size;
    const Result result = compile_text(Language::hip, text, "beside.hip", options);
    EXPECT_TRUE(result) << result.diagnostics;
    EXPECT_EQ(result.diagnostics, "");
  }
}

TEST_F(CompileTest, HipTexturesAreRefusedByName) {
  const Result result =
      compile_text(Language::hip,
                   "__global__ void f(hipTextureObject_t t, float* x) { *x = tex2D<float>(t, 0.f, 0.f); }\n",
                   "texture.hip");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("no images and textures yet"), std::string::npos) << result.diagnostics;
}

// A program as tutorials have it: kernels and main() in one file, with the standard library.
TEST_F(CompileTest, HipProgramWithHostCode) {
  constexpr char includes[] =
      "#include <algorithm>\n#include <cassert>\n#include <cmath>\n#include <cstdio>\n#include "
      "<iostream>\n#include <vector>\n";
  constexpr char hip_include[] = "#include <hip/hip_runtime.h>\n";
  constexpr char program[] = R"(
#define CHECK(call) if (const hipError_t e = (call); e != hipSuccess) { std::cerr << hipGetErrorString(e); std::exit(1); }
__constant__ float factors[4];
template <class T> __global__ void kernel(T* x, const T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(i < n);
  x[i] = std::sqrt(y[i]) + sin(y[i]) + std::fabs(x[i]) + std::max(x[i], y[i]) + pow(x[i], T(2)) + factors[i & 3] + abs(x[i]);
}
template <int n, int m, class T> __global__ void deduced(T* x) { x[n] += m; }
__global__ void plain(float* p) { p[threadIdx.x] = sqrtf(p[threadIdx.x]) + std::abs(p[0]); }
int main(int argc, char**) {
  std::vector<float> host(1024, 1.0f);
  float *a, *b;
  CHECK(hipMalloc(&a, 4096));
  CHECK(hipMalloc((void**)&b, 4096));
  CHECK(hipMemcpy(a, host.data(), 4096, hipMemcpyHostToDevice));
  CHECK(hipMemcpyToSymbol(factors, host.data(), 16));
  hipLaunchKernelGGL(plain, dim3(4), dim3(256), 0, 0, a);
  hipLaunchKernelGGL(HIP_KERNEL_NAME(kernel<float>), 4, 256, 0, 0, a, b, 1024);
  kernel<<<4, 256>>>(a, b, 1024);
#ifdef HIP_TEMPLATE_KERNEL_LAUNCH
  hipLaunchKernelGGL(deduced<2, 3>, dim3(4), dim3(256), 0, 0, a);
  hipLaunchKernelGGL(plain, 4, 256, 0, 0, a);
#endif
  hipPitchedPtr pitched;
  CHECK(hipMalloc3D(&pitched, make_hipExtent(64, 4, 2)));
  hipMemcpy3DParms copy{};
  copy.srcPtr = make_hipPitchedPtr(host.data(), 64, 64, 4);
  copy.dstPtr = pitched;
  copy.dstPos = make_hipPos(0, 1, 1);
  copy.kind = hipMemcpyHostToDevice;
  CHECK(hipMemcpy3D(&copy));
  CHECK(hipMemset3D(pitched, 0, make_hipExtent(64, 4, 2)));
  CHECK(hipHostAlloc(&b, 4096, hipHostAllocMapped | hipHostAllocPortable));
  hipMemPool_t pool;
  unsigned long long keep = ~0ull;
  CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
  CHECK(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
  hipGraph_t graph;
  hipGraphExec_t executable;
  CHECK(hipStreamBeginCapture(0, hipStreamCaptureModeGlobal));
  CHECK(hipStreamEndCapture(0, &graph));
  CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  CHECK(hipGraphLaunch(executable, 0));
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  if (properties.computeMode == hipComputeModeProhibited || properties.pageableMemoryAccess) return 1;
  CHECK(hipDeviceSynchronize());
  std::cout << std::sin(1.0) << sqrtf(2.0f);
  printf("%d", argc);
}
)";
  for (const bool is_first : {false, true}) {
    Options options;
    options.optimization = is_first ? 0 : 2;
    if (is_first) options.extra_flags = {"-DHIP_TEMPLATE_KERNEL_LAUNCH"};
    const std::string text =
        (is_first ? std::string(hip_include) + includes : std::string(includes) + hip_include) + program;
    const Result result = compile_text(Language::hip, text, "program.hip", options);
    ASSERT_TRUE(result) << result.diagnostics;
    const ObjectFile file(result.code_object);
    EXPECT_TRUE(file.descriptor("_Z5plainPf"));
    EXPECT_TRUE(file.descriptor("_Z6kernelIfEvPT_PKS0_i"));
    EXPECT_EQ(file.descriptor("_Z7deducedILi2ELi3EfEvPT1_").has_value(), is_first);
  }
}

TEST_F(CompileTest, WaveScansCompileWithoutOptimization) {
  Options options;
  options.optimization = 0;
  const Result result =
      compile_text(Language::opencl,
                   "#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n"
                   "__kernel void scan(__global uint* x) {\n"
                   "  x[get_global_id(0)] = sub_group_scan_inclusive_add(x[get_global_id(0)]);\n}\n",
                   "scan.cl", options);
  EXPECT_TRUE(result) << result.diagnostics;
}

TEST_F(CompileTest, PrintfLowersToThePrintfBuffer) {
  for (const unsigned version : {4u, 5u}) {
    Options options;
    options.code_object_version = version;
    const Result result = compile_text(
        Language::opencl, "__kernel void say(int x) { printf(\"x is %d\\n\", x); }\n", "say.cl", options);
    ASSERT_TRUE(result) << result.diagnostics;
    const std::string_view bytes(reinterpret_cast<const char*>(result.code_object.data()),
                                 result.code_object.size());
    EXPECT_NE(bytes.find("hidden_printf_buffer"), bytes.npos);
    EXPECT_NE(bytes.find("amdhsa.printf"), bytes.npos);
  }
}

TEST_F(CompileTest, ErrorsNameTheSource) {
  const Result opencl = compile_text(Language::opencl, "__kernel void f(int x) {\n  y = x;\n}\n", "bad.cl");
  EXPECT_FALSE(opencl);
  EXPECT_NE(opencl.diagnostics.find("bad.cl:2:3: error:"), std::string::npos) << opencl.diagnostics;
  const Result hip = compile_text(Language::hip, "\n__global__ void f() { y = 1; }\n", "bad.hip");
  EXPECT_FALSE(hip);
  EXPECT_NE(hip.diagnostics.find("bad.hip:2"), std::string::npos) << hip.diagnostics;
}

TEST_F(CompileTest, FilesAndIncludeDirectories) {
  const fs::path directory = cache_ / "sources";
  fs::create_directories(directory / "include");
  std::ofstream(directory / "include/value.h") << "#define VALUE 7\n";
  std::ofstream(directory / "-kernel.cl")
      << "#include \"value.h\"\n__kernel void f(__global int* x) { *x = VALUE; }\n";
  Options options;
  options.include_directories.push_back(directory / "include");
  EXPECT_TRUE(compile_file(Language::opencl, directory / "-kernel.cl", options));
  std::ofstream(directory / "value.inc") << "s_mov_b32 s0, 7\n";
  std::ofstream(directory / "kernel.s") << ".include \"value.inc\"\n";
  options.include_directories = {directory};
  const Result assembled = compile_file(Language::assembly, directory / "kernel.s", options);
  EXPECT_TRUE(assembled) << assembled.diagnostics;
}

TEST_F(CompileTest, SeveralFilesBecomeOneCodeObject) {
  const fs::path folder = cache_ / "program";
  fs::create_directories(folder);
  const auto write = [&folder](const char* name, const char* text) { std::ofstream(folder / name) << text; };
  write("main.cl",
        "float scale(float x);\nextern __constant float table[2];\n"
        "__kernel void first(__global float* x) { x[0] = scale(x[0]) + table[1]; }\n");
  const auto definitions = [&](const char* second) {
    write("more.cl", (std::string("__constant float table[2] = {1, ") + second +
                      "};\nfloat scale(float x) { return sin(x); }\n"
                      "__kernel void second(__global float* x) { x[0] = scale(x[1]); }\n")
                         .c_str());
  };
  Options options;
  options.more_sources = {folder / "more.cl"};
  definitions("2");
  const Result result = compile_file(Language::opencl, folder / "main.cl", options);
  ASSERT_TRUE(result) << result.diagnostics;
  EXPECT_TRUE(ObjectFile(result.code_object).descriptor("first"));
  EXPECT_TRUE(ObjectFile(result.code_object).descriptor("second"));
  // What was kept is of the other files, too.
  definitions("3");
  const Result changed = compile_file(Language::opencl, folder / "main.cl", options);
  ASSERT_TRUE(changed) << changed.diagnostics;
  EXPECT_NE(changed.code_object, result.code_object);

  const auto expect = [&](const Result& bad, const char* text) {
    EXPECT_FALSE(bad);
    EXPECT_NE(bad.diagnostics.find(text), std::string::npos) << bad.diagnostics;
  };
  write("wrong.cl", "float scale(float x) { return y; }\n");
  options.more_sources = {folder / "wrong.cl"};
  expect(compile_file(Language::opencl, folder / "main.cl", options), "wrong.cl:1:");
  options.more_sources = {folder / "more.cl", folder / "more.cl"};
  expect(compile_file(Language::opencl, folder / "main.cl", options), "two of the source files define it");
  options.more_sources.clear();
  expect(compile_file(Language::opencl, folder / "main.cl", options), "give the file that does");
  write("empty.hip", "");
  options.more_sources = {folder / "empty.hip"};
  expect(compile_file(Language::opencl, folder / "main.cl", options),
         "files of one program are of the same language");
  options.more_sources = {folder / "main.cl"};
  expect(assemble("s_nop 0\n", "kernel.s", options), "assembly is one file");
  write("notes.txt", "");
  options.more_sources = {folder / "notes.txt"};
  expect(compile_file(Language::opencl, folder / "main.cl", options), "notes.txt: is no source file");

  write("main.hip",
        "extern __device__ float scale(float x);\nextern __constant__ float table[2];\n"
        "extern \"C\" __global__ void first(float* x) { x[0] = scale(x[0]) + table[1]; }\n");
  write("more.hip",
        "__constant__ float table[2] = {1, 2};\n__device__ float scale(float x) { return sinf(x); }\n");
  options.more_sources = {folder / "more.hip"};
  const Result hip = compile_file(Language::hip, folder / "main.hip", options);
  EXPECT_TRUE(hip) << hip.diagnostics;
}

TEST_F(CompileTest, CppIsHipOrCppForOpenCl) {
  const fs::path folder = cache_ / "cpp";
  fs::create_directories(folder);
  std::ofstream(folder / "opencl.cpp") << "template <class T> T twice(T x) { return x + x; }\n"
                                          "__kernel void f(__global float* x) { *x = twice(*x); }\n";
  std::ofstream(folder / "hip.cpp") << "__global__ void f(float* x) { *x = 1; }  // as __kernel void f\n";
  EXPECT_EQ(language_of(folder / "opencl.cpp"), Language::opencl);
  EXPECT_EQ(language_of(folder / "hip.cpp"), Language::hip);
  EXPECT_TRUE(compile_file(Language::opencl, folder / "opencl.cpp"));
}

TEST_F(CompileTest, MissingThingsAreNamedWithTheirPackage) {
  EXPECT_NE(
      compile_file(Language::opencl, "/nonexistent/a.cl").diagnostics.find("cannot read /nonexistent/a.cl"),
      std::string::npos);
  EXPECT_NE(compile_file(Language::opencl, "/").diagnostics.find("it is a directory"), std::string::npos);
  setenv("LOCKSTEP_CLANG", "/nonexistent/clang", 1);
  const Result result = compile_text(Language::opencl, kOpenCl, "copy.cl");
  unsetenv("LOCKSTEP_CLANG");
  EXPECT_FALSE(result);
  EXPECT_NE(result.diagnostics.find("install the Debian package clang-19"), std::string::npos)
      << result.diagnostics;
}

TEST_F(CompileTest, ProcessesMayPrepareTheCacheAtTheSameTime) {
  const fs::path cache = cache_ / "race";
  fs::create_directories(cache);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("XDG_CACHE_HOME", cache.c_str(), 1);
      execl("/proc/self/exe", "test_toolchain", "--gtest_filter=DISABLED_Child.*",
            "--gtest_also_run_disabled_tests", nullptr);
      _exit(127);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  int entries = 0;
  for (const auto& entry : fs::directory_iterator(cache / "lockstep")) {
    EXPECT_EQ(entry.path().filename().string().find(".part-"), std::string::npos);
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

// Run by the test above in processes of its own.
TEST(DISABLED_Child, PreparesTheCache) {
  std::string error;
  EXPECT_FALSE(prepared_directory(error).empty()) << error;
}

TEST(Process, FeedsAndDrainsAtOnce) {
  const std::string input(1 << 20, 'x');
  const ProcessResult result = run_process({"cat"}, input);
  ASSERT_TRUE(result.started);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, input);
}

TEST(Process, ChildThatIgnoresItsInputDoesNotEndUs) {
  const ProcessResult result = run_process({"false"}, std::string(1 << 20, 'x'));
  ASSERT_TRUE(result.started);
  EXPECT_EQ(result.exit_code, 1);
}

TEST(Process, MissingProgramIsReported) {
  const ProcessResult result = run_process({"/nonexistent/program"}, "");
  EXPECT_FALSE(result.started);
  EXPECT_NE(result.output.find("/nonexistent/program"), std::string::npos);
}

TEST(LanguageOf, KnowsExtensions) {
  EXPECT_EQ(language_of("a/b.s"), Language::assembly);
  EXPECT_EQ(language_of("b.cl"), Language::opencl);
  EXPECT_EQ(language_of("b.hip"), Language::hip);
  EXPECT_EQ(language_of("b.clcpp"), Language::opencl);
  EXPECT_EQ(language_of("b.ll"), Language::llvm_ir);
  EXPECT_EQ(language_of("b.bc"), Language::llvm_ir);
  EXPECT_EQ(language_of("b.co"), std::nullopt);
  EXPECT_EQ(language_of("b"), std::nullopt);
}

}  // namespace
}  // namespace lockstep::toolchain
