// Inlined calls, by LLVM's reader of debug information, which damaged tables end or keep for long: for the
// worker only.
#pragma once

#include <vector>

#include "toolchain/worker_protocol.h"

namespace lockstep::toolchain {

std::vector<std::vector<Frame>> frames_here(const FramesRequest& request);

}  // namespace lockstep::toolchain
