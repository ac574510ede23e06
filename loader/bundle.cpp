#include "loader/bundle.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "loader/code_object.h"
#include "loader/decompress.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;
namespace endian = llvm::support::endian;
using Bytes = std::span<const std::byte>;
using Owner = std::shared_ptr<const std::vector<std::byte>>;

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr const char* kDamaged = "the file is damaged or truncated; copy or build it again";
constexpr int kMaxNesting = 4;
constexpr uint64_t kMaxEntries = 4096, kMaxIdBytes = 1024;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string hex(uint64_t value) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+" has the kind before the first hyphen and the target ID from the
// last "-gfx".
void split_id(Image& image) {
  image.kind = image.id.substr(0, image.id.find('-'));
  size_t at = image.id.find("-gfx");
  if (at != std::string::npos) image.target = image.id.substr(at + 1);
}

class Lister {
 public:
  std::vector<Image> images;

  Result<void> add(Bytes bytes, const Owner& owner, const std::string& where, int nesting) {
    if (nesting > kMaxNesting)
      return Error{"bundles are nested deeper than " + std::to_string(kMaxNesting) + " levels", where,
                   kDamaged};
    switch (kind_of_file(bytes)) {
      case FileKind::code_object:
        return add_code_object(bytes, owner, where);
      case FileKind::host_elf:
        return add_host_elf(bytes, owner, where, nesting);
      case FileKind::bundle:
      case FileKind::compressed_bundle:
        return add_bundles(bytes, owner, where, nesting);
      case FileKind::unknown:
        break;
    }
    std::string what = "is neither a code object, an offload bundle, nor a host ELF file";
    if (bytes.empty()) what = "is empty";
    if (text_of(bytes).starts_with("# __CLANG_OFFLOAD_BUNDLE__") ||
        text_of(bytes).starts_with("; __CLANG_OFFLOAD_BUNDLE__"))
      what = "is a text bundle, which holds assembly or IR, not code objects";
    return Error{what, where, "give a file that clang made for amdgcn-amd-amdhsa, gfx1100"};
  }

 private:
  Result<void> add_code_object(Bytes bytes, const Owner& owner, const std::string& where) {
    Image image;
    image.where = where;
    image.bytes = bytes;
    image.owner = owner;
    image.bundle = bundles_++;
    if (bytes.size() >= 64)
      image.target = std::string(processor_of_machine(std::to_integer<uint8_t>(bytes[48])));
    images.push_back(std::move(image));
    return {};
  }

  Result<void> add_host_elf(Bytes bytes, const Owner& owner, const std::string& where, int nesting) {
    auto fail = [&](llvm::Error e) { return Error{llvm::toString(std::move(e)), where, kDamaged}; };
    auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(text_of(bytes));
    if (!file) return fail(file.takeError());
    auto sections = file->sections();
    if (!sections) return fail(sections.takeError());
    bool found = false;
    for (const auto& s : *sections) {
      auto name = file->getSectionName(s);
      if (!name) return fail(name.takeError());
      if (!name->starts_with(".hip_fatbin") || s.sh_type == elf::SHT_NOBITS || s.sh_size == 0) continue;
      if (s.sh_offset > bytes.size() || s.sh_size > bytes.size() - s.sh_offset)
        return Error{"section " + name->str() + " reaches past the end of the file", where, kDamaged};
      found = true;
      Result<void> r =
          add_bundles(bytes.subspan(s.sh_offset, s.sh_size), owner, where + ", " + name->str(), nesting);
      if (!r) return r;
    }
    if (!found)
      return Error{"is a host program without a .hip_fatbin section", where,
                   "compile it as HIP with --offload-arch=gfx1100"};
    return {};
  }

  // Bundles follow each other with padding between them.
  Result<void> add_bundles(Bytes bytes, const Owner& owner, const std::string& where, int nesting) {
    size_t position = 0;
    bool found = false;
    while (position < bytes.size()) {
      std::string_view rest = text_of(bytes.subspan(position));
      size_t next = std::min(rest.find(kMagic), rest.find(kCompressedMagic));
      if (next == std::string_view::npos) break;
      position += next;
      found = true;
      Bytes bundle = bytes.subspan(position);
      std::string place = where + " + " + hex(position);
      size_t size = 0;
      if (rest.substr(next).starts_with(kMagic)) {
        Result<size_t> r = add_bundle(bundle, owner, place, nesting);
        if (!r) return r.error();
        size = *r;
      } else {
        Result<Decompressed> r = decompress_bundle(bundle, place);
        if (!r) return r.error();
        size = r->consumed;
        auto unpacked = std::make_shared<const std::vector<std::byte>>(std::move(r->bytes));
        Result<void> inner = add(*unpacked, unpacked, place + ", unpacked", nesting + 1);
        if (!inner) return inner;
      }
      position += size;
    }
    if (!found)
      return Error{"holds no offload bundle", where, "compile it as HIP with --offload-arch=gfx1100"};
    return {};
  }

