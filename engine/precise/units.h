// Which units a wave gets for the settings of its dispatch.
#pragma once

#include "engine/precise/findings.h"
#include "engine/precise/precise_engine.h"
#include "engine/precise/settings.h"

namespace lockstep::precise {

// `findings` must outlive the units.
Units make_units(const Settings& settings, Findings& findings, Wave& wave, Executor& executor);

}  // namespace lockstep::precise
