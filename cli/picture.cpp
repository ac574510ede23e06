#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <memory>

#include "cli/array.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"

namespace lockstep::cli {
namespace {

std::vector<png_byte> to_bytes(std::span<const std::byte> bytes, lockstep_type type) {
  size_t size = size_of_type(type);
  std::vector<png_byte> out(bytes.size() / size);
  for (size_t i = 0; i < out.size(); ++i) {
    double value = load_number(bytes.data() + i * size, type);
    if (is_float(type)) value *= 255;
    out[i] = std::isnan(value) ? 0 : static_cast<png_byte>(std::clamp(std::round(value), 0.0, 255.0));
  }
  return out;
}

// libpng leaves a failing function with longjmp: nothing with a destructor may live in here.
bool encode(std::FILE* file, png_structp png, png_infop info, uint32_t width, uint32_t height, int color,
            size_t stride, const png_byte* pixels) {
  if (setjmp(png_jmpbuf(png))) return false;
  png_init_io(png, file);
  png_set_IHDR(png, info, width, height, 8, color, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  for (uint32_t y = 0; y < height; ++y) {
    if (interrupted()) return false;
    png_write_row(png, pixels + y * stride);
  }
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

void write_png(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
               const std::vector<uint64_t>& shape) {
  const auto fail = [&](const std::string& what) {
    throw UsageError("{}: an array {} of {} is no picture: {}", path, print_shape(shape), name_of_type(type),
                     what);
  };
  if (shape.size() != 2 && shape.size() != 3)
    fail("give the buffer as [height x width] or [height x width x channels], for example buf:u8[480x640x4]");
  uint64_t height = shape[0], width = shape[1], channels = shape.size() == 3 ? shape[2] : 1;
  if (!width || !height || width > 65535 || height > 65535) fail("a side has 1 to 65535 pixels");
  bool packed = shape.size() == 2 && (type == LOCKSTEP_U32 || type == LOCKSTEP_I32);
  std::vector<png_byte> pixels;
  if (packed) {
    channels = 4;
    auto* p = reinterpret_cast<const png_byte*>(bytes.data());
    pixels.assign(p, p + bytes.size());
  } else {
    if (channels != 1 && channels != 3 && channels != 4)
      fail("it has 1 (gray), 3 (RGB) or 4 (RGBA) channels");
    pixels = to_bytes(bytes, type);
  }
  if (pixels.size() < width * height * channels) fail("it has too few elements");
  int color = channels == 1 ? PNG_COLOR_TYPE_GRAY : channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_RGBA;

  OutputFile file(path);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png ? png_create_info_struct(png) : nullptr;
  const bool good = info && encode(file.stream(), png, info, static_cast<uint32_t>(width),
                                   static_cast<uint32_t>(height), color, width * channels, pixels.data());
  png_destroy_write_struct(&png, &info);
  throw_if_interrupted();
  if (!good) throw UsageError("{}: the picture cannot be written (is the disk full?)", path);
  file.finish();
}

}  // namespace lockstep::cli
