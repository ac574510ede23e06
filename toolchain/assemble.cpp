#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <mutex>

#include "toolchain/compile.h"
#include "toolchain/link.h"
#include "toolchain/options.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace lockstep::toolchain {

namespace {

constexpr char kTriple[] = "amdgcn-amd-amdhsa";
// Name of the buffer that holds our prologue, the source and our epilogue. Most messages are already given in
// terms of the source by the line marker in the prologue; those that still carry this name count lines of the
// whole buffer.
constexpr char kBufferName[] = "<whole>";

const llvm::Target* target(std::string& error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
  });
  return llvm::TargetRegistry::lookupTarget(kTriple, error);
}

bool has_directive(std::string_view text, std::string_view directive) {
  for (size_t at = text.find(directive); at != text.npos; at = text.find(directive, at + 1)) {
    const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0: the first line
    if (text.substr(line, at - line).find_first_not_of(" \t") == std::string_view::npos) return true;
  }
  return false;
}

bool defines_label(std::string_view text, const std::string& label) {
  for (size_t at = text.find(label + ":"); at != text.npos; at = text.find(label + ":", at + 1))
    if (at == 0 || text[at - 1] == '\n' || text[at - 1] == ' ' || text[at - 1] == '\t') return true;
  return false;
}

struct Wrapped {
  std::string text;
  unsigned prologue_lines;
};

Wrapped wrap(std::string_view text, std::string_view name, const Options& options) {
  const ListingKernel& kernel = options.listing;
  const bool is_listing = !has_directive(text, ".amdhsa_kernel");
  std::string prologue, epilogue;
  if (!has_directive(text, ".amdhsa_code_object_version"))
    prologue += ".amdhsa_code_object_version " + std::to_string(options.code_object_version) + "\n";
  if (is_listing) {
    prologue += ".text\n.globl " + kernel.name + "\n.p2align 8\n.type " + kernel.name + ",@function\n";
    if (!defines_label(text, kernel.name)) prologue += kernel.name + ":\n";
    // 64 times s_code_end: instructions are fetched ahead, past the end (guide 2.4).
    epilogue +=
        "\n.text\ns_endpgm\n.fill 64, 4, 0xbf9f0000\n.size " + kernel.name + ", .-" + kernel.name + "\n";
    epilogue += ".rodata\n.p2align 6\n.amdhsa_kernel " + kernel.name;
    epilogue += "\n.amdhsa_group_segment_fixed_size " + std::to_string(kernel.lds_bytes);
    epilogue += "\n.amdhsa_private_segment_fixed_size " + std::to_string(kernel.scratch_bytes_per_lane);
    epilogue += "\n.amdhsa_kernarg_size " + std::to_string(kernel.kernarg_bytes);
    epilogue += "\n.amdhsa_user_sgpr_count 2\n.amdhsa_user_sgpr_kernarg_segment_ptr 1";
    epilogue += "\n.amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 1";
    epilogue += "\n.amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_system_vgpr_workitem_id 2";
    epilogue += "\n.amdhsa_enable_private_segment " + std::to_string(kernel.scratch_bytes_per_lane != 0);
    epilogue += "\n.amdhsa_next_free_vgpr " + std::to_string(kernel.vgprs) + "\n.amdhsa_next_free_sgpr 106";
    epilogue += "\n.amdhsa_wavefront_size32 " + std::to_string(options.wave_size == 32);
    // No metadata: what arguments a listing takes is not known, and whoever runs it lays them out.
    epilogue += "\n.end_amdhsa_kernel\n";
  }
  std::string quoted(name);
  std::replace(quoted.begin(), quoted.end(), '"', '_');
  std::replace(quoted.begin(), quoted.end(), '\n', '_');
  prologue += "# 1 \"" + quoted + "\"\n";
  const auto lines = unsigned(std::count(prologue.begin(), prologue.end(), '\n'));
  return {prologue + std::string(text) + epilogue, lines};
}

struct Unterminated {
  const char* what;
  size_t offset;
};

// LLVM 19's AMDGPU parser never comes back from a string or comment that runs to the end of the input behind
// a comma of something that is no instruction: such input is refused before.
std::optional<Unterminated> find_unterminated(std::string_view text) {
  const auto skip_line = [&text](size_t at) { return std::min(text.find('\n', at), text.size()); };
  bool line_start = true;  // nothing but blanks before
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == ';' || (c == '/' && next == '/') || (c == '#' && line_start)) {
      i = skip_line(i);
      line_start = true;
    } else if (c == '/' && next == '*') {
      const size_t end = text.find("*/", i + 2);
      if (end == text.npos) return Unterminated{"comment", i};
      i = end + 1;
    } else if (c == '"') {
      const size_t start = i;
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      if (i >= text.size()) return Unterminated{"string", start};
      line_start = false;
    } else if (c == '\'') {
      const size_t character = next == '\\' ? i + 2 : i + 1;
      if (character + 1 < text.size() && text[character + 1] == '\'') i = character + 1;
      line_start = false;
    } else if (c == '\n') {
      line_start = true;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      line_start = false;
    }
  }
  return std::nullopt;
}

class Messages {
 public:
  Messages(std::string_view name, std::string_view text, unsigned prologue_lines)
      : name_(name),
        prologue_lines_(prologue_lines),
        source_lines_(1 + int(std::count(text.begin(), text.end(), '\n'))) {}

