// What `lockstep exec` has been asked for; it comes by the environment.
#pragma once

#include "engine/precise/settings.h"
#include "hardware/hardware.h"
#include "host/reports.h"
#include "machine/launch.h"

namespace lockstep::host {

struct Settings {
  hardware::Description model;
  unsigned devices = 1;
  machine::EngineKind engine = machine::EngineKind::automatic;
  unsigned threads = 0;       // 0: one for each processor
  precise::Settings precise;  // of all dispatches
  ReportSettings reports;
};
// Throws std::runtime_error that says what is wrong with which variable.
Settings settings_from_environment();

}  // namespace lockstep::host
