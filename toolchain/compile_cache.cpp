#include "toolchain/compile_cache.h"

#include <fcntl.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "toolchain/files.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kDefaultMegabytes = 512, kMostMegabytes = uint64_t{1} << 30;
constexpr uint64_t kMostEntryBytes = uint64_t{1} << 30;
constexpr std::string_view kMagic = "lockstep compiled 1\n";
constexpr std::string_view kSuffix = ".entry";
constexpr size_t kDigestBytes = 32;

std::string hex(llvm::ArrayRef<uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string digest(std::string_view text) {
  const auto hash = llvm::SHA256::hash({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

// Nobody but this user and root can put an entry there, or another folder in its place.
bool is_private(const fs::path& folder) {
  std::error_code failed;
  const fs::path real = fs::canonical(folder, failed);
  if (failed) return false;
  for (fs::path at = real;; at = at.parent_path()) {
    struct stat status;
    if (lstat(at.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
    if (at == real ? status.st_uid != geteuid() || others_write
                   : (status.st_uid != geteuid() && status.st_uid != 0) ||
                         (others_write && (status.st_mode & S_ISVTX) == 0))
      return false;
    if (at == at.root_path()) return true;
  }
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

// Magic, digest of the rest, length of the diagnostics, diagnostics, code object.
std::string packed(const Result& result) {
  const uint64_t diagnostics = result.diagnostics.size();
  std::string rest(reinterpret_cast<const char*>(&diagnostics), sizeof diagnostics);
  rest += result.diagnostics;
  rest.append(reinterpret_cast<const char*>(result.code_object.data()), result.code_object.size());
  return std::string(kMagic) + digest(rest) + rest;
}

std::optional<Result> unpacked(std::string_view text) {
  uint64_t diagnostics = 0;
  if (text.size() < kMagic.size() + kDigestBytes + sizeof diagnostics || !text.starts_with(kMagic))
    return std::nullopt;
  text.remove_prefix(kMagic.size());
  const std::string_view expected = text.substr(0, kDigestBytes);
  text.remove_prefix(kDigestBytes);
  if (digest(text) != expected) return std::nullopt;
  std::memcpy(&diagnostics, text.data(), sizeof diagnostics);
  text.remove_prefix(sizeof diagnostics);
  if (diagnostics > text.size()) return std::nullopt;
  Result result;
  result.diagnostics = text.substr(0, diagnostics);
  text.remove_prefix(diagnostics);
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  result.code_object.assign(bytes, bytes + text.size());
  return result;
}

}  // namespace

struct CacheKey::State {
  llvm::SHA256 hash;
};
CacheKey::CacheKey() : state_(std::make_unique<State>()) {}
CacheKey::~CacheKey() = default;

void CacheKey::add(std::string_view text) {
  const uint64_t size = text.size();
  state_->hash.update(llvm::StringRef(reinterpret_cast<const char*>(&size), sizeof size));
  state_->hash.update(llvm::StringRef(text.data(), text.size()));
}

void CacheKey::add_file(const fs::path& path) {
  std::error_code ignored;
  const fs::path real = fs::canonical(path, ignored);
  struct stat status{};
  stat(real.c_str(), &status);
  add(real.string());
  add(std::to_string(status.st_size) + "," + std::to_string(status.st_mtim.tv_sec) + "," +
      std::to_string(status.st_mtim.tv_nsec));
}

std::string CacheKey::text() {
  const auto hash = state_->hash.final();
  return hex(hash);
}

std::optional<CompileCache> CompileCache::open(std::string& error) {
  uint64_t megabytes = kDefaultMegabytes;
  if (const char* text = std::getenv("LOCKSTEP_CACHE_MEGABYTES"); text && *text) {
    const char* end = text + std::strlen(text);
    const auto [stop, failed] = std::from_chars(text, end, megabytes);
    if (failed != std::errc() || stop != end || megabytes > kMostMegabytes) {
      error = "LOCKSTEP_CACHE_MEGABYTES is a number from 0 (no cache) to " + std::to_string(kMostMegabytes) +
              ", not '" + text + "'";
      return std::nullopt;
    }
  }
  if (megabytes == 0) return std::nullopt;
  std::string ignored;
  const fs::path root = user_cache_directory(ignored);
  if (root.empty()) return std::nullopt;
  const fs::path folder = root / "compiled";
  mkdir(folder.c_str(), 0700);
  if (!is_private(folder)) return std::nullopt;
  return CompileCache(folder, megabytes << 20);
}

std::optional<Result> CompileCache::find(const std::string& key) const {
  const fs::path path = folder_ / (key + std::string(kSuffix));
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) return std::nullopt;
  struct stat status;
  std::string text;
  const bool readable = fstat(file.number, &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                        static_cast<uint64_t>(status.st_size) <= kMostEntryBytes &&
                        read_all(file.number, text, static_cast<size_t>(status.st_size));
  std::optional<Result> result = readable ? unpacked(text) : std::nullopt;
  if (!result || !*result) {
    unlink(path.c_str());
    return std::nullopt;
  }
  futimens(file.number, nullptr);  // used last
  return result;
}

void CompileCache::store(const std::string& key, const Result& result) const {
  const std::string text = packed(result);
  if (text.size() > std::min(kMostEntryBytes, limit_)) return;
  std::string part = (folder_ / (key + ".part-XXXXXX")).string();
  const Descriptor file{mkostemp(part.data(), O_CLOEXEC)};
  if (file.number < 0) return;
  const fs::path path = folder_ / (key + std::string(kSuffix));
  if (!write_all(file.number, text) || rename(part.c_str(), path.c_str()) != 0) {
    unlink(part.c_str());
    return;
  }
  trim();
}

namespace {

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

void CompileCache::trim() const {
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
  constexpr auto kAbandoned = std::chrono::hours(1);
  for (const Entry& part : list(folder_, true))
    if (fs::file_time_type::clock::now() - part.used > kAbandoned) unlink(part.path.c_str());
}

CompileCache::Contents CompileCache::contents() const {
  Contents out;
  for (const Entry& e : list(folder_, false)) {
    ++out.entries;
    out.bytes += e.bytes;
  }
  return out;
}

void CompileCache::clear() const {
  for (const bool parts : {false, true})
    for (const Entry& e : list(folder_, parts)) unlink(e.path.c_str());
}

bool is_cacheable(const std::vector<std::string>& flags) {
  constexpr std::string_view kTaken[] = {"-D", "-U", "-I"};  // with a value, joined or behind
  constexpr std::string_view kWithValue[] = {"-include", "-isystem"};
  constexpr std::string_view kOwn[] = {"-cl-", "-std=", "-O", "-W", "-w", "-m", "-f", "-g"};
  const auto begins = [](std::string_view flag) {
    return [flag](std::string_view beginning) { return flag.starts_with(beginning); };
  };
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string& flag = flags[i];
    const bool alone = std::find(std::begin(kTaken), std::end(kTaken), flag) != std::end(kTaken);
    if (alone || std::find(std::begin(kWithValue), std::end(kWithValue), flag) != std::end(kWithValue)) {
      ++i;
      continue;
    }
    if (std::any_of(std::begin(kTaken), std::end(kTaken), begins(flag))) continue;
    if (std::none_of(std::begin(kOwn), std::end(kOwn), begins(flag))) return false;
    // One that names a file: profiles, plug-ins, lists.
    const size_t equals = flag.find('=');
    std::error_code ignored;
    if (flag.find('/') != flag.npos || (equals != flag.npos && fs::exists(flag.substr(equals + 1), ignored)))
      return false;
  }
  return true;
}

}  // namespace lockstep::toolchain
