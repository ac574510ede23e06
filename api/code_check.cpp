// Checks of code that does not run.
#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/code_object.h"
#include "api/finding.h"
#include "api/status.h"
#include "observe/checks/checks.h"
#include "observe/code/code_checker.h"

using namespace lockstep;
using namespace lockstep::api;

struct lockstep_code_check {
  std::vector<BrokenRuleReport> findings;
};

namespace {

observe::CodeChecks code_checks_of(const char* names) {
  if (!names) return {};
  observe::CodeChecks checks{false, false};
  try {
    for (const std::string& name : observe::Checks::names_of(names)) {
      if (name == "waits")
        checks.waits = true;
      else if (name == "legality")
        checks.legality = true;
      else
        throw Failure(
            LOCKSTEP_INVALID_ARGUMENT,
            "checker '" + name + "' needs a run of the kernel (without one there are waits and legality)");
    }
  } catch (const std::invalid_argument& error) {
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, error.what());
  }
  return checks;
}

// Kernels, or that one alone; then functions, of which nobody knows the wave size if kernels differ in it.
std::vector<observe::Root> roots_of(const loader::CodeObject& object, const loader::Kernel* only,
                                    const observe::Code& code) {
  std::vector<observe::Root> roots;
  std::set<unsigned> wave_sizes;
  const auto is_inside = [&](uint64_t address) { return address >= code.address && address < code.end(); };
  for (const loader::Kernel& kernel : object.kernels()) {
    wave_sizes.insert(kernel.descriptor.wave_size());
    if ((!only || only == &kernel) && is_inside(kernel.entry_address))
      roots.push_back(
          {kernel.entry_address, kernel.descriptor.wave_size(), true, kernel.descriptor.rsrc1.wgp_mode});
  }
  if (only || wave_sizes.size() != 1) return roots;
  for (const loader::Symbol& symbol : object.symbols()) {
    const bool is_kernel = std::any_of(roots.begin(), roots.end(), [&](const observe::Root& root) {
      return root.is_kernel && root.begin == symbol.address;
    });
    if (symbol.kind == loader::SymbolKind::function && !is_kernel && is_inside(symbol.address))
      roots.push_back({symbol.address, *wave_sizes.begin()});
  }
  return roots;
}

void check_image(const Image& image, const loader::Kernel* only, const observe::CodeChecks& checks,
                 std::vector<BrokenRuleReport>& out) {
  const loader::CodeObject& object = image.object;
  for (const loader::Segment& segment : object.segments()) {
    if (!segment.executable) continue;
    observe::Code code;
    code.bytes = object.file_bytes(segment.address, segment.file_size);
    code.address = segment.address;
    code.mapped_end = object.image_start() + object.image_size();
    for (const loader::Symbol& symbol : object.symbols())
      if (symbol.kind == loader::SymbolKind::function) code.function_begins.insert(symbol.address);
    for (const loader::Kernel& kernel : object.kernels()) code.function_begins.insert(kernel.entry_address);
    std::vector<BrokenRuleReport> reports =
        code_reports(observe::check_code(code, roots_of(object, only, code), checks), image);
    add_callers(reports, image);
    std::move(reports.begin(), reports.end(), std::back_inserter(out));
  }
}

}  // namespace

lockstep_status lockstep_code_object_check(const lockstep_code_object* object, const char* kernel,
                                           const char* checks, lockstep_code_check** out) {
  return guarded([&] {
    require(object && out, "the code object or out is null");
    const lockstep_kernel* only = kernel ? &kernel_of_name(*object, kernel) : nullptr;
    if (object->kernels.empty())
      throw Failure(LOCKSTEP_NOT_FOUND, object->name + ": has no kernels, and so no code with a wave size");
    const observe::CodeChecks asked = code_checks_of(checks);
    auto made = std::make_unique<lockstep_code_check>();
    for (const auto& image : object->images)
      if (!only || only->image == image)
        check_image(*image, only ? only->kernel : nullptr, asked, made->findings);
    *out = made.release();
  });
}

void lockstep_code_check_destroy(lockstep_code_check* check) {
  delete check;
}

uint32_t lockstep_code_check_finding_count(const lockstep_code_check* check) {
  return check ? static_cast<uint32_t>(check->findings.size()) : 0;
}

lockstep_status lockstep_code_check_finding(const lockstep_code_check* check, uint32_t index,
                                            lockstep_check_finding* out) {
  return guarded([&] {
    require(check, "the check is null");
    require(index < check->findings.size(),
            "there is no finding of that index (see lockstep_code_check_finding_count)");
    give(out, check_finding_of(check->findings[index]));
  });
}
