// A dispatch of a listing through machine::run.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/launch.h"
#include "tests/engine/interpreter/test_wave.h"
#include "tests/machine/engine_under_test.h"

namespace lockstep::machine {

// At entry: s[0:1] the buffer's address, s2 the work-group's number, v0 the item.
struct Dispatch {
  static constexpr size_t kPaddingDwords = 64;

  Launch launch;
  std::vector<uint32_t> code, buffer;
  RunOptions options;

  Dispatch(std::string_view text, uint32_t groups, uint32_t items, unsigned wave_size = 32,
           size_t words = 4096)
      : Dispatch(interpreter::assembled(text, wave_size), groups, items, wave_size, words) {}
  Dispatch(std::vector<uint32_t> words_of_code, uint32_t groups, uint32_t items, unsigned wave_size = 32,
           size_t words = 4096)
      : code(std::move(words_of_code)), buffer(words) {
    const size_t length = code.size();
    code.resize(length + kPaddingDwords, 0xbf9f0000);  // s_code_end
    launch.wave_size = wave_size;
    launch.grid = {groups * items, 1, 1};
    launch.group = {items, 1, 1};
    launch.rsrc1 = 0xf0u << 12 | 1u << 21 | 1u << 23;  // the float mode that clang sets
    launch.rsrc2 = 1u << 7;                            // work-group id x
    launch.lds_bytes = 1024;
    launch.entry = reinterpret_cast<uint64_t>(code.data());
    launch.code = {{launch.entry, launch.entry + 4 * length}};
    const auto address = reinterpret_cast<uint64_t>(buffer.data());
    launch.user_data = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)};
    launch.memory = std::make_shared<const RangeSet>(
        std::vector<Range>{{address, address + 4 * buffer.size(), kReadWrite, "buffer 'out'"}});
    options.threads = 2;
    options.engine = engine_under_test();
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(buffer.data()); }
  uint64_t pc(size_t dword) const { return launch.entry + 4 * dword; }
  // The padding that the guide asks for behind programs (2.4) counts where rules are checked; elsewhere the
  // code ends with the listing, so that running past it is seen.
  Outcome run() {
    if (options.precise.rules != precise::Rules::ignore && !std::exchange(padding_counts_, true))
      launch.code[0].end += 4 * kPaddingDwords;
    return machine::run(launch, options);
  }

 private:
  bool padding_counts_ = false;
};

}  // namespace lockstep::machine
