#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "cli/common.h"
#include "cli/interrupt.h"

namespace lockstep::cli {
namespace {

constexpr double kShowAfterSeconds = 0.5;

std::string clock(double seconds) {
  auto s = static_cast<uint64_t>(seconds);
  return s < 3600 ? fmt::format("{}:{:02}", s / 60, s % 60)
                  : fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

ProgressLine::ProgressLine(bool quiet) : show_(!quiet && isatty(STDERR_FILENO)) {}

ProgressLine::~ProgressLine() {
  if (drawn_) report("\r\033[K");
}

void ProgressLine::connect(lockstep_dispatch_options& options) {
  options.progress = update;
  options.progress_user = this;
  options.progress_interval = 0.1;
}

int ProgressLine::update(void* self, const lockstep_progress* progress) {
  auto* line = static_cast<ProgressLine*>(self);
  if (line->show_ && progress->seconds >= kShowAfterSeconds) line->draw(*progress);
  return interrupted();
}

void ProgressLine::draw(const lockstep_progress& p) {
  const double done = p.work_groups_total ? static_cast<double>(p.work_groups_done) / p.work_groups_total : 0;
  std::string text = fmt::format(" {:3.0f}% {}/{} work-groups, {}/s, {} instructions/s, {}", done * 100,
                                 short_number(p.work_groups_done), short_number(p.work_groups_total),
                                 short_number(p.work_groups_done / p.seconds),
                                 short_number(p.wave_instructions / p.seconds), clock(p.seconds));
  if (done > 0.01) text += fmt::format(", {} left", clock(p.seconds / done - p.seconds));
  winsize window{};
  int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;
  int room = std::clamp(columns - static_cast<int>(text.size()) - 3, 0, 40);
  std::string bar;
  if (room >= 5) {
    int filled = static_cast<int>(done * room);
    bar = "[" + std::string(filled, '#') + std::string(room - filled, '.') + "]";
  }
  std::string line = (bar + text).substr(0, std::max(columns - 1, 10));
  report("\r{}\033[K", line);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace lockstep::cli
