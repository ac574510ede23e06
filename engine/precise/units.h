// Which units a wave gets for the settings of its dispatch.
#pragma once

#include "engine/findings.h"
#include "engine/precise/caches.h"
#include "engine/precise/precise_engine.h"
#include "engine/precise/settings.h"

namespace lockstep::precise {

// For the waves of one dispatch, with what they share. `processor_mode`: WGP mode (guide 2.3); `layout`: of
// the device's caches; `pages`: of mapped_pages(). `findings` must outlive the units.
MakeUnits units_for(const Settings& settings, Findings& findings, bool processor_mode,
                    const CacheLayout& layout, std::vector<CodeRange> pages);

}  // namespace lockstep::precise
