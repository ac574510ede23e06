#include "api/code_object.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>

#include "api/device.h"
#include "api/status.h"
#include "loader/bundle.h"
#include "loader/readable_name.h"
#include "text/visible.h"
#include "toolchain/compile.h"
#include "toolchain/diagnosis.h"
#include "toolchain/spirv.h"

namespace lockstep::api {
namespace {

constexpr const char* kDefaultTarget = "gfx1100";

// Asks the caller whether to go on, about ten times a second however often it is asked itself.
class Cancellation {
 public:
  explicit Cancellation(const lockstep_compile_options& options)
      : callback_(options.cancelled), user_(options.cancelled_user) {}

  bool operator()() {
    using Clock = std::chrono::steady_clock;
    if (cancelled_ || !callback_) return cancelled_;
    const Clock::time_point now = Clock::now();
    if (now - asked_ < std::chrono::milliseconds(100)) return false;
    asked_ = now;
    return cancelled_ = callback_(user_) != 0;
  }
  void throw_if_cancelled(const std::string& name) {
    if ((*this)()) throw Failure(LOCKSTEP_CANCELLED, name + ": reading it was cancelled");
  }
  // For those who keep a copy.
  std::function<bool()> function() {
    if (!callback_) return {};
    return [this] { return (*this)(); };
  }

 private:
  int (*const callback_)(void*);
  void* const user_;
  std::chrono::steady_clock::time_point asked_{};
  bool cancelled_ = false;
};

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

std::vector<std::byte> read_file(const std::string& path, Cancellation& cancelled) {
  constexpr size_t kBlock = 4 << 20;
  constexpr uint64_t kMostBytes = uint64_t{8} << 30;  // a pipe may have no end
  const auto fail = [&](lockstep_status status, const std::string& what) {
    throw Failure(status, path + ": " + what);
  };
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      fail(LOCKSTEP_NOT_FOUND, "there is no such file (check the path)");
    fail(LOCKSTEP_BAD_INPUT, std::string("cannot be opened: ") + std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) fail(LOCKSTEP_BAD_INPUT, "is a directory (name a file in it)");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    fail(LOCKSTEP_BAD_INPUT, "is neither a file nor a pipe (name a file)");
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.number < 0) {
    const int error = errno;  // a signal while nobody writes to the pipe
    if (error == EINTR) cancelled.throw_if_cancelled(path);
    fail(LOCKSTEP_BAD_INPUT,
         std::string("cannot be opened: ") + std::strerror(error) + " (check its permissions)");
  }
  std::vector<std::byte> bytes;
  if (S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) <= kMostBytes)
    bytes.reserve(static_cast<size_t>(status.st_size) + kBlock);
  for (size_t size = 0;;) {
    cancelled.throw_if_cancelled(path);
    bytes.resize(size + kBlock);
    const ssize_t got = read(file.number, bytes.data() + size, kBlock);
    if (got < 0 && errno != EINTR)
      fail(LOCKSTEP_BAD_INPUT, std::string("cannot be read: ") + std::strerror(errno));
    size += got > 0 ? static_cast<size_t>(got) : 0;
    if (size > kMostBytes) fail(LOCKSTEP_BAD_INPUT, "is larger than 8 GiB, which no code object is");
    if (got == 0) {
      bytes.resize(size);
      return bytes;
    }
  }
}

// HIP's metadata calls its language OpenCL C and names no types, but the kernel's mangled name has them.
void describe_source(lockstep_kernel& kernel, bool is_of_hip) {
  for (const loader::Argument* argument : kernel.arguments) kernel.type_names.push_back(argument->type_name);
  if (!kernel.kernel->metadata) return;
  const bool has_types = std::any_of(kernel.type_names.begin(), kernel.type_names.end(),
                                     [](const std::string& type) { return !type.empty(); });
  kernel.language = is_of_hip ? "HIP" : kernel.kernel->metadata->language;
  if (has_types || kernel.readable_name == kernel.kernel->name) return;
  std::vector<std::string> types = loader::parameter_types(kernel.readable_name);
  if (types.size() == kernel.arguments.size()) kernel.type_names = std::move(types);
}

