#include "loader/bundle.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"
#include "loader/code_object.h"
#include "loader/decompress.h"
#include "text/hex.h"
#include "text/visible.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;
namespace endian = llvm::support::endian;
using Bytes = std::span<const std::byte>;
using Owner = std::shared_ptr<const std::vector<std::byte>>;

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr int kMaxNesting = 4;
constexpr uint64_t kMaxEntries = 4096, kMaxIdBytes = 1024;
// All of a file's compressed bundles together may unpack to so much, or to so many times its size: programs
// for a dozen processors, whose code is much alike, come to about sixty times.
constexpr uint64_t kAlwaysUnpacked = 64 << 20, kMostTimes = 256, kMostUnpacked = uint64_t{4} << 30;
constexpr size_t kMostShownPath = 1024;

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+" has the kind before the first hyphen and the target ID from the
// last "-gfx".
void split_id(Image& image) {
  image.kind = image.id.substr(0, image.id.find('-'));
  size_t at = image.id.find("-gfx");
  if (at != std::string::npos) image.target = image.id.substr(at + 1);
}

// Where bundles begin in a text. Each kind is looked for once over the whole of it, however many there are of
// the other.
class BundleStarts {
 public:
  explicit BundleStarts(std::string_view text) : text_(text) {}

  // The first one at or behind `from`, which must not go back; npos: there is none.
  size_t next(size_t from) {
    if (plain_ < from || !begun_) plain_ = text_.find(kMagic, from);
    if (packed_ < from || !begun_) packed_ = text_.find(kCompressedMagic, from);
    begun_ = true;
    return std::min(plain_, packed_);
  }

 private:
  std::string_view text_;
  size_t plain_ = 0, packed_ = 0;
  bool begun_ = false;
};

struct Part {
  uint64_t offset, size;
  size_t number;
};

// Two parts that have a byte in common, if there are any. Empty parts have none.
std::optional<std::pair<size_t, size_t>> overlap(std::vector<Part> parts) {
  std::erase_if(parts, [](const Part& p) { return p.size == 0; });
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.offset, a.number) < std::tie(b.offset, b.number);
  });
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].offset - parts[i - 1].offset < parts[i - 1].size)
      return std::pair(parts[i - 1].number, parts[i].number);
  return std::nullopt;
}

