#include "engine/translator/code_generator.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "engine/interpreter/interpreter.h"
#include "engine/translator/address_plan.h"
#include "engine/translator/body_library.h"
#include "engine/translator/doubt_checks.h"
#include "engine/translator/emitter.h"
#include "engine/translator/indexed_registers.h"
#include "engine/translator/inverse_masks.h"
#include "engine/translator/joined_bytes.h"
#include "engine/translator/lane_moves.h"
#include "engine/translator/mask_halves.h"
#include "engine/translator/mask_sums.h"
#include "engine/translator/pair_folding.h"
#include "engine/translator/pair_merging.h"
#include "engine/translator/pair_splitting.h"
#include "engine/translator/range_offsets.h"
#include "engine/translator/scalar_lanes.h"
#include "engine/translator/shift_sums.h"
#include "engine/translator/stopwatch.h"
#include "engine/translator/table_lookups.h"

namespace lockstep::translator {
namespace {

std::unique_ptr<llvm::TargetMachine> make_target(const std::string& processor) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  const std::string triple = llvm::sys::getProcessTriple();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw std::runtime_error("no code generator for this host: " + error);
  std::string features, name = processor;
  if (processor.empty()) {
    name = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features +=
          std::string(features.empty() ? "" : ",") + (feature.second ? "+" : "-") + feature.first().str();
  }
  llvm::TargetOptions options;
  // One rounding for each operation, whatever the code generator could fuse.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, name, features, options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) throw std::runtime_error("LLVM does not know the processor '" + processor + "'");
  return machine;
}

// LLVM 19's "X86 Domain Reassignment Pass", which moves scalars that become masks to mask registers, loses
// the upper half of (a & 0xffff0000) | (b & 0xffff): it takes an insertion of 16 bits into a register for a
// copy of these. The list scheduler behind register allocation takes a fifteenth of the time, which code that
// waves go through once does without (a cipher runs a sixth slower). Where lanes go one by one and have
// arrays, numbers that share their places on the stack with values of whole waves are 64 bytes apart, a line
// of the cache each (`queens` takes 7.9 ms for 2.7).
class PassesWanted final : public llvm::OptPassGate {
 public:
  PassesWanted(Wanted code, bool shares_slots)
      : is_scheduled_(code == Wanted::fast), shares_slots_(shares_slots) {}
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override {
    return !pass.starts_with("X86 Domain Reassignment") &&
           (is_scheduled_ || !pass.starts_with("Post RA top-down")) &&
           (shares_slots_ || !pass.starts_with("Stack Slot Coloring"));
  }
  bool isEnabled() const override { return true; }

 private:
  const bool is_scheduled_, shares_slots_;
};

bool is_zen(const std::string& processor) {
  return (processor.empty() ? llvm::sys::getHostCPUName() : llvm::StringRef(processor)).starts_with("znver");
}

// Zen 4 ran saxpy a third faster without prefetches for the next waves; others are as they were measured
// before.
bool sees_streams(const std::string& processor) {
  return is_zen(processor);
}

// Zen 4 has gathers of 16 lanes in microcode, with nothing else beside them: checksums, permutations and
// chains of indices ran a fifth to a third faster with 16 loads. Under a mask, and at constant distances,
// they are as quick.
bool gathers_slowly(const std::string& processor) {
  return is_zen(processor);
}

// Of passes over functions and modules.
struct Analyses {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;

  explicit Analyses(llvm::TargetMachine* machine) {
    llvm::PassBuilder builder(machine);
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graph);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graph, modules);
  }
};

// What computed other lanes, and what is computed twice.
void drop_dead_code(llvm::Function& function, llvm::TargetMachine& machine) {
  Analyses analyses(&machine);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::ADCEPass());
  passes.addPass(llvm::EarlyCSEPass());
  passes.run(function, analyses.functions);
}

}  // namespace

