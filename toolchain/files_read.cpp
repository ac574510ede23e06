#include "toolchain/files_read.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <system_error>
#include <utility>

#include "cache/key.h"
#include "toolchain/files.h"

namespace lockstep::toolchain {

namespace fs = std::filesystem;

namespace {

constexpr char kAbsent[] = "absent", kUnreadable[] = "unreadable";
// Places where a file would hide another one. Sources of a library have hundreds of files in tens of folders.
constexpr size_t kMostFiles = 20000;

bool is_there(const fs::path& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// What packages install is not read again: it changes as a whole.
bool is_installed(std::string_view path) {
  return path.starts_with("/usr/");
}

// Equal for equal contents. `contents`, if given, becomes the file's.
std::string state_of(const std::string& path, std::string* contents = nullptr) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return kAbsent;
  if (!S_ISREG(status.st_mode)) return kUnreadable;  // reading a pipe takes away what is in it
  cache::Key key;
  if (is_installed(path)) {
    key.add_file(path);
    return key.text();
  }
  std::vector<std::byte> bytes;
  std::string ignored;
  if (!read_file(path, bytes, ignored)) return kUnreadable;
  const std::string_view text = text_of(bytes);
  key.add(text);
  if (contents) *contents = text;
  return key.text();
}

// The names behind the colon, as clang writes them for make.
std::vector<std::string> names_of(std::string_view dependencies) {
  std::vector<std::string> names;
  std::string name;
  const size_t colon = dependencies.find(": ");
  if (colon == dependencies.npos) return names;
  for (size_t i = colon + 1; i <= dependencies.size(); ++i) {
    const char c = i < dependencies.size() ? dependencies[i] : '\n';
    const char next = i + 1 < dependencies.size() ? dependencies[i + 1] : '\n';
    if (c == '\\' && (next == ' ' || next == '#')) {
      name += next;
      ++i;
    } else if (c == '$' && next == '$') {
      name += c;
      ++i;
    } else if (c == ' ' || c == '\n' || (c == '\\' && next == '\n')) {
      if (!name.empty()) names.push_back(std::exchange(name, {}));
    } else {
      name += c;
    }
  }
  return names;
}

// Behind `word`, the name in quotes or angle brackets within parentheses; empty if it is none.
std::string_view literal_name(std::string_view text) {
  const auto skip_blanks = [&text] {
    while (!text.empty() && (text[0] == ' ' || text[0] == '\t')) text.remove_prefix(1);
  };
  skip_blanks();
  if (!text.starts_with("(")) return {};
  text.remove_prefix(1);
  skip_blanks();
  if (text.empty() || (text[0] != '"' && text[0] != '<')) return {};
  const size_t close = text.find(text[0] == '"' ? '"' : '>', 1);
  const size_t line = text.find('\n');
  return close == text.npos || close > line ? std::string_view() : text.substr(1, close - 1);
}

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Adds the names that a text asks for with __has_include. False where only the preprocessor knows them.
bool add_names_asked_for(std::string_view text, std::set<std::string>& names) {
  for (size_t at = text.find("__has_include"); at != text.npos; at = text.find("__has_include", at)) {
    while (at < text.size() && is_letter(text[at])) ++at;  // __has_include_next
    if (const std::string_view name = literal_name(text.substr(at)); !name.empty()) {
      names.emplace(name);
      continue;
    }
    // #ifdef __has_include, defined(__has_include): whether there is such a thing.
    const size_t next = text.find_first_not_of(" \t", at);
    if (next != text.npos && text[next] == '(') return false;
  }
  return text.find("__has_embed") == text.npos;
}

// The shortest part of the path that is not there; empty if all of it is.
fs::path absent_part(const fs::path& folder, const fs::path& name) {
  fs::path path = folder;
  if (!is_there(path)) return path;
  for (const fs::path& part : name) {
    path /= part;
    if (!is_there(path)) return path;
  }
  return {};
}

}  // namespace

bool asks_for_the_time(std::string_view text) {
  return std::ranges::any_of(std::initializer_list<const char*>{"__DATE__", "__TIME__", "__TIMESTAMP__"},
                             [text](const char* word) { return text.find(word) != text.npos; });
}

std::optional<FilesRead> FilesRead::from(std::string_view dependencies, std::string_view text,
                                         std::span<const fs::path> given_folders) {
  FilesRead out;
  std::set<fs::path> folders(given_folders.begin(), given_folders.end());
  // Under which files are looked for, relative to a folder: those that were read, those that were asked for.
  std::set<std::string> names, asked;
  if (asks_for_the_time(text) || !add_names_asked_for(text, asked)) return std::nullopt;
  for (const std::string& path : names_of(dependencies)) {
    if (path == "-") continue;
    std::string contents;
    std::string state = state_of(path, &contents);
    if (state == kAbsent || state == kUnreadable || path.find('\n') != path.npos) return std::nullopt;
    if (asks_for_the_time(contents) || !add_names_asked_for(contents, asked)) return std::nullopt;
    const fs::path normal = fs::path(path).lexically_normal();
    // "b/c.h" and "c.h" for /a/b/c.h, since nothing says which part of it a folder was.
    fs::path name;
    const fs::path relative = normal.relative_path();
    for (auto part = relative.end(); part != relative.begin();) {
      --part;
      name = name.empty() ? *part : *part / name;
      names.insert(name);
    }
    if (!is_installed(path)) folders.insert(fs::path(path).parent_path());
    out.files_.insert({std::move(state), path});
  }
  names.insert(asked.begin(), asked.end());
  for (const fs::path& given : folders)
    for (const std::string& name : names) {
      if (out.files_.size() > kMostFiles) return std::nullopt;
      const fs::path folder = given.empty() ? "." : given;
      const fs::path absent = absent_part(folder, name);
      if (!absent.empty())
        out.files_.insert({kAbsent, absent});
      else if (asked.contains(name))
        out.files_.insert({state_of(folder / name), folder / name});
    }
  return out;
}

std::optional<FilesRead> FilesRead::parse(std::string_view record) {
  FilesRead out;
  while (!record.empty()) {
    const size_t end = record.find('\n'), blank = record.find(' ');
    if (end == record.npos || blank > end) return std::nullopt;
    out.files_.insert(
        {std::string(record.substr(0, blank)), std::string(record.substr(blank + 1, end - blank - 1))});
    record.remove_prefix(end + 1);
  }
  return out;
}

std::string FilesRead::record() const {
  std::string out;
  for (const File& file : files_) out += file.state + " " + file.path + "\n";
  return out;
}

bool FilesRead::are_unchanged() const {
  return std::ranges::all_of(files_, [](const File& file) {
    return file.state == kAbsent ? !is_there(file.path) : state_of(file.path) == file.state;
  });
}

bool FilesRead::changed_since(const timespec& moment) const {
  return std::ranges::any_of(files_, [&moment](const File& file) {
    struct stat status;
    return stat(file.path.c_str(), &status) == 0 &&
           std::pair(status.st_ctim.tv_sec, status.st_ctim.tv_nsec) >=
               std::pair(moment.tv_sec, moment.tv_nsec);
  });
}

}  // namespace lockstep::toolchain