  void add(const llvm::SMDiagnostic& message) {
    if (message.getKind() == llvm::SourceMgr::DK_Error) has_error_ = true;
    std::string file = message.getFilename().str();
    int line = message.getLineNo();
    if (file == kBufferName) {
      file = name_;
      line -= int(prologue_lines_);
    }
    // What is noticed only in our epilogue (an .if without .endif) is a matter of the whole source.
    if (line > source_lines_) line = 0;
    text_ += file;
    if (line > 0) text_ += ":" + std::to_string(line) + ":" + std::to_string(message.getColumnNo() + 1);
    text_ += ": " + std::string(kind(message.getKind())) + ": " + message.getMessage().str() + "\n";
    if (line <= 0 || message.getLineContents().empty()) return;
    text_ += message.getLineContents().str() + "\n";
    // Tabs of the source are kept so that the caret stands under its column.
    for (int i = 0; i < message.getColumnNo() && size_t(i) < message.getLineContents().size(); ++i)
      text_ += message.getLineContents()[size_t(i)] == '\t' ? '\t' : ' ';
    text_ += "^\n";
  }

  // An error at a place in the source that LLVM did not see.
  void add_error(std::string_view source, size_t offset, const std::string& text) {
    const llvm::SourceMgr none;
    const size_t start = source.substr(0, offset).rfind('\n') + 1;  // npos + 1 is 0: the first line
    const std::string_view line = source.substr(start, source.find('\n', start) - start);
    const auto number = 1 + std::count(source.begin(), source.begin() + long(offset), '\n');
    add(llvm::SMDiagnostic(none, llvm::SMLoc(), llvm::StringRef(name_.data(), name_.size()), int(number),
                           int(offset - start), llvm::SourceMgr::DK_Error, text,
                           llvm::StringRef(line.data(), line.size()), {}));
  }

  void add_error(std::string_view text) {
    has_error_ = true;
    text_ += std::string(name_) + ": error: " + std::string(text) + "\n";
  }

  bool has_error() const { return has_error_; }
  const std::string& text() const { return text_; }

 private:
  static std::string_view kind(llvm::SourceMgr::DiagKind kind) {
    switch (kind) {
      case llvm::SourceMgr::DK_Error:
        return "error";
      case llvm::SourceMgr::DK_Warning:
        return "warning";
      case llvm::SourceMgr::DK_Remark:
        return "remark";
      case llvm::SourceMgr::DK_Note:
        return "note";
    }
    return "error";
  }

  std::string_view name_;
  unsigned prologue_lines_;
  int source_lines_;
  bool has_error_ = false;
  std::string text_;
};

// The relocatable object, or an empty string with the reason in `messages`.
std::string assemble_object(const Wrapped& source, std::string_view name, const Options& options,
                            Messages& messages) {
  std::string error;
  const llvm::Target* amdgpu = target(error);
  if (!amdgpu) {
    messages.add_error("LLVM was built without the AMDGPU target: " + error);
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(source.text, kBufferName), llvm::SMLoc());
  std::vector<std::string> include_directories;
  for (const auto& directory : options.include_directories) include_directories.push_back(directory.string());
  sources.setIncludeDirs(include_directories);
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& message, void* context) { static_cast<Messages*>(context)->add(message); },
      &messages);

  const llvm::Triple triple(kTriple);
  const llvm::MCTargetOptions target_options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(amdgpu->createMCRegInfo(kTriple));
  const std::unique_ptr<llvm::MCAsmInfo> assembler_info(
      amdgpu->createMCAsmInfo(*registers, kTriple, target_options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(amdgpu->createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(amdgpu->createMCSubtargetInfo(
      kTriple, options.processor,
      options.wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64"));

  llvm::MCContext context(triple, assembler_info.get(), registers.get(), subtarget.get(), &sources,
                          &target_options);
  context.setDiagnosticHandler([&messages](const llvm::SMDiagnostic& message, bool, const llvm::SourceMgr&,
                                           std::vector<const llvm::MDNode*>&) { messages.add(message); });
  const std::unique_ptr<llvm::MCObjectFileInfo> file_info(
      amdgpu->createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(file_info.get());
  if (options.debug_info) {
    context.setGenDwarfForAssembly(true);
    context.setDwarfVersion(5);
    context.setMainFileName(std::string(name));
    std::error_code ignored;
    context.setCompilationDir(std::filesystem::current_path(ignored).string());
  }

  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      amdgpu->createMCAsmBackend(*subtarget, *registers, target_options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(amdgpu->createMCCodeEmitter(*instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(amdgpu->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *assembler_info));
  const std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      amdgpu->createMCAsmParser(*subtarget, *parser, *instructions, target_options));
  parser->setTargetParser(*target_parser);
  const bool failed = parser->Run(/*NoInitialTextSection=*/false);
  if (failed && !messages.has_error()) messages.add_error("the assembler failed without a message");
  if (failed || messages.has_error() || context.hadError()) return {};
  return std::string(object.str());
}

}  // namespace

Result assemble(std::string_view text, std::string_view name, const Options& options) {
  Result result;
  const Wrapped source = wrap(text, name, options);
  Messages messages(name, text, source.prologue_lines);
  std::string problem = check(options);
  if (problem.empty() && text.find('\0') != text.npos)
    problem = "this is not assembly text: it holds a zero byte";
  if (!problem.empty()) {
    messages.add_error(problem);
    result.diagnostics = messages.text();
    return result;
  }
  if (const std::optional<Unterminated> open = find_unterminated(text)) {
    messages.add_error(text, open->offset,
                       std::string("the ") + open->what + " that begins here does not end");
    result.diagnostics = messages.text();
    return result;
  }
  const std::string object = assemble_object(source, name, options, messages);
  result.diagnostics = messages.text();
  if (object.empty()) return result;
  Result linked = link(object);
  result.code_object = std::move(linked.code_object);
  result.diagnostics += linked.diagnostics;
  return result;
}

}  // namespace lockstep::toolchain
