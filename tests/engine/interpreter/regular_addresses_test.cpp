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
  });
}

// Each access is there nine times, so that the last one finds the range that the first one looked up: there
// are eight places for ranges, which instructions share by their address.
std::string nine_times(const std::string& access) {
  std::string text;
  for (unsigned i = 0; i < 9; ++i) text += access + "\n";
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
          w.run(nine_times(segment + "_load_b" + bits + " " + registers(10, words) + ", " + address + base +
                           " offset:20"));
          for (unsigned i = 0; i < words; ++i)
            w.expect_v(10 + i, [&](unsigned lane) {
              return word_at(w.memory(), offset(lane, 4 * words) + 20 + 4 * i);
            });
          const auto expected = stored(w, {w.memory(), kBytes}, 20, words,
                                       [&](unsigned lane) { return offset(lane, 4 * words) + 8; });
          w.run(nine_times(segment + "_store_b" + bits + " " + address + ", " + registers(20, words) + base +
                           " offset:8"));
          EXPECT_TRUE(std::equal(expected.begin(), expected.end(), w.memory())) << segment << words;
        }
      }
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
        // Behind the memory lies nothing. The eighth access behind the first one has its place for ranges.
        w.set_s64(2, w.memory_address());
        w.fill(1, [&](unsigned lane) { return lane * 4 * words; });
        const std::string load = "global_load_b" + bits + " " + registers(10, words) + ", ";
        std::string text;
        for (unsigned i = 0; i < 8; ++i) text += load + "v1, s[2:3]\n";
        const Fault fault = w.run_to_fault(text + load + "v0, s[2:3]");
        EXPECT_EQ(fault.kind, FaultKind::memory_violation);
        EXPECT_EQ(fault.lane, static_cast<int>(inside));
        EXPECT_EQ(fault.address, w.memory_address() + kBytes);
      }
  });
}

}  // namespace
}  // namespace lockstep::interpreter
