// Everything that the loader can do with bytes from anywhere; shared by the mutation test and the fuzz
// target.
#pragma once

#include <vector>

#include "loader/bundle.h"
#include "loader/code_object.h"
#include "loader/hidden_arguments.h"
#include "loader/source_lines.h"

namespace lockstep::loader {

// Returns how many code objects in the bytes were read without an error.
inline int exercise(std::span<const std::byte> bytes, bool with_source_lines) {
  // Larger images are legal but would only measure the allocator.
  constexpr uint64_t kMaxImage = 1 << 20;
  Result<std::vector<Image>> images = list_images(bytes, "mutated");
  if (!images) return images.error().message().empty() ? -1 : 0;
  (void)find_images(bytes, "mutated", "gfx1100");
  int good = 0;
  for (const Image& image : *images) {
    Result<CodeObject> object = CodeObject::parse(image.bytes, image.where);
    if (!object) {
      if (object.error().what.empty()) return -1;
      continue;
    }
    ++good;
    if (object->image_size() <= kMaxImage) {
      std::vector<std::byte> memory(object->image_size());
      (void)object->load_into(memory, 0x7f0000000000, [](std::string_view) { return 42; });
    }
    for (const Kernel& k : object->kernels()) {
      (void)object->find_kernel(k.name);
      (void)object->function_at(k.entry_address);
      (void)object->file_bytes(k.entry_address, k.code_size);
      if (!k.metadata) continue;
      std::vector<std::byte> arguments(k.descriptor.kernarg_size & 0xffff);
      (void)fill_hidden_arguments(*k.metadata, {}, arguments);
    }
    if (with_source_lines) {
      SourceLines lines(*object);
      for (const Kernel& k : object->kernels()) (void)lines.find(k.entry_address + 8);
    }
  }
  return good;
}

}  // namespace lockstep::loader
