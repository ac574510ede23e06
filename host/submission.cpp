#include "host/submission.h"

#include "command/pm4.h"
#include "command/sdma.h"

namespace lockstep::host {

namespace {

namespace pm4 = command::pm4;
namespace sdma = command::sdma;

constexpr uint32_t kGreaterOrEqual = 5, kEveryBit = 0xffffffff;

uint32_t low(uint64_t address) {
  return static_cast<uint32_t>(address);
}
uint32_t high(uint64_t address) {
  return static_cast<uint32_t>(address >> 32);
}

}  // namespace

void Submission::wait_for(uint64_t word, uint32_t value) {
  if (engine_ == Engine::compute) {
    constexpr uint32_t kOfMemory = 1u << 4;
    packets_.insert(packets_.end(), {pm4::header(pm4::kWaitRegMem, 6), kGreaterOrEqual | kOfMemory, low(word),
                                     high(word), value, kEveryBit, 0});
  } else {
    constexpr uint32_t kOfMemory = 1u << 31, kFunction = kGreaterOrEqual << 28, kForever = 0xfffu << 16;
    packets_.insert(packets_.end(), {sdma::kPollRegisterOrMemory | kFunction | kOfMemory, low(word),
                                     high(word), value, kEveryBit, kForever});
  }
}

void Submission::forget_code() {
  if (engine_ == Engine::compute)
    packets_.insert(packets_.end(),
                    {pm4::header(pm4::kAcquireMem, 7), 0, 0, 0, 0, 0, 0, pm4::kGcrInstructionInvalidate});
}

void Submission::call(uint64_t address, uint32_t dwords) {
  if (engine_ == Engine::compute)
    packets_.insert(packets_.end(),
                    {pm4::header(pm4::kIndirectBuffer, 3), low(address), high(address), dwords});
  else
    packets_.insert(packets_.end(), {sdma::kIndirect, low(address), high(address), dwords, 0, 0});
}

void Submission::tell(uint64_t word, uint32_t value) {
  if (engine_ == Engine::compute) {
    constexpr uint32_t kEndOfPipe = 5u << 8, kQword = 2u << 29;
    packets_.insert(packets_.end(), {pm4::header(pm4::kReleaseMem, 7), pm4::kBottomOfPipeTs | kEndOfPipe,
                                     kQword, low(word), high(word), value, 0, 0});
  } else {
    // Nobody who looks at all of them sees another number with it.
    const uint64_t upper = word + sizeof(uint32_t);
    packets_.insert(packets_.end(),
                    {sdma::kFence, low(upper), high(upper), 0, sdma::kFence, low(word), high(word), value});
  }
}

}  // namespace lockstep::host
