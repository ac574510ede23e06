#include "cli/findings.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string_view>

#include "cli/common.h"
#include "cli/files.h"
#include "cli/location.h"
#include "text/visible.h"

namespace lockstep::cli {

namespace {

using nlohmann::ordered_json;

const char* name_of_severity(lockstep_severity severity) {
  switch (severity) {
    case LOCKSTEP_SEVERITY_NOTE:
      return "note";
    case LOCKSTEP_SEVERITY_WARNING:
      return "warning";
    case LOCKSTEP_SEVERITY_ERROR:
      break;
  }
  return "error";
}

std::vector<unsigned> lanes_of(uint64_t mask) {
  std::vector<unsigned> lanes;
  for (unsigned lane = 0; lane < 64; ++lane)
    if (mask >> lane & 1) lanes.push_back(lane);
  return lanes;
}

// "0,1,4-31"
std::string text_of_lanes(uint64_t mask) {
  std::string text;
  const std::vector<unsigned> lanes = lanes_of(mask);
  for (size_t i = 0; i < lanes.size(); ++i) {
    size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    if (last < i + 2) last = i;
    text += (text.empty() ? "" : ",") + std::to_string(lanes[i]);
    if (last != i) text += "-" + std::to_string(lanes[last]);
    i = last;
  }
  return text;
}

std::span<const lockstep_code_location> callers_of(const lockstep_check_finding& finding) {
  return {finding.callers, finding.caller_count};
}

std::span<const lockstep_code_location> other_callers_of(const lockstep_check_finding& finding) {
  return {finding.other_callers, finding.other_caller_count};
}

class TextReport {
 public:
  explicit TextReport(bool is_coloured) : is_coloured_(is_coloured) {}

  std::string of(const Report& report) {
    if (report.findings.empty()) text_ += "check: nothing was found";
    for (const lockstep_check_finding& finding : report.findings) add(finding);
    if (!report.findings.empty())
      text_ +=
          fmt::format("check: {} finding{}", report.findings.size(), report.findings.size() == 1 ? "" : "s");
    if (report.suppressed) text_ += fmt::format(", {} suppressed", report.suppressed);
    return text_ + "\n";
  }

 private:
  std::string coloured(const char* code, std::string_view text) const {
    return is_coloured_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
  }

  void add_line(const lockstep_code_location& where) {
    if (*where.file) text_ += fmt::format("  at {}:{}", where.file, where.line);
    text_ += "\n";
    const std::string line = sources_.line(where.file, where.line);
    if (!line.empty()) text_ += fmt::format("    {} | {}\n", where.line, coloured("36", line));
  }

  void add_place(const char* what, const lockstep_code_location& where,
                 std::span<const lockstep_code_location> callers) {
    text_ += fmt::format("  {}{} + {:#x}: {}", what, *where.function ? where.function : "kernel",
                         where.offset, where.instruction);
    add_line(where);
    for (const lockstep_code_location& caller : callers) {
      text_ += fmt::format("    inlined into {}", caller.function);
      add_line(caller);
    }
  }

  void add(const lockstep_check_finding& f) {
    const char* const colour = f.severity == LOCKSTEP_SEVERITY_ERROR     ? "1;31"
                               : f.severity == LOCKSTEP_SEVERITY_WARNING ? "1;33"
                                                                         : "1;34";
    const std::string kind =
        f.severity == LOCKSTEP_SEVERITY_ERROR ? "" : std::string(" (") + name_of_severity(f.severity) + ")";
    text_ += fmt::format("{}: {}\n", coloured(colour, f.checker + kind), f.rule);
    add_place("", f.where, callers_of(f));
    if (f.other.pc) add_place("and ", f.other, other_callers_of(f));
    if (f.executions != 0) add_executions(f);
    if (f.bytes)
      text_ += fmt::format("  address {:#x}, {} bytes: {}\n", f.address, f.bytes, f.detail);
    else if (*f.detail)
      text_ += fmt::format("  {}\n", f.detail);
    if (*f.remedy) text_ += fmt::format("  {} {}\n", coloured("32", "mend:"), f.remedy);
  }

  void add_executions(const lockstep_check_finding& f) {
    text_ +=
        fmt::format("  {} time{}, first in work-group ({}, {}, {}), wave {}{}{}\n", f.executions,
                    f.executions == 1 ? "" : "s", f.work_group[0], f.work_group[1], f.work_group[2], f.wave,
                    f.lanes == 0                   ? ""
                    : std::has_single_bit(f.lanes) ? ", lane "
                                                   : ", lanes ",
                    text_of_lanes(f.lanes));
  }

