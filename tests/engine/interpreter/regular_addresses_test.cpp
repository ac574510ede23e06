// Loads and stores whose lanes reach elements one behind the other, all the same one, or nearly so, in either
// half of a wave: what has handlers of its own (engine/interpreter/regular_addresses.h) gives what lanes one
// by one give.
#include <array>
#include <span>

#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::interpreter {
namespace {

constexpr uint32_t kBytes = TestWave::kMemoryBytes;
static_assert(TestWave::kLdsBytes == kBytes);

enum class Layout { consecutive, same, consecutive_but_one, same_but_one, scattered };
constexpr std::array kLayouts{Layout::consecutive, Layout::same, Layout::consecutive_but_one,
                              Layout::same_but_one, Layout::scattered};

// Of a lane, in halves of 16 lanes that each have their layout.
uint32_t offset_of(Layout layout, unsigned lane, uint32_t element) {
  const uint32_t begin = 1024 + lane / 16 * 600, in_half = lane % 16;
  switch (layout) {
    case Layout::consecutive:
      return begin + in_half * element;
    case Layout::same:
      return begin;
    case Layout::consecutive_but_one:
      return begin + in_half * element + (in_half == 11 ? 4 : 0);
    case Layout::same_but_one:
      return begin + (in_half == 13 ? 8 : 0);
    case Layout::scattered:
      return begin + in_half * 7 % 16 * 20;
  }
  return 0;
}

void for_each_layout(const std::function<void(TestWave&, uint64_t exec,
                                              const std::function<uint32_t(unsigned, uint32_t)>&)>& body) {
  for_each_wave([&](TestWave& w) {
    for (Layout low : kLayouts)
      for (Layout high : kLayouts)
        for (uint64_t exec : {~uint64_t{0}, uint64_t{0x7fff'fff7'ffff'fffe}}) {
          SCOPED_TRACE(std::to_string(static_cast<int>(low)) + " and " +
                       std::to_string(static_cast<int>(high)));
          for (unsigned i = 0; i < kBytes / 4; ++i) {
            w.word(i) = 0x8000'0000u + 0x10'0001 * i;
            w.lds_word(i) = 0x9000'0000u + 0x10'0003 * i;
          }
          w.set_exec(exec);
          body(w, exec, [&](unsigned lane, uint32_t element) {
            return offset_of(lane / 16 % 2 == 0 ? low : high, lane, element);
          });
        }
  });
}

uint32_t word_at(const std::byte* memory, size_t offset) {
  uint32_t value;
  std::memcpy(&value, memory + offset, 4);
  return value;
}

std::string registers(unsigned first, unsigned count) {
  return count == 1 ? "v" + std::to_string(first)
                    : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

TEST(RegularAddresses, LoadsFromLds) {
  for_each_layout([](TestWave& w, uint64_t exec, const auto& offset) {
    for (unsigned words = 1; words <= 4; ++words) {
      w.set_exec(~uint64_t{0});
      w.fill(0, [&](unsigned lane) { return offset(lane, 4 * words); });
      w.fill(1, [&](unsigned lane) { return offset(lane, 4 * words); });
      for (unsigned i = 0; i < 4; ++i) w.fill(10 + i, [](unsigned lane) { return lane; });
      w.set_exec(exec);
      const std::string bits = std::to_string(32 * words);
      // The second one is loaded over its address.
      w.run("ds_load_b" + bits + " " + registers(10, words) + ", v1 offset:36\nds_load_b" + bits + " " +
            registers(0, words) + ", v0 offset:8");
      for (unsigned i = 0; i < words; ++i) {
        w.expect_v(10 + i,
                   [&](unsigned lane) { return word_at(w.lds(), offset(lane, 4 * words) + 36 + 4 * i); });
        w.expect_v(i, [&](unsigned lane) { return word_at(w.lds(), offset(lane, 4 * words) + 8 + 4 * i); });
      }
    }
    for (unsigned words : {1u, 2u})
      for (unsigned stride : {1u, 64u}) {
        w.set_exec(~uint64_t{0});
        for (unsigned i = 0; i < 4; ++i) w.fill(i, [&](unsigned lane) { return offset(lane, 4 * words); });
        w.set_exec(exec);
        w.run("ds_load_2addr_" + std::string(stride == 64 ? "stride64_" : "") + "b" +
              std::to_string(32 * words) + " " + registers(0, 2 * words) + ", v0 offset0:3 offset1:2");
        for (unsigned i = 0; i < 2 * words; ++i)
          w.expect_v(i, [&](unsigned lane) {
            return word_at(
                w.lds(), offset(lane, 4 * words) + (i < words ? 3 : 2) * 4 * words * stride + i % words * 4);
          });
      }
  });
}

// Lanes in order: where two store to one place, the later one's value stays.
std::vector<std::byte> stored(TestWave& w, std::span<const std::byte> before, unsigned first, unsigned words,
                              const std::function<size_t(unsigned lane)>& place) {
  std::vector<std::byte> memory(before.begin(), before.end());
  for (unsigned lane = 0; lane < w.size(); ++lane)
    for (unsigned i = 0; w.active(lane) && i < words; ++i)
      std::memcpy(&memory[place(lane) + 4 * i], &w.v(first + i, lane), 4);
  return memory;
}

TEST(RegularAddresses, StoresToLds) {
  for_each_layout([](TestWave& w, uint64_t, const auto& offset) {
    for (unsigned words = 1; words <= 4; ++words) {
      const uint64_t exec = w.exec();
      w.set_exec(~uint64_t{0});
      w.fill(0, [&](unsigned lane) { return offset(lane, 4 * words); });
      w.set_exec(exec);
      const auto expected = stored(w, {w.lds(), kBytes}, 20, words,
                                   [&](unsigned lane) { return offset(lane, 4 * words) + 12; });
      w.run("ds_store_b" + std::to_string(32 * words) + " v0, " + registers(20, words) + " offset:12");
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.lds())) << words;
    }
    for (unsigned words : {1u, 2u})
      for (unsigned stride : {1u, 64u}) {
        const uint64_t exec = w.exec();
        w.set_exec(~uint64_t{0});
        w.fill(0, [&](unsigned lane) { return offset(lane, 4 * words); });
        w.set_exec(exec);
        // The second element of all lanes over the first of others.
        const auto place = [&](unsigned lane, unsigned elements) {
          return offset(lane, 4 * words) + elements * 4 * words * stride;
        };
        const auto first =
            stored(w, {w.lds(), kBytes}, 20, words, [&](unsigned lane) { return place(lane, 3); });
        const auto expected = stored(w, first, 24, words, [&](unsigned lane) { return place(lane, 2); });
        w.run("ds_store_2addr_" + std::string(stride == 64 ? "stride64_" : "") + "b" +
              std::to_string(32 * words) + " v0, " + registers(20, words) + ", " + registers(24, words) +
              " offset0:3 offset1:2");
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.lds())) << words << " " << stride;
      }
  });
}

