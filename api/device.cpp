#include "api/device.h"

#include <cstring>

#include "api/status.h"
#include "engine/interpreter/interpreter.h"
#include "text/hex.h"

using namespace lockstep;
using namespace lockstep::api;

namespace lockstep::api {

hardware::Description device_model(const char* name) {
  const auto& models = hardware::models();
  if (!name) return models.front();
  std::string_view wanted = name;
  if (wanted.ends_with(".toml")) {
    try {
      return hardware::read_file(name);
    } catch (const std::runtime_error& e) {
      throw Failure(LOCKSTEP_BAD_INPUT, e.what());
    }
  }
  std::string known;
  for (const hardware::Description& d : models) {
    if (d.name == wanted) return d;
    known += (known.empty() ? "" : ", ") + d.name;
  }
  throw Failure(LOCKSTEP_NOT_FOUND, "there is no device '" + std::string(wanted) + "' (there are " + known +
                                        "; or give a description file, *.toml)");
}

hardware::WorkGroupNeeds work_group_needs(const lockstep_kernel& kernel, uint32_t work_items,
                                          uint32_t dynamic_lds_bytes) {
  const loader::KernelDescriptor& d = kernel.kernel->descriptor;
  hardware::WorkGroupNeeds needs;
  needs.wave_size = d.wave_size();
  needs.vgprs = d.vgpr_count();
  needs.work_items = work_items;
  needs.wgp_mode = d.rsrc1.raw >> 29 & 1;
  uint64_t lds = uint64_t{d.group_segment_fixed_size} + dynamic_lds_bytes;
  needs.lds_bytes = static_cast<uint32_t>(std::min<uint64_t>(lds, UINT32_MAX));
  return needs;
}

std::shared_ptr<const HostPages> make_pages(uint64_t bytes) {
  std::shared_ptr<const HostPages> pages = HostPages::make(bytes);
  if (!pages)
    throw Failure(LOCKSTEP_OUT_OF_MEMORY, "the host has no " + std::to_string(bytes) +
                                              " bytes of memory to give (" + std::strerror(errno) + ")");
  return pages;
}

namespace {

lockstep_device_info info_of(const hardware::Description& d) {
  lockstep_device_info info{};
  info.name = d.name.c_str();
  info.description = d.description.c_str();
  info.target = d.target.c_str();
  info.shader_engines = d.shader_engines;
  info.work_group_processors = d.work_group_processors();
  info.compute_units = d.compute_units();
  info.simds_per_compute_unit = d.simds_per_compute_unit;
  info.waves_per_simd = d.waves_per_simd;
  info.vgprs_per_simd = d.vgprs_per_simd;
  info.vgpr_granule_wave32 = d.vgpr_granule_wave32;
  info.lds_bytes_per_work_group_processor = d.lds_bytes_per_work_group_processor;
  info.lds_bytes_per_work_group = d.lds_bytes_per_work_group;
  info.max_work_group_size = d.max_work_group_size;
  info.clock_mhz = d.clock_mhz;
  info.arrays_per_shader_engine = d.arrays_per_shader_engine;
  info.lds_granule_bytes = d.lds_granule_bytes;
  info.instruction_cache_bytes = d.instruction_cache_bytes;
  info.scalar_cache_bytes = d.scalar_cache_bytes;
  info.l0_bytes_per_compute_unit = d.l0_bytes_per_compute_unit;
  info.l1_bytes_per_array = d.l1_bytes_per_array;
  info.l2_bytes = d.l2_bytes;
  info.mall_bytes = d.mall_bytes;
  info.memory_gigabytes_per_second = d.memory_gigabytes_per_second;
  info.work_groups_per_work_group_processor = d.work_groups_per_work_group_processor;
  return info;
}

memory::AlignmentMode alignment_of(lockstep_alignment_mode mode) {
  switch (number_of(mode)) {
    case LOCKSTEP_ALIGNMENT_UNALIGNED:
      return memory::AlignmentMode::unaligned;
    case LOCKSTEP_ALIGNMENT_DWORD:
      return memory::AlignmentMode::dword;
    case LOCKSTEP_ALIGNMENT_DWORD_STRICT:
      return memory::AlignmentMode::dword_strict;
    case LOCKSTEP_ALIGNMENT_STRICT:
      return memory::AlignmentMode::strict;
    default:
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    "options.alignment_mode is not a value of lockstep_alignment_mode");
  }
}

// Not what the compiler adds: descriptors of kernels, texts, and its own names.
bool is_variable(const std::string& symbol) {
  return symbol.find('.') == symbol.npos && !symbol.starts_with("__hip_cuid_");
}

// The host pointer to [address, address + bytes), all of which must be in one mapped range.
void* checked(lockstep_device* device, uint64_t address, uint64_t bytes, uint8_t access) {
  require(device != nullptr, "the device is null");
  auto ranges = device->memory.snapshot();
  if (!ranges->find(address, bytes, access)) {
    std::string what = "[" + hex(address) + ", +" + std::to_string(bytes) + ") is not memory of the device";
    std::optional<Range> near = ranges->closest_behind(address);
    if (!near) near = ranges->nearest(address);
    if (near)
      what += "; the nearest is " + near->name + " [" + hex(near->begin) + ", +" +
              std::to_string(near->end - near->begin) + ")";
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, what + " (allocate or map it first)");
  }
  return reinterpret_cast<void*>(address);
}

}  // namespace
}  // namespace lockstep::api

