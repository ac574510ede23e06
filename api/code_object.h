// What is behind lockstep_code_object and lockstep_kernel.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "api/lockstep.h"
#include "loader/code_object.h"
#include "loader/source_lines.h"

namespace lockstep::api {

// One ELF file with what is derived from it. Shared with the devices that loaded it.
struct Image {
  loader::CodeObject object;
  loader::SourceLines lines;

  explicit Image(loader::CodeObject parsed) : object(std::move(parsed)), lines(object) {}
};

}  // namespace lockstep::api

struct lockstep_kernel {
  std::shared_ptr<const lockstep::api::Image> image;
  const lockstep::loader::Kernel* kernel = nullptr;
  std::vector<const lockstep::loader::Argument*> arguments;  // that the caller gives
  std::string readable_name;                                 // demangled
  std::string language;                                      // of the source; empty if nobody says
  std::vector<std::string> type_names;                       // of arguments; empty where nobody says

  unsigned wave_size() const { return kernel->descriptor.wave_size(); }
  // Bytes of the argument segment: the descriptor says 0 for older producers.
  uint32_t argument_bytes() const;
};

struct lockstep_code_object {
  std::string name;
  std::string diagnostics;
  std::vector<std::shared_ptr<const lockstep::api::Image>> images;
  std::deque<lockstep_kernel> kernels;  // addresses stay valid
};

namespace lockstep::api {

// The kernel of that name. Throws Failure if there is none.
const lockstep_kernel& kernel_of_name(const lockstep_code_object& object, const char* name);

}  // namespace lockstep::api
