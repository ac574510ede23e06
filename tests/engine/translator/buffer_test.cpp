// Loads and stores through buffer resources: in and out of bounds, of bytes, records and swizzled ones.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/translator/engine_pair.h"

namespace lockstep::translator {
namespace {

using interpreter::TestWave;

// What the last word of a resource says: a format, raw bounds.
constexpr uint32_t kRaw = 0x3100'4000, kStructured = kRaw & ~0x3000'0000u;

// Of the memory, in s[32:35]; `high` is above the base address in the second word.
struct Resource {
  uint32_t records = 0, last = kRaw, high = 0;
};

// v6: 4 times the lane's number; v7: the same from behind; v8: far apart, every fourth out of most bounds;
// v9: a few bytes on from lane to lane; v11: almost 2^32; v[12:13]: indices, small offsets.
void prepare(TestWave& wave, const Resource& resource, uint32_t sgpr_offset) {
  wave.set_s64(32, wave.memory_address() | uint64_t{resource.high} << 32);
  wave.set_s64(34, resource.records | uint64_t{resource.last} << 32);
  wave.s(60) = sgpr_offset;
  wave.fill(6, [](unsigned lane) { return 4 * lane; });
  wave.fill(7, [](unsigned lane) { return 0x200 - 4 * lane; });
  wave.fill(8, [](unsigned lane) { return lane % 4 == 3 ? 0x8000'0000u + lane : 28 * lane; });
  wave.fill(9, [](unsigned lane) { return 3 * lane; });
  wave.fill(11, [](unsigned lane) { return 0xffff'ff00u - 4 * lane; });
  wave.fill(12, [](unsigned lane) { return lane; });
  wave.fill(13, [](unsigned lane) { return lane % 8; });
}

constexpr std::array kLoads{"u8",  "i8",   "u16",    "i16",       "b32",     "b64",
                            "b96", "b128", "d16_u8", "d16_hi_i8", "d16_b16", "d16_hi_b16"};
constexpr std::array kStores{"b8", "b16", "b32", "b64", "b96", "b128", "d16_hi_b8", "d16_hi_b16"};

std::string registers(const std::string& form, unsigned first) {
  const bool is_half = form.find("d16") != std::string::npos;
  const unsigned count = is_half ? 1 : form == "b64" ? 2 : form == "b96" ? 3 : form == "b128" ? 4 : 1;
  const std::string name = std::to_string(first);
  return count == 1 ? "v" + name : "v[" + name + ":" + std::to_string(first + count - 1) + "]";
}

// Every form at one address, a second time so that the range is known.
std::string every_form(const std::string& address) {
  std::string text;
  for (unsigned round = 0; round < 2; ++round) {
    unsigned next = 16;
    for (const std::string form : kLoads) {
      text += "buffer_load_" + form + " " + registers(form, next) + ", " + address + "\n";
      next += 4;
    }
    for (const std::string form : kStores)
      text += "buffer_store_" + form + " " + registers(form, 20) + ", " + address + "\n";
  }
  return text;
}

struct Case {
  Resource resource;
  uint32_t sgpr_offset = 0;
};

void expect_same(const std::string& address, const std::vector<Case>& cases) {
  const std::string text = every_form(address);
  for (const unsigned wave_size : {32u, 64u}) {
    for (const Node& node : routine_of(text, wave_size).nodes)
      EXPECT_TRUE(node.kind == NodeKind::buffer || node.kind == NodeKind::end) << node.reason;
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'0f35}, uint64_t{0}}) {
      EnginePair pair({.wave_size = wave_size, .exec = exec, .seed = exec});
      for (const Case& each : cases)
        EXPECT_EQ(pair.run(code, [&](TestWave& wave) { prepare(wave, each.resource, each.sgpr_offset); }), "")
            << address << ' ' << each.resource.records;
    }
  }
}

TEST(Buffers, OfBytes) {
  std::vector<Case> cases;
  for (const uint32_t records : {4096u, 256u, 130u, 3u, 0u}) cases.push_back({{.records = records}, 12});
  for (const char* address : {"v7, s[32:35], s60 offen offset:3", "v8, s[32:35], 0 offen",
                              "v9, s[32:35], s60 offen", "v[12:13], s[32:35], 0 idxen offen"})
    expect_same(address, cases);
  // What is in bounds of a pointer's buffer need not be in memory.
  cases.push_back({{.records = 0x8000'0000}, 12});
  for (const char* address : {"v6, s[32:35], 0 offen offset:64", "off, s[32:35], s60 offset:8"})
    expect_same(address, cases);
}

// Offsets that pass 2^32, bounds that are less than what is added to each offset.
TEST(Buffers, AtTheEndsOfNumbers) {
  std::vector<Case> cases;
  for (const uint32_t records : {0u, 4u, 100u, 0xffff'ffffu})
    for (const uint32_t displacement : {0u, 0x64u, 0xffff'fff0u, 0xffff'ffffu})
      if (records != 0xffff'ffff || displacement > 100) cases.push_back({{.records = records}, displacement});
  expect_same("v11, s[32:35], s60 offen offset:4095", cases);
}

// Records of several dwords, indices, swizzling, lane numbers that are added, no format.
TEST(Buffers, OfOtherKinds) {
  const std::vector<Case> cases = {{{40, kStructured, 8u << 16}},
                                   {{40, kRaw, 8u << 16}},
                                   {{40, kStructured | 0x1000'0000, 8u << 16}},
                                   {{1, kStructured | 0x2000'0000, 4u << 16}},
                                   {{400, kRaw, 8u << 16 | 1u << 30}},
                                   {{40, kStructured, 8u << 16 | 3u << 30}},
                                   {{400, kRaw | 1u << 23, 4u << 16}},
                                   {{400, kRaw & ~0x3f000u}},
                                   {{20, kStructured}}};
  for (const char* address : {"v12, s[32:35], 0 idxen", "v[12:13], s[32:35], 0 idxen offen offset:4"})
    expect_same(address, cases);
}

// Both engines alike without a call or step in between.
void expect_translated(const std::string& text, const std::vector<Case>& cases) {
  for (const unsigned wave_size : {32u, 64u}) {
    for (const Node& node : routine_of(text, wave_size).nodes)
      EXPECT_TRUE(node.kind != NodeKind::call && node.kind != NodeKind::step) << node.reason;
    std::vector<uint32_t> code = interpreter::assembled(text, wave_size);
    code.pop_back();
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0xff0f'3c01'00ff'0f35}}) {
      EnginePair pair({.wave_size = wave_size, .exec = exec, .seed = exec});
      for (const Case& each : cases) {
        EXPECT_EQ(pair.run(code, [&](TestWave& wave) { prepare(wave, each.resource, each.sgpr_offset); }), "")
            << each.resource.records;
        EXPECT_EQ(pair.exits(Leave::access), 0u);
      }
    }
  }
}

// Of the resource and of the instruction; components that are constants, out of bounds, swizzled, unbound.
TEST(Buffers, OfFormats) {
  struct Form {
    std::string components, data;
  };
  const Form forms[] = {{"format_x", "v16"},
                        {"format_xy", "v[18:19]"},
                        {"format_xyz", "v[20:22]"},
                        {"format_xyzw", "v[24:27]"},
                        {"d16_format_x", "v28"},
                        {"d16_format_xy", "v29"},
                        {"d16_format_xyz", "v[30:31]"},
                        {"d16_format_xyzw", "v[32:33]"}};
  const std::pair<std::string, std::string> addresses[] = {{", v7, s[32:35], s60 ", "offen offset:3"},
                                                           {", v[12:13], s[32:35], 0 ", "idxen offen"}};
  std::string text;
  for (const auto& [address, modifiers] : addresses) {
    for (const std::string kind : {"load_", "store_"}) {
      for (const Form& form : forms) {
        text += "buffer_" + kind + form.components + " " + form.data + address + modifiers + "\n";
        for (const std::string format : {"8_8_8_8_UNORM", "16_16_FLOAT", "32_32_32_32_SINT"})
          text += "tbuffer_" + kind + form.components + " " + form.data + address + "format:[BUF_FMT_" +
                  format + "] " + modifiers + "\n";
      }
      text += "buffer_" + kind + "d16_hi_format_x v34" + address + modifiers + "\n";
    }
  }
  std::vector<Case> cases;
  for (const uint32_t format : {4u, 23u, 29u, 31u, 42u, 57u, 63u, 0u})
    for (const uint32_t records : {4096u, 100u})
      cases.push_back({{records, (kRaw & ~0x3f'f000u) | format << 12 | 0xfac, 0}, 12});
  cases.push_back({{20, (kStructured & ~0x3f'f000u) | 42 << 12 | 0x3a1, 8u << 16}, 0});
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    for (unsigned lines = 0; lines < 40 && end < text.size(); ++lines) end = text.find('\n', end) + 1;
    expect_translated(text.substr(begin, end - begin), cases);
    begin = end;
  }
}

TEST(Buffers, Atomics) {
  std::string text;
  for (const char* address :
       {", v6, s[32:35], s60 offen offset:4", ", v12, s[32:35], 0 idxen", ", off, s[32:35], 0 offset:16"})
    for (const char* glc : {"", " glc"})
      for (const char* operation : {"add_u32 v16", "cmpswap_b32 v[18:19]", "min_i32 v20", "inc_u32 v21",
                                    "add_f32 v22", "min_f32 v23"})
        text += std::string("buffer_atomic_") + operation + address + glc + "\n";
  std::string pairs = "v_mov_b32 v13, 0\n";
  for (const char* operation : {"add_u64 v[24:25]", "cmpswap_b64 v[26:29]", "swap_b64 v[30:31]"})
    pairs += std::string("buffer_atomic_") + operation + ", v[12:13], s[32:35], 0 idxen offen glc\n";
  std::vector<Case> cases;
  for (const uint32_t records : {4096u, 60u, 0u})
    cases.push_back({{.records = records, .high = 8u << 16}, 12});
  cases.push_back({{400, kRaw, 8u << 16 | 1u << 30}, 0});
  expect_translated(text, cases);
  // Records of 8 bytes, which swizzling takes apart.
  cases.pop_back();
  expect_translated(pairs, cases);
}

// Dwords on both sides of the end, offsets that are no multiples of 4, what is in nobody's memory.
TEST(Buffers, ScalarLoads) {
  const std::string text =
      "s_buffer_load_b32 s40, s[32:35], 0x10\ns_buffer_load_b64 s[42:43], s[32:35], s60\n"
      "s_buffer_load_b128 s[44:47], s[32:35], s60 offset:0x14\ns_buffer_load_b256 s[48:55], s[32:35], 0x20\n"
      "s_buffer_load_b512 s[64:79], s[32:35], 0x40\ns_buffer_load_b32 s40, s[32:35], 0x10";
  std::vector<Case> cases;
  for (const uint32_t records : {4096u, 70u, 30u, 0u})
    for (const uint32_t offset : {0u, 6u, 100u}) cases.push_back({{.records = records}, offset});
  cases.push_back({{12, kStructured, 8u << 16}, 4});
  expect_translated(text, cases);
  EXPECT_EQ(compare("s_mov_b32 s60, 0x1230\ns_mov_b32 s61, 0\ns_mov_b32 s62, -1\ns_mov_b32 s63, "
                    "0\nv_add_nc_u32 v1, v2, v3\n"
                    "s_buffer_load_b64 s[40:41], s[60:63], 0x10\nv_add_nc_u32 v4, s40, v1"),
            "");
}

// In bounds of the buffer, but in nobody's memory: the interpreter's fault, and nothing is changed before.
TEST(Buffers, FaultsAreTheInterpreters) {
  for (const char* access :
       {"buffer_load_b32 v9, v7, s[60:63], 0 offen", "buffer_store_b64 v[2:3], v7, s[60:63], 0 offen",
        "buffer_load_format_xy v[9:10], v7, s[60:63], 0 offen",
        "buffer_atomic_add_u32 v9, v7, s[60:63], 0 offen glc",
        "buffer_atomic_add_u32 v9, v7, s[60:63], 0 offen offset:1",
        "tbuffer_store_format_x v9, v7, s[60:63], 0 format:[BUF_FMT_32_FLOAT] offen"})
    for (const char* base : {"0x1230", "s32"})
      EXPECT_EQ(compare(std::string("v_lshlrev_b32 v7, 13, v6\ns_mov_b32 s60, ") + base +
                        "\ns_and_b32 s61, s33, 0xffff\ns_mov_b32 s62, -1\ns_mov_b32 s63, 0x31004000\n"
                        "v_add_nc_u32 v1, v2, v3\n" +
                        access + "\nv_add_nc_u32 v4, v9, v1"),
                "")
          << access;
}

}  // namespace
}  // namespace lockstep::translator
