// The checkers that follow a dispatch, those of a queue, or those of a device, by their names; and plug-ins.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/findings.h"
#include "engine/listeners.h"
#include "engine/precise/settings.h"
#include "memory/address_space.h"
#include "observe/code_symbols.h"
#include "observe/memory/blocks.h"
#include "observe/plugin/plugin_library.h"

namespace lockstep::observe {

class Checks {
 public:
  using Names = std::set<std::string, std::less<>>;
  // Of a text with commas between them; "all" is all but cost, an empty text none. Throws
  // std::invalid_argument, with the names that there are, for another.
  static Names names_of(std::string_view text);

  // `freed`: what the device has taken back. `blocks`, which must outlive this: what its ranges were divided
  // into; null: nobody knows. `plugins`: FILE[:ARGUMENTS] of each. `find`: where functions are. Throws
  // PluginError for a plug-in that does not begin.
  explicit Checks(Names names, const std::vector<Range>& freed = {}, const Blocks* blocks = nullptr,
                  const std::vector<std::string>& plugins = {}, FindFunction find = {});

  void add(Listener& listener) { listeners_.add(listener); }
  // What the dispatches must be run with, for those checkers that are units of the precise engine; where
  // rules are asked for anyway they stay as they are.
  static void ask_units(const Names& names, precise::Settings& settings);
  // The same, and the listener.
  void prepare(precise::Settings& settings);
  // Null if nobody listens.
  Listener* listener() {
    return listeners_.empty() ? nullptr : listeners_.alone() ? listeners_.alone() : &listeners_;
  }
  // What the checkers found; `by_units`: what the units of the precise engine did.
  std::vector<lockstep::Finding> findings(const std::vector<lockstep::Finding>& by_units) const;

 private:
  Findings findings_;
  const Names names_;
  std::vector<std::unique_ptr<Listener>> checkers_;
  Listeners listeners_;
};

}  // namespace lockstep::observe