const machine::LoadedCode& lockstep_device::load(const std::shared_ptr<const Image>& image) {
  for (const Loaded& l : loaded)
    if (l.image == image) return *l.code;
  const loader::Target& target = image->object.target();
  if (!target.runs_on(model.target))
    throw Failure(LOCKSTEP_BAD_INPUT, image->object.name() + ": is for " + target.processor +
                                          ", the device " + model.name + " is " + model.target +
                                          " (compile it for " + model.target + " or choose another device)");
  loaded.push_back({image, take(machine::LoadedCode::load(image->object, memory))});
  return *loaded.back().code;
}

uint32_t lockstep_device_model_count() {
  return static_cast<uint32_t>(hardware::models().size());
}

lockstep_status lockstep_device_model(uint32_t index, lockstep_device_info* out) {
  return guarded([&] {
    require(index < hardware::models().size(), "there is no device model of that index");
    give(out, info_of(hardware::models()[index]));
  });
}

void lockstep_device_options_init_sized(lockstep_device_options* options, size_t struct_size) {
  give_defaults(options, struct_size, lockstep_device_options{});
}

lockstep_status lockstep_device_create(const lockstep_device_options* given, lockstep_device** out) {
  return guarded([&] {
    require(out != nullptr, "out is null");
    lockstep_device_options options = with_defaults(given, lockstep_device_options{});
    const int engine = number_of(options.engine), math = number_of(options.math);
    require(engine == LOCKSTEP_ENGINE_AUTO || engine == LOCKSTEP_ENGINE_INTERPRETER ||
                engine == LOCKSTEP_ENGINE_TRANSLATOR,
            "the engine is unknown");
    require(math == LOCKSTEP_MATH_EXACT || math == LOCKSTEP_MATH_FAST,
            "options.math is not a value of lockstep_math");
    require(options.threads <= 1024, "more than 1024 threads");
    try {
      interpreter::best_host_target();
    } catch (const std::runtime_error& error) {
      throw Failure(LOCKSTEP_UNSUPPORTED, error.what());
    }
    const memory::AccessModes access_modes{alignment_of(options.alignment_mode),
                                           options.report_lds_out_of_range != 0};
    auto device = std::make_unique<lockstep_device>();
    device->model = device_model(options.name);
    device->engine = options.engine == LOCKSTEP_ENGINE_TRANSLATOR    ? machine::EngineKind::translator
                     : options.engine == LOCKSTEP_ENGINE_INTERPRETER ? machine::EngineKind::interpreter
                                                                     : machine::EngineKind::automatic;
    device->math = options.math == LOCKSTEP_MATH_FAST ? Math::fast : Math::exact;
    device->threads = options.threads;
    device->access_modes = access_modes;
    device->queue_control = options.wave_control;
    device->placement = std::make_shared<machine::Placement>(device->model);
    *out = device.release();
  });
}

void lockstep_device_destroy(lockstep_device* device) {
  delete device;
}

lockstep_status lockstep_device_get_info(const lockstep_device* device, lockstep_device_info* out) {
  return guarded([&] {
    require(device != nullptr, "the device is null");
    give(out, info_of(device->model));
  });
}

lockstep_status lockstep_device_reset_global_state(lockstep_device* device) {
  return guarded([&] {
    require(device != nullptr, "the device is null");
    require(DeviceState::Access(*device->global_state).reset(),
            "waves wait for each other at global wave sync (wait for their dispatch, or end it)");
  });
}

lockstep_status lockstep_device_load(lockstep_device* device, const lockstep_code_object* object) {
  return guarded([&] {
    require(device && object, "the device or the code object is null");
    for (const auto& image : object->images) device->load(image);
  });
}

