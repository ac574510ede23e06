// What each gfx11 instruction costs in the host's code, against the files in host_code/: a change of the
// translator shows in their diff. LOCKSTEP_HOST_CODE=write writes them anew.
#include <gtest/gtest.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "engine/translator/body_library.h"
#include "engine/translator/code_generator.h"
#include "engine/translator/emitter.h"
#include "tests/engine/translator/row_forms.h"
#include "tests/sweep.h"

namespace lockstep::translator {
namespace {

// Forms that share a module, for what an LLVM context and a target cost.
constexpr size_t kBatch = 32;
// Of the batches one of so many is compared in `make test`.
constexpr unsigned kShare = 4;

struct Level {
  const char *processor, *name;
};
constexpr Level kLevels[] = {{"x86-64-v4", "AVX-512"}, {"x86-64-v3", "AVX2"}};

struct Cost {
  long instructions = 0, bytes = 0, calls = 0;

  Cost operator-(const Cost& other) const {
    return {instructions - other.instructions, bytes - other.bytes, calls - other.calls};
  }
};

// Counts instructions of x86-64, but for what only fills up to a boundary.
class Counter {
 public:
  explicit Counter(const char* processor) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetDisassembler();
    std::string error;
    const std::string triple = "x86_64-unknown-linux-gnu";
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target) throw std::runtime_error(error);
    registers_.reset(target->createMCRegInfo(triple));
    assembler_.reset(target->createMCAsmInfo(*registers_, triple, {}));
    instructions_.reset(target->createMCInstrInfo());
    subtarget_.reset(target->createMCSubtargetInfo(triple, processor, ""));
    context_ = std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembler_.get(), registers_.get(),
                                                 subtarget_.get());
    disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
  }

  Cost count(llvm::ArrayRef<uint8_t> code) const {
    Cost cost;
    for (uint64_t at = 0, size = 0; at < code.size(); at += size) {
      llvm::MCInst instruction;
      if (disassembler_->getInstruction(instruction, size, code.slice(at), at, llvm::nulls()) !=
          llvm::MCDisassembler::Success)
        throw std::runtime_error("host code that cannot be disassembled");
      if (instructions_->getName(instruction.getOpcode()).starts_with("NOOP")) continue;
      ++cost.instructions;
      cost.bytes += static_cast<long>(size);
      cost.calls += instructions_->get(instruction.getOpcode()).isCall();
    }
    return cost;
  }

 private:
  std::unique_ptr<llvm::MCRegisterInfo> registers_;
  std::unique_ptr<llvm::MCAsmInfo> assembler_;
  std::unique_ptr<llvm::MCInstrInfo> instructions_;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
  std::unique_ptr<llvm::MCContext> context_;
  std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

struct Line {
  std::string text, how;  // how: what is not host code alone
  std::array<Cost, std::size(kLevels)> costs;
};

struct Code {
  std::vector<uint32_t> words;
  Routine routine;
};

// All registers are read behind the code's end.
Code code_of(std::vector<uint32_t> words, unsigned wave_size) {
  Code code{std::move(words), {}};
  const auto entry = reinterpret_cast<uint64_t>(code.words.data());
  const std::vector<CodeRange> ranges = {{entry, entry + 4 * code.words.size()}};
  code.routine = find_routine(ranges, entry, wave_size, kMaxVgprs);
  return code;
}

std::string how_of(const Node& node) {
  switch (node.kind) {
    case NodeKind::call:
      return "interpreter";
    case NodeKind::step:
      return "step";
    default:
      return {};
  }
}

// Host code of the routines, one function each.
std::vector<Cost> costs_of(const std::vector<Code>& codes, const Level& level) {
  BodySession session;
  llvm::Module module("rows", session.context());
  const Emitter::Host host{has_masked_gathers(level.processor), false};
  for (size_t i = 0; i < codes.size(); ++i) {
    const Facts facts = analyse(codes[i].routine);
    Emitter(module, codes[i].routine, facts, 0, 0, host).emit("row" + std::to_string(i));
  }
  Object object;
  finish(session, module, level.processor, object);
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.bytes.data(), object.bytes.size()), "rows"));
  if (!file) throw std::runtime_error(llvm::toString(file.takeError()));
  static std::map<std::string, Counter> counters;
  const Counter& counter = counters.try_emplace(level.processor, level.processor).first->second;
  std::vector<Cost> costs(codes.size());
  for (const llvm::object::ELFSymbolRef symbol :
       llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    const llvm::StringRef name = llvm::cantFail(symbol.getName());
    size_t number;
    if (!name.starts_with("row") || name.drop_front(3).getAsInteger(10, number)) continue;
    const auto section = llvm::cantFail(symbol.getSection());
    const llvm::StringRef bytes = llvm::cantFail(section->getContents());
    const uint64_t begin = llvm::cantFail(symbol.getAddress()) - section->getAddress();
    costs.at(number) = counter.count(llvm::arrayRefFromStringRef(bytes.substr(begin, symbol.getSize())));
  }
  return costs;
}

std::string name_of(const RowForm& form) {
  return (form.wave_size == 64 ? "wave64 " : "") + form.text;
}

