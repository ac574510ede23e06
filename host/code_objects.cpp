#include "host/code_objects.h"

#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <span>

#include "loader/readable_name.h"
#include "text/hex.h"
#include "text/visible.h"

namespace lockstep::host {

namespace {

// More than any program has loaded: the list may be damaged, or change while it is read.
constexpr size_t kMostEntries = 1 << 14;
constexpr size_t kMostUri = 4096;
constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of one code object

// Bytes of this process, which may not be there.
size_t read_memory(uint64_t address, void* to, size_t bytes) {
  const iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  return read < 0 ? 0 : static_cast<size_t>(read);
}

template <class Value>
std::optional<Value> read_value(uint64_t address) {
  Value value;
  if (address == 0 || read_memory(address, &value, sizeof value) != sizeof value) return std::nullopt;
  return value;
}

std::string read_text(uint64_t address) {
  std::string text;
  while (text.size() < kMostUri) {
    // Up to the end of a page at a time: the next one need not be there.
    char part[4096];
    const size_t read = read_memory(address, part, 4096 - address % 4096);
    const size_t length = strnlen(part, read);
    text.append(part, length);
    if (read == 0 || length < read) break;
    address += read;
  }
  return text;
}

std::optional<uint64_t> number_behind(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  text.remove_prefix(found + key.size());
  const bool hexadecimal = text.starts_with("0x");
  if (hexadecimal) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// %20 and its kin.
std::string decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + 3 <= text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16).ptr == text.data() + i + 3) {
      result += static_cast<char>(value);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Uri {
  std::string path;  // empty: in memory
  uint64_t offset = 0;
  std::optional<uint64_t> size;  // else up to the file's end
};

// "file://PATH#offset=N&size=N" or "memory://PID#offset=N&size=N" (LLVM's AMDGPU usage guide, loaded code
// object path uniform resource identifier).
std::optional<Uri> parse_uri(std::string_view text) {
  constexpr std::string_view kFile = "file://", kMemory = "memory://";
  if (!text.starts_with(kFile) && !text.starts_with(kMemory)) return std::nullopt;
  const size_t mark = std::min(text.find_first_of("#?"), text.size());
  const std::string_view fragment = text.substr(mark);
  Uri uri;
  if (text.starts_with(kFile)) uri.path = decoded(text.substr(kFile.size(), mark - kFile.size()));
  uri.offset = number_behind(fragment, "offset=").value_or(0);
  uri.size = number_behind(fragment, "size=");
  if (uri.path.empty() && !uri.size) return std::nullopt;
  return uri;
}

std::optional<loader::CodeObject> read_memory_object(const Uri& uri, const std::string& name) {
  if (*uri.size > kMostBytes) return std::nullopt;
  std::vector<std::byte> bytes(*uri.size);
  if (read_memory(uri.offset, bytes.data(), bytes.size()) != bytes.size()) return std::nullopt;
  auto parsed = loader::CodeObject::parse(bytes, name);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

std::optional<loader::CodeObject> read_file_object(const std::string& path, const Uri& uri) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::vector<std::byte> bytes;
  struct stat status;
  char magic[4] = {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      pread(file, magic, sizeof magic, static_cast<off_t>(uri.offset)) == sizeof magic &&
      std::memcmp(magic, "\177ELF", sizeof magic) == 0) {
    const uint64_t rest = static_cast<uint64_t>(status.st_size) - uri.offset, size = uri.size.value_or(rest);
    if (size <= rest && size <= kMostBytes) {
      bytes.resize(size);
      if (pread(file, bytes.data(), size, static_cast<off_t>(uri.offset)) != static_cast<ssize_t>(size))
        bytes.clear();
    }
  }
  close(file);
  if (bytes.empty()) return std::nullopt;
  auto parsed = loader::CodeObject::parse(bytes, path);
  return parsed ? std::optional(std::move(*parsed)) : std::nullopt;
}

// The files that the process has mapped.
std::vector<std::string> mapped_files() {
  std::vector<std::string> files;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos || std::find(files.begin(), files.end(), line.substr(path)) != files.end())
      continue;
    files.push_back(line.substr(path));
  }
  return files;
}

// Whether the code around the address is still what the code object says: its memory may hold another one by
// now.
bool is_current(const LoadedObject& loaded, uint64_t pc) {
  constexpr uint64_t kAround = 16;
  const uint64_t from = pc - loaded.bias;
  const std::span<const std::byte> expected = loaded.object.file_bytes(from, kAround);
  std::byte now[kAround];
  return expected.empty() ||
         (read_memory(pc, now, kAround) == kAround && std::equal(expected.begin(), expected.end(), now));
}

