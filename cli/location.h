// Where an instruction stands, in words.
#pragma once

#include <string>

#include "api/lockstep.h"

namespace lockstep::cli {

// "kernel + 0x40: v_sin_f32_e32 v1, v2  at sine.cl:2"
std::string place(const lockstep_code_location& location);

// The last fault of the device in full, with the text of its source line where the file is still there.
std::string fault_text(const lockstep_device* device);

}  // namespace lockstep::cli