  // Returns the number of bytes up to the end of the last entry.
  Result<size_t> add_bundle(Bytes bytes, const Owner& owner, const std::string& where, int nesting) {
    auto fail = [&](std::string what, size_t entry) {
      return Error{std::move(what), where + ", entry " + std::to_string(entry), kDamaged};
    };
    size_t at = kMagic.size() + 8;
    if (bytes.size() < at) return Error{"the bundle's header is cut off", where, kDamaged};
    uint64_t count = endian::read64le(bytes.data() + kMagic.size());
    if (count > kMaxEntries)
      return Error{"the bundle claims " + std::to_string(count) + " entries", where, kDamaged};
    size_t number = bundles_++;
    uint64_t end = at;
    for (uint64_t i = 0; i < count; ++i) {
      if (bytes.size() - at < 24) return fail("the header of the entry is cut off", i);
      uint64_t offset = endian::read64le(bytes.data() + at);
      uint64_t size = endian::read64le(bytes.data() + at + 8);
      uint64_t length = endian::read64le(bytes.data() + at + 16);
      at += 24;
      if (length > kMaxIdBytes || length > bytes.size() - at)
        return fail("the ID of the entry claims " + std::to_string(length) + " bytes", i);
      Image image;
      image.id = std::string(text_of(bytes.subspan(at, length)));
      at += length;
      if (offset > bytes.size() || size > bytes.size() - offset)
        return fail("'" + image.id + "' at [" + hex(offset) + ", +" + hex(size) +
                        ") reaches past the end of the " + hex(bytes.size()) + " bytes of the bundle",
                    i);
      end = std::max({end, offset + size, uint64_t{at}});
      split_id(image);
      image.where = where + ", entry " + std::to_string(i);
      image.bundle = number;
      image.bytes = bytes.subspan(offset, size);
      image.owner = owner;
      FileKind inner = kind_of_file(image.bytes);
      if (inner == FileKind::bundle || inner == FileKind::compressed_bundle) {
        Result<void> r = add(image.bytes, owner, image.where, nesting + 1);
        if (!r) return r.error();
      } else {
        images.push_back(std::move(image));
      }
    }
    return static_cast<size_t>(end);
  }

  size_t bundles_ = 0;
};

std::string_view processor_part(std::string_view target) {
  return target.substr(0, target.find(':'));
}

// The sign of a feature in a target ID, or 0 if it is left open.
char feature_sign(std::string_view target, std::string_view feature) {
  size_t at = target.find(":" + std::string(feature));
  if (at == std::string_view::npos) return 0;
  at += 1 + feature.size();
  return at < target.size() ? target[at] : 0;
}

int rank(std::string_view image_target, std::string_view target) {
  if (!target_matches(image_target, target)) return 0;
  if (image_target == target) return 3;
  return processor_part(image_target) == processor_part(target) ? 2 : 1;
}

}  // namespace

FileKind kind_of_file(Bytes bytes) {
  std::string_view text = text_of(bytes);
  if (text.starts_with(kMagic)) return FileKind::bundle;
  if (text.starts_with(kCompressedMagic)) return FileKind::compressed_bundle;
  if (text.starts_with("\x7f"
                       "ELF")) {
    if (bytes.size() < 20) return FileKind::code_object;
    unsigned machine = endian::read16le(bytes.data() + 18);
    return machine == elf::EM_AMDGPU ? FileKind::code_object : FileKind::host_elf;
  }
  return FileKind::unknown;
}

Result<std::vector<Image>> list_images(Bytes bytes, std::string_view name) {
  Lister lister;
  Result<void> r = lister.add(bytes, nullptr, name.empty() ? "file" : std::string(name), 0);
  if (!r) return r.error();
  return std::move(lister.images);
}

bool target_matches(std::string_view image_target, std::string_view target) {
  Target image;
  image.processor = std::string(processor_part(image_target));
  if (!image.runs_on(processor_part(target))) return false;
  for (std::string_view feature : {"xnack", "sramecc"}) {
    char has = feature_sign(image_target, feature), wants = feature_sign(target, feature);
    if (has && wants && has != wants) return false;
  }
  return true;
}

Result<std::vector<Image>> find_images(Bytes bytes, std::string_view name, std::string_view target) {
  Result<std::vector<Image>> all = list_images(bytes, name);
  if (!all) return all.error();
  std::vector<Image> best;
  std::string others;
  for (Image& image : *all) {
    // A host entry, and an entry that the compiler left empty.
    if (image.target.empty() || image.bytes.empty()) continue;
    int score = rank(image.target, target);
    if (score == 0) {
      if (others.size() < 200 && others.find(image.target) == std::string::npos)
        others += (others.empty() ? "" : ", ") + image.target;
      continue;
    }
    auto same =
        std::find_if(best.begin(), best.end(), [&](const Image& b) { return b.bundle == image.bundle; });
    if (same == best.end())
      best.push_back(image);
    else if (score > rank(same->target, target))
      *same = image;
  }
  if (best.empty())
    return Error{
        "holds no code object for " + std::string(target) + (others.empty() ? "" : "; it has " + others),
        std::string(name), "compile it with --offload-arch=" + std::string(processor_part(target))};
  return best;
}

}  // namespace lockstep::loader
