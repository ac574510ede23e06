// LLVM's own disassembler and assembler for gfx1100, in process: what the isa tests compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::test {

struct LlvmText {
  std::string text;  // without leading tab
  size_t size = 0;   // bytes
  // The text holds a remark such as "/*Invalid register, operand has 'SReg_32' register class*/": LLVM
  // decodes the fields, knows that they are wrong, and no assembler input gives these bytes.
  bool has_remark = false;
};

class LlvmOracle {
 public:
  explicit LlvmOracle(unsigned wave_size);
  ~LlvmOracle();

  // False if LLVM refuses the bytes.
  bool disassemble(std::span<const std::byte> bytes, LlvmText& out);

  // The bytes that LLVM assembles a line to, or nothing with `error` set.
  std::optional<std::vector<std::byte>> assemble(const std::string& line, std::string& error);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lockstep::test
