// The arguments of a kernel's call, from Python's values.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "python/objects.h"

namespace lockstep_python {

// The arguments of one call: packed for the library, with the host's arrays mapped as long as it lasts.
class Call {
 public:
  // `maps`: arrays that are no memory of the device are mapped, else they are refused.
  Call(PyDevice& device, const PyKernel& kernel, bool maps = true)
      : device_(device), kernel_(kernel), maps_(maps) {
    check(lockstep_arguments_create(kernel.handle, &arguments));
  }
  ~Call() {
    for (void* address : mapped_) lockstep_memory_unmap(device_.handle, address);
    lockstep_arguments_destroy(arguments);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void pack(const py::args& values) {
    if (!kernel_.described) return pack_segment(values);
    const size_t count = kernel_.arguments.size();
    if (values.size() != count)
      raise_usage(
          "kernel '" + std::string(kernel_.info.name) + "' takes " + std::to_string(count) +
          " arguments, not " + std::to_string(values.size()) +
          (values.size() < count ? "; " + label(static_cast<uint32_t>(values.size())) + " is missing" : ""));
    for (uint32_t i = 0; i < count; ++i) set(i, values[i]);
    map_arrays();
  }

  lockstep_arguments* arguments = nullptr;

 private:
  struct Range {
    uint64_t begin, end;
    bool writable;
    uint32_t argument;  // the first that has it
  };

  std::string label(uint32_t index) const {
    std::string out = "argument " + std::to_string(index);
    if (!kernel_.described) return out;
    const lockstep_argument_info& a = kernel_.arguments[index].info;
    if (*a.name) out += std::string(" '") + a.name + "'";
    if (*a.type_name) out += std::string(" (") + a.type_name + ")";
    return out;
  }
  [[noreturn]] void refuse(uint32_t index, const std::string& why) const {
    raise_usage(label(index) + " of kernel '" + kernel_.info.name + "': " + why);
  }

  // Device memory, arrays and None. Arrays that are no device memory are noted, to be mapped.
  std::optional<uint64_t> address_of(uint32_t index, const py::handle& value) {
    if (value.is_none()) return 0;
    if (py::isinstance<PyMemory>(value)) {
      const auto& memory = value.cast<const PyMemory&>();
      if (memory.device.get() != &device_) refuse(index, "the memory is of another device");
      return memory.address;
    }
    if (!py::isinstance<py::array>(value)) return std::nullopt;
    const auto array = py::reinterpret_borrow<py::array>(value);
    if (!(array.flags() & py::array::c_style))
      refuse(index, "the array is not contiguous (numpy.ascontiguousarray makes a copy that is)");
    const auto address = reinterpret_cast<uint64_t>(array.data());
    const auto bytes = static_cast<uint64_t>(array.nbytes());
    if (bytes == 0) refuse(index, "the array is empty (None is a null pointer)");
    const bool owned = device_.owns(address, bytes);
    if (!owned && !maps_)
      refuse(index,
             "a queue's kernel runs on after the call: give memory of the queue's device, such as "
             "device.array(values)");
    if (!owned) ranges_.push_back({address, address + bytes, array.writeable(), index});
    return address;
  }

  void set(uint32_t index, const py::handle& value) {
    const Argument& a = kernel_.arguments[index];
    if (a.info.kind == LOCKSTEP_ARGUMENT_LOCAL) {
      if (!py::isinstance<Local>(value)) refuse(index, "takes lockstep.Local(bytes)");
      return check(lockstep_arguments_set_local(arguments, index, value.cast<const Local&>().bytes));
    }
    if (a.info.kind == LOCKSTEP_ARGUMENT_BUFFER) {
      const std::optional<uint64_t> address = address_of(index, value);
      if (a.element) refuse_other_elements(index, *a.element, value);
      if (!address)
        refuse(index, std::string("takes an array, device memory or None, not ") + type_name(value));
      return check(lockstep_arguments_set_buffer(arguments, index, *address));
    }
    if (a.info.kind != LOCKSTEP_ARGUMENT_VALUE)
      refuse(index, std::string("a ") + a.info.kind_name + " cannot be given yet");
    set_value(index, a, value);
  }

  // As numpy's doubles for a kernel of floats. Bytes may be anything, and so may anything for a kernel of
  // bytes.
  void refuse_other_elements(uint32_t index, const Scalar& element, const py::handle& value) const {
    if (!py::isinstance<py::array>(value)) return;
    const py::dtype type = py::reinterpret_borrow<py::array>(value).dtype();
    const char kind = type.kind();
    const auto size = static_cast<uint32_t>(type.itemsize());
    if (std::string_view("fiu").find(kind) == std::string_view::npos || size == 1 || element.size == 1)
      return;
    if (size == element.size && (kind == 'f') == element.is_float) return;
    const std::string wanted = std::string(element.is_float    ? "float"
                                           : element.is_signed ? "int"
                                                               : "uint") +
                               std::to_string(8 * element.size);
    refuse(index, "the array's elements are " + py::str(type).cast<std::string>() + " (array.astype(numpy." +
                      wanted + ") makes what the kernel takes; array.view(numpy." + wanted +
                      ") gives the same bytes)");
  }

  static std::string type_name(const py::handle& value) { return Py_TYPE(value.ptr())->tp_name; }

  void set_value(uint32_t index, const Argument& a, const py::handle& value) {
    std::array<std::byte, 8> number{};
    const uint32_t size = a.info.size;
    if (PyFloat_CheckExact(value.ptr())) {
      if (a.scalar ? !a.scalar->is_float : size != 2 && size != 4 && size != 8)
        refuse(index, "is no floating-point number, but a float is given");
      store_float(PyFloat_AS_DOUBLE(value.ptr()), size, number.data());
      return check(lockstep_arguments_set(arguments, index, number.data(), size));
    }
    if (PyLong_Check(value.ptr())) return set_integer(index, a, value);
    if (value.is_none() || py::isinstance<PyMemory>(value)) {
      if (size != 8) refuse(index, "is no pointer");
      const uint64_t address = *address_of(index, value);
      return check(lockstep_arguments_set(arguments, index, &address, sizeof address));
    }
    // numpy's scalars and arrays, bytes, ctypes: by their bytes.
    py::buffer_info bytes;
    if (!PyObject_CheckBuffer(value.ptr())) refuse(index, "cannot be made of " + type_name(value));
    bytes = py::reinterpret_borrow<py::buffer>(value).request();
    const auto given = static_cast<uint64_t>(bytes.size * bytes.itemsize);
    if (a.scalar && bytes.size == 1 && bytes.format.size() == 1 &&
        a.scalar->is_float != (std::string_view("efd").find(bytes.format[0]) != std::string_view::npos))
      refuse(index, std::string("is ") + (a.scalar->is_float ? "a floating-point number" : "an integer") +
                        ", not " + type_name(value));
    if (given == size) return check(lockstep_arguments_set(arguments, index, bytes.ptr, size));
    // A vector of three takes the room of one of four.
    if (bytes.size == 3 && size == 4 * bytes.itemsize && !std::string_view(a.info.type_name).ends_with('4')) {
      std::vector<std::byte> padded(size);
      std::memcpy(padded.data(), bytes.ptr, given);
      return check(lockstep_arguments_set(arguments, index, padded.data(), size));
    }
    const std::string wanted = "takes " + std::to_string(size) + " bytes, not ";
    if (a.scalar && bytes.ndim == 0)
      refuse(index, wanted + "the " + std::to_string(given) + " of " + type_name(value) + ": give " +
                        (a.scalar->is_float ? "float(...)" : "int(...)") + ", which takes the kernel's type");
    refuse(index, wanted + std::to_string(given));
  }

  void set_integer(uint32_t index, const Argument& a, const py::handle& value) {
    std::array<std::byte, 8> number{};
    const uint32_t size = a.info.size;
    if (a.scalar && a.scalar->is_float) {
      store_float(value.cast<double>(), size, number.data());
      return check(lockstep_arguments_set(arguments, index, number.data(), size));
    }
    if (size > 8) refuse(index, "takes " + std::to_string(size) + " bytes, not an int");
    int overflow = 0;
    const long long narrow = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    uint64_t bits = static_cast<uint64_t>(narrow);
    bool fits = overflow >= 0;
    if (overflow > 0) {
      bits = PyLong_AsUnsignedLongLong(value.ptr());
      if (PyErr_Occurred()) {
        PyErr_Clear();
        fits = false;
      }
    }
    const bool negative = overflow == 0 && narrow < 0;
    const unsigned width = size * 8;
    // Of unknown signedness all that either takes.
    const bool may_be_signed = !a.scalar || a.scalar->is_signed,
               may_be_unsigned = !a.scalar || !a.scalar->is_signed;
    if (negative)
      fits = fits && may_be_signed && (width == 64 || narrow >= -(int64_t{1} << (width - 1)));
    else
      fits = fits && (may_be_unsigned ? width == 64 || bits >> width == 0 : bits >> (width - 1) == 0);
    if (!fits) refuse(index, py::str(value).cast<std::string>() + " does not fit");
    std::memcpy(number.data(), &bits, 8);
    check(lockstep_arguments_set(arguments, index, number.data(), size));
  }

  // Of a kernel that does not describe its arguments (assembly): each at the next multiple of its size.
  void pack_segment(const py::args& values) {
    std::vector<std::byte> segment;
    const auto append = [&](const void* bytes, size_t size, size_t align) {
      segment.resize((segment.size() + align - 1) / align * align);
      const auto* from = static_cast<const std::byte*>(bytes);
      segment.insert(segment.end(), from, from + size);
    };
    for (uint32_t i = 0; i < values.size(); ++i) {
      const py::handle value = values[i];
      if (const std::optional<uint64_t> address = address_of(i, value)) {
        append(&*address, 8, 8);
      } else if (PyObject_CheckBuffer(value.ptr())) {
        const py::buffer_info bytes = py::reinterpret_borrow<py::buffer>(value).request();
        append(bytes.ptr, static_cast<size_t>(bytes.size * bytes.itemsize),
               static_cast<size_t>(bytes.itemsize));
      } else {
        refuse(i, "the kernel does not say what it takes; give numbers with a type, such as numpy.uint32(5)");
      }
    }
    check(lockstep_arguments_set_raw(arguments, segment.data(), static_cast<uint32_t>(segment.size())));
    map_arrays();
  }

  // Arrays may be the same, or overlap: what they have in common is mapped once.
  void map_arrays() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 0; i < ranges_.size();) {
      Range all = ranges_[i];
      for (++i; i < ranges_.size() && ranges_[i].begin < all.end; ++i) {
        all.end = std::max(all.end, ranges_[i].end);
        all.writable = all.writable || ranges_[i].writable;
      }
      void* host = reinterpret_cast<void*>(all.begin);
      const char* name = kernel_.described ? kernel_.arguments[all.argument].info.name : "";
      check(lockstep_memory_map(device_.handle, host, all.end - all.begin,
                                all.writable ? LOCKSTEP_READ_WRITE : LOCKSTEP_READ, *name ? name : "array"));
      mapped_.push_back(host);
    }
  }

  PyDevice& device_;
  const PyKernel& kernel_;
  bool maps_;
  std::vector<Range> ranges_;
  std::vector<void*> mapped_;
};

}  // namespace lockstep_python
