// Blurs a picture, by tiles in LDS with a border, and writes it as PNG: image_filter [FILE]
#include <vector>

#include "../png.h"
#include "check.h"

constexpr int kTile = 16, kBorder = 2, kSide = kTile + 2 * kBorder;

__constant__ int weights[5] = {1, 4, 6, 4, 1};

__global__ void blur(const unsigned char* in, unsigned char* out, int width, int height) {
  __shared__ unsigned char tile[kSide][kSide][3];
  const int left = blockIdx.x * kTile - kBorder, top = blockIdx.y * kTile - kBorder;
  for (int i = threadIdx.y * kTile + threadIdx.x; i < kSide * kSide; i += kTile * kTile) {
    const int x = min(max(left + i % kSide, 0), width - 1), y = min(max(top + i / kSide, 0), height - 1);
    for (int c = 0; c < 3; ++c) tile[i / kSide][i % kSide][c] = in[(y * width + x) * 3 + c];
  }
  __syncthreads();
  const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x >= width || y >= height) return;
  for (int c = 0; c < 3; ++c) {
    int sum = 128;
    for (int dy = 0; dy < 5; ++dy)
      for (int dx = 0; dx < 5; ++dx)
        sum += weights[dx] * weights[dy] * tile[threadIdx.y + dy][threadIdx.x + dx][c];
    out[(y * width + x) * 3 + c] = sum >> 8;
  }
}

int main(int argc, char** argv) {
  constexpr int width = 321, height = 203;
  const std::vector<uint8_t> picture = rings(width, height);
  std::vector<uint8_t> result(picture.size());
  unsigned char *in, *out;
  CHECK(hipMalloc(&in, picture.size()));
  CHECK(hipMalloc(&out, picture.size()));
  CHECK(hipMemcpy(in, picture.data(), picture.size(), hipMemcpyHostToDevice));
  blur<<<dim3((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), dim3(kTile, kTile)>>>(in, out, width, height);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(result.data(), out, result.size(), hipMemcpyDeviceToHost));
  long wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        wrong += result[(y * width + x) * 3 + c] != blurred(picture, width, height, x, y, c);
  const char* const path = argc > 1 ? argv[1] : "image_filter.png";
  if (!write_png(path, result, width, height)) return verdict(path, 1);
  return verdict("image filter", wrong);
}
