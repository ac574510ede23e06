#include "toolchain/worker_assembler.h"

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
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "toolchain/confinement.h"
#include "toolchain/options.h"
#include "toolchain/worker_link.h"

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
    if (text_.size() > kMostText) {
      if (!left_out_) text_ += std::string(name_) + ": note: further messages are left out\n";
      left_out_ = true;
      return;
    }
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
    if (message.getLineContents().size() > kMostLine) return;
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
  int source_lines() const { return source_lines_; }

 private:
  static constexpr size_t kMostText = 1 << 20, kMostLine = 1000;

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
  bool has_error_ = false, left_out_ = false;
  std::string text_;
};

// What this process is at, for whoever ends it.
struct Progress {
  const AssemblyRequest* request = nullptr;
  int answer = -1;
  const Wrapped* source = nullptr;
  llvm::SourceMgr* sources = nullptr;
  llvm::MCAsmParser* parser = nullptr;
  const Messages* messages = nullptr;
} progress;

// The line of the request's text that is being read; 0 if none is. Allocates nothing.
int current_line() {
  if (!progress.parser) return 0;
  llvm::SMLoc place = progress.parser->getTok().getLoc();
  // From expansions of macros to the place where the outermost one stands.
  unsigned buffer = 0;
  for (int depth = 0; depth < 1000 && place.isValid(); ++depth) {
    buffer = progress.sources->FindBufferContainingLoc(place);
    if (buffer <= 1) break;
    place = progress.sources->getBufferInfo(buffer).IncludeLoc;
  }
  if (buffer != 1) return 0;
  const char* begin = progress.source->text.data();
  const int line =
      1 + int(std::count(begin, place.getPointer(), '\n')) - int(progress.source->prologue_lines);
  return line >= 1 && line <= progress.messages->source_lines() ? line : 0;
}

void put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(progress.answer, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(size_t(written));
  }
}

void put_record(Record record, std::string_view text) {
  const uint64_t head[] = {uint64_t(record), text.size()};
  put({reinterpret_cast<const char*>(head), sizeof head});
  put(text);
}

// Memory may be exhausted and the heap damaged: nothing is allocated here, and nothing cleaned up. A signal
// may have come in the middle of anything, so that what is looked at for the line or the messages is not
// whole, and looking crashes: then the first reason is told without the one, and without the other, too.
[[noreturn]] void end_process(const char* what, const char* advice) {
  static char message[2000];
  static const char *first_what, *first_advice;
  static int times;
  if (++times == 1) {
    first_what = what;
    first_advice = advice;
  }
  const int line = times == 1 ? current_line() : 0;
  if (progress.messages && times <= 2) put_record(Record::diagnostics, progress.messages->text());
  if (times > 3) _exit(1);
  const char* stage = progress.parser ? "assembler" : "linker";
  if (line > 0)
    snprintf(message, sizeof message, "%.1000s:%d: error: LLVM's %s %.500s here%.400s\n",
             progress.request->name.c_str(), line, stage, first_what, first_advice);
  else
    snprintf(message, sizeof message, "%.1000s: error: LLVM's %s %.500s%.400s\n",
             progress.request->name.c_str(), stage, first_what, first_advice);
  put_record(Record::diagnostics, message);
  _exit(0);
}

void out_of_memory() {
  static char advice[200];
  snprintf(advice, sizeof advice, ": %llu MB are its limit (LOCKSTEP_COMPILE_MEGABYTES=N sets another)",
           static_cast<unsigned long long>(progress.request->options.limits.megabytes));
  end_process("ran out of memory", advice);
}

void on_fatal_signal(int signal) {
  static char advice[200];
  switch (signal) {
    case SIGXCPU:
      snprintf(advice, sizeof advice,
               ": %u s of processor time are its limit (LOCKSTEP_COMPILE_SECONDS=N sets another)",
               progress.request->options.limits.seconds);
      end_process("did not come to an end", advice);
    case SIGXFSZ:
      end_process("wrote more than a code object may have", "");
    case SIGSEGV:
    case SIGBUS:
      end_process("crashed", " (an expression or a condition that is nested too deep?)");
    case SIGFPE:
      end_process("crashed", " (a quotient that has no value?)");
    default:
      end_process("gave up", "");
  }
}

void on_fatal_error(void*, const char* reason, bool) {
  static char text[500];
  snprintf(text, sizeof text, "gave up (%.400s)", reason);
  end_process(text, "");
}

void on_bad_allocation(void*, const char*, bool) {
  out_of_memory();
}

// The relocatable object, or an empty string with the reason in `messages`.
std::string assemble_object(const Wrapped& source, const AssemblyRequest& request, Messages& messages) {
  const Options& options = request.options;
  std::string error;
  const llvm::Target* amdgpu = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!amdgpu) {
    messages.add_error("LLVM was built without the AMDGPU target: " + error);
    return {};
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(source.text, kBufferName), llvm::SMLoc());
  std::vector<std::string> include_directories;
  if (!request.folder.empty()) include_directories.push_back(request.folder);
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
    context.setMainFileName(request.name);
    context.setCompilationDir(request.compilation_directory);
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
  progress.sources = &sources;
  progress.parser = parser.get();
  const bool failed = parser->Run(/*NoInitialTextSection=*/false);
  progress.parser = nullptr;
  if (failed && !messages.has_error()) messages.add_error("the assembler failed without a message");
  if (failed || messages.has_error() || context.hadError()) return {};
  return std::string(object.str());
}

}  // namespace

void initialize_assembler() {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
}

void report_end_of_process(const AssemblyRequest& request, int answer) {
  progress.request = &request;
  progress.answer = answer;
  std::set_new_handler(out_of_memory);
  llvm::install_fatal_error_handler(on_fatal_error);
  llvm::install_bad_alloc_error_handler(on_bad_allocation);
  // An overflown stack has no room for a handler.
  static char stack[65536];
  const stack_t alternative{.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = on_fatal_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;  // the handler may crash, too (end_process())
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGXCPU, SIGXFSZ})
    sigaction(signal, &action, nullptr);
}

Result assemble_here(const AssemblyRequest& request) {
  Result result;
  const std::string_view text = request.text;
  const Wrapped source = wrap(text, request.name, request.options);
  Messages messages(request.name, text, source.prologue_lines);
  progress.source = &source;
  progress.messages = &messages;
  if (text.find('\0') != text.npos) {
    messages.add_error("this is not assembly text: it holds a zero byte");
  } else if (const std::optional<Unterminated> open = find_unterminated(text)) {
    messages.add_error(text, open->offset,
                       std::string("the ") + open->what + " that begins here does not end");
  } else if (const std::string object = assemble_object(source, request, messages); !object.empty()) {
    result = link(object, request.name);
  }
  result.diagnostics = messages.text() + result.diagnostics;
  progress.messages = nullptr;
  return result;
}

}  // namespace lockstep::toolchain
