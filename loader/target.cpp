#include "llvm/BinaryFormat/ELF.h"
#include "loader/code_object.h"

namespace lockstep::loader {
namespace {

namespace elf = llvm::ELF;

constexpr struct {
  unsigned machine;
  std::string_view processor;
} kProcessors[] = {
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX600, "gfx600"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX601, "gfx601"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX602, "gfx602"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX700, "gfx700"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX701, "gfx701"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX702, "gfx702"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX703, "gfx703"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX704, "gfx704"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX705, "gfx705"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX801, "gfx801"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX802, "gfx802"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX803, "gfx803"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX805, "gfx805"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX810, "gfx810"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX900, "gfx900"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX902, "gfx902"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX904, "gfx904"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX906, "gfx906"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX908, "gfx908"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX909, "gfx909"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX90A, "gfx90a"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX90C, "gfx90c"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX940, "gfx940"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX941, "gfx941"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX942, "gfx942"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1010, "gfx1010"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1011, "gfx1011"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1012, "gfx1012"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1013, "gfx1013"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1030, "gfx1030"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1031, "gfx1031"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1032, "gfx1032"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1033, "gfx1033"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1034, "gfx1034"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1035, "gfx1035"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1036, "gfx1036"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1100, "gfx1100"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1101, "gfx1101"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1102, "gfx1102"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1103, "gfx1103"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1150, "gfx1150"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1151, "gfx1151"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1152, "gfx1152"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1200, "gfx1200"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX1201, "gfx1201"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX9_GENERIC, "gfx9-generic"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX10_1_GENERIC, "gfx10-1-generic"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX10_3_GENERIC, "gfx10-3-generic"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX11_GENERIC, "gfx11-generic"},
    {elf::EF_AMDGPU_MACH_AMDGCN_GFX12_GENERIC, "gfx12-generic"},
};

std::string suffix(std::string_view feature, FeatureSetting setting) {
  if (setting == FeatureSetting::on) return ":" + std::string(feature) + "+";
  if (setting == FeatureSetting::off) return ":" + std::string(feature) + "-";
  return "";
}

// Members of each generic family, from LLVM's AMDGPU usage guide (generic processors).
bool in_family(std::string_view generic, std::string_view device) {
  if (generic == "gfx11-generic") return device.starts_with("gfx11");
  if (generic == "gfx12-generic") return device.starts_with("gfx12");
  if (generic == "gfx10-1-generic") return device.starts_with("gfx101");
  if (generic == "gfx10-3-generic") return device.starts_with("gfx103");
  if (generic == "gfx9-generic")
    return device == "gfx900" || device == "gfx902" || device == "gfx904" || device == "gfx906" ||
           device == "gfx909" || device == "gfx90c";
  return false;
}

}  // namespace

std::string_view processor_of_machine(uint8_t machine) {
  for (const auto& row : kProcessors)
    if (row.machine == machine) return row.processor;
  return {};
}

std::string Target::id() const {
  return processor + suffix("sramecc", sramecc) + suffix("xnack", xnack);
}

bool Target::runs_on(std::string_view device) const {
  return processor == device || in_family(processor, device);
}

}  // namespace lockstep::loader
