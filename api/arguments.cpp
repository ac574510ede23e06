#include "api/arguments.h"

#include <algorithm>
#include <cstring>

#include "api/status.h"
#include "loader/hidden_arguments.h"

using namespace lockstep;
using namespace lockstep::api;

namespace {

constexpr struct {
  const char* name;
  uint32_t size;
  bool is_float;
  bool is_signed;
} kTypes[] = {
    {"i8", 1, false, true},  {"u8", 1, false, false},  {"i16", 2, false, true}, {"u16", 2, false, false},
    {"i32", 4, false, true}, {"u32", 4, false, false}, {"i64", 8, false, true}, {"u64", 8, false, false},
    {"f16", 2, true, true},  {"f32", 4, true, true},   {"f64", 8, true, true},
};

constexpr uint32_t kMaxSegment = 1 << 20;

std::string describe(const lockstep_arguments& a, uint32_t index) {
  const loader::Argument& argument = *a.kernel->arguments[index];
  std::string text = "kernel '" + a.kernel->kernel->name + "', argument " + std::to_string(index);
  if (!argument.name.empty()) text += " '" + argument.name + "'";
  if (const std::string& type = a.kernel->type_names[index]; !type.empty()) text += " (" + type + ")";
  return text;
}

const loader::Argument& checked(const lockstep_arguments* a, uint32_t index) {
  require(a != nullptr, "the arguments are null");
  if (index >= a->kernel->arguments.size()) {
    std::string what = "kernel '" + a->kernel->kernel->name + "' takes " +
                       std::to_string(a->kernel->arguments.size()) + " arguments, there is no argument " +
                       std::to_string(index);
    if (!a->kernel->kernel->metadata)
      what +=
          " (its code object does not describe arguments; give the bytes of the argument segment instead)";
    throw Failure(LOCKSTEP_INVALID_ARGUMENT, what);
  }
  return *a->kernel->arguments[index];
}

void write(lockstep_arguments& a, uint32_t index, const void* value, uint32_t size) {
  const loader::Argument& argument = *a.kernel->arguments[index];
  if (argument.offset > a.segment.size() || size > a.segment.size() - argument.offset)
    throw Failure(LOCKSTEP_BAD_INPUT, describe(a, index) + ": lies outside the argument segment of " +
                                          std::to_string(a.segment.size()) +
                                          " bytes (the metadata is damaged; compile the kernel again)");
  std::memcpy(a.segment.data() + argument.offset, value, size);
  a.set[index] = true;
}

enum class Family { unknown, signed_integer, unsigned_integer, floating };

// What the names of scalar types of OpenCL C, HIP and C++ mean. Vectors, structures and enumerations are
// unknown: their size alone is checked.
Family family_of(std::string_view type) {
  auto is = [type](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), type) != names.end();
  };
  if (is({"float", "double", "half", "_Float16", "__half"})) return Family::floating;
  if (is({"char", "short", "int", "long", "long long", "signed char", "int8_t", "int16_t", "int32_t",
          "int64_t", "ptrdiff_t", "intptr_t"}))
    return Family::signed_integer;
  if (is({"uchar", "ushort", "uint", "ulong", "unsigned char", "unsigned short", "unsigned int",
          "unsigned long", "unsigned long long", "unsigned", "uint8_t", "uint16_t", "uint32_t", "uint64_t",
          "size_t", "uintptr_t", "bool"}))
    return Family::unsigned_integer;
  return Family::unknown;
}

}  // namespace

void lockstep_arguments::check_complete() const {
  size_t missing = std::count(set.begin(), set.end(), false);
  if (!missing) return;
  uint32_t first = static_cast<uint32_t>(std::find(set.begin(), set.end(), false) - set.begin());
  throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*this, first) + ": is not set (" +
                                               std::to_string(missing) + " of " + std::to_string(set.size()) +
                                               " arguments are missing)");
}

std::vector<std::byte> lockstep_arguments::with_local_offsets(uint32_t static_lds,
                                                              uint32_t& dynamic_lds) const {
  std::vector<std::byte> out = segment;
  const uint64_t total =
      loader::fill_local_offsets(kernel->arguments, local_bytes, static_lds, out) + dynamic_lds;
  if (total > UINT32_MAX)
    throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                  "dynamic LDS of " + std::to_string(total) + " bytes is too much");
  dynamic_lds = static_cast<uint32_t>(total);
  return out;
}

lockstep_status lockstep_arguments_create(const lockstep_kernel* kernel, lockstep_arguments** out) {
  return guarded([&] {
    require(kernel && out, "kernel or out is null");
    uint32_t bytes = kernel->argument_bytes();
    if (bytes > kMaxSegment)
      throw Failure(LOCKSTEP_BAD_INPUT, "kernel '" + kernel->kernel->name + "' claims " +
                                            std::to_string(bytes) +
                                            " bytes of arguments (the code object is damaged)");
    auto a = std::make_unique<lockstep_arguments>();
    a->kernel = kernel;
    a->segment.resize(bytes);
    a->set.resize(kernel->arguments.size());
    a->local_bytes.resize(kernel->arguments.size());
    *out = a.release();
  });
}

