// What is behind lockstep_wave_control.
#pragma once

#include "api/lockstep.h"
#include "machine/wave_control.h"

struct lockstep_wave_control {
  lockstep::machine::WaveControl control;
};
