// Buffer formats against an oracle that reads the format's name, and buffer addressing against the guide's
// formulas.
#include "memory/formats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "memory/buffer_resource.h"

namespace lockstep::memory {
namespace {

// Guide table 52. Names list the components from the highest bits down.
const std::vector<std::string> kNames = {"INVALID",
                                         "8_UNORM",
                                         "8_SNORM",
                                         "8_USCALED",
                                         "8_SSCALED",
                                         "8_UINT",
                                         "8_SINT",
                                         "16_UNORM",
                                         "16_SNORM",
                                         "16_USCALED",
                                         "16_SSCALED",
                                         "16_UINT",
                                         "16_SINT",
                                         "16_FLOAT",
                                         "8_8_UNORM",
                                         "8_8_SNORM",
                                         "8_8_USCALED",
                                         "8_8_SSCALED",
                                         "8_8_UINT",
                                         "8_8_SINT",
                                         "32_UINT",
                                         "32_SINT",
                                         "32_FLOAT",
                                         "16_16_UNORM",
                                         "16_16_SNORM",
                                         "16_16_USCALED",
                                         "16_16_SSCALED",
                                         "16_16_UINT",
                                         "16_16_SINT",
                                         "16_16_FLOAT",
                                         "10_11_11_FLOAT",
                                         "11_11_10_FLOAT",
                                         "10_10_10_2_UNORM",
                                         "10_10_10_2_SNORM",
                                         "10_10_10_2_UINT",
                                         "10_10_10_2_SINT",
                                         "2_10_10_10_UNORM",
                                         "2_10_10_10_SNORM",
                                         "2_10_10_10_USCALED",
                                         "2_10_10_10_SSCALED",
                                         "2_10_10_10_UINT",
                                         "2_10_10_10_SINT",
                                         "8_8_8_8_UNORM",
                                         "8_8_8_8_SNORM",
                                         "8_8_8_8_USCALED",
                                         "8_8_8_8_SSCALED",
                                         "8_8_8_8_UINT",
                                         "8_8_8_8_SINT",
                                         "32_32_UINT",
                                         "32_32_SINT",
                                         "32_32_FLOAT",
                                         "16_16_16_16_UNORM",
                                         "16_16_16_16_SNORM",
                                         "16_16_16_16_USCALED",
                                         "16_16_16_16_SSCALED",
                                         "16_16_16_16_UINT",
                                         "16_16_16_16_SINT",
                                         "16_16_16_16_FLOAT",
                                         "32_32_32_UINT",
                                         "32_32_32_SINT",
                                         "32_32_32_FLOAT",
                                         "32_32_32_32_UINT",
                                         "32_32_32_32_SINT",
                                         "32_32_32_32_FLOAT"};

struct Named {
  std::vector<unsigned> widths;  // lowest component first
  std::string type;
};
Named parse(const std::string& name) {
  Named named;
  size_t at = 0;
  while (std::isdigit(name[at])) {
    const size_t end = name.find('_', at);
    named.widths.insert(named.widths.begin(), std::stoul(name.substr(at, end - at)));
    at = end + 1;
  }
  named.type = name.substr(at);
  return named;
}

// Value of a float with 5 exponent bits.
double small_float(uint32_t bits, unsigned mantissa) {
  const double fraction = bits % (1u << mantissa);
  const unsigned exponent = bits >> mantissa;
  if (exponent == 31) return fraction == 0 ? INFINITY : NAN;
  if (exponent == 0) return fraction * std::pow(2.0, -14.0 - mantissa);
  return (1 + fraction / (1u << mantissa)) * std::pow(2.0, static_cast<int>(exponent) - 15);
}
double half(uint32_t bits) {
  return (bits & 0x8000 ? -1 : 1) * small_float(bits & 0x7fff, 10);
}

// What a memory component means as a number.
long double meaning(const std::string& type, uint32_t bits, unsigned width) {
  const long double range = std::pow(2.0L, width);
  const long double value = bits, number = bits >= range / 2 ? value - range : value;
  if (type == "UNORM") return value / (range - 1);
  if (type == "SNORM") return std::max(-1.0L, number / (range / 2 - 1));
  if (type == "USCALED" || type == "UINT") return value;
  if (type == "SSCALED" || type == "SINT") return number;
  if (width == 32) return std::bit_cast<float>(bits);
  return width == 16 ? half(bits) : small_float(bits, width - 5);
}

// The half next to a value: nearest even, or towards zero, by search.
uint32_t nearest_half(long double value) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const long double size = std::fabs(value);
  uint32_t low = 0;
  while (low < 0x7bff && small_float(low + 1, 10) <= size) ++low;
  const long double down = size - small_float(low, 10);
  const long double up = (low == 0x7bff ? 65536.0L : small_float(low + 1, 10)) - size;
  return sign | (up < down || (up == down && low % 2 == 1) ? low + 1 : low);
}

std::mt19937_64& random() {
  static std::mt19937_64 engine(3);
  return engine;
}

std::vector<uint32_t> patterns(unsigned width) {
  const uint32_t all = width == 32 ? ~0u : (1u << width) - 1;
  std::vector<uint32_t> list = {0, 1, 2, all, all - 1, all >> 1, (all >> 1) + 1, (all >> 1) + 2, all / 3};
  for (int i = 0; i < 60; ++i) list.push_back(random()() & all);
  if (width == 32)
    for (uint32_t bits :
         {0x3f800000u, 0xbf800001u, 0x7f7fffffu, 0x33000001u, 0x477fefffu, 0x387fffffu, 0x00800000u})
      list.push_back(bits);
  for (uint32_t& bits : list) bits &= all;
  return list;
}

Element place(const Named& named, unsigned component, uint32_t bits) {
  Element element{};
  unsigned offset = 0;
  for (unsigned i = 0; i < component; ++i) offset += named.widths[i];
  for (unsigned bit = 0; bit < named.widths[component]; ++bit)
    if (bits >> bit & 1) element[(offset + bit) / 32] |= 1u << (offset + bit) % 32;
  return element;
}

TEST(Formats, TableMatchesTheNames) {
  EXPECT_FALSE(data_format(0).is_valid());
  for (unsigned number = 64; number < 256; ++number) EXPECT_FALSE(data_format(number).is_valid()) << number;
  for (unsigned number = 1; number < kNames.size(); ++number) {
    const Named named = parse(kNames[number]);
    const DataFormat format = data_format(number);
    ASSERT_TRUE(format.is_valid()) << kNames[number];
    ASSERT_EQ(format.components, named.widths.size()) << kNames[number];
    unsigned total = 0;
    for (unsigned i = 0; i < format.components; ++i) {
      EXPECT_EQ(format.bits[i], named.widths[i]) << kNames[number];
      total += named.widths[i];
    }
    EXPECT_EQ(format.bytes * 8u, total) << kNames[number];
  }
}

TEST(Formats, Loads) {
  for (unsigned number = 1; number < kNames.size(); ++number) {
    const Named named = parse(kNames[number]);
    const DataFormat format = data_format(number);
    const Select select = identity_select(format);
    for (unsigned component = 0; component < format.components; ++component)
      for (const uint32_t bits : patterns(named.widths[component])) {
        const Element element = place(named, component, bits);
        const uint32_t full = load_element(format, element, select, false)[component];
        const uint32_t d16 = load_element(format, element, select, true)[component];
        const long double value = meaning(named.type, bits, named.widths[component]);
        SCOPED_TRACE(kNames[number] + " component " + std::to_string(component) + " bits " +
                     std::to_string(bits));
        if (named.type == "UINT" || named.type == "SINT") {
          ASSERT_EQ(full, static_cast<uint32_t>(static_cast<int64_t>(value)));
          ASSERT_EQ(d16, static_cast<uint32_t>(static_cast<int64_t>(value)) & 0xffff);
        } else if (value != value) {
          ASSERT_TRUE(std::isnan(std::bit_cast<float>(full)));
          ASSERT_TRUE(std::isnan(half(d16)));
        } else {
          ASSERT_EQ(std::bit_cast<float>(full), static_cast<float>(value));
          if (named.widths[component] == 32) {  // truncated
            ASSERT_LE(std::fabs(half(d16)), std::fabs(value));
            if (std::fabs(value) < 65504 && (d16 & 0x7fff) < 0x7bff)
              ASSERT_GT(std::fabs(half((d16 & 0x7fff) + 1)), std::fabs(value));
          } else if (!std::isinf(value)) {
            ASSERT_EQ(d16 & 0x7fff, nearest_half(value) & 0x7fff);
          }
          ASSERT_EQ(d16 >> 15, std::signbit(std::bit_cast<float>(full)));
        }
      }
  }
}

TEST(Formats, StoresReturnWhatWasLoaded) {
  for (unsigned number = 1; number < kNames.size(); ++number) {
    const Named named = parse(kNames[number]);
    const DataFormat format = data_format(number);
    const Select select = identity_select(format);
    for (unsigned component = 0; component < format.components; ++component)
      for (const uint32_t bits : patterns(named.widths[component])) {
        const unsigned width = named.widths[component];
        const long double value = meaning(named.type, bits, width);
        if (value != value) continue;
        const Element element = place(named, component, bits);
        SCOPED_TRACE(kNames[number] + " component " + std::to_string(component) + " bits " +
                     std::to_string(bits));
        const Element back =
            store_element(format, load_element(format, element, select, false), 4, select, false);
        const bool two_ways_to_minus_one = named.type == "SNORM" && bits == 1u << (width - 1);
        if (two_ways_to_minus_one) {
          ASSERT_EQ(back, place(named, component, bits + 1));
        } else {
          ASSERT_EQ(back, element);
        }
        const bool fits_in_16 = width <= 10 || named.type == "UINT" || named.type == "SINT" ||
                                (named.type == "FLOAT" && width == 16);
        if (width <= 16 && fits_in_16 && !two_ways_to_minus_one) {
          ASSERT_EQ(store_element(format, load_element(format, element, select, true), 4, select, true),
                    element);
        }
      }
  }
}

uint32_t stored(unsigned number, float value) {
  const DataFormat format = data_format(number);
  return store_element(format, {std::bit_cast<uint32_t>(value)}, 1, identity_select(format), false)[0];
}
uint32_t stored_integer(unsigned number, uint32_t value) {
  const DataFormat format = data_format(number);
  return store_element(format, {value}, 1, identity_select(format), false)[0];
}

TEST(Formats, StoresClampAndRound) {
  EXPECT_EQ(stored(1, 2.0f), 0xffu);
  EXPECT_EQ(stored(1, -1.0f), 0u);
  EXPECT_EQ(stored(1, NAN), 0u);
  EXPECT_EQ(stored(1, 0.5f), 128u);  // 127.5 to even
  EXPECT_EQ(stored(1, INFINITY), 0xffu);
  EXPECT_EQ(stored(2, -2.0f), 0x81u);
  EXPECT_EQ(stored(2, NAN), 0u);
  EXPECT_EQ(stored(3, 300.0f), 0xffu);
  EXPECT_EQ(stored(4, -300.0f), 0x80u);
  EXPECT_EQ(stored(13, 65535.0f), 0x7bffu);  // truncated
  EXPECT_EQ(stored(13, 1e30f), 0x7bffu);
  EXPECT_EQ(stored(13, -INFINITY), 0xfc00u);
  EXPECT_EQ(stored(13, 1.0009765f), 0x3c00u);
  EXPECT_EQ(stored(13, 5.9e-8f), 0u);
  EXPECT_EQ(stored(13, 6.0e-8f), 1u);
  EXPECT_EQ(stored(30, -5.0f), 0u);
  EXPECT_EQ(stored(30, 1.0f), 15u << 6);
  EXPECT_EQ(stored(30, INFINITY), 31u << 6);
  EXPECT_EQ(stored_integer(5, 300), 0xffu);
  EXPECT_EQ(stored_integer(6, static_cast<uint32_t>(-300)), 0x80u);
  EXPECT_EQ(stored_integer(20, 0xffffffff), 0xffffffffu);
  EXPECT_EQ(stored_integer(21, 0x80000000), 0x80000000u);
}

TEST(Formats, Selects) {
  const DataFormat bytes = data_format(46);  // 8_8_8_8_UINT
  const Element element = {0x44332211, 0, 0, 0};
  EXPECT_EQ(load_element(bytes, element, {7, 6, 5, 4}, false), (Components{0x44, 0x33, 0x22, 0x11}));
  EXPECT_EQ(load_element(bytes, element, {0, 1, 4, 4}, false), (Components{0, 1, 0x11, 0x11}));
  EXPECT_EQ(out_of_range_element(bytes, {4, 1, 0, 7}, false), (Components{0, 1, 0, 0}));
  EXPECT_EQ(out_of_range_element(data_format(22), {4, 1, 0, 7}, false), (Components{0, 0x3f800000, 0, 0}));
  EXPECT_EQ(out_of_range_element(data_format(22), {4, 1, 0, 7}, true), (Components{0, 0x3c00, 0, 0}));
  EXPECT_EQ(store_element(bytes, {1, 2, 3, 4}, 4, {7, 6, 5, 4}, false)[0], 0x01020304u);
  EXPECT_EQ(store_element(bytes, {1, 2, 3, 4}, 2, {4, 5, 6, 7}, false)[0], 0x0201u);
  const DataFormat word = data_format(20);  // a format of one component: the others load 0 and are not stored
  EXPECT_EQ(load_element(word, {9, 8, 7, 6}, {4, 5, 6, 7}, false), (Components{9, 0, 0, 0}));
  EXPECT_EQ(store_element(word, {1, 2, 3, 4}, 4, {4, 5, 6, 7}, false), (Element{1, 0, 0, 0}));
}

TEST(BufferResource, Fields) {
  // base, stride, swizzle 16, records, select w z y x, format 22, index stride 32, raw
  const auto r = decode_buffer_resource({0x9abcdef0, 0xc0105678, 1000, 0x30416e2cu});
  EXPECT_EQ(r.base, 0x56789abcdef0u);
  EXPECT_EQ(r.stride, 16u);
  EXPECT_EQ(r.element_size, 16u);
  EXPECT_EQ(r.records, 1000u);
  EXPECT_EQ(r.select, (std::array<uint8_t, 4>{4, 5, 0, 7}));
  EXPECT_EQ(r.format, 22);
  EXPECT_EQ(r.index_stride, 32u);
  EXPECT_FALSE(r.add_thread_id);
  EXPECT_EQ(r.out_of_bounds, OutOfBounds::raw);
  EXPECT_EQ(r.type, 0);
  EXPECT_FALSE(r.reserved);
  EXPECT_FALSE(r.is_unbound());
  EXPECT_TRUE(decode_buffer_resource({0, 0, 0, 0}).is_unbound());
  EXPECT_TRUE(decode_buffer_resource({0, 0x80000000, 0, 0}).reserved);
  EXPECT_TRUE(decode_buffer_resource({0, 0, 0, 2}).reserved);
  EXPECT_TRUE(decode_buffer_resource({0, 0, 0, 1u << 23}).add_thread_id);
  EXPECT_EQ(decode_buffer_resource({0, 0, 0, 3u << 21}).index_stride, 64u);
  EXPECT_EQ(decode_buffer_resource({0, 0, 0, 0x80000000}).type, 2);
}

BufferResource resource(uint32_t stride, uint32_t records, OutOfBounds mode, uint32_t element = 0) {
  BufferResource r;
  r.base = 0x100000;
  r.stride = stride;
  r.records = records;
  r.out_of_bounds = mode;
  r.element_size = element;
  r.index_stride = 16;
  return r;
}

TEST(BufferResource, LinearAddresses) {
  auto r = resource(20, 10, OutOfBounds::structured);
  EXPECT_EQ(buffer_address(r, buffer_access(r, 3, 4, 8, 17), 100), 0x100000u + 100 + 3 * 20 + 12);
  r.add_thread_id = true;
  EXPECT_EQ(buffer_address(r, buffer_access(r, 3, 4, 8, 17), 0), 0x100000u + 20 * 20 + 12);
}

TEST(BufferResource, SwizzledAddressesKeepElementsOfNeighboursTogether) {
  const auto r = resource(32, 64, OutOfBounds::structured, 4);
  std::vector<uint64_t> seen;
  for (uint32_t index = 0; index < 64; ++index)
    for (uint32_t offset = 0; offset < 32; ++offset) {
      const uint64_t address = buffer_address(r, {index, offset}, 0) - r.base;
      // A block of 16 records: for each dword of the record, the dword of all 16.
      const uint64_t block = index / 16, in_block = index % 16, dword = offset / 4;
      EXPECT_EQ(address, block * 16 * 32 + dword * 16 * 4 + in_block * 4 + offset % 4);
      seen.push_back(address);
    }
  std::sort(seen.begin(), seen.end());
  for (uint64_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i);  // a permutation of the bytes
}

TEST(BufferResource, RangeChecks) {
  const auto structured = resource(16, 4, OutOfBounds::structured);
  EXPECT_TRUE(is_in_range(structured, {3, 12}, 4, 0));
  EXPECT_FALSE(is_in_range(structured, {4, 0}, 4, 0));
  EXPECT_FALSE(is_in_range(structured, {0, 13}, 4, 0));
  const auto by_index = resource(16, 4, OutOfBounds::index_only);
  EXPECT_TRUE(is_in_range(by_index, {3, 1000}, 4, 0));
  EXPECT_FALSE(is_in_range(by_index, {4, 0}, 4, 0));
  EXPECT_TRUE(is_in_range(resource(0, 1, OutOfBounds::unchecked), {1u << 31, 1u << 31}, 4, 0));
  EXPECT_FALSE(is_in_range(resource(0, 0, OutOfBounds::unchecked), {0, 0}, 4, 0));
  const auto raw = resource(0, 64, OutOfBounds::raw);
  EXPECT_TRUE(is_in_range(raw, {0, 60}, 4, 0));
  EXPECT_FALSE(is_in_range(raw, {0, 61}, 4, 0));
  EXPECT_FALSE(is_in_range(raw, {0, 60}, 4, 1));  // the scalar offset eats into the buffer
  EXPECT_FALSE(is_in_range(raw, buffer_access(raw, 0, 0xffffffff, 4, 0), 4, 0));
  EXPECT_FALSE(is_in_range(resource(16, 64, OutOfBounds::raw), {4, 0}, 4, 0));
  const auto raw_swizzled = resource(16, 4, OutOfBounds::raw, 4);
  EXPECT_TRUE(is_in_range(raw_swizzled, {3, 12}, 4, 4000));
  EXPECT_FALSE(is_in_range(raw_swizzled, {4, 0}, 4, 0));
  EXPECT_TRUE(is_scalar_in_range(resource(16, 4, OutOfBounds::raw), 63));
  EXPECT_FALSE(is_scalar_in_range(resource(16, 4, OutOfBounds::raw), 64));
  EXPECT_FALSE(is_scalar_in_range(resource(0, 64, OutOfBounds::raw), 64));
  EXPECT_EQ(scalar_buffer_address(resource(0, 64, OutOfBounds::raw), 7), 0x100004u);
}

}  // namespace
}  // namespace lockstep::memory
