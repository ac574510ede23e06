// `lockstep exec`: starts a program of ROCm with the library that answers for the kernel's driver.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/console.h"
#include "cli/interrupt.h"
#include "cli/shared_object.h"
#include "text/visible.h"

namespace lockstep::cli {

namespace {

// Beside this program where it was built or installed.
std::filesystem::path interposer() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  constexpr const char* kName = "liblockstep_exec.so";
  for (const char* folder : {"../host", "../" LOCKSTEP_LIBRARY_FOLDER "/lockstep"}) {
    const std::filesystem::path candidate = (self / folder / kName).lexically_normal();
    if (std::filesystem::exists(candidate, error)) return candidate;
  }
  throw UsageError("{} is neither beside {} nor installed with it (build all, or install again)", kName,
                   self.string());
}

// The loader warns of a library that it cannot preload, and starts the program without: it would go on and
// see no card. The driver is loaded much later, in the middle of the program.
void check_libraries(const std::filesystem::path& interposer) {
  for (const std::filesystem::path& library :
       {interposer, interposer.parent_path() / "liblockstep_driver.so"})
    if (const std::string fault = fault_of_shared_object(library); !fault.empty())
      throw UsageError("{} {} (build all, or install again)", library.string(), fault);
  if (interposer.string().find_first_of(" :") != std::string::npos)
    throw UsageError(
        "'{}': LD_PRELOAD, by which programs are given it, can hold no path with a space or a colon "
        "(build or install in another folder)",
        interposer.string());
}

std::string device_setting(const std::string& device) {
  for (const lockstep_device_info& model : Device::models())
    if (device == model.name) return device;
  std::error_code error;
  if (!std::filesystem::exists(device, error))
    throw UsageError("no device model '{}' ('lockstep devices' lists them), and no file of that name",
                     device);
  return std::filesystem::absolute(device).string();
}

// The programs find it wherever they go. What is wrong with it is better said now, and an older one is not
// added to.
std::string output_setting(const std::string& path) {
  if (path == "-") return path;
  const std::string absolute = std::filesystem::absolute(path).string();
  std::FILE* const file = std::fopen(absolute.c_str(), "w");
  if (!file) throw UsageError("cannot write to '{}': {}", path, std::strerror(errno));
  std::fclose(file);
  return absolute;
}

// The programs find it wherever they go.
std::string plugin_setting(const std::string& plugin) {
  const size_t colon = plugin.find(':');
  const std::string file = plugin.substr(0, colon);
  if (file.empty() || access(file.c_str(), R_OK) != 0)
    throw UsageError("--plugin {}: the file '{}' cannot be read: {}", plugin, file,
                     std::strerror(file.empty() ? ENOENT : errno));
  if (plugin.find('\n') != plugin.npos)
    throw UsageError("--plugin: '{}' has a line break, which its setting cannot hold", visible(plugin));
  return std::filesystem::absolute(file).string() + (colon == plugin.npos ? "" : plugin.substr(colon));
}

std::string folder_setting(const std::string& path) {
  if (access(path.c_str(), W_OK | X_OK) != 0)
    throw UsageError("--dump-folder: no file can be made in '{}': {}", path, std::strerror(errno));
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

int exec(const ExecOptions& options) {
  give_back_interrupts();
  const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
  if (!options.device.empty()) set("LOCKSTEP_DEVICE", device_setting(options.device));
  set("LOCKSTEP_DEVICES", std::to_string(options.devices));
  set("LOCKSTEP_ENGINE", options.engine);
  set("LOCKSTEP_THREADS", std::to_string(options.threads));
  if (!options.rules.empty()) set("LOCKSTEP_RULES", options.rules);
  if (!options.results.empty()) set("LOCKSTEP_RESULTS", options.results);
  if (!options.caches.empty()) set("LOCKSTEP_CACHES", options.caches);
  if (!options.order.empty()) set("LOCKSTEP_ORDER", options.order);
  if (options.fidelity) set("LOCKSTEP_FIDELITY", "1");
  if (!options.checks.empty()) {
    std::string names;
    for (const std::string& name : options.checks) names += (names.empty() ? "" : ",") + name;
    set("LOCKSTEP_CHECK", names);
    // ROCr puts small allocations side by side into pages of one range. Each in its own has nothing behind
    // it.
    const auto asked = [&](const char* name) { return std::ranges::count(options.checks, name) != 0; };
    if (asked("memory") || asked("all")) setenv("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1", 0);
  }
  if (!options.plugins.empty()) {
    std::string plugins;
    for (const std::string& plugin : options.plugins)
      plugins += (plugins.empty() ? "" : "\n") + plugin_setting(plugin);
    set("LOCKSTEP_PLUGINS", plugins);
  }
  if (options.log == "-") throw UsageError("--log -: the log needs a file");
  if (!options.log.empty()) set("LOCKSTEP_LOG", output_setting(options.log));
  if (!options.statistics.empty()) set("LOCKSTEP_STATISTICS", output_setting(options.statistics));
  if (!options.dump.empty()) {
    set("LOCKSTEP_DUMP", options.dump);
    set("LOCKSTEP_DUMP_FOLDER", folder_setting(options.dump_folder));
  }
  const std::filesystem::path library = interposer();
  check_libraries(library);
  const char* const before = std::getenv("LD_PRELOAD");
  set("LD_PRELOAD", library.string() + (before && *before ? std::string(":") + before : std::string()));

  std::vector<std::string> words = options.program;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  give_back_signals_of_writes();
  execvp(arguments[0], arguments.data());
  throw UsageError("cannot start '{}': {}", words[0], std::strerror(errno));
}

}  // namespace lockstep::cli
