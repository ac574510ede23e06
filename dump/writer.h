// Writes the dump of a dispatch: before its first wave, and again when it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "dump/dispatch.h"

namespace lockstep::dump {

class Writer {
 public:
  // What the dispatch finds in the memory of this process. `code_object` may be empty; `sparse_file` is as
  // for PageReader. Functions throw std::runtime_error; the file is whole, or not there.
  Writer(std::string path, Dispatch dispatch, std::span<const std::byte> code_object, int sparse_file);
  // Adds what it has left.
  void ended(const End& end);

  const std::string& path() const { return path_; }
  const Dispatch& dispatch() const { return dispatch_; }

 private:
  const std::string path_;
  const int sparse_file_;
  Dispatch dispatch_;
  std::unordered_map<uint64_t, uint64_t> hashes_;  // of pages that hold something, by address
};

}  // namespace lockstep::dump
