#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

// "0x1f": what messages show of addresses and words.
std::string hex(uint64_t value);

}  // namespace lockstep
