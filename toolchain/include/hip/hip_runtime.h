// Stands in for ROCm's header of the same name where ROCm is not installed: device code only.
#pragma once
#include "lockstep/hip_device.h"
