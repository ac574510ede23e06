// C++ wrapper of lockstep.h, header only: objects that clean up after themselves, failures as exceptions.
//
//   auto code = lockstep::CodeObject::open("saxpy.co");
//   lockstep::Device device;
//   auto x = device.allocate<float>(n, "x"), y = device.allocate<float>(n, "y");
//   lockstep::Arguments arguments(code.kernel("saxpy"));
//   arguments.set("n", uint32_t{n}).set("a", 2.0f).set("x", x).set("y", y);
//   device.run(code.kernel("saxpy"), arguments, {n}, {256});
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lockstep.h"

namespace lockstep {

class Error : public std::runtime_error {
 public:
  Error(lockstep_status status, const char* text) : std::runtime_error(text), status_(status) {}
  lockstep_status status() const { return status_; }

 private:
  lockstep_status status_;
};

inline void check(lockstep_status status) {
  if (status != LOCKSTEP_OK) throw Error(status, lockstep_last_error());
}

using Extent = std::array<uint32_t, 3>;

// Missing dimensions are 1: {1024} is 1024 x 1 x 1.
inline Extent extent(std::initializer_list<uint32_t> sizes) {
  Extent out{1, 1, 1};
  std::copy_n(sizes.begin(), std::min<size_t>(sizes.size(), 3), out.begin());
  return out;
}

// Belongs to its code object, which must outlive it.
class Kernel {
 public:
  explicit Kernel(const lockstep_kernel* handle) : handle_(handle) {}

  const lockstep_kernel* get() const { return handle_; }

  lockstep_kernel_info info() const {
    lockstep_kernel_info out{};
    out.struct_size = sizeof out;
    check(lockstep_kernel_get_info(handle_, &out));
    return out;
  }

  std::vector<lockstep_argument_info> arguments() const {
    std::vector<lockstep_argument_info> out(info().argument_count);
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_kernel_argument(handle_, i, &out[i]));
    }
    return out;
  }

  // `device` is a model's name; null: the default one.
  uint32_t occupancy(const char* device, uint32_t work_group_size, uint32_t dynamic_lds = 0) const {
    uint32_t waves = 0;
    check(lockstep_kernel_occupancy(handle_, device, work_group_size, dynamic_lds, &waves));
    return waves;
  }

 private:
  const lockstep_kernel* handle_;
};

class CodeObject {
 public:
  static CodeObject open(const std::string& path, const lockstep_compile_options* options = nullptr) {
    lockstep_code_object* handle = nullptr;
    check(lockstep_code_object_open(path.c_str(), options, &handle));
    return CodeObject(handle);
  }

  static CodeObject from_memory(std::span<const std::byte> bytes, const std::string& name = "code object",
                                const lockstep_compile_options* options = nullptr) {
    lockstep_code_object* handle = nullptr;
    check(lockstep_code_object_from_memory(bytes.data(), bytes.size(), name.c_str(), options, &handle));
    return CodeObject(handle);
  }

  static CodeObject compile(lockstep_language language, const std::string& text,
                            const std::string& name = "source",
                            const lockstep_compile_options* options = nullptr) {
    lockstep_code_object* handle = nullptr;
    check(lockstep_code_object_compile(language, text.c_str(), name.c_str(), options, &handle));
    return CodeObject(handle);
  }

  lockstep_code_object* get() const { return handle_.get(); }
  const char* diagnostics() const { return lockstep_code_object_diagnostics(get()); }

  std::vector<Kernel> kernels() const {
    std::vector<Kernel> out;
    for (uint32_t i = 0; i < lockstep_code_object_kernel_count(get()); ++i)
      out.emplace_back(lockstep_code_object_kernel(get(), i));
    return out;
  }

  std::optional<Kernel> find_kernel(const std::string& name) const {
    const lockstep_kernel* k = lockstep_code_object_find_kernel(get(), name.c_str());
    return k ? std::optional<Kernel>(k) : std::nullopt;
  }

  Kernel kernel(const std::string& name) const {
    std::optional<Kernel> k = find_kernel(name);
    if (!k) throw Error(LOCKSTEP_NOT_FOUND, ("the code object has no kernel '" + name + "'").c_str());
    return *k;
  }

