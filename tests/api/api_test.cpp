// The C interface and its C++ wrapper, against the shared library.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>

#include "api/lockstep.hpp"

namespace {

using lockstep::Arguments;
using lockstep::CodeObject;
using lockstep::Device;
using lockstep::Error;
using lockstep::Kernel;

constexpr const char* kSource = R"(
__kernel void saxpy(uint n, float a, __global const float* x, __global float* y) {
  uint i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}
__kernel void rotate(__global uint* data, __local uint* scratch, uint by) {
  uint i = get_local_id(0), n = get_local_size(0);
  scratch[i] = data[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[i] = scratch[(i + by) % n];
}
__kernel void spin(__global volatile uint* flag) { while (*flag == 0); }
__global uint counter = 5;
__kernel void count(__global uint* out) { out[get_global_id(0)] = counter; }
)";

lockstep_compile_options options_with_lines() {
  lockstep_compile_options o;
  lockstep_compile_options_init(&o);
  o.debug_info = 1;
  return o;
}

const CodeObject& code() {
  static const lockstep_compile_options options = options_with_lines();
  static const CodeObject object = CodeObject::compile(LOCKSTEP_OPENCL, kSource, "test.cl", &options);
  return object;
}

template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error";
  return Error(LOCKSTEP_OK, "");
}

bool has(const Error& e, const char* text) {
  return std::string(e.what()).find(text) != std::string::npos;
}

class EveryEngine : public testing::TestWithParam<lockstep_engine> {
 protected:
  EveryEngine() : device_(make()) {}
  Device device_;

 private:
  static Device make() {
    lockstep_device_options o;
    lockstep_device_options_init(&o);
    o.engine = GetParam();
    return Device(&o);
  }
};

TEST_P(EveryEngine, RunsWithArgumentsByName) {
  constexpr uint32_t n = 1000;
  auto x = device_.allocate<float>(n, "x"), y = device_.allocate<float>(n, "y");
  std::iota(x.begin(), x.end(), 0.0f);
  Arguments a(code().kernel("saxpy"));
  a.set("n", n).set("a", 2.0f).set("x", x).set("y", y);
  lockstep_statistics s = device_.run(code().kernel("saxpy"), a, {n}, {256});
  EXPECT_EQ(s.work_groups_done, 4u);
  EXPECT_EQ(s.waves, 32u);
  EXPECT_GT(s.wave_instructions, 0u);
  for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 2.0f * i);
}

TEST_P(EveryEngine, LocalArgumentsAreDynamicLds) {
  auto data = device_.allocate<uint32_t>(64, "data");
  std::iota(data.begin(), data.end(), 0u);
  Arguments a(code().kernel("rotate"));
  a.set("data", data).set_local(1, 256).set("by", 3u);
  device_.run(code().kernel("rotate"), a, {64}, {64});
  for (uint32_t i = 0; i < 64; ++i) ASSERT_EQ(data[i], (i + 3) % 64);
}

// Compilers load four words where three arguments of eight-byte alignment end the segment.
TEST_P(EveryEngine, ScalarLoadsMayRunPastTheLastArgument) {
  static const CodeObject object = CodeObject::compile(LOCKSTEP_ASSEMBLY, R"(
.globl tail
.p2align 8
.type tail,@function
tail:
  s_load_b64 s[2:3], s[0:1], 0x0
  s_load_b128 s[4:7], s[0:1], 0x8
  s_waitcnt lgkmcnt(0)
  v_dual_mov_b32 v0, 0 :: v_dual_mov_b32 v1, s6
  global_store_b32 v0, v1, s[2:3]
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel tail
  .amdhsa_kernarg_size 20
  .amdhsa_user_sgpr_count 2
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 8
  .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
)",
                                                       "tail.s");
  auto out = device_.allocate<uint32_t>(1, "out");
  const uint64_t address = out.address();
  uint32_t segment[5] = {uint32_t(address), uint32_t(address >> 32), 1, 2, 3};
  Arguments a(object.kernel("tail"));
  a.set_raw(std::as_bytes(std::span(segment)));
  device_.run(object.kernel("tail"), a, {32}, {32});
  EXPECT_EQ(out[0], 3u);
}

