// Linked to tests of the interpreter: their waves run on the translator where that is asked for.
#include "engine/translator/translator.h"
#include "tests/engine/interpreter/engine_under_test.h"
#include "tests/engine/interpreter/test_wave.h"

namespace lockstep::translator {
namespace {

const bool is_set = [] {
  if (tests_translator())
    interpreter::engine_maker() = [](const std::vector<CodeRange>& code, unsigned wave_size,
                                     std::shared_ptr<const RangeSet> memory, uint64_t entry, unsigned vgprs,
                                     uint32_t mode) -> std::unique_ptr<Engine> {
      return std::make_unique<Translator>(code, wave_size, std::move(memory), entry, vgprs, IsCancelled(),
                                          FirstTier::translator, mode);
    };
  return true;
}();

}  // namespace
}  // namespace lockstep::translator