// What a second instruction of a form adds to the host code of a first one: what both have to do at entry and
// on leaving is not in it.
std::vector<Line> measured(std::span<const RowForm> forms) {
  std::vector<Line> lines;
  std::vector<Code> codes;  // of each form one instruction, and two
  for (const RowForm& form : forms) {
    std::vector<uint32_t> both = form.first;
    both.insert(both.end(), form.second.begin(), form.second.end());
    Code one = code_of(form.first, form.wave_size), two = code_of(std::move(both), form.wave_size);
    // Behind a jump or the end of the wave there is nothing to measure.
    const Line line{name_of(form), how_of(one.routine.nodes[0]), {}};
    const auto is_reached = [](const Code& code) {
      const Node& last = code.routine.nodes.back();
      return last.kind == NodeKind::outside && last.offset == static_cast<int64_t>(4 * code.words.size());
    };
    if (!is_reached(one) || !is_reached(two)) continue;
    lines.push_back(line);
    codes.push_back(std::move(one));
    codes.push_back(std::move(two));
  }
  for (size_t level = 0; level < std::size(kLevels); ++level) {
    const std::vector<Cost> costs = costs_of(codes, kLevels[level]);
    for (size_t i = 0; i < lines.size(); ++i) lines[i].costs[level] = costs[2 * i + 1] - costs[2 * i];
  }
  return lines;
}

std::string text_of(const Line& line) {
  char text[256];
  int length = std::snprintf(text, sizeof text, "%-88s", line.text.c_str());
  for (const Cost& cost : line.costs)
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), "  %5ld %5ld %2ld ",
                            cost.instructions, cost.bytes, cost.calls);
  std::string result(text);
  if (line.how.empty())
    result.erase(result.find_last_not_of(' ') + 1);
  else
    result += ' ' + line.how;
  return result;
}

const char* const kCompiler = "LLVM " LLVM_VERSION_STRING;

std::string file_of(isa::Encoding encoding) {
  return LOCKSTEP_HOST_CODE "/" + std::string(isa::name(encoding)) + ".txt";
}

constexpr const char* kHead =
    "# What one more instruction of gfx11 adds to the host's code: instructions, bytes and calls among them, "
    "on AVX-512 and\n"
    "# on AVX2, and by whom else it is executed (docs/translator.md, Cost of each instruction). Written by "
    "make host-code.\n"
    "# Compiled by ";
constexpr std::string_view kGap = "  ";  // behind what is measured

// A line by what it measures; the compiler's has an empty name.
std::map<std::string, std::string> read_lines(isa::Encoding encoding) {
  std::map<std::string, std::string> lines;
  std::ifstream file(file_of(encoding));
  constexpr std::string_view kCompiledBy = "# Compiled by ";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kCompiledBy))
      lines[""] = line.substr(kCompiledBy.size());
    else if (!line.starts_with('#'))
      lines[line.substr(0, line.find(kGap))] = line;
  }
  return lines;
}

// Batches of forms of one encoding, in order.
std::vector<std::span<const RowForm>> batches(std::span<const RowForm> forms) {
  std::vector<std::span<const RowForm>> result;
  while (!forms.empty()) {
    size_t size = 1;
    while (size < forms.size() && size < kBatch && forms[size].row->encoding == forms[0].row->encoding)
      ++size;
    result.push_back(forms.first(size));
    forms = forms.subspan(size);
  }
  return result;
}

void write_files(std::span<const RowForm> forms) {
  std::map<isa::Encoding, std::string> texts;
  for (const std::span<const RowForm> batch : batches(forms)) {
    std::string& text =
        texts.try_emplace(batch[0].row->encoding, kHead + std::string(kCompiler) + "\n").first->second;
    for (const Line& line : measured(batch)) text += text_of(line) + "\n";
  }
  for (const auto& [encoding, text] : texts) {
    std::ofstream file(file_of(encoding));
    file << text;
    ASSERT_TRUE(file.good()) << file_of(encoding);
  }
}

TEST(HostCode, IsAsTheFilesSay) {
  const std::vector<RowForm> forms = row_forms();
  const char* asked = std::getenv("LOCKSTEP_HOST_CODE");
  if (asked && std::string_view(asked) == "write") return write_files(forms);
  std::map<isa::Encoding, std::map<std::string, std::string>> files;
  std::string differences;
  unsigned number = 0;
  for (const std::span<const RowForm> batch : batches(forms)) {
    const isa::Encoding encoding = batch[0].row->encoding;
    const auto [file, is_new] = files.try_emplace(encoding);
    if (is_new) file->second = read_lines(encoding);
    std::map<std::string, std::string>& lines = file->second;
    ASSERT_FALSE(lines.empty()) << "no " << file_of(encoding);
    if (lines[""] != kCompiler)
      GTEST_SKIP() << "host code is measured with " << kCompiler << " here, the files with " << lines[""];
    const bool is_compared = test::is_in_share(number++, kShare);
    std::vector<Line> found;
    if (is_compared) found = measured(batch);
    for (const Line& line : found) {
      std::string& expected = lines[line.text];
      const std::string text = text_of(line);
      if (expected != text) {
        differences +=
            "- " + (expected.empty() ? line.text + " (not there)" : expected) + "\n+ " + text + "\n";
      }
    }
    for (const RowForm& form : batch) lines.erase(name_of(form));
  }
  for (const auto& [encoding, lines] : files)
    for (const auto& [name, line] : lines)
      if (!name.empty()) differences += "- " + line + "\n";
  EXPECT_TRUE(differences.empty())
      << "instructions, bytes, calls on AVX-512 and on AVX2, as the files say and as it is:\n"
      << differences << "If that is as it should be: make host-code, and look at the diff.";
}

}  // namespace
}  // namespace lockstep::translator