void move_out_of_rows(llvm::Function& row, llvm::TargetMachine* machine, Bodies bodies) {
  Analyses analyses(machine);
  llvm::FunctionPassManager passes;
  if (bodies == Bodies::called) {
    passes.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    passes.addPass(llvm::EarlyCSEPass());
  }
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.run(row, analyses.functions);
}

void finish(BodySession& session, llvm::Module& module, const std::string& processor, Object& object,
            Wanted code) {
  Stopwatch watch;
  const auto machine = make_target(processor);
  module.setTargetTriple(machine->getTargetTriple().str());
  module.setDataLayout(machine->createDataLayout());
  std::vector<llvm::Function*> own;
  bool has_calls_for_one_lane = false;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    if (function.hasInternalLinkage())
      has_calls_for_one_lane = true;
    else
      own.push_back(&function);
  }
  session.import(module, has_masked_gathers(processor));
  object.stages.import += watch.lap();

  for (llvm::Function* function : own) {
    // Chunks are 512 bits wide; where the host has no such registers it uses two.
    function->addFnAttr("prefer-vector-width", "512");
    function->addFnAttr("min-legal-vector-width", "512");
  }
  llvm::Function* const row = module.getFunction(kRowFunctionName);
  if (row && has_calls_for_one_lane) move_out_of_rows(*row, machine.get(), Bodies::called);
  {
    Analyses analyses(machine.get());
    llvm::ModulePassManager passes;
    passes.addPass(llvm::AlwaysInlinerPass(false));
    llvm::FunctionPassManager each;
    each.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    each.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(each)));
    passes.run(module, analyses.modules);
  }
  bool has_arrays = false;
  const bool multiplies_bits = machine->getMCSubtargetInfo()->checkFeatures("+pclmul");
  for (llvm::Function* function : own) {
    const bool has_lanes = make_lanes_scalar(*function);
    if (has_lanes) drop_dead_code(*function, *machine);
    if (has_lanes && index_registers(*function)) {
      has_arrays = true;
      drop_dead_code(*function, *machine);
    }
    merge_pairs(*function, has_lanes);
    fold_pairs(*function, has_lanes);
    split_pairs(*function, has_masked_gathers(processor));
    if (multiplies_bits) multiply_shift_sums(*function);
    split_joined_bytes(*function);
    drop_implied_checks(*function);
    derive_inverse_masks(*function);
    if (has_lanes) {
      check_last_rounds(*function);
      count_from_begins(*function);
    }
    if (has_masked_gathers(processor)) {
      combine_masks_by_halves(*function);
      choose_mask_sums(*function);
      keep_doubt_as_masks(*function);
      permute_tables(*function);
      scatter_lane_by_lane(*function);
      if (gathers_slowly(processor)) gather_lane_by_lane(*function);
    } else {
      check_lanes_in_pairs(*function);
      move_lane_by_lane(*function, function->getArg(0));
    }
  }
  if (row) move_out_of_rows(*row, machine.get(), Bodies::inlined);
  object.stages.optimise += watch.lap();

  llvm::raw_svector_ostream stream(object.bytes);
  PassesWanted gate(code, !has_arrays);
  module.getContext().setOptPassGate(gate);
  llvm::legacy::PassManager generator;
  if (machine->addPassesToEmitFile(generator, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    throw std::runtime_error("LLVM cannot write objects for this host");
  generator.run(module);
  object.stages.generate += watch.lap();
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.bytes.data(), object.bytes.size()), "routine"));
  if (!file) throw std::runtime_error(llvm::toString(file.takeError()));
  for (const llvm::object::SectionRef& section : (*file)->sections())
    if (section.isText()) object.code_bytes += section.getSize();
}

const std::string& host_processor() {
  // Hosts with a part of AVX-512 only are used as those without: registers that a runtime function keeps are
  // all or none of it.
  static const std::string processor =
      interpreter::best_host_target() == interpreter::HostTarget::x86_64_v3 &&
              __builtin_cpu_supports("avx512f")
          ? "x86-64-v3"
          : "";
  return processor;
}

