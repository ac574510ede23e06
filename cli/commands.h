// The subcommands and their options. Each returns the program's exit code; main.cpp reads the command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/compiler_flags.h"
#include "cli/findings.h"

namespace lockstep::cli {

// The machine around the instructions: see --help.
struct MachineOptions {
  std::string rules = "ignore";
  bool exceptions = false;
  std::string trap_handler;  // file
  std::string trap_memory;   // buffer argument
  std::vector<std::string> trap_on, trap_exceptions, watches, host_traps;
  std::vector<uint64_t> context_saves;
  bool skip_traps = false;
  std::string results = "now";
  std::string caches = "coherent";
  std::string order = "forward";
  unsigned initial_byte = 0;
};

struct RunOptions {
  std::string input;
  std::string kernel;
  std::string grid, groups, block;
  std::vector<std::string> arguments, named_arguments;
  std::vector<std::string> outputs, prints;
  std::vector<std::string> variables;
  CompilerOptions compiler;
  uint64_t dynamic_lds = 0;
  uint32_t wave = 0;
  uint32_t wave_limit = 0;
  uint32_t threads = 0;
  uint32_t print_limit = 64;
  uint64_t instruction_limit = 0;
  bool debug = false;
  bool quiet = false;
  bool translation = false;  // tell what the translator did
  bool fidelity = false;
  FindingOptions findings;
  MachineOptions machine;
  std::string device;
  std::string engine = "auto";
  std::string math = "exact";
  std::string alignment = "unaligned";
  bool report_lds_out_of_range = false;
};

int run(const RunOptions& options);
// Of the input, the kernel, how source is compiled, and findings; the rest says how to run something.
int check_code(const RunOptions& options);

struct InfoOptions {
  std::string input, kernel, device;
  CompilerOptions compiler;
  uint32_t wave = 0;
  bool entries = false;
};

int info(const InfoOptions& options);

struct DisasmOptions {
  std::string input, kernel;
  CompilerOptions compiler;
  uint32_t wave = 32;
  bool hex = false;
  bool no_source = false;
  bool bytes = false;
};

int disasm(const DisasmOptions& options);

int list_devices();

// What of this machine Lockstep needs, and whether it is there.
int doctor();

struct CacheOptions {
  bool clear = false;
};

int cache(const CacheOptions& options);

struct IsaOptions {
  std::vector<std::string> mnemonics, encodings, fidelities;
  std::string coverage;
  bool json = false;
  bool markdown = false;
  bool missing = false;
  bool untested = false;
};

int isa(const IsaOptions& options);

struct ExecOptions {
  std::vector<std::string> program;  // and its arguments
  std::string device;
  uint32_t devices = 1;
  uint32_t threads = 0;
  std::string engine = "auto";
  std::string rules, results, caches, order;  // as of `run`; empty: as the environment says
  bool fidelity = false;
  std::vector<std::string> checks;   // names of checkers
  std::vector<std::string> plugins;  // FILE[:ARGUMENTS]
  std::string log, statistics;       // files; empty: none
  std::string dump;                  // dispatches, "3,7,saxpy"; empty: none
  std::string dump_folder = ".";
};

// Returns only by an exception: the program takes the place of this one.
int exec(const ExecOptions& options);

}  // namespace lockstep::cli