std::unique_ptr<lockstep_code_object> from_bytes(std::span<const std::byte> bytes, const std::string& name,
                                                 const lockstep_compile_options& options,
                                                 Cancellation& cancelled) {
  std::string target = options.target ? options.target : kDefaultTarget;
  auto out = std::make_unique<lockstep_code_object>();
  out->name = name;
  loader::Result<std::vector<loader::Image>> listed = loader::list_images(bytes, name, cancelled.function());
  cancelled.throw_if_cancelled(name);
  std::vector<loader::Image> found = take(std::move(listed));
  // A lone code object is opened whatever its target, so that it can be inspected; a device refuses what it
  // cannot run.
  bool alone = found.size() == 1 && found[0].id.empty();
  if (!alone) found = take(loader::choose_images(found, name, target));
  for (const loader::Image& image : found) {
    cancelled.throw_if_cancelled(name);
    out->images.push_back(
        std::make_shared<const Image>(take(loader::CodeObject::parse(image.bytes, image.where))));
  }
  for (const auto& image : out->images) {
    // Which clang puts into each object that it makes of HIP.
    const bool is_of_hip =
        std::any_of(image->object.symbols().begin(), image->object.symbols().end(),
                    [](const loader::Symbol& symbol) { return symbol.name.starts_with("__hip_cuid_"); });
    for (const loader::Kernel& k : image->object.kernels()) {
      lockstep_kernel handle;
      handle.image = image;
      handle.kernel = &k;
      handle.readable_name = loader::readable_name(k.name);
      if (k.metadata) handle.arguments = k.metadata->user_arguments();
      describe_source(handle, is_of_hip);
      out->kernels.push_back(std::move(handle));
    }
  }
  return out;
}

toolchain::Options toolchain_options(toolchain::Language language, const lockstep_compile_options& o,
                                     Cancellation& cancelled) {
  toolchain::Options out;
  // Names of arguments, so that they can be given by name.
  if (language == toolchain::Language::opencl) out.extra_flags.push_back("-cl-kernel-arg-info");
  if (language == toolchain::Language::hip) out.extra_flags.push_back("-fhip-kernel-arg-name");
  if (o.target) out.processor = o.target;
  if (o.wave_size) out.wave_size = o.wave_size;
  if (o.code_object_version) out.code_object_version = o.code_object_version;
  out.debug_info = o.debug_info != 0;
  out.optimization = o.optimization;
  out.work_group_size = o.work_group_size;
  out.cancelled = cancelled.function();
  for (uint32_t i = 0; i < o.flag_count; ++i) {
    require(o.flags && o.flags[i], "a flag is null");
    out.extra_flags.push_back(o.flags[i]);
  }
  for (uint32_t i = 0; i < o.source_count; ++i) {
    require(o.sources && o.sources[i], "a source is null");
    // Says what is wrong with the path in the same words for every kind of file.
    if (!std::filesystem::is_fifo(o.sources[i])) read_file(o.sources[i], cancelled);
    out.more_sources.emplace_back(o.sources[i]);
  }
  return out;
}

std::unique_ptr<lockstep_code_object> from_compiled(const toolchain::Result& result, const std::string& name,
                                                    const lockstep_compile_options& options,
                                                    Cancellation& cancelled) {
  if (!result && cancelled()) throw Failure(LOCKSTEP_CANCELLED, name + ": compiling it was cancelled");
  if (!result)
    throw Failure(LOCKSTEP_COMPILE_ERROR,
                  result.diagnostics.empty() ? name + ": does not compile" : result.diagnostics);
  auto out = from_bytes(result.code_object, name, options, cancelled);
  out->diagnostics = visible_lines(result.diagnostics);
  return out;
}

// A code object or a bundle of them, or SPIR-V, which is compiled.
std::unique_ptr<lockstep_code_object> from_binary(std::span<const std::byte> bytes, const std::string& name,
                                                  const lockstep_compile_options& options,
                                                  Cancellation& cancelled) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!toolchain::is_spirv(text)) return from_bytes(bytes, name, options, cancelled);
  constexpr auto kLanguage = toolchain::Language::spirv;
  return from_compiled(
      toolchain::compile_text(kLanguage, text, name, toolchain_options(kLanguage, options, cancelled)), name,
      options, cancelled);
}