// So often that the last one finds the range that the first one looked up: instructions get their places for
// ranges in turns.
std::string repeated(const std::string& access) {
  std::string text;
  for (unsigned i = 0; i <= kCachedRanges; ++i) text += access + "\n";
  return text;
}

TEST(RegularAddresses, Global) {
  for_each_layout([](TestWave& w, uint64_t exec, const auto& offset) {
    for (const std::string segment : {"global", "flat"})
      for (const bool wide : {true, false}) {
        if (segment == "flat" && !wide) continue;
        for (unsigned words = 1; words <= 4; ++words) {
          w.set_exec(~uint64_t{0});
          w.set_s64(2, w.memory_address());
          w.fill(0, [&](unsigned lane) { return offset(lane, 4 * words); });
          if (wide) w.fill64(0, [&](unsigned lane) { return w.memory_address() + offset(lane, 4 * words); });
          for (unsigned i = 0; i < 4; ++i) w.fill(10 + i, [](unsigned lane) { return lane; });
          w.set_exec(exec);
          const std::string bits = std::to_string(32 * words), base = segment == "flat" ? ""
                                                                      : wide            ? ", off"
                                                                                        : ", s[2:3]";
          const std::string address = wide ? "v[0:1]" : "v0";
          w.run(repeated(segment + "_load_b" + bits + " " + registers(10, words) + ", " + address + base +
                         " offset:20"));
          for (unsigned i = 0; i < words; ++i)
            w.expect_v(10 + i, [&](unsigned lane) {
              return word_at(w.memory(), offset(lane, 4 * words) + 20 + 4 * i);
            });
          const auto expected = stored(w, {w.memory(), kBytes}, 20, words,
                                       [&](unsigned lane) { return offset(lane, 4 * words) + 8; });
          w.run(repeated(segment + "_store_b" + bits + " " + address + ", " + registers(20, words) + base +
                         " offset:8"));
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.memory())) << segment << words;
        }
      }
  });
}

