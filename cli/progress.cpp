#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/common.h"
#include "cli/interrupt.h"
#include "text/visible.h"

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
  options.output = print_output;
  options.output_user = this;
}

void ProgressLine::connect(lockstep_compile_options& options, std::string name) {
  options.cancelled = update_compiling;
  options.cancelled_user = this;
  compiled_ = visible(name);
  begin_ = std::chrono::steady_clock::now();
}

int ProgressLine::update_compiling(void* self) {
  auto* line = static_cast<ProgressLine*>(self);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - line->begin_).count();
  if (line->show_ && seconds >= kShowAfterSeconds) {
    const std::lock_guard lock(line->mutex_);
    line->draw_line(fmt::format("compiling {}, {}", line->compiled_, clock(seconds)));
  }
  return interrupted();
}

// As it is for a file or a pipe; what a terminal would obey is shown instead.
void ProgressLine::print_output(void* self, const char* text, uint64_t bytes, int stream) {
  auto* line = static_cast<ProgressLine*>(self);
  const std::lock_guard lock(line->mutex_);
  if (std::exchange(line->drawn_, false)) report("\r\033[K");
  const std::string_view output(text, bytes);
  const bool terminal = isatty(stream == 2 ? STDERR_FILENO : STDOUT_FILENO) != 0;
  const std::string shown = terminal ? visible_lines(output) : std::string(output);
  if (stream == 2) return report_text(shown);
  print_text(shown);
  std::fflush(stdout);  // if the kernel never ends, this was said
}

int ProgressLine::update(void* self, const lockstep_progress* progress) {
  auto* line = static_cast<ProgressLine*>(self);
  if (line->show_ && progress->seconds >= kShowAfterSeconds) {
    const std::lock_guard lock(line->mutex_);
    line->draw(*progress);
  }
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
  draw_line(bar + text);
}

void ProgressLine::draw_line(std::string_view text) {
  winsize window{};
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;
  report("\r{}\033[K", text.substr(0, std::max(columns - 1, 10)));
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace lockstep::cli