lockstep_compile_options compile_defaults() {
  lockstep_compile_options options{};
  options.optimization = 2;
  return options;
}

const loader::CodeObject& image_of(const lockstep_code_object* object, uint32_t index) {
  require(object != nullptr, "the code object is null");
  require(index < object->images.size(), "there is no image of that index");
  return object->images[index]->object;
}

}  // namespace
}  // namespace lockstep::api

using namespace lockstep;
using namespace lockstep::api;

uint32_t lockstep_kernel::argument_bytes() const {
  uint64_t bytes = kernel->descriptor.kernarg_size;
  if (kernel->metadata) bytes = std::max<uint64_t>(bytes, kernel->metadata->kernarg_segment_size);
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, UINT32_MAX));
}

void lockstep_compile_options_init_sized(lockstep_compile_options* options, size_t struct_size) {
  give_defaults(options, struct_size, compile_defaults());
}

lockstep_status lockstep_code_object_open(const char* path, const lockstep_compile_options* given,
                                          lockstep_code_object** out) {
  return guarded([&] {
    require(path && out, "path or out is null");
    const lockstep_compile_options options = with_defaults(given, compile_defaults());
    Cancellation cancelled(options);
    if (auto language = toolchain::language_of(path)) {
      // Says what is wrong with the path in the same words for every kind of file.
      if (!std::filesystem::is_fifo(path)) read_file(path, cancelled);
      *out = from_compiled(
                 toolchain::compile_file(*language, path, toolchain_options(*language, options, cancelled)),
                 path, options, cancelled)
                 .release();
      return;
    }
    const std::vector<std::byte> bytes = read_file(path, cancelled);
    if (options.source_count != 0)
      throw Failure(LOCKSTEP_BAD_INPUT, std::string(path) +
                                            ": is no source file, and other sources cannot be linked with it "
                                            "(give it alone)");
    // An object in the making of a text's author, or of a program.
    const bool is_text =
        !bytes.empty() && std::none_of(bytes.begin(), bytes.begin() + std::min<long>(256, bytes.size()),
                                       [](std::byte b) { return b == std::byte(0); });
    if (is_text)
      throw Failure(LOCKSTEP_BAD_INPUT,
                    std::string(path) +
                        ": is no code object; if it is source, its name says of which language: .cl, "
                        ".clcpp, .hip, .cu, .cpp, .ll, .bc, .spv, .s");
    *out = from_binary(bytes, path, options, cancelled).release();
  });
}

lockstep_status lockstep_code_object_from_memory(const void* bytes, uint64_t size, const char* name,
                                                 const lockstep_compile_options* given,
                                                 lockstep_code_object** out) {
  return guarded([&] {
    require((bytes || size == 0) && out, "bytes or out is null");
    const lockstep_compile_options options = with_defaults(given, compile_defaults());
    Cancellation cancelled(options);
    *out = from_binary({static_cast<const std::byte*>(bytes), size}, name ? name : "code object", options,
                       cancelled)
               .release();
  });
}

lockstep_status lockstep_code_object_compile(lockstep_language language, const char* text, const char* name,
                                             const lockstep_compile_options* given,
                                             lockstep_code_object** out) {
  return guarded([&] {
    require(text && out, "text or out is null");
    require(language >= LOCKSTEP_ASSEMBLY && language <= LOCKSTEP_LLVM_IR, "the language is unknown");
    const lockstep_compile_options options = with_defaults(given, compile_defaults());
    Cancellation cancelled(options);
    std::string label = name ? name : "source";
    constexpr toolchain::Language kLanguages[] = {toolchain::Language::assembly, toolchain::Language::opencl,
                                                  toolchain::Language::hip, toolchain::Language::llvm_ir};
    *out = from_compiled(toolchain::compile_text(kLanguages[language], text, label,
                                                 toolchain_options(kLanguages[language], options, cancelled)),
                         label, options, cancelled)
               .release();
  });
}

