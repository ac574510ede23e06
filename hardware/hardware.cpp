#include "hardware/hardware.h"

#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "hardware/models.h"

namespace lockstep::hardware {
namespace {

class Reader {
 public:
  Reader(const toml::table& table, const std::string& name) : table_(table), name_(name) {}

  void read(const char* key, std::string& out) {
    out = value<std::string>(key, "a string");
    if (out.empty()) fail(key, "is empty");
  }

  void read(const char* key, uint32_t& out, int64_t least = 1) {
    int64_t n = value<int64_t>(key, "an integer");
    if (n < least || n > UINT32_MAX)
      fail(key, (least == 0 ? "must be 0 or a positive number, not " : "must be a positive number, not ") +
                    std::to_string(n));
    out = static_cast<uint32_t>(n);
  }

  void refuse_unknown_keys() {
    for (const auto& [key, node] : table_)
      if (!known_.contains(std::string(key.str())))
        throw std::runtime_error(name_ + ", line " + std::to_string(node.source().begin.line) +
                                 ": unknown key '" + std::string(key.str()) + "'");
  }

 private:
  [[noreturn]] void fail(const char* key, const std::string& what) {
    throw std::runtime_error(name_ + ": '" + key + "' " + what);
  }

  template <class T>
  T value(const char* key, const char* kind) {
    known_.insert(key);
    const toml::table* fact = table_[key].as_table();
    if (!fact) fail(key, "is missing (write it as { value = ..., source = \"...\", sure = \"A\" })");
    for (const auto& [part, node] : *fact)
      if (part != "value" && part != "source" && part != "sure")
        fail(key, "has the unknown part '" + std::string(part.str()) + "'");
    std::string sure = (*fact)["sure"].value_or(std::string());
    if ((*fact)["source"].value_or(std::string()).empty()) fail(key, "has no source");
    if (sure != "A" && sure != "B" && sure != "C") fail(key, "says not how sure it is (A, B or C)");
    std::optional<T> v = (*fact)["value"].template value_exact<T>();
    if (!v) fail(key, std::string("has no value that is ") + kind);
    return *v;
  }

  const toml::table& table_;
  const std::string& name_;
  std::set<std::string> known_;
};

}  // namespace

Description parse(std::string_view text, const std::string& name) {
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw std::runtime_error(name + ", line " + std::to_string(e.source().begin.line) + ": " +
                             std::string(e.description()));
  }
  Description d;
  d.name = name;
  Reader reader(table, name);
  reader.read("description", d.description);
  reader.read("target", d.target);
  reader.read("shader_engines", d.shader_engines);
  reader.read("arrays_per_shader_engine", d.arrays_per_shader_engine);
  reader.read("work_group_processors_per_array", d.work_group_processors_per_array);
  reader.read("compute_units_per_work_group_processor", d.compute_units_per_work_group_processor);
  reader.read("simds_per_compute_unit", d.simds_per_compute_unit);
  reader.read("waves_per_simd", d.waves_per_simd);
  reader.read("vgprs_per_simd", d.vgprs_per_simd);
  reader.read("vgpr_granule_wave32", d.vgpr_granule_wave32);
  reader.read("lds_bytes_per_work_group_processor", d.lds_bytes_per_work_group_processor);
  reader.read("lds_bytes_per_work_group", d.lds_bytes_per_work_group);
  reader.read("lds_granule_bytes", d.lds_granule_bytes);
  reader.read("max_work_group_size", d.max_work_group_size);
  reader.read("work_groups_per_work_group_processor", d.work_groups_per_work_group_processor);
  reader.read("clock_mhz", d.clock_mhz);
  reader.read("instruction_cache_bytes", d.instruction_cache_bytes);
  reader.read("scalar_cache_bytes", d.scalar_cache_bytes);
  reader.read("l0_bytes_per_compute_unit", d.l0_bytes_per_compute_unit);
  reader.read("l1_bytes_per_array", d.l1_bytes_per_array);
  reader.read("l2_bytes", d.l2_bytes);
  reader.read("mall_bytes", d.mall_bytes, 0);
  reader.read("memory_gigabytes_per_second", d.memory_gigabytes_per_second);
  reader.refuse_unknown_keys();
  // Granules are half as large in waves of 64, and GPR_ALLOC and LDS_ALLOC count fours of registers and 256
  // bytes; products must stay in range.
  if (d.vgpr_granule_wave32 % 8)
    throw std::runtime_error(name + ": 'vgpr_granule_wave32' is no multiple of 8");
  if (d.lds_granule_bytes % 256)
    throw std::runtime_error(name + ": 'lds_granule_bytes' is no multiple of 256");
  if (uint64_t{d.shader_engines} * d.arrays_per_shader_engine * d.work_group_processors_per_array > 4096)
    throw std::runtime_error(name + ": more than 4096 work-group processors");
  if (d.work_groups_per_work_group_processor > 32)
    throw std::runtime_error(name +
                             ": 'work_groups_per_work_group_processor' is more than HW_ID2 can count (32)");
  if (d.compute_units_per_work_group_processor > 16 || d.simds_per_compute_unit > 16 || d.waves_per_simd > 64)
    throw std::runtime_error(name + ": a work-group processor of that size is beyond what is modelled");
  return d;
}