  const bool is_coloured_;
  SourceLines sources_;
  std::string text_;
};

void add_line(ordered_json& json, const lockstep_code_location& where, SourceLines& sources) {
  if (!*where.file) return;
  json["file"] = where.file;
  json["line"] = where.line;
  const std::string line = sources.line(where.file, where.line);
  if (!line.empty()) json["text"] = line;
}

ordered_json json_of(const lockstep_code_location& where, std::span<const lockstep_code_location> callers,
                     SourceLines& sources) {
  ordered_json json{{"pc", fmt::format("{:#x}", where.pc)},
                    {"offset", where.offset},
                    {"instruction", where.instruction},
                    {"function", where.function}};
  add_line(json, where, sources);
  for (const lockstep_code_location& caller : callers) {
    ordered_json inlined{{"function", caller.function}};
    add_line(inlined, caller, sources);
    json["inlinedInto"].push_back(std::move(inlined));
  }
  return json;
}

// A path as a URI reference: relative ones stay so.
std::string uri_of(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= 'a' && byte <= 'z') ||
                          std::string_view("/-_.~").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

ordered_json sarif_place(const lockstep_code_location& where, const Report& report, SourceLines& sources) {
  ordered_json physical;
  if (*where.file) {
    physical["artifactLocation"]["uri"] = uri_of(where.file);
    if (where.line) {
      physical["region"]["startLine"] = where.line;
      const std::string line = sources.line(where.file, where.line);
      if (!line.empty()) physical["region"]["snippet"]["text"] = line;
    }
  } else {
    physical["artifactLocation"]["uri"] = uri_of(report.input);
  }
  return physical;
}

ordered_json sarif_location(const lockstep_code_location& where, const Report& report, SourceLines& sources) {
  return {
      {"physicalLocation", sarif_place(where, report, sources)},
      {"logicalLocations",
       {{{"fullyQualifiedName",
          fmt::format("{}+{:#x}", *where.function ? where.function : report.kernel.c_str(), where.offset)},
         {"kind", "function"}}}},
      {"message", {{"text", where.instruction}}}};
}

// The instruction and what it was inlined into.
ordered_json sarif_stack(const lockstep_code_location& where, std::span<const lockstep_code_location> callers,
                         const Report& report, SourceLines& sources) {
  ordered_json frames = ordered_json::array({{{"location", sarif_location(where, report, sources)}}});
  for (const lockstep_code_location& caller : callers)
    frames.push_back(
        {{"location",
          {{"physicalLocation", sarif_place(caller, report, sources)},
           {"logicalLocations", {{{"fullyQualifiedName", caller.function}, {"kind", "function"}}}}}}});
  return {{"frames", std::move(frames)}};
}

struct CheckerText {
  const char *name, *text;
};
constexpr CheckerText kCheckers[] = {
    {"barriers", "Barriers that not all work-items of a work-group come to"},
    {"cost", "What takes time on a card without being wrong"},
    {"legality", "Programs that break rules of the instruction set"},
    {"memory", "Accesses to memory that the kernel was not given"},
    {"races", "Accesses of two waves or lanes that nothing puts in an order"},
    {"uninitialised", "Values that were never written and that matter"},
    {"waits", "Registers that are used before the program has waited for them"},
};

bool fits(const std::string& pattern, std::string_view text) {
  if (pattern.empty()) return true;
  // '*' stands for any text, elsewhere the whole must be the same.
  size_t at = 0, from = 0;
  bool is_first = true;
  for (;;) {
    const size_t star = pattern.find('*', from);
    const std::string_view part = std::string_view(pattern).substr(from, star - from);
    if (star == pattern.npos)
      return is_first ? text == part : text.size() - at >= part.size() && text.ends_with(part);
    const size_t found = is_first ? (text.starts_with(part) ? 0 : text.npos) : text.find(part, at);
    if (found == text.npos) return false;
    at = found + part.size();
    from = star + 1;
    is_first = false;
  }
}

bool is_suppressed(const lockstep_check_finding& finding, const std::string& kernel,
                   const std::vector<Suppression>& suppressions) {
  return std::any_of(suppressions.begin(), suppressions.end(), [&](const Suppression& each) {
    return fits(each.checker, finding.checker) && fits(each.kernel, kernel) &&
           fits(each.file, finding.where.file) && (each.line == 0 || each.line == finding.where.line) &&
           std::string_view(finding.rule).find(each.text) != std::string_view::npos;
  });
}

}  // namespace

std::vector<Suppression> read_suppressions(const std::string& path) {
  std::vector<Suppression> result;
  if (path.empty()) return result;
  const std::vector<std::byte> bytes = read_file(path);
  std::istringstream stream(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  unsigned number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const auto fail = [&](const std::string& what) {
      return UsageError(
          "{}:{}: {} (a line is CHECKER [kernel=NAME] [file=PATH] [line=N] [text=WORDS TO THE END]; # "
          "begins a comment)",
          path, number, what);
    };
    std::istringstream words(line);
    Suppression suppression;
    if (!(words >> suppression.checker) || suppression.checker.starts_with('#')) continue;
    if (suppression.checker.find('=') != std::string::npos) throw fail("there is no checker, or * for any");
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals),
                        value = equals == word.npos ? "" : word.substr(equals + 1);
      if (value.empty()) throw fail("'" + visible(word) + "' has no value");
      if (key == "kernel") {
        suppression.kernel = value;
      } else if (key == "file") {
        suppression.file = value;
      } else if (key == "line") {
        const auto at = whole_number(value);
        if (!at || *at == 0 || *at > UINT32_MAX) throw fail("'" + visible(value) + "' is no line");
        suppression.line = static_cast<uint32_t>(*at);
      } else if (key == "text") {
        std::string rest;
        std::getline(words, rest);
        suppression.text = value + rest;
      } else {
        throw fail("unknown key '" + visible(key) + "'");
      }
    }
    result.push_back(std::move(suppression));
  }
  return result;
}

