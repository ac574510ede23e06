// libFuzzer target: any text as a device description. It is refused with the file's name and a reason, or the
// device is one that the rest can rely on: kernels of every size get an occupancy within its limits, and as
// many groups find room.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>

#include "hardware/hardware.h"
#include "machine/placement.h"
#include "state/wave.h"

namespace {

using lockstep::hardware::Description;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

uint32_t rounded_up(uint32_t value, uint32_t unit) {
  return (value + unit - 1) / unit * unit;
}

// `device` has a single work-group processor.
void occupy(const Description& device, std::mt19937& random) {
  auto up_to = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  lockstep::hardware::WorkGroupNeeds needs;
  needs.wave_size = random() & 1 ? 64 : 32;
  needs.vgprs = random() % 8 == 0 ? static_cast<uint32_t>(random()) : up_to(256);
  needs.work_items = random() % 8 == 0 ? static_cast<uint32_t>(random()) : up_to(1024);
  needs.lds_bytes = random() % 8 == 0 ? static_cast<uint32_t>(random()) : up_to(random() & 1 ? 65536 : 4096);
  needs.wgp_mode = random() & 1;
  const uint32_t groups = lockstep::hardware::resident_work_groups(device, needs);
  require(lockstep::hardware::waves_per_simd(device, needs) <= device.waves_per_simd);
  if (needs.work_items == 0 || needs.work_items > device.max_work_group_size) return require(groups == 0);

  const uint32_t vgprs =
      lockstep::allocated_vgprs(std::min(needs.vgprs, 256u), needs.wave_size, device.vgpr_granule_wave32);
  lockstep::machine::PlacementNeeds wanted;
  wanted.waves = (needs.work_items + needs.wave_size - 1) / needs.wave_size;
  wanted.wave_size = needs.wave_size;
  wanted.vgprs = vgprs;
  wanted.lds_bytes = needs.lds_bytes;
  wanted.wgp_mode = needs.wgp_mode;
  constexpr uint32_t kSimdsOfProcessor = lockstep::hardware::kComputeUnits * lockstep::hardware::kSimds;
  require(groups * wanted.waves <= device.waves_per_simd * kSimdsOfProcessor);
  require(groups * wanted.waves * vgprs * (needs.wave_size / 32) <=
          device.vgprs_per_simd * kSimdsOfProcessor);
  require(groups == 0 || needs.lds_bytes <= device.lds_bytes_per_work_group);
  if (groups != 0)
    require(groups * rounded_up(needs.lds_bytes, device.lds_granule_bytes) <=
            device.lds_bytes_per_work_group_processor);
  lockstep::machine::Placement placement(device);
  require(placement.ever_fits(wanted) == (groups != 0));
  uint32_t found = 0;
  while (const auto group = placement.allocate(wanted)) {
    ++found;
    require(lockstep::machine::hardware_id2(*group, 0) >> 16 < 32);
    for (unsigned wave = 0; wave < group->waves; ++wave)
      require((lockstep::machine::hardware_id1(*group, wave) & 31) < device.waves_per_simd);
  }
  require(found == groups);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Description device;
  try {
    device = lockstep::hardware::parse(text, "fuzzed.toml");
  } catch (const std::runtime_error& error) {
    const std::string_view message = error.what();
    require(message.starts_with("fuzzed.toml"));
    require(message.find(": ") != std::string_view::npos);
    return 0;
  }
  require(device.work_group_processors() > 0 && device.compute_units() > 0);
  device.shader_engines = device.arrays_per_shader_engine = device.work_group_processors_per_array = 1;
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string_view>()(text)));
  for (unsigned i = 0; i < 16; ++i) occupy(device, random);
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

// Half of the time a value becomes another number: what the parser of TOML takes is what is of interest.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  std::string text(reinterpret_cast<const char*>(data), size);
  const size_t first = text.find("value = ", size == 0 ? 0 : random() % size);
  if (first == std::string::npos || random() & 1) return LLVMFuzzerMutate(data, size, most);
  const size_t begin = first + std::string_view("value = ").size(), end = text.find_first_of(",\n}", begin);
  const int64_t near = int64_t{1} << random() % 36;
  const int64_t number =
      random() % 4 == 0 ? static_cast<int64_t>(random() % 4096)
                        : near * static_cast<int64_t>(random() % 4) + static_cast<int64_t>(random() % 3) - 1;
  text.replace(begin, end == std::string::npos ? std::string::npos : end - begin, std::to_string(number));
  size = std::min(text.size(), most);
  std::copy_n(text.begin(), size, data);
  return size;
}
