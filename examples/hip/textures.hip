// Textures over linear memory, which kernels read by buffer instructions; and those of arrays, which Lockstep has not
// got yet: the runtime is refused the array, and the program goes on without.
#include <vector>

#include "check.h"

namespace {

constexpr int kCount = 5000;

__global__ void gather(hipTextureObject_t texture, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < kCount) to[i] = tex1Dfetch<float>(texture, (i * 7) % kCount);
}

// Bytes, read as numbers from 0 to 1.
__global__ void brighten(hipTextureObject_t texture, float* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= kCount) return;
  const float4 pixel = tex1Dfetch<float4>(texture, i);
  to[i] = pixel.x + 2 * pixel.y + 4 * pixel.z + 8 * pixel.w;
}

hipTextureObject_t texture_of(void* memory, size_t bytes, hipChannelFormatDesc format, hipTextureReadMode mode) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = format;
  resource.res.linear.sizeInBytes = bytes;
  hipTextureDesc how = {};
  how.readMode = mode;
  hipTextureObject_t texture = nullptr;
  CHECK(hipCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

}  // namespace

int main() {
  std::vector<float> numbers(kCount), results(kCount);
  for (int i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i) * 0.25f;
  float *memory = nullptr, *to = nullptr;
  CHECK(hipMalloc(&memory, kCount * sizeof(float)));
  CHECK(hipMalloc(&to, kCount * sizeof(float)));
  CHECK(hipMemcpy(memory, numbers.data(), kCount * sizeof(float), hipMemcpyHostToDevice));
  const hipTextureObject_t floats =
      texture_of(memory, kCount * sizeof(float), hipCreateChannelDesc<float>(), hipReadModeElementType);
  gather<<<(kCount + 255) / 256, 256>>>(floats, to);
  CHECK(hipMemcpy(results.data(), to, kCount * sizeof(float), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int i = 0; i < kCount; ++i) wrong += results[i] != numbers[(i * 7) % kCount];
  CHECK(hipDestroyTextureObject(floats));

  std::vector<uchar4> pixels(kCount);
  for (int i = 0; i < kCount; ++i) {
    const auto value = static_cast<unsigned char>(i);
    pixels[i] = {value, static_cast<unsigned char>(value + 1), static_cast<unsigned char>(value * 3), 255};
  }
  CHECK(hipMemcpy(memory, pixels.data(), kCount * sizeof(uchar4), hipMemcpyHostToDevice));
  const hipTextureObject_t bytes =
      texture_of(memory, kCount * sizeof(uchar4), hipCreateChannelDesc<uchar4>(), hipReadModeNormalizedFloat);
  brighten<<<(kCount + 255) / 256, 256>>>(bytes, to);
  CHECK(hipMemcpy(results.data(), to, kCount * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) {
    const uchar4 p = pixels[i];
    const float right = static_cast<float>(p.x + 2 * p.y + 4 * p.z + 8 * p.w) / 255.0f;
    wrong += !(results[i] > right - 1e-4f && results[i] < right + 1e-4f);
  }
  CHECK(hipDestroyTextureObject(bytes));

  hipArray_t array = nullptr;
  const hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  const hipError_t error = hipMallocArray(&array, &format, 64, 64);
  std::printf("an array of 64 x 64: %s\n", hipGetErrorName(error));
  return verdict("textures", wrong);
}
