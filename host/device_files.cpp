#include "host/device_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include "host/gpu.h"

namespace lockstep::host {

namespace {

constexpr std::string_view kKfdFolder = "/sys/devices/virtual/kfd/kfd";
constexpr std::string_view kDrmClass = "/sys/class/drm";
// The port that the devices are behind: one that hosts hardly have, so that nothing of theirs is hidden.
constexpr std::string_view kBridge = "/sys/devices/pci0000:00/0000:00:1e.7";
constexpr unsigned kFirstBus = 3;
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

// What a queue's waves take where they are saved, for programs that make queues themselves: Linux wants
// exactly so much (kfd_queue.c) and tells it since 6.18.
struct SaveArea {
  uint64_t stack_bytes, bytes;  // of the control stack, and all
};

SaveArea save_area(const hardware::Description& d) {
  // Of a compute unit of gfx11: scalar registers, LDS and hardware registers; vector registers as Linux has
  // them for the two larger chips and for others.
  constexpr uint64_t kScalarBytes = 0x4000, kLdsBytes = 0x10000, kHardwareBytes = 0x1000;
  constexpr uint64_t kHeaderBytes = 40, kStackBytesPerWave = 12, kWavesPerUnit = 32;
  const uint64_t vector_bytes = d.target == "gfx1100" || d.target == "gfx1101" ? 0x60000 : 0x40000;
  const auto pages = [](uint64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; };
  const uint64_t units = d.compute_units();
  const uint64_t stack = pages(kHeaderBytes + units * kWavesPerUnit * kStackBytesPerWave + 8);
  return {stack, stack + pages(units * (vector_bytes + kScalarBytes + kLdsBytes + kHardwareBytes))};
}

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
          {"cwsr_size", 0},
          {"ctl_stack_size", 0},
          {"max_engine_clk_ccompute", 4000}};
}