TEST_P(EveryEngine, FaultSaysWhere) {
  auto x = device_.allocate<float>(1000, "x"), y = device_.allocate<float>(1024, "y");
  Arguments a(code().kernel("saxpy"));
  a.set(0, 1024u).set(1, 1.0f).set(2, x).set(3, y);
  Error e = error_of([&] { device_.run(code().kernel("saxpy"), a, {1024}, {256}); });
  EXPECT_EQ(e.status(), LOCKSTEP_FAULT);
  const lockstep_fault* f = device_.fault();
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->kind, LOCKSTEP_FAULT_MEMORY_VIOLATION);
  EXPECT_STREQ(f->kernel, "saxpy");
  EXPECT_EQ(f->work_group[0], 3u);
  EXPECT_EQ(f->wave, 7u);
  EXPECT_EQ(f->lane, 8);
  EXPECT_EQ(f->address, x.address() + 4000);
  EXPECT_EQ(f->bytes, 4u);
  EXPECT_NE(std::string(f->instruction).find("global_load_b32"), std::string::npos) << f->instruction;
  EXPECT_TRUE(std::string(f->file).ends_with("test.cl")) << f->file;
  EXPECT_EQ(f->line, 4u);
  EXPECT_TRUE(has(e, "lane 8") && has(e, "test.cl:4")) << e.what();
  // The device goes on.
  a.set(0, 1000u);
  device_.run(code().kernel("saxpy"), a, {1024}, {256});
  EXPECT_EQ(device_.fault(), nullptr);
}

TEST_P(EveryEngine, ProgressCanCancelAndLimitsEndAHang) {
  auto flag = device_.allocate<uint32_t>(1, "flag");
  Arguments a(code().kernel("spin"));
  a.set(0, flag);
  lockstep_dispatch_options o;
  lockstep_dispatch_options_init(&o);
  o.grid[0] = o.block[0] = 32;
  int calls = 0;
  o.progress_user = &calls;
  o.progress = [](void* user, const lockstep_progress* p) {
    EXPECT_EQ(p->work_groups_total, 1u);
    return ++*static_cast<int*>(user) == 2 ? 1 : 0;
  };
  Error e = error_of([&] { device_.run(code().kernel("spin"), a, o); });
  EXPECT_EQ(e.status(), LOCKSTEP_CANCELLED);
  EXPECT_EQ(calls, 2);
  o.progress = nullptr;
  o.instruction_limit = 1000;
  e = error_of([&] { device_.run(code().kernel("spin"), a, o); });
  EXPECT_EQ(e.status(), LOCKSTEP_FAULT);
  ASSERT_NE(device_.fault(), nullptr);
  EXPECT_EQ(device_.fault()->kind, LOCKSTEP_FAULT_HANG);
}

// The first report is due before the first piece is translated: a callback that wants all of them needs no
// time to pass.
TEST(Api, ProgressCanCancelATranslation) {
  const CodeObject code = CodeObject::compile(
      LOCKSTEP_OPENCL, "__kernel void fill(__global uint* x) { x[get_global_id(0)] = 7; }", "fill.cl");
  lockstep_device_options options;
  lockstep_device_options_init(&options);
  options.engine = LOCKSTEP_ENGINE_TRANSLATOR;
  Device device(&options);
  auto x = device.allocate<uint32_t>(64);
  Arguments a(code.kernel("fill"));
  a.set(0, x);
  lockstep_dispatch_options o;
  lockstep_dispatch_options_init(&o);
  o.grid[0] = 64;
  o.block[0] = 32;
  o.progress_interval = 0;
  o.progress = [](void*, const lockstep_progress* p) {
    EXPECT_EQ(p->work_groups_total, 2u);
    return 1;
  };
  EXPECT_EQ(error_of([&] { device.run(code.kernel("fill"), a, o); }).status(), LOCKSTEP_CANCELLED);
  EXPECT_EQ(x[0], 0u);
  o.progress = nullptr;
  device.run(code.kernel("fill"), a, o);
  EXPECT_EQ(x[63], 7u);
}