void lockstep_arguments_destroy(lockstep_arguments* arguments) {
  delete arguments;
}

lockstep_status lockstep_arguments_find(const lockstep_arguments* arguments, const char* name,
                                        uint32_t* out_index) {
  return guarded([&] {
    require(arguments && name && out_index, "arguments, name or out_index is null");
    const auto& list = arguments->kernel->arguments;
    std::string known;
    for (size_t i = 0; i < list.size(); ++i) {
      if (list[i]->name == name) {
        *out_index = static_cast<uint32_t>(i);
        return;
      }
      if (!list[i]->name.empty()) known += (known.empty() ? "" : ", ") + list[i]->name;
    }
    throw Failure(LOCKSTEP_NOT_FOUND,
                  "kernel '" + arguments->kernel->kernel->name + "' has no argument '" + name + "' (" +
                      (known.empty() ? "its code object gives no names; use positions" : "it has " + known) +
                      ")");
  });
}

lockstep_status lockstep_arguments_set(lockstep_arguments* arguments, uint32_t index, const void* value,
                                       uint32_t size) {
  return guarded([&] {
    const loader::Argument& a = checked(arguments, index);
    require(value != nullptr, "the value is null");
    if (size != a.size)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*arguments, index) + ": takes " +
                                                   std::to_string(a.size) + " bytes, not " +
                                                   std::to_string(size));
    write(*arguments, index, value, size);
  });
}

lockstep_status lockstep_arguments_set_scalar(lockstep_arguments* arguments, uint32_t index,
                                              lockstep_type type, const void* value) {
  return guarded([&] {
    const loader::Argument& a = checked(arguments, index);
    require(value != nullptr, "the value is null");
    require(type >= LOCKSTEP_I8 && type <= LOCKSTEP_F64, "the type is unknown");
    const auto& t = kTypes[type];
    auto fail = [&](const std::string& what) {
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*arguments, index) + ": " + what);
    };
    if (a.kind == loader::ValueKind::global_buffer)
      fail(std::string("takes a buffer, not the scalar ") + t.name);
    if (a.kind == loader::ValueKind::dynamic_shared_pointer)
      fail(std::string("takes a size of local memory, not the scalar ") + t.name);
    Family family = family_of(arguments->kernel->type_names[index]);
    if (family != Family::unknown && (family == Family::floating) != t.is_float)
      fail(std::string("does not take ") + t.name + (t.is_float ? ", it is an integer" : ", it is a float"));
    if (t.size != a.size)
      fail(std::string("takes ") + std::to_string(a.size) + " bytes, " + t.name + " has " +
           std::to_string(t.size));
    write(*arguments, index, value, t.size);
  });
}

lockstep_status lockstep_arguments_set_buffer(lockstep_arguments* arguments, uint32_t index,
                                              uint64_t address) {
  return guarded([&] {
    const loader::Argument& a = checked(arguments, index);
    // HIP passes pointers inside structures by value; a lone pointer of unknown type may be by_value too.
    bool pointer = a.kind == loader::ValueKind::global_buffer || a.kind == loader::ValueKind::pipe ||
                   (a.size == 8 && family_of(a.type_name) == Family::unknown &&
                    a.kind != loader::ValueKind::dynamic_shared_pointer);
    if (!pointer || a.size != 8)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*arguments, index) +
                                                   ": does not take a buffer, it is " +
                                                   (a.kind == loader::ValueKind::dynamic_shared_pointer
                                                        ? "a size of local memory"
                                                        : "a value of " + std::to_string(a.size) + " bytes"));
    write(*arguments, index, &address, sizeof address);
  });
}

lockstep_status lockstep_arguments_set_local(lockstep_arguments* arguments, uint32_t index, uint32_t bytes) {
  return guarded([&] {
    const loader::Argument& a = checked(arguments, index);
    if (a.kind != loader::ValueKind::dynamic_shared_pointer)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*arguments, index) + ": does not take local memory");
    if (bytes == 0)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, describe(*arguments, index) + ": local memory of 0 bytes");
    arguments->local_bytes[index] = bytes;
    arguments->set[index] = true;
  });
}

lockstep_status lockstep_arguments_set_raw(lockstep_arguments* arguments, const void* bytes, uint32_t size) {
  return guarded([&] {
    require(arguments && (bytes || !size), "arguments or bytes is null");
    if (size > kMaxSegment)
      throw Failure(LOCKSTEP_INVALID_ARGUMENT,
                    "an argument segment of " + std::to_string(size) + " bytes is too large");
    bool described = arguments->kernel->kernel->metadata != nullptr;
    if (described && size > arguments->segment.size())
      throw Failure(LOCKSTEP_INVALID_ARGUMENT, "kernel '" + arguments->kernel->kernel->name + "' takes " +
                                                   std::to_string(arguments->segment.size()) +
                                                   " bytes of arguments, not " + std::to_string(size));
    if (size > arguments->segment.size()) arguments->segment.resize(size);
    if (size) std::memcpy(arguments->segment.data(), bytes, size);
    std::fill(arguments->set.begin(), arguments->set.end(), true);
  });
}
