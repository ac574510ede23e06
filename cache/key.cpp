#include "cache/key.h"

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/SHA256.h>
#include <sys/stat.h>

#include <cstdint>
#include <system_error>

namespace lockstep::cache {

struct Key::State {
  llvm::SHA256 hash;
};
Key::Key() : state_(std::make_unique<State>()) {}
Key::~Key() = default;

void Key::add(std::string_view text) {
  const uint64_t size = text.size();
  state_->hash.update(llvm::StringRef(reinterpret_cast<const char*>(&size), sizeof size));
  state_->hash.update(llvm::StringRef(text.data(), text.size()));
}

void Key::add_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path real = std::filesystem::canonical(path, ignored);
  struct stat status{};
  stat(real.c_str(), &status);
  add(real.string());
  add(std::to_string(status.st_size) + "," + std::to_string(status.st_mtim.tv_sec) + "," +
      std::to_string(status.st_mtim.tv_nsec));
}

std::string Key::text() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : state_->hash.final()) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace lockstep::cache
