#include "toolchain/wrong_code.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "toolchain/process.h"
#include "toolchain/worker_client.h"

namespace lockstep::toolchain {

namespace {

constexpr char kPlugin[] = "lockstep-guards.so";

// LLVM takes the option once only: whoever gives it has the word.
bool sets_machine_sinking(const std::vector<std::string>& flags) {
  return std::any_of(flags.begin(), flags.end(),
                     [](const std::string& flag) { return flag.starts_with("-disable-machine-sink"); });
}

bool is_clang_19(const std::string& clang) {
  static std::mutex mutex;
  static std::map<std::string, bool> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(clang, false);
  if (is_new) entry->second = run_process({clang, "-dumpversion"}, {}).output.starts_with("19.");
  return entry->second;
}

}  // namespace

std::vector<std::string> guard_flags(const Options& options) {
  // V_PERMLANE16, V_PERMLANEX16 and some DPP instructions are not marked convergent, and machine sinking
  // moves them into branches, where lanes that they read are off. Without it the OpenCL examples have 13,908
  // instructions instead of 13,937, and one kernel 2 VGPRs more; what the plugin does changes nothing there.
  if (sets_machine_sinking(options.extra_flags)) return {};
  return {"-mllvm", "-disable-machine-sink"};
}

std::filesystem::path guard_plugin(std::string& error) {
  return find_installed(kPlugin, error);
}

PluginGuard plugin_guard(const std::string& clang) {
  if (!is_clang_19(clang)) return {};
  std::string error;
  const std::filesystem::path plugin = guard_plugin(error);
  if (plugin.empty())
    return {{}, "warning: " + error + "; without it LLVM 19 compiles some constructs wrongly\n"};
  return {"-fpass-plugin=" + plugin.string(), {}};
}

bool refused_plugin(const std::string& messages) {
  return messages.find("unable to load plugin") != messages.npos && messages.find(kPlugin) != messages.npos;
}

}  // namespace lockstep::toolchain
