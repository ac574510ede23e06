#include "dump/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>

#include "dump/description.h"
#include "dump/pages.h"

namespace lockstep::dump {

namespace {

struct SectionHeader {
  uint32_t kind = 0, reserved = 0;
  uint64_t bytes = 0;  // behind this header
};
static_assert(sizeof(SectionHeader) == 16);

// Before the packed contents of memory.
struct BlockHeader {
  uint64_t address = 0, bytes = 0;
};
static_assert(sizeof(BlockHeader) == 16);

constexpr uint64_t kMostText = 256 << 20;
constexpr uint64_t kMostCodeObject = 1 << 30;

std::span<const std::byte> bytes_of(const auto& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

SectionWriter::SectionWriter(std::string path)
    : path_(std::move(path)), temporary_(path_ + "." + std::to_string(getpid())) {
  file_ = open(temporary_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) fail();
  context_ = ZSTD_createCCtx();
  if (!context_) throw std::bad_alloc();
  constexpr int kLevel = 1;  // memory compresses well, or not at all; the program waits
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  write(std::as_bytes(std::span(kMagic)));
}

SectionWriter::~SectionWriter() {
  ZSTD_freeCCtx(context_);
  if (file_ < 0) return;
  close(file_);
  unlink(temporary_.c_str());
}

void SectionWriter::fail() const {
  throw std::runtime_error("cannot write to '" + path_ + "': " + std::strerror(errno));
}

void SectionWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void SectionWriter::section(SectionKind kind, std::span<const std::byte> head,
                            std::span<const std::byte> bytes) {
  write(bytes_of(SectionHeader{static_cast<uint32_t>(kind), 0, head.size() + bytes.size()}));
  write(head);
  write(bytes);
}

std::span<const std::byte> SectionWriter::pack(std::span<const std::byte> bytes) {
  packed_.resize(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress2(context_, packed_.data(), packed_.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(size));
  return std::span(packed_).first(size);
}

void SectionWriter::copy(const std::string& path) {
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) fail();
  struct stat status = {};
  const uint64_t skipped = kMagic.size() + sizeof(SectionHeader);
  bool good = fstat(from, &status) == 0 && static_cast<uint64_t>(status.st_size) >= skipped;
  uint64_t left = good ? static_cast<uint64_t>(status.st_size) - skipped : 0;
  std::vector<std::byte> part(std::min<uint64_t>(left, 1 << 20));
  off_t at = static_cast<off_t>(kMagic.size());
  while (good && left != 0) {
    const ssize_t read = pread(from, part.data(), std::min<uint64_t>(left, part.size()), at);
    if (read < 0 && errno == EINTR) continue;
    good = read > 0;
    if (!good) break;
    write(std::span(part).first(static_cast<size_t>(read)));
    at += read;
    left -= static_cast<uint64_t>(read);
  }
  close(from);
  if (!good) throw std::runtime_error("cannot read '" + path + "' again (was it changed?)");
}

void SectionWriter::text(SectionKind kind, std::string_view text) {
  section(kind, {}, std::as_bytes(std::span(text)));
}

void SectionWriter::packed(SectionKind kind, std::span<const std::byte> bytes) {
  section(kind, bytes_of(uint64_t{bytes.size()}), pack(bytes));
}

void SectionWriter::pages(SectionKind kind, uint64_t address, std::span<const std::byte> pages) {
  section(kind, bytes_of(BlockHeader{address, pages.size()}), pack(pages));
}

void SectionWriter::finish() {
  section(SectionKind::last, {}, {});
  if (close(std::exchange(file_, -1)) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    errno = error;
    fail();
  }
}

bool File::recognizes(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  char magic[kMagic.size()] = {};
  const bool good =
      pread(file, magic, sizeof magic, 0) == sizeof magic && std::string_view(magic, sizeof magic) == kMagic;
  close(file);
  return good;
}

loader::Result<std::unique_ptr<File>> File::open(const std::string& path) {
  std::unique_ptr<File> file(new File(path));
  file->file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file->file_ < 0) return loader::Error{std::string("cannot be read: ") + std::strerror(errno), path, ""};
  char magic[kMagic.size()] = {};
  if (!file->read_at(0, magic, sizeof magic) || std::string_view(magic, sizeof magic) != kMagic)
    return loader::Error{"is no dump of a dispatch", path, "'lockstep exec --dump' writes them"};
  if (const auto scanned = file->scan(); !scanned) return scanned.error();
  return file;
}

File::~File() {
  if (file_ >= 0) close(file_);
}

loader::Error File::damaged(std::string what) const {
  return {std::move(what), path_, "the dump is damaged or cut off; copy or write it again"};
}

bool File::read_at(uint64_t offset, void* to, size_t bytes) const {
  auto* at = static_cast<std::byte*>(to);
  while (bytes != 0) {
    const ssize_t read = pread(file_, at, bytes, static_cast<off_t>(offset));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) return false;
    at += read;
    offset += static_cast<uint64_t>(read);
    bytes -= static_cast<size_t>(read);
  }
  return true;
}

loader::Result<void> File::scan() {
  struct stat status = {};
  if (fstat(file_, &status) != 0 || !S_ISREG(status.st_mode))
    return loader::Error{"is no regular file", path_, "copy it to one"};
  const auto size = static_cast<uint64_t>(status.st_size);
  std::optional<Section> description, end;
  bool is_whole = false;
  for (uint64_t at = kMagic.size(); !is_whole;) {
    SectionHeader header;
    if (size - at < sizeof header || !read_at(at, &header, sizeof header))
      return damaged("it ends without its last section");
    at += sizeof header;
    if (header.bytes > size - at) return damaged("the section at " + std::to_string(at) + " leaves the file");
    const Section section{at, header.bytes};
    at += header.bytes;
    switch (static_cast<SectionKind>(header.kind)) {
      case SectionKind::memory:
      case SectionKind::changed_memory: {
        BlockHeader block;
        if (section.bytes < sizeof block || !read_at(section.offset, &block, sizeof block) ||
            section.bytes - sizeof block > ZSTD_compressBound(kBlockPages * kPageBytes))
          return damaged("a block of memory is too short or too long");
        auto& list = static_cast<SectionKind>(header.kind) == SectionKind::memory ? before_ : after_;
        list.push_back(
            {block.address, block.bytes, {section.offset + sizeof block, section.bytes - sizeof block}});
        break;
      }
      case SectionKind::code_object:
        code_object_ = section;
        break;
      case SectionKind::description:
        description = section;
        break;
      case SectionKind::end:
        end = section;
        break;
      case SectionKind::last:
        is_whole = true;
        break;
      default:
        return loader::Error{"it has a section of the unknown kind " + std::to_string(header.kind), path_,
                             "it is damaged, or a newer version of Lockstep has written it"};
    }
  }
  if (!description) return damaged("it has no description of its dispatch");
  const auto text = read_text(*description);
  if (!text) return text.error();
  auto dispatch = dispatch_of(*text, path_);
  if (!dispatch) return dispatch.error();
  dispatch_ = std::move(*dispatch);
  if (end) {
    const auto end_text = read_text(*end);
    if (!end_text) return end_text.error();
    auto read = end_of(*end_text, path_);
    if (!read) return read.error();
    end_ = std::move(*read);
  }
  for (const auto* blocks : {&before_, &after_})
    if (const auto good = check_blocks(*blocks); !good) return good.error();
  for (const Block& block : before_) memory_bytes_ += block.bytes;
  return {};
}

loader::Result<void> File::check_blocks(const std::vector<Block>& blocks) const {
  const std::vector<PageRun> runs = page_runs(dispatch_.ranges);
  auto run = runs.begin();
  uint64_t behind = 0;
  for (const Block& block : blocks) {
    while (run != runs.end() && run->end <= block.address) ++run;
    if (block.address % kPageBytes != 0 || block.bytes % kPageBytes != 0 || block.bytes == 0 ||
        block.bytes > kBlockPages * kPageBytes || block.address < behind || run == runs.end() ||
        block.address < run->begin || block.bytes > run->end - block.address)
      return damaged("a block of memory is in none of its ranges, or not behind those before it");
    behind = block.address + block.bytes;
  }
  return {};
}

loader::Result<std::string> File::read_text(Section section) const {
  if (section.bytes > kMostText) return damaged("its text is too long");
  std::string text(section.bytes, 0);
  if (!read_at(section.offset, text.data(), text.size())) return damaged("its text cannot be read");
  return text;
}

loader::Result<std::vector<std::byte>> File::unpacked(Section section, uint64_t bytes) const {
  std::vector<std::byte> packed(section.bytes);
  if (!read_at(section.offset, packed.data(), packed.size())) return damaged("a section cannot be read");
  if (ZSTD_getFrameContentSize(packed.data(), packed.size()) != bytes)
    return damaged("a section does not unpack to the size that it claims");
  std::vector<std::byte> result(bytes);
  const size_t size = ZSTD_decompress(result.data(), result.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != bytes) return damaged("a section cannot be unpacked");
  return result;
}

loader::Result<std::vector<std::byte>> File::code_object() const {
  if (!code_object_) return std::vector<std::byte>();
  uint64_t bytes = 0;
  if (code_object_->bytes < sizeof bytes || !read_at(code_object_->offset, &bytes, sizeof bytes) ||
      bytes > kMostCodeObject)
    return damaged("its code object is too short or too long");
  return unpacked({code_object_->offset + sizeof bytes, code_object_->bytes - sizeof bytes}, bytes);
}

loader::Result<void> File::read(Moment moment, const Pages& pages) const {
  for (const Block& block : moment == Moment::before ? before_ : after_) {
    const auto contents = unpacked(block.section, block.bytes);
    if (!contents) return contents.error();
    pages(block.address, *contents);
  }
  return {};
}

const std::byte* File::Cursor::page(uint64_t address) {
  while (next_ < blocks_.size() && blocks_[next_].address + blocks_[next_].bytes <= address) {
    ++next_;
    is_unpacked_ = false;
  }
  if (next_ == blocks_.size() || address < blocks_[next_].address) return nullptr;
  if (!is_unpacked_) {
    auto contents = file_.unpacked(blocks_[next_].section, blocks_[next_].bytes);
    if (!contents) throw std::runtime_error(contents.error().message());
    contents_ = std::move(*contents);
    is_unpacked_ = true;
  }
  return contents_.data() + (address - blocks_[next_].address);
}

}  // namespace lockstep::dump
