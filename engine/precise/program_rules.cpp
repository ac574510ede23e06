#include "engine/precise/program_rules.h"

#include <algorithm>

#include "isa/hardware_registers.h"
#include "state/trap_status.h"

namespace lockstep::precise {

namespace {

using isa::Opcode;

constexpr uint64_t kPageBytes = 4096, kPaddingBytes = 256;  // guide 2.4: 64 dwords
constexpr uint64_t kVersionBytes = 16;                      // guide 16.2: where s_version is found
constexpr unsigned kGfx11 = 6;                              // LLVM: UC_VERSION_GFX11

std::string fault_of_prefetch_distance(const isa::Instruction& instruction) {
  const auto field = static_cast<uint32_t>(instruction.operands[0].value) & 0xffff;
  if (field >> 2 != 0)
    return "s_set_inst_prefetch_distance with bits beyond the two of its mode (guide 16.5): SIMM16[15:2] "
           "must be zero";
  if (field == 0)
    return "s_set_inst_prefetch_distance 0, which is reserved (guide 16.5): give 1, 2 or 3 cache lines";
  return {};
}

}  // namespace

std::vector<CodeRange> mapped_pages(const std::vector<CodeRange>& code, const RangeSet* memory) {
  if (!memory) return {};
  std::vector<CodeRange> pages;
  const auto add = [&](uint64_t begin, uint64_t end) {
    pages.push_back({begin & ~(kPageBytes - 1), (end + kPageBytes - 1) & ~(kPageBytes - 1)});
  };
  for (const CodeRange& range : code) add(range.begin, range.end);
  for (const Range& range : memory->ranges()) add(range.begin, range.end);
  std::sort(pages.begin(), pages.end(), [](auto& a, auto& b) { return a.begin < b.begin; });
  std::vector<CodeRange> merged;
  for (const CodeRange& page : pages) {
    if (merged.empty() || merged.back().end < page.begin)
      merged.push_back(page);
    else
      merged.back().end = std::max(merged.back().end, page.end);
  }
  return merged;
}

// Tools look for s_version at the beginning; the hardware executes it as a no-operation wherever it stands.
// LLVM has flags for the wave size in bits that the guide reserves.
std::string ProgramRules::fault_of_version(const Step& step) const {
  const auto field = static_cast<uint32_t>(step.instruction.operands[0].value) & 0xffff;
  if (field >> 8 != 0)
    return "s_version with bits beyond its version (guide 16.2): SIMM16[15:8] must be zero";
  if (field != kGfx11)
    return "s_version " + std::to_string(field) +
           ": the program says that it is for other hardware (guide 5.1, 16.2); gfx11 has the number 6 "
           "(UC_VERSION_GFX11 in LLVM)";
  const auto begins = [&](uint64_t block) { return step.pc >= block && step.pc - block < kVersionBytes; };
  if (begins(entry_) || (trap_handler_ != 0 && begins(trap_handler_))) return {};
  return "s_version beyond the first 16 bytes of the program (guide 16.2), where no tool finds it: put it "
         "first, "
         "in a trap handler behind the first branch";
}

// What the fetch must not run into is memory that is not mapped. What a compiler puts behind a program
// differs: behind the last template of a file LLVM 19 puts nothing, and the rest of the page serves.
bool ProgramRules::is_padded(uint64_t end) const {
  const auto behind = std::upper_bound(pages_.begin(), pages_.end(), end,
                                       [](uint64_t at, const CodeRange& range) { return at < range.end; });
  return pages_.empty() ||
         (behind != pages_.end() && behind->begin <= end && behind->end - end >= kPaddingBytes);
}

std::string ProgramRules::broken_by(const Step& step) const {
  const Opcode opcode = step.instruction.row->opcode;
  if (gave_vgprs_back_ && !(step.instruction.row->flags & isa::kEndsWave))
    return "the wave goes on after it has given its VGPRs back (s_sendmsg with message 3): the next "
           "instruction must be s_endpgm (guide 5.3, table 15)";
  if (opcode == Opcode::s_set_inst_prefetch_distance) return fault_of_prefetch_distance(step.instruction);
  if (opcode == Opcode::s_version) return fault_of_version(step);
  if (processor_mode_ && (opcode == Opcode::lds_direct_load || opcode == Opcode::lds_param_load))
    return "lds_direct_load or lds_param_load in WGP mode, which the hardware has in CU mode alone (guide "
           "2.3): "
           "compile for CU mode (-mcumode, or .amdhsa_workgroup_processor_mode 0)";
  if (opcode == Opcode::s_endpgm_saved && !(step.wave.status & status_bit::kPrivileged))
    return "s_endpgm_saved outside of a trap handler (guide 5.1): it says that the wave's context was saved; "
           "end the program with s_endpgm";
  if (!(step.instruction.row->flags & isa::kEndsWave)) return {};
  if (is_padded(step.next_pc())) return {};
  return "the program ends less than 256 bytes before memory that is not mapped (guide 2.4): instructions "
         "are fetched ahead, so 64 dwords must follow, best s_code_end (.fill 64, 4, 0xbf9f0000)";
}

bool ProgramRules::concerns(const isa::Instruction& instruction) {
  switch (instruction.row->opcode) {
    case Opcode::s_set_inst_prefetch_distance:
    case Opcode::s_version:
    case Opcode::lds_direct_load:
    case Opcode::lds_param_load:
    case Opcode::s_sendmsg:
      return true;
    default:
      return instruction.row->flags & isa::kEndsWave;
  }
}

Verdict ProgramRules::before(const Step& step) {
  if (!is_watching() && !concerns(step.instruction)) return Verdict::execute;
  std::string rule = broken_by(step);
  return rule.empty() ? Verdict::execute : rules_.broken(step, std::move(rule));
}

void ProgramRules::after(const Step& step) {
  gave_vgprs_back_ = step.instruction.row->opcode == Opcode::s_sendmsg &&
                     (step.instruction.operands[0].value & 0xff) == isa::message::kDeallocVgprs;
}

}  // namespace lockstep::precise
