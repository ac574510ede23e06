// Templates and shared memory in HIP: a stencil over any element type with a functor for its weights (shared memory of
// a size known only at launch), and a block reduction by lane exchange.
#include <hip/hip_runtime.h>
#pragma clang fp contract(off)

struct Binomial {  // 1 4 6 4 1
  template <class T>
  __device__ static T weight(int offset) {
    const int distance = offset < 0 ? -offset : offset;
    return T(distance == 0 ? 6 : distance == 1 ? 4 : 1);
  }
};

struct Box {
  template <class T>
  __device__ static T weight(int) {
    return T(1);
  }
};

// The ends of the array repeat outwards.
template <class T, int kRadius, class Weights>
__global__ void stencil(const T* __restrict__ input, T* __restrict__ output, int count) {
  extern __shared__ unsigned char storage[];
  T* const tile = reinterpret_cast<T*>(storage);
  const int local = threadIdx.x, size = blockDim.x, i = blockIdx.x * size + local;
  for (int t = local; t < size + 2 * kRadius; t += size) {
    const int source = int(blockIdx.x) * size + t - kRadius;
    tile[t] = input[min(max(source, 0), count - 1)];
  }
  __syncthreads();
  if (i >= count) return;
  T sum = T(0);
#pragma unroll
  for (int offset = -kRadius; offset <= kRadius; ++offset)
    sum += tile[local + kRadius + offset] * Weights::template weight<T>(offset);
  output[i] = sum;
}

template __global__ void stencil<float, 2, Binomial>(const float*, float*, int);
template __global__ void stencil<int, 3, Box>(const int*, int*, int);
template __global__ void stencil<double, 1, Box>(const double*, double*, int);
template __global__ void stencil<short, 4, Box>(const short*, short*, int);

template <class T, class Operation>
__device__ T reduce_wave(T value, Operation operation) {
  for (int distance = warpSize / 2; distance > 0; distance /= 2)
    value = operation(value, __shfl_xor(value, distance));
  return value;
}

template <class T>
struct Maximum {
  __device__ T operator()(T a, T b) const { return a < b ? b : a; }
};

// Position of the largest element of each block, as the pair (value, index) in one 64-bit number.
extern "C" __global__ __launch_bounds__(256) void block_argmax(const uint* __restrict__ input,
                                                               unsigned long long* __restrict__ result) {
  __shared__ unsigned long long wave_result[8];
  const uint i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned long long own = (unsigned long long)input[i] << 32 | i;
  const unsigned long long best = reduce_wave(own, Maximum<unsigned long long>());
  if (__lane_id() == 0) wave_result[threadIdx.x / warpSize] = best;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned long long block_best = 0;
    for (uint w = 0; w < blockDim.x / warpSize; ++w) block_best = max(block_best, wave_result[w]);
    result[blockIdx.x] = block_best;
  }
}
