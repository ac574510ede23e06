#include "machine/wave_registers.h"

#include <stdexcept>
#include <string>

#include "state/status.h"
#include "state/trap_status.h"

namespace lockstep::machine {

namespace {

constexpr unsigned kSgprs = 106, kTtmps = 16;
constexpr uint32_t kStatusOfHost = status_bit::kWritable & ~(status_bit::kHalt | status_bit::kSystemPriority |
                                                             status_bit::kUserPriority | status_bit::kScc);

void check_index(const char* name, unsigned index, unsigned count) {
  if (index < count) return;
  throw std::invalid_argument("there is no " + std::string(name) + " " + std::to_string(index) + " (0 to " +
                              std::to_string(count - 1) + ")");
}

void check(const Wave& wave, RegisterName name) {
  switch (name.kind) {
    case RegisterKind::sgpr:
      return check_index("SGPR", name.index, kSgprs);
    case RegisterKind::ttmp:
      return check_index("TTMP", name.index, kTtmps);
    case RegisterKind::vgpr:
      if (wave.status & status_bit::kNoVgprs)
        throw std::invalid_argument("the wave has given its VGPRs back (message 3 of s_sendmsg)");
      check_index("VGPR", name.index, wave.vgpr_count);
      return check_index("lane", name.lane, wave.wave_size);
    default:
      return;
  }
}

// In the handler the TTMPs are among the scalars.
uint32_t& ttmp(Wave& wave, unsigned index) {
  return wave.status & status_bit::kPrivileged ? wave.scalar[kScalarTtmp0 + index]
                                               : wave.trap_temporaries[index];
}

void write_pc(Wave& wave, precise::HostControl& control, uint64_t pc) {
  if (pc % 4 != 0) throw std::invalid_argument("a PC must be a multiple of 4");
  if (wave.held_from == WaveState::blocked)
    throw std::invalid_argument(
        "the PC of a wave that waits inside an instruction of GDS or GWS cannot be set (let the wait end "
        "first, or kill the wave)");
  const uint64_t old = wave.pc;
  if (control.continue_at(wave, pc)) return control.forget_fault();
  control.continue_at(wave, old);
  throw std::invalid_argument("there is no instruction at that PC: it lies outside the code");
}

}  // namespace

uint64_t read_register(Wave& wave, RegisterName name) {
  check(wave, name);
  switch (name.kind) {
    case RegisterKind::pc:
      return wave.pc;
    case RegisterKind::sgpr:
      return wave.scalar[name.index];
    case RegisterKind::vgpr:
      return wave.vgpr(name.index)[name.lane];
    case RegisterKind::vcc:
      return wave.scalar64(kScalarVcc);
    case RegisterKind::m0:
      return wave.scalar[kScalarM0];
    case RegisterKind::exec:
      return wave.exec();
    case RegisterKind::scc:
      return wave.scc();
    case RegisterKind::status:
      return status_of(wave);
    case RegisterKind::mode:
      return wave.mode;
    case RegisterKind::trapsts:
      return wave.trapsts;
    case RegisterKind::ttmp:
      return ttmp(wave, name.index);
  }
  throw std::invalid_argument("no such register");
}

void write_register(Wave& wave, precise::HostControl& control, RegisterName name, uint64_t value) {
  check(wave, name);
  const bool is_wide = name.kind == RegisterKind::pc || name.kind == RegisterKind::vcc ||
                       (name.kind == RegisterKind::exec && wave.wave_size == 64);
  if (!is_wide && value >> 32 != 0)
    throw std::invalid_argument("the value has more than the 32 bits of that register");
  const auto word = static_cast<uint32_t>(value);
  switch (name.kind) {
    case RegisterKind::pc:
      return write_pc(wave, control, value);
    case RegisterKind::sgpr:
      wave.scalar[name.index] = word;
      return;
    case RegisterKind::vgpr:
      wave.vgpr(name.index)[name.lane] = word;
      return;
    case RegisterKind::vcc:
      wave.set_scalar64(kScalarVcc, value);
      return;
    case RegisterKind::m0:
      wave.scalar[kScalarM0] = word;
      return;
    case RegisterKind::exec:
      wave.set_exec(value);
      return;
    case RegisterKind::scc:
      if (value > 1) throw std::invalid_argument("SCC is one bit: 0 or 1");
      wave.scc() = word;
      return;
    case RegisterKind::status:
      // The group's thread may look at the priorities of all its waves meanwhile.
      __atomic_store_n(&wave.status, (wave.status & ~kStatusOfHost) | (word & kStatusOfHost),
                       __ATOMIC_RELAXED);
      wave.scc() = word & status_bit::kScc;
      return;
    case RegisterKind::mode:
      wave.mode = word;
      // Code is decoded for classes of float modes.
      control.continue_at(wave, wave.pc);
      return;
    case RegisterKind::trapsts:
      wave.trapsts = (wave.trapsts & ~trapsts_bit::kDefined) | (word & trapsts_bit::kDefined);
      return;
    case RegisterKind::ttmp:
      ttmp(wave, name.index) = word;
      return;
  }
  throw std::invalid_argument("no such register");
}

}  // namespace lockstep::machine
