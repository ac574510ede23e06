#include "tests/isa/llvm_oracle.h"

#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>
#include <stdexcept>

namespace lockstep::test {
namespace {

constexpr const char* kTriple = "amdgcn--amdhsa";

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmParser();
    LLVMInitializeAMDGPUDisassembler();
  });
}

// Keeps the one instruction that the parser emits.
class CollectingStreamer : public llvm::MCStreamer {
 public:
  CollectingStreamer(llvm::MCContext& context, const llvm::MCCodeEmitter& emitter)
      : MCStreamer(context), emitter_(emitter) {}

  void emitInstruction(const llvm::MCInst& instruction, const llvm::MCSubtargetInfo& subtarget) override {
    llvm::SmallVector<char, 32> code;
    llvm::SmallVector<llvm::MCFixup, 4> fixups;
    emitter_.encodeInstruction(instruction, code, fixups, subtarget);
    for (char byte : code) bytes.push_back(static_cast<std::byte>(byte));
  }
  bool emitSymbolAttribute(llvm::MCSymbol*, llvm::MCSymbolAttr) override { return true; }
  void emitCommonSymbol(llvm::MCSymbol*, uint64_t, llvm::Align) override {}
  void emitZerofill(llvm::MCSection*, llvm::MCSymbol*, uint64_t, llvm::Align, llvm::SMLoc) override {}

  std::vector<std::byte> bytes;

 private:
  const llvm::MCCodeEmitter& emitter_;
};

}  // namespace

struct LlvmOracle::State {
  llvm::Triple triple{kTriple};
  llvm::MCTargetOptions options;
  const llvm::Target* target = nullptr;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asm_info;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  llvm::raw_null_ostream remarks;  // llvm::nulls() has one buffer for all threads
};

namespace {

// LLVM does not promise that several threads may set up or take down its objects at the same time.
std::mutex& setup_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

LlvmOracle::LlvmOracle(unsigned wave_size) : state_(std::make_unique<State>()) {
  initialize_llvm();
  std::lock_guard lock(setup_mutex());
  State& s = *state_;
  std::string error;
  s.target = llvm::TargetRegistry::lookupTarget(kTriple, error);
  if (!s.target) throw std::runtime_error("LLVM has no AMDGPU target: " + error);
  s.registers.reset(s.target->createMCRegInfo(kTriple));
  s.asm_info.reset(s.target->createMCAsmInfo(*s.registers, kTriple, s.options));
  s.instructions.reset(s.target->createMCInstrInfo());
  s.subtarget.reset(s.target->createMCSubtargetInfo(
      kTriple, "gfx1100",
      wave_size == 64 ? "+wavefrontsize64,-wavefrontsize32" : "+wavefrontsize32,-wavefrontsize64"));
  s.context =
      std::make_unique<llvm::MCContext>(s.triple, s.asm_info.get(), s.registers.get(), s.subtarget.get());
  s.disassembler.reset(s.target->createMCDisassembler(*s.subtarget, *s.context));
  s.printer.reset(s.target->createMCInstPrinter(s.triple, 0, *s.asm_info, *s.instructions, *s.registers));
}

LlvmOracle::~LlvmOracle() {
  std::lock_guard lock(setup_mutex());
  state_.reset();
}

bool LlvmOracle::disassemble(std::span<const std::byte> bytes, LlvmText& out) {
  State& s = *state_;
  llvm::MCInst instruction;
  uint64_t size = 0;
  const auto status = s.disassembler->getInstruction(
      instruction, size, llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()), 0,
      s.remarks);
  out.text.clear();
  out.size = size;
  if (status != llvm::MCDisassembler::Success) return false;
  llvm::raw_string_ostream stream(out.text);
  s.printer->printInst(&instruction, 0, "", *s.subtarget, stream);
  if (out.text.starts_with('\t')) out.text.erase(0, 1);
  out.has_remark = out.text.find("/*Invalid") != std::string::npos;
  return true;
}

std::optional<std::vector<std::byte>> LlvmOracle::assemble(const std::string& line, std::string& error) {
  State& s = *state_;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(line), llvm::SMLoc());
  error.clear();
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& diagnostic, void* text) {
        *static_cast<std::string*>(text) += diagnostic.getMessage().str();
      },
      &error);
  llvm::MCContext context(s.triple, s.asm_info.get(), s.registers.get(), s.subtarget.get(), &sources);
  std::unique_ptr<llvm::MCObjectFileInfo> sections(s.target->createMCObjectFileInfo(context, false));
  context.setObjectFileInfo(sections.get());
  std::unique_ptr<llvm::MCCodeEmitter> emitter(s.target->createMCCodeEmitter(*s.instructions, context));
  CollectingStreamer streamer(context, *emitter);
  s.target->createNullTargetStreamer(streamer);
  std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, streamer, *s.asm_info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      s.target->createMCAsmParser(*s.subtarget, *parser, *s.instructions, s.options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false) || !error.empty()) return std::nullopt;
  return std::move(streamer.bytes);
}

}  // namespace lockstep::test
