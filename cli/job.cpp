#include "cli/job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compiler_flags.h"
#include "cli/files.h"
#include "cli/interrupt.h"
#include "cli/launch.h"
#include "cli/location.h"
#include "cli/progress.h"
#include "cli/replay.h"

// See hardware/hardware.cpp: toml++ asserts at some texts that are no TOML, and descends into values in
// values.
struct ParserGaveUp {};
#define TOML_ASSERT(condition) ((condition) ? void() : throw ParserGaveUp())
#define TOML_MAX_NESTED_VALUES 32
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace lockstep::cli {
namespace {

// A table of which every key is known. Throws UsageError for others and for values of another type.
class Table {
 public:
  Table(const toml::table& table, std::string what, std::initializer_list<std::string_view> keys)
      : table_(table), what_(std::move(what)) {
    for (const auto& [key, value] : table)
      if (std::find(keys.begin(), keys.end(), key.str()) == keys.end()) {
        std::string known;
        for (const std::string_view k : keys) known += (known.empty() ? "" : ", ") + std::string(k);
        throw UsageError("{} has the unknown key '{}' (there are {})", what_, std::string_view(key.str()),
                         known);
      }
  }

  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::node& at(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (!node) throw UsageError("{} has no '{}'", what_, key);
    return *node;
  }
  std::string text(std::string_view key) const {
    const auto value = at(key).value<std::string>();
    if (!value) throw wrong(key, "a text");
    return *value;
  }
  std::string text(std::string_view key, std::string otherwise) const {
    return has(key) ? text(key) : otherwise;
  }
  double number(std::string_view key, double otherwise) const {
    if (!has(key)) return otherwise;
    const auto value = at(key).value<double>();
    if (!value || !(*value >= 0)) throw wrong(key, "a number that is not negative");
    return *value;
  }
  uint64_t count(std::string_view key, uint64_t otherwise, uint64_t most) const {
    if (!has(key)) return otherwise;
    const auto value = at(key).value<int64_t>();
    if (!value || *value < 0 || static_cast<uint64_t>(*value) > most)
      throw wrong(key, fmt::format("a whole number from 0 to {}", most));
    return static_cast<uint64_t>(*value);
  }
  const toml::table& table(std::string_view key) const {
    const toml::table* value = at(key).as_table();
    if (!value) throw wrong(key, "a table");
    return *value;
  }
  const toml::array& array(std::string_view key) const {
    const toml::array* value = at(key).as_array();
    if (!value) throw wrong(key, "a list");
    return *value;
  }
  // A list of texts and numbers, each as the command line writes it.
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> out;
    if (!has(key)) return out;
    for (const toml::node& node : array(key)) out.push_back(scalar(key, node));
    return out;
  }
  // 1024, "1k" or [16, 16].
  std::string extent(std::string_view key) const {
    if (!has(key)) return {};
    if (!at(key).is_array()) return scalar(key, at(key));
    std::string out;
    for (const std::string& size : texts(key)) out += (out.empty() ? "" : ",") + size;
    return out;
  }

 private:
  UsageError wrong(std::string_view key, std::string_view wanted) const {
    return UsageError("{}: '{}' is not {}", what_, key, wanted);
  }
  std::string scalar(std::string_view key, const toml::node& node) const {
    if (const auto text = node.value_exact<std::string>()) return *text;
    if (const auto number = node.value_exact<int64_t>()) return std::to_string(*number);
    if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
    throw wrong(key, "a list of texts and numbers");
  }

  const toml::table& table_;
  std::string what_;
};

// What the job says of the device, where the command line says nothing else.
lockstep_device_options device_options(const RunOptions& given, const std::string& name,
                                       const std::string& engine, uint64_t threads) {
  lockstep_device_options options = device_options_of(given);
  if (given.device.empty() && !name.empty()) options.name = name.c_str();
  if (given.engine == "auto") options.engine = engine_of(engine);
  if (given.threads == 0) options.threads = static_cast<uint32_t>(threads);
  return options;
}

void refuse_what_is_of_one_dispatch(const RunOptions& o) {
  const RunOptions none;
  if (say_what_to_run(o) || o.dynamic_lds || o.wave || o.instruction_limit || o.debug ||
      o.compiler.optimization != none.compiler.optimization || o.print_limit != none.print_limit)
    throw UsageError(
        "a job says itself what it runs, with which arguments, sizes, limits and flags (leave them away)");
  const MachineOptions& m = o.machine;
  if (!m.trap_handler.empty() || !m.trap_memory.empty() || !m.trap_on.empty() || !m.trap_exceptions.empty() ||
      !m.watches.empty() || !m.host_traps.empty() || !m.context_saves.empty() || m.skip_traps)
    throw UsageError("traps are of one dispatch: a job has none");
  if (!o.findings.report.empty() || o.findings.format != none.findings.format)
    throw UsageError("--report and --format are of one dispatch: what is found in a job is printed as text");
}

class Job {
 public:
  Job(const toml::table& file, std::filesystem::path folder, const RunOptions& given)
      : folder_(std::move(folder)),
        given_(given),
        suppressions_(read_suppressions(given.findings.suppressions)),
        top_(file, "the job",
             {"device", "engine", "threads", "code", "flags", "optimize", "wave", "work_group_size",
              "buffers", "variables", "step"}),
        device_name_(top_.text("device", "")),
        options_(
            device_options(given, device_name_, top_.text("engine", "auto"), top_.count("threads", 0, 1024))),
        device_(&options_),
        code_(compile()),
        buffers_(device_) {}

  int run() {
    if (top_.has("buffers"))
      for (const auto& [name, value] : top_.table("buffers")) {
        const auto contents = value.value<std::string>();
        if (!contents)
          throw UsageError("buffer '{}' is not a text such as \"f32[1024]=iota\"",
                           std::string_view(name.str()));
        if (contents->starts_with("pipe:"))
          buffers_.allocate_pipe(std::string(name.str()), std::nullopt, contents->substr(5));
        else
          buffers_.allocate(std::string(name.str()), std::nullopt, contents_of(*contents));
      }
    set_variables(top_.texts("variables"), device_, code_, buffers_);
    const int code = steps(top_.array("step"), "");
    return code == kDone && has_findings_ ? kFaulted : code;
  }

 private:
  CodeObject compile() {
    CompilerOptions given;
    given.flags = top_.texts("flags");
    given.optimization = static_cast<uint32_t>(top_.count("optimize", 2, 3));
    const std::vector<std::string> files =
        top_.at("code").is_array() ? top_.texts("code") : std::vector{top_.text("code")};
    if (files.empty()) throw UsageError("the job's 'code' names no file");
    for (size_t i = 1; i < files.size(); ++i) given.sources.push_back(path(files[i]));
    Compilation compilation(given);
    const lockstep_device_info model = device_.info();
    compilation.options.target = model.target;
    compilation.options.wave_size = static_cast<uint32_t>(top_.count("wave", 0, 64));
    compilation.options.work_group_size = static_cast<uint32_t>(top_.count("work_group_size", 0, 1024));
    input_ = path(files[0]);
    CodeObject code = open_with_progress(input_, compilation.options, given_.quiet);
    if (!given_.quiet && *code.diagnostics()) report("{}", code.diagnostics());
    return code;
  }

  // Files are named from where the job is.
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Contents contents_of(const std::string& text) const {
    const size_t open = text.find('['), colon = text.find(':');
    if (open != text.npos && type_of_name(std::string_view(text).substr(0, open)))
      return parse_contents(text, std::nullopt);
    if (colon != text.npos && type_of_name(std::string_view(text).substr(0, colon)))
      return parse_contents(text.substr(0, colon + 1) + path(text.substr(colon + 1)), std::nullopt);
    return parse_contents(path(text), std::nullopt);
  }

  // 0 if all of them went well.
  int steps(const toml::array& list, const std::string& within) {
    for (size_t i = 0; i < list.size(); ++i) {
      throw_if_interrupted();
      const std::string number = within + std::to_string(i + 1);
      const toml::table* table = list[i].as_table();
      if (!table) throw UsageError("step {}: is no table", number);
      int code;
      try {
        code = step(*table, number);
      } catch (const UsageError& e) {
        // Of a step within a step the inner one has said which.
        if (std::string_view(e.what()).starts_with("step ")) throw;
        throw UsageError("step {}: {}", number, e.what());
      } catch (const Error& e) {
        throw UsageError("step {}: {}", number, e.what());
      }
      if (code != kDone) return code;
    }
    return kDone;
  }

  int step(const toml::table& table, const std::string& number) {
    const std::string what = "it";
    if (table.contains("kernel"))
      return launch(
          Table(table, what, {"kernel", "grid", "groups", "block", "args", "lds", "instruction_limit"}));
    if (table.contains("repeat")) {
      const Table loop(table, what, {"repeat", "step"});
      const uint64_t count = loop.count("repeat", 1, UINT32_MAX);
      for (uint64_t i = 0; i < count; ++i)
        if (const int code = steps(loop.array("step"), number + "."); code != kDone) return code;
      return kDone;
    }
    if (table.contains("load")) {
      const Table load(table, what, {"load", "from"});
      return write(buffers_.find(load.text("load")), contents_of(load.text("from")));
    }
    if (table.contains("fill")) {
      const Table fill(table, what, {"fill", "value"});
      const NamedBuffer& buffer = buffers_.find(fill.text("fill"));
      Contents contents;
      contents.array.type = buffer.type;
      contents.bytes = buffer.bytes().size();
      contents.fill = fill.text("value");
      return write(buffer, contents);
    }
    if (table.contains("copy")) {
      const Table copy(table, what, {"copy", "to"});
      const NamedBuffer &from = buffers_.find(copy.text("copy")), &to = buffers_.find(copy.text("to"));
      if (from.bytes().size() != to.bytes().size())
        throw UsageError("'{}' has {} bytes and '{}' {}", from.name, from.bytes().size(), to.name,
                         to.bytes().size());
      if (from.address() != to.address())
        std::memcpy(to.memory.data(), from.memory.data(), from.memory.size());
      return kDone;
    }
    if (table.contains("compare"))
      return compare(Table(table, what, {"compare", "with", "tolerance", "relative"}), number);
    if (table.contains("save")) {
      const Table save(table, what, {"save", "to"});
      const NamedBuffer& buffer = buffers_.find(save.text("save"));
      write_array(path(save.text("to")), buffer.bytes(), buffer.type, buffer.shape);
      return kDone;
    }
    if (table.contains("print")) {
      const Table print(table, what, {"print", "limit"});
      print_buffer(buffers_.find(print.text("print")),
                   static_cast<uint32_t>(print.count("limit", 64, UINT32_MAX)));
      return kDone;
    }
    throw UsageError("has none of kernel, repeat, load, fill, copy, compare, save, print");
  }

  int write(const NamedBuffer& buffer, const Contents& contents) {
    if (contents.bytes != buffer.bytes().size())
      throw UsageError("'{}' has {} bytes, not {}", buffer.name, buffer.bytes().size(), contents.bytes);
    std::fill(buffer.memory.begin(), buffer.memory.end(), std::byte{0});
    write_contents(contents, buffer.memory);
    return kDone;
  }

  int launch(const Table& table) {
    const Kernel kernel = choose_kernel(code_, table.text("kernel"), input_);
    const lockstep_kernel_info info = kernel.info();
    lockstep_dispatch_options dispatch;
    lockstep_dispatch_options_init(&dispatch);
    choose_shape({table.extent("grid"), table.extent("groups"), table.extent("block")}, info, dispatch);
    std::vector<const char*> plugins;
    apply_run_options(given_, plugins, dispatch);
    dispatch.dynamic_lds_bytes = static_cast<uint32_t>(table.count("lds", 0, UINT32_MAX));
    dispatch.instruction_limit = table.count("instruction_limit", 0, INT64_MAX);
    Arguments arguments(kernel);
    Buffers own(device_, &buffers_);  // buf: of a step ends with it
    ArgumentSetter(own, kernel, arguments).set_all(table.texts("args"));
    lockstep_statistics statistics{};
    statistics.struct_size = sizeof statistics;
    lockstep_status status;
    {
      ProgressLine progress(given_.quiet);
      progress.connect(dispatch);
      status = lockstep_dispatch(device_.get(), kernel.get(), arguments.get(), &dispatch, &statistics);
    }
    has_findings_ |= print_reports(device_, dispatch, status, given_, suppressions_, info.name);
    if (status == LOCKSTEP_CANCELLED) throw Interrupted();
    if (status == LOCKSTEP_FAULT) {
      report("fault: {}\n", fault_text(device_.get()));
      return kFaulted;
    }
    check(status);
    if (!given_.quiet) print_summary(info.readable_name, statistics);
    if (given_.translation) print_translation(device_, statistics);
    return kDone;
  }

  // Numbers that are not within the tolerance of what is wanted are told, and end the job.
  int compare(const Table& table, const std::string& number) {
    const NamedBuffer& buffer = buffers_.find(table.text("compare"));
    const std::string with = table.text("with");
    const double tolerance = table.number("tolerance", 0), relative = table.number("relative", 0);
    const Contents contents = contents_of(with);
    if (contents.bytes != buffer.bytes().size() || contents.array.type != buffer.type)
      throw UsageError("'{}' is {} and has {} bytes, '{}' is {} and has {}", buffer.name,
                       name_of_type(buffer.type), buffer.bytes().size(), with,
                       name_of_type(contents.array.type), contents.bytes);
    std::vector<std::byte> wanted(contents.bytes);
    write_contents(contents, wanted);
    const size_t size = size_of_type(buffer.type), count = wanted.size() / size;
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::byte *is = buffer.bytes().data() + i * size, *should = wanted.data() + i * size;
      if (std::memcmp(is, should, size) == 0) continue;
      const double a = load_number(is, buffer.type), b = load_number(should, buffer.type);
      if (a == b && is_float(buffer.type)) continue;  // zeros of both signs
      if (std::isnan(a) && std::isnan(b)) continue;
      if ((tolerance > 0 || relative > 0) && std::abs(a - b) <= tolerance + relative * std::abs(b)) continue;
      if (wrong++ == 0) first = i;
    }
    if (wrong == 0) return kDone;
    report("step {}: {} of {} elements of '{}' differ from '{}'; the first is [{}]: {}, not {}\n", number,
           wrong, count, buffer.name, with, first,
           print_number(buffer.bytes().data() + first * size, buffer.type),
           print_number(wanted.data() + first * size, buffer.type));
    return kFaulted;
  }

  const std::filesystem::path folder_;
  const RunOptions& given_;
  const std::vector<Suppression> suppressions_;
  bool has_findings_ = false;  // of the severity that counts
  const Table top_;
  const std::string device_name_;
  const lockstep_device_options options_;
  Device device_;
  std::string input_;
  CodeObject code_;
  Buffers buffers_;
};

}  // namespace

int run_job(const RunOptions& options) {
  const std::string& path = options.input;
  refuse_what_is_of_one_dispatch(options);
  const std::vector<std::byte> bytes = read_file(path);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    const toml::table file = toml::parse(text);
    return Job(file, std::filesystem::path(path).parent_path(), options).run();
  } catch (const toml::parse_error& e) {
    throw UsageError("{}:{}:{}: {}", path, e.source().begin.line, e.source().begin.column, e.description());
  } catch (const ParserGaveUp&) {
    throw UsageError("{}: is no TOML", path);
  } catch (const UsageError& e) {
    throw UsageError("{}: {}", path, e.what());
  }
}

}  // namespace lockstep::cli