// The kernel ends if the limit is what it takes, on any number of threads, and not with one less.
TEST_P(EveryEngine, InstructionLimitIsExact) {
  constexpr uint32_t kGroups = 300;
  auto out = device_.allocate<uint32_t>(32 * kGroups, "out");
  Arguments a(code().kernel("count"));
  a.set(0, out);
  lockstep_dispatch_options o{};
  lockstep_dispatch_options_init(&o);
  o.grid[0] = 32 * kGroups;
  o.block[0] = 32;
  const uint64_t needed = device_.run(code().kernel("count"), a, o).wave_instructions;
  for (int round = 0; round < 20; ++round) {
    o.instruction_limit = needed;
    EXPECT_EQ(device_.run(code().kernel("count"), a, o).wave_instructions, needed);
    o.instruction_limit = needed - 1;
    EXPECT_EQ(error_of([&] { device_.run(code().kernel("count"), a, o); }).status(), LOCKSTEP_FAULT);
    o.instruction_limit = needed / 2;
    EXPECT_EQ(error_of([&] { device_.run(code().kernel("count"), a, o); }).status(), LOCKSTEP_FAULT);
  }
}

TEST_P(EveryEngine, VariablesOfTheCodeObject) {
  uint64_t address = 0, size = 0;
  lockstep::check(lockstep_device_symbol(device_.get(), code().get(), "counter", &address, &size));
  EXPECT_EQ(size, 4u);
  uint32_t value = 0;
  lockstep::check(lockstep_memory_read(device_.get(), address, &value, 4));
  EXPECT_EQ(value, 5u);
  value = 77;
  lockstep::check(lockstep_memory_write(device_.get(), address, &value, 4));
  auto out = device_.allocate<uint32_t>(32, "out");
  Arguments a(code().kernel("count"));
  a.set(0, out);
  device_.run(code().kernel("count"), a, {32}, {32});
  EXPECT_EQ(out[31], 77u);
}

INSTANTIATE_TEST_SUITE_P(Api, EveryEngine,
                         testing::Values(LOCKSTEP_ENGINE_INTERPRETER, LOCKSTEP_ENGINE_TRANSLATOR));

// The argument with the largest error of V_RCP_F32, after each other on devices that share nothing.
TEST(Api, FastMathIsRoundedBetter) {
  const CodeObject code = CodeObject::compile(
      LOCKSTEP_OPENCL, "__kernel void reciprocal(__global float* x) { x[0] = __builtin_amdgcn_rcpf(x[0]); }",
      "reciprocal.cl");
  const auto reciprocal = [&](lockstep_engine engine, lockstep_math math, std::string* note) {
    lockstep_device_options options;
    lockstep_device_options_init(&options);
    options.engine = engine;
    options.math = math;
    Device device(&options);
    lockstep::Buffer<uint32_t> x = device.allocate<uint32_t>(1);
    x[0] = 0x00837bf0;
    Arguments arguments(code.kernel("reciprocal"));
    arguments.set(0, x);
    lockstep_dispatch_options dispatch;
    lockstep_dispatch_options_init(&dispatch);
    lockstep_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    lockstep::check(lockstep_dispatch(device.get(), code.kernel("reciprocal").get(), arguments.get(),
                                      &dispatch, &statistics));
    *note = statistics.note;
    return x[0];
  };
  std::string note;
  EXPECT_EQ(reciprocal(LOCKSTEP_ENGINE_INTERPRETER, LOCKSTEP_MATH_EXACT, &note), 0x7e793766u);
  EXPECT_EQ(reciprocal(LOCKSTEP_ENGINE_INTERPRETER, LOCKSTEP_MATH_FAST, &note), 0x7e793765u);
  EXPECT_EQ(note, "");
  // The translator says that it stays exact.
  EXPECT_EQ(reciprocal(LOCKSTEP_ENGINE_TRANSLATOR, LOCKSTEP_MATH_FAST, &note), 0x7e793766u);
  EXPECT_NE(note.find("fast math"), std::string::npos) << note;
  lockstep_device_options options;
  lockstep_device_options_init(&options);
  options.math = static_cast<lockstep_math>(7);
  EXPECT_EQ(error_of([&] { Device device(&options); }).status(), LOCKSTEP_INVALID_ARGUMENT);
}

