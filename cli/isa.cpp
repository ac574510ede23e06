// What is implemented, how exact it is, and which tests ran it.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/fidelity.h"
#include "cli/files.h"

namespace lockstep::cli {
namespace {

using Row = lockstep_isa_row_info;
using Rows = std::vector<Row>;
// Names of the tests that executed a row, by encoding and number.
using Tests = std::map<std::pair<std::string, uint32_t>, std::set<std::string>>;

std::string class_of(const Row& row) {
  return summary_of(row.fidelity, row.corner_cases_only, row.ulp);
}

void read_coverage(const std::filesystem::path& path, Tests& tests) {
  const std::vector<std::byte> bytes = read_file(path);
  std::istringstream file(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::string line;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string encoding, mnemonic;
    uint32_t opcode = 0;
    if (!(words >> encoding >> opcode >> mnemonic))
      throw UsageError(
          "--coverage {}: line {} is not 'encoding number mnemonic' (give a file that LOCKSTEP_COVERAGE "
          "wrote)",
          path.string(), number);
    tests[{encoding, opcode}].insert(path.stem().string());
  }
}

Tests read_coverage(const std::string& path) {
  Tests tests;
  if (path.empty()) return tests;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    read_coverage(std::filesystem::path(path), tests);
    return tests;
  }
  for (const auto& entry : std::filesystem::directory_iterator(path))
    if (entry.is_regular_file()) read_coverage(entry.path(), tests);
  return tests;
}

std::string tests_of(const Row& row, const Tests& tests) {
  const auto found = tests.find({row.encoding, row.number});
  if (found == tests.end()) return "";
  std::string text;
  for (const std::string& test : found->second) text += (text.empty() ? "" : ", ") + test;
  return text;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c -= 'a' - 'A';
  return text;
}

Rows chosen_rows(const IsaOptions& o) {
  const Rows all = isa_rows();
  std::set<std::string> known;
  for (const Row& row : all) known.insert(row.encoding);
  for (const std::string& encoding : o.encodings)
    if (!known.contains(upper(encoding))) {
      std::string names;
      for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
      throw UsageError("--encoding {}: there is no such encoding; there are {}", encoding, names);
    }
  Rows rows;
  for (const Row& row : all) {
    auto in = [](const std::vector<std::string>& choices, auto matches) {
      return choices.empty() || std::any_of(choices.begin(), choices.end(), matches);
    };
    if (in(o.encodings, [&](const std::string& e) { return upper(e) == row.encoding; }) &&
        in(o.fidelities, [&](const std::string& f) { return f == name_of(row.fidelity); }) &&
        in(o.mnemonics,
           [&](const std::string& m) { return std::string_view(row.mnemonic).find(m) != std::string::npos; }))
      rows.push_back(row);
  }
  if (rows.empty()) throw UsageError("no instruction matches (names match in any part: 'lockstep isa rcp')");
  return rows;
}

void print_table(const Rows& rows, const Tests& tests) {
  print("{:<8} {:>4}  {:<28} {:<12} {:<22}\n", "encoding", "op", "mnemonic", "status", "fidelity");
  for (const Row& row : rows) {
    print("{:<8} {:>4}  {:<28} {:<12} {}\n", row.encoding, row.number, row.mnemonic,
          row.implemented                                 ? "implemented"
          : row.fidelity == LOCKSTEP_FIDELITY_UNSUPPORTED ? "unsupported"
                                                          : "missing",
          row.implemented ? class_of(row) : "");
    if (*row.note) print("               {}\n", row.note);
    if (std::string names = tests_of(row, tests); !names.empty())
      print("               tested by {}\n", names);
  }
}

void print_json(const Rows& rows, const Tests& tests) {
  auto list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    nlohmann::ordered_json item = {{"encoding", row.encoding},
                                   {"number", row.number},
                                   {"mnemonic", row.mnemonic},
                                   {"implemented", row.implemented != 0},
                                   {"fidelity", name_of(row.fidelity)}};
    if (row.fidelity == LOCKSTEP_FIDELITY_BOUNDED) item["ulp"] = row.ulp;
    if (row.fidelity != LOCKSTEP_FIDELITY_EXACT) {
      item["corner_cases_only"] = row.corner_cases_only != 0;
      item["note"] = row.note;
    }
    if (const auto found = tests.find({row.encoding, row.number}); found != tests.end())
      item["tested_by"] = found->second;
    list.push_back(std::move(item));
  }
  auto forms = nlohmann::ordered_json::array();
  for (const lockstep_isa_form_info& form : isa_forms())
    forms.push_back({{"form", form.name},
                     {"fidelity", name_of(form.fidelity)},
                     {"corner_cases_only", form.corner_cases_only != 0},
                     {"note", form.note}});
  print("{}\n", nlohmann::ordered_json{{"rows", list}, {"forms", forms}}.dump(1));
}

// The rows of each encoding, in the order in which the encodings come.
std::vector<std::pair<std::string, Rows>> by_encoding(const Rows& rows) {
  std::vector<std::pair<std::string, Rows>> out;
  for (const Row& row : rows) {
    if (out.empty() || out.back().first != row.encoding) out.emplace_back(row.encoding, Rows());
    out.back().second.push_back(row);
  }
  return out;
}

