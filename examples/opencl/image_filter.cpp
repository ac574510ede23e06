// Blurs a picture in a buffer, and writes it as PNG:
// image_filter [FILE]
#include "../png.h"
#include "check.h"

constexpr const char* kSource = R"(
constant int weights[5] = {1, 4, 6, 4, 1};
kernel void blur(global const uchar* in, global uchar* out, int width, int height) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  int3 sum = 128;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      const int sx = clamp(x + dx, 0, width - 1), sy = clamp(y + dy, 0, height - 1);
      sum += weights[dx + 2] * weights[dy + 2] * convert_int3(vload3(sy * width + sx, in));
    }
  vstore3(convert_uchar3(sum >> 8), y * width + x, out);
}
)";

int main(int argc, char** argv) {
  Cl cl(kSource);
  constexpr cl_int width = 203, height = 151;
  std::vector<uint8_t> picture = rings(width, height), result(picture.size());
  const cl_mem in = cl.buffer(picture), out = cl.buffer(result);
  const cl_command_queue queue = cl.queue();
  const cl_kernel blur = cl.kernel("blur");
  set_arguments(blur, in, out, width, height);
  const size_t grid[] = {208, 152}, group[] = {16, 8};
  CHECK(clEnqueueNDRangeKernel(queue, blur, 2, nullptr, grid, group, 0, nullptr, nullptr));
  read_back(queue, out, result);
  long wrong = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        wrong += result[(y * width + x) * 3 + c] != blurred(picture, width, height, x, y, c);
  const char* const path = argc > 1 ? argv[1] : "image_filter.png";
  if (!write_png(path, result, width, height)) return verdict(path, 1);
  return verdict("image filter", wrong);
}