// Elements smaller than a dword: the same, into whole registers and into either half.
TEST(RegularAddresses, LoadsOfBytesAndShorts) {
  struct Load {
    std::string name;
    unsigned bytes;
    bool is_signed;
    enum { whole, low, high } part;
  };
  static const Load kLoads[] = {
      {"u8", 1, false, Load::whole},      {"i8", 1, true, Load::whole},
      {"u16", 2, false, Load::whole},     {"i16", 2, true, Load::whole},
      {"d16_u8", 1, false, Load::low},    {"d16_i8", 1, true, Load::low},
      {"d16_b16", 2, false, Load::low},   {"d16_hi_u8", 1, false, Load::high},
      {"d16_hi_i8", 1, true, Load::high}, {"d16_hi_b16", 2, false, Load::high},
  };
  for_each_layout([](TestWave& w, uint64_t exec, const auto& offset) {
    for (const Load& load : kLoads) {
      const auto place = [&](unsigned lane) { return offset(lane, load.bytes) + 3; };
      const auto expect = [&](const std::byte* memory) {
        w.expect_v(
            10,
            [&](unsigned lane) {
              uint32_t value = word_at(memory, place(lane)) & (load.bytes == 1 ? 0xffu : 0xffffu);
              if (load.is_signed)
                value = static_cast<uint32_t>(load.bytes == 1 ? int32_t{static_cast<int8_t>(value)}
                                                              : int32_t{static_cast<int16_t>(value)});
              const uint32_t old = 0xabcd'0000u + 0x1'0101 * lane;
              if (load.part == Load::low) return (old & 0xffff'0000u) | (value & 0xffffu);
              if (load.part == Load::high) return (old & 0xffffu) | value << 16;
              return value;
            },
            load.name);
      };
      w.set_exec(~uint64_t{0});
      w.set_s64(2, w.memory_address());
      w.fill(0, [&](unsigned lane) { return offset(lane, load.bytes); });
      w.fill(10, [](unsigned lane) { return 0xabcd'0000u + 0x1'0101 * lane; });
      w.set_exec(exec);
      w.run(repeated("global_load_" + load.name + " v10, v0, s[2:3] offset:3"));
      expect(w.memory());
      w.set_exec(~uint64_t{0});
      w.fill(10, [](unsigned lane) { return 0xabcd'0000u + 0x1'0101 * lane; });
      w.set_exec(exec);
      // The size stands before the half.
      const std::string in_lds = load.part == Load::whole ? load.name
                                 : load.part == Load::low ? load.name.substr(4) + "_d16"
                                                          : load.name.substr(7) + "_d16_hi";
      w.run("ds_load_" + (in_lds[0] == 'b' ? "u" + in_lds.substr(1) : in_lds) + " v10, v0 offset:3");
      expect(w.lds());
    }
  });
}

// Where lanes point that are off, is nobody's business; where the others do, is.
TEST(RegularAddresses, LanesThatAreOff) {
  for_each_wave([](TestWave& w) {
    for (const bool is_load : {true, false})
      for (const uint64_t way_off : {uint64_t{kBytes}, uint64_t{1} << 32}) {
        const auto place = [&](unsigned lane) {
          return w.memory_address() + lane * 5 % w.size() * 4 + (lane == 5 || lane == 20 ? way_off : 0);
        };
        w.set_exec(~uint64_t{0});
        w.fill64(0, place);
        for (unsigned i = 0; i < kBytes / 4; ++i) w.word(i) = i + 1;
        const uint64_t others = w.exec() & ~(uint64_t{1} << 5 | uint64_t{1} << 20);
        w.set_exec(others);
        const std::string text =
            repeated(is_load ? "global_load_b32 v10, v[0:1], off" : "global_store_b32 v[0:1], v20, off");
        const auto expected = is_load ? std::vector<std::byte>(w.memory(), w.memory() + kBytes)
                                      : stored(w, {w.memory(), kBytes}, 20, 1, [&](unsigned lane) {
                                          return place(lane) - w.memory_address();
                                        });
        w.run(text);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.memory()));
        if (is_load) w.expect_v(10, [&](unsigned lane) { return lane * 5 % w.size() + 1; });
        w.set_exec(others | uint64_t{1} << 20);
        const Fault fault = w.run_to_fault(text);
        EXPECT_EQ(fault.kind, FaultKind::memory_violation);
        EXPECT_EQ(fault.lane, 20);
        EXPECT_EQ(fault.address, place(20));
      }
  });
}

