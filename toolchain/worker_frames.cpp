#include "toolchain/worker_frames.h"

#include <algorithm>
#include <memory>

#include "llvm/DebugInfo/DIContext.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

namespace lockstep::toolchain {
namespace {

// Deeper than a report shows.
constexpr uint32_t kMostFrames = 64;

std::string known(const std::string& name) {
  return name == llvm::DILineInfo::BadString ? std::string() : name;
}

std::vector<Frame> frames_at(llvm::DIContext& context, uint64_t address) {
  const llvm::DIInliningInfo info = context.getInliningInfoForAddress(
      {address, llvm::object::SectionedAddress::UndefSection},
      llvm::DILineInfoSpecifier(llvm::DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath,
                                llvm::DILineInfoSpecifier::FunctionNameKind::ShortName));
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < std::min(info.getNumberOfFrames(), kMostFrames); ++i) {
    const llvm::DILineInfo& frame = info.getFrame(i);
    frames.push_back({known(frame.FunctionName), known(frame.FileName), frame.Line});
  }
  return frames;
}

}  // namespace

std::vector<std::vector<Frame>> frames_here(const FramesRequest& request) {
  auto object = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(request.code_object), "code object"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return {};
  }
  const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  const std::unique_ptr<llvm::DIContext> context = llvm::DWARFContext::create(
      **object, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", ignore, ignore);
  std::vector<std::vector<Frame>> frames;
  for (const uint64_t address : request.addresses) frames.push_back(frames_at(*context, address));
  return frames;
}

}  // namespace lockstep::toolchain
