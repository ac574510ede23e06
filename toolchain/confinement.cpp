#include "toolchain/confinement.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace lockstep::toolchain {

namespace {

// Newer than the oldest <linux/landlock.h> that we build with; versions as in landlock(7).
constexpr uint64_t kTruncate = 1u << 14;                // version 3
constexpr uint64_t kBindTcp = 1, kConnectTcp = 2;       // version 4
constexpr uint64_t kAbstractSockets = 1, kSignals = 2;  // version 6
struct Ruleset {
  uint64_t files, network, scope;
};

constexpr uint64_t kRead =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
constexpr uint64_t kWrite = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                            LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                            LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// What can be said of something that is no directory.
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_EXECUTE | kTruncate;

class Rules {
 public:
  explicit Rules(int version) : version_(version) {
    Ruleset ruleset{.files = kRead | write_rights(),
                    .network = version >= 4 ? kBindTcp | kConnectTcp : 0,
                    .scope = version >= 6 ? kAbstractSockets | kSignals : 0};
    const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    fd_ = int(syscall(SYS_landlock_create_ruleset, &ruleset, size, 0));
  }
  ~Rules() {
    if (fd_ >= 0) close(fd_);
  }
  Rules(const Rules&) = delete;
  Rules& operator=(const Rules&) = delete;

  uint64_t write_rights() const { return kWrite | (version_ >= 3 ? kTruncate : 0); }

  // What does not exist needs no permission.
  void allow(const std::filesystem::path& path, uint64_t rights) {
    const int opened = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (opened < 0) return;
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) rights &= kOfFiles;
    const landlock_path_beneath_attr rule{rights, opened};
    syscall(SYS_landlock_add_rule, fd_, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(opened);
  }

  bool enforce() {
    return fd_ >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_landlock_restrict_self, fd_, 0) == 0;
  }

 private:
  int version_, fd_;
};

// 0: not set.
uint64_t from_environment(const char* name, uint64_t most, std::string& error) {
  const char* text = std::getenv(name);
  if (!text || !*text) return 0;
  uint64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, failed] = std::from_chars(text, end, value);
  if (failed == std::errc() && stop == end && value >= 1 && value <= most) return value;
  error = std::string(name) + " is a number from 1 to " + std::to_string(most) + ", not '" + text + "'";
  return 0;
}

}  // namespace

Limits effective_limits(const Limits& asked, const Limits& defaults, std::string& error) {
  Limits limits = asked;
  if (!limits.seconds)
    limits.seconds = unsigned(from_environment("LOCKSTEP_COMPILE_SECONDS", 1'000'000'000, error));
  if (!limits.megabytes)
    limits.megabytes = from_environment("LOCKSTEP_COMPILE_MEGABYTES", uint64_t{1} << 40, error);
  if (!limits.seconds) limits.seconds = defaults.seconds;
  if (!limits.megabytes) limits.megabytes = defaults.megabytes;
  return limits;
}

bool apply_limits(pid_t process, const Limits& limits, std::string& error) {
  const auto set = [process](__rlimit_resource resource, uint64_t soft, uint64_t hard) {
    rlimit old{};
    if (prlimit(process, resource, nullptr, &old) != 0) return false;
    const rlimit wanted{std::min<rlim_t>(soft, old.rlim_max), std::min<rlim_t>(hard, old.rlim_max)};
    return prlimit(process, resource, &wanted, nullptr) == 0;
  };
  const uint64_t memory = limits.megabytes << 20;
  if (set(RLIMIT_CORE, 0, 0) && set(RLIMIT_CPU, limits.seconds, limits.seconds + kGraceSeconds) &&
      set(RLIMIT_AS, memory, memory) && set(RLIMIT_FSIZE, kMostFileBytes, kMostFileBytes))
    return true;
  error = std::string("cannot set limits: ") + std::strerror(errno);
  return false;
}

bool confine_files(const FileAccess& access, std::string& error) {
  const auto version = int(syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
  if (version <= 0) {
    error = std::string("this kernel has no Landlock: ") + std::strerror(errno);
    return false;
  }
  Rules rules(version);
  if (access.read_everything) rules.allow("/", kRead);
  for (const auto& path : access.readable) rules.allow(path, kRead);
  for (const auto& path : access.writable) rules.allow(path, kRead | rules.write_rights());
  if (rules.enforce()) return true;
  error = std::string("Landlock is refused: ") + std::strerror(errno);
  return false;
}

std::string time_limit_text(const Limits& limits) {
  return std::to_string(limits.seconds) +
         " s of processor time were not enough (LOCKSTEP_COMPILE_SECONDS=N sets another limit)";
}

std::string memory_limit_text(const Limits& limits) {
  return std::to_string(limits.megabytes) +
         " MB of memory were not enough (LOCKSTEP_COMPILE_MEGABYTES=N sets another limit)";
}

}  // namespace lockstep::toolchain
