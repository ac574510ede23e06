// What clang has made before: an entry a source, with its text and the flags in its name and the files that
// it includes in its contents, so that nothing is preprocessed to find one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cache/store.h"
#include "toolchain/compile.h"
#include "toolchain/files_read.h"

namespace lockstep::toolchain {

// None if a file that was read is not what it was.
std::optional<Result> find_compiled(const cache::Store& store, const std::string& key);
void store_compiled(cache::Store& store, const std::string& key, const FilesRead& files,
                    const Result& result);

// Flags whose effect is all in the files that the preprocessor reads and in the flags themselves, not in
// other files that they name.
bool is_cacheable(const std::vector<std::string>& flags);

}  // namespace lockstep::toolchain