TEST(Api, ArgumentErrors) {
  Kernel k = code().kernel("saxpy");
  Device device;
  Arguments a(k);
  auto buffer = device.allocate<float>(16, "b");
  EXPECT_TRUE(has(error_of([&] { a.set("m", 1u); }), "n, a, x, y"));
  EXPECT_TRUE(has(error_of([&] { a.set(4, 1u); }), "takes 4 arguments"));
  EXPECT_TRUE(has(error_of([&] { a.set(0, 1.0f); }), "it is an integer"));
  EXPECT_TRUE(has(error_of([&] { a.set(1, 1u); }), "it is a float"));
  EXPECT_TRUE(has(error_of([&] { a.set(1, 1.0); }), "4 bytes"));
  EXPECT_TRUE(has(error_of([&] { a.set(2, 1u); }), "takes a buffer"));
  EXPECT_TRUE(has(error_of([&] { a.set(0, buffer); }), "does not take a buffer"));
  EXPECT_TRUE(has(error_of([&] { a.set_local(0, 4); }), "local memory"));
  a.set(0, 1u);
  Error e = error_of([&] { device.run(k, a, {1}, {1}); });
  EXPECT_EQ(e.status(), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_TRUE(has(e, "3 of 4 arguments are missing")) << e.what();
  Arguments other(code().kernel("count"));
  EXPECT_TRUE(has(error_of([&] { device.run(k, other, {1}, {1}); }), "another kernel"));
}

TEST(Api, ShapeErrors) {
  Device device;
  auto out = device.allocate<uint32_t>(32, "out");
  Kernel k = code().kernel("count");
  Arguments a(k);
  a.set(0, out);
  EXPECT_TRUE(has(error_of([&] { device.run(k, a, {0}, {1}); }), "the grid (0, 1, 1) is empty"));
  EXPECT_TRUE(has(error_of([&] { device.run(k, a, {1}, {1, 0}); }), "work-group (1, 0, 1) is empty"));
  EXPECT_TRUE(has(error_of([&] { device.run(k, a, {1}, {2048}); }), "1024"));
  EXPECT_TRUE(has(error_of([&] { device.run(k, a, {1}, {1024}); }), "at most 256"));
  EXPECT_TRUE(has(error_of([&] { device.run(k, a, {32}, {32}, 65537); }), "65536"));
}

TEST(Api, MemoryIsChecked) {
  Device device;
  std::vector<uint32_t> host(16, 1);
  auto b = device.allocate<uint8_t>(100, "mine");
  uint8_t byte = 9;
  EXPECT_EQ(lockstep_memory_write(device.get(), b.address() + 99, &byte, 1), LOCKSTEP_OK);
  EXPECT_EQ(b[99], 9);
  EXPECT_EQ(lockstep_memory_write(device.get(), b.address() + 100, &byte, 1), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lockstep_last_error()).find("'mine'"), std::string::npos) << lockstep_last_error();
  EXPECT_EQ(lockstep_memory_fill(device.get(), b.address(), 3, 100), LOCKSTEP_OK);
  EXPECT_EQ(b[50], 3);
  EXPECT_EQ(lockstep_memory_free(device.get(), b.address() + 1), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_memory_map(device.get(), host.data(), 64, LOCKSTEP_READ_WRITE, "host"), LOCKSTEP_OK);
  EXPECT_EQ(lockstep_memory_map(device.get(), host.data() + 1, 4, LOCKSTEP_READ, "twice"),
            LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_memory_unmap(device.get(), host.data()), LOCKSTEP_OK);
  EXPECT_EQ(lockstep_memory_unmap(device.get(), host.data()), LOCKSTEP_INVALID_ARGUMENT);
  uint64_t address;
  EXPECT_EQ(lockstep_memory_allocate(device.get(), 0, "none", &address), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_memory_allocate(device.get(), uint64_t{1} << 62, "huge", &address),
            LOCKSTEP_OUT_OF_MEMORY);
}

TEST(Api, HostMemoryWithoutRightsFaults) {
  Device device;
  std::vector<uint32_t> host(32, 1);
  lockstep::check(lockstep_memory_map(device.get(), host.data(), 128, LOCKSTEP_READ, "constant"));
  Arguments a(code().kernel("count"));
  a.set_address(0, reinterpret_cast<uint64_t>(host.data()));
  Error e = error_of([&] { device.run(code().kernel("count"), a, {32}, {32}); });
  EXPECT_EQ(e.status(), LOCKSTEP_FAULT);
  EXPECT_EQ(host[0], 1u);
}

