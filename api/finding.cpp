#include "api/finding.h"

#include <algorithm>
#include <map>

#include "api/instruction_set.h"
#include "api/status.h"
#include "isa/explain.h"
#include "isa/instruction.h"
#include "text/visible.h"
#include "toolchain/inlined_frames.h"

namespace lockstep::api {

namespace {

// All but the instruction's text; the offset is that within the function.
Location locate(uint64_t pc, const Image& image, uint64_t bias) {
  Location location;
  location.pc = pc;
  const uint64_t linked = pc - bias;
  if (const loader::Symbol* symbol = image.object.function_at(linked)) {
    location.function = symbol->name;
    location.offset = linked - symbol->address;
  }
  if (const auto source = image.lines.find(linked)) {
    location.file = source->file;
    location.line = source->line;
  }
  return location;
}

Location locate(uint64_t pc, const machine::Launch& launch, const RunningKernel& kernel) {
  Location location = api::locate(pc, kernel);
  location.instruction = machine::instruction_text(launch, pc);
  return location;
}

// What the device has loaded there; null: nothing.
const lockstep_device::Loaded* loaded_at(uint64_t pc, const lockstep_device& device) {
  for (const lockstep_device::Loaded& loaded : device.loaded)
    if (std::any_of(loaded.code->code().begin(), loaded.code->code().end(),
                    [&](const CodeRange& range) { return pc >= range.begin && pc < range.end; }))
      return &loaded;
  return nullptr;
}

// Of a queue's: in whatever code the device has loaded there.
Location locate(uint64_t pc, const lockstep_device& device) {
  Location location;
  location.pc = pc;
  const lockstep_device::Loaded* loaded = loaded_at(pc, device);
  if (!loaded) return location;
  location = locate(pc, *loaded->image, loaded->code->loaded_address(0));
  const loader::Kernel* kernel = loaded->image->object.find_kernel(location.function);
  location.instruction =
      machine::instruction_text(loaded->code->code(), kernel ? kernel->descriptor.wave_size() : 32, pc);
  return location;
}

// A place of code as linked; no image: nobody knows it.
struct LinkedPlace {
  const Image* image = nullptr;
  uint64_t address = 0;
};

std::shared_ptr<const Callers> callers_of(const std::vector<toolchain::Frame>& frames) {
  if (frames.size() < 2) return nullptr;
  auto callers = std::make_shared<Callers>();
  for (size_t i = 1; i < frames.size(); ++i) {
    Location& place = callers->places.emplace_back();
    place.function = visible(frames[i].function, std::string::npos);
    place.file = visible(frames[i].file, std::string::npos);
    place.line = frames[i].line;
  }
  for (const Location& place : callers->places) callers->views.push_back(place.view());
  return callers;
}

template <class PlaceOf>
void add_callers_at(std::vector<BrokenRuleReport>& reports, PlaceOf place_of) {
  struct Question {
    std::vector<uint64_t> addresses;
    std::vector<Location*> asking;
  };
  std::map<const Image*, Question> questions;
  for (BrokenRuleReport& report : reports)
    for (Location* location : {&report.where, &report.other}) {
      if (location->pc == 0) continue;
      const LinkedPlace place = place_of(location->pc);
      if (!place.image || !place.image->lines.has_debug_info()) continue;
      questions[place.image].addresses.push_back(place.address);
      questions[place.image].asking.push_back(location);
    }
  for (auto& [image, question] : questions) {
    const auto frames = toolchain::inlined_frames(image->object.bytes(), question.addresses);
    for (size_t i = 0; i < frames.size(); ++i) question.asking[i]->callers = callers_of(frames[i]);
  }
}

}  // namespace

Location locate(uint64_t pc, const RunningKernel& kernel) {
  Location location = kernel.image ? locate(pc, *kernel.image, kernel.bias) : Location();
  location.pc = pc;
  location.offset = pc - kernel.entry;
  return location;
}

std::vector<FindingReport> finding_reports(const observe::FidelityListener& observer,
                                           const machine::Launch& launch, const RunningKernel& kernel) {
  std::vector<FindingReport> reports;
  for (const observe::Finding& finding : observer.findings()) {
    FindingReport& report = reports.emplace_back();
    report.finding = finding;
    report.first = locate(finding.first_pc, launch, kernel);
    for (unsigned sink = 0; sink < observe::kSinks; ++sink)
      if (finding.uses[sink]) report.used[sink] = locate(finding.use_pc[sink], launch, kernel);
  }
  return reports;
}

std::vector<BrokenRuleReport> broken_rule_reports(const std::vector<Finding>& findings,
                                                  const machine::Launch& launch,
                                                  const RunningKernel& kernel) {
  std::vector<BrokenRuleReport> reports;
  for (const Finding& finding : findings) {
    BrokenRuleReport& report = reports.emplace_back();
    report.finding = finding;
    report.where = locate(finding.pc, launch, kernel);
    if (finding.detail.other_pc) report.other = locate(finding.detail.other_pc, launch, kernel);
  }
  return reports;
}

std::vector<BrokenRuleReport> broken_rule_reports(const std::vector<Finding>& findings,
                                                  const lockstep_device& device) {
  std::vector<BrokenRuleReport> reports;
  for (const Finding& finding : findings) {
    BrokenRuleReport& report = reports.emplace_back();
    report.finding = finding;
    report.where = locate(finding.pc, device);
    if (finding.detail.other_pc) report.other = locate(finding.detail.other_pc, device);
  }
  return reports;
}

std::vector<BrokenRuleReport> code_reports(const std::vector<Finding>& findings, const Image& image) {
  const loader::CodeObject& object = image.object;
  const auto place = [&](uint64_t pc) {
    Location location = locate(pc, image, 0);
    const loader::Kernel* kernel = object.find_kernel(location.function);
    if (!kernel && !object.kernels().empty()) kernel = &object.kernels()[0];
    const unsigned wave_size = kernel ? kernel->descriptor.wave_size() : 32;
    std::span<const std::byte> bytes;
    if (const loader::Segment* segment = object.segment_at(pc))
      bytes = object.file_bytes(
          pc, std::min<uint64_t>(isa::kMaxInstructionBytes, segment->address + segment->file_size - pc));
    isa::Instruction instruction;
    if (isa::decode(bytes, wave_size, instruction) == isa::DecodeError::none) {
      char text[isa::kMaxText];
      const size_t length = isa::disassemble(instruction, wave_size, text, sizeof text);
      location.instruction.assign(text, std::min(length, sizeof text));
    } else {
      location.instruction = isa::show_bytes(bytes, wave_size);
    }
    return location;
  };
  std::vector<BrokenRuleReport> reports;
  for (const Finding& finding : findings) {
    BrokenRuleReport& report = reports.emplace_back();
    report.finding = finding;
    report.where = place(finding.pc);
    if (finding.detail.other_pc) report.other = place(finding.detail.other_pc);
  }
  return reports;
}

void add_callers(std::vector<BrokenRuleReport>& reports, const RunningKernel& kernel) {
  add_callers_at(reports, [&](uint64_t pc) { return LinkedPlace{kernel.image, pc - kernel.bias}; });
}

void add_callers(std::vector<BrokenRuleReport>& reports, const lockstep_device& device) {
  add_callers_at(reports, [&](uint64_t pc) {
    const lockstep_device::Loaded* loaded = loaded_at(pc, device);
    return loaded ? LinkedPlace{loaded->image.get(), pc - loaded->code->loaded_address(0)} : LinkedPlace();
  });
}

void add_callers(std::vector<BrokenRuleReport>& reports, const Image& image) {
  add_callers_at(reports, [&](uint64_t pc) { return LinkedPlace{&image, pc}; });
}

lockstep_exception exception_of(const BrokenRuleReport& report) {
  lockstep_exception exception{};
  exception.name = report.finding.rule.c_str();
  exception.where = report.where.view();
  exception.executions = report.finding.count;
  std::copy(std::begin(report.finding.group), std::end(report.finding.group), exception.work_group);
  exception.wave = report.finding.wave;
  return exception;
}

lockstep_check_finding check_finding_of(const BrokenRuleReport& report) {
  const Finding& found = report.finding;
  lockstep_check_finding finding{};
  finding.checker = found.checker;
  finding.rule = found.rule.c_str();
  finding.detail = found.detail.text.c_str();
  finding.where = report.where.view();
  finding.executions = found.count;
  std::copy(std::begin(found.group), std::end(found.group), finding.work_group);
  finding.wave = found.wave;
  finding.lanes = found.detail.lanes;
  finding.address = found.detail.address;
  finding.bytes = found.detail.bytes;
  finding.severity = found.detail.severity == Severity::note      ? LOCKSTEP_SEVERITY_NOTE
                     : found.detail.severity == Severity::warning ? LOCKSTEP_SEVERITY_WARNING
                                                                  : LOCKSTEP_SEVERITY_ERROR;
  finding.remedy = found.detail.remedy.c_str();
  finding.other = report.other.view();
  const auto give_callers = [](const Location& location, const lockstep_code_location*& callers,
                               uint32_t& count) {
    if (!location.callers) return;
    callers = location.callers->views.data();
    count = static_cast<uint32_t>(location.callers->views.size());
  };
  give_callers(report.where, finding.callers, finding.caller_count);
  give_callers(report.other, finding.other_callers, finding.other_caller_count);
  return finding;
}

}  // namespace lockstep::api

