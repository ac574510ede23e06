#include "python/objects.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "python/wave_control.h"

namespace lockstep_python {

const char* fault_name(lockstep_fault_kind kind) {
  constexpr const char* kNames[] = {"none",
                                    "memory violation",
                                    "misaligned",
                                    "illegal instruction",
                                    "unsupported instruction",
                                    "bad PC",
                                    "trap",
                                    "hang",
                                    "broken rule",
                                    "refused",
                                    "deadlock"};
  return static_cast<size_t>(kind) < std::size(kNames) ? kNames[kind] : "unknown";
}

std::optional<Scalar> scalar_of(const std::string& c_name) {
  static const std::map<std::string, Scalar, std::less<>> kScalars = [] {
    std::map<std::string, Scalar, std::less<>> map;
    const auto add = [&map](std::initializer_list<const char*> names, Scalar s) {
      for (const char* name : names) map.emplace(name, s);
    };
    add({"char", "signed char", "int8_t"}, {LOCKSTEP_I8, 1, false, true});
    add({"uchar", "unsigned char", "uint8_t", "bool"}, {LOCKSTEP_U8, 1, false, false});
    add({"short", "int16_t"}, {LOCKSTEP_I16, 2, false, true});
    add({"ushort", "unsigned short", "uint16_t"}, {LOCKSTEP_U16, 2, false, false});
    add({"int", "int32_t"}, {LOCKSTEP_I32, 4, false, true});
    add({"uint", "unsigned int", "unsigned", "uint32_t"}, {LOCKSTEP_U32, 4, false, false});
    add({"long", "long long", "int64_t", "ptrdiff_t"}, {LOCKSTEP_I64, 8, false, true});
    add({"ulong", "unsigned long", "unsigned long long", "uint64_t", "size_t"},
        {LOCKSTEP_U64, 8, false, false});
    add({"half", "_Float16", "__half"}, {LOCKSTEP_F16, 2, true, true});
    add({"float"}, {LOCKSTEP_F32, 4, true, true});
    add({"double"}, {LOCKSTEP_F64, 8, true, true});
    return map;
  }();
  const auto found = kScalars.find(c_name);
  return found == kScalars.end() ? std::nullopt : std::optional(found->second);
}

std::optional<Scalar> element_of(std::string_view c_name) {
  if (!c_name.ends_with('*')) return std::nullopt;
  c_name = c_name.substr(0, c_name.find_last_not_of("* ") + 1);
  const std::optional<Scalar> element = scalar_of(std::string(c_name));
  return element ? element
                 : scalar_of(std::string(c_name.substr(0, c_name.find_last_not_of("0123456789") + 1)));
}

void store_float(double value, uint32_t size, std::byte* out) {
  if (size == 8) return void(std::memcpy(out, &value, 8));
  if (size == 4) {
    const auto f = static_cast<float>(value);
    return void(std::memcpy(out, &f, 4));
  }
  const auto h = static_cast<_Float16>(value);
  std::memcpy(out, &h, 2);
}

PyMemory::~PyMemory() {
  if (!device) return;
  device->allocations.erase(address);
  lockstep_memory_free(device->handle, address);
}

Extent extent_of(const py::handle& given, const char* what) {
  Extent out{1, 1, 1};
  const auto size = [&](const py::handle& value) -> uint32_t {
    if (!PyIndex_Check(value.ptr()))
      throw py::type_error(
          std::string(what) +
          " is a whole number of work-items, or up to three of them, as in kernel[(64, 8), " +
          "(16, 1)]: not " + py::repr(value).cast<std::string>());
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
    if (!index) throw py::error_already_set();
    const long long number = PyLong_AsLongLong(index.ptr());
    if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
    if (number < 1 || number > UINT32_MAX)
      raise_usage(std::string(what) + " has a dimension of " + std::to_string(number) +
                  "; they are 1 to 4294967295");
    return static_cast<uint32_t>(number);
  };
  if (!py::isinstance<py::sequence>(given) || py::isinstance<py::str>(given)) {
    out[0] = size(given);
    return out;
  }
  const auto sequence = py::reinterpret_borrow<py::sequence>(given);
  if (sequence.size() < 1 || sequence.size() > 3)
    raise_usage(std::string(what) + " has " + std::to_string(sequence.size()) +
                " dimensions; give one to three");
  for (size_t i = 0; i < sequence.size(); ++i) out[i] = size(sequence[i]);
  return out;
}

lockstep_dispatch_options shape_options(const PyKernel& kernel, const py::handle& grid,
                                        const py::handle& block) {
  lockstep_dispatch_options options;
  lockstep_dispatch_options_init(&options);
  const Extent items = extent_of(grid, "the grid");
  Extent group{1, 1, 1};
  if (!block.is_none()) {
    group = extent_of(block, "the block");
  } else if (kernel.info.required_work_group_size[0]) {
    std::copy_n(kernel.info.required_work_group_size, 3, group.begin());
  } else {
    group[0] =
        std::min({items[0], 256u, kernel.info.max_work_group_size ? kernel.info.max_work_group_size : 256u});
  }
  std::copy(items.begin(), items.end(), options.grid);
  std::copy(group.begin(), group.end(), options.block);
  return options;
}

py::dict location(const lockstep_code_location& where) {
  return py::dict("pc"_a = where.pc, "offset"_a = where.offset, "instruction"_a = where.instruction,
                  "function"_a = where.function, "file"_a = where.file, "line"_a = where.line);
}

py::dict check_finding(const lockstep_check_finding& f) {
  constexpr const char* kSeverities[] = {"note", "warning", "error"};
  py::dict out = of_wave("rule", f.rule, f);
  out["checker"] = f.checker;
  out["severity"] = kSeverities[f.severity];
  out["detail"] = f.detail;
  out["remedy"] = f.remedy;
  out["lanes"] = f.lanes;
  out["address"] = f.address;
  out["bytes"] = f.bytes;
  out["other"] = f.other.pc ? py::object(location(f.other)) : py::none();
  const auto places = [](const lockstep_code_location* callers, uint32_t count) {
    py::list list;
    for (uint32_t i = 0; i < count; ++i)
      list.append(py::dict("function"_a = callers[i].function, "file"_a = callers[i].file,
                           "line"_a = callers[i].line));
    return list;
  };
  out["callers"] = places(f.callers, f.caller_count);
  out["other_callers"] = places(f.other_callers, f.other_caller_count);
  return out;
}

}  // namespace lockstep_python
