#include "bench/more_kernels.h"
#include "bench/workload_parts.h"

namespace lockstep::bench {
namespace {

constexpr uint32_t k64K = 1u << 16;

Workload make(const char* kernel, std::array<uint32_t, 2> grid, std::array<uint32_t, 2> group, Result kind) {
  return make(kMoreKernels, kernel, grid, group, kind);
}
Workload binomial() {
  return with(make("binomial", {128 * 64, 1}, {128, 1}, Result::floats), 1, random_floats(64, 1), Words(64),
              127);
}
Workload chacha() {
  return with(make("chacha", {k64K, 1}, {64, 1}, Result::integers), 1, random_integers(8, 1),
              Words(16 * k64K));
}
Workload xxhash() {
  return with(make("xxhash", {k64K, 1}, {256, 1}, Result::integers), 1, random_integers(16 * k64K, 1),
              Words(2 * k64K));
}
Workload layer_norm() {
  return with(make("layer_norm", {256 * 1024, 1}, {256, 1}, Result::floats), 2, random_floats(k1M, 1),
              random_floats(1024, 2), Words(k1M));
}
Workload rope() {
  return with(make("rope", {64, 2048}, {64, 1}, Result::floats), 1, random_floats(128 * 2048, 1),
              Words(128 * 2048), 128);
}
Workload q4_rows() {
  return with(make("q4_rows", {4096, 1}, {64, 1}, Result::floats), 3, random_integers(4096 * 32 * 4, 1),
              random_floats(4096 * 32, 2), random_floats(1024, 3), Words(4096), 32);
}
Workload max_pool() {
  return with(make("max_pool", {512, 512}, {16, 16}, Result::floats), 1, random_floats(k1M, 1),
              Words(k1M / 4), 1024);
}
Workload im2col() {
  return with(make("im2col", {k64K * 2, 1}, {256, 1}, Result::floats), 1, random_floats(2 * k64K, 1),
              Words(18 * k64K), 512, 256);
}
Workload argmax() {
  return with(make("argmax", {64 * 1024, 1}, {64, 1}, Result::integers), 1, random_floats(k1M, 1),
              Words(1024), 1024);
}
Workload hilbert() {
  return with(make("hilbert", {k1M / 4, 1}, {256, 1}, Result::integers), 0, Words(k1M / 4), 512u);
}
Workload morton() {
  return with(make("morton", {k1M / 4, 1}, {256, 1}, Result::integers), 1, random_floats(3 * k1M / 4, 1),
              Words(k1M / 4));
}
Workload kmp() {
  return with(make("kmp", {4096, 1}, {64, 1}, Result::integers), 3,
              table(
                  k1M / 4, +[](uint32_t i) { return 0x61616161u + (i * 2654435761u >> 9 & 0x01010101u); }),
              Words{0x61616261u, 0x61626161u}, Words{0, 1, 0, 1, 2, 3, 4, 5}, Words(4096), 256, 7);
}
Workload odd_even() {
  return with(make("odd_even", {k1M / 2, 1}, {256, 1}, Result::integers), 1, random_integers(k1M, 1),
              Words(k1M), k1M);
}
Workload bezier() {
  return with(make("bezier", {512, 256}, {16, 16}, Result::floats), 1, random_floats(64, 1), Words(8 * k64K));
}
Workload hough() {
  return with(make("hough", {512 * 512, 1}, {256, 1}, Result::integers), 1, random_integers(k64K, 1),
              Words(k64K), random_floats(64, 2), random_floats(64, 3), 512);
}
Workload nlm() {
  return with(make("nlm", {256, 256}, {16, 16}, Result::floats), 1, random_floats(264 * 264, 1), Words(k64K),
              264, 4.0f);
}
Workload dxt() {
  return with(make("dxt", {256, 256}, {64, 1}, Result::integers), 1, random_integers(k1M, 1), Words(2 * k64K),
              1024);
}
Workload volume() {
  return with(make("volume", {256, 256}, {8, 8}, Result::floats), 1, random_floats(64 * 64 * 64, 1),
              Words(k64K), 64);
}
Workload segmented() {
  return with(make("segmented", {k1M / 4, 1}, {256, 1}, Result::floats), 2, random_floats(k1M / 4, 1),
              random_integers(k1M / 4, 2), Words(k1M / 4));
}
Workload cholesky() {
  return with(make("cholesky", {1 << 14, 1}, {64, 1}, Result::floats), 1, random_floats(36 << 14, 1),
              Words(36 << 14), 1 << 14);
}
Workload page_rank() {
  return with(make("page_rank", {k64K, 1}, {128, 1}, Result::floats), 4,
              table(
                  k64K + 1, +[](uint32_t i) { return i * 8 + (i * 2654435761u >> 29); }),
              random_integers(9 * k64K, 1, k64K), random_floats(k64K, 2),
              table(k64K, +[](uint32_t i) { return 1 + (i * 2654435761u >> 28); }), Words(k64K));
}
Workload components() {
  return with(make("components", {1024, 512}, {16, 16}, Result::integers), 2, random_integers(k1M / 2, 1),
              table(
                  k1M / 8, +[](uint32_t i) { return i * 2654435761u >> 9 & 0x01010101u; }),
              Words(k1M / 2), 1024, 512);
}
Workload spline() {
  return with(make("spline", {k1M / 2, 1}, {256, 1}, Result::floats), 2, random_floats(k1M / 2, 1),
              random_floats(1024, 2), Words(k1M / 2), 256);
}
Workload hsv() {
  return with(make("hsv", {k1M / 4, 1}, {256, 1}, Result::floats), 1, random_integers(k1M / 4, 1),
              Words(k1M));
}
Workload lennard_jones() {
  return with(make("lennard_jones", {1 << 14, 1}, {128, 1}, Result::floats), 2, random_floats(4 << 14, 1),
              table(
                  32 << 14, +[](uint32_t i) { return ((i & 0x3fff) + (i * 2654435761u >> 24)) & 0x3fff; }),
              Words(4 << 14), 1 << 14, 32);
}
Workload mod_power() {
  return with(make("mod_power", {k64K, 1}, {256, 1}, Result::integers), 1, random_integers(k64K, 1),
              Words(2 * k64K), uint64_t{3000000019}, 188993u);
}
Workload digit_sums() {
  return with(make("digit_sums", {k64K, 1}, {256, 1}, Result::integers), 1, random_integers(2 * k64K, 1),
              Words(k64K));
}
Workload field_step() {
  return with(make("field_step", {k1M / 4, 1}, {256, 1}, Result::integers), 0, random_integers(k1M, 1),
              random_integers(128, 2), 64u);
}
Workload byte_gemm() {
  return with(make("byte_gemm", {256, 256}, {16, 16}, Result::integers), 2, random_integers(k64K / 4, 1),
              random_integers(k64K / 4, 2), Words(k64K), 256);
}
Workload double_gemm() {
  return with(make("double_gemm", {256, 256}, {16, 16}, Result::doubles), 2, random_doubles(k64K, 1),
              random_doubles(k64K, 2), Words(2 * k64K), 256);
}
Workload logistic() {
  return with(make("logistic", {k64K, 1}, {256, 1}, Result::doubles), 1, random_doubles(k64K, 1),
              Words(2 * k64K), 100);
}
Workload colours() {
  return with(make("colours", {k64K, 1}, {256, 1}, Result::integers), 4,
              table(
                  k64K + 1, +[](uint32_t i) { return i * 6 + (i * 2654435761u >> 30); }),
              random_integers(7 * k64K, 1, k64K), random_integers(k64K, 2, 1000000),
              table(k64K, +[](uint32_t i) { return i * 2654435761u >> 30 ? ~0u : 3u; }), Words(k64K));
}

}  // namespace

std::span<const WorkloadMaker> more_workloads() {
  static const WorkloadMaker kMakers[] = {
      {"binomial", binomial},
      {"chacha", chacha},
      {"xxhash", xxhash},
      {"layer_norm", layer_norm},
      {"rope", rope},
      {"q4_rows", q4_rows},
      {"max_pool", max_pool},
      {"im2col", im2col},
      {"argmax", argmax},
      {"hilbert", hilbert},
      {"morton", morton},
      {"kmp", kmp},
      {"odd_even", odd_even},
      {"bezier", bezier},
      {"hough", hough},
      {"nlm", nlm},
      {"dxt", dxt},
      {"volume", volume},
      {"segmented", segmented},
      {"cholesky", cholesky},
      {"page_rank", page_rank},
      {"components", components},
      {"spline", spline},
      {"hsv", hsv},
      {"lennard_jones", lennard_jones},
      {"mod_power", mod_power},
      {"digit_sums", digit_sums},
      {"field_step", field_step},
      {"byte_gemm", byte_gemm},
      {"double_gemm", double_gemm},
      {"logistic", logistic},
      {"colours", colours},
  };
  return kMakers;
}

}  // namespace lockstep::bench