std::shared_ptr<const LoadedObject> load(const std::string& text, uint64_t bias) {
  const std::optional<Uri> uri = parse_uri(text);
  if (!uri) return nullptr;
  std::optional<loader::CodeObject> object =
      uri->path.empty() ? read_memory_object(*uri, text) : read_file_object(uri->path, *uri);
  if (!uri->path.empty() && !object) {
    // Runtimes take /proc/self/exe for the program, which is the loader where that was started by name
    // (tools/rocm_exec.sh): then it is in another file of the process.
    for (const std::string& path : mapped_files())
      if ((object = read_file_object(path, *uri))) break;
  }
  if (!object) return nullptr;
  return std::make_shared<const LoadedObject>(text, bias, std::move(*object));
}

}  // namespace

const loader::Kernel* LoadedObject::kernel_at(uint64_t entry) const {
  for (const loader::Kernel& kernel : object.kernels())
    if (kernel.entry_address + bias == entry) return &kernel;
  return nullptr;
}

std::vector<toolchain::Frame> LoadedObject::callers(uint64_t linked) const {
  if (!lines.has_debug_info()) return {};
  std::lock_guard lock(mutex_);
  const auto [found, is_new] = callers_.try_emplace(linked);
  if (is_new) {
    std::vector<toolchain::Frame> frames = toolchain::inlined_frames(object.bytes(), {&linked, 1})[0];
    // The innermost is the instruction's own.
    if (!frames.empty()) found->second.assign(frames.begin() + 1, frames.end());
  }
  return found->second;
}

void CodeObjects::set_list(uint64_t r_debug) {
  std::lock_guard lock(mutex_);
  list_ = r_debug;
}

void CodeObjects::refresh() {
  std::vector<Entry> entries;
  const auto head = read_value<r_debug>(list_);
  uint64_t node = head ? reinterpret_cast<uint64_t>(head->r_map) : 0;
  std::set<uint64_t> seen;
  while (node != 0 && entries.size() < kMostEntries && seen.insert(node).second) {
    const auto map = read_value<link_map>(node);
    if (!map) break;
    Entry entry{read_text(reinterpret_cast<uint64_t>(map->l_name)), map->l_addr, nullptr};
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& old) {
      return old.bias == entry.bias && old.uri == entry.uri;
    });
    entry.object = known != entries_.end() ? known->object : load(entry.uri, entry.bias);
    entries.push_back(std::move(entry));
    node = reinterpret_cast<uint64_t>(map->l_next);
  }
  entries_ = std::move(entries);
}

std::shared_ptr<const LoadedObject> CodeObjects::at(uint64_t pc) {
  std::lock_guard lock(mutex_);
  if (list_ == 0) return nullptr;
  const auto find = [&] {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.object &&
             pc - entry.bias - entry.object->object.image_start() < entry.object->object.image_size();
    });
  };
  auto found = find();
  if (found != entries_.end()) {
    if (is_current(*found->object, pc)) return found->object;
    entries_.erase(found);
  }
  refresh();
  found = find();
  return found != entries_.end() && is_current(*found->object, pc) ? found->object : nullptr;
}

std::string CodeObjects::place(uint64_t pc) {
  const std::shared_ptr<const LoadedObject> loaded = at(pc);
  if (!loaded) return {};
  const uint64_t linked = pc - loaded->bias;
  std::string text;
  if (const loader::Symbol* function = loaded->object.function_at(linked)) {
    text = loaded->object.find_kernel(function->name) ? "kernel '" : "function '";
    text += loader::readable_name(function->name) + "' + " + hex(linked - function->address);
  }
  if (const auto source = loaded->lines.find(linked); source && !source->file.empty())
    text += (text.empty() ? "at " : ", at ") + source->file + ":" + std::to_string(source->line);
  return text;
}

observe::CodeSpan CodeObjects::function(uint64_t pc, std::string_view name) {
  const std::shared_ptr<const LoadedObject> loaded = at(pc);
  const loader::Symbol* const symbol = loaded ? loaded->object.find_symbol(name) : nullptr;
  if (!symbol) return {};
  return {symbol->address + loaded->bias, symbol->address + loaded->bias + symbol->size};
}

std::vector<toolchain::Frame> CodeObjects::callers(uint64_t pc) {
  const std::shared_ptr<const LoadedObject> loaded = at(pc);
  return loaded ? loaded->callers(pc - loaded->bias) : std::vector<toolchain::Frame>();
}

std::vector<std::string> CodeObjects::caller_lines(uint64_t pc) {
  std::vector<std::string> lines;
  for (const toolchain::Frame& frame : callers(pc)) {
    std::string& line = lines.emplace_back("inlined into " + visible(frame.function, std::string::npos));
    if (!frame.file.empty())
      line += " at " + visible(frame.file, std::string::npos) + ":" + std::to_string(frame.line);
  }
  return lines;
}

}  // namespace lockstep::host
