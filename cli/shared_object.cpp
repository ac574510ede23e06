#include "cli/shared_object.h"

#include <elf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <vector>

namespace lockstep::cli {

std::string fault_of_shared_object(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return fmt::format("cannot be read: {}", std::strerror(errno ? errno : EIO));
  const uint64_t size = static_cast<uint64_t>(file.tellg());
  if (size == 0) return "is empty";
  const auto read_at = [&](uint64_t offset, void* to, uint64_t bytes) {
    return bytes <= size && offset <= size - bytes && file.seekg(static_cast<std::streamoff>(offset)) &&
           file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes));
  };
  const std::string cut_off = fmt::format("is cut off after {} bytes", size);

  Elf64_Ehdr header{};
  if (!read_at(0, header.e_ident, EI_NIDENT) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return "is not an ELF file";
  if (!read_at(0, &header, sizeof header)) return cut_off;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != EM_X86_64)
    return fmt::format("is for machine {}, not for x86-64 ({})", header.e_machine, EM_X86_64);
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr)) return "is not a shared object";

  std::vector<Elf64_Phdr> parts(header.e_phnum);
  if (!read_at(header.e_phoff, parts.data(), parts.size() * sizeof(Elf64_Phdr))) return cut_off;
  for (const Elf64_Phdr& part : parts)
    if (part.p_type == PT_LOAD && (part.p_filesz > size || part.p_offset > size - part.p_filesz))
      return cut_off;
  // The sections' headers are not loaded, but stand last: what is missing there was lost as the rest might
  // be.
  const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
  if (sections > size || header.e_shoff > size - sections) return cut_off;
  return {};
}

}  // namespace lockstep::cli
