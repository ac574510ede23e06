// The DRM render node of a device: what libdrm and the HSA runtime ask it.
#pragma once

#include "host/buffers.h"
#include "host/commands.h"
#include "host/gpu.h"

namespace lockstep::host {

// Answers an ioctl; 0 or the number of an error. `argument` has at least as many bytes as the request says.
int render_node_ioctl(Gpu& gpu, Buffers& buffers, Commands& commands, unsigned long request, void* argument);

}  // namespace lockstep::host
