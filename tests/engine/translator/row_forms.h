// Each row of isa/ in the forms that compilers write, put together from the fields of its encoding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/instruction.h"

namespace lockstep::translator {

struct RowForm {
  const isa::Row* row = nullptr;
  unsigned wave_size = 32;
  // The instruction with registers of its own, and once more with others; scalar bases of memory are the
  // same. What sets SCC or VCC and nothing else has a reader behind it, so that it is not in vain.
  std::vector<uint32_t> first, second;
  std::string text;  // of the first
};

// In the order of isa::rows(); nothing of images and exports, which only fault.
std::vector<RowForm> row_forms();

}  // namespace lockstep::translator