  std::vector<lockstep_image_info> images() const {
    std::vector<lockstep_image_info> out(lockstep_code_object_image_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_code_object_image(get(), i, &out[i]));
    }
    return out;
  }

 private:
  struct Destroy {
    void operator()(lockstep_code_object* o) const { lockstep_code_object_destroy(o); }
  };
  explicit CodeObject(lockstep_code_object* handle) : handle_(handle) {}
  std::unique_ptr<lockstep_code_object, Destroy> handle_;
};

// Memory of a device, as an array that the host may use between dispatches. The device must outlive it.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer(lockstep_device* device, uint64_t address, size_t count)
      : device_(device), address_(address), count_(count) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() {
    if (device_) lockstep_memory_free(device_, address_);
  }

  uint64_t address() const { return address_; }
  size_t size() const { return count_; }
  T* data() const { return reinterpret_cast<T*>(address_); }
  T* begin() const { return data(); }
  T* end() const { return data() + count_; }
  T& operator[](size_t i) const { return data()[i]; }
  std::span<T> span() const { return {data(), count_}; }

 private:
  lockstep_device* device_ = nullptr;
  uint64_t address_ = 0;
  size_t count_ = 0;
};

// The kernel's code object must outlive it.
class Arguments {
 public:
  explicit Arguments(const Kernel& kernel) {
    lockstep_arguments* handle = nullptr;
    check(lockstep_arguments_create(kernel.get(), &handle));
    handle_.reset(handle);
  }

  lockstep_arguments* get() const { return handle_.get(); }

  uint32_t index(const std::string& name) const {
    uint32_t out = 0;
    check(lockstep_arguments_find(get(), name.c_str(), &out));
    return out;
  }

  // Arithmetic types are checked against the argument's type; of anything else the bytes are taken.
  template <class T>
  Arguments& set(uint32_t index, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      check(lockstep_arguments_set_scalar(get(), index, type_of<T>(), &value));
    else
      check(lockstep_arguments_set(get(), index, &value, sizeof value));
    return *this;
  }
  template <class T>
  Arguments& set(uint32_t index, const Buffer<T>& buffer) {
    check(lockstep_arguments_set_buffer(get(), index, buffer.address()));
    return *this;
  }
  template <class T>
  Arguments& set(const std::string& name, const T& value) {
    return set(index(name), value);
  }
  Arguments& set_address(uint32_t index, uint64_t address) {
    check(lockstep_arguments_set_buffer(get(), index, address));
    return *this;
  }
  Arguments& set_local(uint32_t index, uint32_t bytes) {
    check(lockstep_arguments_set_local(get(), index, bytes));
    return *this;
  }
  Arguments& set_raw(std::span<const std::byte> bytes) {
    check(lockstep_arguments_set_raw(get(), bytes.data(), static_cast<uint32_t>(bytes.size())));
    return *this;
  }

 private:
  template <class T>
  static constexpr lockstep_type type_of() {
    if constexpr (std::is_floating_point_v<T>) {
      static_assert(sizeof(T) == 4 || sizeof(T) == 8);
      return sizeof(T) == 4 ? LOCKSTEP_F32 : LOCKSTEP_F64;
    } else {
      constexpr lockstep_type kSigned[] = {LOCKSTEP_I8, LOCKSTEP_I16, LOCKSTEP_I32, LOCKSTEP_I64};
      constexpr lockstep_type kUnsigned[] = {LOCKSTEP_U8, LOCKSTEP_U16, LOCKSTEP_U32, LOCKSTEP_U64};
      constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
      return std::is_signed_v<T> ? kSigned[log2] : kUnsigned[log2];
    }
  }

  struct Destroy {
    void operator()(lockstep_arguments* a) const { lockstep_arguments_destroy(a); }
  };
  std::unique_ptr<lockstep_arguments, Destroy> handle_;
};

class Device {
 public:
  explicit Device(const lockstep_device_options* options = nullptr) {
    lockstep_device* handle = nullptr;
    check(lockstep_device_create(options, &handle));
    handle_.reset(handle);
  }

