// What is kept below the user's cache folder, a file an entry. Several processes may use it at the same time:
// entries appear and vanish whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::cache {

// The stores that there are.
inline constexpr char kCompiled[] = "compiled", kTranslated[] = "translated";

// Safe from several threads.
class Store {
 public:
  // The store `name` in the user's folder. Null if LOCKSTEP_CACHE_MEGABYTES is 0, or if anybody else could
  // write there. `error` is for a setting that is no number.
  static std::unique_ptr<Store> open(const char* name, std::string& error);
  // In a folder that is there; null if it is not this user's alone.
  static std::unique_ptr<Store> open_in(std::filesystem::path folder, uint64_t limit_bytes);

  // False if there is none. One that is damaged, or not this user's alone, is removed.
  bool find(const std::string& key, std::string& contents) const;
  // Whether there is one, damaged or not.
  bool has(const std::string& key) const;
  // Those that were used longest ago go when there is more than the limit. A failure is none of the caller's
  // business.
  void store(const std::string& key, std::string_view contents);
  void remove(const std::string& key) const;

  struct Contents {
    uint64_t entries = 0, bytes = 0;
  };
  Contents contents() const;
  void clear() const;
  const std::filesystem::path& folder() const { return folder_; }
  uint64_t limit_bytes() const { return limit_; }

 private:
  Store(std::filesystem::path folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}
  std::filesystem::path path_of(const std::string& key) const;
  void trim() const;

  std::filesystem::path folder_;
  uint64_t limit_;
  std::atomic<uint64_t> stored_since_look_ = UINT64_MAX / 2;  // bytes; the first one looks
};

}  // namespace lockstep::cache