// Scratch at one offset for all lanes: rows of dwords, of which the lanes that are on have theirs.
TEST(RegularAddresses, RowsOfScratch) {
  for_each_wave([](TestWave& w) {
    auto* const scratch = reinterpret_cast<std::byte*>(w.wave().given_scratch_base);
    const uint32_t bytes = w.wave().given_scratch_bytes, row = w.size() * 4;
    for (const uint64_t exec : {~uint64_t{0}, uint64_t{0x7fff'fff7'0000'8001}, uint64_t{0}})
      for (unsigned words = 1; words <= 4; ++words)
        for (const uint32_t offset : {uint32_t{16}, bytes - 4 * words}) {
          w.set_exec(exec);
          w.s(4) = offset - 12;
          for (unsigned i = 0; i < bytes / 4 * w.size(); ++i) {
            const uint32_t value = 0x7000'0000u + i;
            std::memcpy(scratch + 4 * i, &value, 4);
          }
          const auto place = [&](unsigned lane, unsigned word) {
            return (offset / 4 + word) * row + 4 * lane;
          };
          std::vector<std::byte> expected(scratch, scratch + bytes / 4 * row);
          const std::string bits = std::to_string(32 * words);
          w.run("scratch_load_b" + bits + " " + registers(10, words) + ", off, s4 offset:12");
          for (unsigned i = 0; i < words; ++i)
            w.expect_v(10 + i, [&](unsigned lane) { return word_at(scratch, place(lane, i)); });
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), scratch));
          for (unsigned lane = 0; lane < w.size(); ++lane)
            for (unsigned i = 0; w.active(lane) && i < words; ++i)
              std::memcpy(&expected[place(lane, i)], &w.v(20 + i, lane), 4);
          w.run("scratch_store_b" + bits + " off, " + registers(20, words) + ", s4 offset:12");
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), scratch)) << words << " at " << offset;
        }
    w.set_exec(0);
    w.s(4) = bytes;
    w.run("scratch_load_b32 v10, off, s4");
    w.set_exec(8);
    EXPECT_EQ(w.run_to_fault("scratch_load_b32 v10, off, s4").lane, 3);
  });
}

// The end of what may be reached lies behind one of the lanes.
TEST(RegularAddresses, AtTheEnd) {
  for_each_wave([](TestWave& w) {
    for (unsigned inside = w.size() - 17; inside <= w.size(); ++inside)
      for (unsigned words = 1; words <= 4; ++words) {
        const std::string bits = std::to_string(32 * words);
        const uint32_t begin = kBytes - inside * 4 * words;
        const auto offset = [&](unsigned lane) { return begin + lane * 4 * words; };
        for (unsigned i = 0; i < kBytes / 4; ++i) w.lds_word(i) = w.word(i) = i + 1;
        w.fill(0, offset);
        w.run("ds_load_b" + bits + " " + registers(10, words) + ", v0\nds_store_b" + bits + " v0, " +
              registers(20, words));
        w.expect_v(10, [&](unsigned lane) { return lane < inside ? offset(lane) / 4 + 1 : 0; });
        for (unsigned lane = 0; lane < inside; ++lane)
          EXPECT_EQ(w.lds_word(offset(lane) / 4), w.v(20, lane)) << lane;
        if (inside == w.size()) continue;
        // Behind the memory lies nothing. The last access has the place for ranges of the first one.
        w.set_s64(2, w.memory_address());
        w.fill(1, [&](unsigned lane) { return lane * 4 * words; });
        const std::string load = "global_load_b" + bits + " " + registers(10, words) + ", ";
        std::string text;
        for (unsigned i = 0; i < kCachedRanges; ++i) text += load + "v1, s[2:3]\n";
        const Fault fault = w.run_to_fault(text + load + "v0, s[2:3]");
        EXPECT_EQ(fault.kind, FaultKind::memory_violation);
        EXPECT_EQ(fault.lane, static_cast<int>(inside));
        EXPECT_EQ(fault.address, w.memory_address() + kBytes);
      }
  });
}