  static std::vector<lockstep_device_info> models() {
    std::vector<lockstep_device_info> out(lockstep_device_model_count());
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_model(i, &out[i]));
    }
    return out;
  }

  lockstep_device* get() const { return handle_.get(); }

  lockstep_device_info info() const {
    lockstep_device_info out{};
    out.struct_size = sizeof out;
    check(lockstep_device_get_info(get(), &out));
    return out;
  }

  template <class T>
  Buffer<T> allocate(size_t count, const std::string& name = "buffer") {
    if (count > SIZE_MAX / sizeof(T)) throw Error(LOCKSTEP_OUT_OF_MEMORY, "the buffer is too large");
    uint64_t address = 0;
    check(lockstep_memory_allocate(get(), count * sizeof(T), name.c_str(), &address));
    return Buffer<T>(get(), address, count);
  }

  // Throws Error on a fault; fault() then tells more.
  lockstep_statistics run(const Kernel& kernel, const Arguments& arguments,
                          const lockstep_dispatch_options& options) {
    lockstep_statistics out{};
    out.struct_size = sizeof out;
    check(lockstep_dispatch(get(), kernel.get(), arguments.get(), &options, &out));
    return out;
  }
  lockstep_statistics run(const Kernel& kernel, const Arguments& arguments,
                          std::initializer_list<uint32_t> grid, std::initializer_list<uint32_t> block,
                          uint32_t dynamic_lds_bytes = 0) {
    lockstep_dispatch_options options;
    lockstep_dispatch_options_init(&options);
    Extent g = extent(grid), b = extent(block);
    std::copy(g.begin(), g.end(), options.grid);
    std::copy(b.begin(), b.end(), options.block);
    options.dynamic_lds_bytes = dynamic_lds_bytes;
    return run(kernel, arguments, options);
  }

  // The guest address of the kernel's descriptor, for dispatch packets; its code object is loaded if need be.
  uint64_t kernel_object(const Kernel& kernel) {
    uint64_t address = 0;
    check(lockstep_device_kernel_object(get(), kernel.get(), &address));
    return address;
  }

  // Of the last run, if its options asked for them.
  std::vector<lockstep_finding> findings() const {
    std::vector<lockstep_finding> out(lockstep_device_finding_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_finding(get(), i, &out[i]));
    }
    return out;
  }

  // Of the last run, if its options asked for warnings.
  std::vector<lockstep_broken_rule> broken_rules() const {
    std::vector<lockstep_broken_rule> out(lockstep_device_broken_rule_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_broken_rule(get(), i, &out[i]));
    }
    return out;
  }

  // Of the last run: how waves left translated code.
  std::vector<lockstep_exit> exits() const {
    std::vector<lockstep_exit> out(lockstep_device_exit_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_exit(get(), i, &out[i]));
    }
    return out;
  }

  // Of the last run, by the checkers that its options named.
  std::vector<lockstep_check_finding> check_findings() const {
    std::vector<lockstep_check_finding> out(lockstep_device_check_finding_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_check_finding(get(), i, &out[i]));
    }
    return out;
  }

  // Of the last run, if its options asked for them.
  std::vector<lockstep_exception> exceptions() const {
    std::vector<lockstep_exception> out(lockstep_device_exception_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_device_exception(get(), i, &out[i]));
    }
    return out;
  }

  const lockstep_fault* fault() const { return lockstep_device_fault(get()); }
  void reset_global_state() { check(lockstep_device_reset_global_state(get())); }

 private:
  struct Destroy {
    void operator()(lockstep_device* d) const { lockstep_device_destroy(d); }
  };
  std::unique_ptr<lockstep_device, Destroy> handle_;
};

// Requests of the host that reach waves while they run; outlives the dispatches and queues that name it.
class HostTraps {
 public:
  HostTraps() {
    lockstep_host_traps* handle = nullptr;
    check(lockstep_host_traps_create(&handle));
    handle_.reset(handle);
  }
  lockstep_host_traps* get() const { return handle_.get(); }
  void trap(uint32_t id) { check(lockstep_host_traps_request(get(), 0, id)); }
  void save_context() { check(lockstep_host_traps_request(get(), 1, 0)); }

