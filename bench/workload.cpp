#include "bench/workload.h"

#include <bit>
#include <cmath>
#include <new>
#include <random>

#include "bench/kernels.h"

namespace lockstep::bench {

Words random_floats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Words values(count);
  for (uint32_t& value : values)
    value = std::bit_cast<uint32_t>(static_cast<float>(random() >> 8) / 16777216.0f - 0.5f);
  return values;
}

Words random_integers(size_t count, unsigned seed, uint32_t below) {
  std::mt19937 random(seed);
  Words values(count);
  for (uint32_t& value : values) value = below == 0 ? random() : random() % below;
  return values;
}

Pages in_pages(const Words& contents) {
  const size_t bytes = contents.size() * sizeof(uint32_t);
  void* memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!memory) throw std::bad_alloc();
  std::memcpy(memory, contents.data(), bytes);
  return Pages(static_cast<uint32_t*>(memory));
}

namespace {

Workload one_dimension(const char* kernel, uint32_t items, uint32_t group = 256) {
  Workload work;
  work.source = kKernels;
  work.kernel = kernel;
  work.grid = {items, 1, 1};
  work.group = {group, 1, 1};
  return work;
}

Workload saxpy() {
  constexpr uint32_t kElements = 1u << 24;
  Workload work = one_dimension("saxpy", kElements);
  work.buffer(random_floats(kElements, 1));
  work.buffer(random_floats(kElements, 2));
  work.value(0.5f);
  work.value(kElements);
  work.result = 1;
  return work;
}

Workload triad() {
  constexpr uint32_t kElements = 1u << 22;
  Workload work = one_dimension("triad", kElements);
  work.buffer(Words(kElements));
  work.buffer(random_floats(kElements, 1));
  work.buffer(random_floats(kElements, 2));
  work.value(3.0f);
  return work;
}

Workload mandelbrot() {
  constexpr uint32_t kSize = 1024, kLimit = 256;
  Workload work;
  work.source = kKernels;
  work.kernel = "mandelbrot";
  work.dimensions = 2;
  work.grid = {kSize, kSize, 1};
  work.group = {32, 8, 1};
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.value(kSize);
  work.value(-2.0f);
  work.value(-1.25f);
  work.value(2.5f / kSize);
  work.value(2.5f / kSize);
  work.value(kLimit);
  // A point at the limit's edge may take another turn with other roundings.
  work.kind = Workload::Result::integers;
  return work;
}

Workload matrix_product(const char* kernel, uint32_t items_a_row) {
  constexpr uint32_t kSize = 512;
  Workload work;
  work.source = kKernels;
  work.kernel = kernel;
  work.dimensions = 2;
  work.grid = {items_a_row, items_a_row, 1};
  work.group = {16, 16, 1};
  work.buffer(random_floats(kSize * kSize, 3));
  work.buffer(random_floats(kSize * kSize, 4));
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.value(kSize);
  work.result = 2;
  return work;
}

Workload nbody() {
  constexpr uint32_t kBodies = 4096;
  Workload work = one_dimension("nbody", kBodies);
  work.buffer(random_floats(kBodies * 4, 5));
  work.buffer(Words(kBodies * 4));
  work.value(kBodies);
  work.value(0.01f);
  work.result = 1;
  return work;
}

Workload histogram() {
  constexpr uint32_t kElements = 1u << 23, kEach = 64;
  Workload work = one_dimension("histogram", kElements / kEach);
  work.buffer(random_integers(kElements, 6));
  work.buffer(Words(256));
  work.value(kEach);
  work.result = 1;
  work.kind = Workload::Result::integers;
  return work;
}

Workload hash64() {
  constexpr uint32_t kItems = 1u << 17;
  Workload work = one_dimension("hash64", kItems);
  work.buffer(Words(kItems * 2));
  work.value(uint64_t{42});
  work.value(uint32_t{100});
  work.kind = Workload::Result::integers;
  return work;
}

Workload fft() {
  constexpr uint32_t kValues = 1u << 20;
  Words roots;
  for (unsigned i = 0; i < 256; ++i) {
    const double angle = -2 * 3.14159265358979323846 * i / 512;
    roots.push_back(std::bit_cast<uint32_t>(static_cast<float>(std::cos(angle))));
    roots.push_back(std::bit_cast<uint32_t>(static_cast<float>(std::sin(angle))));
  }
  Workload work = one_dimension("fft", kValues / 2);
  work.buffer(random_floats(kValues * 2, 7));
  work.buffer(Words(kValues * 2));
  work.buffer(std::move(roots));
  work.result = 1;
  return work;
}

Workload bitonic_sort() {
  constexpr uint32_t kKeys = 1u << 20;
  Workload work = one_dimension("bitonic_sort", kKeys / 2);
  work.buffer(random_integers(kKeys, 8));
  work.kind = Workload::Result::integers;
  return work;
}

Workload scan() {
  constexpr uint32_t kElements = 1u << 21;
  Workload work = one_dimension("scan", kElements);
  work.buffer(random_integers(kElements, 9));
  work.buffer(Words(kElements));
  work.result = 1;
  work.kind = Workload::Result::integers;
  return work;
}

Workload reduction() {
  constexpr uint32_t kElements = 1u << 23, kEach = 16;
  Workload work = one_dimension("reduction", kElements / kEach);
  work.buffer(random_floats(kElements, 10));
  work.buffer(Words(kElements / kEach / 256));
  work.value(kEach);
  work.result = 1;
  return work;
}

Workload transpose() {
  constexpr uint32_t kSize = 2048;
  Workload work;
  work.source = kKernels;
  work.kernel = "transpose";
  work.dimensions = 2;
  work.grid = {kSize, kSize, 1};
  work.group = {16, 16, 1};
  work.buffer(random_floats(kSize * kSize, 11));
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.result = 1;
  return work;
}

Workload stencil() {
  constexpr uint32_t kSize = 160;
  Workload work;
  work.source = kKernels;
  work.kernel = "stencil";
  work.dimensions = 3;
  work.grid = {kSize, kSize, kSize};
  work.group = {32, 4, 2};
  work.buffer(random_floats(kSize * kSize * kSize, 12));
  work.buffer(Words(kSize * kSize * kSize));
  for (unsigned axis = 0; axis < 3; ++axis) work.value(kSize);
  work.result = 1;
  return work;
}

Workload spmv() {
  constexpr uint32_t kRows = 1u << 17;
  const Words lengths = random_integers(kRows, 13, 32);
  Words rows = {0};
  for (uint32_t length : lengths) rows.push_back(rows.back() + length);
  const uint32_t count = rows.back();
  Workload work = one_dimension("spmv", kRows, 64);
  work.buffer(std::move(rows));
  work.buffer(random_integers(count, 14, kRows));
  work.buffer(random_floats(count, 15));
  work.buffer(random_floats(kRows, 16));
  work.buffer(Words(kRows));
  work.result = 4;
  return work;
}

Workload matrix_vector() {
  constexpr uint32_t kSize = 2048;
  Workload work = one_dimension("matrix_vector", kSize);
  work.buffer(random_floats(kSize * kSize, 17));
  work.buffer(random_floats(kSize, 18));
  work.buffer(Words(kSize));
  work.value(kSize);
  work.result = 2;
  return work;
}

Workload search() {
  constexpr uint32_t kVertices = 1u << 18, kDegree = 8;
  Words first_edges(kVertices + 1), levels(kVertices);
  for (uint32_t v = 0; v <= kVertices; ++v) first_edges[v] = v * kDegree;
  for (uint32_t v = 0; v < kVertices; ++v) levels[v] = v % 3 == 0 ? 4 : 1000;
  Workload work = one_dimension("search", kVertices);
  work.buffer(std::move(first_edges));
  work.buffer(random_integers(kVertices * kDegree, 19, kVertices));
  work.buffer(std::move(levels));
  work.buffer(Words(1024));
  work.value(uint32_t{4});
  work.result = 3;
  work.kind = Workload::Result::integers;
  return work;
}

Workload black_scholes() {
  constexpr uint32_t kOptions = 1u << 20;
  Workload work = one_dimension("black_scholes", kOptions);
  work.buffer(random_floats(kOptions * 3, 20));
  work.buffer(Words(kOptions));
  work.buffer(Words(kOptions));
  work.value(0.02f);
  work.value(0.3f);
  work.result = 1;
  return work;
}

Workload aes() {
  constexpr uint32_t kBlocks = 1u << 18;
  Workload work = one_dimension("aes", kBlocks);
  work.buffer(random_integers(kBlocks * 4, 21));
  work.buffer(Words(kBlocks * 4));
  work.buffer(random_integers(256, 22));
  work.buffer(random_integers(40, 23));
  work.result = 1;
  work.kind = Workload::Result::integers;
  return work;
}

Workload md5() {
  constexpr uint32_t kItems = 1u << 16;
  Workload work = one_dimension("md5", kItems);
  work.buffer(Words(kItems * 4));
  work.value(uint32_t{7});
  work.value(uint32_t{32});
  work.kind = Workload::Result::integers;
  return work;
}

Workload chemistry() {
  constexpr uint32_t kCells = 1u << 16;
  Workload work = one_dimension("chemistry", kCells, 64);
  work.buffer(random_floats(kCells * 8, 24));
  work.buffer(Words(kCells * 4 * 2));
  work.value(kCells);
  work.result = 1;
  work.kind = Workload::Result::doubles;
  return work;
}

Workload queens() {
  constexpr uint32_t kSize = 11;
  Workload work = one_dimension("queens", 1344, 64);  // 11 x 11 x 11 places of three queens, rounded up
  work.buffer(Words(1344));
  work.value(kSize);
  work.kind = Workload::Result::integers;
  return work;
}

Workload wmma() {
  constexpr uint32_t kGroups = 2048;
  Workload work = one_dimension("wmma", kGroups * 32, 32);
  Words halves = random_integers(64 * 8, 25);
  // From 1 to 2, and their negatives.
  for (uint32_t& pair : halves) pair = (pair & 0x83ff83ff) | 0x3c003c00;
  work.buffer(std::move(halves));
  work.buffer(Words(kGroups * 32 * 8));
  work.value(uint32_t{32});
  work.result = 1;
  work.has_pocl = false;
  return work;
}

Workload buffer_columns() {
  constexpr uint32_t kRows = 512, kColumns = 4096 - 70;
  Workload work = one_dimension("buffer_columns", 4096);
  work.buffer(random_integers(kRows * kColumns, 26));
  work.buffer(Words(kColumns));
  work.value(kRows);
  work.value(kColumns);
  work.result = 1;
  work.kind = Workload::Result::integers;
  work.has_pocl = false;
  return work;
}

Workload two_dimensions(const char* kernel, uint32_t columns, uint32_t rows, uint32_t group_columns,
                        uint32_t group_rows) {
  Workload work;
  work.source = kKernels;
  work.kernel = kernel;
  work.dimensions = 2;
  work.grid = {columns, rows, 1};
  work.group = {group_columns, group_rows, 1};
  return work;
}

Workload plain_gemm() {
  constexpr uint32_t kSize = 256;
  Workload work = two_dimensions("plain_gemm", kSize, kSize, 32, 8);
  for (unsigned seed : {26u, 27u}) work.buffer(random_floats(kSize * kSize, seed));
  // Zero at first: each run adds to what the last one left.
  work.buffer(Words(kSize * kSize));
  work.value(1.5f);
  work.value(0.5f);
  work.value(kSize);
  work.result = 2;
  return work;
}

Workload plain_jacobi() {
  constexpr uint32_t kSize = 2048;
  Workload work = two_dimensions("plain_jacobi", kSize, kSize, 32, 8);
  work.buffer(random_floats(kSize * kSize, 28));
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.result = 1;
  return work;
}

Workload plain_convolution() {
  constexpr uint32_t kSize = 2048;
  Workload work = two_dimensions("plain_convolution", kSize, kSize, 32, 8);
  work.buffer(random_floats(kSize * kSize, 29));
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.value(kSize);
  work.result = 1;
  return work;
}

Workload plain_columns() {
  constexpr uint32_t kSize = 2048;
  Workload work = one_dimension("plain_columns", kSize);
  work.buffer(random_floats(kSize * kSize, 30));
  work.buffer(random_floats(kSize, 31));
  work.buffer(Words(kSize));
  work.value(kSize);
  work.value(kSize);
  work.result = 2;
  return work;
}

Workload plain_doubles() {
  constexpr uint32_t kElements = 1u << 21;
  Workload work = one_dimension("plain_doubles", kElements, 128);
  const auto numbers = [](unsigned seed) {
    Words words;
    for (uint32_t word : random_floats(kElements, seed)) {
      const auto bits = std::bit_cast<uint64_t>(double{std::bit_cast<float>(word)});
      words.push_back(static_cast<uint32_t>(bits));
      words.push_back(static_cast<uint32_t>(bits >> 32));
    }
    return words;
  };
  work.buffer(numbers(32));
  work.buffer(numbers(33));
  work.buffer(Words(kElements * 2));
  work.value(3.0);
  work.value(kElements);
  work.result = 2;
  work.kind = Workload::Result::doubles;
  return work;
}

Workload plain_distances() {
  constexpr uint32_t kPoints = 1u << 17, kCentres = 8, kDimensions = 16;
  Workload work = one_dimension("plain_distances", kPoints);
  work.buffer(random_floats(kPoints * kDimensions, 34));
  work.buffer(random_floats(kCentres * kDimensions, 35));
  work.buffer(Words(kPoints));
  for (uint32_t value : {kPoints, kCentres, kDimensions}) work.value(value);
  work.result = 2;
  work.kind = Workload::Result::integers;
  return work;
}

Workload tiled_heat() {
  constexpr uint32_t kSize = 1024, kGroups = (kSize + 13) / 14;
  Workload work = two_dimensions("tiled_heat", kGroups * 16, kGroups * 16, 16, 16);
  work.buffer(random_floats(kSize * kSize, 36));
  work.buffer(random_floats(kSize * kSize, 37));
  work.buffer(Words(kSize * kSize));
  work.value(kSize);
  work.value(0.1f);
  work.result = 2;
  return work;
}

Workload tiled_path() {
  constexpr uint32_t kColumns = 1u << 18, kRows = 20;
  Workload work = one_dimension("tiled_path", (kColumns + 215) / 216 * 256);
  work.buffer(random_integers(kColumns * kRows, 38, 10));
  work.buffer(random_integers(kColumns, 39, 10));
  work.buffer(Words(kColumns));
  work.value(kColumns);
  work.value(kRows);
  work.result = 2;
  work.kind = Workload::Result::integers;
  return work;
}

Workload tiny() {
  Workload work = one_dimension("tiny", 64, 64);
  work.buffer(Words(64));
  work.dispatches = 2000;
  work.kind = Workload::Result::integers;
  return work;
}

}  // namespace

