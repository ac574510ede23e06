// What a dispatch leaves behind for those that follow: decoded code, and storage of work-groups.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/interpreter.h"
#include "engine/precise/precise_engine.h"
#include "engine/translator/translation.h"
#include "machine/group_context.h"
#include "machine/launch.h"

namespace lockstep::translator {
class Translator;
}

namespace lockstep::machine {

// An engine, and what there is to tell about how it came to be.
struct PreparedEngine {
  std::shared_ptr<Engine> engine;
  std::string note;
  translator::Translator* translator = nullptr;  // the engine, if it is one
  uint64_t interpreted_before = 0;               // by that
  std::vector<uint64_t> exits_before;            // of that
  const interpreter::Code* code = nullptr;       // of the engine, if it may be used again

  // Around a dispatch of which somebody wants to know how it ran.
  void begin_report();
  void report(Outcome& outcome) const;
};

// Safe from several threads.
class Reuse {
 public:
  // Throws translator::Cancelled.
  PreparedEngine engine(const Launch& launch, EngineKind kind, Math math,
                        const translator::IsCancelled& is_cancelled = {});
  // Forgets decoded code: its bytes may have changed (instruction cache invalidate).
  void forget_code();

  // A context of the launch's shape, an idle one if there is one.
  std::unique_ptr<GroupContext> context(const Launch& launch);
  void give_back(std::unique_ptr<GroupContext> context);

 private:
  // Memory is compared by identity: entries keep theirs alive.
  struct Entry {
    std::vector<CodeRange> code;
    unsigned wave_size = 0, vgpr_count = 0;
    EngineKind kind = EngineKind::interpreter;
    Math math = Math::exact;
    memory::AccessModes access_modes;
    uint64_t entry = 0;           // of the translator
    uint32_t float_mode = 0;      // likewise
    uint32_t most_lanes = 0;      // likewise
    bool has_lone_waves = false;  // likewise
    std::shared_ptr<const RangeSet> memory;
    std::shared_ptr<interpreter::Code> decoded;
    PreparedEngine prepared;
  };
  static constexpr size_t kMaxEngines = 64;
  static constexpr size_t kMaxIdleBytes = size_t{256} << 20;

  using Entries = std::vector<Entry>;
  Entries::iterator find(const Launch& launch, EngineKind kind, Math math);

  std::mutex mutex_;
  Entries entries_;  // the one used last is the first
  uint64_t times_forgotten_ = 0;
  std::vector<std::unique_ptr<GroupContext>> idle_;
  size_t idle_bytes_ = 0;
};

// Whether the launch runs in the precise engine: because it is asked for, or because the program looks at its
// exceptions.
bool needs_precise_engine(const Launch& launch, const RunOptions& options);
// `pages`: of precise::mapped_pages(). `findings`, and what the settings name, must outlive the engine.
std::unique_ptr<precise::PreciseEngine> make_precise_engine(const Launch& launch, std::vector<CodeRange> code,
                                                            const precise::Settings& settings, Math math,
                                                            Findings& findings, std::vector<CodeRange> pages);
// An engine for this launch alone, which tells `findings` what it finds. Throws std::invalid_argument for
// options that exclude each other, and translator::Cancelled.
PreparedEngine make_engine(const Launch& launch, const RunOptions& options, Findings& findings,
                           const translator::IsCancelled& is_cancelled = {});

}  // namespace lockstep::machine
