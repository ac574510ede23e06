// C = A * B with matrices of halves and WMMA: a wave computes one 16 x 16 tile of C. A is row-major (M x K), B is stored
// column by column (N x K), C is row-major. M, N and K are multiples of 16.
// Lane l holds row (of A) or column (of B) l mod 16, lanes 16 and up repeat the first 16; an accumulator register holds
// one row of C in each group of 16 lanes.
#include <hip/hip_runtime.h>

typedef _Float16 Half;
typedef _Float16 Half16 __attribute__((ext_vector_type(16)));

#if __AMDGCN_WAVEFRONT_SIZE == 64
constexpr int kRegisters = 4;
#define WMMA_F32 __builtin_amdgcn_wmma_f32_16x16x16_f16_w64
#define WMMA_F16 __builtin_amdgcn_wmma_f16_16x16x16_f16_w64
typedef _Float16 HalfAccumulator __attribute__((ext_vector_type(8)));
#else
constexpr int kRegisters = 8;
#define WMMA_F32 __builtin_amdgcn_wmma_f32_16x16x16_f16_w32
#define WMMA_F16 __builtin_amdgcn_wmma_f16_16x16x16_f16_w32
typedef _Float16 HalfAccumulator __attribute__((ext_vector_type(16)));
#endif
typedef float FloatAccumulator __attribute__((ext_vector_type(kRegisters)));

// Tile of this wave: waves of the work-group stand side by side along a row of C.
struct Tile {
  uint row, column, lane;
};

__device__ Tile own_tile() {
  const uint wave = threadIdx.x / warpSize;
  return Tile{blockIdx.y * 16u, (blockIdx.x * (blockDim.x / warpSize) + wave) * 16u, __lane_id()};
}

extern "C" __global__ void wmma_f16_f32(const Half* __restrict__ a, const Half* __restrict__ b, float* __restrict__ c,
                                        uint n, uint k) {
  const Tile tile = own_tile();
  if (tile.column >= n) return;
  FloatAccumulator sum = {};
  for (uint first = 0; first < k; first += 16) {
    const Half16 left = *(const Half16*)(a + (tile.row + tile.lane % 16) * k + first);
    const Half16 right = *(const Half16*)(b + (tile.column + tile.lane % 16) * k + first);
    sum = WMMA_F32(left, right, sum);
  }
  for (int i = 0; i < kRegisters; ++i) {
    const uint row = tile.row + i * (16 / kRegisters) + tile.lane / 16;
    c[row * n + tile.column + tile.lane % 16] = sum[i];
  }
}

// The same with accumulators of halves, two results in the low and then the high half of a register (op_sel).
extern "C" __global__ void wmma_f16_f16(const Half* __restrict__ a, const Half* __restrict__ b, Half* __restrict__ low,
                                        Half* __restrict__ high, uint n, uint k) {
  const Tile tile = own_tile();
  if (tile.column >= n) return;
  HalfAccumulator sum_low = {}, sum_high = {};
  for (uint first = 0; first < k; first += 16) {
    const Half16 left = *(const Half16*)(a + (tile.row + tile.lane % 16) * k + first);
    const Half16 right = *(const Half16*)(b + (tile.column + tile.lane % 16) * k + first);
    sum_low = WMMA_F16(left, right, sum_low, false);
    sum_high = WMMA_F16(right, left, sum_high, true);
  }
  for (int i = 0; i < kRegisters; ++i) {
    const uint row = i * (16 / kRegisters) + tile.lane / 16, column = tile.lane % 16;
    low[(tile.row + row) * n + tile.column + column] = sum_low[2 * i];
    // The second product is (A B) transposed: its row is a column of this tile.
    high[(tile.row + column) * n + tile.column + row] = sum_high[2 * i + 1];
  }
}
