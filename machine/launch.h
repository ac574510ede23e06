// A dispatch as the hardware sees it: registers, grid and code, and what comes of it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/findings.h"
#include "engine/precise/caches.h"
#include "engine/precise/settings.h"
#include "engine/translator/exits.h"
#include "hardware/hardware.h"
#include "memory/access_modes.h"
#include "memory/address_space.h"
#include "state/device_state.h"
#include "state/fault.h"
#include "state/work_group.h"

namespace lockstep::machine {

class ComputeUnits;
class Placement;
class Reuse;
class ScratchRing;
class TrapEntry;
class WaveControl;

struct Launch {
  uint64_t entry = 0;           // guest address of the first instruction
  std::vector<CodeRange> code;  // where instructions may be fetched from, beside `memory` if it changes
  unsigned wave_size = 32;
  std::array<uint32_t, 3> grid{1, 1, 1};   // work-items
  std::array<uint32_t, 3> group{1, 1, 1};  // work-items of a work-group; the last groups may be partial
  std::array<uint32_t, 3> first_group{};   // id of the first work-group
  // Waves of each work-group, behind those of its work-items, that start with EXEC 0 and are to leave at once
  // (guide 3.5.1, null waves). No compute dispatch asks for them; the front ends of graphics do.
  uint32_t null_waves = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;  // COMPUTE_PGM_RSRC1 to 3
  uint32_t lds_bytes = 0;                    // of a work-group, dynamic part included
  uint32_t scratch_bytes = 0;                // of a work-item
  unsigned vgpr_count = 256;                 // that the program asks for
  // Blocks in which the device gives VGPRs to a wave32, and bytes of LDS (guide 3.3.2.1, 3.3.4); see
  // set_hardware.
  unsigned vgpr_granule = 24, lds_granule = 1024;
  precise::CacheLayout caches;  // of the device; likewise
  memory::AccessModes access_modes;
  std::vector<uint32_t> user_data;  // first SGPRs
  // What registers, LDS and scratch hold that nothing gives a value: on a card whatever was there before.
  uint8_t initial_byte = 0;
  MessageSink* messages = nullptr;  // takes interrupts of the waves; may be null
  // The program reads TRAPSTS or enables exceptions: they are computed then, by the precise engine.
  bool uses_exceptions = false;
  uint32_t doorbell_id = 0x0bad;  // what s_sendmsg_rtn answers; 0x0bad: launched by no queue
  uint32_t dispatch_id = 0;
  // Not 0: what waves read as the real time is the host's clock, at 100 MHz, and as clocks of the shader the
  // same at this rate.
  uint32_t host_clock_mhz = 0;
  std::shared_ptr<const RangeSet> memory;  // null: all of the process's memory
  // Hands out wave slots, registers and LDS. Null: the device has no place for anything in particular.
  std::shared_ptr<Placement> placement;
  std::shared_ptr<const ComputeUnits> compute_units;  // that it may place work-groups on; null: all
  // Where the scratch of placed waves is. Null: each work-group has some of its own, out of the guest's
  // reach.
  std::shared_ptr<ScratchRing> scratch;
  // Global data share, global wave sync, stream-out registers. Null: those of a device fresh from reset.
  std::shared_ptr<DeviceState> device;
  unsigned vmid = 0;            // whose share of them the waves may use
  bool ordered_append = false;  // ORDERED_APPEND_ENBL: the work-group info SGPR tells the wave's number
};

enum class EngineKind : uint8_t {
  interpreter,
  translator,
  automatic,  // the interpreter at once, and the translator when the kernel has run for a while
};

struct Progress {
  uint64_t groups_done = 0, groups_total = 0;
  uint64_t waves = 0;         // launched so far
  uint64_t instructions = 0;  // wave-instructions executed so far
};

struct WaveFault {
  Fault fault;
  std::array<uint32_t, 3> group{};  // work-group id
  uint32_t wave = 0;                // number within the work-group
  std::string instruction;          // text, or why the bytes are no instruction
};

inline constexpr std::chrono::milliseconds kReportInterval{100};

struct RunOptions {
  EngineKind engine = EngineKind::interpreter;
  Math math = Math::exact;                    // fast: of the interpreter only, the translator stays exact
  unsigned threads = 0;                       // 0: one for each processor
  uint32_t resident_groups = 1024;            // groups that may be started and unfinished at the same time
  const std::atomic<bool>* cancel = nullptr;  // set to stop
  // As long as it is set no wave executes anything; for those who use Scheduler::step.
  const std::atomic<bool>* suspended = nullptr;
  // Wave-instructions that the dispatch may take; 0: as many as it needs. Outcome::limit_exceeded tells if it
  // needs more: then each wave stopped at its next taken branch.
  uint64_t instruction_limit = 0;
  // Called at most every kReportInterval, from any of the threads, never by two at a time; while the kernel
  // is translated, too.
  std::function<void(const Progress&)> progress;
  // Called when the machine refuses a wave's instruction (NACK) and the wave halts at it, from any of the
  // threads, never by two at a time. True resumes the wave. Without it, and without `control`, the halt is
  // the wave's fault.
  std::function<bool(const WaveFault&)> halted;
  // What the machine around the instructions does beyond its default, and who follows the waves; the precise
  // engine then runs the dispatch, or the interpreter with its listener.
  precise::Settings precise;
  // Commands the waves; the precise engine then runs the dispatch. Outlives it.
  WaveControl* control = nullptr;
  // The trap handler of the process, for engines that know none. Outlives it.
  TrapEntry* traps = nullptr;
  // Called when waves that waited may go on, from any thread, without locks; for those who use
  // Scheduler::step.
  std::function<void()> waves_released;
  Reuse* reuse = nullptr;  // decoded code and storage of earlier dispatches; may be null
};

// The translator's work for a dispatch; zero if the interpreter ran all of it.
struct Translation {
  size_t instructions = 0;  // gfx11 instructions translated
  size_t host_bytes = 0;    // of code
  double seconds = 0;       // that it took, now or when the code was first seen
  bool reused = false;      // from an earlier dispatch of the process
  bool stored = false;      // loaded from what an earlier process left on disk
  // Wave-instructions that the interpreter executed nevertheless; about, if the kernel ran several times at
  // once.
  uint64_t interpreted = 0;
  std::vector<translator::Exit> exits;  // of translated code, but for ends of waves; about, likewise
};

struct Outcome {
  Progress totals;
  double seconds = 0;
  double processor_seconds = 0;  // of the host's threads; only where somebody listens to the device
  bool cancelled = false;
  bool limit_exceeded = false;
  uint64_t interrupts = 0;  // that waves sent
  // What the user should know of how it ran, such as that the translator left the kernel to the interpreter.
  std::string note;
  Translation translation;
  std::vector<Finding> findings;    // rules broken, if RunOptions::precise asks for them
  std::vector<Finding> exceptions;  // that instructions raised, if they are computed
  std::optional<WaveFault> fault;   // of the first work-group in dispatch order that faulted
};

// VGPRs that each wave of the launch has.
unsigned wave_vgprs(const Launch& launch);
// MODE that waves begin with.
uint32_t initial_mode(const Launch& launch);
// The launch is for this device.
void set_hardware(Launch& launch, const hardware::Description& device);

// The launch's code, with what else waves may execute at a guest address.
std::vector<CodeRange> code_around(const Launch& launch, uint64_t pc);
// The text of the instruction at a guest address, or why there is none.
std::string instruction_text(const Launch& launch, uint64_t pc);
std::string instruction_text(std::span<const CodeRange> code, unsigned wave_size, uint64_t pc);

// Runs a dispatch to its end, a fault or a cancellation. Throws std::invalid_argument for what no hardware
// would take: an empty grid, more than 1024 work-items in a group, more LDS than 64 kB.
Outcome run(const Launch& launch, const RunOptions& options);

}  // namespace lockstep::machine
