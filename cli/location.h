// Where an instruction stands, in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/lockstep.h"

namespace lockstep::cli {

// "kernel + 0x40: v_sin_f32_e32 v1, v2  at sine.cl:2"
std::string place(const lockstep_code_location& location);

// Lines of source files, as far as they can be read here. Code objects name any file: only ordinary ones are
// read.
class SourceLines {
 public:
  // Without its indentation, and no more of it than a line of a report has; empty if there is none.
  std::string line(const char* path, uint32_t number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

// The last fault of the device in full, with the text of its source line where the file is still there.
std::string fault_text(const lockstep_device* device);

}  // namespace lockstep::cli