// AVX-512 has them for 16 lanes. What LLVM makes of them for less is a branch for each lane.
bool has_masked_gathers(const std::string& processor) {
  if (!processor.empty()) return processor == "x86-64-v4";
  static const bool has = [] {
    const auto features = llvm::sys::getHostCPUFeatures();
    const auto on = [&](const char* name) { return features.lookup(name); };
    return on("avx512f") && on("avx512dq") && on("avx512bw") && on("avx512vl");
  }();
  return has;
}

namespace {

Wanted wanted_of(const Routine& routine, unsigned piece) {
  if (!routine.is_long()) return Wanted::fast;
  const Piece& part = routine.pieces[piece];
  for (unsigned i = part.first; i < part.last; ++i)
    if (const int to = routine.blocks[i].taken; to >= 0 && to <= static_cast<int>(i)) return Wanted::fast;
  return Wanted::soon;
}

constexpr size_t kMostNodesOfLoops = 400;

bool has_loops(const Routine& routine) {
  return std::ranges::any_of(loop_ends(routine), [](unsigned end) { return end != 0; });
}

}  // namespace

bool has_row_function(const Routine& routine, const Facts& facts) {
  // Of full waves.
  if (routine.lanes != routine.wave_size) return false;
  // What goes round in loops takes longer than its launch, and is slower where what is computed before the
  // rows leaves it too few registers.
  if (has_loops(routine) && routine.nodes.size() > kMostNodesOfLoops) return false;
  if (routine.launch.group_id_register >= isa::code::kVccLo) return false;
  if (routine.pieces.size() != 1) return false;
  if (!routine.blocks[routine.entry_block].predecessors.empty()) return false;
  const bool waits = std::ranges::any_of(routine.nodes, [](const Node& node) {
    switch (node.kind) {
      case NodeKind::call:
      case NodeKind::matrix:
      case NodeKind::indexed:
      case NodeKind::step:
      case NodeKind::jump:
      case NodeKind::barrier:
      case NodeKind::scratch:
        return true;
      default:
        return false;
    }
  });
  if (waits) return false;
  return std::ranges::any_of(plan_addresses(routine, facts, false),
                             [](const AddressPlan& plan) { return !plan.is_empty(); });
}

bool goes_side_by_side(const Routine& routine, const Facts& facts) {
  if (has_loops(routine)) return false;
  const auto plans = plan_addresses(routine, facts, false);
  for (unsigned i = 0; i < routine.blocks.size(); ++i) {
    const Block& block = routine.blocks[i];
    for (unsigned n = block.first; n < block.last; ++n) {
      const NodeKind kind = routine.nodes[n].kind;
      if (kind == NodeKind::outside) return false;
      const bool is_regular = plans[i].has_regular(n - block.first);
      if ((kind == NodeKind::global || kind == NodeKind::buffer) && !is_regular) return false;
    }
  }
  return true;
}

Object generate(const Routine& routine, const Facts& facts, unsigned piece, unsigned first_slot,
                const std::string& processor) {
  Object object;
  Stopwatch watch;
  BodySession session;
  llvm::Module module("routine", session.context());
  const Emitter::Host host{has_masked_gathers(processor), sees_streams(processor)};
  Emitter emitter(module, routine, facts, piece, first_slot, host);
  emitter.emit(kFunctionName);
  object.next_slot = emitter.next_slot();
  if (has_row_function(routine, facts)) {
    Emitter rows(module, routine, facts, piece, object.next_slot, host, Emitter::Shape::row);
    rows.emit(kRowFunctionName);
    object.next_slot = rows.next_slot();
  }
  // A value that is used where it need not have been computed would be whatever the host's register holds.
  std::string problem;
  llvm::raw_string_ostream text(problem);
  if (llvm::verifyModule(module, &text))
    throw std::runtime_error("the translator made bad code: " + text.str());
  object.stages.emit = watch.lap();
  finish(session, module, processor, object, wanted_of(routine, piece));
  return object;
}

}  // namespace lockstep::translator
