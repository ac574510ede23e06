// The code objects that the program's runtime has loaded, as debuggers find them: by the list of struct
// r_debug (link.h) that the runtime names when it is enabled, and the URIs of its entries.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loader/code_object.h"
#include "loader/source_lines.h"
#include "observe/code_symbols.h"
#include "toolchain/inlined_frames.h"

namespace lockstep::host {

struct LoadedObject {
  std::string uri;
  uint64_t bias = 0;  // loaded address less linked address
  loader::CodeObject object;
  loader::SourceLines lines;

  LoadedObject(std::string from, uint64_t loaded_bias, loader::CodeObject parsed)
      : uri(std::move(from)), bias(loaded_bias), object(std::move(parsed)), lines(object) {}
  // The kernel whose first instruction is there, or null.
  const loader::Kernel* kernel_at(uint64_t entry) const;
  // The functions that the instruction (its linked address) was inlined into, the innermost first.
  std::vector<toolchain::Frame> callers(uint64_t linked) const;

 private:
  // The worker is asked once for each: findings are told again with each dispatch.
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, std::vector<toolchain::Frame>> callers_;
};

// Safe from several threads. What is read is the program's, which may change or unmap it meanwhile.
class CodeObjects {
 public:
  // Where the program's r_debug is; 0: it has none.
  void set_list(uint64_t r_debug);
  // What is loaded around the address, or null if nobody has said so.
  std::shared_ptr<const LoadedObject> at(uint64_t pc);
  // "kernel 'add(int*)' + 0x34, at add.hip:12"; empty if nothing is known of it.
  std::string place(uint64_t pc);
  // The function of that name in the code object around the address; empty if there is none.
  observe::CodeSpan function(uint64_t pc, std::string_view name);
  // What the instruction there was inlined into, where its code has debug information.
  std::vector<toolchain::Frame> callers(uint64_t pc);
  // A line for each of them.
  std::vector<std::string> caller_lines(uint64_t pc);

 private:
  struct Entry {
    std::string uri;
    uint64_t bias = 0;
    std::shared_ptr<const LoadedObject> object;  // null: it could not be read
  };
  void refresh();

  std::mutex mutex_;
  uint64_t list_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace lockstep::host
