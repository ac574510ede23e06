#include "engine/coverage.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace lockstep {

namespace {

// The process may end while other threads still run waves: the flags are never freed.
class Coverage {
 public:
  Coverage() : executed_(new std::atomic<bool>[isa::rows().size()]()) {
    if (const char* path = std::getenv("LOCKSTEP_COVERAGE"); path && *path) {
      path_ = path;
      std::atexit([] { instance().write(); });
      std::at_quick_exit([] { instance().write(); });
    }
  }

  static Coverage& instance() {
    static Coverage& coverage = *new Coverage;
    return coverage;
  }

  std::atomic<bool>& operator[](const isa::Row& row) { return executed_[&row - isa::rows().data()]; }

 private:
  // One write, so that the lines of processes that end together do not mix.
  void write() {
    std::string text;
    for (const isa::Row& row : isa::rows()) {
      if (!(*this)[row].load(std::memory_order_relaxed)) continue;
      text.append(isa::name(row.encoding)).append(" ").append(std::to_string(row.number)).append(" ");
      text.append(row.name).append("\n");
    }
    if (text.empty()) return;
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const bool written =
        file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (!written)
      std::fprintf(stderr, "lockstep: cannot append to LOCKSTEP_COVERAGE=%s (does its folder exist?)\n",
                   path_.c_str());
    if (file >= 0) close(file);
  }

  std::atomic<bool>* const executed_;
  std::string path_;
};

}  // namespace

void record_executed(const isa::Row& row) {
  Coverage::instance()[row].store(true, std::memory_order_relaxed);
}

bool was_executed(const isa::Row& row) {
  return Coverage::instance()[row].load(std::memory_order_relaxed);
}

}  // namespace lockstep
