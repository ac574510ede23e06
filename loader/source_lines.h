// Where in the source an instruction comes from, for code compiled with -g: the line tables of DWARF 2 to 5.
// LLVM's own DWARF reader crashes on damaged tables (found by tests/loader/mutation_test.cpp), and a damaged
// file must never take the process down; line tables are all that is needed here, so they are read here.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loader/code_object.h"

namespace lockstep::loader {

struct SourceLocation {
  std::string function;  // of the symbol table; empty if no symbol covers the address
  std::string file;      // empty if unknown
  uint32_t line = 0;     // 0: the compiler made the instruction for no line
  uint32_t column = 0;
};

class SourceLines {
 public:
  // Never fails: a code object without debug information, or with damaged tables, has fewer locations. There
  // is no more of them than a few for each instruction that the code has room for. The tables are read when
  // somebody asks the first time, in any thread: those of a library take a second, and most never ask.
  explicit SourceLines(const CodeObject& object);

  bool has_debug_info() const { return row_count() != 0; }
  size_t row_count() const { return tables().rows.size(); }
  // Who made the code, as compilers say it of themselves in the section .comment, such as "clang
  // version 19.1.7". Empty if nobody does, as assemblers.
  const std::string& compiler() const { return compiler_; }
  // `address` is as linked. Nothing if no line table covers it.
  std::optional<SourceLocation> find(uint64_t address) const;

 private:
  friend class LineTableReader;

  struct Row {
    uint64_t address;
    uint32_t order;  // of several rows for one address the last counts
    uint32_t file;   // index into files
    uint32_t line;
    uint32_t column;
    bool end;  // one past a sequence
  };
  struct Function {
    uint64_t address, size;
    std::string name;
  };

  // A name as the tables have it: in the section's bytes, joined only for those who ask.
  struct File {
    std::string_view root, directory, name;
    std::string path() const;
  };
  struct Sections;
  struct Tables {
    std::vector<Row> rows;  // sorted by address; the end of a sequence before the start of the next
    std::vector<File> files;
    std::once_flag are_read;
  };

  const Tables& tables() const;

  std::shared_ptr<const Sections> sections_;
  std::shared_ptr<Tables> tables_;
  uint64_t most_rows_;
  std::vector<Function> functions_;
  std::string compiler_;
};

}  // namespace lockstep::loader
