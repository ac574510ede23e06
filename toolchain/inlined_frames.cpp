#include "toolchain/inlined_frames.h"

#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

std::vector<Frame> inlined_frames(std::span<const std::byte> code_object, uint64_t address) {
  const WorkerAnswer answer = ask_worker(
      encode(FramesRequest{{reinterpret_cast<const char*>(code_object.data()), code_object.size()}, address}),
      kFrameLimits.seconds);
  if (!answer.error.empty()) return {};
  return decode_frames(answer.bytes).value_or(std::vector<Frame>());
}

}  // namespace lockstep::toolchain
