#include "host/device_files.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "host/gpu.h"

namespace lockstep::host {
namespace {

const std::string kNodes = "/sys/devices/virtual/kfd/kfd/topology/nodes/";

struct DeviceFilesTest : testing::Test {
  const hardware::Description& model = hardware::models().front();
  std::vector<DeviceFile> files = device_files(model, 2, {8, uint64_t{16} << 30});

  std::string text(const std::string& path) const {
    const auto found =
        std::find_if(files.begin(), files.end(), [&](const auto& file) { return file.path == path; });
    EXPECT_NE(found, files.end()) << path;
    return found == files.end() ? "" : found->text;
  }
  // The value of a property.
  uint64_t property(const std::string& path, const std::string& name) const {
    const std::string all = "\n" + text(path);
    const size_t at = all.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << path << ": " << name;
    return at == std::string::npos ? 0 : std::stoull(all.substr(at + name.size() + 2));
  }
};

TEST_F(DeviceFilesTest, TheDescriptionIsTold) {
  const std::string node = kNodes + "1/";
  EXPECT_EQ(property(node + "properties", "simd_count"),
            model.compute_units() * model.simds_per_compute_unit);
  EXPECT_EQ(property(node + "properties", "gfx_target_version"), 110000u);
  EXPECT_EQ(property(node + "properties", "device_id"), model.pci_device_id);
  EXPECT_EQ(property(node + "mem_banks/0/properties", "size_in_bytes"),
            (uint64_t{model.memory_megabytes} - 16) << 20);  // the driver keeps some
  EXPECT_EQ(property(node + "caches/1/properties", "size"), model.l2_bytes / 1024);
  EXPECT_EQ(property(kNodes + "0/properties", "cpu_cores_count"), 8u);
  EXPECT_EQ(property(kNodes + "0/mem_banks/0/properties", "size_in_bytes"), uint64_t{16} << 30);
  EXPECT_NE(text("/usr/share/libdrm/amdgpu.ids").find("AMD " + model.description), std::string::npos);
}

// What Linux computes for these chips: programs that make queues take it from here.
TEST_F(DeviceFilesTest, AreasOfSavedWavesAreAsLargeAsLinuxWantsThem) {
  const struct {
    const char* name;
    uint64_t stack, all;
  } cases[] = {{"navi31", 0xa000, 0xa000 + 96 * 0x75000}, {"navi33", 0x4000, 0x4000 + 32 * 0x55000}};
  for (const auto& c : cases) {
    const auto& models = hardware::models();
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == c.name; });
    ASSERT_NE(found, models.end());
    files = device_files(*found, 1, {1, uint64_t{1} << 30});
    EXPECT_EQ(property(kNodes + "1/properties", "ctl_stack_size"), c.stack) << c.name;
    EXPECT_EQ(property(kNodes + "1/properties", "cwsr_size"), c.all) << c.name;
    EXPECT_EQ(property(kNodes + "0/properties", "cwsr_size"), 0u);
  }
}

TEST_F(DeviceFilesTest, DevicesDifferAndAreLinked) {
  EXPECT_NE(text(kNodes + "1/gpu_id"), text(kNodes + "2/gpu_id"));
  EXPECT_EQ(property(kNodes + "2/properties", "drm_render_minor"), kFirstRenderMinor + 1);
  EXPECT_EQ(property(kNodes + "0/properties", "io_links_count"), 2u);
  for (const unsigned node : {1u, 2u}) {
    const std::string folder = kNodes + std::to_string(node);
    EXPECT_EQ(property(kNodes + "0/io_links/" + std::to_string(node - 1) + "/properties", "node_to"), node);
    EXPECT_EQ(property(folder + "/properties", "io_links_count"), 1u);
    EXPECT_EQ(property(folder + "/io_links/0/properties", "node_to"), 0u);
    EXPECT_EQ(property(folder + "/properties", "p2p_links_count"), 1u);
    EXPECT_EQ(property(folder + "/p2p_links/0/properties", "node_from"), node);
    EXPECT_EQ(property(folder + "/p2p_links/0/properties", "node_to"), 3 - node);
  }
}

