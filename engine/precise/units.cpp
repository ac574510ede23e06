#include "engine/precise/units.h"

#include "engine/precise/clause_rules.h"
#include "engine/precise/delay_hints.h"
#include "engine/precise/dependency_counters.h"
#include "engine/precise/exceptions.h"
#include "engine/precise/global_sync_rules.h"
#include "engine/precise/hazard_rules.h"
#include "engine/precise/host_control.h"
#include "engine/precise/memory_watch.h"
#include "engine/precise/operand_rules.h"
#include "engine/precise/program_rules.h"
#include "engine/precise/traps.h"
#include "engine/precise/wait_rules.h"
#include "engine/precise/wave64_hazards.h"

namespace lockstep::precise {

// The order counts: a unit that only checks comes before one that executes instructions itself, since behind
// that one nobody is asked. The dependency counters execute memory instructions; messages and GDS they leave
// to units behind them. The host comes first, since a halted wave takes no trap but the host's; then traps,
// since an instruction that is not reached breaks no rule; the exceptions of an instruction are worked out
// last, from the registers that it will read.
MakeUnits units_for(const Settings& given, Findings& findings, bool processor_mode, const CacheLayout& layout,
                    std::vector<CodeRange> given_pages) {
  const auto settings = std::make_shared<const Settings>(given);
  const RuleBook rules(settings->rules, findings);
  const auto caches =
      settings->caches == Caches::incoherent ? std::make_shared<DeviceCaches>(layout) : nullptr;
  const auto pages = std::make_shared<const std::vector<CodeRange>>(std::move(given_pages));
  const auto siblings = std::make_shared<Siblings>();
  const auto good =
      rules.is_open() && settings->looks_for_legality ? std::make_shared<GoodInstructions>() : nullptr;
  return [=, &findings](Wave& wave, Executor& executor) {
    Units units;
    const bool has_traps = settings->needs_traps() || settings->exceptions;
    const auto path = std::make_shared<MemoryPath>();
    if (settings->results != Results::now || caches) path->attach(wave);
    if (caches) path->use(*caches, caches->place_of(wave, processor_mode));
    auto counters = std::make_unique<DependencyCounters>(*settings, path, siblings, wave, executor);
    const bool is_legality_checked = rules.is_open() && settings->looks_for_legality;
    auto waits =
        rules.is_open() ? std::make_unique<WaitRules>(rules, settings->looks_for_waits, executor) : nullptr;
    auto clauses = is_legality_checked ? std::make_unique<ClauseRules>(rules, waits.get()) : nullptr;
    auto made_traps = has_traps ? std::make_unique<Traps>(*settings, rules, *counters, executor) : nullptr;
    Traps* const traps = made_traps.get();
    if (has_traps || settings->host)
      units.push_back(std::make_unique<HostControl>(settings->host, settings->traps.halts_for_good, *counters,
                                                    clauses.get(), traps, executor));
    if (made_traps) units.push_back(std::move(made_traps));
    if (is_legality_checked) {
      units.push_back(std::make_unique<DelayHints>(rules));
      units.push_back(std::move(clauses));
      units.push_back(std::make_unique<GlobalSyncRules>(rules));
      units.push_back(std::make_unique<ProgramRules>(rules, processor_mode, settings->traps.handler, *pages));
      units.push_back(std::make_unique<OperandRules>(rules, good));
      units.push_back(std::make_unique<HazardRules>(rules, true));
      if (wave.wave_size == 64) units.push_back(std::make_unique<Wave64Hazards>(rules));
    }
    if (has_traps)
      units.push_back(std::make_unique<MemoryWatch>(settings->traps.watches, *traps, findings, executor));
    if (waits) units.push_back(std::move(waits));
    units.push_back(std::move(counters));
    if (has_traps) units.push_back(std::make_unique<Exceptions>(*traps, findings));
    return units;
  };
}

std::string Settings::names() const {
  std::string text;
  auto add = [&](const char* name) { text += (text.empty() ? "" : ", ") + std::string(name); };
  if (rules == Rules::warn) add("--rules warn");
  if (rules == Rules::fault) add("--rules fault");
  if (results == Results::late) add("--results late");
  if (results == Results::random) add("--results random");
  if (traps.handler != 0) add("a trap handler");
  if (traps.handler == 0 && traps.without_handler == TrapWithoutHandler::skip) add("traps that are skipped");
  if (traps.watches_addresses()) add("watched addresses");
  if (exceptions) add("exceptions");
  if (caches == Caches::incoherent) add("--caches incoherent");
  if (order == Order::random) add("--order random");
  if (host) add("a wave control");
  return text;
}

}  // namespace lockstep::precise
