// Arguments of a kernel, and variables of its code object, as the command line writes them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/lockstep.hpp"
#include "cli/buffers.h"

namespace lockstep::cli {

// Sets the kernel's arguments from specifications, in order or as NAME=SPECIFICATION; their buffers are added
// to those given:
//   i32:5 u32:0x10 i64:-1 f16:0.5 f32:1.5 f64:2 ...   scalars; 5 or 1.5 alone takes the argument's own type
//   f32:1,2,3,4  1,2,3,4     vectors
//   buf:CONTENTS             a new buffer, see cli/contents.h; a file's elements are the argument's
//   pipe:i32[64]             an empty pipe of OpenCL
//   same:NAME                a buffer or pipe that is there already
//   null                     a buffer argument that is no address
//   local:4096               bytes of a __local argument
//   struct:FIELD; FIELD...   a structure of numbers, vectors (f32x4:1,2,3,4), addresses (buf:, same:, null),
//                            hex: and pad:BYTES, each aligned as C aligns it
//   hex:00112233             bytes of a structure, in memory order
// Of a kernel that does not describe its arguments (assembly) the segment is filled in the order given, each
// scalar and address at the next multiple of its size; names then only name buffers.
class ArgumentSetter {
 public:
  ArgumentSetter(Buffers& buffers, const Kernel& kernel, Arguments& arguments);

  // Throws UsageError that names the argument.
  void set_all(const std::vector<std::string>& specifications);
  // What is allowed and seldom meant, a line each.
  const std::string& notes() const { return notes_; }

 private:
  void set(uint32_t index, std::string_view text);
  void set_numbers(uint32_t index, const Numbers& numbers);
  void set_plain(uint32_t index, std::string_view text);
  std::string label(uint32_t index) const;
  void set_undescribed(const std::vector<std::string>& specifications);
  // Both add to the segment of an undescribed kernel, or set the argument of a described one.
  void give_bytes(uint32_t index, std::span<const std::byte> bytes, size_t align);
  void give_address(uint32_t index, uint64_t address);
  void append(const void* bytes, size_t size, size_t align);
  void note_other_type(uint32_t index, lockstep_type wanted, lockstep_type given);

  Buffers& buffers_;
  Arguments& arguments_;
  std::string kernel_name_;
  std::string notes_;
  bool described_;
  uint32_t segment_bytes_;
  std::vector<std::byte> segment_;  // of an undescribed kernel
  std::vector<lockstep_argument_info> infos_;
  std::deque<std::string> names_;  // of an undescribed kernel's arguments
};

// NAME=VALUE for variables of the code object (__constant__, __device__, static LDS has none): numbers,
// struct:, hex:, buf: and same: (the variable is a pointer), TYPE[SIZE]=FILL, or file:NAME. What was set
// joins the buffers under its name. Throws UsageError.
void set_variables(const std::vector<std::string>& specifications, Device& device, const CodeObject& code,
                   Buffers& buffers);

}  // namespace lockstep::cli
