// Arguments of a kernel as the command line writes them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/lockstep.hpp"
#include "cli/array.h"

namespace lockstep::cli {

// A buffer that was given to the kernel.
struct NamedBuffer {
  std::string name;  // of the argument, or its position
  uint32_t index = 0;
  lockstep_type type = LOCKSTEP_U8;
  std::vector<uint64_t> shape;
  Buffer<std::byte> memory;

  std::span<const std::byte> bytes() const { return {memory.data(), memory.size()}; }
};

// Sets the kernel's arguments from specifications, in order or as NAME=SPECIFICATION, and keeps the buffers:
//   i32:5 u32:0x10 i64:-1 f16:0.5 f32:1.5 f64:2 ...   scalars; 5 or 1.5 alone takes the argument's own type
//   buf:f32[1024]            zeros       buf:f32[64x64]=1.5     all the same
//   buf:u32[1024]=iota       0, 1, 2...  buf:f32[1024]=random:7 uniform (floats in [0, 1)), by seed
//   buf:in.npy  buf:in.raw   from a file; buf:u32:in.raw names the type of its elements
//   null                     a buffer argument that is no address
//   local:4096               bytes of a __local argument
//   hex:00112233             bytes of a structure, in memory order
// Of a kernel that does not describe its arguments (assembly) the segment is filled in the order given, each
// scalar and address at the next multiple of its size; names then only name buffers.
class ArgumentSetter {
 public:
  ArgumentSetter(Device& device, const Kernel& kernel, Arguments& arguments);

  // Throws UsageError that names the argument.
  void set_all(const std::vector<std::string>& specifications);
  // The buffer of that argument name or position. Throws UsageError.
  const NamedBuffer& buffer(const std::string& name) const;

 private:
  void set(uint32_t index, const std::string& specification);
  void set_scalar(uint32_t index, lockstep_type type, std::string_view text);
  void set_plain(uint32_t index, std::string_view text);
  void set_hex(uint32_t index, std::string_view digits);
  void set_buffer(uint32_t index, std::string_view text);
  // What a buffer begins with: the bytes of a file, or so many zeros or elements of a kind.
  struct Contents {
    Array array;
    uint64_t bytes = 0;
    std::string_view fill;
  };
  Contents parse_contents(uint32_t index, std::string_view text) const;
  std::string label(uint32_t index) const;
  void set_undescribed(const std::vector<std::string>& specifications);
  // Both add to the segment of an undescribed kernel, or set the argument of a described one.
  void give(uint32_t index, const std::byte* value, lockstep_type type);
  void give_address(uint32_t index, uint64_t address);
  void append(const void* bytes, size_t size, size_t align);

  Device& device_;
  Arguments& arguments_;
  std::string kernel_name_;
  bool described_;
  uint32_t segment_bytes_;
  std::vector<std::byte> segment_;  // of an undescribed kernel
  std::vector<lockstep_argument_info> infos_;
  std::deque<std::string> names_;  // of an undescribed kernel's arguments
  std::deque<NamedBuffer> buffers_;
};

}  // namespace lockstep::cli
