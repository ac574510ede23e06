// What translating long kernels costs, by stage, in processor time: LLVM's part of it by its passes, too.
#include <llvm/IR/PassTimingInfo.h>
#include <llvm/Pass.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "bench/kernels.h"
#include "engine/translator/code_generator.h"
#include "engine/translator/hot_loops.h"
#include "engine/translator/jit.h"
#include "engine/translator/large_stack.h"
#include "engine/translator/liveness.h"
#include "engine/translator/stopwatch.h"
#include "loader/code_object.h"
#include "machine/kernel.h"
#include "toolchain/compile.h"

namespace lockstep::bench {
namespace {

using translator::Facts;
using translator::Object;
using translator::Routine;
using translator::Stages;

// Five thousand instructions each, but for the last two: integers and LDS, global memory at places of all
// kinds, doubles; a short loop between long straight lines.
constexpr const char* kLongKernels = R"(
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define FOUR(X) X X X X
#define SIXTEEN(X) FOUR(FOUR(X))

#define MIX                                                              \
  a ^= b << 13; b += a * 0x9e3779b1u; c = rotate(c ^ b, 7u);             \
  tile[(l * 5 + (c & 3)) & 511] = a; d += tile[(l + 17) & 511] ^ c;      \
  a += d > b ? c : d; b ^= tile[b & 511]; c = max(c, a) - min(b, d);     \
  d = popcount(a) + mad24(b, c, d); tile[l + (d & 255)] += d >> 3;
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void integers(__global uint* restrict data, uint n) {
  __local uint tile[512];
  uint l = get_local_id(0), i = get_global_id(0), a = data[i], b = i, c = n, d = ~i;
  tile[l] = a;
  tile[l + 256] = b;
  barrier(CLK_LOCAL_MEM_FENCE);
  SIXTEEN(FOUR(MIX MIX) barrier(CLK_LOCAL_MEM_FENCE);)
  data[i] = a ^ b ^ c ^ d;
}

#define TOUCH                                                            \
  x = x * 1.0625f + f[j]; y += f[i + 64] * x; k = next[k];               \
  f[n + k] = x - y; j = j * 5 + 1 & n - 1; y = fma(x, f[j * 4 + 2], y);  \
  if (k & 4) out[i] += y; i += 256; x += convert_float(bytes[i * 3 + 1]);
__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void accesses(__global float* restrict f, __global const uint* restrict next, __global float* out,
              __global const uchar* bytes, uint n) {
  uint i = get_global_id(0), j = i, k = i;
  float x = i, y = 1;
  SIXTEEN(FOUR(TOUCH))
  out[i] = x + y;
}

__kernel void doubles(__global const double* restrict in, __global double* restrict out) {
  uint i = get_global_id(0);
  double x = in[i], y = sin(x) + exp(x) + log(x) + pow(x, 1.5) + atan2(x, 2.0) + cbrt(x) + tgamma(x);
  out[i] = y + tan(x * 0.5) + sinh(x) + asin(0.1 * x) + erf(x) + log1p(x) + acosh(x + 2) + cosh(y);
}

__kernel void loop_between(__global const double* restrict in, __global double* restrict out, uint n) {
  uint i = get_global_id(0);
  double x = in[i], y = sin(x) + exp(x) + log(x) + pow(x, 1.5) + atan2(x, 2.0) + cbrt(x) + tgamma(x);
  uint s = i;
  float z = y;
  #pragma unroll 1
  for (uint k = 0; k < n; ++k) {
    s = s * 1664525u + 1013904223u ^ s >> 7;
    z = fma(z, 0.75f, convert_float(s >> 8) * 0x1p-24f);
  }
  x = z;
  out[i] = y + tan(x * 0.5) + sinh(x) + asin(0.1 * x) + erf(x) + log1p(x) + acosh(x + 2) + cosh(y);
}
)";

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Cost {
  double find = 0, analyse = 0;
  Stages stages;
  size_t instructions = 0, pieces = 0, host_bytes = 0, most_in_piece = 0;
  double total() const { return find + analyse + stages.total(); }
};

Cost translate(const std::vector<CodeRange>& code, uint64_t entry, const std::string& processor) {
  Cost cost;
  translator::on_large_stack([&] {
    translator::Stopwatch watch;
    const Routine routine = translator::find_routine(code, entry, 32, kMaxVgprs);
    cost.find = watch.lap();
    const Facts facts = translator::analyse(routine);
    cost.analyse = watch.lap();
    cost.instructions = routine.nodes.size();
    cost.pieces = routine.pieces.size();
    unsigned slot = 0;
    for (unsigned piece = 0; piece < routine.pieces.size(); ++piece) {
      Object object = translator::generate(routine, facts, piece, slot, processor);
      slot = object.next_slot;
      if (processor.empty()) const translator::LoadedCode loaded(object);
      cost.stages += object.stages;
      cost.host_bytes += object.code_bytes;
    }
  });
  return cost;
}

// The least of several.
Cost measure(const std::vector<CodeRange>& code, uint64_t entry, const std::string& processor,
             unsigned rounds) {
  Cost least;
  for (unsigned round = 0; round < rounds; ++round) {
    const Cost cost = translate(code, entry, processor);
    if (round == 0 || cost.total() < least.total()) least = cost;
  }
  return least;
}

void print(const std::string& name, const Cost& cost) {
  const auto ms = [](double seconds) { return 1000 * seconds; };
  std::printf("| %s | %zu | %zu | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f | %.0f | %.2f | %zu |\n",
              name.c_str(), cost.instructions, cost.pieces, ms(cost.find + cost.analyse),
              ms(cost.stages.emit), ms(cost.stages.import), ms(cost.stages.optimise),
              ms(cost.stages.generate), ms(cost.stages.link), ms(cost.total()),
              ms(cost.total()) / static_cast<double>(cost.instructions), cost.host_bytes / 1000);
  std::fflush(stdout);
}

// The loops that are translated before the whole, as their waves would make them hot.
std::vector<translator::Loop> loops_of(const Routine& routine) {
  translator::HotLoops loops(routine, 1);
  std::vector<translator::Loop> found;
  for (const translator::Block& block : routine.blocks)
    while (const translator::Loop* loop = loops.add(block.offset, 1u << 20)) found.push_back(*loop);
  return found;
}

void measure_kernel(const std::string& source, const std::string& kernel_name, const std::string& processor,
                    unsigned rounds) {
  toolchain::Options options;
  options.optimization = 3;
  const toolchain::Result compiled =
      toolchain::compile_text(toolchain::Language::opencl, source, "kernels.cl", options);
  if (!compiled) throw std::runtime_error(compiled.diagnostics);
  auto object = loader::CodeObject::parse(compiled.code_object, "kernels.co");
  if (!object) throw std::runtime_error(object.error().message());
  AddressSpace memory;
  auto loaded = machine::LoadedCode::load(std::move(*object), memory);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  const loader::Kernel* kernel = (*loaded)->object().find_kernel(kernel_name);
  if (!kernel) throw std::runtime_error("no kernel " + kernel_name);
  const std::vector<CodeRange> code = (*loaded)->code();
  const uint64_t entry = (*loaded)->loaded_address(kernel->entry_address);
  for (const translator::Loop& loop : loops_of(translator::find_routine(code, entry, 32, kMaxVgprs))) {
    const uint64_t begin = entry + static_cast<uint64_t>(loop.begin),
                   end = entry + static_cast<uint64_t>(loop.end);
    print(kernel_name + ", a loop of it", measure({{begin, end}}, begin, processor, rounds));
  }
  print(kernel_name, measure(code, entry, processor, rounds));
}

}  // namespace
}  // namespace lockstep::bench

