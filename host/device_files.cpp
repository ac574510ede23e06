#include "host/device_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "host/gpu.h"

namespace lockstep::host {

namespace {

constexpr std::string_view kTopology = "/sys/devices/virtual/kfd/kfd/topology";
constexpr unsigned kVendorAmd = 0x1002;
constexpr unsigned kBoardVendor = 0x1da2, kBoard = 0xe471;  // of a board of the model (open for the others)

using Properties = std::vector<std::pair<std::string_view, uint64_t>>;

std::string text_of(const Properties& properties) {
  std::string text;
  for (const auto& [name, value] : properties) text += fmt::format("{} {}\n", name, value);
  return text;
}

// Of KFD's node.capability.
constexpr uint64_t kDoorbells64Bits = 2u << 12, kWatchPoints = 1u << 7, kFourWatchPoints = 2u << 8,
                   kSharedVirtualMemory = 1u << 27, kFirmwareTellsExceptions = 1u << 29;

Properties host_properties(const HostFacts& host, unsigned links) {
  return {{"cpu_cores_count", host.processors},
          {"simd_count", 0},
          {"mem_banks_count", 1},
          {"caches_count", 0},
          {"io_links_count", links},
          {"p2p_links_count", 0},
          {"cpu_core_id_base", 0},
          {"simd_id_base", 0},
          {"max_waves_per_simd", 0},
          {"lds_size_in_kb", 0},
          {"gds_size_in_kb", 0},
          {"num_gws", 0},
          {"wave_front_size", 0},
          {"array_count", 0},
          {"simd_arrays_per_engine", 0},
          {"cu_per_simd_array", 0},
          {"simd_per_cu", 0},
          {"max_slots_scratch_cu", 0},
          {"gfx_target_version", 0},
          {"vendor_id", 0},
          {"device_id", 0},
          {"location_id", 0},
          {"domain", 0},
          {"drm_render_minor", 0},
          {"hive_id", 0},
          {"num_sdma_engines", 0},
          {"num_sdma_xgmi_engines", 0},
          {"num_sdma_queues_per_engine", 0},
          {"num_cp_queues", 0},
          {"max_engine_clk_ccompute", 4000}};
}

Properties device_properties(const hardware::Description& d, unsigned index, unsigned links) {
  const unsigned bus = 3 + index;
  const unsigned target = static_cast<unsigned>(std::stoul(d.target.substr(3)));  // 1100
  return {{"cpu_cores_count", 0},
          {"simd_count", uint64_t{d.compute_units()} * d.simds_per_compute_unit},
          {"mem_banks_count", 1},
          {"caches_count", 3},
          {"io_links_count", links},
          {"p2p_links_count", 0},
          {"cpu_core_id_base", 0},
          {"simd_id_base", uint64_t{0x80000000} + index * 0x10000},
          {"max_waves_per_simd", d.waves_per_simd},
          {"lds_size_in_kb", d.lds_bytes_per_work_group / 1024},
          {"gds_size_in_kb", 0},
          {"num_gws", 64},
          {"wave_front_size", 32},
          {"array_count", d.shader_engines * d.arrays_per_shader_engine},
          {"simd_arrays_per_engine", d.arrays_per_shader_engine},
          {"cu_per_simd_array", d.work_group_processors_per_array * d.compute_units_per_work_group_processor},
          {"simd_per_cu", d.simds_per_compute_unit},
          {"max_slots_scratch_cu", 32},
          {"gfx_target_version", target / 100 * 10000 + target / 10 % 10 * 100 + target % 10},
          {"vendor_id", kVendorAmd},
          {"device_id", d.pci_device_id},
          {"location_id", bus << 8},
          {"domain", 0},
          {"drm_render_minor", kFirstRenderMinor + index},
          {"hive_id", 0},
          {"num_sdma_engines", d.copy_engines},
          {"num_sdma_xgmi_engines", 0},
          {"num_sdma_queues_per_engine", 6},
          {"num_cp_queues", 8},
          {"max_engine_clk_fcompute", d.clock_mhz},
          {"local_mem_size", 0},
          {"fw_version", 550},
          {"capability", kDoorbells64Bits | kWatchPoints | kFourWatchPoints | kSharedVirtualMemory |
                             kFirmwareTellsExceptions},
          {"debug_prop", 1495},
          {"sdma_fw_version", 21},
          {"unique_id", uint64_t{1} + index},
          {"num_xcc", 1},
          {"max_engine_clk_ccompute", 4000}};
}

Properties memory_bank(unsigned type, uint64_t bytes, unsigned width, unsigned clock) {
  return {
      {"heap_type", type}, {"size_in_bytes", bytes}, {"flags", 0}, {"width", width}, {"mem_clk_max", clock}};
}

Properties link(unsigned from, unsigned to) {
  return {{"type", 2},
          {"version_major", 0},
          {"version_minor", 0},
          {"node_from", from},
          {"node_to", to},
          {"weight", from == 0 || to == 0 ? 20u : 40u},
          {"min_latency", 0},
          {"max_latency", 0},
          {"min_bandwidth", 312},
          {"max_bandwidth", 31504},
          {"recommended_transfer_size", 0},
          {"flags", 1}};
}

Properties cache(unsigned index, unsigned level, uint64_t bytes, unsigned line) {
  return {{"processor_id_low", uint64_t{0x80000000} + index * 0x10000},
          {"level", level},
          {"size", bytes / 1024},
          {"cache_line_size", line},
          {"cache_lines_per_tag", 1},
          {"associativity", 16},
          {"latency", 0},
          {"type", 9},
          {"sibling_map", 1}};
}

class Files {
 public:
  void add(std::string path, std::string text) { files_.push_back({std::move(path), std::move(text)}); }
  void add(std::string path, const Properties& properties) { add(std::move(path), text_of(properties)); }
  std::vector<DeviceFile> take() { return std::move(files_); }