TEST(Api, NullAndUnsetStructuresAreRefused) {
  EXPECT_EQ(lockstep_device_create(nullptr, nullptr), LOCKSTEP_INVALID_ARGUMENT);
  EXPECT_EQ(lockstep_code_object_open(nullptr, nullptr, nullptr), LOCKSTEP_INVALID_ARGUMENT);
  lockstep_kernel_info info{};
  EXPECT_EQ(lockstep_kernel_get_info(code().kernel("count").get(), &info), LOCKSTEP_INVALID_ARGUMENT);
  // A caller of an older version knows the first members only.
  info.struct_size = offsetof(lockstep_kernel_info, language);
  EXPECT_EQ(lockstep_kernel_get_info(code().kernel("count").get(), &info), LOCKSTEP_OK);
  EXPECT_STREQ(info.name, "count");
  EXPECT_EQ(info.language, nullptr);
  lockstep_device_options o{};
  lockstep_device* device = nullptr;
  EXPECT_EQ(lockstep_device_create(&o, &device), LOCKSTEP_INVALID_ARGUMENT);
  lockstep_device_options_init(&o);
  o.name = "voodoo2";
  EXPECT_EQ(lockstep_device_create(&o, &device), LOCKSTEP_NOT_FOUND);
  EXPECT_NE(std::string(lockstep_last_error()).find("navi31"), std::string::npos);
  lockstep_device_destroy(nullptr);
  lockstep_code_object_destroy(nullptr);
  lockstep_arguments_destroy(nullptr);
}

// A program that was built with the header of an older or a newer library.
TEST(Api, OptionsOfOtherVersions) {
  struct {
    lockstep_dispatch_options options;
    uint64_t later;
  } o;
  std::memset(&o, 0xee, sizeof o);
  constexpr size_t kOld = offsetof(lockstep_dispatch_options, dynamic_lds_bytes);
  lockstep_dispatch_options_init_sized(&o.options, kOld);
  EXPECT_EQ(o.options.struct_size, kOld);
  EXPECT_EQ(o.options.grid[0], 1u);
  EXPECT_EQ(o.options.dynamic_lds_bytes, 0xeeeeeeeeu);
  Device device;
  const Kernel kernel = code().kernel("count");
  auto out = device.allocate<uint32_t>(32, "out");
  Arguments a(kernel);
  a.set(0, out);
  // 0xeeeeeeee bytes of LDS would be refused.
  EXPECT_EQ(lockstep_dispatch(device.get(), kernel.get(), a.get(), &o.options, nullptr), LOCKSTEP_OK);
  lockstep_dispatch_options_init_sized(&o.options, sizeof o);
  EXPECT_EQ(o.later, 0u);
  EXPECT_EQ(lockstep_dispatch(device.get(), kernel.get(), a.get(), &o.options, nullptr), LOCKSTEP_OK);
  o.later = 1;
  EXPECT_EQ(lockstep_dispatch(device.get(), kernel.get(), a.get(), &o.options, nullptr),
            LOCKSTEP_UNSUPPORTED);
  EXPECT_NE(std::string(lockstep_last_error()).find("does not know"), std::string::npos);
}

TEST(Api, WrongDeviceIsRefused) {
  lockstep_device_options o;
  lockstep_device_options_init(&o);
  o.name = "navi33";
  Device device(&o);
  auto out = device.allocate<uint32_t>(32, "out");
  Arguments a(code().kernel("count"));
  a.set(0, out);
  Error e = error_of([&] { device.run(code().kernel("count"), a, {32}, {32}); });
  EXPECT_EQ(e.status(), LOCKSTEP_BAD_INPUT);
  EXPECT_TRUE(has(e, "gfx1102")) << e.what();
}

TEST(Api, CompileErrorsCarryTheCompilersWords) {
  Error e = error_of([] { CodeObject::compile(LOCKSTEP_OPENCL, "__kernel void f( {", "broken.cl"); });
  EXPECT_EQ(e.status(), LOCKSTEP_COMPILE_ERROR);
  EXPECT_TRUE(has(e, "broken.cl:1")) << e.what();
  e = error_of([] { CodeObject::compile(LOCKSTEP_ASSEMBLY, "v_nonsense v0", "broken.s"); });
  EXPECT_EQ(e.status(), LOCKSTEP_COMPILE_ERROR);
  EXPECT_TRUE(has(e, "broken.s:1")) << e.what();
}