Description read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be opened");
  std::stringstream text;
  text << in.rdbuf();
  return parse(text.str(), path);
}

const std::vector<Description>& models() {
  static const std::vector<Description> all = [] {
    std::vector<Description> out;
    for (const ModelText& m : model_texts()) out.push_back(parse(m.text, std::string(m.name)));
    return out;
  }();
  return all;
}

uint32_t resident_work_groups(const Description& device, const WorkGroupNeeds& needs) {
  if (!needs.wave_size || !needs.work_items || needs.work_items > device.max_work_group_size ||
      needs.lds_bytes > device.lds_bytes_per_work_group)
    return 0;
  // A wave64 register takes two of the 32-lane registers, so half as many are granted at a time.
  uint32_t halves = needs.wave_size == 64 ? 2 : 1;
  uint32_t granule = device.vgpr_granule_wave32 / halves;
  uint32_t vgprs = (std::max(needs.vgprs, 1u) + granule - 1) / granule * granule * halves;
  uint32_t waves = std::min(device.waves_per_simd, device.vgprs_per_simd / vgprs);
  // What a group cannot reach beyond: the work-group processor, or in CU mode one of its compute units.
  uint32_t units = needs.wgp_mode ? 1 : device.compute_units_per_work_group_processor;
  uint32_t simds = device.compute_units_per_work_group_processor * device.simds_per_compute_unit / units;
  uint32_t group_waves = (needs.work_items + needs.wave_size - 1) / needs.wave_size;
  uint32_t groups = waves * simds / group_waves;
  if (needs.lds_bytes) {
    uint32_t lds = (needs.lds_bytes + device.lds_granule_bytes - 1) / device.lds_granule_bytes *
                   device.lds_granule_bytes;
    groups = std::min(groups, device.lds_bytes_per_work_group_processor / units / lds);
  }
  groups *= units;
  // A group of a single wave has no barrier and takes none of the places (guide 2.3).
  return group_waves > 1 ? std::min(groups, device.work_groups_per_work_group_processor) : groups;
}

uint32_t waves_per_simd(const Description& device, const WorkGroupNeeds& needs) {
  uint32_t groups = resident_work_groups(device, needs);
  uint32_t group_waves = needs.wave_size ? (needs.work_items + needs.wave_size - 1) / needs.wave_size : 0;
  uint32_t simds = device.compute_units_per_work_group_processor * device.simds_per_compute_unit;
  return (groups * group_waves + simds - 1) / simds;
}

}  // namespace lockstep::hardware