lockstep_status lockstep_device_symbol(lockstep_device* device, const lockstep_code_object* object,
                                       const char* name, uint64_t* out_address, uint64_t* out_size) {
  return guarded([&] {
    require(device && object && name && out_address, "device, object, name or out_address is null");
    for (const auto& image : object->images) {
      const loader::Symbol* symbol = image->object.find_symbol(name);
      if (!symbol) continue;
      *out_address = device->load(image).loaded_address(symbol->address);
      if (out_size) *out_size = symbol->size;
      return;
    }
    std::string known;
    for (const auto& image : object->images)
      for (const loader::Symbol& symbol : image->object.symbols())
        if (symbol.kind == loader::SymbolKind::object && is_variable(symbol.name) && known.size() < 200)
          known += (known.empty() ? "" : ", ") + symbol.name;
    throw Failure(LOCKSTEP_NOT_FOUND, object->name + ": has no symbol '" + name + "'; " +
                                          (known.empty() ? "it has no variables (static ones, and those that "
                                                           "nothing uses, are gone after compiling)"
                                                         : "its variables are " + known));
  });
}

lockstep_status lockstep_memory_allocate(lockstep_device* device, uint64_t bytes, const char* name,
                                         uint64_t* out_address) {
  return guarded([&] {
    require(device && out_address, "the device or out_address is null");
    require(bytes > 0, "an allocation of 0 bytes");
    auto pages = make_pages(bytes);
    uint64_t address = pages->address();
    if (!device->memory.map(address, bytes, kReadWrite, std::string("buffer '") + (name ? name : "") + "'",
                            pages))
      throw Failure(LOCKSTEP_INTERNAL_ERROR,
                    "fresh memory overlaps a mapped range (unmap host memory before it is freed)");
    device->allocations.emplace(address, std::move(pages));
    *out_address = address;
  });
}

lockstep_status lockstep_memory_free(lockstep_device* device, uint64_t address) {
  return guarded([&] {
    require(device != nullptr, "the device is null");
    auto found = device->allocations.find(address);
    if (found == device->allocations.end())
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    hex(address) + " is not the start of an allocation of this device");
    constexpr size_t kMostFreed = 1024;
    if (const auto range = device->memory.snapshot()->nearest(address); range && range->begin == address) {
      if (device->freed.size() == kMostFreed) device->freed.erase(device->freed.begin());
      device->freed.push_back({range->begin, range->end, range->access, range->name});
      device->tell_unmapped(device->freed.back());
    }
    device->queue_hosts.forget(address, address + found->second->bytes());
    device->memory.unmap(address);
    found->second->empty();
    device->allocations.erase(found);
  });
}

lockstep_status lockstep_memory_map(lockstep_device* device, void* host, uint64_t bytes,
                                    lockstep_access access, const char* name) {
  return guarded([&] {
    require(device && host && bytes, "the device or the memory is null, or it has 0 bytes");
    require(access >= LOCKSTEP_READ && access <= LOCKSTEP_READ_WRITE, "the access is unknown");
    uint64_t address = reinterpret_cast<uint64_t>(host);
    if (!device->memory.map(address, bytes, static_cast<uint8_t>(access),
                            std::string("host memory '") + (name ? name : "") + "'"))
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, "[" + hex(address) + ", +" + std::to_string(bytes) +
                                                   ") overlaps memory that is mapped already");
    device->mappings[address] = bytes;
  });
}

lockstep_status lockstep_memory_unmap(lockstep_device* device, void* host) {
  return guarded([&] {
    require(device != nullptr, "the device is null");
    uint64_t address = reinterpret_cast<uint64_t>(host);
    const auto mapping = device->mappings.find(address);
    if (mapping == device->mappings.end())
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    hex(address) + " is not the start of a mapping of this device");
    device->queue_hosts.forget(address, address + mapping->second);
    device->mappings.erase(mapping);
    device->memory.unmap(address);
  });
}

lockstep_status lockstep_memory_write(lockstep_device* device, uint64_t address, const void* from,
                                      uint64_t bytes) {
  return guarded([&] {
    if (bytes == 0) return;
    require(from != nullptr, "the source is null");
    // The host owns all of the memory: a range that kernels may only read is no less writable here.
    std::memcpy(checked(device, address, bytes, kRead), from, bytes);
  });
}

lockstep_status lockstep_memory_read(lockstep_device* device, uint64_t address, void* to, uint64_t bytes) {
  return guarded([&] {
    if (bytes == 0) return;
    require(to != nullptr, "the destination is null");
    std::memcpy(to, checked(device, address, bytes, 0), bytes);
  });
}

lockstep_status lockstep_memory_fill(lockstep_device* device, uint64_t address, uint8_t value,
                                     uint64_t bytes) {
  return guarded([&] {
    if (bytes == 0) return;
    std::memset(checked(device, address, bytes, kRead), value, bytes);
  });
}

const lockstep_fault* lockstep_device_fault(const lockstep_device* device) {
  return device && device->fault ? &device->fault->fault : nullptr;
}
