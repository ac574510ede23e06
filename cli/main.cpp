#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compiler_flags.h"
#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/unexpected.h"
#include "text/visible.h"

// There where the program is built with the sanitizer of addresses, which else looks for leaks at exit().
extern "C" [[gnu::weak]] void __lsan_do_leak_check();

namespace lockstep::cli {

std::string short_number(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  int unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return fmt::format("{:.0f}", value);
  return fmt::format("{:.{}f}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string short_bytes(uint64_t bytes) {
  if (bytes % (1 << 20) == 0 && bytes) return fmt::format("{} MiB", bytes >> 20);
  if (bytes % (1 << 10) == 0 && bytes) return fmt::format("{} KiB", bytes >> 10);
  return fmt::format("{} bytes", bytes);
}

std::optional<uint64_t> whole_number(std::string_view text) {
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<uint64_t> size_number(std::string_view text) {
  constexpr std::string_view kUnits = "kMGT";
  unsigned shift = 0;
  if (!text.empty() && (text.back() == 'K' || kUnits.find(text.back()) != text.npos)) {
    shift = text.back() == 'K' ? 10 : 10 * static_cast<unsigned>(kUnits.find(text.back()) + 1);
    text.remove_suffix(1);
  }
  const std::optional<uint64_t> number = whole_number(text);
  if (!number || *number > UINT64_MAX >> shift) return std::nullopt;
  return *number << shift;
}

namespace {

constexpr const char* kExamples =
    "ARGUMENT, in the order of the kernel or as NAME=ARGUMENT ('lockstep info INPUT' lists them):\n"
    "  i32:5  u64:0x10  f32:1.5  f16:0.5   scalar; 5 alone takes the type that the kernel names\n"
    "  f32:1,2,3,4  1,2,3,4                a vector, an array in a structure\n"
    "  buf:f32[1024]   buf:f32[64x64]=1.5  zeros; all the same; [1M] is [1048576], likewise k and G\n"
    "  buf:u32[1024]=iota  =random:7       0, 1, 2, ...; random by seed\n"
    "  buf:f32[4]=1,2,3,4                  each element\n"
    "  buf:in.npy  buf:in.raw  buf:u32:in.raw   from a file\n"
    "  pipe:i32[64]                        an empty pipe of OpenCL for 64 packets\n"
    "  same:x                              the buffer that argument x has;  null: no buffer\n"
    "  local:4096  local:4k                bytes of a __local argument\n"
    "  'struct:i32:5; f32x4:1,2,3,4; buf:f32[8]; pad:4'   a structure by its fields, laid out as C does;\n"
    "                                      f32:1,2 is an array, f32x2:1,2 a vector; n=i32:5 names a field\n"
    "  hex:0011ff                          bytes of a structure\n"
    "--set NAME=VALUE takes numbers, struct:, hex:, buf: (the address of a new buffer), f32[256]=iota and\n"
    "file:table.npy; --print and --out take variables that were set, too.\n\n"
    "Examples:\n"
    "  lockstep run saxpy.cl --grid 1024 --block 256 u32:1024 f32:2 buf:f32[1024]=iota buf:f32[1024]=1 "
    "--print 3\n"
    "  lockstep run program --kernel scale --groups 16 --block 64 buf:in.npy f32:0.5 --out 0=out.npy\n"
    "  lockstep run mandelbrot.cl --grid 1024,1024 --block 16,16 out=buf:u8[1024x1024x4] --out "
    "out=picture.png\n"
    "  lockstep run kernel.s --grid 32 --block 32\n"
    "  lockstep run main.cl helpers.cl --grid 64 buf:f32[64]=iota    files of one program";

std::string checkers_text() {
  std::string names;
  for (const std::string& name : checker_names())
    if (name != "cost") names += (names.empty() ? "" : ", ") + name;
  return "checkers, with commas between them: " + names +
         "; all, which are these; cost, which tells what is slow";
}

constexpr const char* kPluginText =
    "shared library that follows the waves and tells what it finds: FILE[:ARGUMENTS] "
    "(lockstep_plugin.h); may be repeated. It runs as you, with all your rights";

void add_finding_options(CLI::App& command, FindingOptions& options) {
  const char* const group = "Findings";
  command.add_option("--format", options.format, "how findings are told")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--report", options.report, "file that gets them, not the standard output")
      ->group(group);
  command
      .add_option("--suppress", options.suppressions,
                  "file with findings to leave away, a line each: CHECKER [kernel=NAME] [file=PATH] [line=N] "
                  "[text=WORDS]")
      ->group(group);
  command.add_option("--fail-on", options.fail_on, "the least severity that makes the exit code 1")
      ->check(CLI::IsMember({"note", "warning", "error"}))
      ->capture_default_str()
      ->group(group);
  command.add_option("--plugin", options.plugins, kPluginText)->group(group);
}

void add_launch_options(CLI::App* sub, const std::shared_ptr<RunOptions>& o) {
  sub->add_option("INPUT", o->input,
                  "code object, offload bundle, HIP executable; or source: assembly (.s), OpenCL C (.cl), "
                  "C++ for OpenCL (.clcpp), HIP (.hip, .cu, .cpp), LLVM IR (.ll, .bc), SPIR-V (.spv); or a "
                  "job (.toml, docs/jobs.md), or a dump of 'lockstep exec --dump'")
      ->required();
  sub->add_option("ARGUMENT", o->arguments,
                  "further source files of the same program, then kernel arguments, see below");
  sub->add_option("-k,--kernel", o->kernel, "kernel to run; needed if INPUT has several");
  sub->add_option("-g,--grid", o->grid, "size in work-items, X[,Y[,Z]] (OpenCL's global size)");
  sub->add_option("--groups", o->groups, "size in work-groups instead (HIP's grid)");
  sub->add_option("-b,--block", o->block,
                  "work-items of a work-group, X[,Y[,Z]] (up to 256,1,1 if not given)");
  sub->add_option("-a,--arg", o->named_arguments, "an argument as NAME=ARGUMENT; may be repeated");
  sub->add_option("-o,--out", o->outputs,
                  "write a buffer after the run: NAME=FILE (.npy, .png, else raw); may be repeated");
  sub->add_option("-p,--print", o->prints, "print a buffer after the run; may be repeated");
  sub->add_option("--print-limit", o->print_limit, "elements to print at most; 0: all")
      ->capture_default_str();
  sub->add_option("--set", o->variables,
                  "sets a __constant__ or __device__ variable before the run: NAME=VALUE; may be repeated");
  sub->add_option("--lds", o->dynamic_lds, "bytes of dynamic LDS (HIP's third launch parameter)")
      ->transform(CLI::AsSizeValue(false));
  sub->add_option("-w,--wave", o->wave, "wave size to compile source for, or to insist on")
      ->check(CLI::IsMember({32, 64}));
  sub->add_option("-d,--device", o->device, "device model ('lockstep devices') or description file (.toml)");
  sub->add_option("--engine", o->engine,
                  "execution engine; auto: the interpreter, and the translator for kernels that run for long")
      ->check(CLI::IsMember({"auto", "interpreter", "translator"}))
      ->capture_default_str();
  sub->add_option(
         "--math", o->math,
         "what V_RCP, V_RSQ, V_SQRT, V_EXP, V_LOG, V_SIN and V_COS of F32 give: the card's bits, or what is "
         "quicker and within one unit in the last place (interpreter only)")
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  sub->add_option("--alignment", o->alignment,
                  "what becomes of addresses that are not multiples of the data's size: they will do, are "
                  "aligned, or are memory violations (guide 9.5)")
      ->check(CLI::IsMember({"unaligned", "dword", "dword-strict", "strict"}))
      ->capture_default_str();
  sub->add_flag("--report-lds-range", o->report_lds_out_of_range,
                "an LDS address out of range is a memory violation; else it reads zero (guide 12.7)");
  CLI::Option* threads =
      sub->add_option("-j,--threads", o->threads, "host threads; 0: all cores")->check(CLI::Range(0, 1024));
  sub->add_flag_callback(
         "--deterministic", [o] { o->threads = 1; },
         "the same results on every run, whatever atomics and races would decide; costs all cores but one")
      ->excludes(threads);
  add_compiler_options(*sub, o->compiler);
  sub->add_flag("--debug", o->debug,
                "compile source with all debug information (line tables are always there)")
      ->group("Compiling source");
  sub->add_option("--instruction-limit", o->instruction_limit,
                  "wave-instructions after which the run counts as hung");
  sub->add_option("--wave-limit", o->wave_limit, "waves that a SIMD may hold at once");
  sub->add_flag("--fidelity", o->fidelity,
                "tell which executed instructions were not exact, and where their results went");
  add_machine_options(*sub, o->machine);
  sub->add_flag("-q,--quiet", o->quiet, "no progress, no summary, no compiler warnings");
  sub->add_flag("--stats", o->translation,
                "tell what the translator did: its share, what it cost, how waves left its code");
  add_finding_options(*sub, o->findings);
}

void add_run(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "Run a kernel of a code object, HIP program, or source file");
  sub->footer(kExamples);
  add_launch_options(sub, o);
  sub->add_option("--check", o->findings.checks,
                  "follow the waves with these " + checkers_text() + ". Exit code 1 if they find anything")
      ->group("Findings");
  sub->callback([o, &exit_code] {
    o->compiler.sources = take_sources(o->arguments);
    exit_code = run(*o);
  });
}

// Jobs and dumps say it themselves.
bool says_how_to_run(const RunOptions& o) {
  return !o.grid.empty() || !o.groups.empty() || !o.block.empty() || !o.arguments.empty() ||
         !o.named_arguments.empty() || o.input.ends_with(".toml") ||
         lockstep_dump_is_recognized(o.input.c_str());
}

void refuse_what_needs_a_run(const CLI::App& check) {
  for (const CLI::Option* option : check.get_options()) {
    const std::string name = option->get_name();
    const bool is_of_code = option->get_positional() || option->get_group() == "Findings" ||
                            option->get_group() == "Compiling source" || name == "--kernel" ||
                            name == "--wave" || name == "--device" || name == "--help";
    if (option->count() != 0 && (!is_of_code || name == "--plugin"))
      throw UsageError(
          "{}: nothing is run without a size (give --grid or --groups and the kernel's arguments, or leave "
          "{} away)",
          name, name);
  }
}

void add_check(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("check",
                                     "Run a kernel and tell of its mistakes: races, missing waits and "
                                     "others; or look at code without running it");
  sub->footer(
      "Examples:\n"
      "  lockstep check reduce.cl --grid 1024 --block 256 buf:f32[1024]=iota buf:f32[4]\n"
      "  lockstep check program --kernel scale --groups 16 --block 64 buf:in.npy f32:0.5 --format sarif "
      "--report "
      "scale.sarif\n"
      "  lockstep check library.hsaco                  all its kernels, without running one: waits, "
      "legality\n"
      "Arguments are those of 'lockstep run'. What is found, and what is not: docs/findings.md.\n"
      "Exit codes: 0 nothing was found, 1 something was, or the kernel faulted, 2 bad usage or input.");
  o->findings.checks = "all";
  o->quiet = true;
  add_launch_options(sub, o);
  sub->remove_option(sub->get_option("--quiet"));
  sub->add_option("--checkers", o->findings.checks, "only these " + checkers_text())
      ->capture_default_str()
      ->group("Findings");
  sub->callback([o, sub, &exit_code] {
    o->compiler.sources = take_sources(o->arguments);
    exit_code = says_how_to_run(*o) ? run(*o) : (refuse_what_needs_a_run(*sub), check_code(*o));
  });
}

void add_info(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<InfoOptions>();
  CLI::App* sub =
      app.add_subcommand("info", "Show the kernels of a file: arguments, registers, LDS, scratch, occupancy");
  sub->footer(
      "Examples:\n"
      "  lockstep info program.hsaco\n"
      "  lockstep info program --entries          every code object in a HIP program, for all targets\n"
      "  lockstep info saxpy.cl --wave 64 --device navi33");
  sub->add_option("FILE", o->input, "code object, offload bundle, HIP executable, or source file")
      ->required();
  sub->add_option("SOURCE", o->compiler.sources, "further source files of the same program");
  sub->add_option("-k,--kernel", o->kernel, "only this kernel");
  sub->add_option("-d,--device", o->device, "device model for the occupancy ('lockstep devices')");
  sub->add_option("-w,--wave", o->wave, "wave size to compile source for")->check(CLI::IsMember({32, 64}));
  add_compiler_options(*sub, o->compiler);
  sub->add_flag("--entries", o->entries, "list what the file contains instead, for every target");
  sub->callback([o, &exit_code] { exit_code = info(*o); });
}

void add_disasm(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<DisasmOptions>();
  CLI::App* sub = app.add_subcommand("disasm", "Disassemble a file, or bytes from the standard input");
  sub->footer(
      "Examples:\n"
      "  lockstep disasm program.hsaco --kernel saxpy\n"
      "  lockstep disasm saxpy.cl                      source lines between the instructions\n"
      "  echo 0x01,0x05,0x0a,0x06 | lockstep disasm --hex\n"
      "With --hex each line gives one line: the instruction at its start, or 'invalid'.");
  sub->add_option("FILE", o->input, "code object, offload bundle, HIP executable, or source file");
  sub->add_option("SOURCE", o->compiler.sources, "further source files of the same program");
  sub->add_option("-k,--kernel", o->kernel, "only this kernel");
  sub->add_option("-w,--wave", o->wave, "wave size, of --hex and of source")
      ->check(CLI::IsMember({32, 64}))
      ->capture_default_str();
  add_compiler_options(*sub, o->compiler);
  sub->add_flag("--hex", o->hex, "read lines of bytes, such as 0x01,0x05,0x0a,0x06, from the standard input");
  sub->add_flag("--bytes", o->bytes, "show the bytes of each instruction");
  sub->add_flag("--no-source", o->no_source, "leave source lines away");
  sub->callback([o, &exit_code] { exit_code = disasm(*o); });
}

void add_devices(CLI::App& app, int& exit_code) {
  CLI::App* sub = app.add_subcommand("devices", "List the devices that can be emulated");
  sub->footer("Examples:\n  lockstep devices\n  lockstep run kernel.cl --device navi33 ...");
  sub->callback([&exit_code] { exit_code = list_devices(); });
}

void add_doctor(CLI::App& app, int& exit_code) {
  CLI::App* sub =
      app.add_subcommand("doctor", "Tell what of this machine is needed, what is missing and how to get it");
  sub->footer("Examples:\n  lockstep doctor\nExit codes: 0 nothing is missing, 1 something is.");
  sub->callback([&exit_code] { exit_code = doctor(); });
}

void add_cache(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<CacheOptions>();
  CLI::App* sub =
      app.add_subcommand("cache", "Show or clear what was compiled and translated before and is kept");
  sub->footer("Examples:\n  lockstep cache\n  lockstep cache --clear");
  sub->add_flag("--clear", o->clear, "remove all of it");
  sub->callback([o, &exit_code] { exit_code = cache(*o); });
}

void add_isa(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<IsaOptions>();
  CLI::App* sub =
      app.add_subcommand("isa", "List the instructions: implemented or not, how exact, tested by what");
  sub->footer(
      "Examples:\n"
      "  lockstep isa rcp                        instructions with 'rcp' in their name\n"
      "  lockstep isa --encoding vop1,vop3 --fidelity open,bounded\n"
      "  lockstep isa --coverage build/release/coverage --json\n"
      "  lockstep isa --missing                  prints nothing if no instruction is missing");
  sub->add_option("MNEMONIC", o->mnemonics, "only instructions with this in their name");
  sub->add_option("-e,--encoding", o->encodings, "only these encodings, such as vop3,ds")->delimiter(',');
  sub->add_option("-f,--fidelity", o->fidelities, "only these classes")
      ->delimiter(',')
      ->check(CLI::IsMember({"exact", "bounded", "open", "unsupported"}));
  sub->add_option("--coverage", o->coverage,
                  "file that a program with LOCKSTEP_COVERAGE=FILE wrote, or a folder of them: shows who "
                  "executed a row");
  CLI::Option_group* form = sub->add_option_group("form");
  form->add_flag("--json", o->json, "as JSON");
  form->add_flag("--markdown", o->markdown, "as the page docs/isa.md");
  form->add_flag("--missing", o->missing,
                 "only rows that are neither implemented nor unsupported with a reason");
  form->add_flag("--untested", o->untested, "only implemented rows that --coverage does not show");
  form->require_option(0, 1);
  sub->callback([o, &exit_code] { exit_code = isa(*o); });
}

void add_exec(CLI::App& app, int& exit_code) {
  auto o = std::make_shared<ExecOptions>();
  CLI::App* sub = app.add_subcommand(
      "exec", "Start a ROCm program (HIP, OpenCL, a framework), unmodified, with an emulated card");
  sub->footer(
      "Examples:\n"
      "  lockstep exec -- rocminfo\n"
      "  lockstep exec --device navi33 --devices 2 -- ./program --its --options\n"
      "  lockstep exec --log dispatches.json --stats - -- ./program\n"
      "The program uses AMD's own runtime, which must be installed (docs/rocm.md).");
  sub->add_option("PROGRAM", o->program, "the program and its arguments, behind --")->required();
  sub->add_option("-d,--device", o->device, "device model ('lockstep devices') or description file (.toml)");
  sub->add_option("-n,--devices", o->devices, "how many of them")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  sub->add_option("--engine", o->engine,
                  "execution engine; auto: the interpreter, and the translator for kernels that run for long")
      ->check(CLI::IsMember({"auto", "interpreter", "translator"}))
      ->capture_default_str();
  sub->add_option("-j,--threads", o->threads, "host threads of each device; 0: all cores")
      ->check(CLI::Range(0, 1024));
  sub->add_option(
      "--log", o->log,
      "file that gets a line of JSON for each dispatch: kernel, grid, arguments, time, instructions, faults");
  sub->add_option("--dump", o->dump,
                  "writes dispatches to files that 'lockstep run' replays: their numbers as in the log, or "
                  "parts of kernels' "
                  "names, whose first dispatch is meant; with commas between them");
  sub->add_option("--dump-folder", o->dump_folder, "where to")->capture_default_str();
  sub->add_option(
      "--stats", o->statistics,
      "file that gets a line of JSON when a process ends: what its kernels took; - is a table on its "
      "standard error");
  sub->add_flag("--fidelity", o->fidelity,
                "tell which executed instructions were not exact, and where their results went (slow)");
  std::vector<std::string> exec_checkers = checker_names();
  exec_checkers.push_back("all");
  sub->add_option("--check", o->checks, "tell what these find (slow): " + checkers_text())
      ->delimiter(',')
      ->check(CLI::IsMember(exec_checkers));
  sub->add_option("--plugin", o->plugins, kPluginText);
  add_exec_machine_options(*sub, *o);
  sub->positionals_at_end();
  sub->callback([o, &exit_code] { exit_code = exec(*o); });
}

// Help, version and wrong usage: CLI11 would write them past the console.
int print_parse_result(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  print_text(out.str());
  std::string text = err.str();
  // CLI11 has "Could not convert: --option = value".
  constexpr std::string_view kConversion = "Could not convert: ";
  const size_t equals = text.find(" = ");
  if (text.starts_with(kConversion) && equals != text.npos)
    text = text.substr(kConversion.size(), equals - kConversion.size()) + " takes a whole number, not '" +
           text.substr(equals + 3, text.find('\n') - equals - 3) + "'" + text.substr(text.find('\n'));
  if (code != 0) report_text("error: ");
  report_text(text);
  return code == 0 ? kDone : kBadInput;
}

int report_interrupt() {
  report("interrupted\n");
  return interrupt_exit_code();
}

// An option that may be repeated takes one value at a time: `-p x buf:...` is no list of two.
void keep_options_from_swallowing(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options())
      if (!option->get_positional() && option->get_expected_max() > 1)
        option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

int run_command(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    std::vector<std::string> arguments = with_long_flags(argc, argv);
    arguments.erase(arguments.begin());
    std::reverse(arguments.begin(), arguments.end());  // as the parser wants them
    app.parse(std::move(arguments));
    if (app.get_subcommands().empty()) print_text(app.help());
    return exit_code;
  } catch (const CLI::ExtrasError&) {
    report_text(text_of_unexpected(app));
    return kBadInput;
  } catch (const CLI::ParseError& e) {
    return print_parse_result(app, e);
  } catch (const Interrupted&) {
    return report_interrupt();
  } catch (const lockstep::Error& e) {
    if (interrupted()) return report_interrupt();
    // A compiler's messages say themselves what they are.
    std::string_view text = e.what();
    while (text.ends_with('\n')) text.remove_suffix(1);
    const bool says_error = e.status() == LOCKSTEP_COMPILE_ERROR && text.find("error: ") != text.npos;
    report("{}{}\n", says_error ? "" : "error: ", text);
    return e.status() == LOCKSTEP_FAULT ? kFaulted : kBadInput;
  } catch (const std::bad_alloc&) {
    report_text("error: out of memory (free some, or ask for less)\n");
  } catch (const std::length_error&) {
    report_text("error: more is asked for than memory can hold (ask for less)\n");
  } catch (const std::exception& e) {
    if (interrupted()) return report_interrupt();
    report("error: {}\n", visible_lines(e.what()));
  }
  return kBadInput;
}

// Without destructors of what is static: a translation may be in the making that nobody needs any more, and
// waiting for it may take longer than the run has.
[[noreturn]] void leave(int code) {
  if (__lsan_do_leak_check) __lsan_do_leak_check();
  std::quick_exit(code);
}

}  // namespace
}  // namespace lockstep::cli

