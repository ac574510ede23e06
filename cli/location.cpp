#include "cli/location.h"

#include <fmt/format.h>

namespace lockstep::cli {

std::string place(const lockstep_code_location& location) {
  std::string text = fmt::format("kernel + {:#x}: {}", location.offset, location.instruction);
  if (*location.file) text += fmt::format("  at {}:{}", location.file, location.line);
  return text;
}

}  // namespace lockstep::cli
