// The file of a dump: sections one behind the other (docs/dumps.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dump/dispatch.h"
#include "loader/error.h"

struct ZSTD_CCtx_s;

namespace lockstep::dump {

inline constexpr std::string_view kMagic = "LSDUMP1\n";

// Of the numbers in the file. Memory is what the dispatch found; changed memory what it left, whole pages of
// it.
enum class SectionKind : uint32_t {
  memory = 1,
  code_object = 2,
  description = 3,
  changed_memory = 4,
  end = 5,   // what became of the dispatch
  last = 6,  // of the file
};

// Writes beside the file of that name, and takes its place when all is written. Functions throw
// std::runtime_error; what is not finished leaves nothing.
class SectionWriter {
 public:
  explicit SectionWriter(std::string path);
  ~SectionWriter();
  SectionWriter(const SectionWriter&) = delete;
  SectionWriter& operator=(const SectionWriter&) = delete;

  // All sections of an older file but its last.
  void copy(const std::string& path);
  void text(SectionKind kind, std::string_view text);
  void packed(SectionKind kind, std::span<const std::byte> bytes);
  // At most kBlockPages pages; their address stands before them.
  void pages(SectionKind kind, uint64_t address, std::span<const std::byte> pages);
  void finish();

 private:
  void section(SectionKind kind, std::span<const std::byte> head, std::span<const std::byte> bytes);
  void write(std::span<const std::byte> bytes);
  std::span<const std::byte> pack(std::span<const std::byte> bytes);
  [[noreturn]] void fail() const;

  const std::string path_, temporary_;
  int file_ = -1;
  ZSTD_CCtx_s* context_ = nullptr;
  std::vector<std::byte> packed_;
};

// A dump that is read. What it says has been checked: sections are in the file, memory is inside the ranges.
class File {
 public:
  static bool recognizes(const std::string& path);
  static loader::Result<std::unique_ptr<File>> open(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  const Dispatch& dispatch() const { return dispatch_; }
  const std::optional<End>& end() const { return end_; }   // nothing: it was never seen to end
  uint64_t memory_bytes() const { return memory_bytes_; }  // of pages that are in the file
  // Empty if there is none.
  loader::Result<std::vector<std::byte>> code_object() const;

  enum class Moment : uint8_t { before, after };  // the dispatch; after: pages that it changed
  using Pages = std::function<void(uint64_t address, std::span<const std::byte>)>;
  // In order of address, in blocks.
  loader::Result<void> read(Moment moment, const Pages& pages) const;
  class Cursor;

 private:
  struct Section {
    uint64_t offset = 0, bytes = 0;
  };
  struct Block {
    uint64_t address = 0, bytes = 0;
    Section section;  // its contents, packed
  };

  explicit File(std::string path) : path_(std::move(path)) {}
  loader::Result<void> scan();
  loader::Result<void> check_blocks(const std::vector<Block>& blocks) const;
  bool read_at(uint64_t offset, void* to, size_t bytes) const;
  loader::Result<std::string> read_text(Section section) const;
  loader::Result<std::vector<std::byte>> unpacked(Section section, uint64_t bytes) const;
  loader::Error damaged(std::string what) const;

  const std::string path_;
  int file_ = -1;
  Dispatch dispatch_;
  std::optional<End> end_;
  uint64_t memory_bytes_ = 0;
  std::optional<Section> code_object_;
  std::vector<Block> before_, after_;
};

// Looks at pages in order of address.
class File::Cursor {
 public:
  Cursor(const File& file, Moment moment)
      : file_(file), blocks_(moment == Moment::before ? file.before_ : file.after_) {}
  // Null: it is not in the file. Throws std::runtime_error for what cannot be unpacked.
  const std::byte* page(uint64_t address);

 private:
  const File& file_;
  const std::vector<Block>& blocks_;
  size_t next_ = 0;  // the first block that does not end before the address
  bool is_unpacked_ = false;
  std::vector<std::byte> contents_;
};

}  // namespace lockstep::dump
