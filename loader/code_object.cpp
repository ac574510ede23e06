#include "loader/code_object.h"

#include <algorithm>
#include <cstring>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "text/hex.h"
#include "text/visible.h"

namespace lockstep::loader {

namespace elf = llvm::ELF;
namespace endian = llvm::support::endian;

const Kernel* CodeObject::find_kernel(std::string_view name) const {
  if (name.ends_with(".kd")) name.remove_suffix(3);
  for (const Kernel& k : kernels_)
    if (k.name == name) return &k;
  return nullptr;
}

const Symbol* CodeObject::find_symbol(std::string_view name) const {
  for (const Symbol& s : symbols_)
    if (s.name == name) return &s;
  return nullptr;
}

const Symbol* CodeObject::function_at(uint64_t address) const {
  const auto after =
      std::upper_bound(functions_.begin(), functions_.end(), address,
                       [this](uint64_t value, uint32_t index) { return value < symbols_[index].address; });
  if (after == functions_.begin()) return nullptr;
  const Symbol& last = symbols_[*std::prev(after)];
  // Symbols of assembly often have no size: the last one before the address stands for it.
  return last.size == 0 || address - last.address < last.size ? &last : nullptr;
}

const Segment* CodeObject::segment_at(uint64_t address) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                      [](uint64_t value, const Segment& s) { return value < s.address; });
  if (after == segments_.begin()) return nullptr;
  const Segment& last = *std::prev(after);
  return address - last.address < last.memory_size ? &last : nullptr;
}

std::span<const std::byte> CodeObject::file_bytes(uint64_t address, uint64_t size) const {
  const Segment* s = segment_at(address);
  if (!s) return {};
  const uint64_t offset = address - s->address;
  if (offset > s->file_size || size > s->file_size - offset) return {};
  return bytes().subspan(s->file_offset + offset, size);
}

namespace {

size_t width_of(uint32_t type) {
  switch (type) {
    case elf::R_AMDGPU_RELATIVE64:
    case elf::R_AMDGPU_ABS64:
    case elf::R_AMDGPU_REL64:
      return 8;
    case elf::R_AMDGPU_ABS32:
    case elf::R_AMDGPU_ABS32_LO:
    case elf::R_AMDGPU_ABS32_HI:
    case elf::R_AMDGPU_REL32:
    case elf::R_AMDGPU_REL32_LO:
    case elf::R_AMDGPU_REL32_HI:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Result<void> CodeObject::load_into(std::span<std::byte> image, uint64_t base_address,
                                   const Resolver& resolve) const {
  if (image.size() < image_size_)
    return Error{"needs " + std::to_string(image_size_) + " bytes of memory and was given " +
                     std::to_string(image.size()),
                 name_, "give an image of image_size() bytes"};
  for (const Segment& s : segments_)
    if (s.file_size)
      std::memcpy(image.data() + (s.address - image_start_), bytes().data() + s.file_offset, s.file_size);

  for (size_t i = 0; i < relocations_.size(); ++i) {
    const Relocation& r = relocations_[i];
    auto place = [&] {
      return name_ + ", dynamic relocation " + std::to_string(i) + " at " + hex(r.address);
    };
    if (r.type == elf::R_AMDGPU_NONE) continue;
    size_t width = width_of(r.type);
    if (!width)
      return Error{"has type " + std::to_string(r.type) + ", which no loader applies", place(),
                   "link the code object again with ld.lld -shared"};
    if (r.address < image_start_ || r.address - image_start_ > image_size_ - width)
      return Error{"lies outside the loaded segments", place(), "the file is damaged; link it again"};

    uint64_t symbol = 0;
    if (r.type == elf::R_AMDGPU_RELATIVE64) {
      symbol = base_address - image_start_;
    } else if (r.symbol_defined) {
      symbol = r.symbol_absolute ? r.symbol_address : loaded_address(r.symbol_address, base_address);
    } else if (!r.symbol.empty()) {
      std::optional<uint64_t> found = resolve ? resolve(r.symbol) : std::nullopt;
      if (!found && !r.symbol_weak)
        return Error{"refers to '" + visible(r.symbol) + "', which is not defined", place(),
                     "link the code object with the file that defines it, or build with -fgpu-rdc off"};
      symbol = found.value_or(0);
    }
    uint64_t value = symbol + static_cast<uint64_t>(r.addend);
    uint64_t target = loaded_address(r.address, base_address);
    std::byte* at = image.data() + (r.address - image_start_);
    switch (r.type) {
      case elf::R_AMDGPU_RELATIVE64:
      case elf::R_AMDGPU_ABS64:
        endian::write64le(at, value);
        break;
      case elf::R_AMDGPU_REL64:
        endian::write64le(at, value - target);
        break;
      case elf::R_AMDGPU_ABS32:
        // Unsigned or sign-extended, as the generic ABI has it for 32-bit words.
        if (value >> 32 && value >> 31 != 0x1ffffffffu)
          return Error{"the address " + hex(value) + " does not fit 32 bits", place(),
                       "load the code object below 4 GiB or compile without 32-bit absolute addresses"};
        endian::write32le(at, static_cast<uint32_t>(value));
        break;
      case elf::R_AMDGPU_ABS32_LO:
        endian::write32le(at, static_cast<uint32_t>(value));
        break;
      case elf::R_AMDGPU_ABS32_HI:
        endian::write32le(at, static_cast<uint32_t>(value >> 32));
        break;
      case elf::R_AMDGPU_REL32:
      case elf::R_AMDGPU_REL32_LO:
        endian::write32le(at, static_cast<uint32_t>(value - target));
        break;
      case elf::R_AMDGPU_REL32_HI:
        endian::write32le(at, static_cast<uint32_t>((value - target) >> 32));
        break;
    }
  }
  return {};
}

}  // namespace lockstep::loader
