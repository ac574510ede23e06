// Looks into code objects through LLVM's own ELF reader, which the code under test does not use.
#pragma once

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/AMDHSAKernelDescriptor.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::toolchain {

class ObjectFile {
 public:
  explicit ObjectFile(const std::vector<std::byte>& bytes)
      : data_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(data_, "code object"));
    if (!file) {
      llvm::consumeError(file.takeError());
      return;
    }
    file_ = std::move(*file);
  }

  bool valid() const { return file_ != nullptr; }
  unsigned type() const { return llvm::cast<llvm::object::ELFObjectFileBase>(file_.get())->getEType(); }
  unsigned flags() const {
    return llvm::cast<llvm::object::ELFObjectFileBase>(file_.get())->getPlatformFlags();
  }
  // EI_ABIVERSION: 2 for code object version 4, 3 for 5, 4 for 6.
  unsigned abi_version() const { return uint8_t(data_[8]); }
  bool has_section(llvm::StringRef name) const {
    for (const llvm::object::SectionRef& section : file_->sections()) {
      auto found = section.getName();
      if (found && *found == name) return true;
    }
    return false;
  }

  // The bytes that a dynamic symbol stands for.
  std::optional<std::string> bytes_of(llvm::StringRef symbol_name) const {
    for (const auto& symbol :
         llvm::cast<llvm::object::ELFObjectFileBase>(file_.get())->getDynamicSymbolIterators()) {
      if (llvm::cantFail(symbol.getName()) != symbol_name) continue;
      const auto section = llvm::cantFail(symbol.getSection());
      const uint64_t offset = llvm::cantFail(symbol.getAddress()) - section->getAddress();
      return llvm::cantFail(section->getContents()).substr(offset, symbol.getSize()).str();
    }
    return std::nullopt;
  }

  std::optional<llvm::amdhsa::kernel_descriptor_t> descriptor(const std::string& kernel) const {
    const std::optional<std::string> bytes = bytes_of(kernel + ".kd");
    llvm::amdhsa::kernel_descriptor_t descriptor;
    if (!bytes || bytes->size() != sizeof descriptor) return std::nullopt;
    std::memcpy(&descriptor, bytes->data(), sizeof descriptor);
    return descriptor;
  }

 private:
  llvm::StringRef data_;
  std::unique_ptr<llvm::object::ObjectFile> file_;
};

}  // namespace lockstep::toolchain
