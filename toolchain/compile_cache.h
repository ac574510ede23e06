// What clang has made before: an entry a source, with everything that goes into its code in its name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "toolchain/compile.h"

namespace lockstep::toolchain {

std::optional<Result> find_compiled(const cache::Store& store, const std::string& key);
void store_compiled(cache::Store& store, const std::string& key, const Result& result);

// Flags whose effect is all in the preprocessed text and in the flags themselves, not in files that they
// name.
bool is_cacheable(const std::vector<std::string>& flags);

}  // namespace lockstep::toolchain
