#include "observe/code/legality_pass.h"

#include <algorithm>
#include <memory>

#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"
#include "engine/precise/global_sync_rules.h"
#include "engine/precise/hazard_rules.h"
#include "engine/precise/operand_rules.h"
#include "engine/precise/program_rules.h"
#include "engine/precise/wave64_hazards.h"
#include "isa/explain.h"
#include "state/trap_status.h"

namespace lockstep::observe {

namespace {

// A wave of which nothing is known but that its lanes are on. M0 is 0, which no rule about its bits minds.
void make_wave(Wave& wave, const CodeFlow& flow, unsigned wave_size) {
  initialise_wave(wave, wave_size, nullptr);
  wave.set_exec(wave.lane_mask);
  const bool is_trap_handler =
      std::any_of(flow.places().begin(), flow.places().end(),
                  [](const Place& place) { return place.instruction.row->opcode == isa::Opcode::s_rfe_b64; });
  if (is_trap_handler) wave.status |= status_bit::kPrivileged;
}

}  // namespace

void find_broken_rules(const Code& code, const CodeFlow& flow, const Root& root, Findings& findings) {
  Wave wave{};
  make_wave(wave, flow, root.wave_size);
  const auto in_memory = [&](uint64_t address) {
    return reinterpret_cast<uint64_t>(code.bytes.data()) + (address - code.address);
  };
  const precise::RuleBook rules(precise::Rules::warn, findings);
  const std::vector<CodeRange> pages = {{in_memory(code.address), in_memory(code.mapped_end)}};
  const auto good = std::make_shared<precise::GoodInstructions>();
  std::vector<std::unique_ptr<precise::Unit>> units;
  uint64_t next = 0;
  for (const Place& place : flow.places()) {
    // What came before is known of a wave that came from there alone.
    if (place.address != next) {
      units.clear();
      units.push_back(std::make_unique<precise::DelayHints>(rules));
      units.push_back(std::make_unique<precise::ClauseRules>(rules, nullptr));
      units.push_back(std::make_unique<precise::GlobalSyncRules>(rules));
      units.push_back(std::make_unique<precise::ProgramRules>(rules, root.is_processor_mode, 0, pages));
      units.push_back(std::make_unique<precise::OperandRules>(rules, good));
      units.push_back(std::make_unique<precise::HazardRules>(rules, false));
      if (root.wave_size == 64) units.push_back(std::make_unique<precise::Wave64Hazards>(rules));
      wave.pc = in_memory(root.begin);
      for (const auto& unit : units) unit->launch(wave);
    }
    const precise::Step step{wave, place.instruction, in_memory(place.address)};
    wave.pc = step.pc;
    for (const auto& unit : units) unit->before(step);
    wave.pc = step.next_pc();
    for (const auto& unit : units) unit->after(step);
    next = place.goes_on && place.leaves != Leaves::by_call ? place.next() : 0;
  }
  for (const uint64_t address : flow.undecodable()) {
    const auto bytes = code.bytes.subspan(address - code.address);
    FindingDetail detail;
    detail.text = isa::show_bytes(bytes, root.wave_size);
    detail.remedy = isa::explain(bytes, root.wave_size);
    findings.add("legality", wave, in_memory(address),
                 "execution comes to bytes that are no instruction, and would fault", std::move(detail));
  }
}

}  // namespace lockstep::observe
