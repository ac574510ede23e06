#include "examples/examples.h"

namespace lockstep::examples {

namespace {

constexpr Entry kRegistry[] = {
#define LOCKSTEP_ENTRY(name) {#name, name},
    LOCKSTEP_EXAMPLES(LOCKSTEP_ENTRY)
#undef LOCKSTEP_ENTRY
};

}  // namespace

std::span<const Entry> registry() {
  return kRegistry;
}

}  // namespace lockstep::examples
