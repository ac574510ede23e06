// Buffer resources: loads behind the end give zero and stores there are dropped, so that a three-point mean needs no test
// for the ends of the array. Also one access of each width.
#include <hip/hip_runtime.h>

// Word 3 of the descriptor: 32-bit format, raw buffer, bounds checked against num_records (OOB_SELECT 3).
constexpr int kFlags = 0x31016000;

extern "C" __global__ void buffer_mean(float* input, float* output, int count) {
  const auto from = __builtin_amdgcn_make_buffer_rsrc(input, 0, count * 4, kFlags);
  const auto to = __builtin_amdgcn_make_buffer_rsrc(output, 0, count * 4, kFlags);
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  // The offset before the first element wraps to a huge number: out of range as well.
  const float left = __uint_as_float(__builtin_amdgcn_raw_buffer_load_b32(from, i * 4 - 4, 0, 0));
  const float middle = __uint_as_float(__builtin_amdgcn_raw_buffer_load_b32(from, i * 4, 0, 0));
  const float right = __uint_as_float(__builtin_amdgcn_raw_buffer_load_b32(from, i * 4 + 4, 0, 0));
  __builtin_amdgcn_raw_buffer_store_b32(__float_as_uint((left + middle + right) * 0.25f), to, i * 4, 0, 0);
}

extern "C" __global__ void buffer_widths(void* input, void* output, int bytes) {
  const auto from = __builtin_amdgcn_make_buffer_rsrc(input, 0, bytes, kFlags);
  const auto to = __builtin_amdgcn_make_buffer_rsrc(output, 0, bytes, kFlags);
  const int offset = (blockIdx.x * blockDim.x + threadIdx.x) * 48;
  __builtin_amdgcn_raw_buffer_store_b128(__builtin_amdgcn_raw_buffer_load_b128(from, offset, 0, 0), to, offset + 32, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b96(__builtin_amdgcn_raw_buffer_load_b96(from, offset + 16, 0, 0), to, offset, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b64(__builtin_amdgcn_raw_buffer_load_b64(from, offset, 32, 0), to, offset, 16, 0);
  __builtin_amdgcn_raw_buffer_store_b32(__builtin_amdgcn_raw_buffer_load_b32(from, offset + 40, 0, 0), to, offset + 12, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b16(__builtin_amdgcn_raw_buffer_load_b16(from, offset + 46, 0, 0), to, offset + 24, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b8(__builtin_amdgcn_raw_buffer_load_b8(from, offset + 45, 0, 0), to, offset + 27, 0, 0);
}
