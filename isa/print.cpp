#include <algorithm>
#include <cstring>

#include "isa/detail.h"
#include "isa/row_text.h"

namespace lockstep::isa {
namespace {

// Lists end by taking their last separator back, so that text is cut only when all of it is there.
[[gnu::noinline]] size_t disassemble_cut(const Instruction& instruction, unsigned wave_size, char* out,
                                         size_t capacity) {
  char text[kMaxText];
  const size_t size = std::min(disassemble(instruction, wave_size, text, sizeof text), capacity);
  std::memcpy(out, text, size);
  return size;
}

}  // namespace

size_t disassemble(const Instruction& instruction, unsigned wave_size, char* out, size_t capacity) {
  using namespace detail;
  if (!instruction.row) return 0;
  if (capacity < kMaxText) return disassemble_cut(instruction, wave_size, out, capacity);
  const RowText& text = row_text(*instruction.row, instruction.dpp != Dpp::none);
  Writer writer(out, capacity);
  writer.put_from(text.text, text.size);
  return static_cast<size_t>(text.print(writer, instruction, text).at() - out);
}

}  // namespace lockstep::isa
