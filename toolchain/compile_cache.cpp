#include "toolchain/compile_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "toolchain/files.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

void append(std::string& out, std::string_view part) {
  const uint64_t size = part.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out += part;
}

// Takes a part from the front.
bool take(std::string_view& text, std::string_view& part) {
  uint64_t size = 0;
  if (text.size() < sizeof size) return false;
  std::memcpy(&size, text.data(), sizeof size);
  text.remove_prefix(sizeof size);
  if (size > text.size()) return false;
  part = text.substr(0, size);
  text.remove_prefix(size);
  return true;
}

}  // namespace

std::optional<Result> find_compiled(const cache::Store& store, const std::string& key) {
  std::string text;
  if (!store.find(key, text)) return std::nullopt;
  std::string_view rest = text, record, diagnostics, code_object;
  if (!take(rest, record) || !take(rest, diagnostics) || !take(rest, code_object)) return std::nullopt;
  const std::optional<FilesRead> files = FilesRead::parse(record);
  if (!files || !files->are_unchanged()) return std::nullopt;
  Result result;
  result.diagnostics = diagnostics;
  const auto* begin = reinterpret_cast<const std::byte*>(code_object.data());
  result.code_object.assign(begin, begin + code_object.size());
  if (!result) return std::nullopt;
  return result;
}

void store_compiled(cache::Store& store, const std::string& key, const FilesRead& files,
                    const Result& result) {
  std::string text;
  append(text, files.record());
  append(text, result.diagnostics);
  append(text, text_of(result.code_object));
  store.store(key, text);
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
