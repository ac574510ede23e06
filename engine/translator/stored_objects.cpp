#include "engine/translator/stored_objects.h"

#include <elf.h>
#include <link.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cache/key.h"
#include "engine/translator/code_generator.h"

namespace lockstep::translator {
namespace {

// Of one note segment; its entries are aligned to 4 bytes.
std::string build_id_in(const char* at, size_t size) {
  const auto aligned = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const uint64_t name = sizeof note, contents = name + aligned(note.n_namesz);
    if (contents > size || note.n_descsz > size - contents) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(at + name, "GNU", 4) == 0)
      return {at + contents, note.n_descsz};
    const uint64_t whole = std::min<uint64_t>(size, contents + aligned(note.n_descsz));
    at += whole;
    size -= whole;
  }
  return {};
}

struct Search {
  uintptr_t address;
  std::string id;
};

int look_at(dl_phdr_info* module, size_t, void* argument) {
  Search& search = *static_cast<Search*>(argument);
  bool has_address = false;
  std::string id;
  for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    const uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
    has_address |= segment.p_type == PT_LOAD && search.address - begin < segment.p_memsz;
    if (segment.p_type == PT_NOTE && id.empty())
      id = build_id_in(reinterpret_cast<const char*>(begin), segment.p_memsz);
  }
  if (!has_address) return 0;
  search.id = std::move(id);
  return 1;
}

// What is the same for all routines of a process; empty if it has no name.
const std::string& host_key() {
  static const std::string key = [] {
    const std::string own = build_id_of(reinterpret_cast<const void*>(&host_key));
    const std::string llvm = build_id_of(reinterpret_cast<const void*>(&llvm::sys::getHostCPUName));
    if (own.empty() || llvm.empty()) return std::string();
    cache::Key all;
    all.add(own);
    all.add(llvm);
    all.add(LLVM_VERSION_STRING);
    all.add(llvm::sys::getProcessTriple());
    all.add(llvm::sys::getHostCPUName().str());
    all.add(host_processor());
    std::vector<std::string> features;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      if (feature.second) features.push_back(feature.first().str());
    std::sort(features.begin(), features.end());
    for (const std::string& feature : features) all.add(feature);
    return all.text();
  }();
  return key;
}

void put(std::string& out, uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string build_id_of(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(&look_at, &search);
  return search.id;
}

std::string stored_key(const Routine& routine) {
  if (host_key().empty()) return {};
  cache::Key key;
  key.add(host_key());
  key.add(routine.key);
  return key.text();
}

std::string packed(const std::vector<Object>& objects) {
  std::string out;
  put(out, objects.size());
  for (const Object& object : objects) {
    put(out, object.next_slot);
    put(out, object.code_bytes);
    put(out, object.bytes.size());
    out.append(object.bytes.data(), object.bytes.size());
  }
  return out;
}

std::optional<std::vector<Object>> unpacked(std::string_view text, size_t pieces) {
  bool fits = true;
  const auto take = [&] {
    uint64_t value = 0;
    fits &= text.size() >= sizeof value;
    if (!fits) return value;
    std::memcpy(&value, text.data(), sizeof value);
    text.remove_prefix(sizeof value);
    return value;
  };
  if (take() != pieces || !fits) return std::nullopt;
  std::vector<Object> objects;
  for (size_t i = 0; i < pieces; ++i) {
    Object& object = objects.emplace_back();
    const uint64_t slot = take();
    object.code_bytes = take();
    const uint64_t size = take();
    // A routine has no more instructions than that, nor memory accesses.
    if (!fits || size > text.size() || slot > 2 * kMaxNodes) return std::nullopt;
    object.next_slot = static_cast<unsigned>(slot);
    object.bytes.assign(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
    text.remove_prefix(size);
  }
  if (!text.empty()) return std::nullopt;
  return objects;
}

}  // namespace lockstep::translator
