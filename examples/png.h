// Writes a picture of 8-bit RGB as PNG, without a library: its data are stored, not compressed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

inline uint32_t png_crc(const std::string& bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

// False if the file cannot be written.
inline bool write_png(const char* path, const std::vector<uint8_t>& rgb, int width, int height) {
  const auto big_endian = [](uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
    return bytes;
  };
  std::string file = "\x89PNG\r\n\x1a\n";
  const auto add = [&](const std::string& type, const std::string& data) {
    file += big_endian(static_cast<uint32_t>(data.size())) + type + data + big_endian(png_crc(type + data));
  };
  using namespace std::string_literals;
  add("IHDR", big_endian(width) + big_endian(height) + "\x08\x02\0\0\0"s);
  // A zlib stream with one stored block for each row, which begins with its filter: none.
  std::string data = "\x78\x01";
  uint32_t a = 1, b = 0;
  for (int y = 0; y < height; ++y) {
    std::string row(1, 0);
    row.append(reinterpret_cast<const char*>(rgb.data()) + size_t{3} * width * y, size_t{3} * width);
    const auto bytes = static_cast<uint16_t>(row.size());
    data += static_cast<char>(y + 1 == height);
    for (const uint16_t value : {bytes, static_cast<uint16_t>(~bytes)}) {
      data += static_cast<char>(value);
      data += static_cast<char>(value >> 8);
    }
    data += row;
    for (const char byte : row) {
      a = (a + static_cast<uint8_t>(byte)) % 65521;
      b = (b + a) % 65521;
    }
  }
  add("IDAT", data + big_endian(b << 16 | a));
  add("IEND", "");
  std::FILE* const out = std::fopen(path, "wb");
  if (!out) return false;
  const bool written = std::fwrite(file.data(), 1, file.size(), out) == file.size();
  return std::fclose(out) == 0 && written;
}

// What the image filters start with: rings of three colours.
inline std::vector<uint8_t> rings(int width, int height) {
  std::vector<uint8_t> rgb;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        rgb.push_back(static_cast<uint8_t>(
            ((x - width / 2) * (x - width / 2) + (y - height / 2) * (y - height / 2)) / (16 << c)));
  return rgb;
}

// One channel of one pixel behind a filter of 5 x 5 binomial weights; beyond the edge is the edge. Whole
// numbers: every device gives the same.
inline uint8_t blurred(const std::vector<uint8_t>& rgb, int width, int height, int x, int y, int channel) {
  constexpr int kWeights[] = {1, 4, 6, 4, 1};
  int sum = 128;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx) {
      const int sx = x + dx < 0 ? 0 : x + dx >= width ? width - 1 : x + dx;
      const int sy = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
      sum += kWeights[dx + 2] * kWeights[dy + 2] * rgb[(sy * width + sx) * 3 + channel];
    }
  return static_cast<uint8_t>(sum >> 8);
}
