// The reference engine: runs waves instruction by instruction (DESIGN 4).
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/interpreter/dispatch_context.h"
#include "engine/interpreter/program.h"

namespace lockstep::interpreter {

// Host instruction sets that the handlers exist for.
enum class HostTarget { x86_64_v3, x86_64_v4 };
// The best one that this processor has, or the one that LOCKSTEP_HOST_LEVEL names (x86-64-v3, x86-64-v4), so
// that what other computers run can be run here. Throws std::runtime_error if the processor lacks AVX2, FMA
// and F16C, or what is asked for.
HostTarget best_host_target();

const HandlerTable& handlers(HostTarget target, Math math = Math::exact,
                             const memory::AccessModes& modes = {});
// Whether the interpreter executes the instruction; if not, semantics::find_unsupported() says why.
bool has_handler(const isa::Row& row);

// The code of kernels as the interpreter runs it: one program for the default float mode, one for all others,
// and one for waves without VGPRs. Dispatches share it, from several threads.
class Code {
 public:
  // As the constructor of Interpreter.
  Code(const std::vector<CodeRange>& code, const std::shared_ptr<const RangeSet>& memory, unsigned wave_size,
       HostTarget target, unsigned vgpr_count, Observer* observer, Math math = Math::exact,
       bool privileged = false, const memory::AccessModes& modes = {});
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  bool has_stale_code() const {
    return default_mode.has_stale_code() || other_mode.has_stale_code() || without_vgprs.has_stale_code();
  }

  Program default_mode, other_mode, without_vgprs;
  const memory::AccessModes modes;
};

class Interpreter final : public Engine {
 public:
  // The ranges must stay mapped on the host and unchanged while this lives. `memory` is what the waves may
  // touch, and where it changes under them, what else they may execute; null means all of the process's
  // memory. `vgpr_count` is what each wave has allocated: what an
  // instruction does with a register beyond is decided when it is decoded. An observer sees every
  // instruction, at the price of speed. Privileged: for waves in their trap handler.
  Interpreter(std::vector<CodeRange> code, unsigned wave_size, std::shared_ptr<const RangeSet> memory,
              HostTarget target = best_host_target(), unsigned vgpr_count = kMaxVgprs,
              Observer* observer = nullptr, Math math = Math::exact, bool privileged = false,
              const memory::AccessModes& modes = {});
  // Runs code that was decoded for an earlier dispatch.
  Interpreter(std::shared_ptr<Code> code, std::shared_ptr<const RangeSet> memory);
  bool enter(Wave& wave, uint64_t pc) override;
  int64_t run(Wave& wave, int64_t budget) override;
  const Code& code() const { return *code_; }
  // What s_sendmsg_rtn reports as TBA and TMA.
  void set_trap_addresses(uint64_t base, uint64_t memory);
  // What waves read as the real time is the host's clock.
  void set_host_clock(uint32_t megahertz) { context_.host_clock_mhz = megahertz; }
  // Who runs the waves looks at STATUS after each instruction and stops those that are halted.
  void set_halts_resumable() { context_.halts_are_resumable = true; }

 private:
  std::shared_ptr<const RangeSet> memory_;
  DispatchContext context_;
  std::shared_ptr<Code> code_;
};

}  // namespace lockstep::interpreter