TEST_F(DeviceFilesTest, EveryModelHasFiles) {
  for (const hardware::Description& each : hardware::models()) {
    files = device_files(each, 1, {1, uint64_t{1} << 30});
    const uint64_t version = property(kNodes + "1/properties", "gfx_target_version");
    EXPECT_EQ(version, 110000 + static_cast<uint64_t>(each.target.back() - '0')) << each.name;
    for (const DeviceFile& file : files) {
      const bool is_in_a_folder_of_the_host =
          file.path.starts_with("/sys/bus/pci/devices") || file.path.starts_with("/sys/class/pci_bus/");
      EXPECT_NE(is_device_path(file.path), is_in_a_folder_of_the_host) << file.path;
    }
  }
}

TEST_F(DeviceFilesTest, PartsAreFoundByNumberAndByName) {
  const std::string die = text("/sys/class/drm/renderD128") + "/device";
  const std::string parts = text(die) + "/ip_discovery/die/0";
  EXPECT_EQ(text(parts + "/num_ips"), "4\n");
  for (const auto& [name, number] :
       {std::pair("GC", "11"), {"SDMA0", "42"}, {"SDMA1", "43"}, {"NBIF", "108"}}) {
    EXPECT_EQ(text(parts + "/" + name), parts + "/" + number);
    EXPECT_EQ(text(parts + "/" + number + "/0/hw_id"), std::string(number) + "\n");
  }
  EXPECT_EQ(text(parts + "/11/0/major"), "11\n");
  // Packets that set registers count from these: COMPUTE_PGM_LO is 0x1bac behind the first.
  EXPECT_EQ(text(parts + "/11/0/base_addr"), "0x00001260\n0x0000A000\n0x0001C000\n0x02402C00\n");
  EXPECT_EQ(text(parts + "/11/0/num_base_addresses"), "4\n");
}

TEST_F(DeviceFilesTest, ParametersOfTheModuleAreThere) {
  EXPECT_EQ(text("/sys/module/amdgpu/parameters/cwsr_enable"), "1\n");
  EXPECT_TRUE(is_device_path("/sys/module/amdgpu/parameters/cwsr_enable"));
}

TEST_F(DeviceFilesTest, OtherPathsAreTheHosts) {
  for (const char* path :
       {"/sys/devices/system/cpu/online", "/proc/cpuinfo", "/dev/null", "/sys/module/kvm/version",
        "/sys/bus/pci/devices/0000:00:01.0", "/usr/share/libdrm", "relative"})
    EXPECT_FALSE(is_device_path(path)) << path;
}

TEST_F(DeviceFilesTest, FoldersHaveTheFiles) {
  const std::vector<DeviceFile> all = with_folders(files);
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.path < b.path; }));
  const auto is_folder = [&](const std::string& path) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& file) { return file.path == path; });
    return found != all.end() && found->kind == DeviceFile::Kind::folder;
  };
  EXPECT_TRUE(is_folder("/sys/devices/virtual/kfd"));
  EXPECT_TRUE(is_folder(kNodes + "2/io_links"));
  EXPECT_TRUE(is_folder("/sys/module/amdgpu"));
  EXPECT_TRUE(is_folder("/dev/dri"));
  EXPECT_FALSE(is_folder("/sys/devices/virtual")) << "the host's";
  EXPECT_EQ(all.size() - files.size(),
            static_cast<size_t>(std::count_if(
                all.begin(), all.end(), [](const auto& f) { return f.kind == DeviceFile::Kind::folder; })));
  for (const DeviceFile& file : all)
    if (file.kind == DeviceFile::Kind::link && file.text != "/sys/bus/pci")
      EXPECT_TRUE(is_folder(file.text)) << file.path << " leads to " << file.text;
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end(),
                               [](const auto& a, const auto& b) { return a.path == b.path; }),
            all.end());
}

}  // namespace
}  // namespace lockstep::host
