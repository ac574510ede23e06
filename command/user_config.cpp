#include "command/user_config.h"

#include <algorithm>
#include <iterator>

#include "command/packet_bits.h"
#include "text/hex.h"

namespace lockstep::command {

namespace {

// Numbers of gfx11: AMD's PAL, gfx9_plus_merged_offset.h.
struct Block {
  uint32_t first, last;
};
constexpr Block kBlocks[] = {
    {0xc040, 0xc047},  // SCRATCH_REG0 to 7
    {0xc07b, 0xc07b},  // CP_COHER_START_DELAY
    {0xc200, 0xc200},  // GRBM_GFX_INDEX
    {0xc340, 0xc347},  // SQ_THREAD_TRACE_USERDATA
    {0xc380, 0xc381},  // TA_CS_BC_BASE_ADDR
    {0xc440, 0xc443},  // SPI_CONFIG_CNTL to 2, SPI_WAVE_LIMIT_CNTL
    {0xd000, 0xdfff},  // counters, what they count, traces, streams of samples
};
constexpr uint32_t kPerfmonControl = 0xd808, kThreadTraceControl = 0xd9ec, kStreamControl = 0xdc80;

}  // namespace

bool UserConfig::has(uint32_t number) {
  return std::any_of(std::begin(kBlocks), std::end(kBlocks),
                     [&](const Block& block) { return number >= block.first && number <= block.last; });
}

uint32_t UserConfig::read(uint32_t number) const {
  std::lock_guard lock(mutex_);
  const auto found = values_.find(number);
  return found == values_.end() ? 0 : found->second;
}

std::string UserConfig::write(uint32_t number, uint32_t value) {
  constexpr uint32_t kReset = 0, kStop = 2;
  const auto counts = [](uint32_t state) { return state != kReset && state != kStop; };
  if (number == kPerfmonControl && (counts(bits(value, 0, 4)) || counts(bits(value, 4, 4))))
    return "CP_PERFMON_CNTL starts counters (" + hex(value) +
           "): there are no performance counters (write state 0 or 2)";
  if (number == kThreadTraceControl && bits(value, 0, 2) != 0)
    return "SQ_THREAD_TRACE_CTRL starts a trace (" + hex(value) +
           "): there are no thread traces (write mode 0)";
  if (number == kStreamControl && bits(value, 12, 2) != 0)
    return "RLC_SPM_PERFMON_CNTL starts a stream of samples (" + hex(value) +
           "): there are no performance counters (write ring mode 0)";
  std::lock_guard lock(mutex_);
  values_[number] = value;
  return {};
}

}  // namespace lockstep::command
