// The older name of the type, where no ROCm is installed.
#pragma once
#include "hip/hip_bf16.h"

typedef __hip_bfloat16 hip_bfloat16;