class Lister {
 public:
  Lister(uint64_t file_bytes, const Cancelled& cancelled)
      : cancelled_(cancelled),
        may_unpack_(std::min(kMostUnpacked, std::max(kAlwaysUnpacked, file_bytes * kMostTimes))) {}

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
    auto fail = [&](llvm::Error e) { return Error{visible(llvm::toString(std::move(e))), where, kDamaged}; };
    auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(text_of(bytes));
    if (!file) return fail(file.takeError());
    auto sections = file->sections();
    if (!sections) return fail(sections.takeError());
    auto names = file->getSectionStringTable(*sections);
    if (!names) return fail(names.takeError());
    std::vector<Part> parts;
    for (size_t i = 0; i < sections->size(); ++i) {
      const auto& s = (*sections)[i];
      if (!names->drop_front(std::min<size_t>(s.sh_name, names->size())).starts_with(".hip_fatbin")) continue;
      if (s.sh_type == elf::SHT_NOBITS || s.sh_size == 0) continue;
      if (s.sh_offset > bytes.size() || s.sh_size > bytes.size() - s.sh_offset)
        return Error{"section " + std::to_string(i) + " (.hip_fatbin) reaches past the end of the file",
                     where, kDamaged};
      parts.push_back({s.sh_offset, s.sh_size, i});
    }
    if (const auto both = overlap(parts))
      return Error{"sections " + std::to_string(both->first) + " and " + std::to_string(both->second) +
                       " (.hip_fatbin) overlap",
                   where, kDamaged};
    for (const Part& part : parts) {
      const Result<void> r =
          add_bundles(bytes.subspan(part.offset, part.size), owner, where + ", .hip_fatbin", nesting);
      if (!r) return r;
    }
    const bool found = !parts.empty();
    if (!found)
      return Error{"is a host program without a .hip_fatbin section", where,
                   "compile it as HIP with --offload-arch=gfx1100"};
    return {};
  }

  // Bundles follow each other with padding between them.
  Result<void> add_bundles(Bytes bytes, const Owner& owner, const std::string& where, int nesting) {
    BundleStarts starts(text_of(bytes));
    bool found = false;
    for (size_t position = 0; (position = starts.next(position)) != std::string_view::npos;) {
      if (cancelled_ && cancelled_()) return Error{"reading was given up", where, ""};
      found = true;
      const Bytes bundle = bytes.subspan(position);
      const std::string place = where + " + " + hex(position);
      if (text_of(bundle).starts_with(kMagic)) {
        const Result<size_t> size = add_bundle(bundle, owner, place, nesting);
        if (!size) return size.error();
        position += *size;
      } else {
        Result<Decompressed> r = decompress_bundle(bundle, may_unpack_, place);
        if (!r) return r.error();
        may_unpack_ -= r->bytes.size();
        position += r->consumed;
        const auto unpacked = std::make_shared<const std::vector<std::byte>>(std::move(r->bytes));
        const Result<void> inner = add(*unpacked, unpacked, place + ", unpacked", nesting + 1);
        if (!inner) return inner;
      }
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
    const size_t number = bundles_++;
    std::vector<Part> parts;
    std::vector<std::string_view> ids;
    uint64_t end = at;
    for (uint64_t i = 0; i < count; ++i) {
      if (bytes.size() - at < 24) return fail("the header of the entry is cut off", i);
      const uint64_t offset = endian::read64le(bytes.data() + at);
      const uint64_t size = endian::read64le(bytes.data() + at + 8);
      const uint64_t length = endian::read64le(bytes.data() + at + 16);
      at += 24;
      if (length > kMaxIdBytes || length > bytes.size() - at)
        return fail("the ID of the entry claims " + std::to_string(length) + " bytes", i);
      const std::string_view id = text_of(bytes.subspan(at, length));
      at += length;
      if (offset > bytes.size() || size > bytes.size() - offset)
        return fail("'" + visible(id) + "' at [" + hex(offset) + ", +" + hex(size) +
                        ") reaches past the end of the " + hex(bytes.size()) + " bytes of the bundle",
                    i);
      end = std::max({end, offset + size, uint64_t{at}});
      parts.push_back({offset, size, i});
      ids.push_back(id);
    }
    for (const Part& part : parts)
      if (part.size && part.offset < at) return fail("the entry overlaps the bundle's header", part.number);
    if (const auto both = overlap(parts))
      return fail("the entry overlaps entry " + std::to_string(both->first), both->second);
    for (const Part& part : parts) {
      Image image;
      image.id = visible(ids[part.number], kMaxIdBytes);
      split_id(image);
      image.where = where + ", entry " + std::to_string(part.number);
      image.bundle = number;
      image.bytes = bytes.subspan(part.offset, part.size);
      image.owner = owner;
      const FileKind inner = kind_of_file(image.bytes);
      if (inner == FileKind::bundle || inner == FileKind::compressed_bundle) {
        const Result<void> r = add(image.bytes, owner, image.where, nesting + 1);
        if (!r) return r.error();
      } else {
        images.push_back(std::move(image));
      }
    }
    return static_cast<size_t>(end);
  }

  const Cancelled& cancelled_;
  uint64_t may_unpack_;  // bytes, of all that is still to come
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

Result<std::vector<Image>> list_images(Bytes bytes, std::string_view name, const Cancelled& cancelled) {
  Lister lister(bytes.size(), cancelled);
  const std::string shown = name.empty() ? "file" : visible(name, kMostShownPath);
  Result<void> r = lister.add(bytes, nullptr, shown, 0);
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

Result<std::vector<Image>> choose_images(const std::vector<Image>& all, std::string_view name,
                                         std::string_view target) {
  std::vector<Image> best;
  std::unordered_map<size_t, size_t> place_of_bundle;  // in `best`
  std::string others;
  for (const Image& image : all) {
    // A host entry, and an entry that the compiler left empty.
    if (image.target.empty() || image.bytes.empty()) continue;
    const int score = rank(image.target, target);
    if (score == 0) {
      const std::string shown = visible(image.target);
      if (others.size() < 200 && others.find(shown) == std::string::npos)
        others += (others.empty() ? "" : ", ") + shown;
      continue;
    }
    const auto [place, fresh] = place_of_bundle.try_emplace(image.bundle, best.size());
    if (fresh)
      best.push_back(image);
    else if (score > rank(best[place->second].target, target))
      best[place->second] = image;
  }
  if (best.empty())
    return Error{"holds no code object for " + visible(target) + (others.empty() ? "" : "; it has " + others),
                 visible(name, kMostShownPath),
                 "compile it with --offload-arch=" + visible(processor_part(target))};
  return best;
}

Result<std::vector<Image>> find_images(Bytes bytes, std::string_view name, std::string_view target) {
  const Result<std::vector<Image>> all = list_images(bytes, name);
  if (!all) return all.error();
  return choose_images(*all, name, target);
}

}  // namespace lockstep::loader
