#include "loader/source_lines.h"

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace lockstep::loader {

struct SourceLines::State {
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::unique_ptr<llvm::object::ObjectFile> file;
  std::unique_ptr<llvm::DWARFContext> context;
};

SourceLines::SourceLines(const CodeObject& object) : state_(std::make_unique<State>()) {
  std::span<const std::byte> bytes = object.bytes();
  state_->buffer = llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()), object.name());
  auto file = llvm::object::ObjectFile::createELFObjectFile(state_->buffer->getMemBufferRef());
  if (!file) {
    llvm::consumeError(file.takeError());
    return;
  }
  // Debug information of a damaged file is incomplete, never a reason to refuse the code.
  auto ignore = [](llvm::Error e) { llvm::consumeError(std::move(e)); };
  state_->file = std::move(*file);
  for (const llvm::object::SectionRef& section : state_->file->sections()) {
    auto name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != ".debug_info" && *name != ".debug_line") continue;
    state_->context = llvm::DWARFContext::create(
        *state_->file, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", ignore, ignore);
    return;
  }
}

SourceLines::~SourceLines() = default;
SourceLines::SourceLines(SourceLines&&) noexcept = default;
SourceLines& SourceLines::operator=(SourceLines&&) noexcept = default;

bool SourceLines::has_debug_info() const {
  return state_->context != nullptr;
}

std::vector<SourceLocation> SourceLines::find(uint64_t address) const {
  std::vector<SourceLocation> out;
  if (!state_->context) return out;
  llvm::DILineInfoSpecifier specifier(llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                      llvm::DILineInfoSpecifier::FunctionNameKind::ShortName);
  llvm::DIInliningInfo frames = state_->context->getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection}, specifier);
  auto known = [](const std::string& s) { return s == llvm::DILineInfo::BadString ? std::string() : s; };
  for (uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
    const llvm::DILineInfo& f = frames.getFrame(i);
    SourceLocation s{known(f.FunctionName), known(f.FileName), f.Line, f.Column};
    if (s.line == 0 && s.function.empty()) continue;
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace lockstep::loader
