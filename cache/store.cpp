#include "cache/store.h"

#include <fcntl.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "cache/folder.h"

namespace lockstep::cache {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kDefaultMegabytes = 512, kMostMegabytes = uint64_t{1} << 30;
constexpr uint64_t kMostEntryBytes = uint64_t{1} << 30;
constexpr std::string_view kMagic = "lockstep entry 2\n";
constexpr std::string_view kSuffix = ".entry";
constexpr size_t kDigestBytes = 32;

// Of the key, too: an entry by another's name is damaged.
std::string digest(const std::string& key, std::string_view contents) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(key));
  hash.update(llvm::StringRef(contents.data(), contents.size()));
  const auto bytes = hash.final();
  static_assert(sizeof bytes == kDigestBytes);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

bool read_all(int file, std::string& out, size_t size) {
  out.resize(size);
  for (size_t at = 0; at < size;) {
    const ssize_t got = read(file, out.data() + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

struct Entry {
  fs::path path;
  uint64_t bytes;
  fs::file_time_type used;
};

// Entries, and parts of such that somebody did not finish.
std::vector<Entry> list(const fs::path& folder, bool parts) {
  std::vector<Entry> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename();
    if (name.ends_with(kSuffix) == parts || (parts && name.find(".part-") == name.npos)) continue;
    std::error_code gone;
    const uint64_t bytes = at->file_size(gone);
    const fs::file_time_type used = at->last_write_time(gone);
    if (!gone) out.push_back({at->path(), bytes, used});
  }
  return out;
}

}  // namespace

std::unique_ptr<Store> Store::open(const char* name, std::string& error) {
  uint64_t megabytes = kDefaultMegabytes;
  if (const char* text = std::getenv("LOCKSTEP_CACHE_MEGABYTES"); text && *text) {
    const char* end = text + std::strlen(text);
    const auto [stop, failed] = std::from_chars(text, end, megabytes);
    if (failed != std::errc() || stop != end || megabytes > kMostMegabytes) {
      error = "LOCKSTEP_CACHE_MEGABYTES is a number from 0 (no cache) to " + std::to_string(kMostMegabytes) +
              ", not '" + text + "'";
      return nullptr;
    }
  }
  if (megabytes == 0) return nullptr;
  std::string ignored;
  const fs::path root = user_directory(ignored);
  if (root.empty()) return nullptr;
  const fs::path folder = root / name;
  mkdir(folder.c_str(), 0700);
  return open_in(folder, megabytes << 20);
}

std::unique_ptr<Store> Store::open_in(fs::path folder, uint64_t limit_bytes) {
  if (!is_private(folder)) return nullptr;
  return std::unique_ptr<Store>(new Store(std::move(folder), limit_bytes));
}

fs::path Store::path_of(const std::string& key) const {
  return folder_ / (key + std::string(kSuffix));
}

bool Store::find(const std::string& key, std::string& contents) const {
  const fs::path path = path_of(key);
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) {
    if (errno == ELOOP) remove(key);
    return false;
  }
  struct stat status;
  const size_t header = kMagic.size() + kDigestBytes;
  const bool found = fstat(file.number, &status) == 0 && S_ISREG(status.st_mode) &&
                     status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                     static_cast<uint64_t>(status.st_size) <= kMostEntryBytes &&
                     read_all(file.number, contents, static_cast<size_t>(status.st_size)) &&
                     contents.size() >= header && contents.starts_with(kMagic) &&
                     std::string_view(contents).substr(kMagic.size(), kDigestBytes) ==
                         digest(key, std::string_view(contents).substr(header));
  if (!found) {
    remove(key);
    return false;
  }
  contents.erase(0, header);
  futimens(file.number, nullptr);  // used last
  return true;
}

bool Store::has(const std::string& key) const {
  return access(path_of(key).c_str(), R_OK) == 0;
}

void Store::store(const std::string& key, std::string_view contents) {
  const std::string header = std::string(kMagic) + digest(key, contents);
  const uint64_t bytes = header.size() + contents.size();
  if (bytes > std::min(kMostEntryBytes, limit_)) return;
  std::string part = (folder_ / (key + ".part-XXXXXX")).string();
  const Descriptor file{mkostemp(part.data(), O_CLOEXEC)};
  if (file.number < 0) return;
  if (!write_all(file.number, header) || !write_all(file.number, contents) ||
      rename(part.c_str(), path_of(key).c_str()) != 0) {
    unlink(part.c_str());
    return;
  }
  // What is there is counted now and then only: there may be thousands of entries.
  if (stored_since_look_.fetch_add(bytes) + bytes < limit_ / 16) return;
  stored_since_look_ = 0;
  trim();
}

void Store::remove(const std::string& key) const {
  unlink(path_of(key).c_str());
}

void Store::trim() const {
  constexpr auto kAbandoned = std::chrono::hours(1);
  for (const Entry& part : list(folder_, true))
    if (fs::file_time_type::clock::now() - part.used > kAbandoned) unlink(part.path.c_str());
  std::vector<Entry> entries = list(folder_, false);
  uint64_t bytes = 0;
  for (const Entry& e : entries) bytes += e.bytes;
  if (bytes <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (bytes <= limit_ / 4 * 3) break;  // not at each entry again
    unlink(e.path.c_str());
    bytes -= e.bytes;
  }
}

Store::Contents Store::contents() const {
  Contents out;
  for (const Entry& e : list(folder_, false)) {
    ++out.entries;
    out.bytes += e.bytes;
  }
  return out;
}

void Store::clear() const {
  for (const bool parts : {false, true})
    for (const Entry& e : list(folder_, parts)) unlink(e.path.c_str());
}

}  // namespace lockstep::cache
