// libFuzzer target: bundles in bundles, packed or not, of any layout. The bytes are a recipe, so that magic
// numbers, headers and checksums are right more often than chance would have it. What is read must stay in
// proportion to the file.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tests/loader/exercise.h"

namespace {

using Bytes = std::vector<std::byte>;

class Recipe {
 public:
  Recipe(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return size_ ? (--size_, *data_++) : 0; }
  bool is_empty() const { return size_ == 0; }
  std::span<const uint8_t> take(size_t count) {
    count = std::min(count, size_);
    const std::span<const uint8_t> out(data_, count);
    data_ += count;
    size_ -= count;
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_;
};

template <class T>
void append(Bytes& out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void append(Bytes& out, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), bytes, bytes + text.size());
}

Bytes pack(const Bytes& contents, uint8_t kind) {
  Bytes packed(compressBound(contents.size()));
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(contents.data()),
           contents.size());
  packed.resize(size);
  Bytes out;
  append(out, std::string_view("CCOB"));
  const uint16_t version = 1 + kind % 3;
  append(out, version);
  append(out, uint16_t{0});
  const uint64_t claimed = contents.size() + (kind >= 240 ? kind - 239 : 0);
  if (version == 2) append(out, static_cast<uint32_t>(24 + packed.size()));
  if (version == 3) append(out, static_cast<uint64_t>(32 + packed.size()));
  if (version == 3)
    append(out, claimed);
  else
    append(out, static_cast<uint32_t>(claimed));
  append(out, uint64_t{0});
  out.insert(out.end(), packed.begin(), packed.end());
  return out;
}

Bytes make(Recipe& recipe, int depth);

// Entries are where they should be, or a little off, or where another one is.
Bytes bundle(Recipe& recipe, int depth) {
  const unsigned count = recipe.byte() % 8;
  std::vector<Bytes> contents;
  for (unsigned i = 0; i < count; ++i) contents.push_back(make(recipe, depth + 1));
  constexpr std::string_view kIds[] = {"host-x86_64-unknown-linux-gnu-", "hipv4-amdgcn-amd-amdhsa--gfx1100",
                                       "hip-amdgcn-amd-amdhsa--gfx90a:xnack+", ""};
  Bytes out;
  append(out, std::string_view("__CLANG_OFFLOAD_BUNDLE__"));
  append(out, uint64_t{count});
  std::vector<std::string_view> ids;
  uint64_t at = 32;
  for (unsigned i = 0; i < count; ++i) {
    ids.push_back(kIds[recipe.byte() % std::size(kIds)]);
    at += 24 + ids.back().size();
  }
  uint64_t previous = at;
  for (unsigned i = 0; i < count; ++i) {
    const uint8_t how = recipe.byte();
    const uint64_t offset = how < 200 ? at : how < 220 ? previous : at - (how - 220);
    append(out, offset);
    append(out, uint64_t{contents[i].size() + (how == 255)});
    append(out, uint64_t{ids[i].size()});
    append(out, ids[i]);
    previous = at;
    at += contents[i].size();
  }
  for (const Bytes& part : contents) out.insert(out.end(), part.begin(), part.end());
  return out;
}

Bytes make(Recipe& recipe, int depth) {
  Bytes out;
  for (unsigned parts = 1 + recipe.byte() % 3; parts > 0; --parts) {
    if (recipe.is_empty() || depth > 6) return out;
    const uint8_t kind = recipe.byte();
    Bytes part;
    if (kind < 100) {
      part = bundle(recipe, depth);
    } else if (kind < 150) {
      part = pack(make(recipe, depth + 1), recipe.byte());
    } else {
      for (const uint8_t b : recipe.take(kind - 150)) part.push_back(std::byte{b});
    }
    out.insert(out.end(), part.begin(), part.end());
    if (out.size() > 1 << 20) return out;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lockstep::loader;
  Recipe recipe(data, size);
  const Bytes file = make(recipe, 0);
  const Result<std::vector<Image>> images = list_images(file, "fuzz");
  if (!images) {
    if (images.error().what.empty()) __builtin_trap();
    return 0;
  }
  uint64_t total = 0;
  for (const Image& image : *images) total += image.bytes.size();
  // The bound of bundle.cpp on what is unpacked, and the file itself.
  if (total > (uint64_t{64} << 20) + file.size() * 257) __builtin_trap();
  if (exercise(file, true) < 0) __builtin_trap();
  return 0;
}