int main(int argc, char** argv) {
  using namespace lockstep;
  CLI::App app{"what the translation of long kernels costs, in milliseconds of processor time"};
  std::string only, processor;
  std::vector<std::string> short_kernels;
  unsigned rounds = 3;
  bool passes = false;
  app.add_option("--only", only, "kernels whose name has this in it");
  app.add_option("--kernels", short_kernels, "kernels of bench/kernels.h instead of the long ones")
      ->delimiter(',');
  app.add_option("--processor", processor,
                 "as LLVM names it, such as x86-64-v3; the host's if it is not given");
  app.add_option("--rounds", rounds, "of which the least counts");
  app.add_flag("--passes", passes, "print what each of LLVM's passes took at the end");
  CLI11_PARSE(app, argc, argv);
  try {
    llvm::TimePassesIsEnabled = passes;
    std::puts(
        "| kernel | instructions | pieces | analyses | emission | import | optimisation | generation | "
        "linking | "
        "all | each | host kB |\n|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (const std::string& kernel : short_kernels)
      bench::measure_kernel(bench::kKernels, kernel, processor, rounds);
    const std::string math = bench::text_of(LOCKSTEP_SOURCE_DIR "/examples/math/math.cl");
    for (const char* kernel : {"integers", "accesses", "doubles", "loop_between", "math_f32"})
      if (short_kernels.empty() && std::string(kernel).find(only) != std::string::npos)
        bench::measure_kernel(kernel == std::string("math_f32") ? math : bench::kLongKernels, kernel,
                              processor, rounds);
    if (passes) llvm::reportAndResetTimings();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
