// What the program says. A stream that is closed, full or no longer read loses what is written to it and
// nothing else: the run goes on, and main() asks at the end whether the result was lost.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace lockstep::cli {

// Before anything else: descriptors 0 to 2 are taken, if by nothing that can be used, so that no file of the
// program gets one of their numbers and the output with it; and a reader that goes away is an error of the
// stream instead of the program's end.
void open_standard_streams();
// Before another program takes this one's place, which need not ignore what this one does.
void give_back_signals_of_writes();

// To the standard output: results.
void print_text(std::string_view text);
template <class... T>
void print(fmt::format_string<T...> format, T&&... values) {
  print_text(fmt::format(format, std::forward<T>(values)...));
}

// To the standard error: everything else.
void report_text(std::string_view text);
template <class... T>
void report(fmt::format_string<T...> format, T&&... values) {
  report_text(fmt::format(format, std::forward<T>(values)...));
}

// Something could not be written to the standard output: there is no use in making more of it.
bool output_is_lost();
// Writes what waits, and reports if any of the output was lost; nothing if its reader has gone away, who has
// seen enough. Returns whether all was written.
bool finish_output();

}  // namespace lockstep::cli
