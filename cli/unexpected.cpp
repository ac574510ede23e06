#include "cli/unexpected.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "text/visible.h"

namespace lockstep::cli {
namespace {

// What others call our options: OpenCL's programs, CUDA's, compilers.
struct OtherName {
  std::string_view name, ours;
};
constexpr OtherName kOtherNames[] = {
    {"global", "--grid"},
    {"global-size", "--grid"},
    {"gws", "--grid"},
    {"local", "--block"},
    {"local-size", "--block"},
    {"l", "--block"},
    {"lws", "--block"},
    {"work-group-size", "--block"},
    {"threads-per-block", "--block"},
    {"blocks", "--groups"},
    {"num-groups", "--groups"},
    {"shared", "--lds"},
    {"dynamic-lds", "--lds"},
    {"args", "--arg"},
    {"gpu", "--device"},
    {"arch", "--device"},
    {"mcpu", "--device"},
    {"save", "--out"},
    {"write", "--out"},
    {"verbose", "--print"},
    {"function", "--kernel"},
    {"entry", "--kernel"},
    {"name", "--kernel"},
    {"race", "--check"},
};

std::string_view bare(std::string_view word) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  return word.substr(0, word.find('='));
}

// How many letters must be put in, left away or changed.
size_t edits(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j])}));
  }
  return row[b.size()];
}

// The known name that is nearest to the word; empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view wanted = bare(word);
  std::string best;
  size_t least = wanted.size() < 3 ? 1 : wanted.size() < 6 ? 2 : 3;  // less than so many letters
  for (const std::string& name : names)
    if (const size_t d = edits(wanted, bare(name)); d < least) {
      least = d;
      best = name;
    }
  return best;
}

std::string text_of(const std::string& word, const CLI::App& app, const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : (command ? command : &app)->get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  std::string commands;
  if (!command)
    for (const CLI::App* each : app.get_subcommands({})) {
      names.push_back(each->get_name());
      commands += (commands.empty() ? "" : ", ") + each->get_name();
    }
  std::string meant = nearest(word, names);
  for (const OtherName& other : kOtherNames)
    if (command && word.starts_with('-') && bare(word) == other.name &&
        std::find(names.begin(), names.end(), other.ours) != names.end())
      meant = other.ours;
  const std::string hint = meant.empty() ? "" : fmt::format(" (is {} meant?)", meant);
  const std::string shown = visible(word);
  std::error_code ignored;
  if (!command && !word.starts_with('-') && std::filesystem::exists(word, ignored))
    return fmt::format("'{}' is no command (to run it: lockstep run {} ...; there are {})", shown, shown,
                       commands);
  if (!command && !word.starts_with('-'))
    return fmt::format("'{}' is no command{} (there are {})", shown, hint, commands);
  if (word.starts_with('-'))
    return fmt::format("{} has no option {}{}", command ? command->get_name() : "lockstep", shown, hint);
  return fmt::format("'{}' is more than {} takes", shown, command->get_name());
}

}  // namespace

std::string text_of_unexpected(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App* command = commands.empty() ? nullptr : commands[0];
  std::string text;
  for (const std::string& word : (command ? command : &app)->remaining()) {
    text += fmt::format("error: {}\n", text_of(word, app, command));
    if (!command) break;  // what follows belongs to a command that is not there
  }
  return text + "Run with --help for more information.\n";
}

}  // namespace lockstep::cli