 private:
  struct Destroy {
    void operator()(lockstep_host_traps* traps) const { lockstep_host_traps_destroy(traps); }
  };
  std::unique_ptr<lockstep_host_traps, Destroy> handle_;
};

// Commands for waves while they run; outlives the dispatches and the devices that name it. Any thread may use
// it.
class WaveControl {
 public:
  struct Wave {
    uint64_t id;
    Extent work_group;
    uint32_t number;  // in its work-group
    uint32_t wave_size;
    lockstep_wave_state state;
    uint64_t pc;  // of the next instruction
    lockstep_halt_cause cause;
    std::string message;        // with LOCKSTEP_HALT_REFUSED and LOCKSTEP_HALT_FAULT: what happened
    lockstep_fault_kind fault;  // with LOCKSTEP_HALT_FAULT
    uint64_t fault_pc;          // of the instruction that faulted
  };

  explicit WaveControl(const lockstep_wave_control_options* options = nullptr) {
    lockstep_wave_control* handle = nullptr;
    check(lockstep_wave_control_create(options, &handle));
    handle_.reset(handle);
  }

  lockstep_wave_control* get() const { return handle_.get(); }
  void configure(const lockstep_wave_control_options& options) {
    check(lockstep_wave_control_configure(get(), &options));
  }

  // All that are resident.
  std::vector<Wave> waves() const {
    std::vector<Wave> out;
    const auto add = [](void* user, const lockstep_wave_info* info) {
      static_cast<std::vector<Wave>*>(user)->push_back(wave_of(*info));
    };
    check(lockstep_wave_control_list(get(), add, &out));
    return out;
  }
  // Sleeps until a wave halts, or ends under a command; nothing after the timeout, or if it was interrupted.
  std::optional<Wave> wait(uint64_t timeout_nanoseconds = UINT64_MAX) {
    lockstep_wave_info info{};
    info.struct_size = sizeof info;
    const lockstep_status status = lockstep_wave_control_wait(get(), timeout_nanoseconds, &info);
    if (status == LOCKSTEP_CANCELLED) return std::nullopt;
    check(status);
    return wave_of(info);
  }
  void interrupt() { check(lockstep_wave_control_interrupt(get())); }

  void halt(uint64_t wave = LOCKSTEP_ALL_WAVES) { check(lockstep_wave_halt(get(), wave)); }
  void resume(uint64_t wave = LOCKSTEP_ALL_WAVES) { check(lockstep_wave_resume(get(), wave)); }
  void kill(uint64_t wave = LOCKSTEP_ALL_WAVES) { check(lockstep_wave_kill(get(), wave)); }
  void step(uint64_t wave, uint64_t instructions = 1) {
    check(lockstep_wave_step(get(), wave, instructions));
  }
  // STATUS.COND_DBG_USER and COND_DBG_SYS; nothing leaves one as it is.
  void set_conditions(uint64_t wave, std::optional<bool> user, std::optional<bool> system) {
    check(lockstep_wave_set_conditions(get(), wave, user ? *user : -1, system ? *system : -1));
  }
  // Of halted waves.
  uint64_t read(uint64_t wave, lockstep_register kind, uint32_t index = 0, uint32_t lane = 0) const {
    uint64_t value = 0;
    check(lockstep_wave_read(get(), wave, kind, index, lane, &value));
    return value;
  }
  void write(uint64_t wave, lockstep_register kind, uint64_t value, uint32_t index = 0, uint32_t lane = 0) {
    check(lockstep_wave_write(get(), wave, kind, index, lane, value));
  }

 private:
  static Wave wave_of(const lockstep_wave_info& info) {
    return {.id = info.id,
            .work_group = {info.work_group[0], info.work_group[1], info.work_group[2]},
            .number = info.wave,
            .wave_size = info.wave_size,
            .state = info.state,
            .pc = info.pc,
            .cause = info.cause,
            .message = info.message,
            .fault = info.fault,
            .fault_pc = info.fault_pc};
  }
  struct Destroy {
    void operator()(lockstep_wave_control* control) const { lockstep_wave_control_destroy(control); }
  };
  std::unique_ptr<lockstep_wave_control, Destroy> handle_;
};