using namespace lockstep;
using namespace lockstep::api;

uint32_t lockstep_device_finding_count(const lockstep_device* device) {
  return device ? static_cast<uint32_t>(device->findings.size()) : 0;
}

lockstep_status lockstep_device_finding(const lockstep_device* device, uint32_t index,
                                        lockstep_finding* out) {
  return guarded([&] {
    require(device, "the device is null");
    require(index < device->findings.size(),
            "there is no finding of that index (see lockstep_device_finding_count)");
    const FindingReport& report = device->findings[index];
    lockstep_finding finding{};
    finding.name = text_of(report.finding.name);
    finding.fidelity = fidelity_of(report.finding.doubt.fidelity);
    finding.corner_cases_only = report.finding.doubt.concern == semantics::Concern::corner_cases;
    finding.ulp = report.finding.doubt.ulp;
    finding.note = text_of(report.finding.doubt.note);
    finding.executions = report.finding.executions;
    finding.first = report.first.view();
    for (unsigned sink = 0; sink < observe::kSinks; ++sink) {
      finding.uses[sink] = report.finding.uses[sink];
      finding.used[sink] = report.used[sink].view();
    }
    give(out, finding);
  });
}

uint32_t lockstep_device_broken_rule_count(const lockstep_device* device) {
  return device ? static_cast<uint32_t>(device->broken_rules.size()) : 0;
}

