// How much of a sweep a test runs. `make test-all` sets LOCKSTEP_SWEEPS=ON and gets every case; `make test`
// has a share of them, chosen so that each class (a row, a field's value, a mode) is met, and each
// combination somewhere.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace lockstep::test {

// Sanitizers look for what goes wrong in memory, which a part of the cases shows: each of them costs ten
// times as much.
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

inline bool has_whole_sweeps() {
  static const bool whole = [] {
    const char* asked = std::getenv("LOCKSTEP_SWEEPS");
    return asked && std::string_view(asked) == "ON";
  }();
  return whole;
}

template <class T>
T of_sweep(T whole, T share) {
  return has_whole_sweeps() ? whole : share;
}

// The levels of optimisation that examples are compiled at. -O1 and -O3 differ little from -O2, and `make
// test` does not compile them (examples/CMakeLists.txt).
inline std::vector<unsigned> levels_of_sweep() {
  if (has_whole_sweeps()) return {0, 1, 2, 3};
  return {0, 2};
}

// One case of `every` in the share. Callers add what they iterate over, so that other cases are met in other
// rows.
inline bool is_in_share(uint64_t number, unsigned every) {
  return has_whole_sweeps() || number % every == 0;
}

}  // namespace lockstep::test