Properties device_properties(const hardware::Description& d, unsigned index, unsigned peers) {
  const unsigned bus = kFirstBus + index;
  const unsigned target = static_cast<unsigned>(std::stoul(d.target.substr(3)));  // 1100
  return {{"cpu_cores_count", 0},
          {"simd_count", uint64_t{d.compute_units()} * d.simds_per_compute_unit},
          {"mem_banks_count", 1},
          {"caches_count", 3},
          {"io_links_count", 1},
          {"p2p_links_count", peers},
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
          {"cwsr_size", save_area(d).bytes},
          {"ctl_stack_size", save_area(d).stack_bytes},
          {"max_engine_clk_fcompute", d.clock_mhz},
          {"local_mem_size", 0},
          {"fw_version", kComputeFirmware},
          {"capability", kDoorbells64Bits | kWatchPoints | kFourWatchPoints | kSharedVirtualMemory |
                             kFirmwareTellsExceptions},
          {"debug_prop", 1495},
          {"sdma_fw_version", kCopyFirmware},
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
          {"recommended_sdma_engine_id_mask", 0},
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

std::string alias(const hardware::Description& d) {
  return fmt::format("pci:v{:08X}d{:08X}sv{:08X}sd{:08X}bc03sc00i00", kVendorAmd, d.pci_device_id,
                     kBoardVendor, kBoard);
}

// The header of PCI's configuration space: who it is, no more.
std::string configuration(const hardware::Description& d) {
  std::string bytes(64, '\0');
  const auto put = [&](size_t at, unsigned value) {
    bytes[at] = static_cast<char>(value & 0xff);
    bytes[at + 1] = static_cast<char>(value >> 8);
  };
  put(0x00, kVendorAmd);
  put(0x02, d.pci_device_id);
  put(0x04, 0x0007);  // answers for memory and ports, may ask for the bus
  put(0x08, d.pci_revision);
  put(0x0a, 0x0300);
  put(0x2c, kBoardVendor);
  put(0x2e, kBoard);
  return bytes;
}

// Six ranges of addresses and the ROM's: the first is the memory, where programs look for its size.
std::string resources(const hardware::Description& d) {
  constexpr uint64_t kBase = uint64_t{1} << 40, kPrefetchable64BitMemory = 0x14220c;
  std::string text = fmt::format("0x{:016x} 0x{:016x} 0x{:016x}\n", kBase,
                                 kBase + std::bit_ceil(local_memory_bytes(d)) - 1, kPrefetchable64BitMemory);
  for (int i = 1; i < 7; ++i) text += fmt::format("0x{0:016x} 0x{0:016x} 0x{0:016x}\n", 0);
  return text;
}

class Files {
 public:
  using Kind = DeviceFile::Kind;
  void add(std::string path, std::string text, Kind kind = Kind::file) {
    files_.push_back({std::move(path), std::move(text), kind});
  }
  void add(std::string path, const Properties& properties) { add(std::move(path), text_of(properties)); }
  void link(std::string path, std::string target) { add(std::move(path), std::move(target), Kind::link); }
  std::vector<DeviceFile> take() { return std::move(files_); }

 private:
  std::vector<DeviceFile> files_;
};

// One of the two nodes by which a device can be opened, as the class of graphics devices shows it.
void add_node(Files& files, const std::string& device, const std::string& name, unsigned minor) {
  const std::string folder = device + "/drm/" + name;
  files.add(folder + "/dev", fmt::format("{}:{}\n", kDrmMajor, minor));
  files.add(folder + "/uevent",
            fmt::format("MAJOR={}\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n", kDrmMajor, minor, name));
  files.link(folder + "/device", device);
  files.link(folder + "/subsystem", std::string(kDrmClass));
  files.link(fmt::format("{}/{}", kDrmClass, name), folder);
  files.link(fmt::format("/sys/dev/char/{}:{}", kDrmMajor, minor), folder);
  files.add("/dev/dri/" + name, std::string());
}

// What the device is made of, for programs without libdrm: versions of the graphics core, the copy engines
// and the bus interface, and where their registers are, in dwords. Numbers and names are those of the
// driver's list of hardware.
void add_parts(Files& files, const hardware::Description& d, const std::string& die) {
  struct Part {
    unsigned number;
    std::string name;
    PartVersion version;
    std::vector<uint32_t> bases;  // of the register's segments
  };
  const bool is_card = d.target != "gfx1103";
  const std::vector<uint32_t> graphics = {0x1260, 0xa000, 0x1c000, 0x2402c00};
  const std::vector<uint32_t> bus_interface = {0, 0x14, 0xd20, 0x10400, 0x241b000, 0x4040000};
  std::vector<Part> parts = {{11, "GC", graphics_version(d), graphics},
                             {108, "NBIF", {is_card ? 4u : 7u, is_card ? 3u : 7u, 0}, bus_interface}};
  for (unsigned engine = 0; engine < d.copy_engines; ++engine)
    parts.push_back({42 + engine, fmt::format("SDMA{}", engine), copy_engine_version(d), graphics});
  files.add(die + "/num_ips", fmt::format("{}\n", parts.size()));
  for (const Part& part : parts) {
    const std::string folder = fmt::format("{}/{}", die, part.number);
    const auto add = [&](std::string_view name, std::string text) {
      files.add(fmt::format("{}/0/{}", folder, name), std::move(text));
    };
    files.link(fmt::format("{}/{}", die, part.name), folder);
    add("hw_id", fmt::format("{}\n", part.number));
    add("num_instance", "0\n");
    add("major", fmt::format("{}\n", part.version.major));
    add("minor", fmt::format("{}\n", part.version.minor));
    add("revision", fmt::format("{}\n", part.version.revision));
    add("harvest", "0x0\n");
    add("num_base_addresses", fmt::format("{}\n", part.bases.size()));
    std::string bases;
    for (const uint32_t base : part.bases) bases += fmt::format("0x{:08X}\n", base);
    add("base_addr", std::move(bases));
  }
}

// What programs learn without a library of the driver's: which chip, where, on what link, with how much
// memory. Clocks are those of the description; what has no sensor here (temperature, power, fans) has no
// file.
void add_pci_device(Files& files, const hardware::Description& d, unsigned index) {
  const unsigned bus = kFirstBus + index;
  const std::string slot = fmt::format("0000:{:02x}:00.0", bus);
  const std::string device = fmt::format("{}/{}", kBridge, slot);
  const auto add = [&](std::string_view name, std::string text) {
    files.add(fmt::format("{}/{}", device, name), std::move(text));
  };
  constexpr unsigned kDisplay = 0x030000;  // the class of display controllers
  add("uevent",
      fmt::format("DRIVER=amdgpu\nPCI_CLASS={:X}\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
                  "PCI_SLOT_NAME={}\nMODALIAS={}\n",
                  kDisplay, kVendorAmd, d.pci_device_id, kBoardVendor, kBoard, slot, alias(d)));
  add("modalias", alias(d) + "\n");
  const std::array<std::pair<const char*, unsigned>, 6> numbers = {{{"vendor", kVendorAmd},
                                                                    {"device", d.pci_device_id},
                                                                    {"subsystem_vendor", kBoardVendor},
                                                                    {"subsystem_device", kBoard},
                                                                    {"class", kDisplay},
                                                                    {"revision", d.pci_revision}}};
  for (const auto& [name, value] : numbers)
    add(name, value == kDisplay ? fmt::format("0x{:06x}\n", value) : fmt::format("0x{:x}\n", value));
  add("config", configuration(d));
  add("resource", resources(d));
  add("irq", "0\n");
  add("enable", "1\n");
  add("boot_vga", "0\n");
  add("numa_node", "-1\n");
  add("unique_id", fmt::format("{:016x}\n", 1 + index));
  for (const char* end : {"current", "max"}) {
    add(fmt::format("{}_link_speed", end), "16.0 GT/s PCIe\n");
    add(fmt::format("{}_link_width", end), fmt::format("{}\n", kPcieLanes));
  }
  const std::string memory = fmt::format("{}\n", local_memory_bytes(d));
  for (const char* kind : {"vram", "vis_vram", "gtt"}) add(fmt::format("mem_info_{}_total", kind), memory);
  for (const char* kind : {"vram", "vis_vram"})
    files.add(fmt::format("{}/mem_info_{}_used", device, kind), std::to_string(index),
              Files::Kind::used_memory);
  add("mem_info_gtt_used", "0\n");
  add("pp_dpm_sclk", fmt::format("0: {}Mhz *\n", d.clock_mhz));
  add("pp_dpm_mclk", fmt::format("0: {}Mhz *\n", d.memory_clock_mhz));
  add("power_dpm_force_performance_level", "auto\n");
  files.link(device + "/subsystem", "/sys/bus/pci");
  files.link(device + "/driver", "/sys/bus/pci/drivers/amdgpu");
  files.link("/sys/bus/pci/drivers/amdgpu/" + slot, device);
  files.link("/sys/bus/pci/devices/" + slot, device);
  // A bus of its own, by which programs find the way from one device to another.
  const std::string bus_folder = fmt::format("{}/pci_bus/0000:{:02x}", kBridge, bus);
  files.link(bus_folder + "/device", std::string(kBridge));
  files.link(fmt::format("/sys/class/pci_bus/0000:{:02x}", bus), bus_folder);

  add_node(files, device, fmt::format("card{}", index), index);
  add_node(files, device, fmt::format("renderD{}", kFirstRenderMinor + index), kFirstRenderMinor + index);
  add_parts(files, d, device + "/ip_discovery/die/0");
}

}  // namespace

PartVersion graphics_version(const hardware::Description& model) {
  return {11, 0, static_cast<unsigned>(model.target.back() - '0')};
}

PartVersion copy_engine_version(const hardware::Description& model) {
  return {6, 0, model.target == "gfx1103" ? 1u : 0u};
}

HostFacts host_facts() {
  struct sysinfo info = {};
  sysinfo(&info);
  return {static_cast<unsigned>(get_nprocs()), uint64_t{info.totalram} * info.mem_unit};
}

std::vector<DeviceFile> device_files(const hardware::Description& model, unsigned devices,
                                     const HostFacts& host) {
  Files files;
  const std::string topology = std::string(kKfdFolder) + "/topology", nodes = topology + "/nodes/";
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
    files.add(folder + "/properties", device_properties(model, index, devices - 1));
    files.add(folder + "/mem_banks/0/properties",
              memory_bank(1, local_memory_bytes(model), model.memory_bus_bits, model.memory_clock_mhz));
    files.add(folder + "/caches/0/properties", cache(index, 1, model.l0_bytes_per_compute_unit, 64));
    files.add(folder + "/caches/1/properties", cache(index, 2, model.l2_bytes, 128));
    files.add(folder + "/caches/2/properties", cache(index, 3, model.mall_bytes, 64));
    files.add(folder + "/io_links/0/properties", link(node, 0));
    // To each other devices have no links of their own (XGMI): they reach each other over the bus.
    unsigned peers = 0;
    for (unsigned other = 1; other <= devices; ++other)
      if (other != node)
        files.add(fmt::format("{}/p2p_links/{}/properties", folder, peers++), link(node, other));
    files.add(fmt::format("{}0/io_links/{}/properties", nodes, index), link(0, node));
    add_pci_device(files, model, index);
  }
  for (const char* end : {"current", "max"}) {
    files.add(fmt::format("{}/{}_link_speed", kBridge, end), "16.0 GT/s PCIe\n");
    files.add(fmt::format("{}/{}_link_width", kBridge, end), "16\n");
  }
  // Programs that list what is on the bus see the host's devices beside these.
  files.add("/sys/bus/pci/devices", std::string(), Files::Kind::shared_folder);
  files.link("/sys/class/kfd/kfd", std::string(kKfdFolder));
  files.add(fmt::format("{}/version", kDrmClass), "drm 1.1.0 20060810\n");
  files.add("/sys/module/amdgpu/initstate", "live\n");
  files.add("/sys/module/amdgpu/version", "6.7.0\n");
  // Queues are evicted with their waves (UPDATE_QUEUE), and a memory fault takes the program's others away.
  for (const auto& [name, value] : {std::pair("cwsr_enable", "1"),
                                    {"emu_mode", "0"},
                                    {"hws_max_conc_proc", "-1"},
                                    {"no_queue_eviction_on_vm_fault", "0"},
                                    {"noretry", "-1"},
                                    {"sched_policy", "0"}})
    files.add(fmt::format("/sys/module/amdgpu/parameters/{}", name), fmt::format("{}\n", value));
  files.add("/usr/share/libdrm/amdgpu.ids",
            fmt::format("1.0.0\n{:04X},\t{:02X},\tAMD {}\n", model.pci_device_id, model.pci_revision,
                        model.description));
  return files.take();
}

bool is_device_path(std::string_view path) {
  // What only this driver has, so that other devices of the host stay as they are.
  constexpr std::string_view kPrefixes[] = {"/sys/devices/virtual/kfd/",
                                            "/sys/devices/pci0000:00/0000:00:1e.7/",
                                            "/sys/module/amdgpu/",
                                            "/sys/bus/pci/drivers/amdgpu/",
                                            "/sys/dev/char/226:",
                                            "/sys/class/drm/",
                                            "/sys/class/kfd/",
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
  for (const std::string& folder : folders) files.push_back({folder, {}, DeviceFile::Kind::folder});
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

}  // namespace lockstep::host
