// Makes AMDGPU code objects of any shape, also such as no compiler would.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "llvm/BinaryFormat/ELF.h"
#include "tests/loader/file_bytes.h"

namespace lockstep::loader {

class ElfFile {
 public:
  ElfFile() { bytes_.resize(64); }

  // Returns where the contents are.
  uint64_t add(std::string_view contents) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    const uint64_t at = bytes_.size();
    append(bytes_, contents);
    return at;
  }
  uint64_t add(const FileBytes& contents) {
    return add(std::string_view(reinterpret_cast<const char*>(contents.data()), contents.size()));
  }

  void segment(uint32_t type, uint32_t flags, uint64_t offset, uint64_t address, uint64_t file_size,
               uint64_t memory_size) {
    append_number(segments_, type);
    append_number(segments_, flags);
    for (const uint64_t value : {offset, address, address, file_size, memory_size, uint64_t{4}})
      append_number(segments_, value);
    ++segment_count_;
  }

  // Returns its number.
  uint32_t section(std::string_view name, uint32_t type, uint64_t offset, uint64_t size, uint32_t link = 0,
                   uint64_t entry_size = 0, uint64_t flags = 0) {
    append_number(sections_, static_cast<uint32_t>(names_.size()));
    names_ += name;
    names_ += '\0';
    append_number(sections_, type);
    for (const uint64_t value : {flags, uint64_t{0}, offset, size}) append_number(sections_, value);
    append_number(sections_, link);
    append_number(sections_, uint32_t{0});
    append_number(sections_, uint64_t{1});
    append_number(sections_, entry_size);
    return section_count_++;
  }

  FileBytes finish() {
    namespace elf = llvm::ELF;
    const uint64_t names_at = add(names_);
    const uint64_t names_size = names_.size();
    const uint32_t names_section = section("", elf::SHT_STRTAB, names_at, names_size);
    const uint64_t segments_at = add(segments_), sections_at = add(sections_);
    put<uint32_t>(bytes_, 0, 0x464c457f);
    const uint8_t identification[] = {elf::ELFCLASS64, elf::ELFDATA2LSB, 1, elf::ELFOSABI_AMDGPU_HSA,
                                      elf::ELFABIVERSION_AMDGPU_HSA_V5};
    for (size_t i = 0; i < sizeof identification; ++i) put(bytes_, 4 + i, identification[i]);
    put<uint16_t>(bytes_, 16, elf::ET_DYN);
    put<uint16_t>(bytes_, 18, elf::EM_AMDGPU);
    put<uint32_t>(bytes_, 20, 1);
    put<uint64_t>(bytes_, 32, segments_at);
    put<uint64_t>(bytes_, 40, sections_at);
    put<uint32_t>(bytes_, 48, elf::EF_AMDGPU_MACH_AMDGCN_GFX1100);
    put<uint16_t>(bytes_, 52, 64);
    put<uint16_t>(bytes_, 54, 56);
    put<uint16_t>(bytes_, 56, static_cast<uint16_t>(segment_count_));
    put<uint16_t>(bytes_, 58, 64);
    put<uint16_t>(bytes_, 60, static_cast<uint16_t>(section_count_));
    put<uint16_t>(bytes_, 62, static_cast<uint16_t>(names_section));
    return std::move(bytes_);
  }

 private:
  FileBytes bytes_, segments_, sections_ = FileBytes(64);
  std::string names_ = std::string(1, '\0');
  uint32_t segment_count_ = 0, section_count_ = 1;
};

inline void append_symbol(FileBytes& table, uint32_t name, uint64_t address, uint64_t size, uint8_t type) {
  append_number(table, name);
  append_number(table, static_cast<uint8_t>(llvm::ELF::STB_GLOBAL << 4 | type));
  append_number(table, uint8_t{0});
  append_number(table, uint16_t{1});
  append_number(table, address);
  append_number(table, size);
}

}  // namespace lockstep::loader
