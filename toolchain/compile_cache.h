// What clang has made before, below the user's cache folder: an entry a source, with everything that goes
// into its code in its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "toolchain/compile.h"

namespace lockstep::toolchain {

// SHA-256 over texts; where one ends and the next begins counts.
class CacheKey {
 public:
  CacheKey();
  ~CacheKey();
  CacheKey(const CacheKey&) = delete;
  CacheKey& operator=(const CacheKey&) = delete;
  void add(std::string_view text);
  // Path, size and time of a file that is too large to be read each time.
  void add_file(const std::filesystem::path& path);
  std::string text();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Several processes may use it at the same time: entries appear and vanish whole.
class CompileCache {
 public:
  // Nothing if LOCKSTEP_CACHE_MEGABYTES is 0, or if anybody else could write there. `error` is for a setting
  // that is no number.
  static std::optional<CompileCache> open(std::string& error);

  // An entry that is damaged is removed.
  std::optional<Result> find(const std::string& key) const;
  // The oldest entries go when there is more than the limit. A failure is none of the caller's business.
  void store(const std::string& key, const Result& result) const;

  struct Contents {
    uint64_t entries = 0, bytes = 0;
  };
  Contents contents() const;
  void clear() const;
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t limit_bytes() const { return limit_; }

 private:
  CompileCache(std::filesystem::path folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  void trim() const;

  std::filesystem::path folder_;
  uint64_t limit_;
};

// Flags whose effect is all in the preprocessed text and in the flags themselves, not in files that they
// name.
bool is_cacheable(const std::vector<std::string>& flags);

}  // namespace lockstep::toolchain