TEST(Api, InspectsKernels) {
  ASSERT_EQ(code().kernels().size(), 4u);
  ASSERT_EQ(code().images().size(), 1u);
  EXPECT_STREQ(code().images()[0].target, "gfx1100");
  EXPECT_TRUE(code().images()[0].has_debug_info);
  EXPECT_TRUE(std::string_view(code().images()[0].compiler).find("clang version 19") !=
              std::string_view::npos)
      << code().images()[0].compiler;
  Kernel k = code().kernel("rotate");
  EXPECT_EQ(k.info().wave_size, 32u);
  EXPECT_EQ(k.info().argument_count, 3u);
  EXPECT_STREQ(k.arguments()[1].name, "scratch");
  EXPECT_EQ(k.arguments()[1].kind, LOCKSTEP_ARGUMENT_LOCAL);
  EXPECT_EQ(k.occupancy(nullptr, 256), 16u);
  EXPECT_EQ(k.occupancy(nullptr, 64, 65536), 1u);
  EXPECT_EQ(k.occupancy(nullptr, 64, 65537), 0u);
}

TEST(Api, FindsKernelsByTheNamesOfTheSource) {
  CodeObject hip =
      CodeObject::compile(LOCKSTEP_HIP,
                          "#include <hip/hip_runtime.h>\n"
                          "template <class T> __global__ void fill(T* p, T v) { p[threadIdx.x] = v; }\n"
                          "template __global__ void fill(float*, float);\n"
                          "template __global__ void fill(int*, int);\n"
                          "__global__ void plain(int* p) { *p = 1; }\n",
                          "names.hip");
  ASSERT_EQ(hip.kernels().size(), 3u);
  EXPECT_STREQ(hip.kernel("plain").info().name, "_Z5plainPi");
  EXPECT_STREQ(hip.kernel("plain(int*)").info().name, "_Z5plainPi");
  EXPECT_STREQ(hip.kernel("fill<float>").info().name, "_Z4fillIfEvPT_S0_");
  EXPECT_STREQ(hip.kernel("_Z4fillIiEvPT_S0_").info().readable_name, "void fill<int>(int*, int)");
  EXPECT_FALSE(hip.find_kernel("fill"));
  EXPECT_FALSE(hip.find_kernel("pla"));
}

TEST(Api, Disassembles) {
  struct Seen {
    std::vector<std::string> functions;
    std::string last;
    bool source = false;
    int invalid = 0;
  } seen;
  auto line = [](void* user, const lockstep_listing_line* l) {
    auto* s = static_cast<Seen*>(user);
    if (l->function) s->functions.push_back(l->function);
    s->last = l->text;
    s->source |= l->line == 4;
    s->invalid += *l->problem != 0;
    return 0;
  };
  lockstep::check(lockstep_code_object_disassemble(code().get(), "saxpy", line, &seen));
  EXPECT_EQ(seen.functions, std::vector<std::string>{"saxpy"});
  EXPECT_TRUE(seen.source);
  EXPECT_EQ(seen.invalid, 0);
  EXPECT_EQ(seen.last, "s_endpgm");
  EXPECT_EQ(lockstep_code_object_disassemble(code().get(), "absent", line, &seen), LOCKSTEP_NOT_FOUND);

  const uint8_t bytes[] = {0x01, 0x05, 0x0a, 0x06};
  char text[64];
  EXPECT_EQ(lockstep_disassemble(bytes, 4, 32, text, sizeof text), 4u);
  EXPECT_STREQ(text, "v_add_f32_e32 v5, v1, v2");
  EXPECT_EQ(lockstep_disassemble(bytes, 4, 32, text, 5), 4u);
  EXPECT_STREQ(text, "v_ad");
  EXPECT_EQ(lockstep_disassemble(bytes, 3, 32, text, sizeof text), 0u);
  EXPECT_EQ(lockstep_disassemble(bytes, 4, 48, text, sizeof text), 0u);
}

}  // namespace
