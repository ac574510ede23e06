#include <memory>

#include "api/lockstep.hpp"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/interrupt.h"
#include "cli/launch.h"
#include "cli/replay.h"

namespace lockstep::cli {
namespace {

void print_kernel(const Kernel& kernel, const char* device) {
  lockstep_kernel_info k = kernel.info();
  print("\nkernel {}\n", k.name);
  if (std::string_view(k.name) != k.readable_name) print("  source     {}\n", k.readable_name);
  if (*k.language) print("  language   {}\n", k.language);
  print("  wave       {} lanes, {} mode\n", k.wave_size, k.work_group_processor_mode ? "WGP" : "CU");
  print("  code       0x{:x}", k.code_address);
  if (k.code_bytes) print(", {} bytes", k.code_bytes);
  print("\n  registers  {} VGPRs", k.vgprs);
  if (k.sgprs) print(", {} SGPRs", k.sgprs);
  if (k.vgpr_spills || k.sgpr_spills) print(", spilled: {} VGPRs, {} SGPRs", k.vgpr_spills, k.sgpr_spills);
  print("\n  LDS        {}\n", short_bytes(k.lds_bytes));
  print("  scratch    {} a lane{}\n", short_bytes(k.scratch_bytes_per_lane),
        k.dynamic_stack ? ", dynamic stack" : "");
  const uint32_t* r = k.required_work_group_size;
  if (r[0])
    print("  work-group {} x {} x {} required\n", r[0], r[1], r[2]);
  else if (k.max_work_group_size)
    print("  work-group up to {} work-items\n", k.max_work_group_size);
  uint64_t items = k.max_work_group_size ? std::min(k.max_work_group_size, 256u) : 256;
  if (r[0] && __builtin_mul_overflow(uint64_t{r[0]} * r[1], uint64_t{r[2]}, &items)) items = UINT64_MAX;
  // Of what no device holds, 0 waves fit.
  const auto size = static_cast<uint32_t>(std::clamp<uint64_t>(items, 1, UINT32_MAX));
  print("  occupancy  {} waves a SIMD (work-groups of {})\n", kernel.occupancy(device, size), size);
  if (!k.has_metadata) {
    print("  arguments  {}, not described by the code object\n", short_bytes(k.argument_bytes));
    return;
  }
  print("  arguments  {}, {} in all with the hidden ones\n", k.argument_count, short_bytes(k.argument_bytes));
  int index = 0;
  for (const lockstep_argument_info& a : kernel.arguments()) {
    std::string notes;
    if (*a.address_space) notes += fmt::format(" {}", a.address_space);
    if (*a.access) notes += fmt::format(" {}", a.access);
    if (a.is_const) notes += " const";
    if (a.is_restrict) notes += " restrict";
    if (a.is_volatile) notes += " volatile";
    print("    {:<3} {:<16} {:<16} offset {:<4} size {:<4} {}{}\n", index++, *a.name ? a.name : "-",
          *a.type_name ? a.type_name : "-", a.offset, a.size, a.kind_name, notes);
  }
}

int list_entries(const std::string& path) {
  check(lockstep_file_list(
      path.c_str(),
      [](void*, const lockstep_file_entry* e) {
        print("{:<16} {:>10} bytes  {}  ({})\n", *e->target ? e->target : "host", e->bytes,
              *e->id ? e->id : "code object", e->where);
      },
      nullptr));
  return kDone;
}

}  // namespace

int info(const InfoOptions& o) {
  const bool is_dump = lockstep_dump_is_recognized(o.input.c_str());
  if ((is_dump || o.entries) && !o.compiler.sources.empty())
    throw UsageError("{}: is told of alone (leave '{}' away)", o.input, o.compiler.sources[0]);
  if (is_dump) return dump_info(o.input);
  if (o.entries) return list_entries(o.input);
  const char* device = o.device.empty() ? nullptr : o.device.c_str();
  Compilation compilation(o.compiler);
  lockstep_compile_options& compile = compilation.options;
  compile.wave_size = o.wave;
  std::string target = "gfx1100";
  for (const lockstep_device_info& d : Device::models())
    if (o.device == d.name) target = d.target;
  compile.target = target.c_str();
  CodeObject code = open_with_progress(o.input, compile);
  std::vector<Kernel> kernels;
  if (o.kernel.empty()) {
    kernels = code.kernels();
    for (const lockstep_image_info& i : code.images()) {
      print("{}\n  AMDGPU code object v{} for {}, {} in the file, {} in memory{}\n", i.name, i.version,
            i.target, short_bytes(i.file_bytes), short_bytes(i.memory_bytes),
            i.has_debug_info ? ", with source lines" : "");
      if (*i.compiler) print("  made by {}\n", i.compiler);
    }
  } else {
    kernels.push_back(choose_kernel(code, o.kernel, o.input));
  }
  for (const Kernel& k : kernels) {
    throw_if_interrupted();
    if (output_is_lost()) break;
    print_kernel(k, device);
  }
  if (kernels.empty()) print("no kernels\n");
  return kDone;
}

}  // namespace lockstep::cli