 private:
  std::vector<DeviceFile> files_;
};

void add_render_node(Files& files, const hardware::Description& d, unsigned index) {
  const unsigned minor = kFirstRenderMinor + index;
  const std::string device = fmt::format("/sys/dev/char/{}:{}/device", kDrmMajor, minor);
  // Folders have a file: they are listed.
  files.add(fmt::format("{}/drm/card{}/dev", device, index), fmt::format("{}:{}\n", kDrmMajor, index));
  files.add(fmt::format("{}/drm/renderD{}/dev", device, minor), fmt::format("{}:{}\n", kDrmMajor, minor));
  files.add(device + "/uevent",
            fmt::format("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                        "PCI_SLOT_NAME=0000:{:02x}:00.0\n",
                        kVendorAmd, d.pci_device_id, kBoardVendor, kBoard, 3 + index));
  const std::array<std::pair<const char*, unsigned>, 5> numbers = {{{"vendor", kVendorAmd},
                                                                    {"device", d.pci_device_id},
                                                                    {"subsystem_vendor", kBoardVendor},
                                                                    {"subsystem_device", kBoard},
                                                                    {"revision", d.pci_revision}}};
  for (const auto& [name, value] : numbers) files.add(device + "/" + name, fmt::format("0x{:x}\n", value));
  files.add(fmt::format("/dev/dri/renderD{}", minor), std::string());
  files.add(fmt::format("/dev/dri/card{}", index), std::string());
  // Versions of the graphics core, the copy engine and the bus interface, for programs without libdrm. Their
  // numbers are those of the driver's list of hardware.
  const bool is_card = d.target != "gfx1103";
  struct Part {
    unsigned number, major, minor, revision;
  };
  const Part parts[] = {{11, 11, 0, static_cast<unsigned>(d.target.back() - '0')},
                        {42, 6, 0, is_card ? 0u : 1u},
                        {108, is_card ? 4u : 7u, is_card ? 3u : 7u, 0}};
  for (const Part& part : parts) {
    const std::string folder =
        fmt::format("/sys/class/drm/renderD{}/device/ip_discovery/die/0/{}/0", minor, part.number);
    files.add(folder + "/major", fmt::format("{}\n", part.major));
    files.add(folder + "/minor", fmt::format("{}\n", part.minor));
    files.add(folder + "/revision", fmt::format("{}\n", part.revision));
  }
}

}  // namespace

HostFacts host_facts() {
  struct sysinfo info = {};
  sysinfo(&info);
  return {static_cast<unsigned>(get_nprocs()), uint64_t{info.totalram} * info.mem_unit};
}

std::vector<DeviceFile> device_files(const hardware::Description& model, unsigned devices,
                                     const HostFacts& host) {
  Files files;
  const std::string topology(kTopology), nodes = topology + "/nodes/";
  files.add(topology + "/generation_id", "2\n");
  files.add(topology + "/system_properties",
            Properties{{"platform_oem", 0}, {"platform_id", 0}, {"platform_rev", 0}});
  files.add(nodes + "0/gpu_id", "0\n");
  files.add(nodes + "0/name", "\n");
  files.add(nodes + "0/properties", host_properties(host, devices));
  files.add(nodes + "0/mem_banks/0/properties", memory_bank(0, host.memory_bytes, 64, 3200));
  for (unsigned index = 0; index < devices; ++index) {
    const unsigned node = 1 + index;
    const std::string folder = nodes + std::to_string(node);
    files.add(folder + "/gpu_id", fmt::format("{}\n", gpu_id(model, index)));
    files.add(folder + "/name", model.name + "\n");
    files.add(folder + "/properties", device_properties(model, index, devices));
    files.add(folder + "/mem_banks/0/properties",
              memory_bank(1, local_memory_bytes(model), model.memory_bus_bits, model.memory_clock_mhz));
    files.add(folder + "/caches/0/properties", cache(index, 1, model.l0_bytes_per_compute_unit, 64));
    files.add(folder + "/caches/1/properties", cache(index, 2, model.l2_bytes, 128));
    files.add(folder + "/caches/2/properties", cache(index, 3, model.mall_bytes, 64));
    // To the host first, then to the other devices.
    unsigned links = 0;
    for (unsigned other = 0; other <= devices; ++other)
      if (other != node)
        files.add(fmt::format("{}/io_links/{}/properties", folder, links++), link(node, other));
    files.add(fmt::format("{}0/io_links/{}/properties", nodes, index), link(0, node));
    add_render_node(files, model, index);
  }
  files.add("/sys/module/amdgpu/initstate", "live\n");
  files.add("/sys/module/amdgpu/version", "6.7.0\n");
  files.add("/usr/share/libdrm/amdgpu.ids",
            fmt::format("1.0.0\n{:04X},\t{:02X},\tAMD {}\n", model.pci_device_id, model.pci_revision,
                        model.description));
  return files.take();
}

bool is_device_path(std::string_view path) {
  // What only this driver has, so that other devices of the host stay as they are.
  constexpr std::string_view kPrefixes[] = {"/sys/devices/virtual/kfd/",
                                            "/sys/module/amdgpu/",
                                            "/sys/dev/char/226:",
                                            "/sys/class/drm/renderD",
                                            "/dev/dri",
                                            "/usr/share/libdrm/amdgpu.ids"};
  for (std::string_view prefix : kPrefixes)
    if (path.starts_with(prefix) || (prefix.back() == '/' && path == prefix.substr(0, prefix.size() - 1)))
      return true;
  return false;
}

std::vector<DeviceFile> with_folders(std::vector<DeviceFile> files) {
  std::set<std::string> folders;
  for (const DeviceFile& file : files)
    for (size_t slash = file.path.rfind('/'); slash != 0 && slash != std::string::npos;
         slash = file.path.rfind('/', slash - 1)) {
      const std::string folder = file.path.substr(0, slash);
      if (!is_device_path(folder)) break;
      folders.insert(folder);
    }
  for (const std::string& folder : folders) files.push_back({folder, {}, true});
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace lockstep::host
