#include "host/settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "host/gpu.h"

namespace lockstep::host {

namespace {

template <class Value>
struct Word {
  const char* text;
  Value value;
};

// The first of the words where nothing is said.
template <class Value>
Value word(const char* name, std::initializer_list<Word<Value>> words) {
  const char* const text = std::getenv(name);
  if (!text || !*text) return words.begin()->value;
  std::string all;
  for (const Word<Value>& each : words) {
    if (std::strcmp(text, each.text) == 0) return each.value;
    all += (all.empty() ? "" : ", ") + std::string(each.text);
  }
  throw std::runtime_error(std::string(name) + " is '" + text + "' (one of " + all + ")");
}

// That of "random:SEED"; null if the setting says something else.
std::optional<uint64_t> seed_of(const char* name) {
  constexpr std::string_view kRandom = "random:";
  const char* const text = std::getenv(name);
  if (!text || !std::string_view(text).starts_with(kRandom)) return std::nullopt;
  const char* const number = text + kRandom.size();
  char* end = nullptr;
  errno = 0;
  const uint64_t seed = std::strtoull(number, &end, 0);
  if (*number < '0' || *number > '9' || *end != 0 || errno == ERANGE)
    throw std::runtime_error(std::string(name) + " is '" + text + "' (random:SEED, a whole number)");
  return seed;
}

precise::Settings precise_from_environment() {
  precise::Settings settings;
  settings.rules = word<precise::Rules>(
      "LOCKSTEP_RULES",
      {{"ignore", precise::Rules::ignore}, {"warn", precise::Rules::warn}, {"fault", precise::Rules::fault}});
  settings.caches = word<precise::Caches>("LOCKSTEP_CACHES", {{"coherent", precise::Caches::coherent},
                                                              {"incoherent", precise::Caches::incoherent}});
  if (const auto seed = seed_of("LOCKSTEP_RESULTS")) {
    settings.results = precise::Results::random;
    settings.seed = *seed;
  } else {
    settings.results = word<precise::Results>(
        "LOCKSTEP_RESULTS", {{"now", precise::Results::now}, {"late", precise::Results::late}});
  }
  if (const auto seed = seed_of("LOCKSTEP_ORDER")) {
    settings.order = precise::Order::random;
    settings.order_seed = *seed;
  } else {
    settings.order = word<precise::Order>("LOCKSTEP_ORDER", {{"forward", precise::Order::forward},
                                                             {"backward", precise::Order::backward},
                                                             {"random", precise::Order::random}});
  }
  return settings;
}

}  // namespace

Settings settings_from_environment() {
  Settings settings;
  const auto number = [](const char* name, unsigned most, unsigned otherwise) {
    const char* text = std::getenv(name);
    if (!text || !*text) return otherwise;
    char* end = nullptr;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (*end != 0 || value > most)
      throw std::runtime_error(std::string(name) + " is '" + text + "' (a number up to " +
                               std::to_string(most) + ")");
    return static_cast<unsigned>(value);
  };
  settings.model = hardware::models().front();
  if (const char* name = std::getenv("LOCKSTEP_DEVICE"); name && *name) {
    const auto& models = hardware::models();
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == name; });
    settings.model = found != models.end() ? *found : hardware::read_file(name);
  }
  settings.devices = std::max(1u, number("LOCKSTEP_DEVICES", kMostGpus, 1));
  settings.threads = number("LOCKSTEP_THREADS", 1024, 0);
  settings.engine =
      word<machine::EngineKind>("LOCKSTEP_ENGINE", {{"auto", machine::EngineKind::automatic},
                                                    {"interpreter", machine::EngineKind::interpreter},
                                                    {"translator", machine::EngineKind::translator}});
  settings.precise = precise_from_environment();
  settings.reports.rules = settings.precise.rules == precise::Rules::warn;
  if (const char* path = std::getenv("LOCKSTEP_LOG"); path) settings.reports.log = path;
  if (const char* path = std::getenv("LOCKSTEP_STATISTICS"); path) settings.reports.statistics = path;
  if (const char* dumps = std::getenv("LOCKSTEP_DUMP"); dumps) settings.reports.dumps = dump_settings(dumps);
  if (const char* folder = std::getenv("LOCKSTEP_DUMP_FOLDER"); folder && *folder)
    settings.reports.dumps.folder = folder;
  if (const char* names = std::getenv("LOCKSTEP_CHECK"); names) {
    try {
      settings.reports.checks = observe::Checks::names_of(names);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(std::string("LOCKSTEP_CHECK: ") + error.what());
    }
    observe::Checks::ask_units(settings.reports.checks, settings.precise);
  }
  if (const char* plugins = std::getenv("LOCKSTEP_PLUGINS"); plugins) {
    std::istringstream lines(plugins);
    for (std::string line; std::getline(lines, line);) {
      // What cannot be loaded is said before the program asks for a device.
      const observe::PluginLibrary library(line);
      settings.reports.plugins.push_back(line);
    }
  }
  settings.reports.fidelity = number("LOCKSTEP_FIDELITY", 1, 0) != 0;
  return settings;
}

}  // namespace lockstep::host
