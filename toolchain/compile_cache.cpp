#include "toolchain/compile_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace lockstep::toolchain {

namespace fs = std::filesystem;

// Length of the diagnostics, diagnostics, code object.
std::optional<Result> find_compiled(const cache::Store& store, const std::string& key) {
  std::string text;
  uint64_t diagnostics = 0;
  if (!store.find(key, text)) return std::nullopt;
  if (text.size() >= sizeof diagnostics) std::memcpy(&diagnostics, text.data(), sizeof diagnostics);
  if (text.size() < sizeof diagnostics || diagnostics > text.size() - sizeof diagnostics) return std::nullopt;
  Result result;
  result.diagnostics = text.substr(sizeof diagnostics, diagnostics);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  result.code_object.assign(begin + sizeof diagnostics + diagnostics, begin + text.size());
  if (!result) return std::nullopt;
  return result;
}

void store_compiled(cache::Store& store, const std::string& key, const Result& result) {
  const uint64_t diagnostics = result.diagnostics.size();
  std::string text(reinterpret_cast<const char*>(&diagnostics), sizeof diagnostics);
  text += result.diagnostics;
  text.append(reinterpret_cast<const char*>(result.code_object.data()), result.code_object.size());
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
