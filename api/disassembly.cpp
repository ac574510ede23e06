#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "api/code_object.h"
#include "api/status.h"
#include "isa/explain.h"
#include "isa/instruction.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

struct Region {
  uint64_t begin, end;
  std::string_view function;
  bool is_kernel;
  unsigned wave_size;
};

// The functions of the image in address order, each with the wave size of the kernel that it is or follows: a
// function that kernels call is compiled for the same size as they are. They do not overlap: of several that
// begin at one address a kernel counts, and none goes on behind the beginning of the next.
std::vector<Region> regions_of(const loader::CodeObject& o) {
  std::vector<Region> out;
  const unsigned wave_size = o.kernels().empty() ? 32 : o.kernels()[0].descriptor.wave_size();
  for (const loader::Kernel& k : o.kernels())
    out.push_back({k.entry_address, k.entry_address + k.code_size, k.name, true, k.descriptor.wave_size()});
  for (const loader::Symbol& s : o.symbols())
    if (s.kind == loader::SymbolKind::function)
      out.push_back({s.address, s.address + s.size, s.name, false, wave_size});
  std::sort(out.begin(), out.end(), [](const Region& a, const Region& b) {
    return std::tuple(a.begin, !a.is_kernel, a.function) < std::tuple(b.begin, !b.is_kernel, b.function);
  });
  const auto same = [](const Region& a, const Region& b) { return a.begin == b.begin; };
  out.erase(std::unique(out.begin(), out.end(), same), out.end());
  for (size_t i = 0; i < out.size(); ++i) {
    const loader::Segment* segment = o.segment_at(out[i].begin);
    const uint64_t code_end = segment ? segment->address + segment->file_size : out[i].begin;
    // Symbols without a size reach to the next one, or to the end of the code.
    if (out[i].end <= out[i].begin) out[i].end = code_end;
    if (i + 1 < out.size()) out[i].end = std::min(out[i].end, out[i + 1].begin);
  }
  return out;
}

// Returns false if the callback ended the listing.
bool list_region(const Image& image, const Region& region, int (*line)(void*, const lockstep_listing_line*),
                 void* user) {
  std::span<const std::byte> code = image.object.file_bytes(region.begin, region.end - region.begin);
  std::string name(region.function);
  uint64_t at = 0;
  char text[isa::kMaxText];
  while (at < code.size()) {
    lockstep_listing_line l{};
    isa::Instruction instruction;
    isa::DecodeError error = isa::decode(code.subspan(at), region.wave_size, instruction);
    std::string problem;
    text[0] = 0;
    if (error == isa::DecodeError::none) {
      size_t length = isa::disassemble(instruction, region.wave_size, text, sizeof text - 1);
      text[std::min(length, sizeof text - 1)] = 0;
    } else {
      problem = isa::explain(code.subspan(at), region.wave_size);
    }
    uint32_t size = std::max<uint32_t>(instruction.size, 1);
    size = static_cast<uint32_t>(std::min<uint64_t>(size, code.size() - at));
    std::optional<loader::SourceLocation> source = image.lines.find(region.begin + at);
    l.function = at == 0 ? name.c_str() : nullptr;
    l.is_kernel = region.is_kernel;
    l.address = region.begin + at;
    l.bytes = reinterpret_cast<const uint8_t*>(code.data() + at);
    l.size = size;
    l.text = text;
    l.problem = problem.c_str();
    l.file = source ? source->file.c_str() : "";
    l.line = source ? source->line : 0;
    if (line(user, &l)) return false;
    at += size;
  }
  return true;
}

}  // namespace

lockstep_status lockstep_code_object_disassemble(const lockstep_code_object* object, const char* kernel,
                                                 int (*line)(void*, const lockstep_listing_line*),
                                                 void* user) {
  return guarded([&] {
    require(object && line, "the code object or the callback is null");
    const lockstep_kernel* only = kernel ? &kernel_of_name(*object, kernel) : nullptr;
    for (const auto& image : object->images) {
      if (only && only->image != image) continue;
      for (const Region& r : regions_of(image->object)) {
        if (only && r.begin != only->kernel->entry_address) continue;
        if (!list_region(*image, r, line, user)) return;
      }
    }
  });
}

uint32_t lockstep_disassemble(const void* bytes, uint64_t size, uint32_t wave_size, char* text,
                              uint64_t capacity) {
  uint32_t taken = 0;
  guarded([&] {
    require(bytes || !size, "bytes is null");
    require(text && capacity, "text is null or has no room");
    require(wave_size == 32 || wave_size == 64, "the wave size is neither 32 nor 64");
    isa::Instruction instruction;
    const std::span given(static_cast<const std::byte*>(bytes), size);
    if (isa::decode(given, wave_size, instruction) != isa::DecodeError::none)
      throw Failure(LOCKSTEP_BAD_INPUT, isa::explain(given, wave_size));
    char buffer[isa::kMaxText];
    size_t length = std::min(isa::disassemble(instruction, wave_size, buffer, sizeof buffer), sizeof buffer);
    length = std::min<size_t>(length, capacity - 1);
    std::memcpy(text, buffer, length);
    text[length] = 0;
    taken = instruction.size;
  });
  return taken;
}