int main(int argc, char** argv) {
  using namespace lockstep::cli;
  open_standard_streams();
  catch_interrupts();
  int exit_code = kDone;
  CLI::App app(
      "Lockstep runs AMD RDNA 3 (gfx11) GPU programs without the card.\n\n"
      "Examples:\n"
      "  lockstep run saxpy.cl --grid 1024 --block 256 u32:1024 f32:2 buf:x.npy buf:y.npy --out "
      "y=result.npy\n"
      "  lockstep check reduce.cl --grid 1024 --block 256 buf:f32[1024]=iota buf:f32[4]\n"
      "  lockstep info program.hsaco\n"
      "  lockstep disasm kernel.s\n"
      "  lockstep devices\n"
      "  lockstep isa --fidelity open\n"
      "  lockstep exec -- rocminfo\n\n"
      "Exit codes: 0 done, 1 the kernel faulted or a checker found something, 2 bad usage or input, or "
      "results that cannot be written; "
      "130 interrupted by Ctrl-C.\n\n"
      "Environment:\n"
      "  ROCM_PATH                    a ROCm whose HIP headers are used for HIP source (/opt/rocm, /usr, "
      "else own ones)\n"
      "  LOCKSTEP_CLANG               the clang that compiles OpenCL C and HIP (default: the newest from 19 "
      "on)\n"
      "  LOCKSTEP_LLVM_SPIRV          the llvm-spirv that reads SPIR-V (default: the newest up to 19 in "
      "PATH)\n"
      "  LOCKSTEP_DEVICE_LIBRARIES    folder of AMD's device libraries (ocml.bc and others)\n"
      "  LOCKSTEP_COMPILE_SECONDS     processor time that a compiler may take\n"
      "  LOCKSTEP_COMPILE_MEGABYTES   memory that a compiler may take\n"
      "  LOCKSTEP_CACHE_MEGABYTES     what may be kept of what was compiled, and of what was translated (512 "
      "each); "
      "0: nothing\n"
      "  LOCKSTEP_HOST_LEVEL          x86-64-v3: as if this processor had no AVX-512\n"
      "  LOCKSTEP_COVERAGE            file to which the instructions that were executed are added\n"
      "  XDG_CACHE_HOME               where lockstep/ keeps that, and what it prepares for the compiler "
      "(~/.cache)",
      "lockstep");
  app.set_version_flag("--version", [] { return std::string("lockstep ") + lockstep_version(); });
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(36);
  add_run(app, exit_code);
  add_check(app, exit_code);
  add_info(app, exit_code);
  add_disasm(app, exit_code);
  add_devices(app, exit_code);
  add_cache(app, exit_code);
  add_doctor(app, exit_code);
  add_isa(app, exit_code);
  add_exec(app, exit_code);
  keep_options_from_swallowing(app);
  int code = run_command(app, argc, argv, exit_code);
  if (!finish_output() && code == kDone) code = kBadInput;
  leave(code);
}
