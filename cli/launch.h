// What a run and each step of a job need: which kernel, how large a grid, and what is shown of a buffer.
#pragma once

#include <cstdint>
#include <string>

#include "api/lockstep.hpp"
#include "cli/buffers.h"

namespace lockstep::cli {

// As the command line writes it: sizes with commas, empty where not given.
struct Shape {
  std::string grid, groups, block;
};

// The kernel of that name; of an empty one the only kernel. `input` stands for the code in messages. Throws
// UsageError.
Kernel choose_kernel(const CodeObject& code, const std::string& name, const std::string& input);
// Of a block as the command line writes it, to compile for; 0: none is given, or more than any work-group
// has.
uint32_t work_group_size_of(const std::string& block);
void choose_shape(const Shape& shape, const lockstep_kernel_info& kernel, lockstep_dispatch_options& out);

// At most `limit` elements; 0: all.
void print_buffer(const NamedBuffer& buffer, uint32_t limit);
void print_summary(const char* kernel, const lockstep_statistics& statistics);
// What the translator did in the device's last run.
void print_translation(const Device& device, const lockstep_statistics& statistics);

// By the name that users give it. Throws UsageError.
lockstep_engine engine_of(std::string_view name);

}  // namespace lockstep::cli
