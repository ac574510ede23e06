#include "python/output.h"

namespace lockstep_python {

void write_output(std::string_view text, int stream) {
  const py::object to = py::module_::import("sys").attr(stream == 2 ? "stderr" : "stdout");
  if (to.is_none()) return;  // a program without a console
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "backslashreplace");
  if (!decoded) throw py::error_already_set();
  to.attr("write")(py::reinterpret_steal<py::str>(decoded));
}

void LaunchOutput::take(void* user, const char* text, uint64_t bytes, int stream) {
  auto& self = *static_cast<LaunchOutput*>(user);
  if (self.error_) return;
  const py::gil_scoped_acquire locked;
  try {
    write_output({text, bytes}, stream);
  } catch (...) {
    self.error_ = std::current_exception();
  }
}

void QueueOutput::take(void* user, const char* text, uint64_t bytes, int stream) {
  auto& self = *static_cast<QueueOutput*>(user);
  const std::lock_guard lock(self.mutex_);
  if (self.kept_.empty() || self.kept_.back().second != stream) self.kept_.emplace_back("", stream);
  self.kept_.back().first.append(text, bytes);
}

void QueueOutput::write() {
  std::vector<std::pair<std::string, int>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(kept_);
  }
  for (const auto& [text, stream] : all) write_output(text, stream);
}

}  // namespace lockstep_python