std::span<const WorkloadMaker> main_workloads() {
  static const WorkloadMaker kMakers[] = {
      {"saxpy", saxpy},
      {"mandelbrot", mandelbrot},
      {"sgemm", [] { return matrix_product("sgemm", 512); }},
      {"nbody", nbody},
      {"histogram", histogram},
      {"hash64", hash64},
      {"sgemm_blocked", [] { return matrix_product("sgemm_blocked", 128); }},
      {"triad", triad},
      {"fft", fft},
      {"bitonic_sort", bitonic_sort},
      {"scan", scan},
      {"reduction", reduction},
      {"transpose", transpose},
      {"stencil", stencil},
      {"spmv", spmv},
      {"matrix_vector", matrix_vector},
      {"search", search},
      {"black_scholes", black_scholes},
      {"aes", aes},
      {"md5", md5},
      {"chemistry", chemistry},
      {"queens", queens},
      {"plain_gemm", plain_gemm},
      {"plain_jacobi", plain_jacobi},
      {"plain_convolution", plain_convolution},
      {"plain_columns", plain_columns},
      {"plain_doubles", plain_doubles},
      {"plain_distances", plain_distances},
      {"tiled_heat", tiled_heat},
      {"tiled_path", tiled_path},
      {"wmma", wmma},
      {"buffer_columns", buffer_columns},
      {"tiny", tiny},
  };
  return kMakers;
}

}  // namespace lockstep::bench