// Every instruction in every encoding, with what is known of its results.
inline std::vector<lockstep_isa_row_info> isa_rows() {
  std::vector<lockstep_isa_row_info> out(lockstep_isa_row_count());
  for (uint32_t i = 0; i < out.size(); ++i) {
    out[i].struct_size = sizeof out[i];
    check(lockstep_isa_row(i, &out[i]));
  }
  return out;
}
inline std::vector<lockstep_isa_form_info> isa_forms() {
  std::vector<lockstep_isa_form_info> out(lockstep_isa_form_count());
  for (uint32_t i = 0; i < out.size(); ++i) {
    out[i].struct_size = sizeof out[i];
    check(lockstep_isa_form(i, &out[i]));
  }
  return out;
}

// Of a device, which must outlive it.
class Signal {
 public:
  // With an event id each completion also raises an interrupt.
  Signal(Device& device, int64_t value, uint32_t event_id = 0) : device_(device.get()) {
    check(lockstep_signal_create(device_, value, event_id, &handle_));
  }
  ~Signal() {
    if (handle_) lockstep_signal_destroy(device_, handle_);
  }
  Signal(Signal&& other) noexcept : device_(other.device_), handle_(std::exchange(other.handle_, 0)) {}
  Signal& operator=(Signal&&) = delete;

  // For packets.
  lockstep_signal get() const { return handle_; }
  int64_t load() const {
    int64_t value = 0;
    check(lockstep_signal_load(device_, handle_, &value));
    return value;
  }
  void store(int64_t value) { check(lockstep_signal_store(device_, handle_, value)); }
  int64_t add(int64_t value) {
    int64_t before = 0;
    check(lockstep_signal_add(device_, handle_, value, &before));
    return before;
  }
  // The value that fulfilled the condition; nothing after the timeout.
  std::optional<int64_t> wait(lockstep_condition condition, int64_t value,
                              uint64_t timeout_nanoseconds = UINT64_MAX) const {
    int64_t seen = 0;
    const lockstep_status status =
        lockstep_signal_wait(device_, handle_, condition, value, timeout_nanoseconds, &seen);
    if (status == LOCKSTEP_CANCELLED) return std::nullopt;
    check(status);
    return seen;
  }

 private:
  lockstep_device* device_;
  lockstep_signal handle_ = 0;
};

// Of a device, which must outlive it.
class Queue {
 public:
  explicit Queue(Device& device, const lockstep_queue_options* options = nullptr) {
    lockstep_queue* handle = nullptr;
    check(lockstep_queue_create(device.get(), options, &handle));
    handle_.reset(handle);
  }

  lockstep_queue* get() const { return handle_.get(); }
  lockstep_queue_info info() const {
    lockstep_queue_info out{};
    out.struct_size = sizeof out;
    check(lockstep_queue_get_info(get(), &out));
    return out;
  }
  // AQL packets of 64 bytes each, or dwords. Returns the index of the first.
  template <class Packet>
  uint64_t submit(std::span<const Packet> packets, uint64_t timeout_nanoseconds = UINT64_MAX) {
    static_assert(std::is_trivially_copyable_v<Packet> && (sizeof(Packet) == 64 || sizeof(Packet) == 4));
    uint64_t index = 0;
    check(lockstep_queue_submit(get(), packets.data(), static_cast<uint32_t>(packets.size()),
                                timeout_nanoseconds, &index));
    return index;
  }
  void kill(uint64_t packet) { check(lockstep_queue_kill(get(), packet)); }
  // So far, if its options ask for them.
  std::vector<lockstep_exception> exceptions() const {
    std::vector<lockstep_exception> out(lockstep_queue_exception_count(get()));
    for (uint32_t i = 0; i < out.size(); ++i) {
      out[i].struct_size = sizeof out[i];
      check(lockstep_queue_exception(get(), i, &out[i]));
    }
    return out;
  }

 private:
  struct Destroy {
    void operator()(lockstep_queue* queue) const { lockstep_queue_destroy(queue); }
  };
  std::unique_ptr<lockstep_queue, Destroy> handle_;
};

}  // namespace lockstep
