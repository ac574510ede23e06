// Stands in for ROCm's header of the same name where ROCm is not installed: device code, and declarations of
// the host interface.
#pragma once
#include "lockstep/hip_host.h"
