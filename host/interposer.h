// What the parts of the library that programs are started with have in common.
#pragma once

#define LOCKSTEP_TAKEN extern "C" __attribute__((visibility("default")))
