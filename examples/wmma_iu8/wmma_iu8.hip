// C = A * B with 8-bit matrices and WMMA: A row-major (M x K), B stored column by column (N x K), C row-major 32-bit.
// One kernel multiplies signed by signed, one unsigned by signed, one (iu4) packs 4-bit numbers.
#include <hip/hip_runtime.h>

#if __AMDGCN_WAVEFRONT_SIZE == 64
constexpr int kRegisters = 4;
#define WMMA_IU8 __builtin_amdgcn_wmma_i32_16x16x16_iu8_w64
#define WMMA_IU4 __builtin_amdgcn_wmma_i32_16x16x16_iu4_w64
#else
constexpr int kRegisters = 8;
#define WMMA_IU8 __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32
#define WMMA_IU4 __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32
#endif
typedef int Words2 __attribute__((ext_vector_type(2)));
typedef int Words4 __attribute__((ext_vector_type(4)));
typedef int Accumulator __attribute__((ext_vector_type(kRegisters)));

struct Tile {
  uint row, column, lane;
};

__device__ Tile own_tile() {
  const uint wave = threadIdx.x / warpSize;
  return Tile{blockIdx.y * 16u, (blockIdx.x * (blockDim.x / warpSize) + wave) * 16u, __lane_id()};
}

__device__ void store(const Tile& tile, Accumulator sum, int* c, uint n) {
  for (int i = 0; i < kRegisters; ++i) {
    const uint row = tile.row + i * (16 / kRegisters) + tile.lane / 16;
    c[row * n + tile.column + tile.lane % 16] = sum[i];
  }
}

template <bool kSignedA, bool kSignedB>
__device__ void multiply(const signed char* a, const signed char* b, int* c, uint n, uint k) {
  const Tile tile = own_tile();
  if (tile.column >= n) return;
  Accumulator sum = {};
  for (uint first = 0; first < k; first += 16) {
    const Words4 left = *(const Words4*)(a + (tile.row + tile.lane % 16) * k + first);
    const Words4 right = *(const Words4*)(b + (tile.column + tile.lane % 16) * k + first);
    sum = WMMA_IU8(kSignedA, left, kSignedB, right, sum, false);
  }
  store(tile, sum, c, n);
}

extern "C" __global__ void wmma_iu8_signed(const signed char* a, const signed char* b, int* c, uint n, uint k) {
  multiply<true, true>(a, b, c, n, k);
}

extern "C" __global__ void wmma_iu8_mixed(const signed char* a, const signed char* b, int* c, uint n, uint k) {
  multiply<false, true>(a, b, c, n, k);
}

// 4-bit numbers, two a byte: a row of 16 is 8 bytes.
extern "C" __global__ void wmma_iu4_signed(const signed char* a, const signed char* b, int* c, uint n, uint k) {
  const Tile tile = own_tile();
  if (tile.column >= n) return;
  Accumulator sum = {};
  for (uint first = 0; first < k; first += 16) {
    const Words2 left = *(const Words2*)(a + ((tile.row + tile.lane % 16) * k + first) / 2);
    const Words2 right = *(const Words2*)(b + ((tile.column + tile.lane % 16) * k + first) / 2);
    sum = WMMA_IU4(true, left, true, right, sum, false);
  }
  store(tile, sum, c, n);
}