lockstep_status lockstep_device_broken_rule(const lockstep_device* device, uint32_t index,
                                            lockstep_broken_rule* out) {
  return guarded([&] {
    require(device, "the device is null");
    require(index < device->broken_rules.size(),
            "there is no broken rule of that index (see lockstep_device_broken_rule_count)");
    const BrokenRuleReport& report = device->broken_rules[index];
    lockstep_broken_rule broken{};
    broken.rule = report.finding.rule.c_str();
    broken.where = report.where.view();
    broken.executions = report.finding.count;
    std::copy(std::begin(report.finding.group), std::end(report.finding.group), broken.work_group);
    broken.wave = report.finding.wave;
    give(out, broken);
  });
}

uint32_t lockstep_device_check_finding_count(const lockstep_device* device) {
  return device ? static_cast<uint32_t>(device->check_findings.size()) : 0;
}

lockstep_status lockstep_device_check_finding(const lockstep_device* device, uint32_t index,
                                              lockstep_check_finding* out) {
  return guarded([&] {
    require(device, "the device is null");
    require(index < device->check_findings.size(),
            "there is no finding of that index (see lockstep_device_check_finding_count)");
    give(out, check_finding_of(device->check_findings[index]));
  });
}

uint32_t lockstep_device_exit_count(const lockstep_device* device) {
  return device ? static_cast<uint32_t>(device->exits.size()) : 0;
}

lockstep_status lockstep_device_exit(const lockstep_device* device, uint32_t index, lockstep_exit* out) {
  return guarded([&] {
    require(device, "the device is null");
    require(index < device->exits.size(), "there is no exit of that index (see lockstep_device_exit_count)");
    const translator::Exit& exit = device->exits[index];
    lockstep_exit reported{};
    reported.reason = static_cast<lockstep_exit_reason>(exit.how);
    reported.name = translator::name_of(exit.how);
    reported.instruction = exit.instruction.c_str();
    reported.times = exit.times;
    give(out, reported);
  });
}

uint32_t lockstep_device_exception_count(const lockstep_device* device) {
  return device ? static_cast<uint32_t>(device->exceptions.size()) : 0;
}

lockstep_status lockstep_device_exception(const lockstep_device* device, uint32_t index,
                                          lockstep_exception* out) {
  return guarded([&] {
    require(device, "the device is null");
    require(index < device->exceptions.size(),
            "there is no exception of that index (see lockstep_device_exception_count)");
    give(out, exception_of(device->exceptions[index]));
  });
}