std::vector<std::string> checker_names() {
  std::vector<std::string> names;
  for (const CheckerText& each : kCheckers) names.push_back(each.name);
  return names;
}

Report report_of(std::string input, std::string kernel, std::vector<lockstep_check_finding> findings,
                 const std::vector<Suppression>& suppressions) {
  Report report{std::move(input), std::move(kernel), std::move(findings), 0};
  report.suppressed = std::erase_if(report.findings, [&](const lockstep_check_finding& finding) {
    // Of code that did not run, and has several kernels.
    return is_suppressed(finding, report.kernel.empty() ? finding.where.function : report.kernel,
                         suppressions);
  });
  return report;
}

std::string json_text(const Report& report) {
  SourceLines sources;
  ordered_json findings = ordered_json::array();
  for (const lockstep_check_finding& f : report.findings) {
    ordered_json json{{"checker", f.checker},
                      {"severity", name_of_severity(f.severity)},
                      {"rule", f.rule},
                      {"detail", f.detail},
                      {"remedy", f.remedy},
                      {"count", f.executions},
                      {"workGroup", {f.work_group[0], f.work_group[1], f.work_group[2]}},
                      {"wave", f.wave},
                      {"lanes", lanes_of(f.lanes)},
                      {"where", json_of(f.where, callers_of(f), sources)}};
    if (f.other.pc) json["other"] = json_of(f.other, other_callers_of(f), sources);
    if (f.bytes) {
      json["address"] = fmt::format("{:#x}", f.address);
      json["bytes"] = f.bytes;
    }
    findings.push_back(std::move(json));
  }
  const ordered_json json{{"version", 1},
                          {"input", report.input},
                          {"kernel", report.kernel},
                          {"findings", std::move(findings)},
                          {"suppressed", report.suppressed}};
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string sarif_text(const Report& report) {
  SourceLines sources;
  ordered_json rules = ordered_json::array(), results = ordered_json::array();
  const auto add_rule = [&](const std::string& id, const std::string& text) {
    rules.push_back({{"id", id}, {"shortDescription", {{"text", text}}}});
  };
  for (const CheckerText& each : kCheckers) add_rule(each.name, each.text);
  // A plug-in's is added when it is first seen.
  const auto rule_of = [&](const std::string& checker) {
    size_t index = 0;
    while (index < rules.size() && rules[index]["id"] != checker) ++index;
    if (index == rules.size()) add_rule(checker, "What the plug-in " + checker + " finds");
    return index;
  };
  for (const lockstep_check_finding& f : report.findings) {
    std::string message = f.rule;
    if (*f.detail) message += fmt::format("\n{}", f.detail);
    if (*f.remedy) message += fmt::format("\nTo mend it: {}", f.remedy);
    ordered_json result{{"ruleId", f.checker}};
    result["ruleIndex"] = rule_of(f.checker);
    result["level"] = name_of_severity(f.severity);
    result["message"]["text"] = message;
    result["locations"] = ordered_json::array({sarif_location(f.where, report, sources)});
    if (f.other.pc) {
      ordered_json other = sarif_location(f.other, report, sources);
      other["id"] = 1;
      result["relatedLocations"] = ordered_json::array({std::move(other)});
    }
    if (f.caller_count != 0)
      result["stacks"] = ordered_json::array({sarif_stack(f.where, callers_of(f), report, sources)});
    if (f.executions > 0) result["occurrenceCount"] = std::min<uint64_t>(f.executions, INT32_MAX);
    result["properties"] = {{"workGroup", {f.work_group[0], f.work_group[1], f.work_group[2]}},
                            {"wave", f.wave},
                            {"lanes", lanes_of(f.lanes)}};
    results.push_back(std::move(result));
  }
  const ordered_json driver{
      {"name", "lockstep"}, {"version", lockstep_version()}, {"rules", std::move(rules)}};
  const ordered_json run{{"tool", {{"driver", driver}}}, {"results", std::move(results)}};
  const ordered_json sarif{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                           {"version", "2.1.0"},
                           {"runs", ordered_json::array({run})}};
  return sarif.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

bool give_report(const Report& report, const FindingOptions& options) {
  const bool is_file = !options.report.empty();
  const bool is_coloured = !is_file && ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  const std::string text = options.format == "json"    ? json_text(report)
                           : options.format == "sarif" ? sarif_text(report)
                                                       : TextReport(is_coloured).of(report);
  if (is_file)
    write_file(options.report, text, {});
  else
    print_text(text);
  const lockstep_severity least = options.fail_on == "error"  ? LOCKSTEP_SEVERITY_ERROR
                                  : options.fail_on == "note" ? LOCKSTEP_SEVERITY_NOTE
                                                              : LOCKSTEP_SEVERITY_WARNING;
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [&](const lockstep_check_finding& finding) { return finding.severity >= least; });
}

}  // namespace lockstep::cli
