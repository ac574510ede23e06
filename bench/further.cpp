#include "bench/further_kernels.h"
#include "bench/workload_parts.h"

namespace lockstep::bench {
namespace {

Workload make(const char* kernel, std::array<uint32_t, 2> grid, std::array<uint32_t, 2> group, Result kind) {
  return make(kFurtherKernels, kernel, grid, group, kind);
}

Workload kmeans() {
  return with(make("kmeans", {1u << 15, 1}, {256, 1}, Result::integers), 2, random_floats(8 << 15, 1),
              random_floats(8 * 32, 2), Words(1u << 15), 1u << 15, 32u, 8u);
}
Workload hotspot() {
  return with(make("hotspot", {1024, 1024}, {16, 16}, Result::floats), 2, random_floats(k1M, 1),
              random_floats(k1M, 2), Words(k1M), 1024, 1024, 0.1f, 0.2f, 0.05f);
}
Workload lbm() {
  return with(make("lbm", {1u << 18, 1}, {64, 1}, Result::floats), 1, random_floats(9 << 18, 1),
              Words(9 << 18), 512, 512, 0.7f);
}
Workload align() {
  return with(make("align", {32 * 512, 1}, {32, 1}, Result::integers), 1, random_integers(1024 * 512, 1),
              Words(1024 * 512), 32, 2);
}
Workload dot_partial() {
  return with(make("dot_partial", {256 * 64, 1}, {256, 1}, Result::floats), 2, random_floats(k1M * 4, 1),
              random_floats(k1M * 4, 2), Words(64), k1M);
}
Workload julia() {
  return with(make("julia", {512, 512}, {16, 16}, Result::integers), 0, Words(512 * 512), 512, -0.7f, 0.27f,
              200);
}
Workload levenshtein() {
  return with(make("levenshtein", {1u << 14, 1}, {64, 1}, Result::integers), 2, random_integers(1u << 16, 1),
              random_integers(4, 2), Words(1u << 14), 16u);
}
Workload keccak() {
  return with(make("keccak", {1u << 13, 1}, {64, 1}, Result::integers), 0, Words(2u << 13),
              uint64_t{0x9e3779b97f4a7c15});
}
Workload gauss() {
  return with(make("gauss", {1u << 14, 1}, {256, 1}, Result::floats), 0, Words(2u << 14), 77u, 64u);
}
Workload heat3d() {
  Workload w = with(make("heat3d", {96, 96}, {32, 4}, Result::doubles), 1, random_doubles(98 * 98 * 98, 1),
                    Words(2 * 98 * 98 * 98), 98, 0.1f);
  w.dimensions = 3;
  w.grid[2] = 96;
  w.group[2] = 2;
  return w;
}
Workload blur_row() {
  return with(make("blur_row", {512, 512}, {64, 4}, Result::integers), 1, random_integers(512 * 512, 1),
              Words(512 * 512), table(13, +[](uint32_t) { return bits(1.0f / 13); }), 512, 6);
}
Workload frontier() {
  constexpr uint32_t n = 1u << 17;
  return with(make("frontier", {n, 1}, {256, 1}, Result::integers), 3,
              table(
                  n + 1, +[](uint32_t i) { return i * 8; }),
              random_integers(n * 8, 1, n), random_integers(n, 2), Words(n), Words(n), n);
}
Workload inverse4() {
  return with(make("inverse4", {1u << 15, 1}, {64, 1}, Result::floats), 1, random_floats(16 << 15, 1),
              Words(16 << 15));
}
Workload perlin() {
  return with(make("perlin", {512, 512}, {16, 16}, Result::floats), 1, random_integers(512, 1, 256),
              Words(512 * 512), 512, 0.013f, 4);
}
Workload median() {
  return with(make("median", {1024, 1024}, {32, 8}, Result::integers), 1, random_integers(k1M / 4, 1),
              Words(k1M / 4), 1024, 1024);
}
Workload gcds() {
  return with(make("gcds", {1u << 16, 1}, {64, 1}, Result::integers), 2, random_integers(1u << 16, 1),
              random_integers(1u << 16, 2), Words(1u << 16));
}
Workload fnv() {
  return with(make("fnv", {1u << 15, 1}, {128, 1}, Result::integers), 2,
              table((1u << 15) + 1, +[](uint32_t i) { return i * 24 + (i * 2654435761u >> 28); }),
              random_integers(1u << 18, 2), Words(1u << 15), 1u << 15);
}
Workload chase() {
  return with(make("chase", {1u << 14, 1}, {64, 1}, Result::integers), 1,
              random_integers(1u << 16, 1, 1u << 16), Words(1u << 14), 64u);
}
Workload gelu() {
  return with(make("gelu", {k1M, 1}, {256, 1}, Result::floats), 1, random_floats(k1M, 1), Words(k1M));
}
Workload attention() {
  return with(make("attention", {1u << 11, 1}, {64, 1}, Result::floats), 3, random_floats(16 << 11, 1),
              random_floats(16 * 256, 2), random_floats(16 * 256, 3), Words(16 << 11), 256u);
}
Workload enlarge() {
  return with(make("enlarge", {1024, 512}, {16, 16}, Result::floats), 1, random_floats(4 * 512 * 256, 1),
              Words(4 * 1024 * 512), 512, 256, 0.499f);
}
Workload merge_step() {
  return with(make("merge_step", {k1M, 1}, {256, 1}, Result::integers), 0, random_integers(2 * k1M, 1), 64u,
              1024u);
}
Workload hgemm() {
  return with(make("hgemm", {256, 256}, {16, 16}, Result::integers), 2,
              table(
                  k1M / 8, +[](uint32_t i) { return 0x30003000u + ((i * 2654435761u >> 7) & 0x0fff0fffu); }),
              table(
                  k1M / 8, +[](uint32_t i) { return 0x30003000u + ((i * 2654435761u >> 9) & 0x0fff0fffu); }),
              Words(k1M / 8), 256);
}
Workload rotations() {
  return with(make("rotations", {1u << 15, 1}, {64, 1}, Result::floats), 1, random_floats(9 << 15, 1),
              Words(3 << 15), 1u << 15);
}

}  // namespace

std::span<const WorkloadMaker> further_workloads() {
  static const WorkloadMaker kMakers[] = {
      {"kmeans", kmeans},
      {"hotspot", hotspot},
      {"lbm", lbm},
      {"align", align},
      {"dot_partial", dot_partial},
      {"julia", julia},
      {"levenshtein", levenshtein},
      {"keccak", keccak},
      {"gauss", gauss},
      {"heat3d", heat3d},
      {"blur_row", blur_row},
      {"frontier", frontier},
      {"inverse4", inverse4},
      {"perlin", perlin},
      {"median", median},
      {"gcds", gcds},
      {"fnv", fnv},
      {"chase", chase},
      {"gelu", gelu},
      {"attention", attention},
      {"enlarge", enlarge},
      {"merge_step", merge_step},
      {"hgemm", hgemm},
      {"rotations", rotations},
  };
  return kMakers;
}

}  // namespace lockstep::bench