lockstep_status lockstep_diagnose(void (*entry)(void*, lockstep_diagnosis_state, const char*, const char*),
                                  void* user) {
  return guarded([&] {
    require(entry != nullptr, "entry is null");
    for (const toolchain::Diagnosis& d : toolchain::diagnose())
      entry(user, static_cast<lockstep_diagnosis_state>(d.state), d.what.c_str(),
            visible_lines(d.text).c_str());
  });
}

void lockstep_code_object_destroy(lockstep_code_object* object) {
  delete object;
}

const char* lockstep_code_object_diagnostics(const lockstep_code_object* object) {
  return object ? object->diagnostics.c_str() : "";
}

uint32_t lockstep_code_object_image_count(const lockstep_code_object* object) {
  return object ? static_cast<uint32_t>(object->images.size()) : 0;
}

lockstep_status lockstep_code_object_image(const lockstep_code_object* object, uint32_t index,
                                           lockstep_image_info* out) {
  return guarded([&] {
    const loader::CodeObject& o = image_of(object, index);
    lockstep_image_info info{};
    info.name = o.name().c_str();
    info.target = o.target().processor.c_str();
    info.version = o.version();
    info.file_bytes = o.bytes().size();
    info.memory_bytes = o.image_size();
    info.has_debug_info = object->images[index]->lines.has_debug_info();
    info.compiler = object->images[index]->lines.compiler().c_str();
    give(out, info);
  });
}

lockstep_status lockstep_code_object_image_bytes(const lockstep_code_object* object, uint32_t index,
                                                 const void** out_bytes, uint64_t* out_size) {
  return guarded([&] {
    const loader::CodeObject& o = image_of(object, index);
    require(out_bytes && out_size, "out_bytes or out_size is null");
    *out_bytes = o.bytes().data();
    *out_size = o.bytes().size();
  });
}

lockstep_status lockstep_file_list(const char* path, void (*entry)(void*, const lockstep_file_entry*),
                                   void* user) {
  return guarded([&] {
    require(path && entry, "path or entry is null");
    Cancellation never{lockstep_compile_options{}};
    const std::vector<std::byte> bytes = read_file(path, never);
    for (const loader::Image& image : take(loader::list_images(bytes, path))) {
      lockstep_file_entry e{image.id.c_str(), image.target.c_str(), image.where.c_str(), image.bytes.size()};
      entry(user, &e);
    }
  });
}

uint32_t lockstep_code_object_kernel_count(const lockstep_code_object* object) {
  return object ? static_cast<uint32_t>(object->kernels.size()) : 0;
}

const lockstep_kernel* lockstep_code_object_kernel(const lockstep_code_object* object, uint32_t index) {
  return object && index < object->kernels.size() ? &object->kernels[index] : nullptr;
}

const lockstep_kernel* lockstep_code_object_find_kernel(const lockstep_code_object* object,
                                                        const char* name) {
  if (!object || !name) return nullptr;
  std::string_view wanted = name;
  if (wanted.ends_with(".kd")) wanted.remove_suffix(3);
  for (const lockstep_kernel& k : object->kernels)
    if (k.kernel->name == wanted) return &k;
  // HIP mangles names; the metadata keeps the source's where it differs.
  for (const lockstep_kernel& k : object->kernels)
    if (k.kernel->metadata && k.kernel->metadata->name == wanted) return &k;
  // The name of the source, without template arguments and parameters if that is enough to tell it from the
  // others.
  const lockstep_kernel* found = nullptr;
  for (const lockstep_kernel& k : object->kernels) {
    std::string_view readable = k.readable_name;
    if (readable == wanted) return &k;
    if (readable.starts_with("void ")) readable.remove_prefix(5);
    if (readable == k.kernel->name) continue;
    std::string_view call = readable.substr(0, readable.rfind('('));
    if (call != wanted && readable.substr(0, readable.find_first_of("<(")) != wanted) continue;
    if (found) return nullptr;
    found = &k;
  }
  return found;
}

