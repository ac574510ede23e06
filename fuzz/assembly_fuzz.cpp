// libFuzzer target: any text as assembly. The assembler is another project's, in a process of its own; what
// is looked for is whatever gets through to this one: an end of the process, no answer, an answer that is
// neither a code object that loads nor a message, or a worker that does not serve the next text.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "loader/code_object.h"
#include "toolchain/compile.h"

namespace {

using namespace lockstep;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

constexpr std::string_view kWords[] = {"s_endpgm\n",
                                       "s_nop 0\n",
                                       "v_add_f32 v0, v1, v2\n",
                                       ".rept ",
                                       "1000000\n",
                                       ".endr\n",
                                       ".macro m\n",
                                       "m\n",
                                       ".endm\n",
                                       ".if ",
                                       ".endif\n",
                                       ".include ",
                                       ".incbin ",
                                       "\"/dev/zero\"\n",
                                       ".space ",
                                       "0x7fffffffffffffff",
                                       ".fill ",
                                       ".p2align ",
                                       ".org ",
                                       ".quad ",
                                       "/ -1",
                                       "((((((((",
                                       "))))))))",
                                       "-",
                                       "~",
                                       ".file ",
                                       "4294967295",
                                       ".loc ",
                                       ".section ",
                                       ".amdhsa_kernel k\n",
                                       ".end_amdhsa_kernel\n",
                                       ".amdhsa_next_free_vgpr ",
                                       ".amdhsa_code_object_version ",
                                       ".amdgpu_metadata\n",
                                       ".end_amdgpu_metadata\n",
                                       ".amdgcn_target ",
                                       ".set x, ",
                                       "x = ",
                                       "\"",
                                       "/*",
                                       "'",
                                       "\\@",
                                       ".irp ",
                                       ".altmacro\n",
                                       ".cfi_startproc\n",
                                       ".type ",
                                       ".size ",
                                       ".reloc ",
                                       ".symver ",
                                       ".uleb128 ",
                                       ".dc.b ",
                                       "\n",
                                       " "};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  toolchain::Options options;
  options.limits = {.seconds = 2, .megabytes = 512};
  options.debug_info = size % 2 == 1;
  const toolchain::Result result = toolchain::assemble(text, "fuzzed.s", options);
  if (result) {
    // A text may be of any number of kernels, and may describe them wrongly; the loader says so.
    static_cast<void>(loader::CodeObject::parse(result.code_object, "fuzzed.s"));
  } else {
    require(result.diagnostics.find("error:") != std::string::npos);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Half of the time a word of assemblers is put in: bytes alone seldom make a directive.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  if (seed & 1) return LLVMFuzzerMutate(data, size, most);
  std::string text(reinterpret_cast<const char*>(data), size);
  text.insert(size == 0 ? 0 : (seed >> 16) % size, kWords[(seed >> 1) % std::size(kWords)]);
  size = std::min(text.size(), most);
  std::copy_n(text.begin(), size, data);
  return size;
}