// Lanes in disorder, of which one is at the begin of what may be reached and another one at its end, or a
// dword further out; or elsewhere altogether.
TEST(RegularAddresses, ScatteredAtBothEnds) {
  for_each_wave([](TestWave& w) {
    for (unsigned words = 1; words <= 4; ++words)
      for (const bool wide : {true, false})
        for (const bool is_load : {true, false}) {
          const uint32_t element = 4 * words, span = w.size() * element;
          const auto place = [&](unsigned lane) { return lane * 7 % w.size() * element; };
          const auto lane_at = [&](uint32_t wanted) {
            for (unsigned lane = 0; lane < w.size(); ++lane)
              if (place(lane) == wanted) return static_cast<int>(lane);
            return -1;
          };
          const std::string address = wide ? "v[0:1]" : "v0", base = wide ? ", off" : ", s[2:3]";
          const std::string bits = std::to_string(32 * words);
          const auto access = [&](const std::string& from) {
            return is_load ? "global_load_b" + bits + " " + registers(10, words) + ", " + from + base
                           : "global_store_b" + bits + " " + from + ", " + registers(20, words) + base;
          };
          // Without a base in SGPRs addresses have 64 bits.
          const auto begin_at = [&](uint64_t begin) {
            w.set_s64(2, begin);
            if (wide)
              w.fill64(2, [&](unsigned lane) { return begin + place(lane); });
            else
              w.fill(2, place);
          };
          const std::string known = repeated(access(wide ? "v[2:3]" : "v2"));
          const uint64_t low = w.memory_address(), high = low + kBytes - span;
          for (const uint64_t begin : {low, high}) {
            for (unsigned i = 0; i < kBytes / 4; ++i) w.word(i) = i + 1;
            const auto expected = is_load ? std::vector<std::byte>(w.memory(), w.memory() + kBytes)
                                          : stored(w, {w.memory(), kBytes}, 20, words,
                                                   [&](unsigned lane) { return begin - low + place(lane); });
            begin_at(begin);
            w.run(known);
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.memory()));
            for (unsigned i = 0; is_load && i < words; ++i)
              w.expect_v(10 + i, [&](unsigned lane) { return (begin - low + place(lane)) / 4 + i + 1; });
          }
          for (const bool is_below : {true, false}) {
            const uint64_t begin = is_below ? low - 4 : high + 4;
            // What was in range before tells the places for ranges where that is.
            w.set_s64(2, low);
            if (wide) {
              w.fill64(2, [&](unsigned lane) { return low + place(lane); });
              w.fill64(0, [&](unsigned lane) { return begin + place(lane); });
            } else {
              w.fill(2, place);
              w.fill(0, place);
              w.set_s64(6, begin);
            }
            const std::string text =
                known + (wide ? "" : "s_mov_b64 s[2:3], s[6:7]\n") + repeated(access(address));
            const Fault fault = w.run_to_fault(text);
            EXPECT_EQ(fault.kind, FaultKind::memory_violation);
            EXPECT_EQ(fault.lane, lane_at(is_below ? 0 : span - element));
            EXPECT_EQ(fault.address, is_below ? begin : begin + span - element);
          }
          if (!wide) continue;
          // One lane's address differs in its upper half alone.
          w.fill64(2, [&](unsigned lane) { return low + place(lane); });
          w.fill64(0, [&](unsigned lane) { return low + place(lane) + (lane == 21 ? 1ull << 32 : 0); });
          const Fault fault = w.run_to_fault(known + repeated(access(address)));
          EXPECT_EQ(fault.kind, FaultKind::memory_violation);
          EXPECT_EQ(fault.lane, 21);
          EXPECT_EQ(fault.address, low + place(21) + (1ull << 32));
        }
  });
}

// Sums of address and offset have 32 bits; what is out of range, or not aligned, makes the lanes beside it no
// different.
TEST(RegularAddresses, AtomicsInLds) {
  for_each_wave([](TestWave& w) {
    for (const bool returns : {false, true})
      for (const bool is_wide : {false, true})
        for (const bool one_is_outside : {false, true}) {
          const uint32_t element = is_wide ? 8 : 4;
          for (unsigned i = 0; i < kBytes / 4; ++i) w.lds_word(i) = i;
          const auto place = [&](unsigned lane) {
            return one_is_outside && lane == 9 ? kBytes : lane / 2 * element;
          };
          w.fill(0, [&](unsigned lane) { return place(lane) - 64; });
          w.fill(20, [](unsigned lane) { return 1000 + lane; });
          w.fill(21, [](unsigned) { return 0; });
          std::vector<uint32_t> expected(kBytes / 4), old(w.size(), 0);
          for (unsigned i = 0; i < kBytes / 4; ++i) expected[i] = i;
          for (unsigned lane = 0; lane < w.size(); ++lane) {
            if (place(lane) >= kBytes) continue;
            old[lane] = expected[place(lane) / 4];
            expected[place(lane) / 4] += 1000 + lane;
          }
          const std::string type = is_wide ? "u64" : "u32";
          w.run("ds_add_" + std::string(returns ? "rtn_" : "") + type + " " +
                (returns ? registers(10, element / 4) + ", " : "") + "v0, " + registers(20, element / 4) +
                " offset:64");
          for (unsigned i = 0; i < kBytes / 4; ++i) EXPECT_EQ(w.lds_word(i), expected[i]) << i;
          if (returns) w.expect_v(10, [&](unsigned lane) { return old[lane]; });
        }
  });
}

}  // namespace
}  // namespace lockstep::interpreter