const lockstep_kernel& lockstep::api::kernel_of_name(const lockstep_code_object& object, const char* name) {
  const lockstep_kernel* found = lockstep_code_object_find_kernel(&object, name);
  if (!found) throw Failure(LOCKSTEP_NOT_FOUND, object.name + ": has no kernel '" + name + "'");
  return *found;
}

lockstep_status lockstep_kernel_get_info(const lockstep_kernel* kernel, lockstep_kernel_info* out) {
  return guarded([&] {
    require(kernel != nullptr, "the kernel is null");
    const loader::Kernel& k = *kernel->kernel;
    const loader::KernelDescriptor& d = k.descriptor;
    lockstep_kernel_info info{};
    info.name = k.name.c_str();
    info.readable_name = kernel->readable_name.c_str();
    info.language = "";
    info.wave_size = d.wave_size();
    info.argument_count = static_cast<uint32_t>(kernel->arguments.size());
    info.argument_bytes = kernel->argument_bytes();
    info.vgprs = d.vgpr_count();
    info.lds_bytes = d.group_segment_fixed_size;
    info.scratch_bytes_per_lane = d.private_segment_fixed_size;
    info.dynamic_stack = d.properties.dynamic_stack;
    info.work_group_processor_mode = d.rsrc1.wgp_mode;
    info.code_address = k.entry_address;
    info.code_bytes = k.code_size;
    if (k.metadata) {
      const loader::KernelMetadata& m = *k.metadata;
      info.has_metadata = 1;
      info.language = kernel->language.c_str();
      info.sgprs = m.sgpr_count.value_or(0);
      info.vgprs = m.vgpr_count.value_or(info.vgprs);
      info.sgpr_spills = m.sgpr_spill_count;
      info.vgpr_spills = m.vgpr_spill_count;
      info.max_work_group_size = m.max_flat_workgroup_size.value_or(0);
      if (m.required_workgroup_size)
        std::copy(m.required_workgroup_size->begin(), m.required_workgroup_size->end(),
                  info.required_work_group_size);
    }
    give(out, info);
  });
}

lockstep_status lockstep_kernel_occupancy(const lockstep_kernel* kernel, const char* device,
                                          uint32_t work_group_size, uint32_t dynamic_lds_bytes,
                                          uint32_t* out_waves) {
  return guarded([&] {
    require(kernel && out_waves, "kernel or out_waves_per_simd is null");
    require(work_group_size > 0, "the work-group size is 0");
    hardware::Description model = device_model(device);
    *out_waves =
        hardware::waves_per_simd(model, work_group_needs(*kernel, work_group_size, dynamic_lds_bytes));
  });
}

lockstep_status lockstep_kernel_argument(const lockstep_kernel* kernel, uint32_t index,
                                         lockstep_argument_info* out) {
  return guarded([&] {
    require(kernel != nullptr, "the kernel is null");
    require(index < kernel->arguments.size(), "the kernel has no argument of that index");
    const loader::Argument& a = *kernel->arguments[index];
    lockstep_argument_info info{};
    info.name = a.name.c_str();
    info.type_name = kernel->type_names[index].c_str();
    switch (a.kind) {
      case loader::ValueKind::by_value:
        info.kind = LOCKSTEP_ARGUMENT_VALUE;
        break;
      case loader::ValueKind::global_buffer:
        info.kind = LOCKSTEP_ARGUMENT_BUFFER;
        break;
      case loader::ValueKind::dynamic_shared_pointer:
        info.kind = LOCKSTEP_ARGUMENT_LOCAL;
        break;
      default:
        info.kind = LOCKSTEP_ARGUMENT_OTHER;
    }
    info.kind_name = a.kind_text.c_str();
    info.address_space = a.address_space.c_str();
    info.access = a.access.empty() ? a.actual_access.c_str() : a.access.c_str();
    info.offset = a.offset;
    info.size = a.size;
    info.is_const = a.is_const;
    info.is_restrict = a.is_restrict;
    info.is_volatile = a.is_volatile;
    give(out, info);
  });
}
