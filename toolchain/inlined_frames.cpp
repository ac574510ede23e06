#include "toolchain/inlined_frames.h"

#include <optional>
#include <utility>

#include "toolchain/worker_client.h"
#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

std::vector<std::vector<Frame>> inlined_frames(std::span<const std::byte> code_object,
                                               std::span<const uint64_t> addresses) {
  std::vector<std::vector<Frame>> none(addresses.size());
  if (addresses.empty()) return none;
  const WorkerAnswer answer =
      ask_worker(encode(FramesRequest{{reinterpret_cast<const char*>(code_object.data()), code_object.size()},
                                      {addresses.begin(), addresses.end()}}),
                 kFrameLimits.seconds);
  if (!answer.error.empty()) return none;
  std::optional<std::vector<std::vector<Frame>>> frames = decode_frames(answer.bytes);
  return frames && frames->size() == addresses.size() ? std::move(*frames) : none;
}

}  // namespace lockstep::toolchain
