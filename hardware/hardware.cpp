#include "hardware/hardware.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>

#include "hardware/models.h"

// toml++ 3.3 asserts at some texts that are no TOML, and without assertions it assumes that there are none.
struct ParserGaveUp {};
#define TOML_ASSERT(condition) ((condition) ? void() : throw ParserGaveUp())
// Values in values, which the parser and the destructors of what it makes descend into: a description has
// two.
#define TOML_MAX_NESTED_VALUES 16
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace lockstep::hardware {
namespace {

// What a number may be. The greatest ones are what registers that tell waves of it can count.
struct Limits {
  int64_t least = 1, most = UINT32_MAX;
  uint32_t unit = 1;
  const char* because = "";
};

class Reader {
 public:
  Reader(const toml::table& table, const std::string& name) : table_(table), name_(name) {}

  void read(const char* key, std::string& out) {
    out = value<std::string>(key, "a string");
    if (out.empty()) fail(key, "is empty");
  }

  void read(const char* key, uint32_t& out, const Limits& limits = {}) {
    const int64_t n = value<int64_t>(key, "an integer");
    if (n < limits.least || n > limits.most)
      fail(key, "must be " + std::to_string(limits.least) +
                    (limits.most != limits.least ? " to " + std::to_string(limits.most) : "") +
                    limits.because + ", not " + std::to_string(n));
    if (n % limits.unit != 0)
      fail(key, "is " + std::to_string(n) + ", which is no multiple of " + std::to_string(limits.unit) +
                    limits.because);
    out = static_cast<uint32_t>(n);
  }

  void refuse_unknown_keys() const {
    for (const auto& [key, node] : table_)
      if (!known_.contains(std::string(key.str()))) fail(std::string(key.str()), "is an unknown key");
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    const toml::node* node = table_.get(key);
    throw std::runtime_error(name_ +
                             (node ? ", line " + std::to_string(node->source().begin.line) : std::string()) +
                             ": '" + key + "' " + what);
  }

 private:
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

// A description has some 3 kB, and its keys have one part. Dotted keys become tables in tables as deep as
// they have dots, and toml++ descends into them, so the dots of a line are limited (those of texts and
// comments are counted as well). Keys end with their line; arrays go on, as deep as TOML_MAX_NESTED_VALUES.
constexpr size_t kMostBytes = size_t{1} << 16;
constexpr size_t kMostDots = 64;

void refuse_what_the_parser_does_not_bear(std::string_view text, const std::string& name) {
  if (text.size() > kMostBytes)
    throw std::runtime_error(name + ": is larger than " + std::to_string(kMostBytes >> 10) +
                             " kB, which is no description of a device");
  size_t line = 1, dots = 0;
  for (const char c : text) {
    const auto fail = [&](const std::string& what) {
      throw std::runtime_error(name + ", line " + std::to_string(line) + ": " + what);
    };
    // toml++ 3.3 runs into what it has marked as unreachable at some characters beyond.
    if (static_cast<unsigned char>(c) > 0x7f) fail("a character that is not ASCII");
    if (c == '.' && ++dots > kMostDots)
      fail("more than " + std::to_string(kMostDots) + " dots (keys have one part here)");
    if (c != '\n') continue;
    ++line;
    dots = 0;
  }
}

}  // namespace

Description parse(std::string_view text, const std::string& name) {
  refuse_what_the_parser_does_not_bear(text, name);
  toml::table table;
  try {
    table = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw std::runtime_error(name + ", line " + std::to_string(e.source().begin.line) + ": " +
                             std::string(e.description()));
  } catch (const ParserGaveUp&) {
    throw std::runtime_error(name + ": is no TOML (a bracket, a brace or a quote too many?)");
  }
  Description d;
  d.name = name;
  Reader reader(table, name);
  reader.read("description", d.description);
  reader.read("target", d.target);
  if (d.target < "gfx1100" || d.target > "gfx1103" || d.target.size() != 7)
    reader.fail("target", "must be gfx1100, gfx1101, gfx1102 or gfx1103, not " + d.target);
  reader.read("shader_engines", d.shader_engines, {.most = 8, .because = " (SE_ID of HW_ID1)"});
  reader.read("arrays_per_shader_engine", d.arrays_per_shader_engine,
              {.most = 2, .because = " (SA_ID of HW_ID1)"});
  reader.read("work_group_processors_per_array", d.work_group_processors_per_array,
              {.most = 16, .because = " (WGP_ID of HW_ID1)"});
  reader.read("compute_units_per_work_group_processor", d.compute_units_per_work_group_processor,
              {.least = kComputeUnits, .most = kComputeUnits, .because = " (SIMD_ID of HW_ID1)"});
  reader.read("simds_per_compute_unit", d.simds_per_compute_unit,
              {.least = kSimds, .most = kSimds, .because = " (SIMD_ID of HW_ID1)"});
  reader.read("waves_per_simd", d.waves_per_simd, {.most = 32, .because = " (WAVE_ID of HW_ID1)"});
  reader.read("vgprs_per_simd", d.vgprs_per_simd, {.most = 2048, .because = " (VGPR_BASE of GPR_ALLOC)"});
  // Granules are half as large in waves of 64, and GPR_ALLOC and LDS_ALLOC count fours of registers and 256
  // bytes.
  reader.read("vgpr_granule_wave32", d.vgpr_granule_wave32,
              {.least = 8, .most = 256, .unit = 8, .because = " (GPR_ALLOC; halves for waves of 64)"});
  reader.read("double_precision_lanes_per_simd", d.double_precision_lanes_per_simd,
              {.least = 0, .most = 32, .because = " (DP_RATE of HW_ID1)"});
  if (d.double_precision_lanes_per_simd & (d.double_precision_lanes_per_simd - 1))
    reader.fail("double_precision_lanes_per_simd",
                "must be 0 or a power of two (DP_RATE of HW_ID1 has its logarithm), not " +
                    std::to_string(d.double_precision_lanes_per_simd));
  reader.read("lds_bytes_per_work_group_processor", d.lds_bytes_per_work_group_processor,
              {.most = 131072, .because = " (LDS_BASE of LDS_ALLOC)"});
  reader.read("lds_bytes_per_work_group", d.lds_bytes_per_work_group,
              {.most = 65536, .because = " (addresses of LDS have 16 bits)"});
  reader.read("lds_granule_bytes", d.lds_granule_bytes,
              {.least = 256, .most = 65536, .unit = 256, .because = " (LDS_ALLOC)"});
  reader.read("max_work_group_size", d.max_work_group_size,
              {.most = 1024, .because = " (32 waves, whose number in the group has 5 bits)"});
  reader.read("work_groups_per_work_group_processor", d.work_groups_per_work_group_processor,
              {.most = 32, .because = " (WG_ID of HW_ID2)"});
  reader.read("clock_mhz", d.clock_mhz);
  reader.read("instruction_cache_bytes", d.instruction_cache_bytes);
  reader.read("scalar_cache_bytes", d.scalar_cache_bytes, {.least = 128, .because = " (a line at least)"});
  reader.read("l0_bytes_per_compute_unit", d.l0_bytes_per_compute_unit,
              {.least = 128, .because = " (a line at least)"});
  reader.read("l1_bytes_per_array", d.l1_bytes_per_array, {.least = 128, .because = " (a line at least)"});
  reader.read("l2_bytes", d.l2_bytes);
  reader.read("mall_bytes", d.mall_bytes, {.least = 0});
  reader.read("memory_gigabytes_per_second", d.memory_gigabytes_per_second);
  reader.read("pci_device_id", d.pci_device_id, {.most = 0xffff, .because = " (a PCI device id)"});
  reader.read("pci_revision", d.pci_revision, {.least = 0, .most = 0xff, .because = " (a PCI revision)"});
  reader.read("memory_megabytes", d.memory_megabytes, {.least = 16, .most = 1 << 20});
  reader.read("memory_bus_bits", d.memory_bus_bits, {.most = 8192});
  reader.read("memory_clock_mhz", d.memory_clock_mhz);
  reader.read("copy_engines", d.copy_engines, {.most = 16});
  reader.refuse_unknown_keys();
  auto check_count = [&](const char* key, uint32_t total, uint32_t granule, uint32_t most) {
    if (total < granule || total / granule > most)
      reader.fail(key, "is " + std::to_string(total) + ", which is " + std::to_string(total / granule) +
                           " granules of " + std::to_string(granule) + " (1 to " + std::to_string(most) +
                           " can be given out)");
  };
  check_count("vgprs_per_simd", d.vgprs_per_simd, d.vgpr_granule_wave32, kMostVgprGranules);
  check_count("lds_bytes_per_work_group_processor", d.lds_bytes_per_work_group_processor, d.lds_granule_bytes,
              kMostLdsBlocks);
  return d;
}

Description read_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be opened");
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) throw std::runtime_error(path + ": cannot be read");
  text.resize(static_cast<size_t>(in.gcount()));
  return parse(text, path);
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
  constexpr uint32_t kMostVgprs = 256;
  uint32_t vgprs = (std::clamp(needs.vgprs, 1u, kMostVgprs) + granule - 1) / granule * granule * halves;
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
