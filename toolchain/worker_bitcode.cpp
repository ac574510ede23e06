#include "toolchain/worker_bitcode.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/SCCP.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <set>

namespace lockstep::toolchain {

namespace fs = std::filesystem;

std::unique_ptr<llvm::Module> read_module(const fs::path& path, llvm::LLVMContext& context,
                                          std::string& error) {
  auto buffer = llvm::MemoryBuffer::getFile(path.string());
  if (!buffer) {
    error = "cannot read " + path.string() + ": " + buffer.getError().message();
    return nullptr;
  }
  auto module = llvm::parseBitcodeFile((*buffer)->getMemBufferRef(), context);
  if (module) return std::move(*module);
  error = "cannot read " + path.string() + ": " + llvm::toString(module.takeError());
  return nullptr;
}

bool write_module(const llvm::Module& module, const fs::path& path, std::string& error) {
  std::error_code failed;
  llvm::raw_fd_ostream stream(path.string(), failed);
  if (!failed) {
    llvm::WriteBitcodeToFile(module, stream);
    stream.close();
    failed = stream.error();
  }
  if (!failed) return true;
  stream.clear_error();
  error = "cannot write " + path.string() + ": " + failed.message();
  return false;
}

namespace {

constexpr char kVersionVariable[] = "__oclc_ISA_version";
constexpr char kAbiVariable[] = "__oclc_ABI_version";
// Code object version 6 has the implicit arguments of version 5.
constexpr char kPatternAbi[] = "oclc_abi_version_500.bc";
// The newest version file of the package, taken as pattern for those of gfx11.
constexpr char kPatternVersion[] = "oclc_isa_version_1036.bc";
constexpr unsigned kVersions[] = {1100, 1101, 1102, 1103};
// The variable holds major * 1000 + minor * 100 + stepping: 10306 for gfx1036, 11000 for gfx1100.
constexpr unsigned kGfx11 = 11000;

// Copies a library that holds nothing but one constant, with another value.
bool write_variant(const fs::path& pattern, const char* variable_name, unsigned value, const fs::path& path,
                   std::string& error) {
  llvm::LLVMContext context;
  const std::unique_ptr<llvm::Module> module = read_module(pattern, context, error);
  if (!module) return false;
  llvm::GlobalVariable* variable = module->getGlobalVariable(variable_name, /*AllowInternal=*/true);
  if (!variable) {
    error =
        pattern.string() + " does not define " + variable_name + ": an unknown version of rocm-device-libs";
    return false;
  }
  variable->setInitializer(llvm::ConstantInt::get(variable->getValueType(), value));
  return write_module(*module, path, error);
}

// Without optimisation clang keeps both sides of a test of the version, and the other side may hold
// instructions that gfx11 does not have (DPP broadcasts of gfx9 in the wave scans): fold the tests here.
void fold_version(llvm::Module& module, unsigned value) {
  llvm::GlobalVariable* variable = module.getGlobalVariable(kVersionVariable, /*AllowInternal=*/true);
  if (!variable) return;
  std::set<llvm::Function*> changed;
  for (llvm::User* user : llvm::make_early_inc_range(variable->users())) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(user);
    if (!load) continue;
    changed.insert(load->getFunction());
    load->replaceAllUsesWith(llvm::ConstantInt::get(load->getType(), value));
    load->eraseFromParent();
  }
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::SCCPPass());
  passes.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::DCEPass());
  for (llvm::Function* function : changed) passes.run(*function, functions);
}

// The library's printf prints nothing and keeps LLVM from lowering calls to the printf buffer.
void drop_printf(llvm::Module& module) {
  llvm::Function* function = module.getFunction("printf");
  if (!function) return;
  function->deleteBody();
  function->setComdat(nullptr);
}

}  // namespace

bool make_device_libraries(const fs::path& source, const fs::path& directory, std::string& error) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(source, failed)) {
    const fs::path name = entry.path().filename();
    if (name.extension() != ".bc") continue;
    if (name != "opencl.bc" && name != "ockl.bc" && name != "ocml.bc") {
      fs::copy_file(entry.path(), directory / name, failed);
      if (failed) break;
      continue;
    }
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = read_module(entry.path(), context, error);
    if (!module) return false;
    fold_version(*module, kGfx11);
    drop_printf(*module);
    if (!write_module(*module, directory / name, error)) return false;
  }
  if (failed) {
    error = "cannot copy the device libraries from " + source.string() + ": " + failed.message();
    return false;
  }
  for (const unsigned version : kVersions) {
    const fs::path path = directory / ("oclc_isa_version_" + std::to_string(version) + ".bc");
    if (!write_variant(source / kPatternVersion, kVersionVariable, kGfx11 + version % 100, path, error))
      return false;
  }
  return write_variant(source / kPatternAbi, kAbiVariable, 600, directory / "oclc_abi_version_600.bc", error);
}

}  // namespace lockstep::toolchain
