#include "observe/plugin/plugin_library.h"

#include <dlfcn.h>

#include "text/visible.h"

namespace lockstep::observe {

void PluginLibrary::Close::operator()(void* library) const {
  dlclose(library);
}

PluginLibrary::PluginLibrary(std::string_view text) {
  const size_t colon = text.find(':');
  file_ = text.substr(0, colon);
  if (colon != text.npos) arguments_ = text.substr(colon + 1);
  if (file_.empty())
    throw PluginError("plug-in '" + visible(text) + "' names no file (give FILE, or FILE:ARGUMENTS)");
  const auto fail = [&](const std::string& why) {
    return PluginError("plug-in '" + visible(file_) + "': " + why);
  };
  // Without a slash dlopen would look elsewhere.
  const std::string path = file_.find('/') == file_.npos ? "./" + file_ : file_;
  library_.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library_) {
    const char* const reason = dlerror();
    throw fail("it cannot be loaded: " + visible(reason ? reason : "no reason is given", 1024) +
               " (a plug-in is a shared library for this machine; ':' begins its arguments)");
  }
  const auto* const version = static_cast<const uint32_t*>(dlsym(library_.get(), "lockstep_plugin_version"));
  if (!version)
    throw fail("it is no plug-in: it does not export lockstep_plugin_version (see lockstep_plugin.h)");
  if (*version != LOCKSTEP_PLUGIN_VERSION)
    throw fail("it was built for version " + std::to_string(*version) +
               " of the plug-in interface, and this is version " + std::to_string(LOCKSTEP_PLUGIN_VERSION) +
               " (build it with the lockstep_plugin.h of this Lockstep)");
  begin_ = reinterpret_cast<decltype(&lockstep_plugin_begin)>(dlsym(library_.get(), "lockstep_plugin_begin"));
  if (!begin_)
    throw fail("it is no plug-in: it does not export lockstep_plugin_begin (see lockstep_plugin.h)");
}

}  // namespace lockstep::observe
