// Cost of one chunk (16 lanes) of the numeric operations that kernels meet often.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "numeric/arithmetic.h"
#include "numeric/convert.h"
#include "numeric/dot.h"
#include "numeric/transcendental.h"

namespace lockstep::numeric {
namespace {

constexpr size_t kChunks = 64;

template <class Float>
std::vector<Float> inputs(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(0.01f, 100.0f);
  std::vector<Float> chunks(kChunks);
  for (auto& chunk : chunks) {
    for (unsigned lane = 0; lane < kLanesPerChunk; ++lane) {
      chunk[lane] = static_cast<typename Layout<Float>::Scalar>(value(random));
    }
  }
  return chunks;
}

template <class Float, class Operation>
void run(benchmark::State& state, Operation operation) {
  const auto a = inputs<Float>(1);
  const auto b = inputs<Float>(2);
  const auto c = inputs<Float>(3);
  size_t i = 0;
  for (auto _ : state) {
    auto result = operation(a[i], b[i], c[i]);
    benchmark::DoNotOptimize(result);
    i = (i + 1) % kChunks;
  }
}

constexpr uint32_t kFlushF32 = 0x3c0;
constexpr uint32_t kTowardZero = 0x3ff;

#define LOCKSTEP_BENCH(name, Float, expression)       \
  void bench_##name(benchmark::State& state) {        \
    run<Float>(state, [](Float a, Float b, Float c) { \
      (void)b, (void)c;                               \
      return expression;                              \
    });                                               \
  }                                                   \
  BENCHMARK(bench_##name)->Name(#name);

// A mode that the compiler cannot see through, as in the interpreter.
RuntimeFloatMode opaque(uint32_t mode) {
  benchmark::DoNotOptimize(mode);
  return RuntimeFloatMode{mode};
}

LOCKSTEP_BENCH(add_f32, F32, add(a, b, DefaultFloatMode{}))
LOCKSTEP_BENCH(fma_f32, F32, numeric::fma(a, b, c, DefaultFloatMode{}))
LOCKSTEP_BENCH(fma_f32_flushing, F32, numeric::fma(a, b, c, opaque(kFlushF32)))
LOCKSTEP_BENCH(fma_f32_toward_zero, F32, numeric::fma(a, b, c, opaque(kTowardZero)))
LOCKSTEP_BENCH(fma_f16, F16, numeric::fma(a, b, c, DefaultFloatMode{}))
LOCKSTEP_BENCH(fma_f64, F64, numeric::fma(a, b, c, DefaultFloatMode{}))
LOCKSTEP_BENCH(min_f32, F32, numeric::min(a, b, DefaultFloatMode{}))
LOCKSTEP_BENCH(med3_f32, F32, med3(a, b, c, DefaultFloatMode{}))
LOCKSTEP_BENCH(ldexp_f32, F32, numeric::ldexp(a, convert<I32>(b), DefaultFloatMode{}))
LOCKSTEP_BENCH(cvt_i32_f32, F32, f32_to_i32(a))
LOCKSTEP_BENCH(rcp_f32, F32, rcp(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(rsq_f32, F32, rsq(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(sqrt_f32, F32, numeric::sqrt(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(exp2_f32, F32, numeric::exp2(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(log2_f32, F32, numeric::log2(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(sin_f32, F32, numeric::sin(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(rcp_f16, F16, rcp(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(sqrt_f64, F64, numeric::sqrt(a, DefaultFloatMode{}))
LOCKSTEP_BENCH(dot2_f32_f16, F16, dot2_f32_f16(a, b, b, c, F32(1.0f), DefaultFloatMode{}))

}  // namespace
}  // namespace lockstep::numeric
