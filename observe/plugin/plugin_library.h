// A shared library that the user named as a plug-in, loaded and of the right version.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "observe/plugin/lockstep_plugin.h"

namespace lockstep::observe {

// A plug-in that cannot be loaded or does not begin: the text says which, why, and how to mend it.
struct PluginError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class PluginLibrary {
 public:
  // `text`: FILE[:ARGUMENTS]. A file is never looked for in the folders of the system's libraries. Throws
  // PluginError.
  explicit PluginLibrary(std::string_view text);

  const std::string& file() const { return file_; }
  const std::string& arguments() const { return arguments_; }
  decltype(&lockstep_plugin_begin) begin() const { return begin_; }

 private:
  struct Close {
    void operator()(void* library) const;
  };
  std::string file_, arguments_;
  std::unique_ptr<void, Close> library_;
  decltype(&lockstep_plugin_begin) begin_ = nullptr;
};

}  // namespace lockstep::observe
