// Arrays of numbers: what buffers are filled from and written to. Files: .npy (NumPy's format 1 to 3), raw
// bytes, PNG.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/lockstep.h"

namespace lockstep::cli {

// Element types have the names of the command line: "f32".
std::optional<lockstep_type> type_of_name(std::string_view name);
std::string_view name_of_type(lockstep_type type);
size_t size_of_type(lockstep_type type);
bool is_float(lockstep_type type);

// The element type of a C type such as "float*" or "uchar4*"; nothing if it is no number. `vector` is its
// element count.
std::optional<lockstep_type> type_of_c_name(std::string_view c_name, unsigned* vector = nullptr);

// Writes `text` as a number of the type to `out`. Throws UsageError if it is none or out of range.
void parse_number(std::string_view text, lockstep_type type, std::byte* out);
void store_number(double value, lockstep_type type, std::byte* out);
double load_number(const std::byte* from, lockstep_type type);
std::string print_number(const std::byte* from, lockstep_type type);

uint16_t half_of(float value);
float float_of_half(uint16_t bits);

struct Array {
  lockstep_type type = LOCKSTEP_U8;
  std::vector<uint64_t> shape;
  std::vector<std::byte> bytes;
};

// By extension: .npy, otherwise raw bytes as u8.
Array read_array(const std::string& path);
// Throws UsageError for extensions of formats that nobody writes here: raw bytes under such a name would
// mislead.
void require_format(const std::string& path);
// By extension: .npy, .png, otherwise raw bytes.
void write_array(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
                 const std::vector<uint64_t>& shape);
// Gray, RGB or RGBA; in picture.cpp. Shapes: [h][w], [h][w][3 or 4]; u8 as they are, u32 as RGBA bytes,
// floats 0 to 1.
void write_png(const std::string& path, std::span<const std::byte> bytes, lockstep_type type,
               const std::vector<uint64_t>& shape);

std::string print_shape(const std::vector<uint64_t>& shape);

}  // namespace lockstep::cli
