// An AMDGPU code object (ELF) of version 4, 5 or 6: what is to be loaded where, and which kernels it holds.
// Source: LLVM's AMDGPU usage guide (ELF code object), the generic ELF specification.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/error.h"
#include "loader/kernel_descriptor.h"
#include "loader/metadata.h"

namespace lockstep::loader {

// Setting of a target feature in e_flags; `any` code runs with the feature on or off.
enum class FeatureSetting : uint8_t { unsupported, any, off, on };

struct Target {
  std::string processor;  // "gfx1100", "gfx11-generic"
  uint8_t machine = 0;    // EF_AMDGPU_MACH number
  FeatureSetting xnack = FeatureSetting::unsupported;
  FeatureSetting sramecc = FeatureSetting::unsupported;
  uint8_t generic_version = 0;  // of a generic processor (v6), else 0

  std::string id() const;  // "gfx90a:sramecc+:xnack-"
  // True if the code may run on `device`, a processor such as "gfx1100": the same one, or a generic one of
  // its family.
  bool runs_on(std::string_view device) const;
};

struct Segment {
  uint64_t address = 0;
  uint64_t file_offset = 0;
  uint64_t file_size = 0;
  uint64_t memory_size = 0;
  bool readable = false, writable = false, executable = false;
};

enum class SymbolKind : uint8_t { other, object, function, kernel_descriptor };

// Names leave the loader as visible() shows them: whoever prints them need not care what they hold.
struct Symbol {
  std::string name;
  uint64_t address = 0;  // as linked; see CodeObject::loaded_address
  uint64_t size = 0;
  SymbolKind kind = SymbolKind::other;
  bool global = false;
};

struct Relocation {
  uint64_t address = 0;
  uint32_t type = 0;  // R_AMDGPU_*
  int64_t addend = 0;
  std::string_view symbol;  // in the file's bytes; empty if it refers to none
  uint64_t symbol_address = 0;
  bool symbol_defined = false;
  bool symbol_absolute = false;
  bool symbol_weak = false;
};

struct Kernel {
  std::string name;
  uint64_t descriptor_address = 0;
  uint64_t entry_address = 0;
  uint64_t code_size = 0;  // 0 if no symbol says
  KernelDescriptor descriptor;
  // Part of the code object's metadata; null: hand-written assembly may have none.
  std::shared_ptr<const KernelMetadata> metadata;
};

class CodeObject {
 public:
  // Reads and checks the file; keeps a copy of the bytes. `name` is used in messages only.
  static Result<CodeObject> parse(std::span<const std::byte> bytes, std::string_view name);

  const std::string& name() const { return name_; }
  std::span<const std::byte> bytes() const { return *bytes_; }
  // For those who keep views of the bytes.
  const std::shared_ptr<const std::vector<std::byte>>& shared_bytes() const { return bytes_; }
  unsigned version() const { return version_; }  // 4, 5 or 6
  const Target& target() const { return target_; }
  const std::vector<Segment>& segments() const { return segments_; }  // sorted by address, not overlapping
  const std::vector<Symbol>& symbols() const { return symbols_; }     // sorted by address
  const std::vector<Relocation>& relocations() const { return relocations_; }
  const std::vector<Kernel>& kernels() const { return kernels_; }
  const std::shared_ptr<const Metadata>& metadata() const { return metadata_; }  // null: there is none

  const Kernel* find_kernel(std::string_view name) const;  // with or without ".kd"
  const Symbol* find_symbol(std::string_view name) const;
  // The function or kernel whose code holds `address` (as linked).
  const Symbol* function_at(uint64_t address) const;
  // The segment that holds `address` (as linked), or null.
  const Segment* segment_at(uint64_t address) const;

  // The image covers [image_start, image_start + image_size) of linked addresses, in whole pages of 4096
  // bytes.
  uint64_t image_start() const { return image_start_; }
  uint64_t image_size() const { return image_size_; }
  uint64_t loaded_address(uint64_t linked, uint64_t base) const { return linked - image_start_ + base; }
  uint64_t linked_address(uint64_t loaded, uint64_t base) const { return loaded - base + image_start_; }

  // Gives the address of a symbol that the code object does not define, or nothing.
  using Resolver = std::function<std::optional<uint64_t>(std::string_view)>;

  // Copies the segments into `image` (at least image_size() bytes, all zero: it may be much larger than the
  // file, and fresh pages need not be touched), and applies the dynamic relocations for an image whose first
  // byte has the guest address `base_address`.
  Result<void> load_into(std::span<std::byte> image, uint64_t base_address,
                         const Resolver& resolve = {}) const;

  // File bytes that back [address, address + size) as linked; empty if not all of it is in one segment's file
  // part.
  std::span<const std::byte> file_bytes(uint64_t address, uint64_t size) const;

 private:
  friend class CodeObjectReader;

  std::string name_;
  std::shared_ptr<const std::vector<std::byte>> bytes_;
  unsigned version_ = 0;
  Target target_;
  std::vector<Segment> segments_;
  std::vector<Symbol> symbols_;
  std::vector<uint32_t> functions_;  // indices of those symbols that are functions
  std::vector<Relocation> relocations_;
  std::vector<Kernel> kernels_;
  std::shared_ptr<const Metadata> metadata_;
  uint64_t image_start_ = 0;
  uint64_t image_size_ = 0;
};

// Spelling of an EF_AMDGPU_MACH number such as 0x41 -> "gfx1100"; empty if unknown.
std::string_view processor_of_machine(uint8_t machine);

}  // namespace lockstep::loader
