#include <cmath>

#include "bench/everyday_kernels.h"
#include "bench/workload_parts.h"

namespace lockstep::bench {
namespace {

Workload make(const char* kernel, std::array<uint32_t, 2> grid, std::array<uint32_t, 2> group, Result kind) {
  return make(kEverydayKernels, kernel, grid, group, kind);
}

Workload floyd() {
  return with(make("floyd", {1024, 1024}, {16, 16}, Result::integers), 0, random_integers(k1M, 50, 1000),
              1024, 7);
}
Workload lu_step() {
  return with(make("lu_step", {1024, 1024}, {16, 16}, Result::floats), 0, random_floats(k1M, 51), 1024, 3);
}
Workload bilateral() {
  return with(make("bilateral", {512, 512}, {16, 16}, Result::integers), 1, random_integers(512 * 512, 52),
              Words(512 * 512), 512, 512, 0.001f);
}
Workload sobel() {
  return with(make("sobel", {2048, 2048}, {16, 16}, Result::integers), 1, random_integers(k1M, 53),
              Words(k1M), 2048, 2048);
}
Workload life() {
  const auto cell = [](uint32_t i) { return (i * 2654435761u >> 13) & 0x01010101u; };
  return with(make("life", {2048, 2048}, {32, 8}, Result::integers), 1, table(k1M, cell), Words(k1M), 2048,
              2048);
}
Workload permute() {
  return with(make("permute", {4 * k1M, 1}, {256, 1}, Result::floats), 2, random_floats(k1M, 54),
              random_integers(4 * k1M, 55, k1M), Words(4 * k1M));
}
Workload scatter() {
  // Each place once, so that no order of work-items shows.
  const auto place = [](uint32_t i) { return i * 2654435761u & (k1M - 1); };
  return with(make("scatter", {k1M, 1}, {256, 1}, Result::floats), 2, random_floats(k1M, 56),
              table(k1M, place), Words(k1M));
}
Workload count_bytes() {
  return with(make("count_bytes", {k1M / 64, 1}, {256, 1}, Result::integers), 1, random_integers(k1M / 4, 57),
              Words(256), 64u);
}
Workload compact() {
  return with(make("compact", {k1M, 1}, {256, 1}, Result::integers), 2, random_integers(k1M, 58), Words(k1M),
              Words(1), 0xc0000000u);
}
Workload monte_carlo() {
  return with(make("monte_carlo", {1u << 15, 1}, {256, 1}, Result::integers), 0, Words(1u << 15), 77u, 256u);
}
Workload crc() {
  const auto entry = [](uint32_t i) {
    for (unsigned bit = 0; bit < 8; ++bit) i = i >> 1 ^ (i & 1 ? 0xedb88320u : 0);
    return i;
  };
  return with(make("crc", {1u << 14, 1}, {64, 1}, Result::integers), 2, random_integers(k1M / 4, 59),
              table(256, entry), Words(1u << 14), 64u);
}
Workload find_text() {
  const auto letters = [](uint32_t i) { return 0x61616161u + ((i * 2654435761u >> 11) & 0x01010101u); };
  return with(make("find_text", {2 * k1M, 1}, {256, 1}, Result::integers), 2, table(k1M, letters),
              Words{0x61616261u, 0x61616162u}, 8u, Words(2 * k1M));
}
Workload collatz() {
  return with(make("collatz", {1u << 16, 1}, {64, 1}, Result::integers), 0, Words(1u << 16), 1u << 20);
}
Workload softmax() {
  return with(make("softmax", {512 * 256, 1}, {256, 1}, Result::floats), 1, random_floats(k1M, 60),
              Words(k1M), 2048u);
}
Workload sha256() {
  return with(make("sha256", {1u << 14, 1}, {64, 1}, Result::integers), 1, random_integers(64, 61),
              Words(8u << 14), 5u);
}
Workload spheres() {
  const auto number = [](uint32_t i) {
    const float part = static_cast<float>((i * 2654435761u) >> 8) / 16777216.0f;
    return bits(i % 4 == 3 ? 0.2f + 0.5f * part : i % 4 == 2 ? 4.0f + 4.0f * part : 6.0f * part - 3.0f);
  };
  return with(make("spheres", {512, 512}, {16, 16}, Result::integers), 1, table(64 * 4, number), 64u,
              Words(512 * 512), 512u, 512u);
}
Workload window_sums() {
  return with(make("window_sums", {k1M, 1}, {128, 1}, Result::floats), 1, random_floats(k1M, 62), Words(k1M),
              k1M);
}
Workload cosines() {
  const auto factor = [](uint32_t i) {
    return bits(static_cast<float>(0.5 * std::cos((2 * (i % 8) + 1) * (i / 8) * 3.14159265358979 / 16)));
  };
  return with(make("cosines", {1024, 1024}, {8, 8}, Result::floats), 1, random_floats(k1M, 63), Words(k1M),
              table(64, factor), 1024u);
}
Workload least_of() {
  return with(make("least_of", {1u << 14, 1}, {64, 1}, Result::floats), 1, random_floats(4 * k1M, 64),
              Words(8u << 14), 256u, 1u << 14);
}
Workload boxes() {
  return with(make("boxes", {256 * 64, 1}, {64, 1}, Result::doubles), 1, random_doubles(256 * 64 * 4, 65),
              Words(256 * 64 * 8), 256u);
}
Workload binary_search() {
  const auto sorted = [](uint32_t i) { return i * 4096 + (i & 1023); };
  return with(make("binary_search", {1u << 18, 1}, {256, 1}, Result::integers), 2, table(k1M, sorted), k1M,
              random_integers(1u << 18, 66), Words(1u << 18));
}
Workload neighbours() {
  constexpr uint32_t kCount = 1u << 15, kEach = 64;
  return with(make("neighbours", {kCount, 1}, {64, 1}, Result::floats), 2, random_floats(kCount * 4, 67),
              random_integers(kCount * kEach, 68, kCount), Words(kCount * 4), kEach, kCount);
}
Workload turn() {
  return with(make("turn", {1024, 1024}, {16, 16}, Result::floats), 1, random_floats(k1M, 69), Words(k1M),
              1024, 1024, 0.8f, 0.6f);
}
Workload byte_products() {
  return with(make("byte_products", {4096, 1}, {64, 1}, Result::integers), 2, random_integers(k1M, 70),
              random_integers(256, 71), Words(4096), 256u);
}
Workload halves() {
  const auto pair = [](uint32_t i) { return 0x30003000u + ((i * 2654435761u >> 7) & 0x0fff0fffu); };
  return with(make("halves", {1u << 16, 1}, {256, 1}, Result::floats), 2, table(k1M, pair), table(k1M, pair),
              Words(1u << 16), 32u);
}

}  // namespace

std::span<const WorkloadMaker> everyday_workloads() {
  static const WorkloadMaker kMakers[] = {
      {"floyd", floyd},
      {"lu_step", lu_step},
      {"bilateral", bilateral},
      {"sobel", sobel},
      {"life", life},
      {"permute", permute},
      {"scatter", scatter},
      {"count_bytes", count_bytes},
      {"compact", compact},
      {"monte_carlo", monte_carlo},
      {"crc", crc},
      {"find_text", find_text},
      {"collatz", collatz},
      {"softmax", softmax},
      {"sha256", sha256},
      {"spheres", spheres},
      {"window_sums", window_sums},
      {"cosines", cosines},
      {"least_of", least_of},
      {"boxes", boxes},
      {"binary_search", binary_search},
      {"neighbours", neighbours},
      {"turn", turn},
      {"byte_products", byte_products},
      {"halves", halves},
  };
  return kMakers;
}

}  // namespace lockstep::bench
