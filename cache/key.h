// The name of what is kept: everything that goes into it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace lockstep::cache {

// SHA-256 over texts; where one ends and the next begins counts.
class Key {
 public:
  Key();
  ~Key();
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  void add(std::string_view text);
  // Path, size and time of a file that is too large to be read each time.
  void add_file(const std::filesystem::path& path);
  std::string text();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::cache
