#include "dump/writer.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/description.h"
#include "dump/file.h"
#include "dump/pages.h"

namespace lockstep::dump {

namespace {

using Bytes = std::span<const std::byte>;

uint64_t hash_of(Bytes page) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(page.data()), page.size()});
}

// Runs of the pages of a block that are to be kept.
template <class Keep, class Write>
void keep_runs(uint64_t address, Bytes block, Keep keep, Write write) {
  size_t begin = 0;
  for (size_t at = 0; at <= block.size(); at += kPageBytes) {
    if (at < block.size() && keep(address + at, block.subspan(at, kPageBytes))) continue;
    if (begin < at) write(address + begin, block.subspan(begin, at - begin));
    begin = at + kPageBytes;
  }
}

// What is left of [begin, end) without the runs, which are sorted.
template <class Part>
void without(uint64_t begin, uint64_t end, const std::vector<PageRun>& runs, Part part) {
  for (const PageRun& run : runs) {
    if (run.end <= begin) continue;
    if (run.begin >= end) break;
    if (begin < run.begin) part(begin, run.begin);
    begin = run.end;
  }
  if (begin < end) part(begin, end);
}

// Memory that could not be read is none of the dispatch's: where it is looked at again it would be zeros.
void remove(const std::vector<PageRun>& absent, Dispatch& dispatch) {
  if (absent.empty()) return;
  std::vector<MemoryRange> ranges;
  for (const MemoryRange& range : dispatch.ranges)
    without(range.begin, range.end, absent, [&](uint64_t begin, uint64_t end) {
      ranges.push_back({begin, end, range.access, range.name, range.compared});
    });
  dispatch.ranges = std::move(ranges);
  std::vector<CodeRange> code;
  for (const CodeRange& range : dispatch.launch.code)
    without(range.begin, range.end, absent,
            [&](uint64_t begin, uint64_t end) { code.push_back({begin, end, range.serial}); });
  dispatch.launch.code = std::move(code);
}

}  // namespace

Writer::Writer(std::string path, Dispatch dispatch, Bytes code_object, int sparse_file)
    : path_(std::move(path)), sparse_file_(sparse_file), dispatch_(std::move(dispatch)) {
  SectionWriter file(path_);
  const PageReader reader(sparse_file_);
  std::vector<PageRun> absent;
  for (const PageRun& run : page_runs(dispatch_.ranges))
    reader.read(
        run,
        [&](uint64_t address, Bytes block) {
          keep_runs(
              address, block,
              [&](uint64_t page, Bytes bytes) {
                if (is_zero(bytes)) return false;
                hashes_.emplace(page, hash_of(bytes));
                return true;
              },
              [&](uint64_t begin, Bytes bytes) { file.pages(SectionKind::memory, begin, bytes); });
        },
        [&](PageRun missing) { absent.push_back(missing); });
  remove(absent, dispatch_);
  if (!code_object.empty()) file.packed(SectionKind::code_object, code_object);
  file.text(SectionKind::description, text_of(dispatch_));
  file.finish();
}

void Writer::ended(const End& end) {
  SectionWriter file(path_);
  file.copy(path_);
  const PageReader reader(sparse_file_);
  for (const PageRun& run : page_runs(dispatch_.ranges)) {
    reader.read(
        run,
        [&](uint64_t address, Bytes block) {
          keep_runs(
              address, block,
              [&](uint64_t page, Bytes bytes) {
                const auto before = hashes_.find(page);
                return before != hashes_.end() ? before->second != hash_of(bytes) : !is_zero(bytes);
              },
              [&](uint64_t begin, Bytes bytes) { file.pages(SectionKind::changed_memory, begin, bytes); });
        },
        // The program has taken it back meanwhile: nobody saw what was left there.
        [](PageRun) {});
  }
  file.text(SectionKind::end, text_of(end));
  file.finish();
}

}  // namespace lockstep::dump