void print_doubts(const Rows& rows, bool corner_cases_only) {
  std::vector<std::pair<std::string, std::vector<const Row*>>> notes;
  for (const Row& row : rows) {
    if (row.fidelity == LOCKSTEP_FIDELITY_EXACT || row.fidelity == LOCKSTEP_FIDELITY_UNSUPPORTED ||
        (row.corner_cases_only != 0) != corner_cases_only)
      continue;
    auto found = std::find_if(notes.begin(), notes.end(), [&](auto& n) { return n.first == row.note; });
    if (found == notes.end()) found = notes.insert(notes.end(), {row.note, {}});
    auto same = [&](const Row* other) { return std::string_view(other->mnemonic) == row.mnemonic; };
    if (std::none_of(found->second.begin(), found->second.end(), same)) found->second.push_back(&row);
  }
  print("| instructions | fidelity | what holds |\n|---|---|---|\n");
  for (const auto& [note, instructions] : notes) {
    std::string names;
    for (const Row* row : instructions)
      names += fmt::format("{}`{}`", names.empty() ? "" : " ", row->mnemonic);
    const Row& row = *instructions.front();
    print("| {} | {} | {} |\n", names, summary_of(row.fidelity, false, row.ulp), note);
  }
}

void print_markdown(const Rows& rows) {
  print(
      "# Instructions: coverage and fidelity\n\n"
      "Generated by `tools/make_isa_page.sh`; do not edit. `lockstep isa` gives the same as text or JSON,\n"
      "`lockstep run --fidelity` tells it of the instructions that a kernel executed.\n\n"
      "- *exact*: follows captures from a card, or the letter of the guide.\n"
      "- *within n ulp*: the largest error against the true value.\n"
      "- *open*: guide and captures are silent or contradict each other; the note says what was chosen.\n"
      "- *open in corner cases*: only for the operands or states that the note names; all else is exact.\n"
      "- *unsupported*: executing it faults with the reason.\n\n"
      "Every implemented row of the encodings but MIMG and EXP is executed by a test: `ctest` records "
      "the\n"
      "executed rows of each test in `coverage/` of the build tree and ends with a check of the sum.\n"
      "`lockstep isa --coverage build/release/coverage` shows which test ran a row.\n\n"
      "## Summary\n\n"
      "| encoding | rows | implemented | exact | bounded | open | open in corner cases "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const auto& [encoding, group] : by_encoding(rows)) {
    auto count = [&group = group](auto matches) {
      return std::count_if(group.begin(), group.end(), matches);
    };
    auto open = [](const Row& r, bool corner) {
      return r.fidelity == LOCKSTEP_FIDELITY_OPEN && (r.corner_cases_only != 0) == corner;
    };
    print("| {} | {} | {} | {} | {} | {} | {} |\n", encoding, group.size(),
          count([](const Row& r) { return r.implemented != 0; }),
          count([](const Row& r) { return r.fidelity == LOCKSTEP_FIDELITY_EXACT; }),
          count([](const Row& r) { return r.fidelity == LOCKSTEP_FIDELITY_BOUNDED; }),
          count([&](const Row& r) { return open(r, false); }),
          count([&](const Row& r) { return open(r, true); }));
  }
  print("\n## Not exact\n\n");
  print_doubts(rows, false);
  print("\n## Open in corner cases\n\n");
  print_doubts(rows, true);
  print("\n## Modifiers and forms\n\n| form | fidelity | what holds |\n|---|---|---|\n");
  for (const lockstep_isa_form_info& form : isa_forms())
    print("| {} | {} | {} |\n", form.name, summary_of(form.fidelity, form.corner_cases_only, 0), form.note);
  print("\n## Unsupported\n\n| encoding | instruction | why |\n|---|---|---|\n");
  for (const Row& row : rows)
    if (!row.implemented)
      print("| {} | `{}` | {} |\n", row.encoding, row.mnemonic, *row.note ? row.note : "**missing**");
  print("\n## All rows\n");
  for (const auto& [encoding, group] : by_encoding(rows)) {
    print("\n### {}\n\n| number | instruction | fidelity |\n|---|---|---|\n", encoding);
    for (const Row& row : group) print("| {} | `{}` | {} |\n", row.number, row.mnemonic, class_of(row));
  }
}

// One line for each row; the exit code says whether there was any.
int print_failures(const Rows& rows) {
  for (const Row& row : rows) print("{} {} {}\n", row.encoding, row.number, row.mnemonic);
  return rows.empty() ? kDone : kFaulted;
}

int print_missing(const Rows& rows) {
  Rows missing;
  size_t unsupported = 0;
  for (const Row& row : rows) {
    if (row.implemented) continue;
    if (row.fidelity == LOCKSTEP_FIDELITY_UNSUPPORTED)
      ++unsupported;
    else
      missing.push_back(row);
  }
  if (unsupported)
    report(
        "{} rows are unsupported with a reason and fault when executed: lockstep isa --fidelity "
        "unsupported\n",
        unsupported);
  return print_failures(missing);
}

int print_untested(const Rows& rows, const Tests& tests, const std::string& coverage) {
  if (coverage.empty())
    throw UsageError("--untested: needs --coverage PATH, the file or folder that a test run wrote");
  Rows untested;
  for (const Row& row : rows)
    if (row.implemented && !tests.contains({row.encoding, row.number})) untested.push_back(row);
  if (!untested.empty())
    report("{} implemented rows were executed by no test (was the whole test suite run?)\n", untested.size());
  return print_failures(untested);
}

}  // namespace

int isa(const IsaOptions& o) {
  const Rows rows = chosen_rows(o);
  const Tests tests = read_coverage(o.coverage);
  if (o.missing) return print_missing(rows);
  if (o.untested) return print_untested(rows, tests, o.coverage);
  if (o.json)
    print_json(rows, tests);
  else if (o.markdown)
    print_markdown(rows);
  else
    print_table(rows, tests);
  return kDone;
}

}  // namespace lockstep::cli
