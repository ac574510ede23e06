#include "bench/other_kernels.h"
#include "bench/workload_parts.h"

namespace lockstep::bench {
namespace {

Workload make(const char* kernel, std::array<uint32_t, 2> grid, std::array<uint32_t, 2> group, Result kind) {
  return make(kOtherKernels, kernel, grid, group, kind);
}
Workload mirror_blur() {
  return with(make("mirror_blur", {k1M, 1}, {256, 1}, Result::floats), 1, random_floats(k1M, 1), Words(k1M),
              int(k1M));
}
Workload erode() {
  return with(make("erode", {1024, 512}, {16, 16}, Result::integers), 1, random_integers(k1M / 8, 1),
              Words(k1M / 8), 1024, 512);
}
Workload srad() {
  return with(make("srad", {512, 512}, {16, 16}, Result::floats), 5, random_floats(k1M / 4, 1),
              table(
                  512, +[](uint32_t i) { return i ? i - 1 : 0; }),
              table(
                  512, +[](uint32_t i) { return i < 511 ? i + 1 : 511; }),
              table(
                  512, +[](uint32_t i) { return i < 511 ? i + 1 : 511; }),
              table(512, +[](uint32_t i) { return i ? i - 1 : 0; }), Words(k1M / 4), 512, 512, 0.05f);
}
Workload layer() {
  return with(make("layer", {256, 2048}, {16, 16}, Result::floats), 2, random_floats(2048, 1),
              random_floats(2048 * 256, 2), Words(128 * 256), 256);
}
Workload lud_diagonal() {
  return with(make("lud_diagonal", {16 * 512, 1}, {16, 1}, Result::floats), 0, random_floats(256 * 512, 1),
              16);
}
Workload cfd_flux() {
  constexpr uint32_t n = 1 << 16;
  return with(make("cfd_flux", {n, 1}, {128, 1}, Result::floats), 3,
              table(
                  4 * n,
                  +[](uint32_t i) {
                    uint32_t h = i * 2654435761u;
                    return h % 37 == 0 ? ~0u : h % 41 == 0 ? ~1u : (i + (h >> 26)) % n;
                  }),
              random_floats(8 * n, 1), random_floats(4 * n, 2), Words(4 * n), int(n));
}
Workload near() {
  return with(make("near", {k1M, 1}, {256, 1}, Result::floats), 1, random_floats(2 * k1M, 1), Words(k1M),
              0.3f, 0.4f);
}
Workload atax() {
  return with(make("atax", {2048, 1}, {256, 1}, Result::floats), 2, random_floats(k1M, 1),
              random_floats(512, 1), Words(2048), 512, 2048);
}
Workload correlation() {
  return with(make("correlation", {256, 256}, {32, 8}, Result::floats), 1, random_floats(256 * 256, 1),
              Words(256 * 256), 256, 256);
}
Workload fdtd_h() {
  return with(make("fdtd_h", {1024, 1024}, {32, 8}, Result::floats), 2, random_floats(1025 * 1024, 1),
              random_floats(1025 * 1024, 2), random_floats(k1M, 3), 1024, 1024);
}
Workload twister() {
  return with(make("twister", {1u << 12, 1}, {128, 1}, Result::integers), 1, random_integers(1u << 12, 1),
              Words(64 << 12), 64);
}
Workload dct8() {
  return with(make("dct8", {512, 512}, {8, 8}, Result::floats), 1, random_floats(k1M / 4, 1), Words(k1M / 4),
              random_floats(64, 2), 512);
}
Workload radix_counts() {
  return with(make("radix_counts", {k1M / 8, 1}, {256, 1}, Result::integers), 1, random_integers(k1M, 1),
              Words(16 * 512), 4u);
}
Workload spmv_vector() {
  return with(make("spmv_vector", {128 * 2048, 1}, {128, 1}, Result::floats), 4, random_floats(8192 * 48, 1),
              random_integers(8192 * 48, 2, 8192),
              table(8193, +[](uint32_t i) { return i * 48; }), random_floats(8192, 3), Words(8192), 8192);
}
Workload ell() {
  return with(make("ell", {1 << 15, 1}, {256, 1}, Result::floats), 3, random_floats(16 << 15, 1),
              random_integers(16 << 15, 2, 1 << 15), random_floats(1 << 15, 3), Words(1 << 15), 1 << 15, 16);
}
Workload yuv() {
  return with(make("yuv", {k1M, 1}, {256, 1}, Result::integers), 1, random_integers(k1M, 1), Words(k1M));
}
Workload box_rgba() {
  return with(make("box_rgba", {512, 512}, {16, 16}, Result::integers), 1, random_integers(k1M / 4, 1),
              Words(k1M / 4), 512, 512, 2);
}
Workload base64() {
  return with(make("base64", {1 << 18, 1}, {64, 1}, Result::integers), 1, random_integers(3 << 16, 1),
              Words(1 << 18), random_integers(16, 2));
}
Workload march() {
  return with(make("march", {256, 256}, {8, 8}, Result::floats), 0, Words(256 * 256), 256);
}
Workload nbody_double() {
  return with(make("nbody_double", {1024, 1}, {64, 1}, Result::doubles), 1, random_doubles(4096, 1),
              Words(8192), 256);
}
Workload bigint() {
  return with(make("bigint", {1 << 15, 1}, {64, 1}, Result::integers), 2, random_integers(8 << 15, 1),
              random_integers(8 << 15, 2), Words(16 << 15), 1u << 15);
}
Workload primes() {
  return with(make("primes", {1 << 14, 1}, {64, 1}, Result::integers), 0, Words(1 << 14), 1000000u);
}
Workload hamming() {
  return with(make("hamming", {1 << 15, 1}, {256, 1}, Result::integers), 2, random_integers(8 << 15, 1),
              random_integers(256, 2), Words(1 << 15), 1u << 15);
}
Workload relax() {
  return with(make("relax", {1 << 18, 1}, {256, 1}, Result::integers), 3,
              random_integers(1 << 18, 1, 1 << 15), random_integers(1 << 18, 2, 1 << 15),
              random_integers(1 << 18, 3, 100), Words(1 << 15));
}
Workload newton() {
  return with(make("newton", {256, 256}, {16, 16}, Result::integers), 0, Words(256 * 256), 256);
}
Workload insertion() {
  return with(make("insertion", {1 << 13, 1}, {64, 1}, Result::floats), 1, random_floats(64 << 13, 1),
              Words(8 << 13), 64u);
}
Workload rle() {
  return with(make("rle", {k1M, 1}, {256, 1}, Result::integers), 1,
              table(k1M, +[](uint32_t i) { return (i * 7 / 31) & 255; }), Words(k1M), k1M);
}
Workload scan_rows() {
  return with(make("scan_rows", {1024, 1}, {64, 1}, Result::floats), 1, random_floats(k1M, 1), Words(k1M),
              1024);
}
Workload pixel_index() {
  return with(make("pixel_index", {k1M, 1}, {256, 1}, Result::integers), 2, random_integers(k1M, 1),
              random_integers(256, 2), Words(k1M), 1000u);
}

}  // namespace

std::span<const WorkloadMaker> other_workloads() {
  static const WorkloadMaker kMakers[] = {
      {"mirror_blur", mirror_blur},
      {"erode", erode},
      {"srad", srad},
      {"layer", layer},
      {"lud_diagonal", lud_diagonal},
      {"cfd_flux", cfd_flux},
      {"near", near},
      {"atax", atax},
      {"correlation", correlation},
      {"fdtd_h", fdtd_h},
      {"twister", twister},
      {"dct8", dct8},
      {"radix_counts", radix_counts},
      {"spmv_vector", spmv_vector},
      {"ell", ell},
      {"yuv", yuv},
      {"box_rgba", box_rgba},
      {"base64", base64},
      {"march", march},
      {"nbody_double", nbody_double},
      {"bigint", bigint},
      {"primes", primes},
      {"hamming", hamming},
      {"relax", relax},
      {"newton", newton},
      {"insertion", insertion},
      {"rle", rle},
      {"scan_rows", scan_rows},
      {"pixel_index", pixel_index},
  };
  return kMakers;
}

}  // namespace lockstep::bench
