#include "toolchain/link.h"

#include <lld/Common/Driver.h>

#include <mutex>

#include "toolchain/files.h"

LLD_HAS_DRIVER(elf)

namespace lockstep::toolchain {

namespace {

// lld keeps its state in globals: one link at a time. After a crash inside it no further one is possible.
std::mutex link_mutex;
bool lld_is_usable = true;

}  // namespace

Result link(std::string_view object) {
  Result result;
  const TemporaryDirectory directory;
  if (directory.path().empty()) {
    result.diagnostics = "error: " + directory.error();
    return result;
  }
  const std::string input = directory.path() / "kernel.o", output = directory.path() / "kernel.co";
  std::string error;
  if (!write_file(input, object, error)) {
    result.diagnostics = "error: " + error;
    return result;
  }
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  {
    const std::lock_guard lock(link_mutex);
    if (!lld_is_usable) {
      result.diagnostics = "error: the linker crashed earlier in this process; start again";
      return result;
    }
    const char* const arguments[] = {"ld.lld", "-shared",      "--no-undefined", "--threads=1",
                                     "-o",     output.c_str(), input.c_str()};
    const lld::Result linked = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
    lld_is_usable = linked.canRunAgain;
    if (linked.retCode != 0) {
      result.diagnostics = stream.str().empty() ? "error: the linker failed without a message" : stream.str();
      return result;
    }
  }
  result.diagnostics = stream.str();
  if (!read_file(output, result.code_object, error)) result.diagnostics += "error: " + error;
  return result;
}

}  // namespace lockstep::toolchain
